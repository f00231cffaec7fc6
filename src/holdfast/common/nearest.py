"""The hint for a name that is not known: the nearest one that is."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

LONGEST_NAME = 60  # letters of a name that is compared
MOST_NAMES = 30  # names compared letter by letter; of more, those that begin most alike


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """The question after the nearest known name; where none is near, what is said `otherwise`."""
    names = [other for other in known if len(other) <= LONGEST_NAME]
    if len(names) > MOST_NAMES:
        names.sort(key=lambda other: _shared(name, other), reverse=True)
    near = get_close_matches(name, names[:MOST_NAMES], n=1) if len(name) <= LONGEST_NAME else []
    return f"did you mean {near[0]!r}?" if near else otherwise


def _shared(a: str, b: str) -> int:
    """How far two names begin alike, in rough."""
    return sum(a[:size] == b[:size] for size in (2, 4, 8, 16, 32))
