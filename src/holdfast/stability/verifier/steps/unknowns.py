"""Accelerations and multipliers as unknowns, enclosed by Krawczyk's operator: nothing is eliminated.

    A z = b,    A = [M −E; J 0],    z = (a, μ),    b = (h, Y − γ)

With C a float inverse of A at the middle of a cell, a polynomial z̃ is found by repeating z̃ ← z̃ + C(b − A z̃) in plain
doubles. What it lacks, δ = z − z̃, solves δ = Cρ + (I − CA) δ with ρ = b − A z̃ enclosed in forms; any δ̄ ≥ |Cρ| +
|I − CA| δ̄, power by power of the step, bounds it, and shows that A is nowhere singular in the cell. The system is
taken in its smallest parts (Dulmage-Mendelsohn): what the constraints alone decide needs no masses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from holdfast.stability.verifier.numbers.dag import Node
from holdfast.stability.verifier.numbers.evaluate import Forms
from holdfast.stability.verifier.numbers.forms import GROWTH, LEAST, Array, Form, Space, combination, joined, parted
from holdfast.stability.verifier.reading.equations import Equations
from holdfast.stability.verifier.refusal import Unconfirmed, require
from holdfast.stability.verifier.steps.friction import UNKNOWN, with_reactions

SLACK = 1e-3  # of the solution of (I − |I − CA|) δ = |Cρ|, added to its right side before it is checked to be a bound:
# each unknown gets room in its own unit, however differently they are scaled

WIDENED = 8  # times that a guess is made larger where it is no bound yet: inverses of rows in very different units are
# wrong by more than the smallest of them


@dataclass(frozen=True, eq=False)
class Part:
    """Equations that decide some unknowns together, once earlier parts are known."""

    rows: list[int]
    columns: list[int]


class System:
    """The rows of A and b as nodes, and their parts in an order in which each can be solved.

    Where forces use reactions otherwise than by a sum, b uses unknowns (inputs ``unknown j``), with `slopes` ∂bᵢ/∂zⱼ.
    """

    def __init__(self, equations: Equations) -> None:
        self.dag, self.count = equations.dag, len(equations.stated.coordinates)
        self.known_rows = equations.mass is not None
        self.matrix, self.right = equations.rows or _saddle(equations)
        self.matrix, self.right, self.slopes = with_reactions(equations, self.matrix, self.right)
        full = np.array([[node is not equations.dag.zero for node in row] for row in self.matrix])
        self.bent = [list(row) for row in self.matrix]  # A − ∂b/∂z
        for (i, j), slope in self.slopes.items():
            full[i, j], self.bent[i][j] = True, self.dag.sub(self.matrix[i][j], slope)
        if not self.known_rows:
            full[: self.count, : self.count] = True  # anything may stand there
        self.parts = _parts(full)
        self.home = {column: part for part in self.parts for column in part.columns}
        self.pattern = full

    def needed(self, columns: Sequence[int]) -> list[Part]:
        """The parts that decide some unknowns, in order."""
        wanted, waiting = set[int](), list(columns)
        while waiting:
            column = waiting.pop()
            if column in wanted:
                continue
            part = self.home[column]
            wanted |= set(part.columns)
            waiting += [j for i in part.rows for j in np.flatnonzero(self.pattern[i]).tolist() if j not in wanted]
        return [part for part in self.parts if set(part.columns) & wanted]

    def bends(self, part: Part) -> bool:
        """Whether forces bend with reactions that are found in this part."""
        return any(i in part.rows and j in part.columns for i, j in self.slopes)

    def without_reactions(self, part: Part) -> list[Node]:
        """The right sides of a part with forces in which all reactions are 0."""
        none = {self.dag.input(f"{UNKNOWN}{j}"): self.dag.zero for j in range(len(self.right))}
        return self.dag.substituted([self.right[i] for i in part.rows], none)

    def nodes(self, parts: Sequence[Part]) -> list[Node]:
        """All entries of some parts."""
        if not self.known_rows and any(i < self.count for part in parts for i in part.rows):
            raise Unconfirmed("cannot be re-checked independently: it needs the equations of variable masses")
        return [node for part in parts for i in part.rows for node in (*self.matrix[i], self.right[i])]


def _saddle(equations: Equations) -> tuple[list[list[Node]], list[Node]]:
    """[M −E; J 0] and (h, Y − γ)."""
    dag, stated = equations.dag, equations.stated
    n, r = len(stated.coordinates), len(stated.constraints)
    actual = {dag.input(name): node for name, node in equations.psi.items()}
    demands = dag.substituted(list(equations.demand.values()), actual)
    empty = [[dag.zero] * n for _ in range(n)]
    matrix: list[list[Node]] = [
        [*(equations.mass or empty)[i], *(dag.neg(node) for node in equations.holders[i])] for i in range(n)
    ]
    matrix += [[*equations.jacobian[name], *[dag.zero] * r] for name in stated.constraints]
    lacking = zip(demands, stated.constraints, strict=True)
    return matrix, equations.bias + [dag.sub(demand, equations.drift[name]) for demand, name in lacking]


def _parts(full: Array) -> list[Part]:
    """The smallest parts, each after those that it needs: a row needs those that decide its other unknowns."""
    rows = [np.flatnonzero(row).tolist() for row in full]
    match = _matched(rows)
    owner = {column: row for row, column in match.items()}
    edges = [{owner[j] for j in row} for row in rows]
    needs = [_reached(i, edges) for i in range(len(rows))]
    parts = {min(k for k in needs[i] if i in needs[k]): needs[i] for i in range(len(rows))}
    groups = [[i for i in sorted(found) if first in needs[i]] for first, found in parts.items()]
    groups.sort(key=lambda group: len(needs[group[0]]))  # whoever needs another needs all that it needs, and more
    return [Part(group, [match[i] for i in group]) for group in groups]


def _matched(rows: list[list[int]]) -> dict[int, int]:
    """An unknown of its own for each row; rows are moved to further ones where that is needed (augmenting paths)."""
    owner, match = dict[int, int](), dict[int, int]()
    for first in range(len(rows)):
        came, waiting, free = dict[int, int](), [first], None
        while waiting and free is None:
            row = waiting.pop()
            for j in rows[row]:
                if j not in came:
                    came[j] = row
                    if j not in owner:
                        free = j
                        break
                    waiting.append(owner[j])
        require(free is not None, "the equations do not decide accelerations and multipliers")
        while free is not None:
            row = came[free]
            owner[free], match[row], free = row, free, match.get(row)
    return match


def _reached(i: int, edges: list[set[int]]) -> set[int]:
    """Row i and all rows that it needs, at once or by others."""
    found, waiting = {i}, [i]
    while waiting:
        new = edges[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def solved(system: System, parts: Sequence[Part], forms: Forms) -> dict[int, Form]:
    """The unknowns of some parts over all cells, as forms."""
    found: dict[int, Form] = {}
    for part in parts:
        matrix = [forms.raw([system.matrix[i][j] for j in part.columns]) for i in part.rows]
        right = forms.of([system.right[i] for i in part.rows])
        for k, i in enumerate(part.rows):
            for j, value in found.items():
                if system.pattern[i][j]:
                    (entry,) = forms.raw([system.matrix[i][j]])
                    right[k] = right[k] - _times(entry, value)
        found |= dict(zip(part.columns, enclosed(matrix, right), strict=True))
    return found


def _times(entry: Form | Fraction, value: Form) -> Form:
    from holdfast.stability.verifier.numbers.evaluate import times

    found = times(entry, value)
    assert isinstance(found, Form)
    return found


def enclosed(matrix: list[list[Form | Fraction]], right: list[Form]) -> list[Form]:
    """The solution of A z = b over all cells."""
    with np.errstate(all="ignore"):
        table = [[_form(entry, right[0]) for entry in row] for row in matrix]
        middle = np.array([[entry.c[:, 0, 0] for entry in row] for row in table]).transpose(2, 0, 1)
        inverse = _inverse(middle)
        z = _followed(table, right, inverse)
        lacking = combination(inverse, _lacking(matrix, right, z))
        start = np.stack([form.bound() for form in lacking], axis=1)
        error = bounded(_distance(table, inverse), start)
    for k, form in enumerate(z):
        form.r = error[:, k, :]
    return z


def _form(entry: Form | Fraction, like: Form) -> Form:
    if isinstance(entry, Form):
        return entry
    near = float(entry)
    return Form.constant(like.space, np.full(len(like.c), near), 0.0 if Fraction(near) == entry else 2e-16 * abs(near))


def _inverse(middle: Array) -> Array:
    usable = np.isfinite(middle).all(axis=(1, 2))
    safe = np.where(usable[:, None, None], middle, np.eye(middle.shape[1]))
    try:
        return np.linalg.inv(safe)
    except np.linalg.LinAlgError:
        return np.stack([np.linalg.pinv(one) for one in safe])


def _followed(table: list[list[Form]], right: list[Form], inverse: Array) -> list[Form]:
    """z̃ in plain doubles, power by power of the step: A₀ z_k = b_k − Σ A_j z_(k−j), in which each round of
    z ← z + C (… − A₀ z) gains a degree in the variables."""
    space = right[0].space
    matrix = np.stack([np.stack([entry.c for entry in row]) for row in table])  # (n, n, cells, monomials, powers)
    b = np.stack([form.c for form in right])
    z = np.zeros_like(b)
    used = [k for k in range(space.terms) if matrix[..., k].any()]
    steady = not matrix[:, :, :, 1:, 0].any()
    for k in range(space.terms):
        wanted = b[..., k] - sum(_applied(space, matrix[..., j], z[..., k - j]) for j in used if 0 < j <= k)
        if not wanted.any():
            continue
        for _ in range(1 if steady else space.depth + 1):
            lacking = wanted - _applied(space, matrix[..., 0], z[..., k])
            z[..., k] += np.einsum("nij,jnm->inm", inverse, lacking)
    nothing = np.zeros((b.shape[1], space.terms))
    return [Form(space, part, nothing) for part in np.nan_to_num(z, posinf=0, neginf=0)]


def _applied(space: Space, matrix: Array, vector: Array) -> Array:
    """A matrix of polynomials, most of them 0, times a vector of them, in plain doubles: (n, n, cells, monomials)."""
    left, right, starts, _ = space.pairs
    out = np.zeros_like(vector)
    used = np.any(np.any(matrix, axis=3), axis=2)
    for i, row in enumerate(used):
        places = np.flatnonzero(row)
        if len(places):
            products = np.einsum("jnp,jnp->np", matrix[i, places][..., left], vector[places][..., right])
            out[i] = np.add.reduceat(products, starts, axis=1)
    return out


def _lacking(matrix: list[list[Form | Fraction]], right: list[Form], z: list[Form]) -> list[Form]:
    """ρ = b − A z̃, enclosed; the products of forms all at once."""
    total, cells = list(right), range(len(right))
    for i, j in ((i, j) for i in cells for j in cells):
        entry = matrix[i][j]
        if isinstance(entry, Fraction) and entry:
            total[i] = total[i] - _times(entry, z[j])
    places = [(i, j) for i in cells for j in cells if isinstance(matrix[i][j], Form)]
    if places:
        entries = [entry for row in matrix for entry in row if isinstance(entry, Form)]
        products = joined(entries) * joined([z[j] for _, j in places])
        for (i, _), product in zip(places, parted(products, len(places)), strict=True):
            total[i] = total[i] - product
    return total


def _distance(table: list[list[Form]], inverse: Array) -> Array:
    """|I − C A| over the cell: (cells, n, n, powers); all columns at once."""
    size, cells = len(table), len(inverse)
    columns = combination(np.tile(inverse, (size, 1, 1)), [joined(row) for row in table])
    unit = np.repeat(np.eye(size), cells, axis=1)
    rows = [(-form).shifted(one, 0.0).bound().reshape(size, cells, -1) for form, one in zip(columns, unit, strict=True)]
    return np.stack(rows).transpose(2, 0, 1, 3)


def bounded(distance: Array, start: Array) -> Array:
    """δ̄ ≥ start + distance ∗ δ̄, power by power; infinite where none is found."""
    _cells, size, terms = start.shape
    out = np.full(start.shape, np.inf)
    usable = np.isfinite(distance).all(axis=(1, 2, 3)) & np.isfinite(start).all(axis=(1, 2))
    g, s, d = distance[usable], start[usable], np.zeros(start[usable].shape)
    first = g[:, :, :, 0]
    try:
        guesses = np.maximum(np.linalg.inv(np.eye(size) - first), 0.0)  # as where a bound exists, but for rounding
    except np.linalg.LinAlgError:
        return out
    holds = np.ones(len(g), dtype=bool)
    for k in range(terms):
        known = s[:, :, k].copy()
        for j in range(1, k + 1):
            known += np.einsum("nij,nj->ni", g[:, :, :, j], d[:, :, k - j])
        known = known * GROWTH + LEAST
        least = np.einsum("nij,nj->ni", guesses, known)
        guess = np.einsum("nij,nj->ni", guesses, known + SLACK * least)
        for _ in range(WIDENED):
            image = (known + np.einsum("nij,nj->ni", first, guess)) * GROWTH
            if (image <= guess).all():
                break
            guess = np.maximum(guess, image * (1 + SLACK))
        image = (known + np.einsum("nij,nj->ni", first, guess)) * GROWTH
        holds &= (guess >= 0).all(axis=1) & (image <= guess).all(axis=1)
        d[:, :, k] = guess
    d[~holds] = np.inf
    out[usable] = d
    return out
