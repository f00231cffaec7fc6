"""The explicit tableaus that a certificate may name, written down once more."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from fractions import Fraction as F
from math import factorial

from holdfast.stability.verifier.dormand_prince import EIGHTH, FIFTH, rows_of
from holdfast.stability.verifier.refusal import require


@dataclass(frozen=True)
class Tableau:
    """x⁺ = x + step Σ b_i K_i of order p: that of a name has as many stages, one that is stated may have more."""

    stages: tuple[tuple[F, ...], ...]
    weights: tuple[F, ...]
    stated: int | None = None

    @property
    def order(self) -> int:
        return len(self.weights) if self.stated is None else self.stated

    @property
    def stability(self) -> list[F]:
        """Σ_{k≤p} z^k/k!: R(z), up to the order; what stages beyond it add counts as defect."""
        return [F(1, factorial(k)) for k in range(self.order + 1)]

    @property
    def nodes(self) -> list[F]:
        return [sum(row, F(0)) for row in self.stages]


_HALF, _THIRD, _ZERO, _ONE = F(1, 2), F(1, 3), F(0), F(1)
TABLEAUS = {
    "euler": Tableau(((),), (_ONE,)),
    "midpoint": Tableau(((), (_HALF,)), (_ZERO, _ONE)),
    "heun": Tableau(((), (_ONE,)), (_HALF, _HALF)),
    "ralston": Tableau(((), (F(2, 3),)), (F(1, 4), F(3, 4))),
    "kutta3": Tableau(((), (_HALF,), (-_ONE, F(2))), (F(1, 6), F(2, 3), F(1, 6))),
    "rk4": Tableau(((), (_HALF,), (_ZERO, _HALF), (_ZERO, _ZERO, _ONE)), (F(1, 6), _THIRD, _THIRD, F(1, 6))),
    "three-eighths": Tableau(
        ((), (_THIRD,), (-_THIRD, _ONE), (_ONE, -_ONE, _ONE)), (F(1, 8), F(3, 8), F(3, 8), F(1, 8))
    ),
}
CHOOSING = {"dopri5": (FIFTH, 5), "dop853": (EIGHTH, 8)}  # their own steps
OTHERS = {"symplectic-euler", "implicit-midpoint", "radau5", "radau"}  # that no tableau here tells
PLACE = re.compile(r"two-stage\(([1-9]\d{0,59})(?:/([1-9]\d{0,59}))?\)")


def tableau_named(name: str) -> Tableau | None:
    """The tableau of a name; "two-stage(p/q)" has its second stage at α = p/q with the weight 1/(2α), so order 2:

    Σ b = 1,   Σ b c = α/(2α) = 1/2.
    """
    if name in TABLEAUS:
        return TABLEAUS[name]
    found = PLACE.fullmatch(name)
    if found is None:
        return None
    place = F(int(found[1]), int(found[2] or 1))
    return Tableau(((), (place,)), (1 - 1 / (2 * place), 1 / (2 * place)))


def choosing_tableau(name: str) -> Tableau | None:
    """The tableau of a scheme that chooses its own steps, by its name."""
    if name not in CHOOSING:
        return None
    text, order = CHOOSING[name]
    *stages, weights = rows_of(text)
    return Tableau(tuple(stages), weights, order)


def is_taken(name: str) -> bool:
    """Whether a name means a scheme, however it is written: RK4, "rk4 ", Two_Stage(3/4)."""
    plain = unicodedata.normalize("NFKC", name).strip().lower().replace("_", "-").replace(" ", "-")
    return plain in OTHERS or plain in CHOOSING or tableau_named(plain) is not None


MOST_STAGES, MOST_ORDER = 16, 6  # of a tableau that is stated
Tree = tuple["Tree", ...]


def stated_tableau(stages: list[list[F]], weights: list[F], order: int) -> Tableau:
    """A tableau that a certificate states, if it is explicit and of its order: Σ b Φ(tree) = 1/density(tree)."""
    require(1 <= len(weights) <= MOST_STAGES and len(stages) == len(weights), "its tableau has no shape")
    require(all(len(row) <= i for i, row in enumerate(stages)), "its tableau is not explicit")
    require(1 <= order <= MOST_ORDER, "its tableau claims an order that is not checked here")
    for nodes in range(1, order + 1):
        for tree in _trees(nodes):
            sums = _weights_of(tree, stages)
            met = sum((b * x for b, x in zip(weights, sums, strict=True)), F(0)) * _density(tree) == 1
            require(met, f"its tableau is not of order {order}")
    return Tableau(tuple(map(tuple, stages)), tuple(weights), order)


def _trees(nodes: int) -> list[Tree]:
    """All rooted trees, each as its branches in order."""
    return [tuple(branches) for branches in _forests(nodes - 1, nodes - 1)]


def _forests(nodes: int, largest: int) -> list[list[Tree]]:
    """All ways to share nodes among trees, none larger than the one before."""
    if nodes == 0:
        return [[]]
    found = []
    for size in range(1, min(nodes, largest) + 1):
        for tree in _trees(size):
            for rest in _forests(nodes - size, size):
                if not rest or _size(rest[0]) < size or rest[0] <= tree:
                    found.append([tree, *rest])
    return found


def _size(tree: Tree) -> int:
    return 1 + sum(map(_size, tree))


def _density(tree: Tree) -> int:
    found = _size(tree)
    for branch in tree:
        found *= _density(branch)
    return found


def _weights_of(tree: Tree, stages: list[list[F]]) -> list[F]:
    """Φ_i: the product over the branches of Σ_j a_ij Φ_j."""
    found = [F(1)] * len(stages)
    for branch in tree:
        inner = _weights_of(branch, stages)
        found = [
            value * sum((a * inner[j] for j, a in enumerate(row)), F(0))
            for value, row in zip(found, stages, strict=True)
        ]
    return found
