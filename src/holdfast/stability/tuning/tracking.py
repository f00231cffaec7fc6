"""Gains for controls that are not what the law asks for: limits, a wrong model, samples, delay and noise.

There the gains are those of a feedback loop, and what counts is how well it follows. Measured on the very run that is
stated, for rates of a critically damped law:

    cost(rate) = √( mean over constraints of ( rms y / the least rms of it at any rate of the first grid )² )

so that no constraint counts for more because of its unit. Slow loops are pushed off by what the model does not know,
fast ones amplify noise, meet limits or outrun their samples: the least cost lies between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest, HoldfastError
from holdfast.problem.laws.linear import Law, Tuned, Unstabilised, critically_damped
from holdfast.results.runs.request import Request
from holdfast.results.runs.simulate import simulate
from holdfast.results.style import in_house_style
from holdfast.results.trajectory import Trajectory

GRID = 21  # rates that are tried at first, evenly in their logarithm
SECTIONS = 8  # of the golden section around the best of them
GOLDEN = (5**0.5 - 1) / 2
SLOWEST = 2.0  # over the duration: a slower loop has no time to act
FASTEST = 0.5  # over the step, or the sample: a faster loop is beyond both

Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Followed:
    """What one rate gave: rms of each deviation that controls hold, and of each control."""

    rate: float
    deviations: Mapping[str, float]
    efforts: Mapping[str, float]
    failed: str = ""

    @property
    def deviation(self) -> float:
        return max(self.deviations.values()) if self.deviations and not self.failed else float("inf")

    state_error = energy_error = float("nan")  # not what is chosen by here


@dataclass(frozen=True, eq=False)
class TrackingTuning:
    """The rate at which the controls follow best, and all that were tried."""

    equations: Equations  # under the law that was chosen
    law: Law
    rate: float
    tried: tuple[Followed, ...]  # by their rate
    costs: Mapping[float, float]
    notes: tuple[str, ...] = ()
    own: Followed | None = None  # the law that was stated
    criterion: str = ""

    @property
    def chosen(self) -> Followed:
        return next(found for found in self.tried if found.rate == self.rate)

    @property
    def runs(self) -> int:
        return len(self.tried) + (self.own is not None)

    @property
    def rows(self) -> dict[str, Followed]:
        """What is chosen, the law that was stated, and the slowest and fastest that were tried."""
        found = {f"chosen: rate {self.rate:.3g}": self.chosen}
        if self.own is not None:
            found["stated"] = self.own
        return found | {f"rate {one.rate:.3g}": one for one in (self.tried[0], self.tried[-1])}

    def summary(self) -> str:
        """The rate in a line, what it is best at, and the table."""
        lines = [f"critically damped at rate {self.rate:.4g}: {self.criterion}"]
        for found in self.tried:
            told = found.failed or ", ".join(f"{name} {size:.3g}" for name, size in found.deviations.items())
            pushed = ", ".join(f"{name} {size:.3g}" for name, size in found.efforts.items())
            lines.append(f"  rate {found.rate:9.4g}   {told}" + (f"   ({pushed})" if pushed else ""))
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)]) + "\n"

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "tracking",
            "criterion": self.criterion,
            "rate": self.rate,
            "gains": {n: v for n, v in self.equations.stated_values.items() if n.startswith("law.")},
            "notes": list(self.notes),
            "tried": [
                {
                    "rate": one.rate,
                    "deviations": dict(one.deviations),
                    "efforts": dict(one.efforts),
                    "failed": one.failed,
                }
                for one in self.tried
            ],
        }

    @in_house_style
    def plot(self) -> Any:
        """The cost of every rate that was tried; returns the axes."""
        import matplotlib.pyplot as plt

        _, axes = plt.subplots()
        good = {rate: cost for rate, cost in self.costs.items() if np.isfinite(cost)}
        axes.loglog(list(good), list(good.values()), "o-", color="C0")
        axes.axvline(self.rate, color="C1", linestyle="--", label=f"chosen: {self.rate:.3g}")
        axes.set_xlabel("rate of the law")
        axes.set_ylabel("rms deviation, beside the least")
        axes.legend()
        return axes


def tracking_tuning(
    equations: Equations, request: Request, start: Any, parameters: Mapping[Any, Any], progress: Progress | None
) -> TrackingTuning:
    """The rate at which controls follow best, under what the program says of them."""
    program = equations.problem.program
    if program.held_by_reaction:
        raise BadRequest(
            "gains of reactions and of controls that fall short are not tuned together",
            where="program.reactions",
            fix="choose a rate by hand: hf.critically_damped(rate)",
        )
    search = _RateSearch(equations, request, start, parameters, progress)
    return search.tuning()


class _RateSearch:
    """Rates tried so far, and what they gave."""

    def __init__(
        self, equations: Equations, request: Request, start: Any, parameters: Mapping[Any, Any],
        progress: Progress | None,
    ) -> None:  # fmt: skip
        self.equations, self.request, self.start, self.parameters = equations, request, start, parameters
        self.progress = progress
        self.tried: dict[float, Followed] = {}

    def tuning(self) -> TrackingTuning:
        for k, rate in enumerate(self._grid()):
            self._try(rate)
            if self.progress is not None:
                self.progress(k / (GRID + SECTIONS))
        if all(found.failed for found in self.tried.values()):
            worst = next(iter(self.tried.values()))
            raise BadRequest(
                f"no rate keeps the program: {worst.failed}", where="tune", fix="wider limits, or a better model"
            )
        self._refine()
        costs = self._costs()
        best = min(costs, key=lambda rate: costs[rate])
        law = critically_damped(best)
        return TrackingTuning(
            equations=self.equations.with_law(law),
            law=law,
            rate=best,
            tried=tuple(self.tried[rate] for rate in sorted(self.tried)),
            costs={rate: costs[rate] for rate in sorted(costs)},
            notes=self._notes(best),
            own=self._own(),
            criterion=f"the least mean square of what controls hold, {self.equations.problem.program.shortfall}",
        )

    def _grid(self) -> list[float]:
        sampling = self.equations.problem.program.sampling
        pace = sampling.step if sampling is not None else self.request.step or self.request.duration / 1000
        slow, fast = SLOWEST / self.request.duration, FASTEST / pace
        return [float(rate) for rate in np.geomspace(slow, max(fast, 4 * slow), GRID)]

    def _try(self, rate: float) -> Followed:
        if rate not in self.tried:
            self.tried[rate] = self._measured(self.equations.with_law(critically_damped(rate)), rate)
        return self.tried[rate]

    def _measured(self, equations: Equations, rate: float) -> Followed:
        request = self.request
        sizes: dict[str, Any] = {"step": request.step} if request.step is not None else {"tolerance": request.tolerance}
        try:
            run = simulate(
                equations, request.scheme, start=self.start, parameters=self.parameters, events={},
                duration=request.duration, **sizes,
            )  # fmt: skip
        except HoldfastError as error:
            return Followed(rate, {}, {}, error.what)
        if not run.success:
            return Followed(rate, {}, {}, run.outcome.value)
        program = equations.problem.program
        names = [f"y_{name}" if name in program.holonomic else f"w_{name}" for name in program.constraints]
        return Followed(rate, {n: _rms(run, n) for n in names}, {n: _rms(run, n) for n in program.controls})

    def _costs(self) -> dict[float, float]:
        return {rate: _cost(found, self._least) for rate, found in self.tried.items()}

    @cached_property
    def _least(self) -> dict[str, float]:
        """The least rms of each deviation, once the grid is through."""
        good = [found for found in self.tried.values() if not found.failed]
        return {name: min(one.deviations[name] for one in good) for name in good[0].deviations}

    def _refine(self) -> None:
        """The golden section between the neighbours of the best rate."""
        costs = self._costs()
        rates = sorted(costs)
        place = rates.index(min(costs, key=lambda rate: costs[rate]))
        low, high = np.log(rates[max(0, place - 1)]), np.log(rates[min(len(rates) - 1, place + 1)])
        for k in range(SECTIONS):
            inner = [float(np.exp(low + (high - low) * part)) for part in (1 - GOLDEN, GOLDEN)]
            for rate in inner:
                self._try(rate)
            costs = self._costs()
            if costs[inner[0]] <= costs[inner[1]]:
                high = np.log(inner[1])
            else:
                low = np.log(inner[0])
            if self.progress is not None:
                self.progress((GRID + k) / (GRID + SECTIONS))

    def _notes(self, best: float) -> tuple[str, ...]:
        rates = sorted(self.tried)
        notes = []
        if best == rates[0]:
            notes.append("the slowest rate that was tried is best: gains do more harm than good here")
        if best == rates[-1]:
            notes.append(
                "the fastest rate that was tried is best; those beyond half of one over the step were not tried"
            )
        failed = [found for found in self.tried.values() if found.failed]
        if failed:
            notes.append(f"{len(failed)} of {len(self.tried)} rates do not keep the program")
        return tuple(notes)

    def _own(self) -> Followed | None:
        if isinstance(self.equations.problem.program.law, (Tuned, Unstabilised)):
            return None
        return self._measured(self.equations, float("nan"))


def _rms(run: Trajectory, name: str) -> float:
    return float(run.reduce(f"rms({name})"))


def _cost(found: Followed, least: Mapping[str, float]) -> float:
    if found.failed:
        return float("inf")
    shares = [size / least[name] if least[name] > 0 else float(size > 0) for name, size in found.deviations.items()]
    return float(np.sqrt(np.mean(np.square(shares))))
