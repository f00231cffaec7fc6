"""The error of the states, estimated by the same run with a halved step, or with a tighter tolerance.

The difference of two runs whose errors go with the order p of the scheme is (1 − 2⁻ᵖ) of the error of the first; where
the errors no longer follow the order, as in chaos or across a branch, the difference is what two honest computers
would disagree by. It is compared with the range that each state passes through: a tenth of that is no longer a result.
A difference that is neither small nor large is followed by a second halving: one that does not shrink with the step is
no estimate of anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from holdfast.common.frozen import Frozen
from holdfast.equations.equations import Equations
from holdfast.equations.values import Values, values_at
from holdfast.results.runs.request import SMALLEST_TOLERANCE, Request
from holdfast.results.start.term_sizes import EPSILON, energy_size
from holdfast.results.start.turned_state import TurnedStates

if TYPE_CHECKING:
    from holdfast.results.trajectory import Trajectory

TIGHTER = 100  # the tolerance of the second run is the first one's by this
WORTH_A_THIRD = 1e-3  # of the range of a state: an error beyond this is followed with a second halving
CONVERGING = 0.5  # the second difference is at most this part of the first where the error follows the step
STILL = 1e-9  # of its size: a state that moves less has this for its range
MOVING = 1e-4  # of the motion of what it is coupled to: a coordinate that is held still has this for its range
ROUNDINGS = 64 * EPSILON  # of the terms of the energy
LARGE = 0.1  # of the range of a state: an error beyond this is no result


@dataclass(frozen=True, eq=False)
class StateError:
    """The estimated error of a run: of which state it is worst, when, and the largest for each state.

    `worst` is the error of that state in its own unit, `relative` as a part of the range it passes through.
    """

    worst: float
    time: float
    name: str
    relative: float
    by_name: Mapping[str, float] = field(default_factory=Frozen)
    note: str = ""  # what else must be said of the estimate
    converging: bool = True  # whether a second halving lowers it

    @property
    def large(self) -> bool:
        """Whether the states are no result: an error beyond a tenth of a state's range, or one that does not shrink."""
        return not (self.relative <= LARGE and self.converging)

    def __str__(self) -> str:
        if not np.isfinite(self.worst):
            return f"state error not known: {self.note}"
        part = f"{100 * self.relative:.2g} % of its range" if self.relative < 10 else "beyond its range"
        return f"state error about {self.worst:.2g} at t = {self.time:.6g} ({self.name}, {part}){self.note}"


def followed(run: Trajectory, first: StateError, second: StateError) -> StateError:
    """The error after a second halving: as it was if that lowers it, and not known to be small if it does not."""
    before, after = first.by_name[first.name], second.by_name.get(first.name, float("inf"))
    if after <= CONVERGING * before:
        return first
    total = before + after
    relative = first.relative * total / before
    word = "a smaller step" if run.step is not None else "a smaller tolerance"
    note = f"; {word} does not lower it as it should, so that it may be larger"
    return replace(first, worst=total, relative=relative, note=note, converging=False)


def finer(request: Request, reached: float, steps: int, times: int = 1) -> Request | None:
    """The request of a finer run, up to where the first one came; none where no finer one can be asked for."""
    if request.step is not None:
        if steps < 1:
            return None
        step, count = request.step / 2**times, 2**times * steps
        return replace(request, step=step, steps=count, duration=count * step, every=1, at=None)
    assert request.tolerance is not None
    tolerance = max(SMALLEST_TOLERANCE, request.tolerance / TIGHTER**times)
    if tolerance >= request.tolerance or not reached > request.begin:
        return None
    absolute = request.absolute
    if isinstance(absolute, (float, np.ndarray)):
        absolute = absolute * (tolerance / request.tolerance)
    longest = request.longest / 2**times
    return replace(
        request, tolerance=tolerance, absolute=absolute, longest=longest, duration=reached - request.begin, every=1
    )


