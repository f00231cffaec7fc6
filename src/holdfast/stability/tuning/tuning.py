"""What tuning found: the law, the three numbers behind it, and the map it was chosen from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.common.frozen import Frozen
from holdfast.equations.equations import Equations
from holdfast.problem.laws.linear import Law, Unstabilised
from holdfast.stability.tuning.dialects import Words, dialects, in_words

ROUNDING = 1e-13  # of the scale of a deviation
PENALTY = "penalty: nothing is held, springs and dampers push back what has left the program; for comparison only."


@dataclass(frozen=True, slots=True)
class Numbers:
    """Worst scaled deviation, state error, energy error, and the evaluations they cost; infinite after divergence."""

    deviation: float
    state_error: float
    energy_error: float
    evaluations: int

    @property
    def diverged(self) -> bool:
        return not np.isfinite(self.deviation)

    def __str__(self) -> str:
        if self.diverged:
            return "diverges"
        return (
            f"deviation {self.deviation:.3g}, state error {self.state_error:.3g}, energy error {self.energy_error:.3g}"
        )


@dataclass(frozen=True, slots=True)
class MarkedGains:
    """A named choice on the map: a printed rule, or a zero of the scheme's R."""

    name: str
    rate: float
    ratio: float
    numbers: Numbers
    allowed: bool


@dataclass(frozen=True, slots=True)
class MarkedPenalty:
    """The penalty with the least deviation: its rate ω, its strength by constraint (k, or c of rates), its numbers."""

    letter: str
    rate: float
    strength: Mapping[str, float]
    numbers: Numbers

    @property
    def name(self) -> str:
        listed = ", ".join(dict.fromkeys(f"{k:.3g}" for k in self.strength.values()))
        return f"penalty {self.letter} = {listed}"


@dataclass(frozen=True, eq=False)
class GainMap:
    """The worst scaled deviation for every rate and damping ratio swept, infinite where the run diverged."""

    rates: np.ndarray
    ratios: np.ndarray
    deviation: np.ndarray  # (ratios, rates)
    allowed: np.ndarray  # whether state and energy errors stay within their limits


