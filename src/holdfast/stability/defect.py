"""The defect of one step, enclosed: how much a scheme adds to the deviations beyond what the law asks.

    d(τ) = ψ(Φ_τ(x), t + τ) − R(τH) ψ(x, t) = c τ^(p+1) c ∈ c₁ + c₂ τ + c₃(ξ) τ²,    c_k the (p+k)-th Taylor
    coefficient of d, at τ = 0 and, for the last, at ξ in [0, step]

because a scheme of order p agrees with the flow to that order. The coefficients are enclosed by taking the step in
power series with ball coefficients, τ = s and τ = [0, step] + s, over a box of states. No mathematics per scheme is
needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from holdfast.graph.arithmetic import ball, ball_series, balls
from holdfast.graph.derivatives import directional, jacobian
from holdfast.graph.evaluate import Evaluator, Tape
from holdfast.schemes.runge_kutta import RungeKutta
from holdfast.stability.block import Motion
from holdfast.stability.enclosure import (
    Ball,
    Box,
    ball_between,
    ball_matrix,
    column,
    entries,
    matrix,
)

EXTRA = 2  # Taylor coefficients taken at τ = 0 before the one over the whole step
CURVED = 1  # free directions up to which cells are expanded to second order; measured: more do not pay
ROUNDS = 12  # of cutting a box down, as long as it shrinks


@dataclass(frozen=True, eq=False)
class Cell:
    """A box cut down to the region, and the same set in coordinates along and across the program.

    x = centre + basis · offset
    """

    box: list[Ball]
    centre: list[Ball]
    basis: Any
    inverse: Any
    offset: list[Ball]
    along: int  # how many of the offsets lie along the program

    @property
    def thick(self) -> bool:
        """Whether the cell is as wide across the program as it is long, more or less."""
        sizes = [float(u.rad()) for u in self.offset]
        return max(sizes[self.along :], default=0.0) > 0.1 * max(sizes[: self.along], default=0.0)

    @property
    def wide(self) -> list[int]:
        """The offsets that are not small beside the largest: those along the program, and others in a thick tube."""
        sizes = [float(u.rad()) for u in self.offset]
        small = (1e-3 if self.along == 1 else 0.05) * max(sizes, default=0.0)  # measured: what is worth a tangent each
        return [k for k, size in enumerate(sizes) if k < self.along or size > small]


class DefectModel:
    """Encloses the scaled defect Lᵀc of one block over boxes, where P = L Lᵀ.

    Every method must be called with flint's precision set (`holdfast.graph.arithmetic.precision`).
    """

    def __init__(self, motion: Motion, scheme: RungeKutta, step: float, factor: np.ndarray) -> None:
        self.motion, self.scheme, self.step = motion, scheme, step
        self.factor = ball_matrix(factor.T)  # Lᵀ
        self.law = ball_matrix(motion.matrix)
        self.terms = terms_of(scheme)
        self._moments = [ball_between(0.0, 0.0), ball_between(0.0, step)]
        self._nodes = [ball(node) for node in scheme.nodes]
        self.rows = [_weights(row) for row in scheme.stages]
        self.weights = _weights(scheme.weights)

    # ── evaluators ────────────────────────────────────────────────────────────────────────────────

    def _tape(self, nodes: Sequence[Any]) -> Tape:
        return Tape((self.motion.time, *self.motion.state), tuple(nodes))

    @cached_property
    def _rates(self) -> Evaluator:
        return self._tape(self.motion.rates).compiled(ball_series())

    @cached_property
    def psi(self) -> Evaluator:
        return self._tape(self.motion.psi).compiled(ball_series())

    @cached_property
    def derivatives(self) -> tuple[tuple[Evaluator, Evaluator], tuple[Evaluator, Evaluator]]:
        """First and second changes of rates and ψ along motions that are given with the place.

        first(x, m) = F'(x)[m],      second(x, m, n, b) = F''(x)[m, n] + F'(x)[b]
        """
        motion, graph = self.motion, self.motion.time.graph
        inputs = (motion.time, *motion.state)
        m, n, b = (tuple(graph.input(f"{word}.{k}") for k in range(len(inputs))) for word in ("one", "other", "bend"))
        made = []
        for nodes in (motion.rates, motion.psi):
            first = directional(nodes, dict(zip(inputs, m, strict=True)))
            second = directional(first, dict(zip((*inputs, *m), (*n, *b), strict=True)))
            made.append(
                (
                    Tape((*inputs, *m), tuple(first)).compiled(ball_series()),
                    Tape((*inputs, *m, *n, *b), tuple(second)).compiled(ball_series()),
                )
            )
        return made[0], made[1]

    @cached_property
    def _bounds(self) -> tuple[Evaluator, Evaluator, list[list[int]]]:
        """All deviations and their partials by the variables, in balls."""
        motion = self.motion
        nodes = (*motion.psi, *motion.others, *motion.extras)
        rows = jacobian(nodes, motion.variables)
        slopes = self._tape([node for row in rows for node in row.values()])
        return self._tape(nodes).compiled(balls()), slopes.compiled(balls()), [list(row) for row in rows]

    def _full(self, box: Sequence[Ball]) -> list[Ball]:
        """Time and state from a box of the variables; a time on which nothing depends is 0."""
        return list(box) if self.motion.timed else [ball(0), *box]

    # ── cutting a box down to the region ──────────────────────────────────────────────────────────

    def cell(self, box: Box, limits: Sequence[Ball]) -> Cell | None:
        """The part of a box where deviations and extras lie within their limits; None where there is none.

        ψ(x) = ψ(c) + ψ'(X)(x − c)     row by row, solved for one variable after the other
        """
        balls_of = [ball_between(low, high) for low, high in box]
        if self.motion.affine:
            return self._affine_cell(balls_of)
        value, slopes, places = self._bounds
        for _ in range(ROUNDS):
            centre = [x.mid() for x in balls_of]
            at_centre = value(self._full(centre))
            flat = iter(slopes(self._full(balls_of)))
            rows = [{j: next(flat) for j in row} for row in places]
            offset = [x - c for x, c in zip(balls_of, centre, strict=True)]
            cut = _contracted(rows, at_centre, limits, offset)
            if cut is None:
                return None
            balls_of = [c + u for c, u in zip(centre, cut, strict=True)]
            if all(u.rad() > 0.8 * old.rad() for u, old in zip(cut, offset, strict=True)):
                break
        return self._along_and_across(balls_of, limits[: len(limits) - len(self.motion.extras)])

    def _affine_cell(self, box: list[Ball]) -> Cell:
        """A stretch of time: the reduced state is on the program."""
        return self._plain_cell(box)

    @staticmethod
    def _plain_cell(box: list[Ball]) -> Cell:
        centre = [x.mid() for x in box]
        identity = ball_matrix(np.eye(len(box)))
        return Cell(box, centre, identity, identity, [x - c for x, c in zip(box, centre, strict=True)], len(box))

    def _along_and_across(self, box: list[Ball], limits: Sequence[Ball]) -> Cell:
        """Coordinates in which the region is thin across the program: u_N = G_N⁻¹(ψ − ψ(c) − G_T u_T)."""
        value, slopes, places = self._bounds
        centre = [x.mid() for x in box]
        at_centre = value(self._full(centre))[: len(limits)]
        flat = iter(slopes(self._full(box)))
        size, rank = len(box), len(limits)
        slope = [[ball(0)] * size for _ in limits]
        for i, row in enumerate(places[:rank]):
            for j in row:
                slope[i][j] = next(flat)
        middle = np.array([[float(x.mid()) for x in row] for row in slope])
        offset = [x - c for x, c in zip(box, centre, strict=True)]
        if rank >= size or not np.isfinite(middle).all():
            return self._plain_cell(box)
        _, _, vt = np.linalg.svd(middle)
        basis = ball_matrix(np.vstack([vt[rank:], vt[:rank]]).T)
        inverse = basis.inv()
        turned = entries(inverse * column(offset))
        along = turned[: size - rank]
        try:
            carried = matrix(slope) * basis
            across = matrix([[carried[i, size - rank + k] for k in range(rank)] for i in range(rank)])
            tilt = matrix([[carried[i, k] for k in range(size - rank)] for i in range(rank)])
            lacking = [limit - at for limit, at in zip(limits, at_centre, strict=True)]
            right = column(lacking) - tilt * column(along)
            thin = entries(across.solve(right))
            turned = along + [_common(a, b) for a, b in zip(turned[size - rank :], thin, strict=True)]
        except ZeroDivisionError:
            pass
        return Cell(box, centre, basis, inverse, turned, size - rank)

    # ── the coefficient ───────────────────────────────────────────────────────────────────────────

    def enclosed(self, cell: Cell) -> tuple[list[Ball], dict[int, list[Ball]]]:
        """Lᵀc over the cell, and its slopes if they were needed; in a thick tube, more cells evaluated plainly win."""
        return (self.plain(cell), {}) if cell.thick or not cell.box else self.centred(cell)

    def plain(self, cell: Cell) -> list[Ball]:
        """Lᵀc over the cell by direct evaluation."""
        return self._scaled(self._expansion([Changes(self, step, {}).value for step in self._steps(cell.box)]))

    def centred(self, cell: Cell) -> tuple[list[Ball], dict[int, list[Ball]]]:
        """Lᵀc over the cell in Taylor form, and its slopes.

            c(x₀ + N u_N + T u) ∈ c(x₀ + N u_N) + c'(x₀ + N u_N)[T u] + ½ c''(X)[T u, T u]

        where u are the offsets along the program and u_N the small ones across it. Further wide offsets, in a thick
        tube, are taken to first order over the cell.
        """
        wide = cell.wide
        curved = [k for k in wide if k < cell.along <= CURVED]
        further = [k for k in wide if k not in curved]
        small = [k for k in range(len(cell.offset)) if k not in wide]
        thin = [
            centre + sum((cell.basis[i, k] * cell.offset[k] for k in small), ball(0))
            for i, centre in enumerate(cell.centre)
        ]
        directions = {k: [cell.basis[i, k] for i in range(len(cell.box))] for k in wide}
        at_centre = [Changes(self, step, directions) for step in self._steps(thin)]
        over_cell = [Changes(self, step, directions) for step in self._steps(_reached(cell, thin, curved, further))]
        total = self._scaled(self._expansion([change.value for change in at_centre]))
        slopes = {}
        for k in wide:
            where = at_centre if k in curved else over_cell
            slopes[k] = self._scaled(self._expansion([partial(change.slope, k) for change in where]))
            total = [a + b * cell.offset[k] for a, b in zip(total, slopes[k], strict=True)]
        for k, j in combinations_with_replacement(curved, 2):
            bend = self._scaled(self._expansion([partial(change.bend, k, j) for change in over_cell]))
            product = cell.offset[k] * cell.offset[j]
            product = product if k != j else product.nonnegative_part() / 2
            total = [a + b * product for a, b in zip(total, bend, strict=True)]
        return total, slopes

    def _scaled(self, coefficients: list[Ball]) -> list[Ball]:
        return entries(self.factor * column(coefficients))

    def _expansion(self, coefficients: Sequence[Callable[[int], list[Ball]]]) -> list[Ball]:
        """c₁ + c₂ τ + ... + c_last(ξ) τ^EXTRA over τ in [0, step], from coefficients around 0 and around [0, step]."""
        at_zero, over_step = coefficients
        whole, first = self._moments[1], self.scheme.order + 1
        total = over_step(first + EXTRA)
        for k in reversed(range(EXTRA)):
            total = [a + whole * b for a, b in zip(at_zero(first + k), total, strict=True)]
        return total

    def _steps(self, box: Sequence[Ball]) -> list[Step]:
        """One step around τ = 0, and one around all of [0, step]."""
        return [self._step(box, moment) for moment in self._moments]

    def _step(self, box: Sequence[Ball], moment: Ball) -> Step:
        """One step in series, τ = moment + s, from a box of the variables."""
        import flint

        first, *rest = self._full(box)
        if self.motion.affine:
            rest = self._on_program(first)
        time, tau = flint.arb_series([first]), flint.arb_series([moment, 1])
        state = [flint.arb_series([x]) for x in rest]
        places: list[list[Any]] = []
        stages: list[list[Any]] = []
        for node, row in zip(self._nodes, self.rows, strict=True):
            place = [time + node * tau, *combined(state, tau, row, stages)]
            places.append(place)
            stages.append(self._rates(place))
        end = [time + tau, *combined(state, tau, self.weights, stages)]
        return Step(time, state, tau, places, stages, end)

    def _on_program(self, time: Ball) -> list[Ball]:
        """The reduced state with zero deviation: Y = e(t), W = e'(t)."""
        return [-value for value in self.psi([time, *[ball(0)] * len(self.motion.state)])]

    def start_changes(self, move: list[Any], step: Step) -> list[Any]:
        """A motion of the variables as a motion of time and state at the start of a step."""
        if self.motion.affine:  # the state follows time along the program
            still = [ball(0)] * len(self.motion.state)
            return [move[0], *(-value for value in self.derivatives[1][0]([step.time, *still, move[0], *still]))]
        return list(move) if self.motion.timed else [ball(0), *move]

    def start_bend(self, one: list[Any], other: list[Any], step: Step) -> list[Any]:
        """The second change of time and state at the start: none, but along a curved program."""
        still = [ball(0)] * len(self.motion.state)
        if not self.motion.affine:
            return [ball(0), *still]
        place = [step.time, *still, one[0], *still, other[0], *still, ball(0), *still]
        return [ball(0), *(-value for value in self.derivatives[1][1](place))]

    def linear_part(self, tau: Any, psi: list[Ball], wanted: int) -> list[Ball]:
        """The same coefficient of R(τH)ψ; a scheme with more stages than its order has one."""
        total, vector, power = [ball(0)] * len(psi), column(psi), tau**0
        for degree, factor in enumerate(self.scheme.stability.numerator):
            if degree:
                vector, power = self.law * vector, power * tau
            share = coefficient(power, wanted) * ball(factor)
            total = [a + share * b for a, b in zip(total, entries(vector), strict=True)]
        return total


