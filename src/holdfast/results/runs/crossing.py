"""Runs through states at which constraints depend on each other: crossed on the smooth branch, or ended and told.

Near such a state what holds the motion is determined ever worse, and at it not at all, while the motion itself goes on
smoothly. So the run is cut where the constraints have lost most of their strength (`passages.Strength`), its positions
are continued over the gap by the polynomial through positions and rates before it, and it goes on from the nearest
state on the program behind the gap. Two polynomials of different degree must agree there, and the program must be
near: otherwise the motion does not determine how it goes on, and the run ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.polynomial import chebyshev

from holdfast.engine.kernel import Kernel, compiled
from holdfast.engine.run.dense import Dense, hermite
from holdfast.engine.run.rows import Rows
from holdfast.engine.run.status import Status
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.results.judgement.passages import Strength, usual_size
from holdfast.results.runs.kernel_call import KernelCall
from holdfast.results.start.projection import Projection

CHUNKS = 16  # of the duration: a run is looked at in pieces, so that little is run in vain behind a passage
EDGE = 0.03  # of the usual strength: where the gap begins and ends
ZERO = 0.1  # of the strength at the edge: what must be reached within the gap for a state to be singular
BEFORE = 8.0  # times the gap: how far back the motion is looked at
POINTS = 48  # at which it is read there
SPANS = (3.0, 5.0, 8.0)  # of them, those that are tried,
DEGREES = ((7, 5), (9, 7), (11, 9), (13, 11))  # with polynomials of these pairs: the pair that agrees best is used
AGREE = 1e-3  # of the way across the gap: what they may differ by, and what the program may lie off
CLOSE = 8  # looks at each step of an adaptive run
LOST = (Status.rank_lost, Status.not_finite, Status.step_collapsed, Status.not_converged)
WITHIN = 8  # rows in the gap of an adaptive run


def carried(equations: Equations, kernel: Kernel, call: KernelCall, state: Sequence[float]) -> Rows:
    """The rows of a run: carried across singular states where its solver bears them.

    A kernel of another order of elimination (`quick_field`) that loses its way says nothing about the equations: they
    are run by their own.
    """
    if equations.solver.form == "redundant":
        return Crossing(equations, kernel, call).run(np.array(state))
    rows = call.run(kernel, state)
    if rows.status in LOST and kernel.field.fingerprint != equations.fingerprint:
        own = compiled(equations.field, kernel.scheme, events=kernel.events, back=kernel.back)
        return call.run(own, state)
    return rows


@dataclass(frozen=True, eq=False)
class Crossing:
    """A run in pieces, cut and continued at singular states."""

    equations: Equations
    kernel: Kernel
    call: KernelCall

    def run(self, state: np.ndarray) -> Rows:
        """All rows, those in the gaps too."""
        request = self.call.request
        begin, left, pieces = request.begin, request.duration, list[Rows]()
        steps, usual, fresh = request.steps, None, True
        strength = Strength(self.equations, self.call.constants)
        scale = None
        while True:
            piece = self._piece(state, begin, left, steps)
            times, states = _read_closely(piece)
            jacobians = strength.jacobians(times, states)
            scale = strength.scale(times, jacobians) if scale is None else scale
            sizes = strength.of(jacobians, scale)
            usual = max(usual or 0.0, usual_size(times, sizes))
            cut = _first_dip(sizes, EDGE * usual, fresh)
            if cut is None:
                pieces.append(piece)
                if piece.status != Status.completed or not self._more(piece, begin, left, steps):
                    return _joined(pieces)
                far = piece
            else:
                before = max(cut - 2, 0)
                fall = (sizes[before] - sizes[cut]) / max(times[cut] - times[before], 1e-300)
                span = BEFORE * 2 * float(sizes[cut] / fall) if fall > 0 else 0.0
                pieces += self._until(piece, float(times[cut]), span)
                gap = self._gap(pieces, strength, scale, EDGE * usual, begin + left)
                if gap is None:
                    return _joined([*pieces[:-1], replace(pieces[-1], status=Status.rank_lost, event=None)])
                pieces.append(gap)
                far = gap
            fresh = cut is not None
            state, moved = far.states[-1], float(far.times[-1]) - begin
            begin, left = float(far.times[-1]), left - moved
            if request.step is not None:
                steps -= round(moved / request.step)
            if left <= 1e-12 * request.duration or (request.step is not None and steps <= 0):
                return _joined(pieces)

    def _piece(self, state: np.ndarray, begin: float, left: float, steps: int) -> Rows:
        request = self.call.request
        length = min(left, max(request.duration / CHUNKS, 0.0))
        if request.step is not None:
            whole = max(1, request.steps // CHUNKS // self.call.every) * self.call.every
            asked = replace(request, begin=begin, steps=min(steps, whole))
        else:
            asked = replace(request, begin=begin, duration=length)
        return replace(self.call, request=asked).run(self.kernel, state)

    def _more(self, piece: Rows, begin: float, left: float, steps: int) -> bool:
        if self.call.request.step is not None:
            return round((float(piece.times[-1]) - begin) / self.call.request.step) < steps
        return float(piece.times[-1]) < begin + left * (1 - 1e-12)

    def _until(self, rows: Rows, time: float, span: float) -> list[Rows]:
        """The rows up to a time; of an adaptive run, its last part in short steps that do not reach into the gap."""
        adaptive = rows.dense is not None
        count = max(1, int(np.searchsorted(rows.times, time - span if adaptive else time, side="right")))
        dense, begin, last = rows.dense, float(rows.times[count - 1]), rows.states[count - 1]
        if dense is not None:
            dense = Dense(dense.times[:count], dense.states[:count], dense.coefficients[: count - 1])
        whole = replace(
            rows.picked(slice(0, count)), status=Status.completed, event=None, dense=dense,
            steps=round(rows.steps * (count - 1) / max(1, len(rows.times) - 1)),
        )  # fmt: skip
        if dense is None or time - begin <= 1e-9 * self.call.request.duration:
            return [whole]
        longest = min(self.call.request.longest, span / CLOSE) if span > 0 else self.call.request.longest
        asked = replace(self.call.request, begin=begin, duration=time - begin, longest=longest)
        more = replace(self.call, request=asked).run(self.kernel, last)
        return [whole, more] if count > 1 else [more]

    def _gap(self, pieces: list[Rows], strength: Strength, scale: np.ndarray, edge: float, last: float) -> Rows | None:
        """Rows across the gap, but not beyond the last time of the run; none where the motion does not say how."""
        smooth = [pieces[-1]]
        while len(smooth) < min(len(pieces), CHUNKS) and pieces[-len(smooth) - 1].evaluations:  # no gap
            smooth.insert(0, pieces[-len(smooth) - 1])
        times, states = (np.concatenate(parts) for parts in zip(*map(_read_closely, smooth), strict=True))
        times, first = np.unique(times, return_index=True)
        states = states[first]
        if len(times) < 4:
            return None
        sizes = strength.of(strength.jacobians(times[-3:], states[-3:]), scale)
        fall = (sizes[0] - sizes[-1]) / (times[-1] - times[-3])
        if not fall > 0:
            return None
        end, width = float(times[-1]), 2 * float(sizes[-1]) / fall
        paths = _best_pair(times, states, len(self.equations.coordinates), end, width)
        later = end + width * np.linspace(0, 2, 401)[1:]
        seen = strength.of(strength.jacobians(later, paths[0](later)), scale)
        lowest = int(seen.argmin())
        behind = np.nonzero(seen[lowest:] > edge)[0]
        if seen[lowest] > ZERO * edge or not len(behind):
            return None
        return self._rows(paths, end, float(later[lowest + behind[0]]), last)

    def _rows(self, paths: list[_Continued], begin: float, end: float, last: float) -> Rows | None:
        """Rows up to an end, where the state is on the program; a run that is over before has its last one there."""
        request, constants = self.call.request, self.call.constants
        if request.step is not None:
            whole = -(-round((end - begin) / request.step) // self.call.every) * self.call.every
            whole = max(whole, self.call.every)
            times = begin + request.step * np.arange(self.call.every, whole + 1, self.call.every)
        else:
            times = np.linspace(begin, end, WITHIN + 1)[1:]
        states, other = (path(times) for path in paths)
        n = len(self.equations.coordinates)
        way = np.linalg.norm(states[-1, :n] - paths[0](np.array([begin]))[0, :n])
        try:
            projection = Projection(self.equations, self.equations.constraints)
            states[-1] = projection.of(states[-1], float(times[-1]), constants)
        except BadRequest:
            return None
        if not float(np.linalg.norm((states - other)[-1, :n])) <= AGREE * float(way):
            return None
        if request.step is not None:
            kept = times < last + request.step / 2
            times, states = times[kept], states[kept]
        elif end > last:
            times = np.linspace(begin, last, WITHIN + 1)[1:]
            states = paths[0](times)
        observed = self.kernel.observe(times, states, constants)
        steps = 0 if request.step is None else round((float(times[-1]) - begin) / request.step)
        return Rows(times, states, observed, np.ones(0), Status.completed, steps, 0)


def _best_pair(times: np.ndarray, states: np.ndarray, n: int, end: float, width: float) -> list[_Continued]:
    """The two polynomials that agree best behind the gap: noise favours long spans, curvature short ones."""
    behind, scale = np.array([end + width]), np.abs(states[-1, : 2 * n]).max() or 1.0
    pairs = [
        [_Continued.of(times, states, n, end, span * width, degree) for degree in degrees]
        for span in SPANS
        for degrees in DEGREES
    ]
    off = [float(np.abs(one(behind) - other(behind))[0, : 2 * n].max()) / scale for one, other in pairs]
    return pairs[int(np.nanargmin(off))]


@dataclass(frozen=True, eq=False)
class _Continued:
    """Positions as polynomials through positions and rates before a time; rates as their slopes."""

    middle: float
    half: float
    coefficients: np.ndarray
    n: int

    @classmethod
    def of(cls, times: np.ndarray, states: np.ndarray, n: int, end: float, span: float, degree: int) -> _Continued:
        begin = max(end - span, float(times[0]))
        inside = np.nonzero(times >= begin)[0]
        inside = inside[np.unique(np.linspace(0, len(inside) - 1, min(len(inside), POINTS)).astype(int))]
        if len(inside) * 2 < degree + 2:
            inside = np.arange(max(0, len(times) - degree // 2 - 2), len(times))
        begin = float(times[inside[0]])
        middle, half = (begin + end) / 2, (end - begin) / 2
        x = (times[inside] - middle) / half
        degree = min(degree, 2 * len(inside) - 1)
        values = chebyshev.chebvander(x, degree)
        slopes = np.stack([chebyshev.chebval(x, chebyshev.chebder(row)) for row in np.eye(degree + 1)], axis=1)
        q, v = states[inside, :n], states[inside, n : 2 * n] * half
        found = np.linalg.lstsq(np.vstack([values, slopes / degree]), np.vstack([q, v / degree]), rcond=None)[0]
        rest = np.linalg.lstsq(values[:, : len(inside)], states[inside, 2 * n :], rcond=None)[0]
        rest = np.vstack([rest, np.zeros((degree + 1 - len(rest), rest.shape[1]))])
        return cls(middle, half, np.hstack([found, rest]), n)

    def __call__(self, times: np.ndarray) -> np.ndarray:
        """States at each time."""
        x = (times - self.middle) / self.half
        values = chebyshev.chebval(x, self.coefficients).T
        rates = chebyshev.chebval(x, chebyshev.chebder(self.coefficients[:, : self.n])).T / self.half
        return np.hstack([values[:, : self.n], rates, values[:, self.n :]])


def _first_dip(sizes: np.ndarray, edge: float, fresh: bool) -> int | None:
    """The last row before the strength falls below the edge; what begins below it is left alone until it has risen."""
    low = sizes < edge
    if fresh and low[0]:
        risen = np.nonzero(~low)[0]
        if not len(risen):
            return None
        low[: risen[0]] = False
    below = np.nonzero(low)[0]
    return int(max(below[0] - 1, 0)) if len(below) else None


def _read_closely(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Times and states; of an adaptive run, between its rows too."""
    if rows.dense is None or len(rows.times) < 2:
        return rows.times, rows.states
    steps = rows.dense.times
    times = np.concatenate([np.linspace(steps[:-1], steps[1:], CLOSE, endpoint=False).T.ravel(), steps[-1:]])
    times = times[times <= rows.times[-1]]
    return times, rows.dense(times)