def compared(run: Trajectory, other: Trajectory, equations: Equations, order: int) -> StateError:
    """The error of a run from a finer one: at the rows that both have."""
    rows = _common(run, other)
    names = run.state_names
    if len(rows) < 2:
        return _unknown(names, f"the finer run stopped at t = {other.times[-1]:.6g}")
    factor = 1 / (1 - 0.5**order) if run.step is not None else 1.0
    with np.errstate(all="ignore"):
        difference = np.abs(run.y[:, rows[:, 0]] - other.y[:, rows[:, 1]]) * factor
    largest = np.nan_to_num(difference, nan=np.inf).max(axis=1)
    with np.errstate(all="ignore"):
        relative = np.where(largest > 0, largest / _ranges(run, equations), 0.0)
    worst = int(np.nan_to_num(relative, nan=np.inf).argmax())
    when = int(np.nan_to_num(difference[worst], nan=np.inf).argmax())
    short = run.success and other.times[-1] < run.times[-1] - 1e-9 * abs(run.times[-1])
    note = f"; the finer run stopped at t = {other.times[-1]:.6g}" if short else ""
    return StateError(
        worst=float(largest[worst]),
        time=float(run.times[rows[when, 0]]),
        name=names[worst],
        relative=float("inf") if short else float(relative[worst]),
        by_name=Frozen(dict(zip(names, largest.tolist(), strict=True))),
        note=note,
    )


def _unknown(names: tuple[str, ...], why: str) -> StateError:
    return StateError(float("nan"), float("nan"), names[0] if names else "", float("nan"), Frozen(), why)


def unknown_error(run: Trajectory, why: str) -> StateError:
    """No estimate, and why."""
    return _unknown(run.state_names, why)


def _common(run: Trajectory, other: Trajectory) -> np.ndarray:
    """Pairs of row numbers at the same times."""
    if not len(other.times):
        return np.zeros((0, 2), dtype=int)
    places = np.clip(np.searchsorted(other.times, run.times), 0, len(other.times) - 1)
    before = np.maximum(places - 1, 0)
    nearer = np.abs(other.times[before] - run.times) < np.abs(other.times[places] - run.times)
    places = np.where(nearer, before, places)
    close = 1e-9 * max(float(np.ptp(run.times)), 1e-300) / max(1, len(run.times) - 1)
    same = np.abs(other.times[places] - run.times) <= np.maximum(close, 4 * np.spacing(np.abs(run.times)))
    return np.array([np.nonzero(same)[0], places[same]]).T


def _ranges(run: Trajectory, equations: Equations) -> np.ndarray:
    """What an error of each state is measured by: the range it passes through, and no less than what is nothing to it.

    A rate is also measured by its own size. A state that stands still is measured by a small part of the motion of what
    it is coupled to, by masses or by constraints, and by the rounding of the terms of the energy and of the forces. A
    part of a quaternion that stands still is measured by its other parts: they say one turn together.
    """
    states, n, time = run.y, len(equations.coordinates), float(np.ptp(run.times))
    with np.errstate(all="ignore"):
        ranges = np.fmax(np.ptp(states, axis=1), STILL * np.abs(states).max(axis=1))
        ranges[n : 2 * n] = np.fmax(ranges[n : 2 * n], np.abs(states[n : 2 * n]).max(axis=1))
        values = values_at(equations, states[:, 0].tolist(), float(run.times[0]), dict(run.parameters))
        inertia = np.abs(np.diag(values.mass_matrix))
        noise = np.sqrt(2 * ROUNDINGS * _energy_terms(run, equations) / inertia)
        forces = np.abs(values.bias) + np.abs(values.holders) @ np.abs(values.mu)  # each by itself: they may cancel
        noise = np.fmax(noise, ROUNDINGS * forces / inertia * time)
        for part, least in ((slice(n), noise * time), (slice(n, 2 * n), noise)):
            beside = _together(values, inertia, ranges[part])
            floor = np.fmax(MOVING * beside, least)
            ranges[part] = np.fmax(ranges[part], np.where(np.isfinite(floor), floor, 0.0))
        for _, turn in TurnedStates(equations.inputs).balls:
            ranges[turn] = np.fmax(ranges[turn], MOVING * ranges[turn].max())
    extended = len(equations.deviations.states)  # deviations: what they do wrong, coordinates and rates show
    return np.concatenate([ranges[: len(ranges) - extended], np.full(extended, np.inf)])


def _energy_terms(run: Trajectory, equations: Equations) -> float:
    constants = [run.parameters[name] for name in equations.parameter_names]
    return float(energy_size(equations).rounding(float(run.times[0]), run.y[:, 0].tolist(), constants)[0])


def _together(values: Values, inertia: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """What each coordinate would do if all the motion of those coupled to it were its own, by kinetic energy."""
    n = len(inertia)
    coupled = (values.mass_matrix != 0) | np.eye(n, dtype=bool)
    for row in values.jacobian != 0:
        coupled |= np.outer(row, row)
    for _ in range(n.bit_length()):
        coupled = coupled @ coupled  # through others, too
    return np.asarray(np.sqrt(coupled @ (inertia * sizes**2) / inertia))
