"""Attacks on a proof in a tube: its run made again, natively, every row in the tube, and steps from random states."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from holdfast.common.rounded import rounded_up
from holdfast.stability.certificate.attack import RANDOM, Attack, NativeRun
from holdfast.stability.verifier.check import Reading, Shown
from holdfast.stability.verifier.numbers.forms import UNIT
from holdfast.stability.verifier.reading.tubes import StatedTube
from holdfast.stability.verifier.refusal import Unconfirmed
from holdfast.stability.verifier.tube.speeds import speeds_of
from holdfast.stability.verifier.tube.turns import turning

LOST = 64 * UNIT  # of the terms of a cubic: more than doubles lose in it
SCALED = 1e-6  # relative: how exactly a range of the run must be stated
BETWEEN = 0.01  # of a width: how exactly it must be that between rows
MIDDLE_OF_FOUR = np.array([0, -1, 9, 9, -1, 0]) / 16  # of six rows about it
MIDDLE_OF_SIX = np.array([3, -25, 150, 150, -25, 3]) / 256
PLACES = np.linspace(0, 1, 9)  # of a cell in time, where it is held against its run
TURN = 2 * np.pi  # the range of an angle may be stated as one turn, however many it made


class TubeAttack(Attack):
    """One block against its own run and against random steps within its tube."""

    def __init__(self, read: Reading, shown: Shown, native: NativeRun, tube: StatedTube) -> None:
        proof = shown.block.tube_proof
        assert proof is not None
        self.read, self.shown, self.native, self.tube = read, shown, native, tube
        self.proof, self.told = proof, ""  # type: ignore[assignment]
        self._factor, self._names = np.array(proof.factor), shown.block.names
        self._limits = {}
        self._watched = [read.equations.psi[name] for name in self._names]

    def _of_run(self) -> str | None:
        run = self.native.trajectory
        unfinished = self.native.unfinished(run)
        if unfinished is not None:
            return unfinished
        times, states = run.times, run.y.T
        misstated = misstated_tube(self.read, self.tube, times, states)
        if misstated is not None:
            return misstated
        whole = self._whole(times)
        times, states = times[:whole], states[:whole]
        psi = self._doubles(times, states)[0]
        size = np.linalg.norm(psi @ self._factor, axis=1)
        beyond = self._beyond(times, states, size, 0)
        if beyond is not None:
            return beyond
        added = self._added(times, states, np.ones(len(times), dtype=bool))
        if isinstance(added, str):
            return added
        require_along(self.tube, times, states, self.native.slopes(times, states))
        most = rounded_up(added, 2)
        self.told = f"every row of its run, made again, lies in the tube (a step adds at most {most} of the defect)"
        return None

    def _random(self) -> tuple[np.ndarray, np.ndarray]:
        """Random times and states of random cells."""
        rng, tube = np.random.default_rng(5), self.tube
        cells = rng.integers(len(tube.spans), size=RANDOM)
        s, offset = rng.uniform(0, 1, RANDOM), rng.uniform(-1, 1, (RANDOM, len(tube.scales)))
        powers = np.stack([s**k for k in range(4)], axis=1)
        states = np.einsum("nik,nk->ni", tube.curves[cells], powers)
        speeds = speeds_of(self.read, tube)
        if speeds is not None:
            states *= 1 + (1 - 1e-9) * speeds * rng.uniform(-1, 1, (RANDOM, 1))
        states += offset * tube.halves[cells] * (1 - 1e-9)
        spans = tube.spans[cells]
        return spans[:, 0] + s * (spans[:, 1] - spans[:, 0]), states


def misstated_tube(read: Reading, tube: StatedTube, times: np.ndarray, states: np.ndarray) -> str | None:
    """How a tube is not what is said of it about its run: by ranges, by rows, or by its width on both sides of them."""
    angles, ranges = turning(read.equations), np.array([*tube.scales.values()])
    for name, scale, span in zip(tube.scales, ranges, np.ptp(states, axis=0), strict=True):
        told = TURN if name in angles and scale == TURN else span  # a part of a turn is told where it is one exactly
        if scale < (1 - SCALED) * told:
            return f"{name} moves further in its run than the range that the width of the tube is stated by"
    outside = rows_outside(tube, times, states)
    if outside:
        return f"its run, made again, leaves the tube at t = {times[outside[0]]:g}"
    speeds, width = speeds_of(read, tube), tube.width * ranges * (1 - SCALED)
    narrow = rows_outside(tube, times, states, width, 1.0 if speeds is None else 1 + speeds)
    if narrow:
        return f"the tube is narrower on one side of its run than stated at t = {times[narrow[0]]:g}"
    if speeds is not None:
        _require_between(tube, times, states, 1 + speeds)
    return None


def _require_between(tube: StatedTube, times: np.ndarray, states: np.ndarray, factor: np.ndarray) -> None:
    """The same halfway between rows, which runs at other speeds pass: by six rows, as exact as four of them differ.

    Nothing is proved of what lies between rows, so that it is a doubt and no contradiction.
    """
    k = np.arange(2, len(times) - 3)
    around = [states[k + j] for j in range(-2, 4)]
    four, six = (
        sum(w * x for w, x in zip(weights, around, strict=True)) for weights in (MIDDLE_OF_FOUR, MIDDLE_OF_SIX)
    )
    moments, off = (times[k] + times[k + 1]) / 2, 2 * np.abs(six - four)
    which = np.clip(np.searchsorted(tube.spans[:, 0], moments, side="right") - 1, 0, len(tube.spans) - 1)
    first, last = tube.spans[which].T
    powers = np.stack([((moments - first) / (last - first)) ** n for n in range(4)], axis=1)
    away = factor * (np.abs(six - np.einsum("nik,nk->ni", tube.curves[which], powers)) - off)
    width = tube.width * np.array([*tube.scales.values()]) * (1 - BETWEEN)
    narrow = np.flatnonzero((away + width > tube.halves[which]).any(axis=1))
    if len(narrow):
        where = f"at t = {moments[narrow[0]]:g}, between two rows"
        raise Unconfirmed(f"that its tube is as wide as stated on both sides of its run is not confirmed {where}")


def require_along(tube: StatedTube, times: np.ndarray, states: np.ndarray, slopes: np.ndarray) -> None:
    """The cells are about the run between its rows, too, those that hold no row at all among them.

    No bound is of what lies there, but that it exists is asked of these cells: what holds a program may have no value
    between two rows. A cubic is as it should be where it is so at several places.
    """
    first, last = (np.clip(end, times[0], times[-1])[:, None] for end in tube.spans.T)
    moments = first + (last - first) * PLACES
    s = (moments - tube.spans[:, :1]) / np.ptp(tube.spans, axis=1)[:, None]
    cubics = np.einsum("nik,npk->npi", tube.curves, np.stack([s**k for k in range(4)], axis=2))
    width = tube.width * np.array([*tube.scales.values()]) * (1 - BETWEEN)
    lost = LOST * (np.abs(tube.curves).sum(axis=2) + np.abs(states).max(axis=0))[:, None]
    with np.errstate(all="ignore"):
        away = np.abs(cubics - _between_rows(moments.ravel(), times, states, slopes).reshape(cubics.shape))
        inside = (away + width <= tube.halves[:, None] + lost).all(axis=2)
    if not inside.all():
        moment = moments[~inside][0]
        raise Unconfirmed(f"that its tube is about its run between two rows is not confirmed at t = {moment:g}")


def _between_rows(moments: np.ndarray, times: np.ndarray, states: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """The run as a smooth curve, Hermite's cubics through its rows: (moments, states)."""
    row = np.clip(np.searchsorted(times, moments, side="right") - 1, 0, len(times) - 2)
    step = (times[row + 1] - times[row])[:, None]
    s = (moments - times[row])[:, None] / step
    ends = (1 + 2 * s) * (1 - s) ** 2 * states[row] + s**2 * (3 - 2 * s) * states[row + 1]
    return np.asarray(ends + step * s * (1 - s) * ((1 - s) * slopes[row] - s * slopes[row + 1]))


