"""D and W of Theorem B and of the step rule, by sampling: an estimate from below, never a bound.

    d = (z(s+1) − (I + τH) z(s))/τ²,     D ≈ max ‖d‖_V,     W = 2Ṽ/τ²

over states with V(z) ≤ l₁ε² (or ‖z‖ ≤ ε), all moved from base points along and beside the motion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.stability.linear.shape import Array
from holdfast.stability.sampling import Batch, Deviator, box_samples
from holdfast.stability.theory.lyapunov import LyapunovFunction

KEPT, AGAIN = 20, 20  # the worst samples, and how often each is looked at again nearby


@dataclass(frozen=True, eq=False)
class EstimatedDefect:
    """The largest ‖d‖_V and |W| seen."""

    defect: float
    curvature: float
    count: int
    worst_time: float
    worst_state: Array
    label: str = "estimated"


def estimated_defect(
    equations: Equations,
    function: LyapunovFunction,
    step: float,
    tolerance: float,
    *,
    domain: Mapping[Any, Any],
    constraints: tuple[str, ...] | None = None,
    euclidean: bool = False,
    count: int = 4000,
    seed: int = 0,
    parameters: Mapping[Any, Any] | None = None,
) -> EstimatedDefect:
    """Sample one Euler step from states of a box, moved to random deviations of some constraints (the others keep 0).

    `euclidean` samples ‖z‖ ≤ ε in place of the smaller V ≤ l₁ε².
    """
    places = _places(equations, constraints)
    if len(places) != len(function.matrix):
        raise BadRequest(
            f"V takes {len(function.matrix)} deviations, the constraints have {len(places)}", fix="name the constraints"
        )
    times, states = box_samples(equations, domain, count, seed, parameters)
    z = _directions(function, tolerance, count, seed, euclidean)
    look = _Look(equations, function, step, places, parameters)
    best = look(times, states, z)
    random = np.random.default_rng(seed + 2)
    span = float(np.ptp(times))
    for spread in (0.1, 0.03, 0.01):  # look again round the worst
        times = np.repeat(best.times, AGAIN) + spread * span * random.normal(size=AGAIN * len(best.times))
        times = np.clip(times, look.first, look.last)
        near = np.repeat(best.z, AGAIN, axis=0)
        near = near + spread * tolerance * random.normal(size=near.shape)
        size = (
            np.linalg.norm(near, axis=1) / tolerance
            if euclidean
            else function.norm(near) / allowed(function, tolerance)
        )
        near = near / np.maximum(size, 1.0)[:, None]
        best = look(times, np.repeat(best.states, AGAIN, axis=0), near, best)
    return EstimatedDefect(best.defect, look.curvature, look.count, float(best.times[0]), best.states[0])


def allowed(function: LyapunovFunction, tolerance: float) -> float:
    """√l₁ ε: the radius in ‖·‖_V of the region V ≤ l₁ε²."""
    return float(np.sqrt(function.l1)) * tolerance


@dataclass(frozen=True, eq=False)
class _Worst:
    """The samples with the largest defects, the largest first."""

    times: Array
    states: Array
    z: Array
    defects: Array

    @property
    def defect(self) -> float:
        return float(self.defects[0])


class _Look:
    """One Euler step from each of many states, and what it leaves beside (I + τH)z."""

    def __init__(
        self,
        equations: Equations,
        function: LyapunovFunction,
        step: float,
        places: list[int],
        parameters: Mapping[Any, Any] | None,
    ) -> None:
        self._function, self._step, self._places = function, step, places
        self._mover = Deviator(equations, parameters)
        self._rates = Batch.of(equations, equations.field.rates, parameters)
        self._size = len(equations.deviations.y) + len(equations.deviations.w)
        self.curvature, self.count, self.first, self.last = 0.0, 0, -np.inf, np.inf

    def __call__(self, times: Array, states: Array, z: Array, known: _Worst | None = None) -> _Worst:
        if known is None:
            self.first, self.last = float(times.min()), float(times.max())
        wanted = np.zeros((len(z), self._size))
        wanted[:, self._places] = z
        states, good = self._mover.moved(times, states, wanted)
        step, V, H = self._step, self._function, self._function.deviation_matrix
        after = self._mover.deviations(times + step, states + step * self._rates(times, states))[:, self._places]
        defects = V.norm((after - z - step * z @ H.T) / step**2)
        good = good & np.isfinite(defects)
        if not good.any():
            raise BadRequest("no state of the domain has the wanted deviations", fix="widen the domain, or lower ε")
        curvatures = 2 * np.abs(V(after) - V(z) - step * V.derivative(z)) / step**2
        self.curvature = max(self.curvature, float(curvatures[good].max()))
        self.count += int(good.sum())
        found = _Worst(times[good], states[good], z[good], defects[good])
        return _largest(found, known)


def _largest(found: _Worst, known: _Worst | None) -> _Worst:
    both = [found] if known is None else [found, known]
    parts = [np.concatenate([getattr(one, name) for one in both]) for name in ("times", "states", "z", "defects")]
    order = np.argsort(-parts[3])[:KEPT]
    times, states, z, defects = (part[order] for part in parts)
    return _Worst(times, states, z, defects)


def _places(equations: Equations, constraints: tuple[str, ...] | None) -> list[int]:
    """Where the deviations (y, w) of some constraints stand among all."""
    wanted = equations.constraints if constraints is None else constraints
    owners, m = equations.deviations.owners, len(equations.deviations.y)
    lower = [i for name in wanted for i, owner in enumerate(owners[:m]) if owner == name]
    return lower + [m + equations.constraints.index(name) for name in wanted]


def _directions(function: LyapunovFunction, tolerance: float, count: int, seed: int, euclidean: bool) -> Array:
    """Random z, two thirds of them on the border of the region."""
    random = np.random.default_rng(seed + 1)
    size = len(function.matrix)
    unit = random.normal(size=(count, size))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    unit *= np.where(np.arange(count) % 3 > 0, 1.0, random.uniform(0, 1, count))[:, None]
    if euclidean:
        return tolerance * unit
    return allowed(function, tolerance) * np.linalg.solve(function.norm.factor.T, unit.T).T
