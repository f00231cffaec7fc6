"""Functions by pieces in enclosing arithmetics: over a box within one piece they are its polynomial."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.errors import Undecided
from holdfast.graph.table import TablePart


def one_piece(part: TablePart, low: float, high: float) -> int:
    """The piece that holds a box strictly between its ends; `Undecided` where there is none."""
    place = part.place(low)
    if place >= 0 and place == part.place(high) and part.table.ends[place] < low and high < part.table.ends[place + 1]:
        return place
    raise Undecided("the box is not within one piece of the data", fix="bisect the box")


def horner(coefficients: tuple[Any, ...], x: Any) -> Any:
    """Σ c_k x^k, in whatever multiplies."""
    total = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total


def bounds(box: Any) -> tuple[float, float]:
    """Floats below and above a ball, or nothing usable where it is not finite."""
    if not box.is_finite():
        return float("nan"), float("nan")
    middle, radius = float(box.mid()), float(box.rad())
    width = radius + 1e-15 * (abs(middle) + radius)
    return middle - width, middle + width


def read_within(part: TablePart, low: float, high: float) -> tuple[float, float]:
    """The part of a box that data can be read at: what would read beyond has no value, and goes no further."""
    first, last = part.table.reach
    if not (low <= last and high >= first):
        raise Undecided("the box lies beyond the data", fix="bisect the box")
    return max(low, first), min(high, last)


def clipped_table(ball: Callable[[Any], Any], between: Callable[[float, float], Any]) -> Callable[..., Any]:
    """As `ball_table`, over what of a box lies within the data, each piece over its own part of it."""

    def value(x: Any, part: TablePart) -> Any:
        low, high = read_within(part, *bounds(x))
        first, last, ends, total = part.place(low), part.place(high), part.table.ends, None
        for place in range(first, last + 1):
            left = low if place == first else ends[place]
            right = high if place == last else ends[place + 1]
            coefficients = tuple(ball(c) for c in part.exact(place))
            own = horner(coefficients, between(left, right) - ball(ends[place]))
            total = own if total is None else total.union(own)
        return total

    return value


def ball_table(ball: Callable[[Any], Any]) -> Callable[[Any, TablePart], Any]:
    """Over a box across several pieces, the union of what they give; not a number beyond the data."""

    def value(x: Any, part: TablePart) -> Any:
        import flint

        low, high = bounds(x)
        first, last = part.place(low), part.place(high)
        if first < 0 or last < 0:
            return flint.arb("nan")
        total = None
        for place in range(first, last + 1):
            own = horner(tuple(ball(c) for c in part.exact(place)), x - ball(part.table.ends[place]))
            total = own if total is None else total.union(own)
        return total

    return value


def decided_table(ball: Callable[[Any], Any], head: Callable[[Any], Any]) -> Callable[[Any, TablePart], Any]:
    """The polynomial of the one piece that holds all values at which `head` looks."""

    def value(x: Any, part: TablePart) -> Any:
        place = one_piece(part, *bounds(head(x)))
        coefficients = tuple(ball(c) for c in part.exact(place))
        moved = x - ball(part.table.ends[place])
        return coefficients[0] if len(coefficients) == 1 else horner(coefficients, moved)

    return value
