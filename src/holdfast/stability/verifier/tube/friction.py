"""Forces that bend with the reactions they use, over cells of a tube: A z = h(λ), with λ some of the unknowns z.

    z = z̃ + S v,      v = ρ + (I − (A − D) S) v,      ρ = h(λ̃) − A z̃,      h(λ) − h(λ̃) = D (λ − λ̃)

z̃ is a polynomial in plain doubles, found by Newton's steps, and D the mean of ∂h/∂λ between λ̃ and λ, power by power of
s. If |v| ≤ v̄ keeps λ within w of λ̃, D is enclosed by the slopes over λ̃ ± w, and v̄ ≥ |ρ| + |I − (A − D) S| v̄, then the
box of all such v is mapped into itself: there is a solution in it (Brouwer), and no other (A − D is regular).

What is run is not that solution but Newton's steps from the reaction without friction. With e_k = |λ_k − λ|,

    (A − h'(λ_k)) (z_{k+1} − z) = −h''(ξ)(λ_k − λ)²/2,       so that e_k ≤ E θ^(2^k − 1) from e_0 ≤ E on,

θ E being what that solves to for e = E, over all of λ ± E. Where θ ≤ 1/2, eight steps leave less than 2⁻²⁵⁵ of E.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from holdfast.stability.verifier.numbers.dag import Node, inputs_of
from holdfast.stability.verifier.numbers.evaluate import Forms, between
from holdfast.stability.verifier.numbers.forms import GROWTH, Array, Form
from holdfast.stability.verifier.steps.friction import UNKNOWN
from holdfast.stability.verifier.steps.unknowns import (
    Part,
    System,
    _distance,
    _followed,
    _form,
    _inverse,
    _lacking,
    bounded,
    enclosed,
)
from holdfast.stability.verifier.tube.solving import lessened, middle, missed, response_of, series_product, with_symbols

ROUNDS = 7  # of Newton's, in doubles, from the reaction without friction: one for each power of s at least
ROOM = 2.0  # times what λ̃ lacks where slopes are taken at λ̃ alone: where they are taken
TRIES = 3  # at making that room larger
NEARER = 0.5  # θ: of what a reaction is off by, at most, after the first of Newton's steps
LEFT = 2.0**-200  # above θ^(2^8 − 1), by far
PARTS = {
    1: 16,
    2: 8,
}  # of what a reaction may be off by, by how many reactions a force uses at once; of more, the whole

Matrix = list[list[Form | Fraction]]


def solved_with_friction(
    system: System, part: Part, matrix: Matrix, forms: Forms, less: Mapping[int, Form], first: int
) -> list[Form]:
    """The solution over all cells; symbols from place `first` on. `less`: what earlier parts take of each row."""
    return with_symbols(*_solution(system, part, matrix, forms, less), first)


def _solution(
    system: System, part: Part, matrix: Matrix, forms: Forms, less: Mapping[int, Form]
) -> tuple[list[Form], Array, Array]:
    """z̃, v̄ and S."""
    own = _Bent(system, part, matrix, forms, less)
    with np.errstate(all="ignore"):
        z = own.polynomials()
        right, _ = own.at(own.reactions(z))
        rows = np.stack([form.bound() for form in _lacking(matrix, right, z)], axis=1)
        table = own.bent(own.reactions(z))
        mid = middle(table)
        response = response_of(mid, _inverse(mid[..., 0]))
        found = bounded(missed(table, mid, response), rows)
        room = ROOM * _moved(response, found)
        for _ in range(TRIES):
            found = bounded(missed(own.bent(own.reactions(z, room)), mid, response), rows)
            reached = _moved(response, found)
            inside: Array = np.all((reached <= room)[:, own.places], axis=(1, 2))
            if inside.all():
                break
            room = np.where(inside[:, None, None], room, ROOM * reached)
        found[~inside] = np.inf
    return z, found, response


def _moved(response: Array, rows: Array) -> Array:
    """|S| v̄, power by power: (cells, n, powers)."""
    return series_product(np.abs(response), rows[:, :, None, :])[:, :, 0] * GROWTH


class _Bent:
    """The rows of a part with forces that bend, at reactions that are given."""

    def __init__(self, system: System, part: Part, matrix: Matrix, forms: Forms, less: Mapping[int, Form]) -> None:
        self._matrix, self._forms, self._less, self._dag = matrix, forms, less, system.dag
        self._right = [system.right[i] for i in part.rows]
        self._slopes: dict[tuple[int, int], Node] = {
            (part.rows.index(i), part.columns.index(j)): node
            for (i, j), node in system.slopes.items()
            if i in part.rows and j in part.columns
        }
        self.places = sorted({j for _, j in self._slopes})  # of the reactions among the unknowns of the part
        self._names = {j: f"{UNKNOWN}{part.columns[j]}" for j in self.places}

    def reactions(self, z: Sequence[Form], room: Array | None = None) -> dict[int, Form]:
        """λ̃, or all within some room of it."""
        return {
            j: Form(z[j].space, z[j].c, z[j].r if room is None else (z[j].r + room[:, j]) * GROWTH) for j in self.places
        }

    def at(self, reactions: Mapping[int, Form]) -> tuple[list[Form], dict[tuple[int, int], Form]]:
        """Right sides and slopes at reactions."""
        nodes = [*self._right, *self._slopes.values()]
        found = self._forms.beside({self._names[j]: form for j, form in reactions.items()}, nodes).of(nodes)
        count = len(self._right)
        return lessened(found[:count], self._less), dict(zip(self._slopes, found[count:], strict=True))

    def bent(self, reactions: Mapping[int, Form]) -> list[list[Form]]:
        """A − ∂h/∂λ."""
        _, slopes = self.at(reactions)
        like = next(iter(slopes.values()))
        return less_slopes([[_form(entry, like) for entry in row] for row in self._matrix], slopes)

    def over(self, nodes: Sequence[Node], z: Sequence[Form], off: Array) -> list[Form]:
        """Nodes over all reactions that are so far off, as plain numbers."""
        return [self._over(node, z, off) for node in nodes]

    def _over(self, node: Node, z: Sequence[Form], off: Array) -> Form:
        """One of them, over parts of the reactions that it uses: forms of functions that bend are short."""
        used = [j for j in self.places if self._names[j] in inputs_of([node])]
        parts = PARTS.get(len(used), 1)
        others = {self._names[j]: z[j] for j in self.places}
        low, high = np.full(len(off), np.inf), np.full(len(off), -np.inf)
        for place in product((np.arange(parts) * 2 + 1 - parts) / parts, repeat=len(used)):
            around = {
                self._names[j]: z[j].shifted(u * off[:, j], off[:, j] / parts * GROWTH)
                for j, u in zip(used, place, strict=True)
            }
            (form,) = self._forms.beside({**others, **around}, [node]).of([node])
            least, most = form.range()
            low, high = np.minimum(low, least), np.maximum(high, most)
        return between(self._forms.space, low, high)

    def slopes_over(self, z: Sequence[Form], off: Array) -> dict[tuple[int, int], Form]:
        """∂h/∂λ over all reactions that are so far off."""
        return dict(zip(self._slopes, self.over(list(self._slopes.values()), z, off), strict=True))

    def twice_bent(self, z: Sequence[Form], off: Array) -> Array:
        """Σ |∂²h/∂λ²| e² / 2 at most, row by row, for reactions off by e."""
        inputs, total = [self._dag.input(self._names[k]) for k in self.places], np.zeros_like(off)
        rows = self._dag.partials(self._slopes.values(), inputs)
        found = iter(self.over([node for row in rows for node in row], z, off))
        for i, j in self._slopes:
            for k in self.places:
                total[:, i] += next(found).bound()[:, 0] * off[:, j] * off[:, k] / 2 * GROWTH
        return total

    def polynomials(self) -> list[Form]:
        """z̃ by Newton's steps, in doubles; without remainders."""
        z: list[Form] = []
        nothing = {j: Form.constant(self._forms.space, np.zeros(self._forms.cells)) for j in self.places}
        for k in range(ROUNDS):
            now = self.reactions(z) if k else nothing
            right, slopes = self.at(now)
            table = [[_form(entry, right[0]) for entry in row] for row in self._matrix]
            if k:
                table = less_slopes(table, slopes)
                for (i, j), slope in slopes.items():
                    right[i] = right[i] - slope * now[j]
            z = _followed(table, right, _inverse(middle(table)[..., 0]))
        return z