def rows_outside(
    tube: StatedTube, times: np.ndarray, states: np.ndarray, room: Any = 0.0, factor: Any = 1.0
) -> list[int]:
    """The rows that are not shown to lie in the cells: in doubles with room for their errors, then exactly.

    With `room`, those that have less of it on some side, where they may be `factor` times as far from the cubics.
    """
    room, factor = (np.broadcast_to(np.asarray(x, float), (len(tube.scales),)) for x in (room, factor))
    which = np.clip(np.searchsorted(tube.spans[:, 0], times, side="right") - 1, 0, len(tube.spans) - 1)
    first, last = tube.spans[which].T
    with np.errstate(all="ignore"):
        s = (times - first) / (last - first)
        terms = tube.curves[which] * np.stack([s**k for k in range(4)], axis=1)[:, None, :]
        away = factor * np.abs(states - terms.sum(axis=2)) + room
        lost = LOST * (np.abs(terms).sum(axis=2) + np.abs(states) + room)
        sure = (away + lost <= tube.halves[which]).all(axis=1) & (times >= first) & (times <= last)
    doubtful = (int(k) for k in np.flatnonzero(~sure))
    return [k for k in doubtful if not _inside(tube, int(which[k]), float(times[k]), states[k], room, factor)]


def _inside(
    tube: StatedTube, cell: int, moment: float, state: np.ndarray, room: np.ndarray, factor: np.ndarray
) -> bool:
    first, last, now = (Fraction(float(x)) for x in (*tube.spans[cell], moment))
    if not first <= now <= last or not np.isfinite(state).all():
        return False
    s = (now - first) / (last - first)
    for i, curve in enumerate(tube.curves[cell]):
        p0, p1, p2, p3 = (Fraction(float(c)) for c in curve)
        x, half, more, times = (Fraction(float(part[i])) for part in (state, tube.halves[cell], room, factor))
        if times * abs(x - (p0 + s * (p1 + s * (p2 + s * p3)))) + more > half:
            return False
    return True
