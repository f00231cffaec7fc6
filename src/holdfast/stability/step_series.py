"""One step of a scheme in power series of balls, and how it changes with its start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from holdfast.graph.arithmetic import ball, ball_series
from holdfast.graph.derivatives import directional
from holdfast.graph.evaluate import Evaluator, Tape
from holdfast.schemes.runge_kutta import RungeKutta
from holdfast.stability.block import Motion
from holdfast.stability.enclosure import Ball, ball_matrix, column, entries


@dataclass(frozen=True, eq=False)
class Step:
    """One step in series: where it begins, its stages and where it ends."""

    time: Any
    state: list[Any]
    tau: Any
    places: list[list[Any]]
    stages: list[list[Any]]
    end: list[Any]


class StepSeries:
    """Takes steps of a scheme on a motion, with τ = moment + s as a series in s."""

    def __init__(self, motion: Motion, scheme: RungeKutta) -> None:
        self.motion, self.scheme = motion, scheme
        self.law = ball_matrix(motion.matrix)
        self._nodes = [ball(node) for node in scheme.nodes]
        self.rows = [_weights(row) for row in scheme.stages]
        self.weights = _weights(scheme.weights)

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

    def step(self, place: Sequence[Ball], moment: Ball) -> Step:
        """One step in series, τ = moment + s, from time and state (an affine motion needs the time only)."""
        import flint

        first, *rest = place
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

    def __init__(self, series: StepSeries, step: Step, directions: Mapping[int, list[Any]]) -> None:
        self._series, self._step, self._directions = series, step, directions
        self._moves: dict[int, tuple[list[Any], list[list[Any]]]] = {}  # at the start, and of each stage
        self._known: dict[tuple[int, ...], tuple[list[Any], list[Any]]] = {}

    def value(self, wanted: int) -> list[Ball]:
        """One coefficient of ψ(Φ_τ(x)) − R(τH)ψ(x), component by component."""
        series, step = self._series, self._step
        if () not in self._known:
            self._known[()] = series.psi([step.time, *step.state]), series.psi(step.end)
        return self._coefficient((), wanted)

    def slope(self, k: int, wanted: int) -> list[Ball]:
        """The same coefficient's slope along direction k."""
        if (k,) not in self._known:
            step, psi = self._step, self._series.derivatives[1][0]
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
        if len(self._series.scheme.stability.numerator) <= wanted:
            return found  # R(τH)ψ has no such term
        linear = self._series.linear_part(self._step.tau, [coefficient(value, 0) for value in before], wanted)
        return [a - b for a, b in zip(found, linear, strict=True)]

    def _move(self, k: int) -> tuple[list[Any], list[list[Any]]]:
        """The motion of the start and of each stage when the start moves in direction k."""
        if k not in self._moves:
            series, step = self._series, self._step
            start = series.start_changes(self._directions[k], step)
            stages: list[list[Any]] = []
            for place, row in zip(step.places, series.rows, strict=True):
                moved = [start[0], *combined(start[1:], step.tau, row, stages)]
                stages.append(series.derivatives[0][0]([*place, *moved]))
            self._moves[k] = start, stages
        return self._moves[k]

    def _end(self, k: int) -> list[Any]:
        start, stages = self._move(k)
        return [start[0], *combined(start[1:], self._step.tau, self._series.weights, stages)]

    def _bent(self, k: int, j: int) -> tuple[list[Any], list[Any]]:
        series, step = self._series, self._step
        rates, psi = series.derivatives[0][1], series.derivatives[1][1]
        (one, one_stages), (other, other_stages) = self._move(k), self._move(j)
        start = series.start_bend(self._directions[k], self._directions[j], step)
        bends: list[list[Any]] = []
        for number, (place, row) in enumerate(zip(step.places, series.rows, strict=True)):
            m = [one[0], *combined(one[1:], step.tau, row, one_stages[:number])]
            n = [other[0], *combined(other[1:], step.tau, row, other_stages[:number])]
            b = [start[0], *combined(start[1:], step.tau, row, bends)]
            bends.append(rates([*place, *m, *n, *b]))
        end = [start[0], *combined(start[1:], step.tau, series.weights, bends)]
        before = psi([step.time, *step.state, *one, *other, *start])
        return before, psi([*step.end, *self._end(k), *self._end(j), *end])


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
