"""The equations that are run, compared with the equations that were stated: nothing that does not solve them is used.

    M a = h − m₂ + E μ,      J a + γ + D μ = Y

are enclosed in balls at the start and beside it, with the a and μ of the elimination. So whatever goes wrong between a
statement and its solution (a row left out, a sign, a wrong order) is an error here and never a run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.equations.dynamics.deviation import Deviations
from holdfast.equations.dynamics.lagrange import Dynamics
from holdfast.equations.dynamics.sample import Sample
from holdfast.equations.solving.large import LARGE
from holdfast.equations.solving.plain_check import plainly_solved
from holdfast.equations.solving.redundant import RedundantSolver
from holdfast.equations.solving.solution import Solution
from holdfast.errors import InternalError, SingularSystem, Undecided
from holdfast.graph.arithmetics.balls import ball, precision
from holdfast.graph.arithmetics.tape import Ledger
from holdfast.graph.linear_algebra import Rows

LOOKS = 2  # samples: the start and one beside it
PRECISIONS = (128, 512)  # bits; the second for systems so near to singular that the first tells nothing
REFINED = 1e-9  # of its largest term: the residual that a solver by refinement may leave
NOTHING = 4.0  # radii of a sum: terms no larger than this are nothing but rounding
NO_RESIDUAL = 2.0**-40  # of the largest term: a residual known this well that contains 0 is one

Residual = tuple[str, Any, Any]  # of which equation, its value, the size of its largest term


def require_solved(
    names: Sequence[str], dynamics: Dynamics, deviations: Deviations, holders: Rows, solution: Solution,
    samples: Sequence[Sample],
) -> None:  # fmt: skip
    """Raise an `InternalError` where accelerations and multipliers do not solve the equations they are said to solve.

    `names` are those of the coordinates, then of the constraints.
    """
    allowed = REFINED if solution.solver.form == "redundant" else 0.0
    seen = False
    for sample in _places(samples, len(dynamics.mass)):
        if len(dynamics.mass) > LARGE:
            usual = solution.solver.form == "solved" and solution.obeyed is None
            if seen or (usual and _plainly_solved(dynamics, deviations, holders, solution, sample)):
                return
        for bits in PRECISIONS:
            with precision(bits):
                try:
                    found = list(_residuals(names, dynamics, deviations, holders, solution, sample.in_balls()))
                except (Undecided, ValueError, ZeroDivisionError):
                    break  # not defined at this state, which the run will say
            wrong = [row for row in found if _wrong(row, allowed)]
            if wrong:
                name, value, _ = wrong[0]
                place, n = list(names).index(name), len(dynamics.mass)
                unknowns = (
                    [*dynamics.mass[place], *holders[place]]
                    if place < n
                    else [*deviations.jacobian[place - n], *deviations.through_rows[place - n]]
                )
                if not unknowns:
                    raise _nothing_to_solve(name, "system.kinetic" if place < n else "program")
                raise InternalError(
                    f"the accelerations found do not solve the equation of {name!r}: it is off by {value.str(5)}",
                    where="derive",
                )
            seen = True
            if _told(found):
                break


def _plainly_solved(
    dynamics: Dynamics, deviations: Deviations, holders: Rows, solution: Solution, sample: Sample
) -> bool:
    try:
        return plainly_solved(dynamics, deviations, holders, solution, sample)
    except (ArithmeticError, ValueError):  # not defined here, or not finite
        return False


def _places(samples: Sequence[Sample], coordinates: int) -> Sequence[Sample]:
    """Where to look: at the start and beside it; in a large system beside the start first, where nothing is 0 by
    chance: what holds there holds at the start, and one such look will do.
    """
    return samples[:LOOKS] if coordinates <= LARGE else samples[LOOKS - 1 :: -1]


def _told(found: Sequence[Residual]) -> bool:
    """Whether no residual is left open by rounding: each is known beside its terms, or beside the largest of all where
    its own terms are none.
    """
    largest = NO_RESIDUAL * max((size for _, _, size in found), default=0.0)
    return all(
        value.is_finite()
        and (value.rad() <= NO_RESIDUAL * size or (size <= NOTHING * value.rad() and value.rad() <= largest))
        for _, value, size in found
    )


def _wrong(residual: Residual, allowed: float) -> bool:
    """Whether a residual is known to be none: further from zero than the part of its terms that is allowed."""
    _, value, size = residual
    return bool(value.is_finite() and not value.contains(0) and float(value.abs_lower()) > allowed * size)


def _nothing_to_solve(name: str, where: str) -> SingularSystem:
    """An equation without unknowns that does not hold: stated so, where nothing else could be told at the start."""
    return SingularSystem(
        f"the equation of {name!r} contains neither an acceleration nor a force, and does not hold",
        where=where,
        fix="give the coordinate a mass or a constraint; a constraint must depend on the motion",
    )


def _residuals(
    names: Sequence[str], dynamics: Dynamics, deviations: Deviations, holders: Rows, solution: Solution, known: Ledger
) -> Iterator[Residual]:
    rows = [*dynamics.mass, *holders, *deviations.jacobian, *deviations.through_rows]
    columns = (
        solution.accelerations,
        solution.mu,
        solution.bias,
        solution.excess_bias,
        solution.demand,
        solution.drift,
    )
    values = iter(
        known.of([*(node for nodes in columns for node in nodes), *(n for row in rows for n in row.values())])
    )
    a, mu, bias, excess, demand, drift = ([next(values) for _ in nodes] for nodes in columns)
    slopes = [{j: next(values) for j in row} for row in rows]
    n = len(a)
    for i, name in enumerate(names[:n]):
        held = [-value * mu[k] for k, value in slopes[n + i].items()]
        yield _residual(name, [*(value * a[j] for j, value in slopes[i].items()), *held, excess[i] - bias[i]])
    if solution.solver.form == "eased":
        return  # the demand is met only where the constraints can be told apart
    alone, moving = _alone(solution, bias, known), max((float(x.abs_upper()) for x in a), default=0.0)
    judged_beside = any(alone)
    for i, name in enumerate(names[n:]):
        if solution.obeyed is not None and name not in solution.obeyed:
            continue  # its control has a limit
        row = slopes[2 * n + i]
        pushed = [x * mu[k] for k, x in slopes[2 * n + len(deviations.w) + i].items()]
        name, value, size = _residual(name, [*(x * a[j] for j, x in row.items()), *pushed, drift[i] - demand[i]])
        reach = sum(float(x.abs_upper()) * max(moving, alone[j]) for j, x in row.items())
        yield name, value, max(size, reach) if judged_beside else size


def _alone(solution: Solution, bias: Sequence[Any], known: Ledger) -> list[float]:
    """What forces alone would make of each acceleration: beside it, a refined solution that stands still is judged."""
    if not isinstance(solution.solver, RedundantSolver):
        return [0.0] * len(bias)
    inertias = [float(x.abs_upper()) for x in known.of(solution.solver.inertias)]
    pushes = [float(h.abs_upper()) ** 2 / m for h, m in zip(bias, inertias, strict=True) if m > 0]
    together = math.sqrt(sum(pushes))  # of all, for forces are passed on by what is held: alike in kinetic energy
    return [together / math.sqrt(m) if m > 0 else 0.0 for m in inertias]


def _residual(name: str, terms: Sequence[Any]) -> Residual:
    largest = max((float(term.abs_upper()) for term in terms), default=0.0)
    return name, sum(terms, ball(0)), largest
