"""The best member of a family, by a criterion that each state decides for itself.

    least (a − a*)ᵀ W (a − a*)  with  G a = Y − γ     ⇒     a = a* + W⁻¹Gᵀ(G W⁻¹Gᵀ)⁻¹(Y − γ − G a*)

which is the member with the metric W and the tangential field a*. The free functions (c₀, c, u) are chosen so; nothing
is said of the future of the motion: this is no optimal control.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from holdfast.common.arguments import clear_arguments
from holdfast.errors import BadStatement
from holdfast.problem.types import ByName


@clear_arguments
@dataclass(frozen=True, kw_only=True)
class Nearest:
    """The member nearest to a `wanted` acceleration, by coordinate: least (a − a*)ᵀ W (a − a*), W being `weights`."""

    wanted: ByName
    weights: Any = None

    def chosen(self, n: int) -> tuple[ByName, Any]:
        """The tangential field and the metric of this member."""
        return self.wanted, _matrix(self.weights, n, "weights")


@clear_arguments
@dataclass(frozen=True, kw_only=True)
class LeastEffort:
    """The member that the least forces F make of a `free` motion: least FᵀR F with M a = M a_free + F.

    M is `mass` and R are `weights`, identities if not given; this is the member nearest to a_free, with W = M R M.
    """

    free: ByName
    mass: Any = None
    weights: Any = None

    def chosen(self, n: int) -> tuple[ByName, Any]:
        """The tangential field and the metric of this member."""
        M, R = _matrix(self.mass, n, "mass"), _matrix(self.weights, n, "weights")
        return self.free, M * R * M


Criterion = Nearest | LeastEffort


def member(criterion: Any, n: int, **others: Any) -> tuple[ByName, Any]:
    """The tangential field and the metric that a criterion chooses; what else would choose them is refused."""
    if not isinstance(criterion, (Nearest, LeastEffort)):
        raise BadStatement(
            f"{criterion!r} is not a criterion", where="family.criterion", fix="hf.Nearest(wanted={x: ..., y: ...})"
        )
    for name, value in others.items():
        if value is not None and not (isinstance(value, (tuple, list, dict)) and not value):
            raise BadStatement(
                f"a criterion chooses the member, and so does {name}", where=f"family.{name}", fix="give one of the two"
            )
    return criterion.chosen(n)


def _matrix(given: Any, n: int, name: str) -> sp.Matrix:
    """A matrix, from rows or from a list of its diagonal entries."""
    if given is None:
        return sp.eye(n)
    try:
        listed = given.tolist() if hasattr(given, "tolist") else list(given)
        rows = sp.Matrix(listed) if all(isinstance(row, (list, tuple)) for row in listed) else sp.diag(*listed)
    except (TypeError, ValueError) as error:
        raise BadStatement(f"{name} is not a matrix", where=f"family.{name}", fix="n rows, or n numbers") from error
    if rows.shape != (n, n):
        raise BadStatement(f"{name} is not {n} by {n}", where=f"family.{name}", fix="give n rows, or n numbers")
    return rows
