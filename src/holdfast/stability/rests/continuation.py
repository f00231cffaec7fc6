"""Equilibria continued in a parameter: branches, folds, and where stability changes.

    found = hf.equilibrium_branches(problem, along={"w": (1, 8)})
    print(found.summary())

Rests are looked for at both ends of the range and in its middle (`equilibria`), and each is followed both ways by
arclength (`rest_curve`). Where a root passes zero without a fold another branch crosses: it is looked for along that
root's direction. Values of special rests are those at which a test function passes zero, found to rounding:

    fold            the parameter's part of the tangent, where det A passes zero with it
    branch point    det A of the linearised motion that decides
    oscillation     the real part of the pair of roots that crosses
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from holdfast.common.arguments import clear_arguments
from holdfast.equations.derive import derive
from holdfast.equations.equations import Equations
from holdfast.equations.internal.roots import NEUTRAL, NOISE
from holdfast.equations.internal.tangent import tangent_of
from holdfast.equations.values import parameter_vector, state_vector
from holdfast.errors import BadRequest
from holdfast.problem.problem import Problem
from holdfast.problem.types import ByName, StateLike
from holdfast.problem.vocabulary import by_name
from holdfast.stability.linear.equilibria import (
    PLACES,
    decisive_matrix,
    equilibria,
    judged_rest,
    turning_coordinates,
)
from holdfast.stability.linear.same_rest import TURN
from holdfast.stability.rests.branches import EquilibriumBranch, EquilibriumBranches, SpecialRest
from holdfast.stability.rests.rest_curve import RestCurve, RestEquations, distance

Array = np.ndarray
FIRST, LONGEST, SHORTEST = 0.01, 0.03, 1e-7  # steps of the arclength, in parts of the range of the parameter
MOST = 2000  # rests on one branch
UPRIGHT = 50  # rests at one value of the parameter: they are many there, and tell nothing more
BEND = 0.9  # cosine between neighbouring tangents: a sharper bend is taken in shorter steps
QUICK = 4  # corrections: fewer, and the next step is longer
ON = 1e-4  # beside a branch: what is nearer lies on it
ASIDE = 0.02  # how far beside a branch point the crossing branch is looked for
HALVINGS = 60
SLOW = 1e-5  # of the largest root: one below this all along a branch is 0
CLOSED = "it closes"


@clear_arguments
def equilibrium_branches(
    problem: Problem | Equations,
    along: Mapping[Any, Any],
    *,
    parameters: ByName | None = None,
    start: StateLike | None = None,
    places: int = PLACES,
    seed: int = 0,
) -> EquilibriumBranches:
    """The equilibria between two values of a parameter or gain, as branches: ``along={"w": (1, 8)}``.

    Branches that were found from random places at both ends and in the middle, and where a branch crosses another;
    there may be others. Folds, branch points and where oscillations set in are named with the value of the parameter.
    """
    if not isinstance(problem, (Problem, Equations)):
        raise BadRequest(f"equilibrium_branches() takes a Problem, not {type(problem).__name__}", fix="hf.load(file)")
    equations = problem if isinstance(problem, Equations) else derive(problem)
    name, low, high = _range(equations, along)
    others = by_name(parameters or {}, where="parameters")
    if name in others:
        raise BadRequest(f"{name!r} is given and varied", where="parameters", fix="keep one of the two")
    seeds = [
        (np.array(list(one.state.values())), value)
        for value in (low, high, (low + high) / 2)
        for one in equilibria(equations, parameters={**others, name: value}, start=start, places=places, seed=seed)
    ]
    states = np.array([state for state, _ in seeds]).reshape(len(seeds), len(equations.state_names))
    atlas = _Atlas(_rest_equations(equations, name, low, high, others, start, states), name)
    for state, value in seeds:
        atlas.follow(state, value)
    return EquilibriumBranches(name, (low, high), tuple(atlas.branches))


def _range(equations: Equations, along: Any) -> tuple[str, float, float]:
    named = by_name(along, where="along")
    if len(named) != 1:
        raise BadRequest(f"{len(named)} parameters are to be varied", where="along", fix='one: along={"m": (1, 2)}')
    ((name, pair),) = named.items()
    if name not in equations.parameter_names:
        known = ", ".join(equations.parameter_names)
        raise BadRequest(f"{name!r} is no parameter or gain", where="along", fix=f"known: {known}")
    try:
        low, high = (float(x) for x in pair)
    except (TypeError, ValueError):
        raise BadRequest(f"the range of {name!r} is {pair!r}", where="along", fix="(low, high)") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise BadRequest(f"the range of {name!r} is empty", where="along", fix="(low, high), the lower first")
    return name, low, high


def _rest_equations(
    equations: Equations, name: str, low: float, high: float, others: Mapping[str, Any], start: Any, seen: Array
) -> RestEquations:
    """The equations of rest, with angles in radians and other unknowns in the sizes that the start and rests have."""
    constants = parameter_vector(equations, {**others, name: (low + high) / 2})
    own = np.array(state_vector(equations, start, dict(zip(equations.parameter_names, constants, strict=True))))
    turning = turning_coordinates(equations, tangent_of(equations), own, equations.problem.run.begin, constants)
    sizes = np.abs(np.vstack([own, seen])).max(axis=0)
    n = len(equations.coordinates)
    usual = float(sizes[:n][~turning[:n]].max(initial=0.0)) or 1.0
    sizes = np.where(turning, 1.0, np.where(sizes > 1e-6 * usual, sizes, usual))
    place = equations.parameter_names.index(name)
    found = RestEquations(equations, place, tuple(constants), own, sizes, low, high)
    return replace(found, sizes=sizes[found.moving])


@dataclass(frozen=True, eq=False)
class _Mark:
    """A rest on a curve: where, its tangent, and the roots that decide there, by the pace of the motion."""

    u: Array
    tangent: Array
    roots: Array
    none: float  # what counts as 0 beside the pace
    pace: float

    @property
    def still(self) -> int:
        """How many roots are 0."""
        largest = float(np.abs(self.roots).max(initial=0.0))
        return int((np.abs(self.roots) <= max(SLOW * largest, 10 * self.none)).sum())

    def moving(self, still: int) -> Array:
        """The roots without those that are 0 all along a branch: of a family of rests, which decide nothing."""
        return self.roots[np.argsort(np.abs(self.roots), kind="stable")][still:]

    def determinant(self, still: int) -> float:
        """The product of the moving roots: it passes zero with one of them."""
        return float(np.prod(self.moving(still)).real)

    def growing(self, still: int) -> int:
        return int((self.moving(still).real > self.none).sum())

    @property
    def pair(self) -> complex:
        """The root that turns and grows fastest; -inf where none turns."""
        turning = self.roots[self.roots.imag > self.none]
        return complex(turning[int(turning.real.argmax())]) if len(turning) else complex(-math.inf, 0.0)


@dataclass(frozen=True, eq=False)
class _Atlas:
    """The branches so far, and the way to another."""

    equations: RestEquations
    name: str
    branches: list[EquilibriumBranch] = field(default_factory=list)
    curves: list[Array] = field(default_factory=list)

    @cached_property
    def turns(self) -> list[float]:
        """A full turn of each unknown in its own size, 0 for those that do not turn."""
        own, state = self.equations, self.equations.base
        turning = turning_coordinates(
            own.equations, tangent_of(own.equations), state, own.equations.problem.run.begin, list(own.constants)
        )[own.moving]
        return [*(TURN / size if turns else 0.0 for turns, size in zip(turning, own.sizes, strict=True)), 0.0]

    def follow(self, state: Array, value: float) -> None:
        """The branch through a rest, unless it is known; then those that cross it."""
        self._follow(self.equations.unknowns(state, value))

    def _follow(self, u: Array) -> None:
        if any(self._near(u, curve) for curve in self.curves):
            return
        curve = RestCurve.through(self.equations, u)
        tangent = curve.tangent(u)
        tangent = tangent if tangent[-1] >= 0 else -tangent
        ahead, last = self._traced(curve, u, tangent)
        back, first = (ahead[:1], last) if last == CLOSED else self._traced(curve, u, -tangent)
        marks = [*(replace(mark, tangent=-mark.tangent) for mark in reversed(back[1:])), *ahead]
        self.curves.append(np.array([mark.u for mark in marks]))
        special, crossings = self._special(curve, marks)
        self.branches.append(self._named(marks, special, (first, last)))
        for crossing in crossings:
            for guess, normal in self._beside(curve, crossing):
                found = RestCurve(self.equations, curve.kept, curve.origin).corrected(guess, normal)
                if found is not None and -1e-9 <= found[0][-1] <= 1 + 1e-9:
                    self._follow(found[0])

    def _near(self, u: Array, curve: Array) -> bool:
        """Whether a rest lies on a curve that is known, between two of its rests."""
        turns = self.turns
        for before, after in pairwise(curve):
            way = after - before
            moved = u.copy()
            for k, turn in enumerate(turns):
                if turn:
                    moved[k] -= turn * round(float(moved[k] - before[k]) / turn)
            share = float(np.clip((moved - before) @ way / max(float(way @ way), 1e-300), 0.0, 1.0))
            if distance(moved, before + share * way, [0.0] * len(turns)) <= max(ON, 0.1 * float(way @ way)):
                return True
        return len(curve) == 1 and distance(u, curve[0], turns) <= ON

    # ── along one curve ───────────────────────────────────────────────────────────────────────────

    def _traced(self, curve: RestCurve, u: Array, tangent: Array) -> tuple[list[_Mark], str]:
        """Rests from one on, until the range ends, the curve closes or nothing goes on; and why it ended."""
        marks, length = [self._mark(curve, u, tangent)], FIRST
        while len(marks) < MOST:
            here = marks[-1]
            guess = here.u + length * here.tangent
            found = curve.corrected(guess, here.tangent)
            ahead = None if found is None else curve.tangent(found[0], here.tangent)
            if found is None or ahead is None or ahead @ here.tangent < BEND:
                length /= 2
                if length < SHORTEST:
                    return marks, "no rest was found further on"
                continue
            new, count = found
            if not 0.0 <= new[-1] <= 1.0:
                edge = 0.0 if new[-1] < 0 else 1.0
                last = curve.at_parameter(here.u, edge) if abs(here.u[-1] - edge) > 1e-12 else None
                if last is not None and distance(last, new, [0.0] * len(new)) <= 4 * length:
                    marks.append(self._mark(curve, last, curve.tangent(last, here.tangent)))
                return marks, "the end of the range"
            marks.append(self._mark(curve, new, ahead))
            if len(marks) > UPRIGHT and abs(marks[-UPRIGHT].u[-1] - new[-1]) < 1e-12:
                return marks, "rests go on at one value of the parameter"
            if len(marks) > 4 and distance(new, u, self.turns) < 0.6 * length and ahead @ marks[0].tangent > BEND:
                return marks, CLOSED
            longest = min(max(1.0, float(np.linalg.norm(new[:-1]))), 1 / max(abs(ahead[-1]), 1e-300)) * LONGEST
            length = min(longest, length * (1.5 if count <= QUICK else 1.0))
        return marks, f"{MOST} rests"

    def _mark(self, curve: RestCurve, u: Array, tangent: Array) -> _Mark:
        own = self.equations
        time = own.equations.problem.run.begin
        slopes = tangent_of(own.equations).at(time, own.state(u), own.numbers(u))
        matrix, pace = decisive_matrix(own.equations, slopes)
        roots = np.linalg.eigvals(matrix / pace) if len(matrix) else np.zeros(0, dtype=complex)
        none = max(NEUTRAL * float(np.abs(roots).max(initial=0.0)), NOISE)
        return _Mark(u, tangent, roots.astype(complex), none, pace)

    def _special(self, curve: RestCurve, marks: list[_Mark]) -> tuple[list[SpecialRest], list[_Mark]]:
        """Special rests between neighbours, and those of them at which another branch crosses."""
        found: list[SpecialRest] = []
        crossings: list[_Mark] = []
        still = min(mark.still for mark in marks)
        for before, after in pairwise(marks):
            passes = before.determinant(still) * after.determinant(still) < 0
            if before.tangent[-1] * after.tangent[-1] < 0:
                mark = self._located(curve, before, after, lambda m: float(m.tangent[-1]))
                found.append(self._special_rest("fold" if passes else "branch point", mark))  # at a fork none passes
            elif passes:
                mark = self._located(curve, before, after, lambda m: m.determinant(still))
                found.append(self._special_rest("branch point", mark))
                crossings.append(mark)
            elif before.growing(still) != after.growing(still):
                found.append(self._onset(curve, before, after, still))
        return found, crossings

    def _onset(self, curve: RestCurve, before: _Mark, after: _Mark, still: int) -> SpecialRest:
        """Where roots begin to grow, or cease to, without one passing zero."""
        parts = before.pair.real, after.pair.real
        if all(map(math.isfinite, parts)) and parts[0] * parts[1] < 0:
            return self._special_rest("oscillation", self._located(curve, before, after, lambda m: m.pair.real))
        limit = (before.growing(still) + after.growing(still)) / 2
        return self._special_rest("change", self._located(curve, before, after, lambda m: m.growing(still) - limit))

    def _located(self, curve: RestCurve, before: _Mark, after: _Mark, test: Callable[[_Mark], float]) -> _Mark:
        """Where a test function passes zero between two rests: by halving, and false position where it helps."""
        low, high = before, after
        for count in range(HALVINGS):
            way = high.u - low.u
            if float(np.linalg.norm(way)) <= 1e-13:
                break
            share = 0.5
            if count % 3 and abs(test(low) - test(high)) > 0:
                share = min(max(test(low) / (test(low) - test(high)), 0.01), 0.99)
            found = curve.corrected(low.u + share * way, way / np.linalg.norm(way))
            if found is None:
                break
            middle = self._mark(curve, found[0], curve.tangent(found[0], low.tangent))
            if test(middle) == 0:
                return middle
            low, high = (middle, high) if test(middle) * test(low) > 0 else (low, middle)
        return min((low, high), key=lambda mark: abs(test(mark)))

    def _beside(self, curve: RestCurve, mark: _Mark) -> list[tuple[Array, Array]]:
        """Guesses beside a branch point, along the directions of rest that its curve does not take."""
        slopes = curve.system(mark.u)[1]
        aside = np.linalg.svd(slopes[:, :-1])[2][-1]
        direction = np.append(aside, 0.0)
        direction = direction - (direction @ mark.tangent) * mark.tangent
        size = float(np.linalg.norm(direction))
        if size < 1e-6:
            return []
        direction /= size
        return [(mark.u + sign * ASIDE * direction, direction) for sign in (1.0, -1.0)]

    # ── names ─────────────────────────────────────────────────────────────────────────────────────

    def _special_rest(self, kind: str, mark: _Mark) -> SpecialRest:
        own = self.equations
        state = dict(zip(own.equations.state_names, own.state(mark.u).tolist(), strict=True))
        frequency = abs(mark.pair.imag) * mark.pace if kind == "oscillation" else 0.0
        return SpecialRest(kind, self.name, own.parameter(mark.u), state, own.equations.coordinates, frequency)

    def _named(self, marks: list[_Mark], special: list[SpecialRest], ends: tuple[str, str]) -> EquilibriumBranch:
        own = self.equations
        time = own.equations.problem.run.begin
        rests = tuple(judged_rest(own.equations, own.state(mark.u), time, own.numbers(mark.u)) for mark in marks)
        values = np.array([own.parameter(mark.u) for mark in marks])
        return EquilibriumBranch(self.name, values, rests, tuple(special), ends)
