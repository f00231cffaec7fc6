"""`hf.maggi`: the equations without reactions.

    v = N(q, t) ν + n₀(q, t),     J N = 0,     J n₀ = −w|ᵥ₌₀ − K y
    Nᵀ M N ν' = Nᵀ (h − M (N' ν + n₀'))

Ideal reactions do no work along N and drop out; they are found afterwards. The velocity program holds identically, so
there is nothing to stabilise in it; positions that drift off a holonomic one come back by y' = −K y.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.common.arguments import clear_arguments
from holdfast.equations.dynamics.bodies.spins import refuse_spins
from holdfast.equations.dynamics.sample import Sample
from holdfast.equations.equations import Equations
from holdfast.equations.quasi.form import QuasiForm
from holdfast.equations.quasi.found import require_same, with_found, with_velocities
from holdfast.equations.quasi.hamel import reduced
from holdfast.equations.quasi.independent import FreeRates, free_rates, require_independent
from holdfast.equations.quasi.kinematics import Kinematics
from holdfast.equations.quasi.velocities import (
    completed,
    depends,
    first_finite,
    free_name,
    rates_from,
    samples,
    stated_velocities,
)
from holdfast.errors import BadRequest, BadStatement, HoldfastError, SingularSystem
from holdfast.graph.general_solver import GeneralFactor, factor_general
from holdfast.graph.linear_algebra import Pivot, Rows, SymmetricFactor, factor_symmetric, product, times, transposed
from holdfast.graph.nodes import Node, substitute
from holdfast.problem.types import ByName
from holdfast.problem.vocabulary import CONSTANT, by_name

SINGULAR = 1e-13  # of the largest singular value of NᵀMN, scaled: no inertia is left along the program


@dataclass(frozen=True, eq=False, repr=False)
class Maggi(QuasiForm):
    """Maggi's equations: as many as the program leaves free, in quasi-velocities, without reactions."""

    formulas: Callable[[], QuasiForm] | None = None  # the same without attraction, if there is some

    title = "Maggi's equations (reactions left out)"

    @cached_property
    def on_program(self) -> QuasiForm:
        return self.formulas() if self.formulas is not None else self

    def more_lines(self) -> list[str]:
        if self.formulas is None:
            return []
        return ["", "Off the program, y = f(q, t) comes back by y' = -K y, in numbers and runs; here y = 0."]

    @property
    def holders(self) -> Rows:
        """None: Nᵀ Jᵀ = 0."""
        return [{} for _ in self.mass]


@clear_arguments
def maggi(equations: Equations, velocities: ByName | None = None, *, attraction: Any = None) -> Maggi:
    """The equations in as many quasi-velocities as the program leaves free, its reactions eliminated.

    Without `velocities` they are independent rates, multiplied so that N is smooth (``nu_x``); given ones are
    combinations of rates by name, completed by rates. `attraction` is K, one number or some by constraint, the rates
    (1/time) at which positions come back to a holonomic program; by default the slowest rate of the law. The program
    must be linear in the rates, and held by reactions.

    Formulas are written on the program, y = 0; numbers and runs have the attraction too.
    """
    kinematics, seen = reduced_kinematics(equations, velocities, attraction, "maggi")
    made = Maggi(kinematics, *solved(kinematics, *reduced(kinematics), seen))
    return replace(made, formulas=lambda: maggi(equations, velocities, attraction=0)) if kinematics.attracted else made


def reduced_kinematics(
    equations: Equations, velocities: ByName | None, attraction: Any, verb: str
) -> tuple[Kinematics, list[Sample]]:
    """v = N ν + n₀ for a program that is linear in the rates, and the states at which it was looked at."""
    if not isinstance(equations, Equations):
        raise BadRequest(f"{verb}() takes Equations, not {type(equations).__name__}", fix="hf.derive(problem) first")
    equations.require_given_forces(verb)
    refuse_spins(equations.inputs, f"the form of {verb}")
    _require_reactions(equations, verb)
    seen = samples(equations)
    targets = _targets(equations, attraction, verb)
    attracted = not all(node.is_zero for node in targets)
    if velocities is None:
        return replace(_by_free_rates(equations, targets, seen), attracted=attracted), seen
    stated = stated_velocities(equations, velocities, f"{verb}.velocities")
    stated = completed(equations, stated, equations.deviations.jacobian, seen)
    u = tuple(equations.inputs.graph.input(name) for name in stated.names)
    given, w = (*stated.nodes, *equations.deviations.w), tuple(equations.inputs.w.values())
    rates, pivots = rates_from(equations, given, (*u, *w), seen)
    wider = Kinematics(equations, (*u, *w), tuple(rates), given, given, pivots)
    kept = tuple(substitute(rates, dict(zip(w, targets, strict=True))))
    made = Kinematics(equations, u, kept, stated.nodes, stated.nodes, pivots, attracted, (wider, tuple(targets)))
    return made, seen


