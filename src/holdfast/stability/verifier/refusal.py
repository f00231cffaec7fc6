"""How the verifier says no."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Read = TypeVar("Read")


class Refused(Exception):
    """A claim that does not hold, or a file that does not say clearly what it claims."""


class Unreadable(Refused):
    """What is given is no certificate, or none of this version: nothing is said of its claims."""


class Unconfirmed(Exception):
    """A claim that was neither confirmed nor contradicted: out of budget, or beyond what can be re-checked."""


def require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise Refused(otherwise)


def understood(read: Callable[..., Read], *given: Any) -> Read:
    """What is read from a problem text. Where the verifier does not know how, that is no fault of what is claimed."""
    try:
        return read(*given)
    except Refused as refusal:
        raise Unconfirmed(str(refusal)) from None
