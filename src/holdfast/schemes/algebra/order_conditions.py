"""The order conditions of a Runge-Kutta tableau, one per rooted tree.

    Σ b_i g_i(τ) = 1/γ(τ)   for every rooted tree τ with at most p nodes   ⇔   order p

    g_i([τ_1 … τ_k]) = Π_l Σ_j a_ij g_j(τ_l)          γ([τ_1 … τ_k]) = |τ| Π_l γ(τ_l)

Butcher (1963); Hairer, Nørsett, Wanner, *Solving Ordinary Differential Equations I*, theorem II.2.13.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache

Tree = tuple["Tree", ...]  # the subtrees that hang on the root


@cache
def trees(nodes: int) -> tuple[Tree, ...]:
    """All rooted trees with this many nodes, each once."""
    return tuple(_forests(nodes - 1, nodes - 1))


def _forests(nodes: int, largest: int) -> Iterator[Tree]:
    """All multisets of trees with this many nodes together, no tree larger than `largest`."""
    if nodes == 0:
        yield ()
        return
    for size in range(min(nodes, largest), 0, -1):
        for first in trees(size):
            for rest in _forests(nodes - size, size):
                if not rest or (_size(rest[0]), rest[0]) <= (size, first):
                    yield (first, *rest)


@cache
def _size(tree: Tree) -> int:
    return 1 + sum(_size(branch) for branch in tree)


@cache
def density(tree: Tree) -> int:
    """γ(τ): the size of the tree times the densities of what hangs on its root."""
    product = _size(tree)
    for branch in tree:
        product *= density(branch)
    return product


def residuals(
    rows: Sequence[Sequence[Fraction]], weights: Sequence[Fraction], order: int
) -> Iterator[tuple[Tree, Fraction]]:
    """Every tree up to this order with Σ b_i g_i(τ) - 1/γ(τ), which must vanish."""
    known: dict[Tree, list[Fraction]] = {}

    def elementary(tree: Tree) -> list[Fraction]:
        if tree not in known:
            values = [Fraction(1)] * len(rows)
            for branch in tree:
                below = elementary(branch)
                sums = [sum((a * g for a, g in zip(row, below, strict=False)), Fraction(0)) for row in rows]
                values = [value * term for value, term in zip(values, sums, strict=True)]
            known[tree] = values
        return known[tree]

    for nodes in range(1, order + 1):
        for tree in trees(nodes):
            total = sum((b * g for b, g in zip(weights, elementary(tree), strict=True)), Fraction(0))
            yield tree, total - Fraction(1, density(tree))
