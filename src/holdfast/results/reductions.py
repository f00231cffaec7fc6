"""One number for a quantity along a run: how large it became, where it ended, when it first passed zero.

    max(abs(lambda_rod))   min(y)   range(x)   mean(F)   rms(w_path)   start(x)   final(x)   first(lambda_rope)

`mean` and `rms` weigh rows by time (the trapezoidal rule over the rows that were kept); `first` is the first time at
which the quantity passes from negative to zero or more, between rows by a straight line, and nan where it never does.
Rows that a run did not reach do not count.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from holdfast.common.nearest import did_you_mean
from holdfast.errors import BadRequest

Array = np.ndarray
CALL = re.compile(r"\s*([a-z]+)\s*\((.*)\)\s*\Z", re.S)


def _mean(times: Array, values: Array) -> Array:
    good = np.isfinite(values)
    both = good[..., 1:] & good[..., :-1]
    spans = np.where(both, np.diff(times), 0.0)
    middle = np.where(both, (np.nan_to_num(values)[..., 1:] + np.nan_to_num(values)[..., :-1]) / 2, 0.0)
    total = spans.sum(axis=-1)
    return np.where(total > 0, (middle * spans).sum(axis=-1) / np.where(total > 0, total, 1.0), values[..., 0])


def _final(times: Array, values: Array) -> Array:
    reached = np.isfinite(values)
    last = values.shape[-1] - 1 - np.argmax(reached[..., ::-1], axis=-1)
    return np.take_along_axis(values, np.asarray(last)[..., None], axis=-1)[..., 0]


def _first(times: Array, values: Array) -> Array:
    """The first crossing from below; the first row where it begins at zero or above is none."""
    before, after = values[..., :-1], values[..., 1:]
    crosses = (before < 0) & (after >= 0)
    k = np.argmax(crosses, axis=-1)[..., None]
    low, high = (np.take_along_axis(part, k, axis=-1)[..., 0] for part in (before, after))
    begin, span = times[:-1][k[..., 0]], np.diff(times)[k[..., 0]]
    with np.errstate(all="ignore"):
        found = begin + span * low / (low - high)
    return np.where(crosses.any(axis=-1), found, np.nan)


REDUCTIONS: dict[str, Callable[[Array, Array], Array]] = {
    "max": lambda t, x: np.nanmax(x, axis=-1),
    "min": lambda t, x: np.nanmin(x, axis=-1),
    "range": lambda t, x: np.nanmax(x, axis=-1) - np.nanmin(x, axis=-1),
    "mean": _mean,
    "rms": lambda t, x: np.sqrt(_mean(t, x**2)),
    "start": lambda t, x: x[..., 0],
    "final": _final,
    "first": _first,
}


def reduced(text: str, times: Array, quantity: Callable[[str], Array], reached: Array | None = None) -> Array:
    """A reduction, stated as a text, of a quantity that is (rows) or (cases, rows).

    `reached` says which rows a run came to, where that is known: where a quantity is undefined there, so is what is
    made of it.
    """
    name, inner = taken_apart(text)
    with np.errstate(all="ignore"):
        values = np.asarray(quantity(inner))
        some = np.isfinite(values).any(axis=-1)
        known = values if some.all() else np.where(some[..., None], values, np.inf)  # nothing to warn of
        undefined = (np.isnan(values) & (False if reached is None else reached)).any(axis=-1)
        return np.where(some & ~undefined, REDUCTIONS[name](times, known), np.nan)


def taken_apart(text: Any) -> tuple[str, str]:
    """The name of a reduction and the text of its quantity."""
    found = CALL.match(text) if isinstance(text, str) else None
    if found is None or found[1] not in REDUCTIONS or not _one_argument(found[2]):
        word = found[1] if found else str(text)[:40]
        hint = did_you_mean(word, REDUCTIONS, "one of " + ", ".join(REDUCTIONS))
        raise BadRequest(
            f"{str(text)[:60]!r} is no reduction of one quantity over time",
            where="reduce",
            fix=f"e.g. max(abs(x)); {hint}",
        )
    return found[1], found[2].strip()


def _one_argument(inner: str) -> bool:
    """Whether the text between the outer parentheses is one expression: balanced, and without a comma of its own."""
    depth = 0
    for sign in inner:
        depth += (sign in "([") - (sign in ")]")
        if depth < 0 or (sign == "," and not depth):
            return False
    return depth == 0 and bool(inner.strip())