def _joined(pieces: list[Rows]) -> Rows:
    """One run of many pieces; each but the first begins with the last row of the one before, or just behind it."""
    times, states, seen, end = list[np.ndarray](), list[np.ndarray](), list[np.ndarray](), -np.inf
    for piece in pieces:
        new = slice(int(np.searchsorted(piece.times, end, side="right")), None)
        end = max(end, float(piece.times[-1])) if len(piece.times) else end
        times.append(piece.times[new])
        states.append(piece.states[new])
        seen.append(piece.observables[new])
    last = pieces[-1]
    pivots = next((piece.pivots for piece in reversed(pieces) if piece.pivots.size), last.pivots)
    return Rows(
        np.concatenate(times), np.concatenate(states), np.concatenate(seen), pivots.copy(), last.status,
        sum(piece.steps for piece in pieces), sum(piece.evaluations for piece in pieces),
        sum(piece.rejected for piece in pieces), last.event, _joined_dense(pieces),
    )  # fmt: skip


def _joined_dense(pieces: list[Rows]) -> Dense | None:
    """The interpolants of all pieces; cubic in the gaps."""
    if pieces[0].dense is None:
        return None
    parts, before = list[Dense](), pieces[0]
    for piece in pieces:
        if piece.dense is not None:
            parts.append(piece.dense)
        elif len(piece.times):
            times = np.concatenate([before.times[-1:], piece.times])
            states = np.concatenate([before.states[-1:], piece.states])
            parts.append(hermite(times, states, np.gradient(states, times, axis=0)))
        before = piece
    return _one_dense(parts)


def _one_dense(parts: list[Dense]) -> Dense:
    """Interpolants one after the other, those of fewer terms filled with zeros."""
    parts = [part for part in parts if len(part.coefficients)] or parts[:1]
    terms = max(part.coefficients.shape[1] for part in parts)
    padded = [np.pad(p.coefficients, ((0, 0), (0, terms - p.coefficients.shape[1]), (0, 0))) for p in parts]
    times = np.concatenate([*(part.times[:-1] for part in parts), parts[-1].times[-1:]])
    states = np.concatenate([*(part.states[: len(part.coefficients)] for part in parts), parts[-1].states[-1:]])
    return Dense(times, states, np.concatenate(padded))
