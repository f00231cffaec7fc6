"""Small ball arithmetic: boxes as lists of balls, matrices, and numbers that are never rounded the wrong way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

Ball = Any  # flint.arb
Box = tuple[tuple[float, float], ...]  # exact ends, one pair per variable


def upper(value: Ball) -> float:
    """A float that is surely not below any point of the ball."""
    number = float(value.upper())
    return math.nextafter(number, math.inf) if math.isfinite(number) else math.inf


def magnitude(value: Ball) -> float:
    """A float that is surely not below |x| for any x of the ball; infinite for what is not a number."""
    return upper(value.abs_upper()) if value.is_finite() else math.inf


def matrix(entries: Sequence[Sequence[Any]]) -> Any:
    """A ball matrix from exact floats or balls."""
    import flint

    return flint.arb_mat([[flint.arb(x) if isinstance(x, float) else x for x in row] for row in entries])


def ball_matrix(array: np.ndarray) -> Any:
    """A matrix of floats, taken exactly."""
    return matrix([[float(x) for x in row] for row in array])


def column(vector: Sequence[Ball]) -> Any:
    return matrix([[x] for x in vector])


def entries(vector: Any) -> list[Ball]:
    """The entries of a column."""
    return [vector[i, 0] for i in range(vector.nrows())]


def norm(vector: Sequence[Ball]) -> float:
    """A bound of the Euclidean norm over all points of the balls."""
    import flint

    sizes = [flint.arb(magnitude(x)) for x in vector]
    return upper(sum((size * size for size in sizes), flint.arb(0)).sqrt())


def hull(balls: Sequence[Ball]) -> Box:
    """The box of exact ends around balls."""
    return tuple((-upper(-x), upper(x)) for x in balls)


def halves(box: Box, variable: int) -> tuple[Box, Box]:
    """The box cut in the middle of one variable."""
    low, high = box[variable]
    middle = low + (high - low) / 2
    below = (*box[:variable], (low, middle), *box[variable + 1 :])
    above = (*box[:variable], (middle, high), *box[variable + 1 :])
    return below, above
