"""The way back onto the program: the nearest state, by kinetic energy, at which constraints hold."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.equations.solving.dependence import weak_slope
from holdfast.equations.solving.large import LARGE
from holdfast.equations.solving.redundant import not_unique
from holdfast.errors import BadRequest
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.linear_algebra import Rows
from holdfast.graph.nodes import Node
from holdfast.results.start.sparse_steps import SparseRows, sparse_correction
from holdfast.results.start.term_sizes import OFF, ROUNDING_NOISE, deviation_sizes
from holdfast.results.start.turned_state import TurnedStates, displacement_rows

ITERATIONS = 50


@dataclass(frozen=True, slots=True, eq=False)
class Unmet:
    """Where an iteration could not go on: the constraint that is worst there, and what it depends on."""

    constraint: str
    deviation: float
    slope: np.ndarray  # of its deviation at the start, by coordinate or by rate
    positions: bool


class NoState(BadRequest):
    """No state near the start keeps the program."""

    residue: Unmet


class Projection:
    """Moves states onto some constraints, positions first, then rates.

        min Δqᵀ M Δq  with  y(q + Δq) = 0,     then     min Δvᵀ M Δv  with  w(q, v + Δv) = 0

    over the components that are free to move. Each by Newton's iteration; deviations count in the size of their terms,
    and the least change is found from the factor M = L Lᵀ, never from squares, so that masses of 10⁹ and 10⁻⁹ may
    share a constraint. Where M is singular, or masses so unequal that this finds nothing, plain length takes its place.
    """

    def __init__(self, equations: Equations, constraints: Sequence[str], free: np.ndarray | None = None) -> None:
        program = equations.problem.program
        self._names = equations.constraints
        usual = [name for name in constraints if name not in equations.deviations.mixed]
        self._position_rows = [k for k, name in enumerate(program.holonomic) if name in usual]
        self._rate_rows = [k for k, name in enumerate(program.constraints) if name in usual]
        self._n, self._m, self._r = len(equations.coordinates), len(equations.deviations.y), len(program.constraints)
        self._turned = TurnedStates(equations.inputs)
        self._free = np.ones(2 * self._n, dtype=bool) if free is None else self._turned.free(free)
        self._repeats = bool(not_unique(equations.solver))
        self._sparse = self._n > LARGE and not self._repeats
        self._tape = None if self._sparse else _tape(equations)
        self._rows = _sparse_rows(equations) if self._sparse else None
        self._sizes = deviation_sizes(equations)

    def of(self, state: np.ndarray, time: float, constants: Sequence[float]) -> np.ndarray:
        """The state moved onto the constraints; a `NoState` if there is none near."""
        used = self._solved(state, time, constants, positions=True)
        return self._solved(used, time, constants, positions=False)

    def mass_and_jacobian(
        self, state: np.ndarray, time: float, constants: Sequence[float]
    ) -> tuple[np.ndarray, np.ndarray]:
        """M and J at one state."""
        _, jacobian, mass = self._values(state, time, constants, positions=False)
        return (mass.toarray(), jacobian.toarray()) if self._sparse else (mass, jacobian)

    def _solved(self, state: np.ndarray, time: float, constants: Sequence[float], *, positions: bool) -> np.ndarray:
        """The best state of Newton's iteration, in the metric of masses, or else in that of plain length."""
        rows = self._position_rows if positions else self._rate_rows
        if not rows:
            return state
        ways = [(True, True), (False, True)] * self._repeats + [(True, False), (False, False)]
        best, smallest = state, np.inf
        for by_mass, repeats in ways:
            if smallest >= OFF:
                other, size = self._iterated(
                    state, time, constants, rows, positions=positions, by_mass=by_mass, repeats=repeats
                )
                best, smallest = (other, size) if size < smallest else (best, smallest)
        if smallest < OFF:
            return best
        raise self._refusal(state, best, time, constants, rows, positions=positions)

    def _iterated(
        self,
        state: np.ndarray,
        time: float,
        constants: Sequence[float],
        rows: list[int],
        *,
        positions: bool,
        by_mass: bool,
        repeats: bool,
    ) -> tuple[np.ndarray, float]:
        """The best state met, and its largest deviation in sizes of terms."""
        part = slice(0, self._n) if positions else slice(self._n, 2 * self._n)
        free = np.nonzero(self._free[part])[0]
        best, smallest, used, moved = state, np.inf, state, np.zeros(len(rows))
        least = self._term_sizes(state, time, constants, positions=positions)[rows]
        for step_number in range(ITERATIONS):
            deviation, slope, mass = self._values(used, time, constants, positions=positions)
            deviation, slope = deviation[rows], slope[rows]
            terms = np.fmax(least, self._term_sizes(used, time, constants, positions=positions)[rows])
            terms = np.fmax(terms, moved)  # a bare coordinate has no terms but what the last step left in it
            with np.errstate(all="ignore"):
                size = float(np.where(deviation == 0, 0.0, np.abs(deviation) / terms).max())
            halved = size < smallest / 2
            if size < smallest:
                best, smallest = used, size
            if smallest == 0 or (smallest < ROUNDING_NOISE and not halved) or not len(free):
                break  # as close as rounding allows, or nothing may move
            if not (np.isfinite(size) and _finite(slope) and _finite(mass)):
                break
            used, cut = used.copy(), weak_slope(step_number) if repeats else None
            if self._sparse:
                parts = mass[free][:, free], slope[:, free]
                step, moved = sparse_correction(*parts, deviation, by_mass=by_mass)
            else:
                parts = mass[np.ix_(free, free)], slope[:, free]
                step, moved = _correction(*parts, deviation, by_mass=by_mass, weak=cut)
            if positions:
                whole = np.zeros(self._n)
                whole[free] = step
                used = self._turned.moved(used, whole)
            else:
                used[part.start + free] += step
        return best, float(smallest)

    def _term_sizes(self, state: np.ndarray, time: float, constants: Sequence[float], *, positions: bool) -> np.ndarray:
        """The sizes of the terms of y, or of w."""
        sizes = self._sizes.rounding(time, state.tolist(), constants)
        return sizes[: self._m] if positions else sizes[self._m :]

    def _refusal(
        self,
        state: np.ndarray,
        best: np.ndarray,
        time: float,
        constants: Sequence[float],
        rows: list[int],
        *,
        positions: bool,
    ) -> NoState:
        deviation, slope, _ = self._values(state, time, constants, positions=positions)
        left = self._values(best, time, constants, positions=positions)[0][rows]
        worst = rows[int(np.abs(np.nan_to_num(left, nan=np.inf)).argmax())]
        error = NoState(
            f"no state near the start keeps constraint {self._names[worst]!r}",
            where="start",
            fix='correct the start values, or keep them with start_policy="keep"',
        )
        own = slope[[worst]].toarray()[0] if self._sparse else slope[worst]
        error.residue = Unmet(self._names[worst], float(deviation[worst]), own, positions)
        return error

    def _values(
        self, state: np.ndarray, time: float, constants: Sequence[float], *, positions: bool
    ) -> tuple[np.ndarray, Any, Any]:
        """Deviation, slope and mass matrix; both sparse in a large system."""
        n, m, r = self._n, self._m, self._r
        if self._rows is not None:
            deviations, (mass, across, along) = self._rows([time, *state.tolist(), *constants])
            return (deviations[:m], across, mass) if positions else (deviations[m:], along, mass)
        assert self._tape is not None
        numbers = np.array(self._tape([time, *state.tolist(), *constants]))
        y, w, mass, across, along = np.split(numbers, np.cumsum([m, r, n * n, m * n]))
        if positions:
            return y, across.reshape(m, n), mass.reshape(n, n)
        return w, along.reshape(r, n), mass.reshape(n, n)


