"""The way back onto the program: the nearest state, by kinetic energy, at which constraints hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.graph.derivatives import jacobian
from holdfast.graph.evaluate import Tape
from holdfast.graph.linear_algebra import Rows
from holdfast.graph.nodes import Node
from holdfast.results.rounding import CLOSE, OFF, unit_of

ITERATIONS = 50


class Projection:
    """Moves states onto some constraints, positions first, then rates.

        min Δqᵀ M Δq  with  y(q + Δq) = 0,     then     min Δvᵀ M Δv  with  w(q, v + Δv) = 0

    Each by Newton's iteration Δ = −M⁻¹Fᵀ (F M⁻¹ Fᵀ)⁻¹ · deviation; where M is singular, plain length takes its place.
    """

    def __init__(self, equations: Equations, constraints: Sequence[str]) -> None:
        program = equations.problem.program
        self._names = equations.constraints
        self._position_rows = [k for k, name in enumerate(program.holonomic) if name in constraints]
        self._rate_rows = [k for k, name in enumerate(program.constraints) if name in constraints]
        self._n, self._m, self._r = len(equations.coordinates), len(program.holonomic), len(program.constraints)
        self._tape = _tape(equations)

    def of(self, state: np.ndarray, time: float, constants: Sequence[float]) -> np.ndarray:
        """The state moved onto the constraints; a `BadRequest` if there is none near."""
        used = self._solved(state, time, constants, self._position_rows, positions=True)
        return self._solved(used, time, constants, self._rate_rows, positions=False)

    def _solved(
        self, state: np.ndarray, time: float, constants: Sequence[float], rows: list[int], *, positions: bool
    ) -> np.ndarray:
        """The best state of Newton's iteration; deviations count in units of the rounding of their terms."""
        if not rows:
            return state
        part = slice(0, self._n) if positions else slice(self._n, 2 * self._n)
        best, smallest, used = state, np.inf, state
        for _ in range(ITERATIONS):
            deviation, slope, mass = self._values(used, time, constants, positions=positions)
            deviation, slope = deviation[rows], slope[rows]
            size = (np.abs(deviation) / unit_of(np.abs(slope) @ np.abs(used[part]))).max()
            halved = size < smallest / 2
            if size < smallest:
                best, smallest = used, size
            if smallest == 0 or (smallest < CLOSE and not halved):
                return best  # as close as rounding allows
            if not (np.isfinite(size) and np.isfinite(slope).all() and np.isfinite(mass).all()):
                break
            used = used.copy()
            used[part] += _correction(mass, slope, deviation)
        if smallest < OFF:
            return best
        worst = self._names[rows[int(np.abs(np.nan_to_num(deviation, nan=np.inf)).argmax())]]
        raise BadRequest(
            f"no state near the start keeps constraint {worst!r}",
            where="start",
            fix='correct the start values, or keep them with start_policy="keep"',
        )

    def _values(
        self, state: np.ndarray, time: float, constants: Sequence[float], *, positions: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Deviation, slope and mass matrix."""
        n, m, r = self._n, self._m, self._r
        numbers = np.array(self._tape([time, *state.tolist(), *constants]))
        y, w, mass, across, along = np.split(numbers, np.cumsum([m, r, n * n, m * n]))
        if positions:
            return y, across.reshape(m, n), mass.reshape(n, n)
        return w, along.reshape(r, n), mass.reshape(n, n)


def _tape(equations: Equations) -> Tape:
    """y, w, M, ∂y/∂q and J, written out once for all laws of these deviations."""
    kept = equations.deviations.__dict__
    if "_projection_tape" not in kept:
        inputs, deviations = equations.inputs, equations.deviations
        n, zero = len(inputs.q), inputs.graph.zero
        outputs = [*deviations.y, *deviations.w]
        for rows in (equations.dynamics.mass, jacobian(deviations.y, inputs.q), deviations.jacobian):
            outputs += _dense(rows, n, zero)
        kept["_projection_tape"] = Tape(equations.field.inputs, tuple(outputs))
    return kept["_projection_tape"]


def _dense(rows: Rows, columns: int, zero: Node) -> list[Node]:
    return [row.get(j, zero) for row in rows for j in range(columns)]


def _correction(mass: np.ndarray, slope: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    try:
        np.linalg.cholesky(mass)
        response = np.linalg.solve(mass, slope.T)
    except np.linalg.LinAlgError:
        response = slope.T
    return -response @ np.linalg.lstsq(slope @ response, deviation, rcond=None)[0]
