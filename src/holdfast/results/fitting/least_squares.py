"""The sum of squares and its minimum, the noise of columns where it is not known, and what the data determine.

Where sigma is not given, each column has a noise of its own that the residuals tell; the fit is repeated with it until
it stays (feasible generalised least squares).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.errors import HoldfastError
from holdfast.results.fitting.fitted import Fit
from holdfast.results.fitting.identifiability import determined, lengths_of, weak
from holdfast.results.fitting.measured import MeasuredData
from holdfast.results.fitting.residuals import Prediction

Array = np.ndarray
ROUNDS = 12  # of guessing the noise from the residuals
SETTLED = 1e-3  # relative: a noise that changes by less has been found
LEAST_NOISE = 1e-10  # of the size of a column: noise below this is rounding of the data
TOLERANCE = 1e-10  # of sum, step and gradient: what the search ends by
NEAR = 0.1  # of a standard error: what the next step may still be
EDGE = 1e-6  # relative: a value nearer to its bound than this is on it
FEWEST = 20  # values of a column whose residuals are looked at for patterns
SIZED = 1.5  # times what was stated: residuals beyond this, either way, are of another size (by chance 3 in 1000)
NOISELESS = 1e-6  # of a column: residuals below this are errors of the run
PATTERN = 5.0  # times 1/√n, the standard deviation of the correlation of neighbours in noise: once in three million
FARTHEST = 1e100  # times the noise: a run that is off by more is none; its square is still a number


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """The least squares, and the noise of columns where it is not known."""

    prediction: Prediction
    data: MeasuredData
    bounds: tuple[Array, Array]
    attempts: int

    def fit(self, first: Array) -> Fit:
        """The least squares from first values, what they determine, and what is to be warned of."""
        names, data = self.prediction.names, self.data
        values, success, message, noise, further = self._found(first)
        weights = None if data.known else noise
        left, jacobian = self._weighted(values, weights)
        told = determined(jacobian, names, values, float(lengths_of(left + self._seen(weights))))
        covariance = told.covariance
        if success and not self._at_minimum(values, left, jacobian, covariance):
            success, message = False, "the values stand still far from a minimum: give first values nearer to it"
        warnings = [*told.open, *further, *self._at_bounds(values), *self._patterns(values), *self._sizes(values)]
        if self.count <= len(names) and not data.known:
            warnings.append(f"{self.count} values for {len(names)} unknowns leave nothing to tell the noise by")
            covariance = np.full_like(covariance, np.inf)
        warnings += weak(jacobian, names, values, np.sqrt(np.diag(covariance)))
        if not success:
            warnings.insert(0, f"the search did not converge: {message}")
        rows, _ = self.prediction(values)
        predicted = {name: rows[:, k] for k, name in enumerate(data.columns)}
        if data.known:
            noise = {name: float(np.sqrt(np.mean(data.sigma[name] ** 2))) for name in data.columns}
        return Fit(
            self.prediction.job.equations, names, values, covariance, data, predicted, noise, data.known, success,
            message, tuple(warnings), told.singular_values, self.prediction.runs, self.prediction.given(values),
        )  # fmt: skip

    def _at_minimum(self, values: Array, left: Array, jacobian: Array, covariance: Array) -> bool:
        """Whether the step to the minimum of the linearised sum is small beside the standard errors."""
        low, high = self.bounds
        errors = np.sqrt(np.diag(covariance))
        inside = np.isfinite(errors) & (errors > 0) & (values > low * (1 + EDGE)) & (values < high * (1 - EDGE))
        if not inside.any() or (np.isfinite(low) | np.isfinite(high)).any():
            return True
        step = np.linalg.lstsq(jacobian[:, inside] * errors[inside], -left, rcond=1e-12)[0]
        return bool((np.abs(step) <= NEAR).all())

    def _patterns(self, values: Array) -> list[str]:
        """Columns whose residuals resemble their neighbours: no noise, so that standard errors are too small."""
        rows, said = self.prediction(values)[0], []
        for k, (name, seen) in enumerate(self.data.columns.items()):
            left = (seen - rows[:, k])[np.isfinite(seen)]
            if len(left) < FEWEST or _rms(left) <= NOISELESS * _largest(seen):
                continue
            left = left / _largest(left)
            alike = float(left[1:] @ left[:-1] / (left @ left))
            if alike > PATTERN / math.sqrt(len(left)):
                said.append(
                    f"the residuals of {name} are no noise (neighbours correlate by {alike:.2g}): the model may "
                    "differ, or the first values lead to another minimum; the standard errors are too small"
                )
        return said

    def _sizes(self, values: Array) -> list[str]:
        """Columns whose residuals are not of the size that was stated of their noise."""
        if not self.data.known:
            return []
        rows, said = self.prediction(values)[0], []
        for k, (name, seen) in enumerate(self.data.columns.items()):
            there = np.isfinite(seen)
            if there.sum() < FEWEST:
                continue
            ratio = _rms((seen - rows[:, k])[there] / np.broadcast_to(self.data.sigma[name], seen.shape)[there])
            if not 1 / SIZED <= ratio <= SIZED:
                said.append(
                    f"the residuals of {name} are {ratio:.2g} times what its sigma says: the standard errors are those "
                    "of the sigma that was stated"
                )
        return said

    @cached_property
    def count(self) -> int:
        """How many values there are."""
        return int(sum(np.isfinite(x).sum() for x in self.data.columns.values()))

    # ── the noise ─────────────────────────────────────────────────────────────────────────────────

    def _found(self, first: Array) -> tuple[Array, bool, str, dict[str, float], list[str]]:
        """Values, whether and how the search ended, the noise of each column, and what is to be said of it."""
        sizes = {name: self._size(name, first) for name in self.data.columns}
        values, success, message = self._minimum(first, sizes)
        if self.data.known or not success:
            return values, success, message, dict(sizes), []
        noise = self._noise(values, sizes)
        few = [
            f"the {self._values_of(name)} values of {name} may be met exactly: their noise is taken from the others"
            for name in sizes
            if self._values_of(name) <= len(values) < self.count
        ]
        if len(sizes) == 1:  # its weight changes nothing but the size of the sum
            return values, success, message, noise, []
        for _ in range(ROUNDS):
            values, success, message = self._minimum(values, noise)
            found = self._noise(values, sizes)
            settled = all(abs(found[name] - noise[name]) <= SETTLED * noise[name] for name in noise)
            noise = found
            if settled or not success:
                return values, success, message, noise, few
        return values, success, message, noise, [*few, "the noise of the columns has not settled: give sigma"]

    def _values_of(self, name: str) -> int:
        return int(np.isfinite(self.data.columns[name]).sum())

    def _size(self, name: str, first: Array) -> float:
        """A weight to begin with: the spread of a column, or what the first run misses it by if that is more."""
        seen = self.data.columns[name]
        left = seen - self.prediction(first)[0][:, list(self.data.columns).index(name)]
        parts = (_rms(seen - np.nanmean(seen / (_largest(seen) or 1.0)) * _largest(seen)), _rms(left))
        few = _largest(seen) if self._values_of(name) <= len(first) else 0.0  # too few to have a spread
        return max(*parts, few) or _largest(seen) or 1.0

    def _noise(self, values: Array, sizes: Mapping[str, float]) -> dict[str, float]:
        """The noise of each column by its residuals, each with its share of the freedom that is left.

        A column with no more values than there are unknowns may be met exactly, and has at least the noise of all.
        """
        rows, unknowns = self.prediction(values)[0], len(values)
        left = {name: seen - rows[:, k] for k, (name, seen) in enumerate(self.data.columns.items())}
        share = max(1.0 - unknowns / self.count, 1.0 / self.count)
        parts = np.concatenate([left[name] / sizes[name] for name in left])
        pooled = _rms(parts) / math.sqrt(share)
        found = {}
        for name, residual in left.items():
            few = self._values_of(name) <= unknowns
            own = max(pooled * sizes[name] if few else 0.0, _rms(residual) / math.sqrt(share))
            noise = max(own, LEAST_NOISE * _largest(self.data.columns[name]))
            found[name] = noise if noise >= np.finfo(float).tiny else 1.0  # of zeros that are met, any will do
        return found

    # ── the sum of squares ────────────────────────────────────────────────────────────────────────

    def _weighted(self, values: Array, noise: Mapping[str, float] | None) -> tuple[Array, Array]:
        """Residuals (run less data) and their Jacobian, over the noise; missing values left out."""
        rows, slopes = self.prediction(values)
        left, changes = [], []
        for k, (name, seen) in enumerate(self.data.columns.items()):
            there = np.isfinite(seen)
            weight = 1 / (self.data.sigma[name][there] if noise is None else np.full(int(there.sum()), noise[name]))
            left.append((rows[there, k] - seen[there]) * weight)
            changes.append(slopes[there, k] * weight[:, None])
        return np.concatenate(left), np.concatenate(changes)

    def _seen(self, noise: Mapping[str, float] | None) -> Array:
        """The data over the noise, as the residuals are."""
        parts = []
        for name, seen in self.data.columns.items():
            there = np.isfinite(seen)
            parts.append(seen[there] / (self.data.sigma[name][there] if noise is None else noise[name]))
        return np.concatenate(parts)

    def _minimum(self, first: Array, noise: Mapping[str, float]) -> tuple[Array, bool, str]:
        from scipy.optimize import least_squares

        weights = None if self.data.known else noise

        def residuals(values: Array) -> Array:
            try:
                found = self._weighted(values, weights)[0]
            except HoldfastError:
                return np.full(self.count, np.nan)  # no such run: the search steps back
            return found if np.abs(found).max() < FARTHEST else np.full(self.count, np.nan)

        scale = self._scale(first, weights)
        low, high = self.bounds
        inside = np.clip(first, np.nextafter(low, np.inf), np.nextafter(high, -np.inf))
        found: Any = None
        for steps in (1.0, "jac"):  # in sizes of the first values; where that leads nowhere, as the slopes say
            trial = least_squares(
                lambda x: residuals(x * scale),
                inside / scale,
                lambda x: self._weighted(x * scale, weights)[1] * scale,
                bounds=(low / scale, high / scale),
                x_scale=steps,
                ftol=TOLERANCE,
                xtol=TOLERANCE,
                gtol=TOLERANCE,
                max_nfev=self.attempts,
            )
            found = trial if found is None or trial.cost < found.cost else found
            if found.success:
                break
        return found.x * scale, bool(found.success), str(found.message)

    def _scale(self, first: Array, weights: Mapping[str, float] | None) -> Array:
        """The size of each unknown: its first value, or, where that is 0, what explains all that is left over."""
        left, jacobian = self._weighted(first, weights)
        lengths = lengths_of(jacobian)
        reach = lengths_of(left) / np.where(lengths > 0, lengths, np.inf)
        return np.where(first != 0, np.abs(first), np.where(reach > 0, reach, 1.0))

    def _at_bounds(self, values: Array) -> list[str]:
        found = []
        for name, value, low, high in zip(self.prediction.names, values, *self.bounds, strict=True):
            for limit in (low, high):
                if np.isfinite(limit) and abs(value - limit) <= 1e-6 * max(abs(limit), abs(value)):
                    found.append(f"{name} is at its bound {limit:g}, where standard errors mean little")
        return found


def _largest(values: Array) -> float:
    known = np.abs(values[np.isfinite(values)])
    return float(known.max(initial=0.0))


def _rms(values: Array) -> float:
    """The root mean square of what is known, without overflow on the way; 0 of nothing."""
    known, size = values[np.isfinite(values)], _largest(values)
    return size * float(np.sqrt(np.mean((known / size) ** 2))) if size > 0 else 0.0
