"""States that a run passes at which its constraints depend on each other: where, and on which branch it left.

A parallelogram lying flat can go on as a parallelogram or folded: two branches cross there, and the equations do not
say which one is taken. Along a run this is seen by the least singular value that counts of the scaled jacobian, which
vanishes at such a state, and by the directions that the constraints leave free: on the smooth branch they turn little
from one row before the state to one after it, on another branch they jump by the angle between the two.

From row to row a turn is known up to half turns. Where rows lie so far apart that these are lost, nothing is told.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from holdfast.common.memo import remembered
from holdfast.engine.run.rows import Rows
from holdfast.equations.dynamics.blocks import decoupled_blocks
from holdfast.equations.equations import Equations
from holdfast.equations.solving.redundant import RedundantSolver
from holdfast.equations.solving.repeats import listed
from holdfast.graph.arithmetics.arrays import ARRAYS
from holdfast.graph.arithmetics.tape import Evaluator, Tape
from holdfast.results.judgement.finding import Finding
from holdfast.results.judgement.geometry import condition_at

LOOKED_AT = 2000  # rows, at most
WORK, FEWEST = 4e9, 64  # operations of such a look, a few seconds; rows, below which it tells nothing
NEAR = 0.05  # of the usual strength: closer to a singular state, free directions are not trusted
PASSED = 0.02  # of the usual strength: met or bridged, a state counts as singular
TURN = 0.2  # radians: a turn of the free directions across a state that is no jump, whatever the rows are
BESIDE = 4.0  # times the turning of the rows around it
FOLLOWED = np.pi / 6  # radians: a third of the turn from row to row by which its sense is lost, for it is uneven
PACE = 0.75  # of the paces along a run, the one that counts: beside a singular state they have no bound
AHEAD = 2.0**-10  # of the time between rows: where a pace is read
BY_SQUARES = 1e-12  # of the largest: an eigenvalue of J Jᵀ above this is known to three digits at least
PLAINLY = 1.5  # times the distance that counts as near: for a look that is not exact
INVOLVED = 0.1  # share of a constraint in the dependence


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """A singular state on the way: when, which constraints depend on each other, and whether the branch changed."""

    time: float
    constraints: tuple[str, ...]
    place: str  # the coordinates there, in words
    turn: float  # of the free directions, in radians
    changed: bool
    row: int = 0  # of those looked at


@dataclass(frozen=True, eq=False)
class Strength:
    """How well the constraints, or those of a block, are told apart: singular values of J in usual units."""

    equations: Equations
    constants: Sequence[float]
    block: tuple[int, ...] | None = None

    @property
    def rank(self) -> int:
        """The rank that counts: repeats are left out."""
        if self.block is not None:
            return len(self.block)
        solver = self.equations.solver
        if isinstance(solver, RedundantSolver) and solver.dependence is not None:
            return solver.dependence.rank
        return min(len(self.equations.constraints), len(self.equations.coordinates))

    def jacobians(self, times: np.ndarray, states: np.ndarray) -> np.ndarray:
        """J at each row, (rows, constraints, coordinates), in units of the masses at the first row."""
        places, evaluate = _evaluator(self.equations)
        count, n, r = len(times), len(self.equations.coordinates), len(self.equations.constraints)
        with np.errstate(all="ignore"):
            values = evaluate([times, *states.T, *self.constants])
        found, mass = np.zeros((count, r, n)), np.zeros(n)
        for (kind, i, j), value in zip(places, values, strict=True):
            if kind == "mass":
                mass[i] = np.abs(np.broadcast_to(value, count)[0])
            else:
                found[:, i, j] = value
        found /= np.sqrt(np.where(mass > 0, mass, 1.0))
        return found if self.block is None else found[:, list(self.block)][:, :, self._columns()]

    def _columns(self) -> list[int]:
        """The coordinates that the block is about, and one more, if there is one, so that something is always free."""
        slopes, n = self.equations.deviations.jacobian, len(self.equations.coordinates)
        own = sorted({j for i in self.block or () for j in slopes[i]})
        return [*own, *(j for j in range(n) if j not in own)][: len(own) + 1]

    def scale(self, times: np.ndarray, jacobians: np.ndarray) -> np.ndarray:
        """The usual sizes of the rows of J."""
        found = usual_sizes(times, np.linalg.norm(jacobians, axis=2))
        return np.where(found > 0, found, 1.0)

    def of(self, jacobians: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """The least singular value that counts at each row, rows of J in usual sizes."""
        finite = np.nan_to_num(jacobians, nan=0.0, posinf=0.0, neginf=0.0) / scale[:, None]
        return np.linalg.svd(finite, compute_uv=False)[:, self.rank - 1]


def weak_or_flipped(
    equations: Equations, times: np.ndarray, states: np.ndarray, constants: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """`Strength` of many runs at once, (cases, rows) from (cases, rows, states), by squares, for a first look; and
    which of them may pass a singular state between two rows, however strong they are there (`_plainly_regular`): for
    each block of constraints.
    """
    every = scaled_jacobians(equations, times, states, constants)
    for block in constraint_blocks(equations):
        jacobians = every if block is None else every[:, :, list(block)]
        rank = Strength(equations, (), block).rank
        sizes, flipped = _least(jacobians, rank), np.zeros(len(states), dtype=bool)
        if rank == jacobians.shape[2]:
            with np.errstate(all="ignore"):
                beside = jacobians[:, :-1] @ np.swapaxes(jacobians[:, 1:], 2, 3)
                flipped = (np.linalg.det(beside) < 0).any(axis=1)
        yield sizes, flipped


@remembered
def constraint_blocks(equations: Equations) -> list[tuple[int, ...] | None]:
    """The constraints that share no coordinate with others: what one mechanism passes is judged beside its own motion.

    All together, None, where there is one block, or where constraints repeat each other.
    """
    slopes = equations.deviations.jacobian
    if Strength(equations, ()).rank < len(slopes):
        return [None]
    enters = np.zeros((len(slopes), len(equations.coordinates)))
    for i, row in enumerate(slopes):
        enters[i, list(row)] = 1
    blocks = decoupled_blocks(enters @ enters.T)
    return [None] if len(blocks) == 1 else [tuple(block) for block in blocks]


def scaled_jacobians(equations: Equations, times: np.ndarray, states: np.ndarray, constants: np.ndarray) -> np.ndarray:
    """J of many runs, (cases, rows, constraints, coordinates), its rows in their usual sizes along each run."""
    places, evaluate = _evaluator(equations)
    (cases, rows), n, r = states.shape[:2], len(equations.coordinates), len(equations.constraints)
    moments = np.broadcast_to(times, (cases, rows))
    with np.errstate(all="ignore"):
        values = evaluate([moments, *np.moveaxis(states, -1, 0), *(column[:, None] for column in constants.T)])
        found, mass = np.zeros((cases, rows, r, n)), np.zeros((cases, n))
        for (kind, i, j), value in zip(places, values, strict=True):
            if kind == "mass":
                mass[:, i] = np.abs(np.broadcast_to(value, (cases, rows))[:, 0])
            else:
                found[..., i, j] = value
        found /= np.sqrt(np.where(mass > 0, mass, 1.0))[:, None, None, :]
        usual = np.median(np.linalg.norm(found, axis=3), axis=1)
        found /= np.where(usual > 0, usual, 1.0)[:, None, :, None]
        return found


def _least(jacobians: np.ndarray, rank: int) -> np.ndarray:
    """The least singular value that counts of each, (cases, rows)."""
    with np.errstate(all="ignore"):
        gram = jacobians @ np.swapaxes(jacobians, 2, 3)
        finite = np.isfinite(gram).all(axis=(2, 3))
        gram[~finite] = 0.0
        r = jacobians.shape[2]
        least = r - rank  # repeats are left out
        squares = _smaller(gram) if r == 2 and least == 0 else np.linalg.eigvalsh(gram)[..., least]
        return np.where(finite, np.sqrt(np.maximum(squares, 0.0)), np.nan)


def _smaller(gram: np.ndarray) -> np.ndarray:
    """The smaller eigenvalue of symmetric matrices of two rows."""
    a, b, c = gram[..., 0, 0], gram[..., 0, 1], gram[..., 1, 1]
    half, off = (a + c) / 2, np.hypot((a - c) / 2, b)
    return np.asarray((a * c - b * b) / np.where(half + off > 0, half + off, 1.0))


def usual_size(times: np.ndarray, sizes: np.ndarray) -> float:
    """The median over time: adaptive rows crowd where the strength is lost."""
    return float(usual_sizes(times, sizes[:, None])[0])


def usual_sizes(times: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The median over time of each column of (rows, columns)."""
    even = np.linspace(times[0], times[-1], 257)
    return np.asarray(np.median([np.interp(even, times, column) for column in sizes.T], axis=1))


