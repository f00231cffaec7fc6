"""`hf.quasi`: the same equations with other velocities.

    q' = S(q, t) u + s₀(q, t)
    M_u u' = h_u + Sᵀ E μ,     J S u' = Y − γ − J σ,     M_u = ∂²T*/∂u²,   T*(q, u, t) = T(q, S u + s₀, t)

with the terms of Boltzmann and Hamel in h_u. Program, law and multipliers are those of the equations. For a rigid body
in Euler angles with the spins about its axes as u, M_u is the constant inertia and these are Euler's equations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from holdfast.common.arguments import clear_arguments
from holdfast.equations.dynamics.bodies.spins import refuse_spins
from holdfast.equations.dynamics.sample import Sample
from holdfast.equations.equations import Equations
from holdfast.equations.quasi.form import QuasiForm
from holdfast.equations.quasi.found import require_same, with_found, with_velocities
from holdfast.equations.quasi.hamel import boltzmann_hamel, projected
from holdfast.equations.quasi.kinematics import Kinematics
from holdfast.equations.quasi.velocities import completed, rates_from, samples, stated_velocities
from holdfast.equations.solving.solver import solver_of
from holdfast.errors import BadRequest, BadStatement
from holdfast.graph.linear_algebra import product, times
from holdfast.problem.types import ByName


@dataclass(frozen=True, eq=False, repr=False)
class Quasi(QuasiForm):
    """The equations in quasi-velocities, as many as coordinates, with program, law and multipliers as they were."""


@clear_arguments
def quasi(equations: Equations, velocities: ByName) -> Quasi:
    """The equations in quasi-velocities: `velocities` by name, each linear in the rates.

    What is missing is filled with rates (``u_x``), so that a body's spins need not be given its speeds too.
    """
    if not isinstance(equations, Equations):
        raise BadRequest(f"quasi() takes Equations, not {type(equations).__name__}", fix="hf.derive(problem) first")
    equations.require_unlimited("quasi")
    equations.require_given_forces("quasi")
    refuse_spins(equations.inputs, "a form in quasi-velocities")
    equations.require_forces("quasi")
    stated = stated_velocities(equations, velocities, "quasi.velocities")
    if not stated.names:
        raise BadStatement("no quasi-velocities are given", where="quasi.velocities", fix='e.g. {"w": phi.rate}')
    seen = samples(equations)
    stated = completed(equations, stated, [], seen)
    u = tuple(equations.inputs.graph.input(name) for name in stated.names)
    rates, pivots = rates_from(equations, stated.nodes, u, seen)
    kinematics = Kinematics(equations, u, tuple(rates), stated.nodes, stated.nodes, pivots)
    return _form(kinematics, seen)


def _form(kinematics: Kinematics, seen: Sequence[Sample]) -> Quasi:
    equations, solution, graph = kinematics.equations, kinematics.equations.solution, kinematics.equations.inputs.graph
    mass, bias = projected(kinematics) if equations.dynamics.points else boltzmann_hamel(kinematics)
    excess = kinematics.along(kinematics.in_u(solution.excess_bias))
    forces = tuple(h - m for h, m in zip(bias, excess, strict=True))
    shell = Quasi(kinematics, mass, forces, (), equations, ())
    jacobian = kinematics.rows_in_u(equations.deviations.jacobian)
    carried = times(jacobian, kinematics.carried, graph)
    drift = [own + more for own, more in zip(kinematics.in_u(equations.deviations.drift), carried, strict=True)]
    slopes = replace(
        equations.deviations, jacobian=product(jacobian, kinematics.slopes), drift=tuple(drift)
    )  # of w, by u
    dynamics = replace(equations.dynamics, mass=mass, bias=tuple(bias))
    counted = replace(equations.inputs, q=kinematics.u, v=kinematics.u)  # u in the place of the coordinates
    solver = solver_of(equations.problem, counted, dynamics, slopes, shell.holders, with_velocities(kinematics, seen))
    wanted = [want - have for want, have in zip(kinematics.in_u(solution.demand), drift, strict=True)]
    u_rates, mu = solver(forces, wanted)
    held = with_found(equations, kinematics.accelerations(u_rates), tuple(mu))
    require_same(kinematics, held, seen)
    return replace(shell, u_rates=tuple(u_rates), held=held, pivots=(*kinematics.pivots, *solver.pivots))
