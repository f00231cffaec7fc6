"""Equations for one call of `certify`: derived anew, so that what was asked of others before changes no bit of it.

Nodes of a graph are numbered as they are made, and operands, sums and symbols of rounding stand in that order. A bound
that is found on a graph which other calls have used may differ in its last digits.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from holdfast.equations.derive import derived_again
from holdfast.equations.equations import Equations
from holdfast.equations.solving.large import LARGE
from holdfast.errors import HoldfastError
from holdfast.stability.certificate.certificate import Certificate

KEPT = 4  # calls whose equations are kept, for the same call again


def by_unshared(equations: Equations, call: Hashable, make: Callable[[Equations], Certificate]) -> Certificate:
    """What is made of equations that no other call has used."""
    kept: dict[Hashable, Equations] = equations.memo.once(by_unshared, dict)
    own = kept.pop(call, None) or unshared(equations)
    made = make(own)
    if not made.interrupted:  # of a call that was broken off, not all is there that the same call would find
        kept[call] = own
        while len(kept) > KEPT:
            kept.pop(next(iter(kept)))
    return made


def unshared(equations: Equations) -> Equations:
    """The same equations on a graph of their own; large ones, and what was not made by `derive` alone, as they are."""
    if len(equations.coordinates) > LARGE:
        return equations
    try:
        return derived_again(equations.problem, equations.second_order, equations.fingerprint)
    except HoldfastError:
        return equations