class Changes:
    """Coefficients of ψ after one step, and of its first and second changes with the start; each is computed once."""

    def __init__(self, model: DefectModel, step: Step, directions: Mapping[int, list[Any]]) -> None:
        self._model, self._step, self._directions = model, step, directions
        self._moves: dict[int, tuple[list[Any], list[list[Any]]]] = {}  # at the start, and of each stage
        self._known: dict[tuple[int, ...], tuple[list[Any], list[Any]]] = {}

    def value(self, wanted: int) -> list[Ball]:
        """One coefficient of ψ(Φ_τ(x)) − R(τH)ψ(x), component by component."""
        model, step = self._model, self._step
        if () not in self._known:
            self._known[()] = model.psi([step.time, *step.state]), model.psi(step.end)
        return self._coefficient((), wanted)

    def slope(self, k: int, wanted: int) -> list[Ball]:
        """The same coefficient's slope along direction k."""
        if (k,) not in self._known:
            step, psi = self._step, self._model.derivatives[1][0]
            start, _ = self._move(k)
            self._known[(k,)] = psi([step.time, *step.state, *start]), psi([*step.end, *self._end(k)])
        return self._coefficient((k,), wanted)

    def bend(self, k: int, j: int, wanted: int) -> list[Ball]:
        """Its second derivative along directions k and j."""
        if (k, j) not in self._known:
            self._known[(k, j)] = self._bent(k, j)
        return self._coefficient((k, j), wanted)

    def _coefficient(self, key: tuple[int, ...], wanted: int) -> list[Ball]:
        before, after = self._known[key]
        found = [coefficient(value, wanted) for value in after]
        if len(self._model.scheme.stability.numerator) <= wanted:
            return found  # R(τH)ψ has no such term
        linear = self._model.linear_part(self._step.tau, [coefficient(value, 0) for value in before], wanted)
        return [a - b for a, b in zip(found, linear, strict=True)]

    def _move(self, k: int) -> tuple[list[Any], list[list[Any]]]:
        """The motion of the start and of each stage when the start moves in direction k."""
        if k not in self._moves:
            model, step = self._model, self._step
            start = model.start_changes(self._directions[k], step)
            stages: list[list[Any]] = []
            for place, row in zip(step.places, model.rows, strict=True):
                moved = [start[0], *combined(start[1:], step.tau, row, stages)]
                stages.append(model.derivatives[0][0]([*place, *moved]))
            self._moves[k] = start, stages
        return self._moves[k]

    def _end(self, k: int) -> list[Any]:
        start, stages = self._move(k)
        return [start[0], *combined(start[1:], self._step.tau, self._model.weights, stages)]

    def _bent(self, k: int, j: int) -> tuple[list[Any], list[Any]]:
        model, step = self._model, self._step
        rates, psi = model.derivatives[0][1], model.derivatives[1][1]
        (one, one_stages), (other, other_stages) = self._move(k), self._move(j)
        start = model.start_bend(self._directions[k], self._directions[j], step)
        bends: list[list[Any]] = []
        for number, (place, row) in enumerate(zip(step.places, model.rows, strict=True)):
            m = [one[0], *combined(one[1:], step.tau, row, one_stages[:number])]
            n = [other[0], *combined(other[1:], step.tau, row, other_stages[:number])]
            b = [start[0], *combined(start[1:], step.tau, row, bends)]
            bends.append(rates([*place, *m, *n, *b]))
        end = [start[0], *combined(start[1:], step.tau, model.weights, bends)]
        before = psi([step.time, *step.state, *one, *other, *start])
        return before, psi([*step.end, *self._end(k), *self._end(j), *end])


