"""Whether an inertia is that of a body: no moment is negative, and none is larger than the two others together.

    A + B ≥ C     of the principal moments about the centre of mass, for A + B − C = 2 ∫ z² dm

A plate without thickness has A + B = C; numbers rounded to two or three digits may miss it by a little.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import sympy as sp

from holdfast.errors import BadStatement
from holdfast.problem.bodies.body import Body
from holdfast.problem.bodies.orientation import Vector

ROUNDED = 0.01  # of the largest moment: what numbers of two digits may miss the edge by
NOTHING = 1e-12  # of the largest moment: what doubles make of a zero


def check_moments(bodies: Mapping[str, Body], parameters: Mapping[str, sp.Expr | None]) -> None:
    """Refuse an inertia that no body has, wherever it is a number under the parameters as they are stated."""
    for name, body in bodies.items():
        moments = _numbers(body.inertia, parameters)
        if len(moments) == 6:
            _refuse_impossible(moments, f"bodies.{name}.inertia")


def _numbers(moments: Vector, parameters: Mapping[str, sp.Expr | None]) -> list[float]:
    found = []
    for part in moments:
        values = {symbol: parameters.get(symbol.name) for symbol in part.free_symbols}
        if any(value is None for value in values.values()):
            return []
        number = sp.N(part.xreplace(values))
        if not number.is_real or not number.is_finite:
            return []
        found.append(float(number))
    return found


def _refuse_impossible(moments: list[float], where: str) -> None:
    size = max(map(abs, moments))
    if not 0 < size < np.inf:
        return
    xx, yy, zz, xy, xz, yz = (part / size for part in moments)
    a, b, c = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]).tolist()
    about = "about the centre of mass"
    if a < -NOTHING:
        fix = f"products are entries of the matrix, -∫xy dm, {about}"
        raise BadStatement("no body has this inertia: about some axis it is negative", where=where, fix=fix)
    if c - a - b > ROUNDED * c:
        told = ", ".join(f"{size * part:.4g}" for part in (a, b, c))
        what = f"no body has this inertia: of its principal moments {told} the last is larger than the others together"
        raise BadStatement(what, where=where, fix=f"give moments {about}; a flat plate has xx + yy = zz")
