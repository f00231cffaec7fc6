"""From a stated problem to its equations of motion."""

from __future__ import annotations

from holdfast.equations.demand import Demand, demand_of
from holdfast.equations.deviation import deviations_of
from holdfast.equations.equations import Equations, Parts
from holdfast.equations.holders import Solver, holders_of, solver_of
from holdfast.equations.inputs import Inputs, inputs_of
from holdfast.equations.lagrange import dynamics_of
from holdfast.equations.sample import samples_of
from holdfast.errors import BadRequest
from holdfast.graph.nodes import Node
from holdfast.problem.problem import Problem


def derive(problem: Problem, *, second_order: bool = True) -> Equations:
    """The equations of motion that have the program as partial integrals, with deviations obeying the law.

        M a = h − m₂ + E μ,      J a + γ = Y(y, w, q, v, t)

    `second_order=False` drops what is of second order in the deviations (m₂, Y₂), as the papers' schemes do:
    deviations then obey the linear law exactly, and the motion along the program changes by O(deviation²).
    """
    if not isinstance(problem, Problem):
        raise BadRequest(f"derive() takes a Problem, not {type(problem).__name__}", fix="hf.Problem(system, program)")
    form = problem.program.law_form(problem.system)
    inputs = inputs_of(problem, form)
    dynamics = dynamics_of(problem.system, inputs)
    deviations = deviations_of(problem.program, inputs)
    samples = samples_of(problem, form, inputs, (*deviations.y, *deviations.w))
    names = [c.name for c in problem.system.coordinates]
    holders = holders_of(problem.program, deviations, inputs, names)
    solver = solver_of(problem, inputs, dynamics, deviations, holders, samples)
    demand = demand_of(form, problem.program, inputs, dynamics, deviations, holders, samples)
    parts = _solution(inputs, solver, demand, dynamics.bias, deviations.drift, second_order)
    actual = dict(zip((*inputs.y.values(), *inputs.w.values()), (*deviations.y, *deviations.w), strict=True))
    return Equations(
        problem=problem,
        form=form,
        second_order=second_order,
        inputs=inputs,
        dynamics=dynamics,
        deviations=deviations,
        holders=holders,
        solver=solver,
        demand_law=demand,
        parts=parts.at(actual),
    )


def _solution(
    inputs: Inputs,
    solver: Solver,
    demand: Demand,
    bias: tuple[Node, ...],
    drift: tuple[Node, ...],
    second_order: bool,
) -> Parts:
    """Accelerations, and the holders' forces split by cause.

    μ₀ classical: holds the exact program     M a₀ = h + E μ₀,      J a₀ = −γ
    μ₁ corrects deviations to first order     M a₁ = E μ₁,          J a₁ = K y + B w
    μ₂ the terms of second order              M a₂ = −m₂ + E μ₂,    J a₂ = Y₂
    """
    graph = inputs.graph
    none = [graph.zero] * len(bias)
    still = [graph.zero] * len(drift)
    excess = demand.excess_bias if second_order and demand.excess_bias is not None else tuple(none)
    rest = demand.rest if second_order and demand.rest is not None else tuple(still)
    wanted = demand.value if second_order else demand.linear
    forces = [h - m for h, m in zip(bias, excess, strict=True)]
    accelerations, mu = solver(forces, [y - d for y, d in zip(wanted, drift, strict=True)])
    _, mu_0 = solver(bias, [-d for d in drift])
    _, mu_1 = solver(none, demand.linear)
    _, mu_2 = solver([-m for m in excess], rest)
    return Parts(tuple(accelerations), tuple(mu), (tuple(mu_0), tuple(mu_1), tuple(mu_2)), excess, tuple(wanted))
