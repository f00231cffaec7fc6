"""The error of the states, estimated by the same run with a halved step, or with a tighter tolerance.

The difference of two runs whose errors go with the order p of the scheme is (1 − 2⁻ᵖ) of the error of the first; where
the errors no longer follow the order, as in chaos or across a branch, the difference is what two honest computers
would disagree by. It is compared with the range that each state passes through: a tenth of that is no longer a result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.errors import HoldfastError
from holdfast.problem.frozen import Frozen
from holdfast.results.request import SMALLEST_TOLERANCE, Request

if TYPE_CHECKING:
    from holdfast.results.trajectory import Trajectory

TIGHTER = 100  # the tolerance of the second run is the first one's by this
STILL = 1e-9  # of its size: a state that moves less has this for its range
NOISE = 1e-9  # of what forces alone would do in the time: a state that is held at 0 has this for its range
LARGE = 0.1  # of the range of a state: an error beyond this is no result

Rerun = Callable[[Request], "Trajectory"]


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
    note: str = ""  # why the estimate does not cover the whole run

    @property
    def large(self) -> bool:
        """Whether the states are no longer a result: the worst error exceeds a tenth of its state's range."""
        return not self.relative <= LARGE

    def __str__(self) -> str:
        if not np.isfinite(self.worst):
            return f"state error not known: {self.note}"
        part = f"{100 * self.relative:.2g} % of its range" if self.relative < 10 else "beyond its range"
        return f"state error about {self.worst:.2g} at t = {self.time:.6g} ({self.name}, {part}){self.note}"


def finer(request: Request, reached: float, steps: int) -> Request | None:
    """The request of the second run, up to where the first one came; none where no finer one can be asked for."""
    if request.step is not None:
        if steps < 1:
            return None
        step = request.step / 2
        return replace(request, step=step, steps=2 * steps, duration=2 * steps * step, every=1, at=None)
    assert request.tolerance is not None
    tolerance = max(SMALLEST_TOLERANCE, request.tolerance / TIGHTER)
    if tolerance >= request.tolerance or not reached > request.begin:
        return None
    absolute = request.absolute
    if isinstance(absolute, (float, np.ndarray)):
        absolute = absolute * (tolerance / request.tolerance)
    longest = request.longest / 2
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
    """The range each state passes through; of one that is held still, a small part of its size or of its forces."""
    states, n = run.y, len(equations.coordinates)
    with np.errstate(all="ignore"):
        ranges = np.fmax(np.ptp(states, axis=1), STILL * np.abs(states).max(axis=1))
        try:
            values = equations.evaluate(states[:, 0].tolist(), float(run.times[0]), parameters=dict(run.parameters))
            forces = np.abs(values.bias) + np.abs(values.held_forces)
            moved = np.abs(np.linalg.inv(values.mass_matrix)) @ forces
        except (HoldfastError, np.linalg.LinAlgError):
            moved = np.zeros(n)  # nothing is known of the forces there
        moved = np.where(np.isfinite(moved), moved, 0.0)
        time = float(np.ptp(run.times))
        ranges[:n] = np.fmax(ranges[:n], NOISE * moved * time**2)
        ranges[n : 2 * n] = np.fmax(ranges[n : 2 * n], NOISE * moved * time)
    return ranges
