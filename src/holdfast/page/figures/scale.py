"""Axes as numbers: limits with a little room, and ticks where people expect them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from holdfast.page.markup.figure_text import FigureText, number, power_of_ten

DECADES = 6  # labels of a logarithmic axis, at most
FEW_DECADES = 2  # labels below which a logarithmic axis is told more finely
FARTHEST = 1e100  # of what is drawn: beyond, a value is off the paper
PLAIN = (-3, 4)  # powers of ten between which numbers are written out


@dataclass(frozen=True, slots=True)
class Scale:
    """From values to places between two ends of the paper."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, values: np.ndarray | float) -> np.ndarray:
        with np.errstate(all="ignore"):
            at = np.log10(values) if self.log else np.asarray(values, float)
        low, high = (math.log10(self.low), math.log10(self.high)) if self.log else (self.low, self.high)
        with np.errstate(all="ignore"):
            found: np.ndarray = self.start + (at - low) / (high - low) * (self.end - self.start)
        return found

    def ticks(self, most: int) -> tuple[list[float], list[FigureText], FigureText | None]:
        """Where lines are drawn, what stands beside them, and a factor common to all where numbers are long."""
        return self._decades() if self.log else self._even(most)

    def _decades(self) -> tuple[list[float], list[FigureText], FigureText | None]:
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        stride = max(1, -(-(last - first + 1) // DECADES))
        powers = [k for k in range(first, last + 1) if k % stride == 0]
        if len(powers) < FEW_DECADES:
            return self._within_decades()
        return [10.0**k for k in powers], [power_of_ten(k) for k in powers], None

    def _within_decades(self) -> tuple[list[float], list[FigureText], FigureText | None]:
        """1, 2 and 5 times powers of ten, where a logarithmic axis is so short that powers alone say nothing."""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for factors in ((1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9)):
            marks = [(k, f) for k in powers for f in factors if self.low <= f * 10.0**k <= self.high]
            if len(marks) >= FEW_DECADES:
                break
        labels = [power_of_ten(k, "" if f == 1 else f"{f:g}×") for k, f in marks]
        return [f * 10.0**k for k, f in marks], labels, None

    def _even(self, most: int) -> tuple[list[float], list[FigureText], FigureText | None]:
        step = nice_step((self.high - self.low) / most)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        for _ in range(2):  # one number is no scale
            if last - first < 1:
                step = nice_step(0.4 * step)
                first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        largest = max(abs(self.low), abs(self.high))
        exponent = math.floor(math.log10(largest)) if largest > 0 else 0
        shared = exponent if not PLAIN[0] <= exponent < PLAIN[1] else 0
        decimals = min(12, max(0, shared - math.floor(math.log10(step) + 1e-9)))
        values = [k * step for k in range(first, last + 1)]
        labels = [number(value / 10.0**shared, decimals) for value in values]
        return values, labels, power_of_ten(shared, "×") if shared else None


def nice_step(rough: float) -> float:
    """The next of 1, 2, 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next((factor * power for factor in (1.0, 2.0, 5.0) if factor * power >= rough * (1 - 1e-9)), 10 * power)


def limits(values: list[np.ndarray], room: float, *, log: bool = False) -> tuple[float, float]:
    """The ends of an axis that holds all values, with room beside them as a part of the range."""
    finite = [part[np.isfinite(part) & ((part > 0) if log else True)] for part in values]
    low = min((float(part.min()) for part in finite if len(part)), default=1e-17 if log else 0.0)
    high = max((float(part.max()) for part in finite if len(part)), default=1.0)
    low, high = drawable(low, high, log=log)
    if log:
        beside = (high / low) ** room
        return low / beside, high * beside
    return low - room * (high - low), high + room * (high - low)


def drawable(low: float, high: float, *, log: bool = False) -> tuple[float, float]:
    """Ends that can be drawn: apart from each other, and where differences and quotients are still numbers."""
    if log:
        low, high = (min(max(end, 1 / FARTHEST), FARTHEST) for end in (low, high))
        return (low, high) if high > low * (1 + 1e-12) else (low / 3, high * 3)
    low, high = (min(max(end, -FARTHEST), FARTHEST) for end in (low, high))
    size = max(abs(low), abs(high))
    if high - low > 1e-12 * size and high - low > 1 / FARTHEST:
        return low, high
    half = 0.05 * size if size > 1 / FARTHEST else 0.5  # a flat line: as much room as its value has size
    return low - half, high + half
