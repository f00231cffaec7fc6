"""Controls with limits, in a tube: within it they never reach them, so that what is run is what the law asks for.

The code cuts a control off by min and max, which round nothing: where neither acts at any stage, it computes what it
would without them. So the tube is that of the motion without limits, and it is shown that none is reached in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.equations.solving.applied import Applied
from holdfast.graph.nodes import Node, substitute
from holdfast.results.trajectory import Trajectory
from holdfast.stability.tube.cells import Array


@dataclass(frozen=True, slots=True)
class ControlLimit:
    """One control: where it is among the unknowns of the system, and its limits."""

    name: str
    unknown: int
    low: float
    high: float


def only_limits(equations: Equations) -> bool:
    """Whether limits are all that keeps the controls from being what the law asks for."""
    program = equations.problem.program
    return bool(program.limits) and not program.model and program.sampling is None


def without_limits(equations: Equations) -> dict[Node, Node]:
    """Each control as it acts, and what it would be without limits."""
    solution = equations.solution
    if not only_limits(equations) or not isinstance(solution, Applied):
        return {}
    acting = solution.mu[len(equations.problem.program.held_by_reaction) :]
    wanted = solution.command.values()
    return {cut: free for cut, free in zip(acting, wanted, strict=True) if cut is not free}


def limits_of(equations: Equations, numbers: Mapping[Node, Node]) -> tuple[ControlLimit, ...]:
    """The limits as numbers: they depend on parameters alone."""
    if not only_limits(equations):
        return ()
    program, n = equations.problem.program, len(equations.inputs.q)
    first, names, found = n + len(program.held_by_reaction), list(program.controls), []
    for name, ends in program.limits.items():
        low, high = (_number(equations, end, numbers, side) for end, side in zip(ends, (-1.0, 1.0), strict=True))
        found.append(ControlLimit(name, first + names.index(name), low, high))
    return tuple(found)


def _number(equations: Equations, end: object, numbers: Mapping[Node, Node], side: float) -> float:
    if end is None:
        return side * np.inf
    (node,) = substitute([equations.inputs.walk(end)], dict(numbers))
    return float(Fraction(node.data)) if node.op == "const" else -side * np.inf


def rows_at_limits(equations: Equations, run: Trajectory) -> Array:
    """The rows of a run at which some control is at a limit."""
    found = np.zeros(len(run.times), bool)
    for name, (low, high) in equations.problem.program.limits.items():
        if high is not None:
            found |= run[name] >= run.at(high)
        if low is not None:
            found |= run[name] <= run.at(low)
    return np.flatnonzero(found)
