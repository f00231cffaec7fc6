"""How the verifier says no."""

from __future__ import annotations


class Refused(Exception):
    """A claim that does not hold, or a file that does not say clearly what it claims."""


class Unreadable(Refused):
    """What is given is no certificate, or none of this version: nothing is said of its claims."""


class Unconfirmed(Exception):
    """A claim that was neither confirmed nor contradicted: out of budget, or beyond what can be re-checked."""


def require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise Refused(otherwise)