def _require_reactions(equations: Equations, verb: str) -> None:
    program, inputs = equations.problem.program, equations.inputs
    if program.controls:
        raise BadStatement(
            f"the control {next(iter(program.controls))!r} works along the program, and cannot be left out",
            where="program.controls",
            fix=f"{verb} is for programs held by reactions; hf.quasi keeps controls",
        )
    if verb == "maggi" and depends([node for row in equations.dynamics.mass for node in row.values()], inputs.v):
        raise BadStatement(
            "the kinetic energy is not quadratic in the rates",
            where="system.kinetic",
            fix="hf.appell writes such equations without multipliers",
        )
    for name, row in zip(equations.constraints, equations.deviations.jacobian, strict=True):
        if depends(row.values(), inputs.v):
            raise BadStatement(
                f"the constraint {name!r} is not linear in the rates", where=f"program.{name}", fix="use hf.derive"
            )
    require_independent(equations)
    if len(equations.constraints) == len(equations.coordinates):
        raise BadStatement("the program leaves nothing free", where="program", fix="the equations have no motion left")


def _targets(equations: Equations, attraction: Any, verb: str) -> list[Node]:
    """What w shall be: −K y for holonomic constraints, 0 for the others."""
    graph, holonomic = equations.inputs.graph, equations.problem.program.holonomic
    where = f"{verb}.attraction"
    if isinstance(attraction, Mapping):
        given = by_name(attraction, where=where)
        unknown = set(given) - set(holonomic)
        if unknown:
            raise BadStatement(f"{unknown.pop()!r} is not a holonomic constraint", where=where)
    else:
        given = dict.fromkeys(holonomic, _slowest_rate(equations) if attraction is None else attraction)
    names, walk = equations.problem.names, equations.inputs.walk
    rates = {name: walk(names.admit(value, CONSTANT, where=where)) for name, value in given.items()}
    found = [-(rates.get(name, graph.zero) * y) for name, y in zip(holonomic, equations.deviations.y, strict=True)]
    return [*found, *[graph.zero] * (len(equations.constraints) - len(found))]


def _slowest_rate(equations: Equations) -> float:
    """How fast the slowest deviation of the law dies away at the start, to six digits; 0 where one does not."""
    m = len(equations.deviations.y)
    if not m or equations.letters:
        return 0.0
    try:
        matrix = equations.evaluate().deviation_matrix[: 2 * m, : 2 * m]
    except HoldfastError:
        return 0.0
    slowest = -float(np.linalg.eigvals(matrix).real.max())
    return max(0.0, float(f"{slowest:.6g}"))


def _by_free_rates(equations: Equations, targets: Sequence[Node], seen: Sequence[Sample]) -> Kinematics:
    """N by independent rates, n₀ of least kinetic energy."""
    inputs, graph = equations.inputs, equations.inputs.graph
    free = free_rates(equations, seen)
    names: list[str] = []
    for i in free.coordinates:
        names.append(free_name(equations, equations.coordinates[i], names, "nu_"))
    u = tuple(graph.input(name) for name in names)
    at_rest = substitute(list(equations.deviations.w), {v: graph.zero for v in inputs.v})
    wanted = [target - rest for target, rest in zip(targets, at_rest, strict=True)]
    shift, pivots = _shift(equations, wanted, seen)
    rates = [a + b for a, b in zip(times(free.basis, u, graph), shift, strict=True)]
    moving = (*inputs.q, *inputs.s, inputs.time)
    across = [v - s for v, s in zip(inputs.v, shift, strict=True)]
    mass = equations.dynamics.mass
    columns = transposed(free.basis, len(u))
    factor = _factor(equations, product(columns, product(mass, free.basis)), seen)
    definitions = factor.solve(times(columns, times(mass, across, graph), graph))
    meanings = [_meaning(k, free, columns, across, moving) for k in range(len(u))]
    return Kinematics(equations, u, tuple(rates), tuple(definitions), tuple(meanings), (*free.pivots, *pivots))