def _reached(cell: Cell, thin: list[Ball], curved: Sequence[int], further: Sequence[int]) -> list[Ball]:
    """A box around the path x₀ + N u_N → x₀ + N u_N + T u → x, whose corners need not lie in the cell's own box.

    The second corner is x less its `further` wide offsets.
    """
    reached = []
    for i, (box, start) in enumerate(zip(cell.box, thin, strict=True)):
        around = box.union(start)
        if curved and further:
            back = box - sum((cell.basis[i, k] * cell.offset[k] for k in further), ball(0))
            forth = start + sum((cell.basis[i, k] * cell.offset[k] for k in curved), ball(0))
            around = around.union(_common(back, forth))
        reached.append(around)
    return reached


def terms_of(scheme: RungeKutta) -> int:
    """How many terms flint's series must keep for this scheme."""
    return scheme.order + EXTRA + 2


@dataclass(frozen=True, eq=False)
class Step:
    """One step in series: where it begins, its stages and where it ends."""

    time: Any
    state: list[Any]
    tau: Any
    places: list[list[Any]]
    stages: list[list[Any]]
    end: list[Any]


def coefficient(value: Any, degree: int) -> Ball:
    """A coefficient of a series, or of a constant that never became one."""
    import flint

    if isinstance(value, flint.arb_series):
        return value[degree]
    return value if degree == 0 else ball(0)


