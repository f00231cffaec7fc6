"""Programs that follow data: the defect of an affine block whose e(t) is a polynomial between knots.

    y = J q − e(t),      e = e₀ + Σ G f(t)  with f given by data

On a piece A of the data the deviations move as if f were its polynomial everywhere. A step that begins in A and passes
the knot k = t + θ τ has stages, and an end, in the next piece B; there f is larger by Δ(u), u = (c_j − θ) τ, an exact
polynomial. An affine block is linear in e, so that its defect is that of A and

    D = τ Σ b_j k_j + δψ(Δ),      k_j = H τ Σ a_ji k_i + φ_j,      φ_j = δF(Δ((c_j − θ) τ))  where c_j ≥ θ, else 0

which holds for every degree of the data, and for what their doubles jump by at a knot (docs/theory/8-tube.md, 8.10).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np

from holdfast.errors import BadRequest
from holdfast.graph.arithmetics.balls import ball, ball_between, symmetric
from holdfast.graph.derivatives import jacobian
from holdfast.graph.nodes import Node, ancestors, substitute
from holdfast.graph.table import TablePart
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.proof.block import BlockFlow
from holdfast.stability.proof.defect import DefectModel
from holdfast.stability.proof.enclosure import Ball, Box, norm, upper
from holdfast.stability.proof.lanes.region import lane_defect, region_cover
from holdfast.stability.proof.search import judge
from holdfast.stability.proof.work import SearchWork

Polynomial = tuple[Fraction, ...]  # lowest power first
CUTS = 8  # of each stretch between two stages, over which a polynomial is bounded


@dataclass(frozen=True, eq=False)
class DataCover:
    """Pieces of the data covered one by one: a bound of ‖Lᵀd‖/τ^(p+1), knots included."""

    bound: float
    cells: int

    def stated(self, room: float) -> float:
        """The bound with a little room for other enclosures."""
        return room * self.bound

    def leaves(self) -> list[Box]:
        return []


def data_nodes(nodes: Sequence[Node]) -> list[Node]:
    """What is read off data, in derivatives of any order."""
    return [node for node in ancestors(nodes) if node.op == "table"]


@dataclass(frozen=True, eq=False)
class DataDefect:
    """The defect of an affine motion along data."""

    motion: BlockFlow
    scheme: RungeKutta
    step: float
    factor: np.ndarray

    @cached_property
    def tables(self) -> list[Node]:
        return data_nodes((*self.motion.rates, *self.motion.psi))

    @cached_property
    def _slopes(self) -> tuple[list[dict[int, Fraction]], list[dict[int, Fraction]]]:
        """How rates and deviations change with each of the tables: constants, or the motion is refused."""
        motion, graph = self.motion, self.motion.time.graph
        stand_ins = [graph.input(f"data.{k}") for k in range(len(self.tables))]
        nodes = substitute([*motion.rates, *motion.psi], dict(zip(self.tables, stand_ins, strict=True)))
        rows = jacobian(nodes, stand_ins)
        if any(node.op != "const" for row in rows for node in row.values()):
            raise BadRequest(f"'{self.tables[0].data.table.name}' does not enter the program by a sum alone")
        found = [{k: Fraction(node.data) for k, node in row.items()} for row in rows]
        return found[: len(motion.rates)], found[len(motion.rates) :]

    def require_provable(self, time: tuple[float, float]) -> None:
        """Refuse, by name, what the theorem does not cover."""
        for node in self.tables:
            name, (first, *_, last) = node.data.table.name, node.data.table.ends
            if node.args[0] is not self.motion.time:
                raise BadRequest(f"{name!r} is read at something else than t")
            if not first <= time[0] <= time[1] <= last:
                raise BadRequest(f"the time of Omega goes beyond the data of {name!r}")
        if not all(0 <= node <= 1 for node in self.scheme.nodes):
            raise BadRequest(f"stages of {self.scheme.name} read the data outside of the step")
        near = min((b - a for a, b in pairwise(self._ends)), default=self.step)
        if near < self.step:
            raise BadRequest(f"a step of {self.step:g} passes more than one knot of the data, {near:g} apart")
        _ = self._slopes

    @cached_property
    def _ends(self) -> list[float]:
        return sorted({end for node in self.tables for end in node.data.table.ends})

    # ── pieces ────────────────────────────────────────────────────────────────────────────────────

    def cover(self, time: tuple[float, float], limits: Sequence[Ball], *, wanted: float, work: SearchWork) -> DataCover:
        """Every piece that meets a stretch of time, and every knot that a step from it passes."""
        scale = ball_between(self.step, self.step) ** (self.scheme.order + 1)
        worst, cells = 0.0, 0
        for low, high, motion in self._pieces(*time):
            region = ((low, high),)
            model, lanes = self._models(motion)
            judged = partial(judge, model, limits, region)
            found = region_cover(lanes, judged, region, limits, wanted=wanted, work=work)
            worst, cells = max(worst, found.bound), cells + found.cells
        crossing = max((self._crossing(end) for end in self._ends[1:-1] if end > time[0]), default=0.0)
        return DataCover(upper(ball(worst) + ball(crossing) / scale), cells)

    def _models(self, motion: BlockFlow) -> tuple[DefectModel, Any]:
        step = self.step
        return DefectModel(motion, self.scheme, step, self.factor), lane_defect(motion, self.scheme, step, self.factor)

    def _pieces(self, begin: float, end: float) -> Iterator[tuple[float, float, BlockFlow]]:
        for low, high in pairwise(self._ends):
            if low <= end and high >= begin:
                polynomials = {node: self._polynomial(node, low, high) for node in self.tables}
                nodes = substitute([*self.motion.rates, *self.motion.psi], polynomials)
                count = len(self.motion.rates)
                own = replace(self.motion, rates=tuple(nodes[:count]), psi=tuple(nodes[count:]))
                yield max(low, begin), min(high, end), own

    def _polynomial(self, node: Node, low: float, high: float) -> Node:
        """The polynomial of a table between two neighbouring ends, as a function of time."""
        graph, part = self.motion.time.graph, node.data
        place = _place(part, low, high)
        moved, total = self.motion.time - graph.const(Fraction(part.table.ends[place])), graph.zero
        for coefficient in reversed(part.exact(place)):
            total = total * moved + graph.const(coefficient)
        return total

    # ── knots ─────────────────────────────────────────────────────────────────────────────────────

    def _crossing(self, knot: float) -> float:
        """‖Lᵀ D‖ for every step that passes a knot, wherever it does: D is a polynomial in θ between two stages."""
        changes = [self._change(node.data, knot) for node in self.tables]
        places = sorted({Fraction(0), *map(Fraction, self.scheme.nodes), Fraction(1)})
        worst = 0.0
        for low, high in pairwise(places):
            parts = self._beyond(changes, high)
            turned = [combined([(Fraction(float(x)), part) for x, part in zip(column, parts, strict=True)])
                      for column in self.factor.T]  # fmt: skip
            for k in range(CUTS):
                left, right = (low + (high - low) * Fraction(j, CUTS) for j in (k, k + 1))
                middle, reach = (left + right) / 2, ball((right - left) / 2) * symmetric(1.0)
                worst = max(worst, norm([value(shifted(row, middle), reach) for row in turned]))
        return worst

    def _beyond(self, changes: list[Polynomial], reached: Fraction) -> list[Polynomial]:
        """D as polynomials in θ, where stages from `reached` on lie beyond the knot."""
        rates, psi = self._slopes
        step, law = Fraction(self.step), [[Fraction(float(x)) for x in row] for row in self.motion.matrix]
        stages: list[list[Polynomial]] = []
        for node, row in zip(self.scheme.nodes, self.scheme.stages, strict=True):
            moved = weighted(step, row, stages, len(rates))
            added = self._forced(rates, changes, Fraction(node)) if node >= reached else [()] * len(rates)
            stages.append(
                [combined([*zip(law[i], moved, strict=True), (Fraction(1), added[i])]) for i in range(len(law))]
            )
        after = weighted(step, self.scheme.weights, stages, len(rates))
        ends = self._forced(psi, changes, Fraction(1))
        return [combined([(Fraction(1), x), (Fraction(1), d)]) for x, d in zip(after, ends, strict=True)]

    def _forced(
        self, slopes: Sequence[dict[int, Fraction]], changes: list[Polynomial], node: Fraction
    ) -> list[Polynomial]:
        """Σ G Δ(u) at u = (node − θ) τ, in powers of θ."""
        step = Fraction(self.step)
        moved = [composed(change, node * step, -step) for change in changes]
        return [combined([(share, moved[k]) for k, share in row.items()]) for row in slopes]

    def _change(self, part: TablePart, knot: float) -> Polynomial:
        """Δ: the piece after a knot less the piece before it, exactly; nothing for a table that has no knot there."""
        ends = part.table.ends
        if knot not in ends[1:-1]:
            return ()
        after = ends.index(knot)
        length = Fraction(knot) - Fraction(ends[after - 1])
        before = shifted(part.exact(after - 1), length)
        return tuple(b - a for a, b in zip(before, part.exact(after), strict=True))

    def jumps(self) -> list[float]:
        """What each deviation jumps by at a knot, at most: data are doubles, and their pieces meet but for rounding."""
        _, psi = self._slopes
        found = [0.0] * len(psi)
        for knot in self._ends[1:-1]:
            at = [change[0] if change else Fraction(0) for change in (self._change(n.data, knot) for n in self.tables)]
            sizes = [abs(sum((share * at[k] for k, share in row.items()), Fraction(0))) for row in psi]
            found = [max(a, upper(ball(b))) for a, b in zip(found, sizes, strict=True)]
        return found


def _place(part: TablePart, low: float, high: float) -> int:
    """The piece of a table that holds a stretch between two neighbouring ends of all tables; the nearest beyond it."""
    ends = part.table.ends
    place = next((k for k, (a, b) in enumerate(pairwise(ends)) if a <= low and high <= b), None)
    return place if place is not None else 0 if high <= ends[0] else len(ends) - 2


def composed(row: Polynomial, constant: Fraction, slope: Fraction) -> Polynomial:
    """p(constant + slope θ) in powers of θ, by Horner's rule."""
    total: list[Fraction] = []
    for coefficient in reversed(row):
        up, same = [Fraction(0), *(slope * x for x in total)], [*(constant * x for x in total), Fraction(0)]
        total = [x + y for x, y in zip(up, same, strict=True)]
        total[0] += coefficient
    return tuple(total)


def shifted(row: Polynomial, by: Fraction) -> Polynomial:
    """p(θ + by) in powers of θ."""
    return composed(row, by, Fraction(1))


def combined(parts: Sequence[tuple[Fraction, Polynomial]]) -> Polynomial:
    """Σ c p."""
    total = [Fraction(0)] * max((len(row) for _, row in parts), default=0)
    for share, row in parts:
        for k, coefficient in enumerate(row):
            total[k] += share * coefficient
    return tuple(total)


def value(row: Polynomial, place: Ball) -> Ball:
    """Of a polynomial over a ball."""
    total = ball(0)
    for coefficient in reversed(row):
        total = total * place + ball(coefficient)
    return total


def weighted(step: Fraction, weights: Sequence[Any], stages: list[list[Polynomial]], count: int) -> list[Polynomial]:
    """τ Σ b_j K_j."""
    used = [(step * Fraction(w), stage) for w, stage in zip(weights, stages, strict=False) if w]
    return [combined([(share, stage[i]) for share, stage in used]) for i in range(count)]