def _meaning(k: int, free: FreeRates, columns: Rows, across: Sequence[Node], moving: Sequence[Node]) -> Node:
    """ν_k in the rates: N_k·v/|N_k|² where its column stands alone, x' cos φ + y' sin φ rather than x'/cos φ."""
    column, i = columns[k], free.coordinates[k]
    alone = not any(column.keys() & other.keys() for j, other in enumerate(columns) if j != k)
    if not alone or not depends((free.scales[k],), moving):
        return across[i] / free.scales[k]
    graph = across[i].graph
    return graph.sum(n * across[j] for j, n in column.items()) / graph.sum(n * n for n in column.values())


def _shift(
    equations: Equations, wanted: Sequence[Node], seen: Sequence[Sample]
) -> tuple[list[Node], tuple[Pivot, ...]]:
    """n₀ with J n₀ as wanted; across the program in the metric of mass, or along Jᵀ where M has none of its own."""
    inputs, graph = equations.inputs, equations.inputs.graph
    none = [graph.zero] * len(inputs.v)
    if all(node.is_zero for node in wanted):
        return none, ()
    entries = [node for row in equations.dynamics.mass for node in row.values()]
    if equations.solver.form == "solved" and not depends(entries, inputs.v):
        return equations.solver(none, wanted)[0], equations.solver.pivots
    jacobian = equations.deviations.jacobian
    columns = transposed(jacobian, len(none))
    factor = factor_symmetric(product(jacobian, columns), graph)
    return times(columns, factor.solve(wanted), graph), factor.pivots


def _factor(equations: Equations, mass: Rows, seen: Sequence[Sample]) -> SymmetricFactor | GeneralFactor:
    """M_u, factored; an error where nothing along the program has inertia."""
    numbers = first_finite(mass, len(mass), seen)
    if numbers is not None:
        scale = np.sqrt(np.abs(np.diag(numbers)))
        sizes = np.linalg.svd(numbers / scale / scale[:, None], compute_uv=False) if (scale > 0).all() else np.zeros(1)
        if not sizes[-1] > SINGULAR * max(sizes[0], 1.0):
            raise SingularSystem(
                "nothing gives inertia along the program", where="system.kinetic", fix="state all masses"
            )
    if equations.dynamics.symmetric:
        return factor_symmetric(mass, equations.inputs.graph)
    return factor_general(mass, equations.inputs.graph, seen[-1].rows(mass))


def solved(
    kinematics: Kinematics, mass: Rows, forces: Sequence[Node], seen: Sequence[Sample]
) -> tuple[Rows, tuple[Node, ...], tuple[Node, ...], Equations, tuple[Pivot, ...]]:
    """M_u u' = h_u solved, and the reactions that go with it; checked to solve the equations it came from.

    What a form is made of, after its kinematics.
    """
    equations, graph = kinematics.equations, kinematics.equations.inputs.graph
    factor = _factor(equations, mass, with_velocities(kinematics, seen))
    u_rates = tuple(factor.solve(forces))
    held = _with_reactions(kinematics, kinematics.accelerations(u_rates), graph.zero)
    require_same(kinematics, held, seen)
    return mass, tuple(forces), u_rates, held, (*kinematics.pivots, *factor.pivots)


def _with_reactions(kinematics: Kinematics, accelerations: tuple[Node, ...], zero: Node) -> Equations:
    """The equations with what Maggi's make of w: J a = J σ, and the multipliers of that."""
    equations, solution = kinematics.equations, kinematics.equations.solution
    moved = times(equations.deviations.jacobian, kinematics.carried, zero.graph)
    demand = tuple(move + drift for move, drift in zip(moved, equations.deviations.drift, strict=True))
    none = (zero,) * len(demand)
    no_excess = (zero,) * len(solution.bias)
    other = replace(solution, demand=demand, linear=demand, rest=none, excess_bias=no_excess)
    _, mu = equations.solver(solution.bias, moved)
    return with_found(equations, accelerations, tuple(mu), other)
