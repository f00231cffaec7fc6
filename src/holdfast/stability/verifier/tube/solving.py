"""Linear systems over cells of a tube, with what their solutions leave carried as symbols.

    A z = b:     z = z̃ + S v,      A_mid(s) S ≈ I,      v = ρ + (I − A S) v,      ρ = b − A z̃

z̃ is a polynomial in plain doubles and ρ its residual, enclosed row by row. Any v̄ ≥ |ρ| + |I − A S| v̄, power by power
of s, bounds v and shows A to be regular in the cell. Row i of v, power k, becomes one symbol with the response S to it:
what solving leaves is carried on as the few numbers it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from holdfast.stability.verifier.numbers.forms import GROWTH, LEAST, UNIT, Array, Form
from holdfast.stability.verifier.steps.unknowns import _followed, _form, _inverse, _lacking, bounded
from holdfast.stability.verifier.tube.space import SymbolSpace


def lessened(right: list[Form], less: Mapping[int, Form]) -> list[Form]:
    """Right sides without what is known of them already."""
    return [form - less[k] if k in less else form for k, form in enumerate(right)]


def solved(matrix: list[list[Form | Fraction]], right: list[Form], space: SymbolSpace, first: int) -> list[Form]:
    """The solution of A z = b over all cells; symbols from place `first` on, one for each row and power."""
    with np.errstate(all="ignore"):
        table = [[_form(entry, right[0]) for entry in row] for row in matrix]
        mid = middle(table)
        inverse = _inverse(mid[..., 0])
        z = _followed(table, right, inverse)
        rows = np.stack([form.bound() for form in _lacking(matrix, right, z)], axis=1)
        response = response_of(mid, inverse)
        rows = bounded(missed(table, mid, response), rows)
    return with_symbols(z, rows, response, first)


def middle(table: list[list[Form]]) -> Array:
    """The constant parts of a matrix of forms: (cells, n, n, powers)."""
    return np.array([[entry.c[:, 0, :] for entry in row] for row in table]).transpose(2, 0, 1, 3)


def with_symbols(z: list[Form], rows: Array, response: Array, first: int) -> list[Form]:
    """z + S v for all |v| ≤ rows, power by power, with a symbol for each row and power of v."""
    terms = rows.shape[2]
    usable = np.isfinite(rows).all(axis=(1, 2)) & np.isfinite(response).all(axis=(1, 2, 3))
    rows, response = np.where(usable[:, None, None], rows, 0.0), np.where(usable[:, None, None, None], response, 0.0)
    for j, form in enumerate(z):
        for i in range(len(z)):
            for k in range(terms):
                form.c[:, first + i * terms + k, k:] = response[:, j, i, : terms - k] * rows[:, i, k, None]
        lost = 4 * UNIT * np.abs(form.c[:, first : first + len(z) * terms, :]).sum(axis=1)
        form.r = np.where(usable[:, None], lost, np.inf)
    return z


def response_of(mid: Array, inverse: Array) -> Array:
    """S with A_mid(s) S = I, power by power, in plain doubles: (cells, n, n, powers)."""
    found = np.zeros_like(mid)
    found[..., 0] = inverse
    for k in range(1, mid.shape[3]):
        total = sum(np.einsum("nij,njm->nim", mid[..., c], found[..., k - c]) for c in range(1, k + 1))
        found[..., k] = -np.einsum("nij,njm->nim", inverse, total)
    return found


def missed(table: list[list[Form]], mid: Array, response: Array) -> Array:
    """|I − A S| over the cell: what A varies by, and what doubles lose in A_mid S."""
    size, terms = mid.shape[1], mid.shape[3]
    vary = np.array([[np.abs(entry.c[:, 1:, :]).sum(axis=1) + entry.r for entry in row] for row in table])
    vary = vary.transpose(2, 0, 1, 3) * GROWTH
    exact = -series_product(mid, response)
    exact[..., 0] += np.eye(size)
    lost = (size * terms + 8) * UNIT * series_product(np.abs(mid), np.abs(response)) + LEAST
    return (np.abs(exact) + lost + series_product(vary, np.abs(response))) * GROWTH


def series_product(a: Array, b: Array) -> Array:
    """Matrices of series: (cells, n, n, powers)."""
    out = np.zeros_like(b)
    for k in range(a.shape[3]):
        out[..., k:] += np.einsum("nij,njmk->nimk", a[..., k], b[..., : b.shape[3] - k])
    return out
