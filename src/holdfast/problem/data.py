"""A function given by data: a spline through measured or prescribed values, with exact derivatives.

    f(x_k) = f_k,      f a polynomial of the given degree between knots, with degree − 1 continuous derivatives

Nothing is extrapolated: outside the data the function has no value, and a run that would leave them is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from holdfast.common.limits import MORE, allowance
from holdfast.errors import BadStatement

MOST_POINTS = 20_000  # of one table of data: code for them compiles in a second or two


@dataclass(frozen=True, slots=True)
class Data:
    """Values at increasing places, and the degree of the spline through them."""

    times: tuple[float, ...]
    values: tuple[float, ...]
    degree: int = 5

    @property
    def range(self) -> tuple[float, float]:
        """Where it has values."""
        return self.times[0], self.times[-1]

    def pieces(self) -> tuple[tuple[float, ...], tuple[tuple[float, ...], ...]]:
        """The ends of the pieces, and the coefficients of each in powers of x − its beginning, lowest first."""
        return _pieces(self)

    def __repr__(self) -> str:
        first, last = self.range
        return f"data({len(self.times)} values from {first:g} to {last:g}, degree={self.degree})"


def data(times: Iterable[Any], values: Iterable[Any], degree: int = 5) -> Data:
    """A function by its values at increasing times (or other places): a spline with exact derivatives.

    Degree 5 has four continuous derivatives, so that forces of a program that follows it are smooth; the degree is
    odd or even, from 1 to 7, and needs degree + 1 values at least.
    """
    x, f = _numbers(times, "times"), _numbers(values, "values")
    if isinstance(degree, bool) or not isinstance(degree, int) or not 1 <= degree <= 7:
        raise BadStatement(
            f"degree = {degree!r}", where="data.degree", fix="a whole number from 1 to 7, usually 3 or 5"
        )
    if len(x) != len(f):
        raise BadStatement(f"{len(x)} times and {len(f)} values", where="data", fix="give one value for each time")
    if len(x) > allowance(MOST_POINTS):
        raise BadStatement(f"more than {allowance(MOST_POINTS)} values", where="data", fix=MORE)
    if len(x) <= degree:
        raise BadStatement(
            f"{len(x)} values are too few for degree {degree}", where="data", fix=f"give {degree + 1} or a lower degree"
        )
    wrong = next((k for k, (a, b) in enumerate(pairwise(x)) if not a < b), None)
    if wrong is not None:
        raise BadStatement(
            f"the times do not increase: {x[wrong]:g} is followed by {x[wrong + 1]:g}",
            where="data.times",
            fix="give them in order, each once",
        )
    return Data(x, f, degree)


def _numbers(given: Iterable[Any], name: str) -> tuple[float, ...]:
    try:
        found = tuple(float(value) for value in given)
    except (TypeError, ValueError):
        raise BadStatement(f"the {name} are not numbers", where=f"data.{name}", fix="give a list of numbers") from None
    if not all(math.isfinite(value) for value in found):
        raise BadStatement(f"the {name} are not all finite", where=f"data.{name}", fix="leave out what is missing")
    return found


@lru_cache(maxsize=64)
def _pieces(given: Data) -> tuple[tuple[float, ...], tuple[tuple[float, ...], ...]]:
    import numpy as np
    from scipy.interpolate import PPoly, make_interp_spline

    polynomials = PPoly.from_spline(make_interp_spline(given.times, given.values, k=given.degree))
    wide = np.diff(polynomials.x) > 0  # the knots at both ends are repeated
    begins = polynomials.x[:-1][wide]
    rows = polynomials.c[::-1, wide].T
    ends = (*(float(x) for x in begins), float(polynomials.x[-1]))
    return ends, tuple(tuple(float(c) for c in row) for row in rows)