def _weights(row: Sequence[Any]) -> list[tuple[int, Ball]]:
    """The weights that are not zero, as balls, with their stages."""
    return [(k, ball(weight)) for k, weight in enumerate(row) if weight]


def combined(state: Sequence[Any], tau: Any, weights: list[tuple[int, Ball]], stages: list[list[Any]]) -> list[Any]:
    """x + τ Σ b_i K_i."""
    if not weights:
        return list(state)
    result = []
    for i, x in enumerate(state):
        total = None
        for k, weight in weights:
            term = stages[k][i] if weight == 1 else weight * stages[k][i]
            total = term if total is None else total + term
        result.append(x + tau * total)
    return result


def _contracted(
    rows: list[dict[int, Ball]], at_centre: list[Ball], limits: Sequence[Ball], offset: list[Ball]
) -> list[Ball] | None:
    """Offsets that can satisfy Σ slope·offset ∈ limit − value at the centre, or None."""
    cut = list(offset)
    for row, value, limit in zip(rows, at_centre, limits, strict=True):
        terms = {j: slope * cut[j] for j, slope in row.items()}
        total = sum(terms.values(), ball(0))
        wanted = limit - value
        if total.is_finite() and not total.overlaps(wanted):
            return None
        for j, slope in row.items():
            if not slope.is_finite() or slope.contains(0) or cut[j].is_zero():
                continue
            rest = sum((term for k, term in terms.items() if k != j), ball(0))
            allowed = (wanted - rest) / slope
            if not allowed.is_finite():
                continue
            if not allowed.overlaps(cut[j]):
                return None
            cut[j] = _common(cut[j], allowed)
            terms[j] = slope * cut[j]
    return cut


def _common(a: Ball, b: Ball) -> Ball:
    """The intersection of two balls that are known to overlap; the smaller one if rounding says otherwise."""
    try:
        return a.intersection(b)
    except ValueError:
        return a if a.rad() < b.rad() else b
