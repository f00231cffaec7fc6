"""Gains for one model, scheme and step: theory proposes, the model itself disposes.

    minimise   the worst scaled deviation
    subject to state error and energy error at most twice the unstabilised ones, and to a run that ends well

The energy is that of the state moved onto the program. Where controls hold the program and it drifts by rounding alone,
gains are feedback and drift says nothing of them: then they are those that bring a start off the program back within
half the run.

No formula gives the best gains: they flip with the scheme (Euler wants roots at -1/step, RK4 roots of the size of the
motion's own rates), so a few hundred runs of the user's model decide. Gains are inputs of the kernel: one compilation
serves them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from holdfast.common.arguments import with_options
from holdfast.common.cluster import cluster
from holdfast.common.frozen import Frozen
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.problem.laws.linear import Law, Tuned, Unstabilised, critically_damped
from holdfast.problem.types import ByName, StateLike
from holdfast.results.runs.request import StepOptions, request_of
from holdfast.schemes.kinds.scheme import Scheme
from holdfast.stability.tuning.candidates import RATIOS, swept_rates, textbook
from holdfast.stability.tuning.chains import ChainTrials
from holdfast.stability.tuning.penalty import measured_penalty, penalty_rates, strength
from holdfast.stability.tuning.tracking import TrackingTuning, tracking_tuning
from holdfast.stability.tuning.trials import MeasuredGains, Trials
from holdfast.stability.tuning.tuning import GainMap, MarkedGains, MarkedPenalty, Numbers, Tuning

TWICE = 2.0  # the errors allowed, beside those without gains
COST = 1.25  # evaluations allowed to an adaptive scheme, beside those without gains
WORTH = 0.8  # gains must lower the deviation at least to this part
ROUNDS = 4  # of refinement, each on a finer 5 x 5 grid
PENALTY = 3  # the power at which an error beyond its limit counts in the search
HALVINGS = 8  # of a rate that should bring a start back, until the scheme bears it
MARGIN = 1.04  # a law must survive rates larger and smaller by this factor

Progress = Callable[[float], None]


@with_options(StepOptions)
def tune(
    equations: Equations,
    scheme: Scheme | str | None = None,
    *,
    start: StateLike | None = None,
    law: Law | None = None,
    parameters: ByName | None = None,
    per_constraint: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
    on: Any = None,
    **run: Unpack[StepOptions],
) -> Tuning | TrackingTuning:
    """The gains under which the worst scaled deviation is least, at no more than twice the errors without gains.

    Where controls have limits, samples or a model of their own, the rate at which they follow best (`TrackingTuning`).

    Measured on the model itself over `duration`, from the start moved onto the program. One rate and damping ratio for
    all constraints, or one pair for each with `per_constraint`. "No gains" is a legal answer. With an adaptive scheme
    the law may cost a quarter more evaluations. `progress` is called with the fraction done; Ctrl-C while gains are
    refined keeps the best so far. A `law` (like the one of the equations) is measured beside the one
    chosen, which replaces it. `on` is a dask client, its address, or "local": gains are then measured by its workers.
    """
    if not isinstance(equations, Equations):
        raise BadRequest(f"tune() takes Equations, not {type(equations).__name__}", fix="hf.derive(problem) first")
    if not equations.constraints:
        raise BadRequest("there is nothing to hold, so nothing to tune", fix="state a program")
    equations.require_one_phase("tune")
    if equations.problem.program.shortfall:
        if on is not None:
            why = "rates at which controls with limits follow are tried one after the other"
            raise BadRequest(why, where="on", fix="leave it out")
        stated = equations if law is None else equations.with_law(law)
        trial = stated.with_law(critically_damped(1)) if isinstance(stated.problem.program.law, Tuned) else stated
        request = request_of(trial, scheme, **run)
        return tracking_tuning(stated, request, start, parameters or {}, progress)
    kind = ChainTrials if equations.deviations.degrees else Trials
    stated = equations if law is None else equations.with_law(law)
    plain = stated.with_law(kind.no_gains)
    request = request_of(plain, scheme, **run)
    with nullcontext() if on is None else cluster(on) as client:
        trials = kind(plain, replace(request, every=1), start, parameters or {}, threads, client)
        return _Search(trials, progress).tuning(
            _own_numbers(trials, stated, parameters or {}), per_constraint=per_constraint
        )


def _own_numbers(trials: Trials, stated: Equations, parameters: Mapping[Any, Any]) -> Numbers | None:
    """What the law that is stated gives; nothing where it has no gains, or none yet."""
    if isinstance(stated.problem.program.law, (Unstabilised, Tuned)):
        return None
    return _numbers(trials.measure_law(stated, parameters), 0)


class _Search:
    """Points tried so far: gains by constraint, and what they gave."""

    def __init__(self, trials: Trials, progress: Progress | None = None) -> None:
        self.progress, self.interrupted = progress, False
        self.trials, count = trials, len(trials.constraints)
        self.rates, self.ratios = np.zeros((0, count)), np.zeros((0, count))
        self.found: list[MeasuredGains] = []
        none = trials.measure([0.0], [1.0])
        self.none, self.none_steady = _numbers(none, 0), bool(none.steady[0])
        reference = trials.reference
        self.limits = {
            "state_error": TWICE * max(self.none.state_error, reference.doubt),
            "energy_error": TWICE * max(self.none.energy_error, reference.energy_doubt),
        }
        if trials.request.step is None:
            self.limits["evaluations"] = COST * self.none.evaluations if not self.none.diverged else np.inf

    def tuning(self, own: Numbers | None, *, per_constraint: bool) -> Tuning:
        trials, request = self.trials, self.trials.request
        self._tell(0.0)
        grid = self._sweep()
        self._tell(0.5)
        marks = self._textbook()
        self._tell(0.6)
        try:
            self._refine()
            if per_constraint and len(trials.constraints) > 1:
                self._refine_each()
        except KeyboardInterrupt:
            self.interrupted = True
        penalty = self._penalty()
        feedback = self._only_feedback()
        law, rate, ratio, numbers = self._attracting() if feedback else self._choice(per_constraint)
        return Tuning(
            equations=trials.equations.with_law(law),
            law=law,
            scheme=request.scheme.name,
            step=request.step,
            tolerance=request.tolerance,
            duration=request.duration,
            rate=rate,
            ratio=ratio,
            numbers=numbers,
            unstabilised=self.none,
            own=own,
            textbook=marks,
            tightest=self._tightest(),
            map=grid,
            scales=Frozen(trials.scales),
            limits=Frozen(self.limits),
            runs=len(self.rates) + 1 + (own is not None),
            notes=self._notes(),
            penalty=penalty,
            criterion=self._criterion(feedback),
            deviates=trials.must_attract,
            feedback=feedback,
        )

    def _tell(self, share: float) -> None:
        if self.progress is not None:
            self.progress(share)

    # ── trying ────────────────────────────────────────────────────────────────────────────────────

    def _try(self, rates: np.ndarray, ratios: np.ndarray) -> MeasuredGains:
        """Measure rows of rates and ratios, one column per constraint (or one for all), and keep them."""
        count = len(self.trials.constraints)
        wide = [np.broadcast_to(x.reshape(len(x), -1), (len(x), count)) for x in (rates, ratios)]
        measured = self.trials.measure(*wide)
        self.rates, self.ratios = np.vstack([self.rates, wide[0]]), np.vstack([self.ratios, wide[1]])
        self.found.append(measured)
        return measured

    def allowed(self, measured: MeasuredGains) -> np.ndarray:
        """Runs that ended well within the limits."""
        good = np.isfinite(measured.deviation) & measured.steady
        for name, limit in self.limits.items():
            good &= getattr(measured, name) <= limit
        return good

    def _sweep(self) -> GainMap:
        request, trials = self.trials.request, self.trials
        holonomic = trials.with_ratios
        rates = swept_rates(request.scheme, request.step, request.duration, trials.motion_rate, holonomic=holonomic)
        ratios = np.array(RATIOS if holonomic else (1.0,))
        measured = self._try(np.tile(rates, len(ratios)), np.repeat(ratios, len(rates)))
        shape = (len(ratios), len(rates))
        return GainMap(rates, ratios, measured.deviation.reshape(shape), self.allowed(measured).reshape(shape))

    def _textbook(self) -> tuple[MarkedGains, ...]:
        rules = textbook(self.trials.request.scheme, self.trials.request.step)
        if not self.trials.with_ratios:
            rules = [replace(r, name=r.name.replace("alpha = beta", "rate")) for r in rules if r.ratio == 1.0]
        measured = self._try(np.array([r.rate for r in rules]), np.array([r.ratio for r in rules]))
        good = self.allowed(measured)
        return tuple(
            MarkedGains(r.name, r.rate, r.ratio, _numbers(measured, k), bool(good[k])) for k, r in enumerate(rules)
        )

    def _penalty(self) -> MarkedPenalty | None:
        """The penalty with the least deviation among those whose runs end; nothing where none does."""
        rates = penalty_rates(self.trials)
        measured = measured_penalty(self.trials, rates)
        if measured is None or not np.isfinite(measured.deviation).any():
            return None
        best = int(np.argmin(measured.deviation))
        rate, letter = float(rates[best]), "k" if self.trials.holonomic else "c"
        return MarkedPenalty(letter, rate, Frozen(strength(self.trials, rate)), _numbers(measured, best))

    def _best(self, *, penalised: bool = False) -> int | None:
        """The number of the best point that is allowed; or the best where errors beyond their limits count as well."""
        merit = np.concatenate([self._penalised(m) if penalised else _where(self.allowed(m), m) for m in self.found])
        k = int(np.argmin(merit))
        return k if np.isfinite(merit[k]) else None

    def _penalised(self, measured: MeasuredGains) -> np.ndarray:
        merit = _where(measured.steady, measured)
        for name, limit in self.limits.items():
            with np.errstate(all="ignore"):
                excess = getattr(measured, name) / limit if limit > 0 else np.inf
                merit = merit * np.fmax(1.0, excess) ** PENALTY
        return np.where(np.isnan(merit), np.inf, merit)

    def _refine(self) -> None:
        """Finer and finer grids around the best allowed point, and around one that a small step may make allowed."""
        span = self._spacing()
        across = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
        for k in range(ROUNDS):
            best = {self._best(), self._best(penalised=True)} - {None}
            for place in best:
                assert place is not None
                rate = self.rates[place, 0] * span ** (0.5**k * across)
                ratio = self.ratios[place, 0] * (1.4 ** (0.5**k * across) if self.trials.with_ratios else np.ones(1))
                self._try(np.tile(rate, len(ratio)), np.repeat(ratio, len(rate)))

    def _spacing(self) -> float:
        """The factor between neighbouring rates of the sweep."""
        swept = np.unique(self.rates[:, 0])
        return float(np.median(swept[1:] / swept[:-1])) if len(swept) > 1 else 2.0

    def _refine_each(self) -> None:
        """One constraint after the other, from the best common pair on."""
        for factor in (3.0, 1.7, 1.3):
            for k, name in enumerate(self.trials.constraints):
                best = self._best()
                if best is None:
                    return
                moves = factor ** np.array([-1.0, -0.5, 0.5, 1.0])
                ratio_counts = self.trials.with_ratios and name in self.trials.holonomic
                turns = np.array([0.7, 1.0, 1.4]) if ratio_counts else np.array([1.0])
                rates = np.tile(self.rates[best], (len(moves) * len(turns), 1))
                ratios = np.tile(self.ratios[best], (len(rates), 1))
                rates[:, k] *= np.tile(moves, len(turns))
                ratios[:, k] *= np.repeat(turns, len(moves))
                self._try(rates, ratios)

    # ── choosing ──────────────────────────────────────────────────────────────────────────────────

    def _choice(self, per_constraint: bool) -> tuple[Law, float | None, float | None, Numbers]:
        """The best point that survives a margin, with gains of four digits; or no gains."""
        deviation = np.concatenate([m.deviation for m in self.found])
        good = np.concatenate([self.allowed(m) for m in self.found])
        enough = WORTH * self.none.deviation
        for k in np.argsort(np.where(good, deviation, np.inf), kind="stable"):
            if not good[k] or not deviation[k] <= enough:
                break
            stiffness, damping = (_rounded(x) for x in self.trials.gains(self.rates[k : k + 1], self.ratios[k : k + 1]))
            around = np.array([1.0, MARGIN, 1 / MARGIN])[:, None]
            measured = self.trials.measure_gains(stiffness * around**2, damping * around)
            if np.isfinite(measured.deviation).all() and self.allowed(measured)[0]:
                common = not per_constraint or len(self.trials.constraints) == 1
                rate, ratio = float(self.rates[k, 0]), float(self.ratios[k, 0])
                law = self.trials.law(stiffness[0], damping[0])
                return law, rate if common else None, ratio if common else None, _numbers(measured, 0)
        if self.none.diverged:
            raise BadRequest(
                "every law that was tried diverges, and so does the run without gains",
                where=f"tune over {self.trials.request.duration:g}",
                fix="use a smaller step",
            )
        if self.trials.deviates:
            return self._attracting()
        return Unstabilised(), None, None, self.none

    def _only_feedback(self) -> bool:
        """Whether controls hold the program, and it drifts by rounding alone or has to be reached first: then drift
        says nothing about gains.
        """
        rounding = np.finfo(float).eps * max(1, self.none.evaluations) ** 1.5  # summed twice, at random
        return self.trials.must_attract or (self.trials.held_by_controls and self.none.deviation <= rounding)

    def _criterion(self, feedback: bool) -> str:
        """What the law was chosen by."""
        if feedback and self.trials.must_attract:
            return (
                "chosen to bring the start, which is off the program, back within half the run: the gains are feedback"
            )
        if feedback:
            return (
                "chosen to bring a start off the program back within half the run: controls hold the program, so that "
                "the gains are feedback, and what drifts without them is rounding"
            )
        text = f"chosen by the least deviation, at no more than {TWICE:g} times the errors without gains"
        if self.trials.held_by_controls:
            text += "; controls hold the program: their limits, noise and errors of the model were not weighed"
        return text

    def _attracting(self) -> tuple[Law, float | None, float | None, Numbers]:
        """Drift does not decide, but the start is off the program: a law that brings it back within half the run."""
        request = self.trials.request
        rate = self.trials.attracting_rate
        if request.step is not None:
            rate = min(rate, 0.2 / request.step)
        for _ in range(HALVINGS):
            stiffness, damping = (_rounded(x) for x in self.trials.gains(np.array([[rate]]), np.array([[1.0]])))
            measured = self.trials.measure_gains(stiffness, damping)
            if np.isfinite(measured.deviation[0]):
                break
            rate /= 2  # the scheme does not bear it
        return self.trials.law(stiffness[0], damping[0]), rate, 1.0, _numbers(measured, 0)

    def _tightest(self) -> MarkedGains | None:
        """The smallest deviation of all, whatever the errors."""
        deviation = np.concatenate([np.where(m.steady, m.deviation, np.inf) for m in self.found])
        k = int(np.argmin(deviation))
        if not np.isfinite(deviation[k]):
            return None
        measured = self.trials.measure(self.rates[k : k + 1], self.ratios[k : k + 1])
        numbers, good = _numbers(measured, 0), bool(self.allowed(measured)[0])
        return MarkedGains("least deviation, whatever the errors", *self._pair(k), numbers, good)

    def _pair(self, k: int) -> tuple[float, float]:
        return float(self.rates[k].max()), float(self.ratios[k].max())

    def _notes(self) -> tuple[str, ...]:
        trials = self.trials
        notes = [f"errors allowed: {TWICE:g} times those without gains, against DOP853 at {1e-12:g}"]
        if self.interrupted:
            notes.append("interrupted while refining: the best of what was tried until then")
        if not self.none_steady and self.none.deviation > 0:
            notes.append("without gains the run leaves the program: a smaller step is worth more than any gains")
        if trials.deviates:
            notes.append(
                "the start is off the program, so the law must attract; drift is measured from a start moved onto it"
            )
        elif trials.start.changes:
            notes.append(f"for the measurement, {trials.start}")
        if trials.request.step is None:
            notes.append(f"evaluations allowed: {COST:g} times those without gains")
        return tuple(notes)


def _where(good: np.ndarray, measured: MeasuredGains) -> np.ndarray:
    return np.where(good, measured.deviation, np.inf)


def _rounded(values: np.ndarray) -> np.ndarray:
    """Four digits, as one would write them."""
    return np.array([[float(f"{x:.4g}") for x in row] for row in values])


def _numbers(measured: MeasuredGains, k: int) -> Numbers:
    return Numbers(
        float(measured.deviation[k]),
        float(measured.state_error[k]),
        float(measured.energy_error[k]),
        int(measured.evaluations[k]),
    )