@remembered
def _evaluator(equations: Equations) -> tuple[list[tuple[str, int, int]], Evaluator]:
    rows = equations.deviations.jacobian
    places = [("slope", i, j) for i, row in enumerate(rows) for j in row]
    nodes = [node for row in rows for node in row.values()]
    for i, row in enumerate(equations.dynamics.mass):
        if i in row:
            places.append(("mass", i, i))
            nodes.append(row[i])
    return places, Tape(equations.field.inputs, tuple(nodes)).compiled(ARRAYS)


def passages(equations: Equations, times: np.ndarray, states: np.ndarray, constants: Sequence[float]) -> list[Passage]:
    """The singular states that a run passes, in order; with some 300 constraints or more, none are looked for."""
    n, r = len(equations.coordinates), len(equations.constraints)
    if r < 2 or not 0 < Strength(equations, constants).rank < n or equations.solver.form == "eased" or len(times) < 4:
        return []
    fitting = int(WORK // (r * r * n))
    if fitting < FEWEST:
        return []  # of very large systems nothing is said
    strengths = [Strength(equations, constants, block) for block in constraint_blocks(equations)]
    found = [met for strength in strengths for met in _passages(strength, times, states, fitting)]
    return sorted(found, key=lambda met: met.row)


def _passages(strength: Strength, times: np.ndarray, states: np.ndarray, fitting: int) -> list[Passage]:
    """Those of one block, looked for at no more rows than `fitting`."""
    chosen = np.unique(np.linspace(0, len(times) - 1, min(len(times), LOOKED_AT, fitting)).astype(int))
    times, states = times[chosen], states[chosen]
    jacobians = strength.jacobians(times, states)
    if not np.isfinite(jacobians).all():
        return []
    scale = strength.scale(times, jacobians)
    if _plainly_regular(times, jacobians / scale[:, None], strength.rank):
        return []
    sizes = strength.of(jacobians, scale)
    usual = usual_size(times, sizes)
    good = np.nonzero(sizes > NEAR * usual)[0]
    if usual <= 0 or len(good) < 4:
        return []
    free = np.linalg.svd(jacobians[good] / scale[:, None])[2][:, strength.rank :]
    overlap = np.linalg.svd(free[:-1] @ free[1:].transpose(0, 2, 1), compute_uv=False)[:, -1]
    turns = np.arccos(np.clip(overlap, -1.0, 1.0))
    flips = _flips(jacobians[good] / scale[:, None], free, strength.rank)
    waits = np.diff(times[good])
    rates, full, found = turns / waits, strength.rank == jacobians.shape[1], []
    met = [sizes[left + 1 : right].min(initial=np.inf) < PASSED * usual for left, right in itertools.pairwise(good)]
    doubted = [k for k in range(1, len(good) - 2) if met[k] or (full and flips[k])]
    if not doubted:
        return []
    followed = waits * _pace(strength, times[good], states[good], scale) < FOLLOWED
    parts = dict[tuple[int, ...], list[Passage]]()
    for k in doubted:
        if not (met[k] or followed[k]):
            continue  # a row met it, or it is not known which way the free directions turned from row to row
        left, right = good[k], good[k + 1]
        at = left + 1 + int(sizes[left + 1 : right].argmin()) if right > left + 1 else left
        expected = BESIDE * max(rates[k - 1], rates[k + 1]) * waits[k]
        changed = bool(followed[k] and turns[k] > max(TURN, expected))
        one = _passage(strength, times[at], states[at], jacobians[at] / scale[:, None], turns[k], changed)
        part = None if changed else _part(strength, one)
        if part is not None:
            if part not in parts:
                parts[part] = _passages(replace(strength, block=part), times, states, len(times))
            one = next((met for met in parts[part] if times[left] <= met.time <= times[right]), one)
        found.append(replace(one, row=int(chosen[at])))
    return found


def _part(strength: Strength, met: Passage) -> tuple[int, ...] | None:
    """The constraints that depend on each other there, without those of other coordinates: what hangs on a mechanism
    turns free directions that are no concern of it. None where these are all.
    """
    equations, slopes = strength.equations, strength.equations.deviations.jacobian
    held = tuple(range(len(slopes))) if strength.block is None else strength.block
    own = {j for i in held if equations.constraints[i] in met.constraints for j in slopes[i]}
    part = tuple(i for i in held if own.issuperset(slopes[i]))
    return part if 0 < len(part) < len(held) == strength.rank else None


def _plainly_regular(times: np.ndarray, jacobians: np.ndarray, rank: int) -> bool:
    """Whether no row is near a singular state and none lies between two rows, by a look that costs little.

    The least singular value that counts is read from the squares J Jᵀ, where they tell it from rounding. Between rows
    of full rank the orientation of (J; N), with N carried along, changes exactly where det(J Jᵀ₊) < 0: for orthonormal
    bases Q, N of the rows of J and of what they leave free, complementary minors of an orthogonal matrix are equal,
    det(Q Qᵀ₊) = ± det(N Nᵀ₊), and the sign is that of the two orientations.
    """
    squares = jacobians @ jacobians.transpose(0, 2, 1)
    sizes = np.linalg.eigvalsh(squares)[:, squares.shape[1] - rank]
    largest = float(np.trace(squares, axis1=1, axis2=2).max())
    if not sizes.min() > BY_SQUARES * largest:
        return False
    sizes = np.sqrt(sizes)
    if not sizes.min() > PLAINLY * NEAR * usual_size(times, sizes):
        return False
    if rank < squares.shape[1]:
        return True
    return bool((np.linalg.slogdet(jacobians[:-1] @ jacobians[1:].transpose(0, 2, 1))[0] > 0).all())


def _flips(jacobians: np.ndarray, free: np.ndarray, rank: int) -> np.ndarray:
    """Whether the orientation of (J; N), N carried along, changes from one row to the next: a passage between."""
    if jacobians.shape[1] != rank:
        return np.zeros(len(free) - 1, dtype=bool)
    here = np.linalg.slogdet(np.concatenate([jacobians, free], axis=1))[0]
    carried = np.linalg.slogdet(free[:-1] @ free[1:].transpose(0, 2, 1))[0]
    return here[:-1] * here[1:] * carried < 0


def _pace(strength: Strength, times: np.ndarray, states: np.ndarray, scale: np.ndarray) -> float:
    """The pace, in radians, at which rows turn the free directions by their own rates: the upper quartile.

    From row to row a turn is known up to half turns only, and beside a singular state it may be of any pace.
    """
    equations, n = strength.equations, len(strength.equations.coordinates)
    ahead = AHEAD * float(times[-1] - times[0]) / len(times)
    turning = [k for k in range(len(equations.field.state)) if not n <= k < 2 * n]  # all but the rates, which turn no J
    tape = Tape(equations.field.inputs, tuple(equations.field.rates[k] for k in turning)).compiled(ARRAYS)
    later = states.copy()
    for k, rate in zip(turning, tape([times, *states.T, *strength.constants]), strict=True):
        later[:, k] += ahead * rate
    both = strength.jacobians(times, states), strength.jacobians(times + ahead, later)
    here, there = (np.linalg.svd(jacobians / scale[:, None])[2][:, strength.rank :] for jacobians in both)
    across = there - there @ here.transpose(0, 2, 1) @ here
    sines = np.linalg.norm(across, ord=2, axis=(1, 2))  # of small angles
    return float(np.quantile(np.nan_to_num(sines, nan=np.inf), PACE)) / ahead


def _passage(
    strength: Strength, time: float, state: np.ndarray, jacobian: np.ndarray, turn: float, changed: bool
) -> Passage:
    equations, weak = strength.equations, np.abs(np.linalg.svd(jacobian)[0][:, -1])
    held = range(len(equations.constraints)) if strength.block is None else strength.block
    names = tuple(equations.constraints[k] for k, share in zip(held, weak, strict=True) if share > INVOLVED)
    pairs = list(zip(equations.coordinates, state, strict=False))
    place = ", ".join(f"{name} = {value:.4g}" for name, value in pairs[:6]) + (", ..." if len(pairs) > 6 else "")
    return Passage(float(time), names, place, float(turn), changed)


def singular_end(equations: Equations, rows: Rows, constants: Sequence[float]) -> Finding | None:
    """Which constraints were about to depend on each other where a run broke off, if that is why it did."""
    if len(equations.constraints) < 1 or len(rows.times) < 2 or equations.problem.program.controls:
        return None
    strength = Strength(equations, constants)
    last = np.unique(np.linspace(0, len(rows.times) - 1, min(len(rows.times), LOOKED_AT)).astype(int))
    times, states = rows.times[last], rows.states[last]
    jacobians = strength.jacobians(times, states)
    if not np.isfinite(jacobians).all() or not strength.rank:
        return None
    scale = strength.scale(times, jacobians)
    sizes = strength.of(jacobians, scale)
    if not sizes[-1] < NEAR * sizes.max():
        return None
    met = _passage(strength, times[-1], states[-1], jacobians[-1] / scale[:, None], 0.0, False)
    cure = "" if equations.solver.form == "redundant" else ' redundant = "allow" carries a run across such states.'
    condition = condition_at(equations, met.constraints, len(times) - 1, times, states, constants)
    what = _dependence(met.constraints, condition)
    text = f"Towards t = {met.time:.4g} ({met.place}) {what}.{cure}"
    return Finding("singular", text, True, met.time, met.constraints[0])


def _dependence(held: Sequence[str], condition: str = "") -> str:
    what = f"{listed(held)} depend on each other" if len(held) > 1 else f"{listed(held)} changes with no motion"
    return f"{what}, where {condition}" if condition else what


def crossed_found(
    equations: Equations, times: np.ndarray, states: np.ndarray, constants: Sequence[float]
) -> Finding | None:
    """The singular states that a run crossed on its branch, told once."""
    met = [one for one in passages(equations, times, states, constants) if not one.changed]
    if not met:
        return None
    first = met[0]
    often = "" if len(met) == 1 else f", and at {len(met) - 1} later times,"
    condition = condition_at(equations, first.constraints, first.row, times, states, constants)
    what = _dependence(first.constraints, condition)
    text = (
        f"At t = {first.time:.4g} ({first.place}){often} {what}. The run was carried across on its "
        "smooth branch: what holds it is not determined there."
    )
    return Finding("crossed", text, False, first.time, first.constraints[0])


def branch_found(
    equations: Equations, times: np.ndarray, states: np.ndarray, constants: Sequence[float]
) -> Finding | None:
    """The first change of branch along a run, if there is one."""
    first = next((met for met in passages(equations, times, states, constants) if met.changed), None)
    if first is None:
        return None
    held = first.constraints
    what = _dependence(held, condition_at(equations, held, first.row, times, states, constants))
    cure = "" if equations.solver.form == "redundant" else ' redundant = "allow" carries a run across such states.'
    text = (
        f"At t = {first.time:.4g} ({first.place}) {what}, and the motion left on another branch: "
        f"the directions left free jump by {np.degrees(first.turn):.0f}°.{cure}"
    )
    return Finding("branch_changed", text, True, first.time, held[0])
