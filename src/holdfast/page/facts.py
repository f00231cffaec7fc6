"""What a page is about: one run with its equations, certificate and tuning, and what several sections ask of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.common.frozen import Frozen
from holdfast.common.rounded import EXACT, rounded_down, rounded_up
from holdfast.equations.derive import derive
from holdfast.equations.equations import Equations
from holdfast.equations.internal.dynamics import InternalDynamics, internal_or_none
from holdfast.errors import HoldfastError
from holdfast.page.markup.figure_text import FigureText, quantity
from holdfast.page.markup.html import Markup
from holdfast.page.markup.prose import prose
from holdfast.problem.file.load_dump import dumps
from holdfast.problem.problem import Problem
from holdfast.problem.text.file_text import FileText
from holdfast.problem.units.derived import DerivedUnits
from holdfast.results.judgement.energy import conservative
from holdfast.results.motion import FRAMES, MechanismFrames, motion_of
from holdfast.results.runs.joined import JoinedRun
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.by_name import scheme_named
from holdfast.schemes.kinds.scheme import Scheme
from holdfast.stability.certificate.certificate import Certificate
from holdfast.stability.linear.by_block import step_limits
from holdfast.stability.linear.spectrum import Spectrum, spectrum
from holdfast.stability.linear.transient import Transient, transient
from holdfast.stability.own_steps import OwnStepBounds

SPARE = {"M": "AGK", "T": "KE", "P": "VU", "D": "BZ", "h": "fg", "J": "CG", "E": "BL", "H": "AS"}
MANY = 8  # coordinates, or constraints, that are still told one by one
LONG = 5  # digits before the point from which on a power of ten is written
BEYOND = 1e6  # times the size of the start: a state that has blown up


@dataclass(frozen=True, eq=False)
class PageFacts:
    """A run and all that is known of it; everything derived is made once, when first asked for."""

    trajectory: Trajectory
    problem: Problem
    certificate: Certificate | None = None
    tuning: Any = None
    command: str = ""
    remarks: tuple[str, ...] = ()
    stopped: float | None = None  # where the run came to, if rows of it are not drawn
    states_estimated: bool = True  # whether the error of the states is estimated, by a second run
    doubt: str = ""  # why a certificate that was given is not shown
    by_phase: Mapping[str, Certificate] = field(default_factory=dict)  # of a run through phases, as `certify_phases`
    stretches: Mapping[str, Certificate] = field(default_factory=dict)  # that are proved where the whole run is not
    own_steps: tuple[OwnStepBounds, ...] = ()  # what is proved along the steps that the run chose

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """The one certificate, or those of the phases."""
        return tuple(self.by_phase.values()) if self.certificate is None else (self.certificate,)

    def phases(self) -> list[tuple[str, PageFacts]]:
        """Each phase that has a certificate, as the subject of a page of its own."""
        run = self.trajectory
        if not isinstance(run, JoinedRun):
            return []
        named = {f"{k} {name}": part for k, (name, part) in enumerate(zip(run.phases, run.parts, strict=True), 1)}
        return [
            (
                name,
                replace(
                    self,
                    trajectory=named[name],
                    problem=named[name].problem or self.problem,
                    certificate=found,
                    by_phase={},
                ),
            )
            for name, found in self.by_phase.items()
        ]

    @cached_property
    def equations(self) -> Equations:
        return self.trajectory.equations or derive(self.problem)

    @cached_property
    def text(self) -> str:
        """The problem as a file states it; empty where it has no form as a file."""
        try:
            return dumps(self.problem)
        except HoldfastError:
            return ""

    @property
    def large(self) -> bool:
        """Whether there are so many alike that the first of them speak for all; the rest is folded away."""
        return len(self.equations.coordinates) > MANY or len(self.equations.constraints) > MANY

    @cached_property
    def source(self) -> FileText | None:
        """The text that the user wrote; None where there is none but our own."""
        found = self.problem.source
        return None if found is None or found.text == self.text else found

    @property
    def scheme(self) -> Scheme:
        return scheme_named(self.trajectory.scheme)

    @property
    def held(self) -> bool:
        run = self.trajectory
        if isinstance(run, JoinedRun):
            return any(part.problem is not None and part.problem.program.constraints for part in run.parts)
        return bool(self.equations.constraints)

    @cached_property
    def spectrum(self) -> Spectrum:
        """The matrix of the deviations at the start of the run."""
        run = self.trajectory
        return spectrum(self.equations, list(run.start.state), float(run.times[0]), dict(run.parameters))

    @cached_property
    def transients(self) -> dict[str, Transient]:
        """Growth before the decay, for the blocks that decay; of like blocks found once, for a net has hundreds."""
        found, known = dict[str, Transient](), dict[tuple[bytes, object], Transient]()
        for block in self.spectrum.blocks:
            if block.hurwitz:
                key = block.matrix.tobytes(), block.positions
                if key not in known:
                    known[key] = transient(block.matrix, positions=block.positions)
                found[", ".join(block.constraints)] = known[key]
        return found

    @cached_property
    def limits(self) -> dict[str, Any]:
        """The linear limits of the step, by block."""
        run = self.trajectory
        if run.step is None or not self.held:
            return {}
        state, begin = list(run.start.state), float(run.times[0])
        return dict(step_limits(self.equations, self.scheme, state=state, time=begin, parameters=dict(run.parameters)))

    @cached_property
    def internal(self) -> InternalDynamics | None:
        """What stays free along the run, where controls hold the program."""
        held = self.equations.problem.program.controls
        if not held or isinstance(self.trajectory, JoinedRun):  # of which each part leaves something else free
            return None
        return internal_or_none(self.equations, self.trajectory)

    @cached_property
    def motion(self) -> MechanismFrames | None:
        points = max(len(self.problem.system.points), 1)
        return motion_of(self.trajectory, self.equations, frames=max(120, FRAMES * min(10, points) // points))

    @cached_property
    def energy_size(self) -> float:
        """How much energy is in motion: the largest kinetic energy, or change of the total energy, along the run."""
        run = self.trajectory
        with np.errstate(all="ignore"):
            return max(float(np.nanmax(np.abs(run["kinetic"]), initial=0)), float(np.ptp(run["energy"])), 1e-300)

    @property
    def lost_energy(self) -> float:
        """The largest change of energy, as a part of the energy in motion, where nothing may change it; else 0."""
        run = self.trajectory
        if not run.start.on_program or not conservative(self.equations):
            return 0.0
        return run.energy_change / self.energy_size

    def letter(self, usual: str) -> str:
        """The usual letter of a matrix or an energy, or the next that no quantity of this problem has."""
        taken = {*self.problem.names.names, *self.problem.program.controls, *self.problem.program.constraints}
        return next((letter for letter in (usual, *SPARE.get(usual, "")) if letter not in taken), usual)

    def label(self, name: str) -> FigureText:
        """A name as a label of a figure, with its unit where one is stated, or follows from those that are."""
        return quantity(name, self.unit(name))

    @cached_property
    def _units(self) -> DerivedUnits:
        return DerivedUnits(self.problem)

    def unit(self, name: str) -> str:
        """The unit of a column of the run, of t, or of "energy" and "power"; nothing where it is not known."""
        return self._units.of(name)

    @cached_property
    def _names(self) -> frozenset[str]:
        known = {*self.trajectory.state_names, *self.equations.observables, *self.equations.deviation_names}
        rates = {f"{name}_dot" for name in self.problem.system.states}
        return frozenset(known | rates | set(self.equations.parameter_names) | set(self.problem.system.definitions))

    def prose(self, text: str) -> Markup:
        """A sentence with its numbers written for reading and its quantities as formulas have them."""
        return prose(sentence(text), self._names, self.equations.constraints)

    def word(self, words: str, name: str) -> str:
        """Words for an axis, with a unit where it is known: energy [J]."""
        unit = self.unit(name)
        return f"{words} [{unit}]" if unit else words


def readable(trajectory: Trajectory) -> tuple[Trajectory, list[str]]:
    """A run without the rows in which it blew up, whose values would hide all others; and the words that say so."""
    limit = BEYOND * (1 + max(map(abs, trajectory.start.state), default=0.0))
    table = np.array(list(trajectory.columns.values()))
    with np.errstate(invalid="ignore"):
        wild = ~np.isfinite(table).all(axis=0) | (np.abs(trajectory.y).max(axis=0) > limit)
    if trajectory.success or not wild.any():
        return trajectory, []
    kept = max(1, int(np.argmax(wild)))
    if kept == len(trajectory.times):
        return trajectory, []
    columns = Frozen({name: values[:kept] for name, values in trajectory.columns.items()})
    left = f"From t = {number(float(trajectory.times[kept]))} on the run blew up; those rows are not drawn."
    return replace(trajectory, times=trajectory.times[:kept], columns=columns), [left]


MINUS = re.compile(r"(?<![\w.)\]-])-(?=\d)")
EXPONENT = re.compile(r"(?<![\w.])(-?\d+(?:\.\d+)?)e([+-]\d+)")


def sentence(text: str) -> str:
    """A sentence with its numbers written for reading."""
    text = EXPONENT.sub(lambda found: number(float(found[0]), 12), text.replace("<=", "≤").replace(" +- ", " ± "))
    return MINUS.sub("−", text)


def spoken(name: str) -> str:
    """A name of the file in running text: loop_x is "loop x"."""
    return name.replace("_", " ")


def bound(value: float, digits: int = 3) -> str:
    """A bound for reading, rounded up: never below the value itself."""
    return number(float(rounded_up(value, digits)), digits)


def limit(value: float, digits: int = 3) -> str:
    """What must not be exceeded, for reading, rounded down: a step at most, a margin, the width of a tube."""
    return number(float(rounded_down(value, digits)), digits)


def inward(low: float, high: float) -> tuple[str, str]:
    """The ends of a range for reading, rounded inward, in so many digits that it is not empty: no state is added."""
    for digits in range(4, EXACT + 1):
        first, last = float(rounded_up(low, digits)), float(rounded_down(high, digits))
        if last - first >= 0.9 * (high - low) or low == high:
            return number(first, digits), number(last, digits)
    return repr(low), repr(high)


def counted(count: int, word: str, plural: str = "s") -> str:
    """A number with its noun: 1 step, 1,000 steps."""
    return f"{count:,} {word}" + plural * (count != 1)


def number(value: float, digits: int = 4) -> str:
    """A number for reading: 0.01, 1.2 × 10⁻⁹."""
    if not np.isfinite(value):
        return "∞" if value > 0 else "−∞" if value < 0 else "undefined"
    text = f"{value + 0.0:.{digits}g}"
    mantissa, _, power = text.partition("e")
    if power and 0 <= int(power) < LONG:
        return f"{float(text):.0f}".replace("-", "−")  # 100, not 10²
    if power:
        raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return f"{mantissa} × 10{raised}".replace("-", "−") if mantissa != "1" else f"10{raised}"
    return text.replace("-", "−")
