"""How much work a problem may ask for, and how to ask for more.

Reading, deriving and showing count what they do, and stop at allowances that an ordinary machine works off in about a
second: no pattern of input makes them go on. An honest problem that needs more asks for it:

    with hf.limits(seconds=60):
        equations = hf.derive(hf.load("crane.toml"))

The command line's ``--limit SECONDS`` does the same, and besides has the process watched from outside (`cli/watch.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from holdfast.errors import BadRequest

SECONDS = 10.0  # of computing that the command line allows for reading, deriving and showing, unless more is asked for
MORE = "an honest large problem asks for more: --limit 60, or with hf.limits(seconds=60)"

_FACTOR: ContextVar[float] = ContextVar("holdfast_limits", default=1.0)


@contextmanager
def limits(*, seconds: float) -> Iterator[None]:
    """Allow work for about so many seconds instead of ten; what is counted is allowed in proportion."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < math.inf:
        raise BadRequest(f"seconds = {seconds!r} is not a time", where="limits", fix="e.g. hf.limits(seconds=60)")
    token = _FACTOR.set(max(1.0, seconds / SECONDS))
    try:
        yield
    finally:
        _FACTOR.reset(token)


def allowance(count: int) -> int:
    """A stated count, or as many times more as was asked for."""
    return int(count * _FACTOR.get())
