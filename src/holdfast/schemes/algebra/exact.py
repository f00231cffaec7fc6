"""Linear equations in exact numbers, for what follows from a tableau."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def solved(rows: Sequence[Sequence[Fraction]], right: Sequence[Fraction]) -> list[Fraction]:
    """x with A x = b; A is regular."""
    size = len(rows)
    table = [[*rows[i], right[i]] for i in range(size)]
    for k in range(size):
        best = max(range(k, size), key=lambda i: abs(table[i][k]))
        table[k], table[best] = table[best], table[k]
        for i in range(size):
            if i != k and table[i][k]:
                factor = table[i][k] / table[k][k]
                table[i] = [a - factor * b for a, b in zip(table[i], table[k], strict=True)]
    return [table[i][size] / table[i][i] for i in range(size)]


def transposed(rows: Sequence[Sequence[Fraction]]) -> list[list[Fraction]]:
    """The columns as rows."""
    return [list(column) for column in zip(*rows, strict=True)]


def inverse(rows: Sequence[Sequence[Fraction]]) -> list[list[Fraction]]:
    """A⁻¹."""
    size = len(rows)
    unit = [[Fraction(int(i == j)) for i in range(size)] for j in range(size)]
    return transposed([solved(rows, column) for column in unit])
