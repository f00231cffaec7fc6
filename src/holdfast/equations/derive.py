"""From a stated problem to its equations of motion."""

from __future__ import annotations

from dataclasses import replace

from holdfast.common.arguments import clear_arguments
from holdfast.common.collection import uncollected
from holdfast.equations.dynamics.demand import demand_of
from holdfast.equations.dynamics.mass_checks import check_masses, check_thrust
from holdfast.equations.equations import Equations
from holdfast.equations.solving.applied import applied
from holdfast.equations.solving.control_states import check_order, with_controls, with_extensions
from holdfast.equations.solving.degree import stated_motion
from holdfast.equations.solving.friction import friction_of
from holdfast.equations.solving.large import LARGE
from holdfast.equations.solving.left_over import left_over
from holdfast.equations.solving.redundant import RedundantSolver
from holdfast.equations.solving.self_check import require_solved
from holdfast.equations.solving.solution import solution_of
from holdfast.equations.solving.solver import solver_of
from holdfast.errors import BadRequest
from holdfast.problem.problem import Problem


@clear_arguments
def derive(problem: Problem, *, second_order: bool = True) -> Equations:
    """The equations of motion that have the program as partial integrals, with deviations obeying the law.

        M a = h − m₂ + E μ,      J a + γ = Y(y, w, q, v, t)

    `second_order=False` drops what is of second order in the deviations (m₂, Y₂), as the papers' schemes do:
    deviations then obey the linear law exactly, and the motion along the program changes by O(deviation²).
    """
    if not isinstance(problem, Problem):
        raise BadRequest(f"derive() takes a Problem, not {type(problem).__name__}", fix="hf.Problem(system, program)")
    if problem.program.lacks_holders:
        raise left_over(problem, derive)
    with uncollected(len(problem.system.coordinates) > LARGE):
        return _derived(problem, second_order)


def _derived(problem: Problem, second_order: bool) -> Equations:
    stated = stated_motion(problem)
    form, inputs, dynamics, holders = stated.form, stated.inputs, stated.dynamics, stated.holders
    deviations, samples = stated.deviations, stated.samples
    if deviations.degrees:
        check_order(problem, inputs, dynamics, deviations)
    if not problem.open_letters:  # random letters are no reason to refuse a mass
        check_masses(dynamics.points, samples[0])
    if stated.effort is None:
        check_thrust(problem, dynamics.points, holders, samples[1])
    solver = solver_of(problem, inputs, dynamics, deviations, holders, samples)
    demand = demand_of(form, problem.program, inputs, dynamics, deviations, holders, samples)
    solution, last_rates = solution_of(inputs, solver, demand, dynamics, deviations, second_order)
    friction = friction_of(problem, inputs, dynamics, solution)
    if friction is not None:
        dynamics = friction.dynamics
        solution = replace(solution, bias=dynamics.bias)
        reactions = [f"lambda_{name}" for name in problem.program.held_by_reaction]
        places = [reactions.index(f"lambda_{name}") for name in friction.constraints]
        friction.require_consistent(places, solution.mu, samples)
    solution = applied(problem, inputs, dynamics, deviations, holders, samples, solution)
    names = [c.name for c in problem.system.coordinates]
    looks = solver.dependence.samples if isinstance(solver, RedundantSolver) and solver.dependence else samples
    require_solved((*names, *problem.program.constraints), dynamics, deviations, holders, solution, looks)
    return Equations(
        problem=problem,
        form=form,
        second_order=second_order,
        inputs=with_extensions(with_controls(inputs, problem.program, solution, stated.effort), deviations, last_rates),
        dynamics=dynamics,
        deviations=replace(deviations, drift=solution.drift),
        holders=holders,
        solver=solver,
        demand_law=demand,
        solution=solution,
        effort=stated.effort,
        friction=friction,
    )


def derived_again(problem: Problem, second_order: bool, fingerprint: str) -> Equations:
    """Equations that were pickled: they compute the same, to the last bit, or are refused."""
    equations = derive(problem, second_order=second_order)
    if equations.fingerprint != fingerprint:
        raise BadRequest(
            "the equations derived here are not those that were pickled",
            where="pickle",
            fix="use one version of Holdfast on both sides, or send the problem and derive it there",
        )
    return equations
