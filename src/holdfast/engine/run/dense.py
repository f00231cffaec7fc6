"""The state between two rows, by the interpolant of each step.

    x(t + θh) = x + θ (c_1 + (1-θ) (c_2 + θ (c_3 + (1-θ) (c_4 + ...)))),         0 <= θ <= 1

    c_1 = x⁺ - x     c_2 = h f - c_1     c_3 = 2 c_1 - h (f + f⁺)     the rest from the scheme's dense rows

With three coefficients this is the cubic through both ends and their slopes. Hairer, Nørsett, Wanner, II.6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holdfast.errors import BadRequest


@dataclass(frozen=True, eq=False)
class Dense:
    """Interpolants of consecutive steps: `times` has one entry more than `coefficients` (steps, terms, states)."""

    times: np.ndarray
    states: np.ndarray
    coefficients: np.ndarray

    def __call__(self, t: float | np.ndarray) -> np.ndarray:
        """The state at one time, or a row for each of many."""
        wanted = np.atleast_1d(np.asarray(t, float))
        slack = 1e-12 * max(1.0, abs(self.times[0]), abs(self.times[-1]))
        if wanted.size and not (wanted.min() >= self.times[0] - slack and wanted.max() <= self.times[-1] + slack):
            raise BadRequest(
                f"a time outside of the run, which went from {self.times[0]} to {self.times[-1]}",
                where="sol(t)",
                fix="ask for times within it, or run longer",
            )
        if not len(self.coefficients):
            values = np.repeat(self.states[:1], len(wanted), axis=0)
        else:
            values = self._values(wanted)
        return values[0] if np.ndim(t) == 0 else values

    def _values(self, wanted: np.ndarray) -> np.ndarray:
        step = np.clip(np.searchsorted(self.times, wanted, side="right") - 1, 0, len(self.coefficients) - 1)
        theta = ((wanted - self.times[step]) / (self.times[step + 1] - self.times[step]))[:, None]
        terms = self.coefficients.shape[1]
        value = np.zeros((len(wanted), self.states.shape[1]))
        for k in range(terms - 1, -1, -1):
            value = (value + self.coefficients[step, k]) * (theta if k % 2 == 0 else 1 - theta)
        return self.states[step] + value


def hermite(times: np.ndarray, states: np.ndarray, rates: np.ndarray) -> Dense:
    """The cubic interpolants through given states and rates."""
    h = np.diff(times)[:, None]
    change = np.diff(states, axis=0)
    second = h * rates[:-1] - change
    third = 2 * change - h * (rates[:-1] + rates[1:])
    return Dense(times, states, np.stack([change, second, third], axis=1))
