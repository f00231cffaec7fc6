"""Starts whose runs stay in a tube, re-checked a posteriori: boxes around polynomials, row by row, all rows at once.

    x_k ∈ P_k(e) + S_k d,     |e_i| ≤ 1,  |d_i| ≤ 1,      P_0(e) = start + distances · e,   S_0 = 0

P_k is *any* polynomial of second order in where a run started: it is laid through runs that were made, in doubles. A
step of the code over row k, its rounding included, ends in p(e) + C d ± r. With R = |p − P_{k+1}| + r, row k + 1 holds
that if

    |S⁻¹C| 1 + |S⁻¹| R ≤ 1,       S = S_{k+1}

which balls decide. S is turned as the flow turns, from a first look at all rows. If every row lies in the tube, no run
that starts within the distances ever leaves it (docs/theory/8-tube.md, 8.7).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from holdfast.stability.verifier.check import Reading
from holdfast.stability.verifier.numbers.forms import GROWTH, UNIT, Array, Form, Space
from holdfast.stability.verifier.reading.code import clock_error
from holdfast.stability.verifier.reading.tubes import StatedTube
from holdfast.stability.verifier.refusal import Unconfirmed, require
from holdfast.stability.verifier.steps.rounding import RoundingModel

MOST_STATES = 24  # whose products of two are followed
BATCH = 256  # rows at a time
FIRST_LOOK = 1e-6  # of the tube's half-widths: a side that shows how the flow turns, and adds little of its own
ROOM = 1.2  # times what boxes must hold, by the last look
LOOKS = 6  # at most: what boxes must hold depends on themselves, a little
LOST = 64 * UNIT  # of the terms of a cubic: more than doubles lose in it
LEAST_SIDE = 1e-30  # of the tube's half-widths: so that no side is nothing
BITS = 160


class StartSpace(Space):
    """Where a run started, to second order, and boxes of second order themselves; forms are never made plain."""

    narrows = False

    def __init__(self, states: int) -> None:
        super().__init__((*[1] * states, *[2] * states), 2, 1)
        self.states = states
        self.boxed = self.linear[states:]
        self.own = [k for k, e in enumerate(self.exponents) if not any(e[states:])]


@dataclass(frozen=True, eq=False)
class Rows:
    """A batch of rows as cells of a model of rounding."""

    names: list[str]
    times: Array
    polynomials: Array  # (rows, states, monomials)
    sides: Array  # (rows, states, states)

    def __len__(self) -> int:
        return len(self.times)

    def values(self, space: StartSpace) -> dict[str, Form]:
        found = {"t": Form.constant(space, self.times)}
        for i, name in enumerate(self.names):
            form = Form.constant(space, np.zeros(len(self)))
            form.c[:, :, 0] = self.polynomials[:, i]
            form.c[:, space.boxed, 0] = self.sides[:, i]
            found[name] = form
        return found


class StartModel(RoundingModel):
    """A step of the code over rows, as computed."""

    def __init__(self, read: Reading, space: StartSpace, clock: float) -> None:
        step = read.claims.step
        assert step is not None
        super().__init__(read.equations, read.code, [], read.tableau, step, [], read.claims.parameters, clock)
        self.space = space

    def _space(self, cells: object) -> StartSpace:
        return self.space

    def stepped(self, rows: Rows) -> tuple[Array, Array]:
        """Coefficients (rows, states, monomials) and remainders (rows, states) after a step."""
        forms, _ = self.after(rows)  # type: ignore[arg-type]
        found = forms.of([self.equations.dag.input(name) for name in rows.names])
        return np.stack([form.c[:, :, 0] for form in found], axis=1), np.stack([form.r[:, 0] for form in found], axis=1)


def places(states: int) -> Array:
    """Where runs start that the polynomials are laid through, in distances: (runs, states)."""
    unit = np.eye(states)
    pairs = [unit[i] + unit[j] for i, j in combinations(range(states), 2)]
    return np.array([np.zeros(states), *unit, *-unit, *pairs])


def rows_that_stay(read: Reading, tubes: list[StatedTube], times: Array, runs: Array) -> int:
    """How many rows were shown to hold all runs from the stated starts; `runs`: (places, rows, states), in doubles."""
    stated = read.claims.starts
    assert stated is not None
    names = read.equations.inputs[1:]
    require(set(stated) == set(names), "the distances of starts are not those of the states")
    require(bool(tubes), "starts are said to stay in a tube, and there is none")
    require(all((tube.halves > 0).all() for tube in tubes), "starts are said to stay in a tube without width")
    if len(names) > MOST_STATES:
        raise Unconfirmed(f"starts of more than {MOST_STATES} states are not re-checked")
    space = StartSpace(len(names))
    polynomials = _polynomials(space, runs)
    polynomials[0] = 0.0
    polynomials[0, :, 0] = read.claims.start
    polynomials[0, np.arange(len(names)), space.linear[: len(names)]] = [stated[name] for name in names]
    ends = float(times.min()), float(times.max())
    clock = clock_error(read.claims.begin, *ends, read.claims.step or 0.0, read.tableau)
    model = StartModel(read, space, clock)
    return _Boxes(model, names, times, polynomials, tubes).shown()


def _polynomials(space: StartSpace, runs: Array) -> Array:
    """Through all runs, row by row: (rows, states, monomials)."""
    n = space.states
    middle, above, below, both = runs[0], runs[1 : 1 + n], runs[1 + n : 1 + 2 * n], runs[1 + 2 * n :]
    found = np.zeros((*middle.shape, space.size))
    found[..., 0] = middle

    def place(*factors: int) -> int:
        return space.place[tuple(sum(f == k for f in factors) for k in range(2 * n))]

    for i in range(n):
        found[..., place(i)] = (above[i] - below[i]) / 2
        found[..., place(i, i)] = (above[i] - middle + (below[i] - middle)) / 2
    for (i, j), corner in zip(combinations(range(n), 2), both, strict=True):
        found[..., place(i, j)] = (corner - above[i]) - (above[j] - middle)
    return found


class _Boxes:
    """Boxes around the polynomials of all rows."""

    def __init__(
        self, model: StartModel, names: list[str], times: Array, polynomials: Array, tubes: list[StatedTube]
    ) -> None:
        self.model, self.names, self.times, self.polynomials, self.tubes = model, names, times, polynomials, tubes
        self.scale = np.min(
            [tube.halves.min(axis=0) for tube in tubes], axis=0
        )  # of each state: frames are turned in it

    def shown(self) -> int:
        """How many rows there are, if each holds what the step before ends in."""
        look = np.broadcast_to(np.diag(FIRST_LOOK * self.scale), (len(self.times), *[len(self.names)] * 2))
        moved, rest = self._stepped(look)
        slopes = moved / (FIRST_LOOK * self.scale)
        why = "their boxes are lost"
        for _ in range(LOOKS):
            sides = self._turned(slopes, ROOM * rest)
            if not np.isfinite(sides).all():
                break
            outside = self._outside(sides)
            if outside is not None:
                why = f"they may leave it at t = {self.times[outside]:g}"
                break
            moved, rest = self._stepped(sides)
            worst = _worst(sides[1:], moved, rest)
            if worst <= 1:
                return len(self.times)
            why = f"boxes must hold {worst:.3g} times what they hold"
        raise Unconfirmed(f"that starts so far off stay in the tube is not confirmed: {why}")

    def _stepped(self, sides: Array) -> tuple[Array, Array]:
        """C and R of the step from each row but the last: (rows, states, states) and (rows, states)."""
        space, moved, rest = self.model.space, [], []
        for first in range(0, len(self.times) - 1, BATCH):
            some = slice(first, min(first + BATCH, len(self.times) - 1))
            after = self.polynomials[some.start + 1 : some.stop + 1][..., space.own]
            rows = Rows(self.names, self.times[some], self.polynomials[some], sides[some])
            found, left = self.model.stepped(rows)
            own = found[..., space.own]
            lacking = np.abs(own - after).sum(axis=2) + 4 * UNIT * (np.abs(own) + np.abs(after)).sum(axis=2)
            moved.append(found[..., space.boxed])
            rest.append((lacking + left) * GROWTH)
        return np.concatenate(moved), np.concatenate(rest)

    def _turned(self, slopes: Array, rest: Array) -> Array:
        """S of all rows, in doubles: each holds what the step before moves its own to, and the rest."""
        count = len(self.names)
        sides = np.zeros((len(self.times), count, count))
        for k, (slope, left) in enumerate(zip(slopes, rest, strict=True)):
            moved, own = (slope @ sides[k]) / self.scale[:, None], left / self.scale
            if not (np.isfinite(moved).all() and np.isfinite(own).all()):
                return np.full_like(sides, np.inf)
            order = np.argsort(-np.linalg.norm(moved, axis=0), kind="stable")
            frame = np.linalg.qr(moved[:, order])[0]
            reach = np.abs(frame.T @ moved).sum(axis=1) + np.abs(frame.T) @ own
            sides[k + 1] = self.scale[:, None] * frame * (reach * (1 + 1e-9) + LEAST_SIDE)
        return sides

    def _outside(self, sides: Array) -> int | None:
        """The first row that is not shown to lie in the tubes."""
        reach = np.abs(self.polynomials[:, :, 1:]).sum(axis=2) + np.abs(sides).sum(axis=2)
        middle = self.polynomials[:, :, 0]
        for tube in self.tubes:
            which = np.clip(np.searchsorted(tube.spans[:, 0], self.times, side="right") - 1, 0, len(tube.spans) - 1)
            first, last = tube.spans[which].T
            s = (self.times - first) / (last - first)
            terms = tube.curves[which] * np.stack([s**k for k in range(4)], axis=1)[:, None, :]
            away = np.abs(middle - terms.sum(axis=2)) + reach * GROWTH
            lost = LOST * (np.abs(terms).sum(axis=2) + np.abs(middle) + reach)
            inside = (away + lost <= tube.halves[which]).all(axis=1) & (self.times >= first) & (self.times <= last)
            if not inside.all():
                return int(np.argmin(inside))
        return None


def _worst(sides: Array, moved: Array, rest: Array) -> float:
    """The largest entry of |S⁻¹C| 1 + |S⁻¹| R over all rows, from above; infinite where S may be singular."""
    import flint

    before, flint.ctx.prec = flint.ctx.prec, BITS
    try:
        worst = 0.0
        for side, c, r in zip(sides.tolist(), moved.tolist(), rest.tolist(), strict=True):
            if not np.isfinite(c).all() or not np.isfinite(r).all():
                return np.inf
            try:
                inverse = flint.arb_mat(side).inv()
            except ZeroDivisionError:
                return np.inf
            turned, size = inverse * flint.arb_mat(c), len(r)
            for i in range(size):
                own = sum((turned[i, j].abs_upper() for j in range(size)), flint.arb(0))
                own += sum((inverse[i, j].abs_upper() * flint.arb(r[j]) for j in range(size)), flint.arb(0))
                most = float(own.abs_upper()) * GROWTH
                worst = worst if most <= worst else most if most == most else np.inf
        return worst
    finally:
        flint.ctx.prec = before
