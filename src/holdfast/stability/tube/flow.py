"""The motion of all deviations at once, with the linear system behind the accelerations left unsolved.

    M a − E μ = h − m₂,     J a + D μ = Y − γ

Elimination on enclosures multiplies what they lose; the system itself, solved by residuals, does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.engine.forms.monomials import CellMonomials, monomials
from holdfast.equations.equations import Equations
from holdfast.equations.values import parameter_vector
from holdfast.graph.nodes import Node, ancestors, substitute
from holdfast.stability.proof.block import bound_numbers, unsure_controls
from holdfast.stability.proof.granted.existence import partial_operations
from holdfast.stability.tube.friction import FrictionFlow, friction_flow
from holdfast.stability.tube.limits import ControlLimit, limits_of, only_limits, without_limits
from holdfast.stability.tube.refinement import Refinement, refinement_of, yielding

Entries = dict[tuple[int, int], Node]
TURNING = ("sin", "cos")


@dataclass(frozen=True, eq=False)
class TubeFlow:
    """What one step needs: states that matter, their rates, the system behind some of them, and the deviations."""

    time: Node
    variables: tuple[Node, ...]  # states on which the deviations depend, directly or through the motion
    names: tuple[str, ...]
    places: tuple[int, ...]  # of the variables, in the state
    rates: tuple[Node, ...]
    psi: tuple[Node, ...]
    psi_names: tuple[str, ...]
    entries: Entries
    right: tuple[Node, ...]
    unknowns: Mapping[int, int]  # of a variable whose rate is an unknown of the system: which one
    timed: bool
    angles: frozenset[str]  # states that are met only within sines and cosines
    code_inputs: tuple[Node, ...]  # of the operations that are run: time, state, parameters
    code_rates: tuple[Node, ...]  # of the variables
    code_unknowns: tuple[Node, ...]  # of the system, as they are computed
    parameters: tuple[float, ...]
    friction: FrictionFlow | None = None  # forces that use their own reactions
    apart: tuple[Node, ...] = ()  # behind what holds the program, and not behind the rates: what may have no value
    limits: tuple[ControlLimit, ...] = ()  # of controls, which must not be reached
    refinement: Refinement | None = None  # passes over the system, where constraints repeat each other
    speeds: bool = False  # the rates of positions vary by a common factor: one more variable of the cells (8.15)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.time, *self.variables)

    def shape(self, order: int, weight: int) -> CellMonomials:
        """The monomials of forms over a cell: of the time, the states with a weight, ξ and, with speeds, η."""
        return monomials((1, *[weight] * len(self.variables), 1, *[1] * self.speeds), order)


def tube_flow(equations: Equations, parameters: Mapping[Any, Any], *, whole: bool = False) -> TubeFlow:
    """The flow of all deviations, the numbers of a run put in; `whole` with states that no deviation depends on."""
    inputs, field, numbers = equations.inputs, equations.field, bound_numbers(equations, parameters)
    psi = [*equations.deviations.y, *equations.deviations.w]
    entries, right = _system(equations)
    held = [*_forces(equations), *_places(equations), *_beside_system(equations), equations.observables["energy"]]
    free, refinement = without_limits(equations), refinement_of(equations)
    solved = (*equations.solution.accelerations, *equations.solution.mu)
    code = substitute([*field.rates, *(solved if refinement is None else refinement.passes[-1])], free)
    code_rates, unknowns = code[: len(field.rates)], code[len(field.rates) :]
    # of the code as it stands: what cancels once numbers are put in is computed, and rounded, all the same
    table = dict(zip(field.state, code_rates, strict=True))
    wanted, behind = [*psi, *(field.state if whole else ()), *partial_operations(held)], [*entries.values(), *right]
    parts = [code_rates, psi, [*entries.values()], right, held]
    found = iter(substitute([node for part in parts for node in part], numbers))
    rates, psi, system, right, held = ([next(found) for _ in part] for part in parts)
    apart = partial_operations(held) - {*ancestors((*system, *right))}
    nodes = [*rates, *psi, *system, *right, *apart]
    relevant = _relevant(inputs.time, table, wanted, behind, set(inputs.v))
    chosen = [k for k, node in enumerate(field.state) if node in relevant]
    variables = tuple(field.state[k] for k in chosen)
    order = {node: i for i, node in enumerate(inputs.v)}
    return TubeFlow(
        time=inputs.time,
        variables=variables,
        names=tuple(equations.state_names[k] for k in chosen),
        places=tuple(chosen),
        rates=tuple(rates[k] for k in chosen),
        psi=tuple(psi),
        psi_names=equations.deviation_names,
        entries=dict(zip(entries, system, strict=True)),
        right=tuple(right),
        unknowns={i: order[node] for i, node in enumerate(variables) if node in order},
        timed=inputs.time in relevant,
        angles=_angles(dict(zip(variables, (equations.state_names[k] for k in chosen), strict=True)), nodes),
        code_inputs=field.inputs,
        code_rates=tuple(code_rates[k] for k in chosen),
        code_unknowns=tuple(unknowns[: len(right)]),
        parameters=tuple(parameter_vector(equations, parameters)),
        friction=friction_flow(equations, numbers),
        apart=tuple(sorted(apart, key=lambda node: node.index)),
        limits=limits_of(equations, numbers),
        refinement=refinement,
    )


def _system(equations: Equations) -> tuple[Entries, list[Node]]:
    """Places and nodes of the matrix, and the right side.

    Where the program alone fixes the accelerations, J only; unless controls might fail, which the whole matrix tells.
    """
    solution, n = equations.solution, len(equations.inputs.q)
    slopes = {(i, j): node for i, row in enumerate(equations.deviations.jacobian) for j, node in row.items()}
    demand = [y - d for y, d in zip(solution.demand, solution.drift, strict=True)]
    alone = equations.solver.form == "inverse" and equations.friction is None  # friction asks for multipliers
    if alone and not unsure_controls(equations) and not only_limits(equations):
        return slopes, demand
    entries = {(i, j): node for i, row in enumerate(equations.dynamics.mass) for j, node in row.items()}
    entries |= {(i, n + k): -node for i, row in enumerate(equations.holders) for k, node in row.items()}
    entries |= {(n + i, j): node for (i, j), node in slopes.items()}
    entries |= {(n + i, n + k): node for i, row in enumerate(equations.deviations.through) for k, node in row.items()}
    entries |= {(n + i, n + i): node for i, node in enumerate(yielding(equations.solver))}
    return entries, [*_forces(equations), *demand]


def _forces(equations: Equations) -> list[Node]:
    solution = equations.solution
    return [h - m for h, m in zip(solution.bias, solution.excess_bias, strict=True)]


def _places(equations: Equations) -> list[Node]:
    """What M and E are made of."""
    return [node for row in (*equations.dynamics.mass, *equations.holders) for node in row.values()]


def _beside_system(equations: Equations) -> list[Node]:
    """What may have no value in the rates of first-order states, whatever depends on these, and is not solved for."""
    inputs, rates = equations.inputs, equations.field.rates
    first = len(inputs.q) + len(inputs.v)
    solved = {*ancestors((*rates[:first], *equations.solution.accelerations, *equations.solution.mu))}
    return sorted(partial_operations(rates[first:]) - solved, key=lambda node: node.index)


def _relevant(
    time: Node, rates: Mapping[Node, Node], psi: list[Node], system: list[Node], solved: set[Node]
) -> set[Node]:
    """Time and the states on which the deviations depend, through the rates that are run and through the system behind
    them.
    """
    found, waiting = set[Node](), list(psi)
    while waiting:
        new = {node for node in ancestors(waiting) if node is time or node in rates} - found
        found |= new
        waiting = [rates[node] for node in new if node in rates]
        if new & solved:
            waiting += system
    return found


def _angles(names: Mapping[Node, str], nodes: list[Node]) -> frozenset[str]:
    """The states that everything meets within sines and cosines only, alone or in sums."""
    uses: dict[int, list[Node]] = {}
    bare = {node.index for node in nodes}  # what is wanted itself is met outside of sines
    for node in ancestors(nodes):
        for arg in node.args:
            uses.setdefault(arg.index, []).append(node)

    def turns(node: Node) -> bool:
        above = uses.get(node.index, [])
        within = all(user.op in TURNING or (user.op in ("add", "sub", "neg") and turns(user)) for user in above)
        return bool(above) and within and node.index not in bare

    return frozenset(name for node, name in names.items() if turns(node))
