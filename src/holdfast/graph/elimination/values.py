"""The three operations on large systems, in any arithmetic.

    factor    the elimination L D Lᵀ of a sparse symmetric matrix; its parts are the pivots D, then their sizes
    solved    A⁻¹ b by such a factor; its parts are the unknowns
    part      one of them

Floats leave the work to SciPy where it takes the same pivots; every other arithmetic eliminates column by column, with
its own sums, products and quotients. Where a pivot is 0, all that follows is what that arithmetic makes of a quotient
by 0: nan or infinite, or undecided. Bounds of rounding are refused.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from holdfast.errors import Undecided
from holdfast.graph.fronts import Elimination

ROUNDED = "rounded balls"  # they bound the rounding of operations in their order, which is another one in native code


class Parts(Protocol):
    """A value with parts."""

    parts: Sequence[Any]


class FactorValue(Parts, Protocol):
    """A factor, whose parts are its pivots by row, then their sizes.

        d_k = a_kk − Σ_j l_kj² d_j,     of size |d_k| + the terms that were against it

    which is a_kk of a definite matrix, and the diagonal of J M⁻¹Jᵀ of a reaction.
    """

    def solve(self, right: Sequence[Any]) -> list[Any]: ...


class Solved:
    """The unknowns of a system."""

    __slots__ = ("parts",)

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = parts


def system_value(op: str, data: Any, operands: Sequence[Any], arithmetic: Any) -> Any:
    """The value of one of the three operations."""
    if arithmetic.name == ROUNDED:
        raise Undecided("the rounding of an elimination by tables is not bounded", where="elimination")
    if op == "part":
        return operands[0].parts[data]
    if op == "solved":
        return Solved(operands[0].solve(operands[1:]))
    found = sparse_factor(data, operands) if arithmetic.name == "floats" else None
    return ColumnFactor(data, operands, arithmetic.functions) if found is None else found


# ── floats, by SciPy ──────────────────────────────────────────────────────────────────────────────


class SparseFactor:
    """L D Lᵀ of numbers in the order of an elimination."""

    def __init__(self, place: np.ndarray, found: Any) -> None:
        self._place, self._found = place, found
        low, pivots = found.L.tocoo(), found.U.diagonal()
        taken = low.data**2 * pivots[low.col] * (low.row != low.col)
        lost, gained = (np.bincount(low.row, part, len(pivots)) for part in (np.fmax(taken, 0), np.fmax(-taken, 0)))
        sizes = np.abs(pivots) + np.where(pivots > 0, lost, gained)
        where = found.perm_c[place]
        self.parts: list[float] = [*pivots[where].tolist(), *sizes[where].tolist()]

    def solve(self, right: Sequence[float]) -> list[float]:
        ordered = np.empty(len(right))
        ordered[self._place] = right
        found: list[float] = self._found.solve(ordered)[self._place].tolist()
        return found


def sparse_factor(elimination: Elimination, entries: Sequence[float]) -> SparseFactor | None:
    """The factor of a matrix of finite numbers; None where a pivot is 0, or SciPy takes other pivots."""
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    values = np.array(entries, dtype=float)
    if not np.isfinite(values).all():
        return None
    rows, columns, place = elimination.rows, elimination.columns, np.array(elimination.place)
    apart, size = rows != columns, elimination.size
    i, j = np.concatenate([place[rows], place[columns[apart]]]), np.concatenate([place[columns], place[rows[apart]]])
    matrix = csc_array((np.concatenate([values, values[apart]]), (i, j)), shape=(size, size))
    try:
        found = splu(matrix, permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError:  # exactly singular
        return None
    if not np.array_equal(found.perm_r, found.perm_c):  # branches may be taken in another order, pivots may not
        return None
    return SparseFactor(place, found)


# ── any arithmetic, column by column ──────────────────────────────────────────────────────────────


class ColumnFactor:
    """L D Lᵀ by the operations of an arithmetic."""

    def __init__(
        self, elimination: Elimination, entries: Sequence[Any], functions: dict[str, Callable[..., Any]]
    ) -> None:
        plain: dict[str, Callable[..., Any]] = {"mul": operator.mul, "add": operator.add, "sub": operator.sub}
        plain |= {"neg": operator.neg} | functions
        self._mul, self._add, self._sub, self._neg = (plain[name] for name in ("mul", "add", "sub", "neg"))
        self._div, self._absolute, self._select = (plain[name] for name in ("div", "abs", "select"))
        self._place = elimination.place
        work: list[dict[int, Any]] = [{} for _ in self._place]
        for (i, j), value in zip(elimination.entries, entries, strict=True):
            low, high = sorted((self._place[i], self._place[j]))
            work[low][high] = value
        self._columns = [self._eliminated(work, k) for k in range(len(work))]
        self.parts = [*(self._columns[k][0] for k in self._place), *self._sizes()]

    def _eliminated(self, work: list[dict[int, Any]], k: int) -> tuple[Any, dict[int, Any]]:
        """The pivot and the column of L, once it is taken out of those behind it."""
        column, work[k] = work[k], {}
        pivot = column.pop(k)  # there always: a diagonal that is not given is 0, or filled in
        rows = sorted(column)
        scaled = {r: self._div(column[r], pivot) for r in rows}
        for n, r in enumerate(rows):
            for c in rows[: n + 1]:
                taken = self._mul(scaled[r], column[c])
                work[c][r] = self._sub(work[c][r], taken) if r in work[c] else self._neg(taken)
        return pivot, scaled

    def _sizes(self) -> list[Any]:
        """The sizes of the pivots."""
        pivots = [pivot for pivot, _ in self._columns]
        found = [self._absolute(pivot) for pivot in pivots]
        for pivot, column in self._columns:
            size = self._absolute(pivot)
            for r, low in column.items():
                taken = self._mul(self._mul(low, low), size)
                same = self._mul(pivot, pivots[r])  # pivots of one sign take from each other, of two they add
                found[r] = self._select(same, self._add(found[r], taken), found[r])
        return [found[k] for k in self._place]

    def solve(self, right: Sequence[Any]) -> list[Any]:
        x: list[Any] = [None] * len(self._place)
        for value, k in zip(right, self._place, strict=True):
            x[k] = value
        for k, (_, column) in enumerate(self._columns):
            for r, low in column.items():
                x[r] = self._sub(x[r], self._mul(low, x[k]))
        x = [self._div(value, pivot) for value, (pivot, _) in zip(x, self._columns, strict=True)]
        for k in reversed(range(len(x))):
            for r, low in self._columns[k][1].items():
                x[k] = self._sub(x[k], self._mul(low, x[r]))
        return [x[k] for k in self._place]