def less_slopes(table: list[list[Form]], slopes: Mapping[tuple[int, int], Form]) -> list[list[Form]]:
    """A − ∂h/∂λ."""
    return [[x - slopes[i, j] if (i, j) in slopes else x for j, x in enumerate(row)] for i, row in enumerate(table)]


# ── what is run ───────────────────────────────────────────────────────────────────────────────────


def left_by_newton(
    system: System, part: Part, matrix: Matrix, forms: Forms, less: Mapping[int, Form], found: Mapping[int, Form]
) -> Array:
    """How far the unknowns of the code are from the solution `found`, after Newton's steps: (cells, n); or infinite."""
    own, z = _Bent(system, part, matrix, forms, less), [found[j] for j in part.columns]
    before = enclosed(matrix, lessened(forms.of(system.without_reactions(part)), less))
    off = np.stack([(a - b).bound()[:, 0] for a, b in zip(before, z, strict=True)], axis=1)  # E
    slopes, plain = own.slopes_over(z, off), [[_form(entry, z[0]) for entry in row] for row in matrix]
    once = answered(less_slopes(plain, slopes), own.twice_bent(z, off))
    share = np.where(once > 0, once / off, 0.0)[:, own.places].max(axis=1)  # one that is exact at first must stay so
    pushed = np.zeros_like(off)
    for (i, j), slope in slopes.items():
        pushed[:, i] += slope.bound()[:, 0] * off[:, j] * LEFT
    lost = answered(plain, pushed)
    return np.where((share <= NEARER)[:, None], lost, np.inf)


def answered(table: list[list[Form]], right: Array) -> Array:
    """A bound of z with A z = b for all |b| ≤ right: (cells, n)."""
    inverse = _inverse(middle(table)[..., 0])
    start = np.einsum("nij,nj->ni", np.abs(inverse), right * GROWTH) * GROWTH
    return bounded(_distance(table, inverse)[..., :1], start[:, :, None])[:, :, 0]
