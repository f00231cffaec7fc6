"""The defect of one step, enclosed: how much a scheme adds to the deviations beyond what the law asks.

    d(τ) = ψ(Φ_τ(x), t + τ) − R(τH) ψ(x, t) = c τ^(p+1) c ∈ c₁ + c₂ τ + c₃(ξ) τ²,    c_k the (p+k)-th Taylor
    coefficient of d, at τ = 0 and, for the last, at ξ in [0, step]

because a scheme of order p agrees with the flow to that order. The coefficients are enclosed by taking the step in
power series with ball coefficients, τ = s and τ = [0, step] + s, over a box of states. No mathematics per scheme is
needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
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
    def _psi(self) -> Evaluator:
        return self._tape(self.motion.psi).compiled(ball_series())

    @cached_property
    def derivatives(self) -> tuple[tuple[Evaluator, Evaluator], tuple[Evaluator, Evaluator]]:
        """First and second changes of rates and ψ along a motion that is given with the place.

        first(x, m) = F'(x)[m],      second(x, m, n) = F''(x)[m, m] + F'(x)[n]
        """
        motion, graph = self.motion, self.motion.time.graph
        inputs = (motion.time, *motion.state)
        moves = tuple(graph.input(f"move.{k}") for k in range(len(inputs)))
        bends = tuple(graph.input(f"bend.{k}") for k in range(len(inputs)))
        along = dict(zip(inputs, moves, strict=True))
        made = []
        for nodes in (motion.rates, motion.psi):
            first = directional(nodes, along)
            second = directional(first, along | dict(zip(moves, bends, strict=True)))
            series = ball_series()
            made.append(
                (
                    Tape((*inputs, *moves), tuple(first)).compiled(series),
                    Tape((*inputs, *moves, *bends), tuple(second)).compiled(series),
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

    def plain(self, cell: Cell) -> list[Ball]:
        """Lᵀc over the cell by direct evaluation."""
        return self._scaled(self._expansion(self._steps(cell.box), self._coefficients))

    def centred(self, cell: Cell) -> tuple[list[Ball], dict[int, list[Ball]]]:
        """Lᵀc over the cell in Taylor form, and its slopes.

            c(x₀ + N u_N + T u) ∈ c(x₀ + N u_N) + c'(X)[T] u

        where u are the wide offsets and u_N the small ones. Where the program leaves one direction, that one is taken
        to second order, c'(x₀)[T] u + ½ c''(X)[T, T] u², since the cells are longest there.
        """
        wide = cell.wide
        small = [k for k in range(len(cell.offset)) if k not in wide]
        thin = [
            centre + sum((cell.basis[i, k] * cell.offset[k] for k in small), ball(0))
            for i, centre in enumerate(cell.centre)
        ]
        at_centre, over_cell = self._steps(thin), self._steps(cell.box)
        total = self._scaled(self._expansion(at_centre, self._coefficients))
        slopes = {}
        for k in wide:
            direction, offset = [cell.basis[i, k] for i in range(len(cell.box))], cell.offset[k]
            curved = cell.along == 1 and k == 0
            where = at_centre if curved else over_cell
            slopes[k] = self._scaled(self._expansion(where, _Change(self, direction, order=1)))
            total = [a + b * offset for a, b in zip(total, slopes[k], strict=True)]
            if curved:
                bend = self._scaled(self._expansion(over_cell, _Change(self, direction, order=2)))
                half_square = (offset * offset).nonnegative_part() / 2
                total = [a + b * half_square for a, b in zip(total, bend, strict=True)]
        return total, slopes

    def _scaled(self, coefficients: list[Ball]) -> list[Ball]:
        return entries(self.factor * column(coefficients))

    def _expansion(self, steps: list[Step], coefficients: Callable[[Step, int], list[Ball]]) -> list[Ball]:
        """c₁ + c₂ τ + ... + c_last(ξ) τ^EXTRA over τ in [0, step]."""
        at_zero, over_step = steps
        whole = self._moments[1]
        total = coefficients(over_step, self.scheme.order + 1 + EXTRA)
        for k in reversed(range(EXTRA)):
            here = coefficients(at_zero, self.scheme.order + 1 + k)
            total = [a + whole * b for a, b in zip(here, total, strict=True)]
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
        return [-value for value in self._psi([time, *[ball(0)] * len(self.motion.state)])]

    def _coefficients(self, step: Step, wanted: int) -> list[Ball]:
        """One coefficient of ψ(Φ_τ(x)) − R(τH)ψ(x), component by component."""
        after = [_coefficient(value, wanted) for value in self._psi(step.end)]
        if len(self.scheme.stability.numerator) <= wanted:
            return after
        before = [_coefficient(value, 0) for value in self._psi([step.time, *step.state])]
        return [a - b for a, b in zip(after, self.linear_part(step.tau, before, wanted), strict=True)]

    def start_changes(self, move: list[Any], step: Step) -> tuple[list[Any], list[Any]]:
        """A motion of the variables as first and second changes of time and state at the start of a step."""
        still = [ball(0)] * len(self.motion.state)
        if self.motion.affine:  # the state follows time along the program
            at_rest = [step.time, *still]
            first, second = self.derivatives[1]
            follow = [-value for value in first([*at_rest, move[0], *still])]
            curve = [-value for value in second([*at_rest, move[0], *still, ball(0), *still])]
            return [move[0], *follow], [ball(0), *curve]
        return (list(move) if self.motion.timed else [ball(0), *move]), [ball(0), *still]

    def linear_part(self, tau: Any, psi: list[Ball], wanted: int) -> list[Ball]:
        """The same coefficient of R(τH)ψ; a scheme with more stages than its order has one."""
        total, vector, power = [ball(0)] * len(psi), column(psi), tau**0
        for degree, factor in enumerate(self.scheme.stability.numerator):
            if degree:
                vector, power = self.law * vector, power * tau
            share = _coefficient(power, wanted) * ball(factor)
            total = [a + share * b for a, b in zip(total, entries(vector), strict=True)]
        return total


class _Change:
    """Coefficients of the first or second change of ψ after a step, for a motion of the start; each step is taken
    once.
    """

    def __init__(self, model: DefectModel, move: list[Any], *, order: int) -> None:
        self._model, self._move, self._order = model, move, order
        self._known: dict[int, tuple[list[Any], list[Any]]] = {}

    def __call__(self, step: Step, wanted: int) -> list[Ball]:
        if id(step) not in self._known:
            self._known[id(step)] = self._changes(step)
        before, after = self._known[id(step)]
        model = self._model
        found = [_coefficient(value, wanted) for value in after]
        if len(model.scheme.stability.numerator) <= wanted:
            return found
        linear = model.linear_part(step.tau, [_coefficient(value, 0) for value in before], wanted)
        return [a - b for a, b in zip(found, linear, strict=True)]

    def _changes(self, step: Step) -> tuple[list[Any], list[Any]]:
        """The change of ψ before and after the step, stage by stage."""
        model = self._model
        rates, psi = model.derivatives
        (d_time, *d_state), (b_time, *b_state) = model.start_changes(self._move, step)
        moves: list[list[Any]] = []
        bends: list[list[Any]] = []
        for place, row in zip(step.places, model.rows, strict=True):
            moved = [d_time, *combined(d_state, step.tau, row, moves)]
            moves.append(rates[0]([*place, *moved]))
            if self._order == 2:
                bent = [b_time, *combined(b_state, step.tau, row, bends)]
                bends.append(rates[1]([*place, *moved, *bent]))
        moved = [d_time, *combined(d_state, step.tau, model.weights, moves)]
        start = [step.time, *step.state]
        if self._order == 1:
            return psi[0]([*start, d_time, *d_state]), psi[0]([*step.end, *moved])
        bent = [b_time, *combined(b_state, step.tau, model.weights, bends)]
        return psi[1]([*start, d_time, *d_state, b_time, *b_state]), psi[1]([*step.end, *moved, *bent])


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


def _coefficient(value: Any, degree: int) -> Ball:
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
