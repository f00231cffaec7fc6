"""The geometry of a singular state in words: a short expression that vanishes there, such as sin(phi) = 0.

Constraints are dependent where all minors of their rows of J vanish, and controls hold nothing more where
det(J adj(M) E) does. The factors of these that vanish at the state, and not all along the run, are its condition.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import sympy as sp

from holdfast.equations.equations import Equations
from holdfast.equations.writing.text import text
from holdfast.errors import HoldfastError
from holdfast.problem.quantities import Parameter
from holdfast.results.quantities import along
from holdfast.structure.algebra.minors import Factors, factors_of_minors, factors_of_response

SECONDS = 3.0  # for SymPy, in a process of its own
VANISHES = 0.1  # of its usual size along the run: a factor this small at the state vanishes there,
AROUND = 0.1  # of the run: within this time of the state
FALLS = 3.0  # it falls to so many times VANISHES of its largest value: being small all around says nothing
ALWAYS = 1e-6  # of the size of its terms: a factor below this all along the run says nothing of the state
SAME = 1e-6  # of their size: factors that differ by less all along the run are one condition
LONGEST = 48  # letters of a condition that is still a help
MOST = 2  # conditions that are told


def condition_at(
    equations: Equations,
    names: Sequence[str],
    at: int,
    times: np.ndarray,
    states: np.ndarray,
    constants: Sequence[float],
) -> str:
    """What vanishes at row `at` of a run, where the constraints `names` become dependent; nothing if not found."""
    try:
        minors = _minors(equations, names)
        found = _Rows(equations, at, times, states, constants).conditions(minors or [])
    except (HoldfastError, ArithmeticError, TypeError, ValueError):
        return ""
    if not found or len(found) > MOST or any(len(text(e)) > LONGEST for e in found):
        return ""
    return " and ".join(f"{text(e)} = 0" for e in found)


def _minors(equations: Equations, names: Sequence[str]) -> list[Factors] | None:
    """The factors of each minor whose vanishing makes the state singular."""
    places = [equations.constraints.index(name) for name in names]
    if not equations.problem.program.controls:
        slopes = equations.jacobian.tolist()
        return factors_of_minors([slopes[k] for k in places], SECONDS)
    if any(equations.deviations.through):
        return None
    if len(equations.constraints) == len(equations.coordinates):
        both = [factors_of_minors(part.tolist(), SECONDS) for part in (equations.jacobian, equations.holder_matrix)]
        return None if None in both else [tuple(f for part in both for factors in part or () for f in factors)]
    parts = (equations.jacobian, equations.mass_matrix, equations.holder_matrix)
    slopes, mass, pushes = (part.tolist() for part in parts)
    factors = factors_of_response(slopes, mass, pushes, SECONDS)
    return None if factors is None else [factors]


class _Rows:
    """The values of factors along a run."""

    def __init__(
        self, equations: Equations, at: int, times: np.ndarray, states: np.ndarray, constants: Sequence[float]
    ) -> None:
        self._equations, self._at, self._times, self._states, self._constants = equations, at, times, states, constants

    def _values(self, expression: sp.Expr) -> np.ndarray:
        return along(self._equations, expression, self._times, list(self._states.T), self._constants)

    def conditions(self, minors: Sequence[Factors]) -> list[sp.Expr]:
        """What must vanish for all minors to vanish at the state; nothing where one of them has no such factor."""
        found: list[sp.Expr] = []
        for factors in minors:
            moving = [f for f in factors if any(not isinstance(s, Parameter) for s in f.free_symbols)]
            if any(self._always(f) for f in moving):
                continue
            shares = {f: self._share(f) for f in moving}
            best = min(shares, key=lambda f: shares[f], default=None)
            if best is None or not shares[best] < VANISHES:
                return []
            if not any(self._alike(best, other) for other in found):
                found.append(best)
        return found

    def _share(self, factor: sp.Expr) -> float:
        """|f| at the state, as a part of its usual size and of its largest value in the time around."""
        values, times = np.abs(self._values(factor)), self._times
        around = values[np.abs(times - times[self._at]) <= AROUND * (times[-1] - times[0])]
        size = min(float(np.nanmedian(values)), FALLS * float(np.nanmax(around)))
        return float(values[self._at]) / size if size > 0 else 1.0

    def _always(self, factor: sp.Expr) -> bool:
        terms = sp.Add.make_args(factor)
        size = sum(np.abs(self._values(term)) for term in terms) if len(terms) > 1 else 1.0
        return bool(np.nanmax(np.abs(self._values(factor)) / np.where(size == 0, 1.0, size)) < ALWAYS)

    def _alike(self, one: sp.Expr, other: sp.Expr) -> bool:
        a, b = self._values(one), self._values(other)
        size = np.abs(a).max() + np.abs(b).max()
        return bool(min(np.abs(a - b).max(), np.abs(a + b).max()) <= SAME * size)
