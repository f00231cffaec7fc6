"""The defect of an affine block whose e(t) is given by data: piece by piece, and across the knots.

Let A be the piece that holds t, B the next one, k = t + θ τ the knot between, and Δ = f_B − f_A, an exact polynomial in
u = t − k. A step from t has the defect of A alone and, added to it, the answer D of the scheme to what Δ adds from the
knot on (docs/theory/8-tube.md, 8.10). In the motion of a block, X' = H ψ − e', ψ = X + e, stage by stage,

    κ_j = H (x_j + δe_j) − δe'_j,   x_j = τ Σ a_ji κ_i,   δ_j = the share of Δ((c_j − θ) τ) where c_j ≥ θ, else 0
    D = τ Σ b_j κ_j + δe at the end

which is a polynomial in θ between two neighbouring c_j, with rational coefficients.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from holdfast.stability.verifier.numbers.dag import Node, ordered, read
from holdfast.stability.verifier.reading.equations import Equations
from holdfast.stability.verifier.refusal import Unconfirmed, require
from holdfast.stability.verifier.schemes import Tableau
from holdfast.stability.verifier.steps.contraction import top

CUTS = 16  # of the stretch of θ between two stages, over which a polynomial is bounded
BITS = 160
BEYOND = 2.0**-31  # of the range of data: a run reads them as far as 2⁻³⁰ beyond, for times that are sums of steps


def data_of(made: Equations, names: Sequence[str]) -> list[Node]:
    """What an affine block reads off data, in derivatives of any order."""
    nodes = [node for name in names for node in made.of_time(name)]
    return [node for node in ordered(nodes) if node.op == "table"]


class DataSteps:
    """Steps of one affine block along its data."""

    def __init__(
        self, made: Equations, names: list[str], matrix: list[list[Fraction]], tableau: Tableau, step: float,
        factor: list[list[float]],
    ) -> None:  # fmt: skip
        self.made, self.names, self.matrix, self.tableau, self.step = made, names, matrix, tableau, Fraction(step)
        self.factor, self.tables = factor, data_of(made, names)
        clock = made.dag.input("t")
        for node in self.tables:
            name = read(node)[0].name
            if node.args[0] is not clock:
                raise Unconfirmed(f"{name!r} is given by data, and read at something else than t")
        self.ends = sorted({end for node in self.tables for end in read(node)[0].pieces.ends})
        if any(Fraction(b) - Fraction(a) < self.step for a, b in pairwise(self.ends)):
            raise Unconfirmed("a step passes more than one knot of the data")
        if not all(0 <= node <= 1 for node in tableau.nodes):
            raise Unconfirmed("stages of the scheme read the data outside of the step")
        self._psi = self._shares([made.of_time(name)[0] for name in names])
        self._rise = self._shares([made.of_time(name)[1] for name in names])

    def _shares(self, nodes: list[Node]) -> list[list[Fraction]]:
        """How nodes change with each of the tables: by constants."""
        dag = self.made.dag
        stand_ins = [dag.input(f"data {k}") for k in range(len(self.tables))]
        rows = dag.partials(dag.substituted(nodes, dict(zip(self.tables, stand_ins, strict=True))), stand_ins)
        found = []
        for row in rows:
            if any(slope.op != "const" for slope in row):
                raise Unconfirmed("data enter the program otherwise than by a sum")
            found.append([slope.data for slope in row if isinstance(slope.data, Fraction)])
        return found

    def require_within(self, begin: float, end: float) -> None:
        """Time of the region within all data, or so little beyond that the pieces at their ends are run on."""
        for node in self.tables:
            first, *_, last = read(node)[0].pieces.ends
            beyond = BEYOND * (last - first)
            inside = first - beyond <= begin <= end <= last + beyond
            require(inside, "the time of its region goes beyond the data")

    def parts(self, begin: float, end: float) -> Iterator[tuple[float, float, Mapping[Node, Node], float]]:
        """Each stretch between knots within [begin, end], its polynomials, and ‖Lᵀ D‖ at most at the knot after it."""
        dag, clock = self.made.dag, self.made.dag.input("t")
        ends = [min(begin, self.ends[0]), *self.ends[1:-1], max(end, self.ends[-1])]
        for low, high in pairwise(ends):
            if high < begin or low > end:
                continue
            image = {}
            for node in self.tables:
                data, order = read(node)
                place = data.pieces.place(low)
                moved, total = dag.sub(clock, dag.const(Fraction(data.pieces.ends[place]))), dag.zero
                for coefficient in reversed(data.pieces.exact(place, order)):
                    total = dag.add(dag.mul(total, moved), dag.const(coefficient))
                image[node] = total
            yield max(low, begin), min(high, end), image, self.crossing(high)

    def crossing(self, knot: float) -> float:
        """‖Lᵀ D‖ at most, for every step that passes a knot."""
        import flint

        before, flint.ctx.prec = flint.ctx.prec, BITS
        try:
            places = sorted({Fraction(0), *self.tableau.nodes, Fraction(1)})
            found = [self._worst(knot, a, b, flint) for a, b in pairwise(places)]
            return max(found)
        finally:
            flint.ctx.prec = before

    def _worst(self, knot: float, low: Fraction, high: Fraction, flint: Any) -> float:
        """Over θ between two neighbouring stages, where those from `high` on are beyond the knot."""
        added = self._added(knot, high, flint)
        size, worst = len(self.names), 0.0
        turned = [
            sum((_rational(Fraction(self.factor[i][j]), flint) * added[i] for i in range(size)), flint.fmpq_poly())
            for j in range(size)
        ]
        for k in range(CUTS):
            a, b = (low + (high - low) * Fraction(n, CUTS) for n in (k, k + 1))
            middle, reach = flint.fmpq_poly([_rational((a + b) / 2, flint), 1]), flint.arb(0, 1)
            ball = flint.arb(_rational((b - a) / 2, flint)) * reach
            values = [_value(row(middle), ball, flint) for row in turned]
            worst = max(worst, top(sum((x.abs_upper() ** 2 for x in values), flint.arb(0)).sqrt()))
        return worst

    def _added(self, knot: float, reached: Fraction, flint: Any) -> list[Any]:
        """D for each deviation, as polynomials in θ."""
        zero, step, count = flint.fmpq_poly(), _rational(self.step, flint), len(self.names)
        changes = []
        for node in self.tables:
            data, order = read(node)
            changes.append(flint.fmpq_poly([_rational(c, flint) for c in data.pieces.change(knot, order)]))

        def share(rows: list[list[Fraction]], node: Fraction) -> list[Any]:
            place = flint.fmpq_poly([_rational(node, flint) * step, -step])  # (c − θ) τ
            moved = [change(place) for change in changes]
            return [sum((_rational(c, flint) * m for c, m in zip(row, moved, strict=True)), zero) for row in rows]

        def weighted(weights: Sequence[Fraction], stages: list[list[Any]]) -> list[Any]:
            used = [(_rational(b, flint) * step, stage) for b, stage in zip(weights, stages, strict=False) if b]
            return [sum((b * stage[i] for b, stage in used), zero) for i in range(count)]

        stages: list[list[Any]] = []
        for c, row in zip(self.tableau.nodes, self.tableau.stages, strict=True):
            place, beyond = weighted(row, stages), c >= reached
            psi = [x + d for x, d in zip(place, share(self._psi, c), strict=True)] if beyond else place
            rise = share(self._rise, c) if beyond else [zero] * count
            asked = [sum((_rational(h, flint) * x for h, x in zip(row, psi, strict=True)), zero) for row in self.matrix]
            stages.append([law - grown for law, grown in zip(asked, rise, strict=True)])
        after = weighted(self.tableau.weights, stages)
        return [x + d for x, d in zip(after, share(self._psi, Fraction(1)), strict=True)]

    def jumps(self) -> list[float]:
        """What each deviation jumps by at a knot, at most: pieces meet but for rounding."""
        found = [0.0] * len(self.names)
        for knot in self.ends[1:-1]:
            at = []
            for node in self.tables:
                data, order = read(node)
                at.append((data.pieces.change(knot, order) or [Fraction(0)])[0])
            for i, row in enumerate(self._psi):
                size = abs(sum((c * x for c, x in zip(row, at, strict=True)), Fraction(0)))
                found[i] = max(found[i], float(size) * (1 + 1e-12))
        return found


def _rational(value: Fraction, flint: Any) -> Any:
    return flint.fmpq(value.numerator, value.denominator)


def _value(row: Any, place: Any, flint: Any) -> Any:
    """Of a polynomial over a ball."""
    total = flint.arb(0)
    for coefficient in reversed(row.coeffs()):
        total = total * place + flint.arb(coefficient)
    return total