def _tape(equations: Equations) -> Tape:
    """y, w, M, ∂y/∂q and J, written out once for all laws of these deviations."""

    def made() -> Tape:
        inputs, deviations = equations.inputs, equations.deviations
        n, zero = len(inputs.q), inputs.graph.zero
        outputs = [*deviations.y, *deviations.w]
        for rows in (equations.dynamics.mass, displacement_rows(deviations.y, inputs), deviations.jacobian):
            outputs += _dense(rows, n, zero)
        return Tape(equations.field.inputs, tuple(outputs))

    return equations.deviations.memo.once(_tape, made)


def _sparse_rows(equations: Equations) -> SparseRows:
    """The same without what is not there, for large systems."""

    def made() -> SparseRows:
        inputs, deviations = equations.inputs, equations.deviations
        slopes = (equations.dynamics.mass, displacement_rows(deviations.y, inputs), deviations.jacobian)
        matrices = [(rows, len(inputs.q)) for rows in slopes]
        return SparseRows(equations.field.inputs, (*deviations.y, *deviations.w), matrices)

    return equations.deviations.memo.once(_sparse_rows, made)


def _finite(matrix: Any) -> bool:
    """Whether all entries are finite."""
    return bool(np.isfinite(matrix if isinstance(matrix, np.ndarray) else matrix.data).all())


def _dense(rows: Rows, columns: int, zero: Node) -> list[Node]:
    return [row.get(j, zero) for row in rows for j in range(columns)]


def _correction(
    mass: np.ndarray, slope: np.ndarray, deviation: np.ndarray, *, by_mass: bool, weak: float | None
) -> tuple[np.ndarray, np.ndarray]:
    """The least Δ with slope · Δ = −deviation, its rows scaled to one: their sizes are matters of units.

    Directions whose slope is below the part `weak` of the largest are left out. Beside it, how far such a Δ could have
    moved each row: what its rounding is measured by.
    """
    response = np.eye(len(mass))
    if by_mass:
        with suppress(np.linalg.LinAlgError):
            response = np.linalg.inv(np.linalg.cholesky(mass)).T  # Δ = L⁻ᵀ δ,  Δᵀ M Δ = δᵀ δ
    reach = slope @ response
    size = np.linalg.norm(reach, axis=1)
    size = np.where(size > 0, size, 1.0)
    try:
        found = np.linalg.lstsq(reach / size[:, None], deviation / size, rcond=weak)[0]
        return -response @ found, np.linalg.norm(reach, axis=1) * np.linalg.norm(found)
    except np.linalg.LinAlgError:
        return np.full(len(mass), np.nan), np.zeros(len(deviation))
