"""A motion in phases: each runs under its own program until its event, and hands its state to the next.

Where a phase begins, its coordinates, rates and first-order states are those of the phase before, by name. Constraints
that reactions hold are imposed at once, as by an ideal impact without bounce:

    M (v⁺ − v⁻) = Jᵀ P,     w(q, v⁺, t) = 0        so that  (v⁺ − v⁻)ᵀ M (v⁺ − v⁻) is the least there can be
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from holdfast.common.arguments import clear_arguments
from holdfast.common.frozen import Frozen
from holdfast.equations.derive import derive
from holdfast.equations.equations import Equations
from holdfast.equations.values import parameter_vector, settled, state_vector, values_at
from holdfast.errors import BadRequest
from holdfast.problem.laws.linear import Tuned
from holdfast.problem.phases import Event, Phase
from holdfast.problem.vocabulary import by_name
from holdfast.results.judgement.finding import Judgement
from holdfast.results.judgement.outcome import Outcome
from holdfast.results.quantities import quantity_node
from holdfast.results.runs.accuracy.state_error import TIGHTER
from holdfast.results.runs.joined import Impact, JoinedRun, joined
from holdfast.results.runs.request import SMALLEST_TOLERANCE, fitted_step
from holdfast.results.start.projection import Projection
from holdfast.results.trajectory import Trajectory

MOST_PHASES = 1000  # of one run: phases that follow one another ever faster never end
MET = (
    1e-6  # of where its coordinates have been: a constraint that begins to be held is met this well, or no phase begins
)
SAME_RATE = 1e-6  # of how fast all have been, measured by masses: a jump below this is none that anybody would see

Simulate = Callable[..., Trajectory]


@clear_arguments
def phase_equations(equations: Equations) -> dict[str, Equations]:
    """The equations of each phase of a problem, derived once."""
    if not isinstance(equations, Equations):
        raise BadRequest(
            f"phase_equations() takes Equations, not {type(equations).__name__}", fix="hf.derive(problem) first"
        )
    problem = equations.problem

    def made() -> dict[str, Equations]:
        found: dict[str, Equations] = {}
        if any(isinstance(problem.in_phase(name).program.law, Tuned) for name in problem.phases):
            raise BadRequest(
                "gains are not tuned over phases", where="program.law", fix="state a law: hf.critically_damped(rate)"
            )
        for name, phase in problem.phases.items():
            alike = next((n for n in found if problem.phases[n].program == phase.program), None)
            if alike is not None:
                found[name] = found[alike]
            elif phase.program is None or phase.program == problem.program:
                found[name] = replace(equations, problem=problem.in_phase(name))
            else:
                found[name] = derive(problem.in_phase(name), second_order=equations.second_order)
        return found

    found = equations.memo.once(phase_equations, made)
    for name, phase in problem.phases.items():
        if phase.until is not None:
            quantity_node(found[name], phase.until.expression, where=f"phases.{name}.until")
    return found


@dataclass(frozen=True, eq=False)
class PhasedRequest:
    """What is asked of the whole run: how it is run, when it begins and ends, and what is watched throughout."""

    simulate: Simulate
    begin: float
    end: float
    step: float | None
    tolerance: float | None
    options: Mapping[str, Any]
    events: Mapping[str, Event]
    parameters: Mapping[Any, Any]
    progress: Callable[[float], None] | None = None
    watched: Mapping[str, Mapping[str, Event]] = field(default_factory=dict)  # by phase: the events it knows

    def tell(self, time: float) -> None:
        if self.progress is not None:
            self.progress(min(1.0, (time - self.begin) / (self.end - self.begin)))


def phased(equations: Equations, asked: PhasedRequest, start: Any, start_policy: str | None) -> JoinedRun:
    """The motion through its phases, joined."""
    known, phases = phase_equations(equations), equations.problem.phases
    named = _parameters(known, asked.parameters)
    asked = replace(asked, watched=_watched(known, asked.events))
    parts: list[Trajectory] = []
    names: list[str] = []
    impacts: list[Impact] = []
    name, time, note = next(iter(phases)), asked.begin, ""
    first, policy = start, start_policy
    while len(parts) < MOST_PHASES:
        part = _Part(asked, known[name], name, phases[name], named[name], time).run(start, start_policy)
        parts.append(part)
        names.append(name)
        time, follows = float(part.times[-1]), _after(phases, name)
        asked.tell(time)
        if not _ended(part, name) or _over(time, asked) or follows is None:
            break
        name = follows
        try:
            start, impact = handed_over(part, known[name], name, time, named[name])
        except BadRequest as error:
            note = f"The phase {name!r} cannot begin at t = {time:.6g}: {error.what}"
            break
        start_policy = "keep"
        impacts += [impact] if impact is not None else []
    else:
        note = f"After {MOST_PHASES} phases the run was given up."
    run = joined(parts, names, impacts, note, equations.problem)
    if note and run.success:
        run = replace(run, judged=Judgement(Outcome.no_phase, run.against))
    return replace(run, again=lambda: phased(equations, _finer(asked), first, policy))


@dataclass(frozen=True, eq=False)
class _Part:
    """One phase of a run, from its beginning to its event, its time or the end of the whole."""

    asked: PhasedRequest
    equations: Equations
    name: str
    phase: Phase
    parameters: Mapping[Any, Any]
    time: float

    def run(self, start: Any, start_policy: str | None) -> Trajectory:
        asked, options = self.asked, dict(self.asked.options)
        if asked.step is not None:
            options["step"] = fitted_step(self.lasts, asked.step)
        watched = {ending(self.name): self.phase.until} if self.phase.until is not None else {}
        try:
            return self._made(start, start_policy, {**asked.watched[self.name], **watched}, options)
        except BadRequest as error:
            if error.where != f"events.{ending(self.name)}":
                raise
            raise BadRequest(error.what, where=f"phases.{self.name}.until", fix=error.fix) from None

    def _made(
        self, start: Any, policy: str | None, events: Mapping[str, Any], options: Mapping[str, Any]
    ) -> Trajectory:
        return self.asked.simulate(
            self.equations, start=start, start_policy=policy, parameters=self.parameters, events=events,
            begin=self.time, duration=self.lasts, progress=self._told, **options,
        )  # fmt: skip

    @property
    def lasts(self) -> float:
        left = self.asked.end - self.time
        return left if self.phase.lasts is None else min(left, float(self.phase.lasts))

    def _told(self, share: float) -> None:
        if share < 1 and self.phase.until is None:  # one that an event ends is looked at beyond it, chunk by chunk
            self.asked.tell(self.time + share * self.lasts)


def _finer(asked: PhasedRequest) -> PhasedRequest:
    """The same with half the step, or a tolerance a hundred times tighter."""
    options = {key: value for key, value in asked.options.items() if key != "every"} | {"every": 1}
    if asked.step is None:
        assert asked.tolerance is not None
        options["tolerance"] = max(SMALLEST_TOLERANCE, asked.tolerance / TIGHTER)
    return replace(asked, step=asked.step and asked.step / 2, options=options, progress=None)


def ending(phase: str) -> str:
    """The name of the event that ends a phase."""
    return f"{phase}_ends"


def _ended(part: Trajectory, name: str) -> bool:
    """Whether a phase came to its own end: its event, or its time; not an event that ends the whole run."""
    return part.outcome is Outcome.completed or (part.success and len(part.events.get(ending(name), ())) > 0)


def _over(time: float, asked: PhasedRequest) -> bool:
    return asked.end - time <= 1e-12 * max(1.0, abs(asked.end))


def _parameters(known: Mapping[str, Equations], given: Mapping[Any, Any]) -> dict[str, dict[str, Any]]:
    """For each phase the values of what it knows; a name that none knows is an error."""
    values = by_name(given, where="parameters")
    for name in values:
        if not any(name in equations.parameter_names for equations in known.values()):
            first = next(iter(known.values()))
            parameter_vector(first, {name: values[name]})  # which says what is known
    return {
        phase: {name: value for name, value in values.items() if name in equations.parameter_names}
        for phase, equations in known.items()
    }


def _watched(known: Mapping[str, Equations], events: Mapping[str, Event]) -> dict[str, dict[str, Event]]:
    """For each phase the events it can watch; one that no phase knows is an error."""
    found: dict[str, dict[str, Event]] = {phase: {} for phase in known}
    for name, event in events.items():
        errors = []
        for phase, equations in known.items():
            try:
                quantity_node(equations, event.expression, where=f"events.{name}")
                found[phase][name] = event
            except BadRequest as error:
                errors.append(error)
        if len(errors) == len(known):
            raise errors[0]
    return found


def _after(phases: Mapping[str, Phase], name: str) -> str | None:
    """The phase that follows; none after the last."""
    if phases[name].then is not None:
        return phases[name].then
    listed = list(phases)
    place = listed.index(name) + 1
    return listed[place] if place < len(listed) else None


def handed_over(
    part: Trajectory, equations: Equations, phase: str, time: float, parameters: Mapping[Any, Any]
) -> tuple[list[float], Impact | None]:
    """The state with which the next phase begins, and the impact, where imposing its constraints takes one."""
    constants = parameter_vector(equations, parameters)
    numbers = dict(zip(equations.parameter_names, constants, strict=True))
    known = {name: float(part.columns[name][-1]) for name in equations.state_names if name in part.columns}
    stated = state_vector(equations, known, numbers)  # what the part before does not know begins as it is stated,
    names = (*known, *equations.problem.start)
    state = np.array(settled(equations, stated, constants, time, names))  # and integrals are kept at what they are
    held = [name for name in equations.problem.program.held_by_reaction if name not in equations.problem.program.keep]
    begun = [name for name in held if not _held_before(part, equations, name)]
    if not begun:
        return state.tolist(), None
    _require_met(equations, begun, part, state, time, constants)
    used = Projection(equations, held).of(state, time, constants)
    n = len(equations.coordinates)
    before, after = (values_at(equations, x.tolist(), time, numbers) for x in (state, used))
    jump = used[n : 2 * n] - state[n : 2 * n]
    mass = after.mass_matrix
    fastest = np.array([_reach(part, name) for name in equations.state_names[n : 2 * n]])
    if float(jump @ mass @ jump) <= SAME_RATE**2 * float(fastest @ np.abs(mass) @ fastest):
        return used.tolist(), None
    rows = [equations.constraints.index(name) for name in held]
    impulses = np.linalg.lstsq(after.jacobian[rows].T, mass @ jump, rcond=None)[0]
    lost = before.energy - after.energy
    rates = equations.state_names[n : 2 * n]
    impact = Impact(
        time, phase, Frozen(dict(zip(rates, jump.tolist(), strict=True))), float(lost),
        Frozen(dict(zip(held, impulses.tolist(), strict=True))),
    )  # fmt: skip
    return used.tolist(), impact


def _held_before(part: Trajectory, equations: Equations, name: str) -> bool:
    """Whether a reaction held the same constraint in the part before: then nothing begins."""
    before, now = (None if part.problem is None else part.problem.program), equations.problem.program
    if before is None or name not in before.held_by_reaction:
        return False
    return {**before.holonomic, **before.nonholonomic}[name] == {**now.holonomic, **now.nonholonomic}[name]


def _reach(part: Trajectory, name: str) -> float:
    return float(np.abs(part.columns[name]).max()) if name in part.columns else 0.0


def _require_met(
    equations: Equations, held: list[str], part: Trajectory, state: np.ndarray, time: float, constants: list[float]
) -> None:
    """Reactions can take up rates at once, and no distance: none that counts beside where coordinates have been."""
    named = dict(zip(equations.parameter_names, constants, strict=True))
    values = values_at(equations, state.tolist(), time, named)
    reach = np.array([_reach(part, name) for name in equations.coordinates])
    inertia = np.abs(np.diag(values.mass_matrix))
    with np.errstate(all="ignore"):  # one that stands still is measured by those that move, by kinetic energy
        beside = np.sqrt((inertia * reach**2).sum() / inertia)
        reach = np.fmax(reach, np.where(np.isfinite(beside), beside, 0.0))
    sizes = np.abs(values.deviation_jacobian[:, : len(reach)]) @ reach
    for k, name in enumerate(equations.problem.program.holonomic):
        y = float(values.deviation[k])
        if name in held and not abs(y) <= MET * sizes[k]:
            raise BadRequest(
                f"{name!r} is off by y = {y:.6g} there, and its reaction can take up rates at once, but no distance",
                where=f"phases.{name}",
                fix="let the phase before end where the constraint is met",
            )
