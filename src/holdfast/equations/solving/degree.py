"""A problem's inputs, dynamics and deviations, of the degrees that its controls ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from holdfast.equations.dynamics.bodies.closing import closing_rows
from holdfast.equations.dynamics.climb import Ground, climbed
from holdfast.equations.dynamics.deviation import Deviations, deviations_of
from holdfast.equations.dynamics.effort import Effort, shared_holders
from holdfast.equations.dynamics.holders import holders_of
from holdfast.equations.dynamics.inputs import Inputs, inputs_of
from holdfast.equations.dynamics.lagrange import Dynamics, dynamics_of
from holdfast.equations.dynamics.reach import moves_of
from holdfast.equations.dynamics.sample import Sample, samples_of
from holdfast.equations.solving.control_states import check_order
from holdfast.equations.solving.diagnosis import definite, dependent_rows, singular, why_singular
from holdfast.equations.solving.friction import refuse_beside
from holdfast.errors import BadStatement, NoAuthority
from holdfast.graph.derivatives import jacobian
from holdfast.graph.general_solver import StructurallySingular
from holdfast.graph.linear_algebra import Rows
from holdfast.graph.nodes import Node, ancestors, substitute
from holdfast.problem.laws.linear import LawForm
from holdfast.problem.problem import Problem
from holdfast.problem.program import Program


@dataclass(frozen=True, eq=False)
class StatedMotion:
    """What is stated, on a graph, before it is solved."""

    form: LawForm
    inputs: Inputs
    dynamics: Dynamics
    deviations: Deviations
    holders: Rows
    samples: list[Sample]
    effort: Effort | None = None

    @cached_property
    def state_slopes(self) -> Rows:
        """∂w/∂s of the first-order states, where controls drive some."""
        return jacobian(self.deviations.w, self.inputs.s) if self.inputs.controls else [{} for _ in self.deviations.w]


def stated_motion(problem: Problem) -> StatedMotion:
    """The usual degrees where they will do; else constraints are differentiated until their controls appear."""
    program, made = problem.program, _usual(problem, problem.law_form)
    refuse_beside(problem, made.inputs, above=False)
    if not program.controls:
        return made
    if program.shares_effort or _without_authority(made):
        refuse_beside(problem, made.inputs, above=True)
        made = _climbed(problem, made)
    elif any(program.law.stated_degree(name, name in program.holonomic) for name in program.constraints):
        made = replace(made, form=program.law_form(problem.names, degrees={}))
    return made


def _climbed(problem: Problem, made: StatedMotion) -> StatedMotion:
    """What is stated, in the degrees that controls ask for; more of them than programs share the effort."""
    program = problem.program
    definite = made.dynamics.symmetric and _definite(made)
    nothing = {name: made.inputs.graph.zero for name in program.held_by_reaction}
    found = Ground(program, made.inputs, made.dynamics, made.deviations, made.holders, nothing, definite, made.samples)
    try:
        moves = moves_of(found)
    except NoAuthority:
        _refuse_repeats(problem, made)
        raise
    except StructurallySingular:
        return made  # without its controls nothing moves some coordinate: told by name where the whole is solved
    degrees = climbed(found, moves).degrees
    if not moves:
        return _shared(program, made, definite)
    form = program.law_form(problem.names, degrees=degrees)
    again = _usual(problem, form, degrees)
    demands = _demands(problem, form, again)
    ground = Ground(program, again.inputs, again.dynamics, again.deviations, again.holders, demands, definite)
    deviations = climbed(ground, moves)
    states = tuple(deviations.states.values())
    _refuse_taken(problem, deviations)
    samples = samples_of(problem, form, again.inputs, (*deviations.y, *deviations.w), states)
    made = replace(again, deviations=deviations, samples=samples)
    return _shared(program, made, definite) if program.shares_effort else made


def _refuse_repeats(problem: Problem, made: StatedMotion) -> None:
    """An error that names programs which repeat others, where that is why controls cannot move them by themselves."""
    n, columns = len(made.dynamics.mass), len(problem.program.held_by_reaction) + len(problem.program.controls)
    for sample in made.samples[1:]:  # beside the start: there nothing agrees by chance
        mass, jacobian = sample.dense(made.dynamics.mass, n), sample.dense(made.deviations.jacobian, n)
        if np.isfinite(jacobian).all() and dependent_rows(jacobian):
            deviating = np.array([other.of(made.deviations.y) for other in made.samples])
            raise why_singular(problem, mass, jacobian, sample.dense(made.holders, columns), deviating)


def _shared(program: Program, made: StatedMotion, definite: bool) -> StatedMotion:
    """With one direction for each program that several controls hold together."""
    holders, effort = shared_holders(program, made.inputs, made.dynamics, made.deviations, made.holders, definite)
    return replace(made, holders=holders, effort=effort)


def _usual(problem: Problem, form: LawForm, degrees: Mapping[str, int] | None = None) -> StatedMotion:
    """Everything in the usual degrees; with `degrees`, beside the inputs that laws of higher order speak of."""
    inputs = inputs_of(problem, form, degrees)
    dynamics = dynamics_of(problem.system, inputs)
    tree = dynamics.bodies.tree if dynamics.bodies is not None else None
    deviations = deviations_of(problem.program, inputs, closing_rows(problem, inputs, tree))
    check_order(problem, inputs, dynamics, deviations)
    holders = holders_of(problem.program, deviations, inputs, [c.name for c in problem.system.coordinates])
    samples = [] if degrees else samples_of(problem, form, inputs, (*deviations.y, *deviations.w))
    return StatedMotion(form, inputs, dynamics, deviations, holders, samples)


def _without_authority(made: StatedMotion) -> bool:
    """Whether constraints are independent, and the controls still cannot move them all, wherever one looks."""
    n, r, seen = len(made.dynamics.mass), len(made.deviations.w), False
    for sample in made.samples:
        mass, jacobian = sample.dense(made.dynamics.mass, n), sample.dense(made.deviations.jacobian, n)
        holders, through = sample.dense(made.holders, r), sample.dense(made.deviations.through_rows, r)
        if all(np.isfinite(part).all() for part in (mass, jacobian, holders, through)):
            if not singular(mass, jacobian, holders, through):
                return False
            slopes = sample.dense(made.state_slopes, len(made.inputs.s))  # what no rate holds yet, a state may
            seen = seen or not dependent_rows(np.hstack([jacobian, through, slopes]))
    return seen


def _definite(made: StatedMotion) -> bool:
    n = len(made.dynamics.mass)
    masses = [sample.dense(made.dynamics.mass, n) for sample in made.samples]
    return any(np.isfinite(mass).all() and definite(mass) for mass in masses)


def _demands(problem: Problem, form: LawForm, made: StatedMotion) -> dict[str, Node]:
    """What the law demands of the constraints that reactions hold, at their actual deviations."""
    inputs, program, found = made.inputs, problem.program, {}
    actual = dict(zip((inputs.y[name] for name in program.holonomic), made.deviations.y, strict=True))
    usual = [name for name in program.constraints if inputs.w[name].data == f"w_{name}"]
    rates = dict(zip(program.constraints, made.deviations.w, strict=True))
    actual |= {inputs.w[name]: rates[name] for name in usual}
    unknown = {*inputs.y.values(), *inputs.w.values()} - set(actual)
    for name in program.held_by_reaction:
        (found[name],) = substitute([inputs.walk(form.demand[name])], actual)
        if unknown & set(ancestors((found[name],))):
            raise BadStatement(
                f"the law of {name!r} depends on a deviation that its reaction helps to make",
                where=f"law.{name}",
                fix="let the law of a constraint that its reaction holds speak of its own deviation",
            )
    return found


def _refuse_taken(problem: Problem, deviations: Deviations) -> None:
    for name in deviations.states:
        if name in problem.names:
            raise BadStatement(f"the name {name!r} is needed for a state of its control", where=name, fix="rename it")
