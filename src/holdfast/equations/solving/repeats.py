"""Which constraints repeat which: every dependence among the rows of a jacobian, by name and all at once.

A row that depends on rows before it repeats what those of them fix that take part:

    J_i = Σ c_k J_k,    k < i independent,    c unique

so each dependence is told once, with the fewest names, in the order in which the constraints are stated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

ZERO_SINGULAR_VALUE = 1e-10  # relative size below which a singular value counts as zero
INVOLVED = 1e-6  # the least share of a constraint in a combination that vanishes


@dataclass(frozen=True, slots=True, eq=False)
class Circuit:
    """One dependence: coefficients of all rows, in units in which each has length one, whose sum vanishes."""

    row: int  # the constraint that depends on those before it
    combination: np.ndarray

    def names(self, constraints: Sequence[str]) -> list[str]:
        """Those that take part, in their order; the one that repeats the others is the last."""
        return [name for name, share in zip(constraints, np.abs(self.combination), strict=True) if share > INVOLVED]


def scaled_rows(matrix: np.ndarray) -> np.ndarray:
    """Rows of length one: their sizes are matters of units."""
    size = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.divide(matrix, size, out=np.zeros_like(matrix), where=size > 0)


def rank_of(jacobian: np.ndarray) -> int:
    """The number of independent rows, in units of their own."""
    if not jacobian.size:
        return 0
    sizes = np.linalg.svd(scaled_rows(jacobian), compute_uv=False)
    return int((sizes > ZERO_SINGULAR_VALUE * max(sizes[0], 1e-300)).sum())


def circuits_of(jacobian: np.ndarray) -> list[Circuit]:
    """Every row that depends on rows before it, with its combination: as many as rank is missing."""
    rows = scaled_rows(jacobian)
    lacking, found, kept = len(rows) - rank_of(jacobian), list[Circuit](), list[int]()
    for i, row in enumerate(rows):
        if len(found) < lacking:
            shares = np.linalg.lstsq(rows[kept].T, row, rcond=None)[0] if kept else np.zeros(0)
            left = row - shares @ rows[kept] if kept else row
            if np.linalg.norm(left) <= np.sqrt(len(rows)) * ZERO_SINGULAR_VALUE * max(
                1.0, np.abs(shares).max(initial=0)
            ):
                combination = np.zeros(len(rows))
                combination[kept], combination[i] = -shares, 1.0
                found.append(Circuit(i, combination))
                continue
        kept.append(i)
    return found


def listed(names: Sequence[str]) -> str:
    """'a', 'b' and 'c'."""
    quoted = [repr(name) for name in names]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " and " + quoted[-1]


def repetition(names: Sequence[str]) -> str:
    """'c' repeats what 'a' and 'b' already fix; alone, it asks for nothing."""
    if len(names) == 1:
        return f"{names[0]!r} holds by itself, whatever moves"
    return f"{names[-1]!r} repeats what {listed(names[:-1])} already {'fixes' if len(names) == 2 else 'fix'}"
