"""A start to work from: a mechanism that is placed roughly, put together.

    min |y(q)|²  over the coordinates that may move,     then     min |w(q, v)|²  over their rates

by damped least squares (Levenberg and Marquardt, by SciPy, with the slopes of the graph), each deviation in the size of
its terms, then by Newton's steps to rounding. Where Newton's iteration from a bad place flies off, a damped one goes
downhill; where it ends in a valley that is no solution, it begins again from random places, and the nearest wins.

A loop closes in more than one way. With as many coordinates held as stay free, the others are looked for from random
places, and every way that was found is a branch: how far each lies from the rough start is told, the nearest first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from holdfast.common.arguments import clear_arguments
from holdfast.common.frozen import Frozen
from holdfast.equations.derive import derive
from holdfast.equations.equations import Equations
from holdfast.equations.values import parameter_vector, state_vector
from holdfast.errors import BadRequest
from holdfast.problem.problem import Problem
from holdfast.problem.quantities import Coordinate, Rate
from holdfast.problem.vocabulary import name_of
from holdfast.results.start.chains import Chains
from holdfast.results.start.loops import TURN, LoopRows, Loops
from holdfast.results.start.start import SAME
from holdfast.results.start.term_sizes import OFF
from holdfast.results.start.turned_state import downhill

Array = np.ndarray
PLACES = 40  # random places that branches, and what did not fit at first, are looked for from
POLISH = 8  # Newton's steps at most, at the end
APART = 1e-6  # of the size of a mechanism: states nearer than this are one branch
DEPENDENT = 1e-9  # of the largest: a singular value of scaled slopes below this is rounding
TINY = 2.3e-308  # the least normal number: a change below it is none


@dataclass(frozen=True, eq=False)
class AssembledStart:
    """A problem whose start keeps its program, how far that lies from the rough one, and the other ways to assemble it.

    `held` are the coordinates that stayed while branches were looked for: the kept ones, and as many more as stay free.
    """

    problem: Problem
    start: Mapping[str, float]
    changes: Mapping[str, tuple[float, float]]  # name -> (rough, assembled)
    branches: tuple[Mapping[str, float], ...]  # starts by name, the one that was taken first
    held: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<AssembledStart: {self.summary().splitlines()[0]}>"

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """What was moved, and in how many ways the mechanism closes."""
        shown = {name: (f"{old:.6g}", f"{new:.6g}") for name, (old, new) in self.changes.items()}
        moved = ", ".join(f"{name}: {old} -> {new}" for name, (old, new) in shown.items() if old != new)
        lines = [f"assembled: {moved}" if moved else "the start keeps the program already"]
        if len(self.branches) > 1:
            held = f" with {', '.join(self.held)} held" if self.held else ""
            lines.append(f"{len(self.branches)} ways to assemble it were found{held}:")
            rates = [name for name in self.start if name.endswith("_dot")]
            for k, branch in enumerate(self.branches):
                place = ", ".join(f"{name} = {value:.6g}" for name, value in branch.items() if name not in rates)
                lines.append(f"  {'taken' if not k else 'other'}  {place}")
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "start": dict(self.start),
            "changes": {name: list(pair) for name, pair in self.changes.items()},
            "branches": [dict(branch) for branch in self.branches],
            "held": list(self.held),
        }

    def on_branch(self, number: int) -> Problem:
        """The problem, started on one of the branches."""
        return _started(self.problem, self.branches[number], self.start)


@clear_arguments
def assemble_start(
    problem: Problem | Equations, keep: Iterable[Any] = (), *, places: int = PLACES, seed: int = 0
) -> AssembledStart:
    """Put a roughly placed mechanism together, so that its start keeps the whole program.

    `keep` names coordinates and rates that stay as they are stated; all others may move. Branches are looked for from
    `places` random ones; there may be more than are found.
    """
    if isinstance(problem, Equations):
        problem = problem.problem
    if not isinstance(problem, Problem):
        raise BadRequest(f"assemble_start() takes a Problem, not {type(problem).__name__}", fix="hf.load(file)")
    if problem.open_letters:
        raise BadRequest("letters have no values", where="problem", fix="give them: problem.with_values({...})")
    loops = Loops(problem)
    kept = _kept(problem, keep)
    return _in_degrees(_Assembly(loops, kept, places, seed).of(problem), kept)


def _in_degrees(found: AssembledStart, kept: frozenset[str]) -> AssembledStart:
    """Onto further rates of programs above the usual degree too, where there are such."""
    if not found.problem.program.controls:
        return found
    equations = derive(found.problem)
    if not equations.deviations.mixed:
        return found
    names, n = equations.state_names, 2 * len(equations.coordinates)
    constants = parameter_vector(equations, {})
    state = np.array(state_vector(equations, None, dict(zip(equations.parameter_names, constants, strict=True))))
    free = np.array([name not in kept for name in names])
    used = Chains(equations, equations.constraints, free).of(state, equations.problem.run.begin, constants)
    taken = dict(found.start) | dict(zip(names[:n], used[:n].tolist(), strict=True))
    rough = {name: found.changes[name][0] if name in found.changes else found.start[name] for name in found.start}
    changes = {
        name: (rough[name], new) for name, new in taken.items() if abs(new - rough[name]) > max(SAME * abs(new), TINY)
    }
    problem = _started(found.problem, taken, found.start)
    return AssembledStart(problem, Frozen(taken), Frozen(changes), (Frozen(taken), *found.branches[1:]), found.held)


def _kept(problem: Problem, keep: Iterable[Any]) -> frozenset[str]:
    listed = [keep] if isinstance(keep, str) else list(keep)
    return frozenset(problem.names.find(name_of(one), (Coordinate, Rate), where="keep").name for one in listed)


class _Assembly:
    """The search for states that fit, over the components that may move."""

    def __init__(self, loops: Loops, kept: frozenset[str], places: int, seed: int) -> None:
        n = len(loops.coordinates)
        self._loops, self._kept, self._places = loops, kept, places
        self._random = np.random.default_rng(seed)
        self._q = np.array([k for k in range(n) if loops.names[k] not in kept], dtype=int)
        self._v = np.array([k for k in range(n, 2 * n) if loops.names[k] not in kept], dtype=int)
        self._spun = loops.turned.places if loops.positions.names else set()
        self._angles = loops.angles() if loops.positions.names else np.zeros(n, dtype=bool)
        lengths = np.abs(loops.start[:n][~self._angles])
        self._reach = float(lengths.max(initial=0.0)) or 1.0

    def of(self, problem: Problem) -> AssembledStart:
        loops, rough = self._loops, self._loops.start
        placed = self._near(self._placed(rough), rough)
        state = self._solved(loops.rates, placed, self._v)
        self._require(loops.rates, state, "rate")
        held = self._driving(state)
        found = [state]
        for other in self._others(state, held):
            moving = self._solved(loops.rates, other, self._v)
            if loops.kept(loops.rates, moving):
                found.append(moving)
        found[1:] = sorted(found[1:], key=lambda one: self._distance(one, rough))
        branches = tuple(Frozen(dict(zip(loops.names, one.tolist(), strict=True))) for one in found)
        pairs = zip(loops.names, rough.tolist(), state.tolist(), strict=True)
        changes = Frozen({name: (old, new) for name, old, new in pairs if abs(new - old) > SAME * abs(old)})
        stayed = tuple(name for k, name in enumerate(loops.coordinates) if name in self._kept or k in held)
        taken = dict(branches[0])
        rough_by_name = dict(zip(loops.names, rough.tolist(), strict=True))
        return AssembledStart(_started(problem, taken, rough_by_name), Frozen(taken), changes, branches, stayed)

    # ── one state ─────────────────────────────────────────────────────────────────────────────────

    def _placed(self, rough: Array) -> Array:
        """Positions that fit: from the rough ones, or else the nearest that is found from random places."""
        loops = self._loops
        state = self._solved(loops.positions, rough, self._q)
        if loops.kept(loops.positions, state):
            return state
        best, nearest = state, np.inf
        for _ in range(self._places):
            trial = self._solved(loops.positions, self._thrown(rough, self._q), self._q)
            if loops.kept(loops.positions, trial) and (far := self._distance(trial, rough)) < nearest:
                best, nearest = trial, far
        self._require(loops.positions, best, "position")
        return best

    def _solved(self, rows: LoopRows, state: Array, free: Array) -> Array:
        """Damped least squares over the free components, then Newton's steps to rounding."""
        if not rows.names or not len(free) or self._exact(rows, state):
            return state
        columns = free % len(self._loops.coordinates)
        sizes = self._sizes(rows, state)
        if self._turns(rows):
            found = downhill(lambda at: self._scaled(rows, at, sizes), state, free, self._loops.turned)
            return self._polished(rows, found, free, columns)
        from scipy.optimize import least_squares

        def at(x: Array) -> Array:
            trial = state.copy()
            trial[free] = x
            return trial

        def residue(x: Array) -> Array:
            return np.nan_to_num(self._loops.values(rows, at(x))[0] / sizes, nan=1e30, posinf=1e30, neginf=-1e30)

        def slopes(x: Array) -> Array:
            found = self._loops.values(rows, at(x))[1][:, columns] / sizes[:, None]
            return np.nan_to_num(found, nan=0.0, posinf=0.0, neginf=0.0)

        try:
            found = least_squares(residue, state[free], slopes, xtol=1e-12, ftol=1e-14, gtol=1e-14, max_nfev=200)
        except (ValueError, np.linalg.LinAlgError):
            return state
        return self._polished(rows, at(found.x), free, columns)

    def _turns(self, rows: LoopRows) -> bool:
        """Whether some of the coordinates that rows of positions are solved for are spins."""
        return rows is self._loops.positions and bool(self._loops.turned.balls)

    def _scaled(self, rows: LoopRows, state: Array, sizes: Array) -> tuple[Array, Array]:
        y, slopes, _ = self._loops.values(rows, state)
        return y / sizes, slopes / sizes[:, None]

    def _polished(self, rows: LoopRows, state: Array, free: Array, columns: Array) -> Array:
        state = self._by_themselves(rows, state, free, columns)
        best, smallest = state, self._off(rows, state)
        for _ in range(POLISH):
            y, slopes, _ = self._loops.values(rows, best)
            if not np.isfinite(slopes).all():
                break
            step = -np.linalg.lstsq(slopes[:, columns], y, rcond=1e-12)[0]
            trial = best.copy()
            if self._turns(rows):
                whole = np.zeros(len(self._loops.coordinates))
                whole[columns] = step
                trial = self._loops.turned.moved(best, whole)
            else:
                trial[free] += step
            if not (off := self._off(rows, trial)) < smallest:
                break
            best, smallest = trial, off
        return best

    def _by_themselves(self, rows: LoopRows, state: Array, free: Array, columns: Array) -> Array:
        """Rows of one unknown solved for it: a bare coordinate is left with no rounding of the others."""
        found = state.copy()
        y, slopes, _ = self._loops.values(rows, state)
        for value, row in zip(y, slopes[:, columns], strict=True):
            (alone,) = np.nonzero(row)
            if len(alone) == 1 and columns[alone[0]] not in self._spun and np.isfinite(value / row[alone[0]]):
                found[free[alone[0]]] -= value / row[alone[0]]
        return found if self._off(rows, found) <= self._off(rows, state) else state

    def _sizes(self, rows: LoopRows, state: Array) -> Array:
        """What each deviation counts by: its terms here, or of a mechanism of the usual size where these vanish."""
        _, slopes, sizes = self._loops.values(rows, state)
        usual = np.nan_to_num(np.abs(slopes), nan=0.0, posinf=0.0).sum(axis=1) * self._reach
        sizes = np.nan_to_num(np.fmax(sizes, usual), nan=1.0, posinf=1.0)
        return np.where(sizes > 0, sizes, 1.0)

    def _off(self, rows: LoopRows, state: Array) -> float:
        y, _, sizes = self._loops.values(rows, state)
        with np.errstate(all="ignore"):
            return float(np.nan_to_num(np.where(y == 0, 0.0, np.abs(y) / sizes), nan=np.inf).max(initial=0.0))

    def _exact(self, rows: LoopRows, state: Array) -> bool:
        return self._off(rows, state) <= 1e-15

    def _require(self, rows: LoopRows, state: Array, what: str) -> None:
        if self._loops.kept(rows, state):
            return
        y, _, sizes = self._loops.values(rows, state)
        worst = int(np.nan_to_num(np.abs(y) / np.fmax(sizes, 1e-300), nan=np.inf).argmax())
        held = f" with {', '.join(sorted(self._kept))} as stated" if self._kept else ""
        raise BadRequest(
            f"no {what}s were found that keep {rows.names[worst]!r}{self._joint(rows, state)}{held}: it stays off by "
            f"{y[worst]:.3g}",
            where="start",
            fix="keep fewer values, or look at the lengths: the parts may not reach each other",
        )

    def _joint(self, rows: LoopRows, state: Array) -> str:
        """The joints that do not close, in words."""
        y, _, sizes = self._loops.values(rows, state)
        off = [name for name, value, size in zip(rows.names, y, sizes, strict=True) if not abs(value) <= OFF * size]
        joints = list(dict.fromkeys(self._loops.owners[name] for name in off if name in self._loops.owners))
        listed = " and ".join(repr(name) for name in joints)
        return f", so that the joint{'s' if len(joints) > 1 else ''} {listed} cannot close" if joints else ""

    # ── branches ──────────────────────────────────────────────────────────────────────────────────

    def _driving(self, state: Array) -> list[int]:
        """Of the coordinates that may move, as many as stay free: those that move most along what is free."""
        rows = self._loops.positions
        if not rows.names or not len(self._q):
            return list(self._q)
        slopes = self._loops.values(rows, state)[1][:, self._q]
        sizes = np.linalg.norm(slopes, axis=1, keepdims=True)
        _, found, vt = np.linalg.svd(slopes / np.where(sizes > 0, sizes, 1.0))
        rank = int((found > DEPENDENT * max(found[0], 1e-300)).sum())
        basis, chosen = vt[rank:].T.copy(), []
        for _ in range(basis.shape[1]):  # pivoted elimination of the rows of the basis
            k = int(np.linalg.norm(basis, axis=1).argmax())
            chosen.append(int(self._q[k]))
            row = basis[k] / np.linalg.norm(basis[k])
            basis = basis - np.outer(basis @ row, row)
        return chosen

    def _others(self, state: Array, held: list[int]) -> list[Array]:
        """Further positions that fit, from random places, with the driving coordinates held."""
        rows, free = self._loops.positions, np.array([k for k in self._q if k not in held], dtype=int)
        found: list[Array] = []
        if not rows.names or not len(free):
            return found
        for _ in range(self._places):
            trial = self._solved(rows, self._thrown(state, free), free)
            if self._loops.kept(rows, trial):
                trial = self._near(trial, state)
                if all(self._distance(trial, one) > APART * self._size(one) for one in (state, *found)):
                    found.append(trial)
        return found

    def _thrown(self, state: Array, free: Array) -> Array:
        """A random place: angles anywhere, lengths within a few times the size of the mechanism."""
        n, trial = len(self._loops.coordinates), state.copy()
        span = self._reach * float(self._random.choice([0.5, 1.0, 3.0]))
        turned = np.append(self._angles, np.zeros(len(state) - n, dtype=bool))
        throws = self._random.uniform(-1, 1, len(state))
        trial[free] = np.where(turned, np.pi * throws, state + span * throws)[free]
        return self._loops.turned.thrown(trial, free, self._random)

    def _near(self, state: Array, other: Array) -> Array:
        """The same place, its angles within half a turn of the other's."""
        n, turned = len(self._loops.coordinates), state.copy()
        turned[:n][self._angles] -= TURN * np.round((state - other)[:n][self._angles] / TURN)
        return turned

    def _size(self, state: Array) -> float:
        return self._reach + float(np.abs(state[: len(self._loops.coordinates)]).max(initial=0.0))

    def _distance(self, one: Array, other: Array) -> float:
        n = len(self._loops.coordinates)
        turns = self._loops.turned.apart(one, other)
        return float(np.linalg.norm([*(self._near(one, other) - other)[:n], *turns]))


def _started(problem: Problem, start: Mapping[str, float], before: Mapping[str, float]) -> Problem:
    """The problem with this start; what did not change stays as it was stated."""
    stated = dict(problem.start)
    for name, value in start.items():
        if value != before[name] or name in problem.start:
            stated[name] = problem.start[name] if value == before[name] and name in problem.start else value
    return replace(problem, start=Frozen(stated))