@dataclass(frozen=True, eq=False)
class Tuning:
    """A law for one model, scheme and step (or tolerance), with what it was measured against."""

    equations: Equations  # under the law that was found
    law: Law
    scheme: str
    step: float | None
    tolerance: float | None
    duration: float
    rate: float | None  # one for all constraints; None without gains, or where each constraint has its own
    ratio: float | None
    numbers: Numbers
    unstabilised: Numbers
    own: Numbers | None  # of the law that the problem states; None where it states none, or one without gains
    textbook: tuple[MarkedGains, ...]
    tightest: MarkedGains | None  # the least deviation that was seen, whatever its errors
    map: GainMap
    scales: Mapping[str, float]  # by constraint: deviations are divided by these
    limits: Mapping[str, float]  # on state_error, energy_error and, for adaptive schemes, evaluations
    runs: int
    notes: tuple[str, ...] = ()
    penalty: MarkedPenalty | None = None  # the rival way: nothing held, springs and dampers in the place of reactions
    criterion: str = ""  # what the law was chosen by, in a sentence
    deviates: bool = False  # the law had to bring the start back, and was chosen by that
    feedback: bool = False  # controls hold the program, and only rounding drifts: the gains were not chosen by drift

    @property
    def stabilised(self) -> bool:
        return not isinstance(self.law, Unstabilised)

    @cached_property
    def dialects(self) -> Mapping[str, Words]:
        """The law by constraint, in every dialect; empty without gains."""
        above = self.equations.deviations.degrees  # their laws have no other words than rate and coefficients
        return Frozen(dialects(self.equations)) if self.stabilised and not above else Frozen()

    @property
    def gain(self) -> float:
        """How many times smaller the deviation is than without gains."""
        ours, none = self.numbers.deviation, self.unstabilised.deviation
        return none / ours if ours > 0 else np.inf if none > 0 else 1.0

    def summary(self) -> str:
        """The answer in a few lines."""
        size = f"step {self.step:g}" if self.step is not None else f"tolerance {self.tolerance:g}"
        lines = [f"Gains for {self.scheme}, {size}, over {self.duration:g}: " + self._answer()]
        lines += [f"  {name}: {in_words(words)}" for name, words in self.dialects.items()]
        width = max(map(len, self.rows))
        lines += [f"  {name:<{width}}  {numbers}" for name, numbers in self.rows.items()]
        if self.criterion:
            lines.append(f"  {self.criterion}")
        if self.stabilised and not self.feedback and self._forgone(self.numbers):
            lines.append(f"  {self._forgone(self.numbers)}")
        if self.penalty is not None:
            lines.append(f"  {PENALTY}")
        scales = ", ".join(f"{name} / {value:.4g}" for name, value in self.scales.items())
        lines.append(f"  deviations are scaled: {scales}")
        lines += [f"  {note}" for note in self.notes]
        return "\n".join(lines) + "\n"

    @property
    def rows(self) -> dict[str, Numbers]:
        """The laws that were compared, each by a name one can say, the chosen one first."""
        rows = {"chosen here" if self.stabilised else "chosen here: no gains": self.numbers}
        if self.own is not None:
            rows["the problem's own law"] = self.own
        if self.stabilised:
            rows["no gains"] = self.unstabilised
        rows |= {mark.name: mark.numbers for mark in self.textbook}
        if self.tightest is not None and not self.tightest.allowed:
            rows[f"{self.tightest.name}: rate {self.tightest.rate:.4g}"] = self.tightest.numbers
        if self.penalty is not None:
            rows[self.penalty.name] = self.penalty.numbers
        return rows

    def _answer(self) -> str:
        if not self.stabilised:
            return f"none; {self._why_none()}"
        small = max(self.numbers.deviation, self.unstabilised.deviation) < ROUNDING
        if self.feedback and self.deviates and not small and self.rate is not None:
            return f"rate {self.rate:.4g}; it brings the start, which is off the program, back within half the run."
        if (small or self.feedback) and self.rate is not None:
            return (
                f"rate {self.rate:.4g}; the program is held to rounding with any gains, so that these only decide how "
                "soon a start off it is brought back."
            )
        if self.rate is None or self.ratio is None:
            return f"one pair for each constraint; {self._cost()}."
        with_ratio = self._holonomic and not self.equations.deviations.degrees
        ratio = f", damping ratio {self.ratio:.4g}" if with_ratio else ""
        return f"rate {self.rate:.4g}{ratio}; {self._cost()}."

    def _cost(self) -> str:
        """What the law does to the deviation, and to the state error, beside no gains."""
        gain = f"{self.gain:.3g} times less" if self.gain >= 1 else f"{1 / self.gain:.3g} times the"
        text = f"{gain} deviation than without" if self.gain >= 1 else f"{gain} deviation without"
        ours, none = self.numbers.state_error, self.unstabilised.state_error
        return f"{text}, at {ours / none:.3g} times its state error" if 0 < none < np.inf else text

    def _why_none(self) -> str:
        """Why no gains were chosen."""
        return self._forgone(self.unstabilised) or "no law that was tried lowers the deviation enough to be worth it."

    def _forgone(self, beside: Numbers) -> str:
        """What the law with the least deviation would give and cost; nothing where it was allowed, or no better."""
        tight, none = self.tightest, self.unstabilised
        if tight is None or tight.allowed or not tight.numbers.deviation < beside.deviation:
            return ""
        costs = [
            f"{ours / theirs:.3g} times the {name.replace('_', ' ')}"
            for name in ("state_error", "energy_error", "evaluations")
            if (theirs := getattr(none, name)) > 0
            and (ours := getattr(tight.numbers, name)) > self.limits.get(name, np.inf)
        ]
        cost = " and ".join(costs)
        gain = beside.deviation / tight.numbers.deviation
        return f"the law with the least deviation, {gain:.3g} times less, has {cost} without gains." if cost else ""

    @property
    def _holonomic(self) -> tuple[str, ...]:
        return tuple(self.equations.problem.program.holonomic)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the map as plain values."""
        law = {name: _plain(value) for name, value in self.equations.stated_values.items() if name.startswith("law.")}
        return {
            "schema": 1,
            "scheme": self.scheme,
            "step": self.step,
            "tolerance": self.tolerance,
            "duration": self.duration,
            "stabilised": self.stabilised,
            "gains": law if self.stabilised else {},
            "dialects": {
                name: {kind: {k: _plain(v) for k, v in part.items()} for kind, part in words.items()}
                for name, words in self.dialects.items()
            },
            "this_law": _numbers(self.numbers),
            "no_gains": _numbers(self.unstabilised),
            "own_law": None if self.own is None else _numbers(self.own),
            "textbook": {mark.name: _numbers(mark.numbers) for mark in self.textbook},
            "penalty": None
            if self.penalty is None
            else {"rate": self.penalty.rate, "strength": dict(self.penalty.strength)} | _numbers(self.penalty.numbers),
            "scales": dict(self.scales),
            "limits": {name: _plain(value) for name, value in self.limits.items()},
            "runs": self.runs,
            "notes": list(self.notes),
            "criterion": self.criterion,
        }

    def plot(self) -> Any:
        """The map with the choice and the textbook rules marked; returns the axes."""
        from holdfast.stability.tuning.plot import plot

        return plot(self)

    def __repr__(self) -> str:
        return f"<Tuning {self.scheme}: {self._answer()}>"


def _plain(value: float) -> float | None:
    """JSON has no infinities."""
    return float(value) if np.isfinite(value) else None


def _numbers(numbers: Numbers) -> dict[str, Any]:
    return {
        "deviation": _plain(numbers.deviation),
        "state_error": _plain(numbers.state_error),
        "energy_error": _plain(numbers.energy_error),
        "evaluations": numbers.evaluations,
        "diverged": numbers.diverged,
    }
