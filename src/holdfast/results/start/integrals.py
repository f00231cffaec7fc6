"""The way back onto first integrals that are kept: positions and rates together.

    min Δqᵀ M Δq / |q|² + Δvᵀ M Δv / |v|²     with     I(q + Δq, v + Δv) = I₀,     |u|² = uᵀ M u

Integrals of a motion depend on each other as often as not (energy, momentum and Laplace vector of a Kepler orbit: one
of four follows from the others). They agree at the start, so that what follows from others is left out of each step of
Newton's iteration, by the singular values of the scaled rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.derivatives import jacobian
from holdfast.results.start.projection import ITERATIONS, NoState, Unmet
from holdfast.results.start.term_sizes import OFF, ROUNDING_NOISE, deviation_sizes

DEPENDENT = 2.0**-26  # √ε: a singular value of scaled rows below this is their rounding, seen through a square root


def keeps_integrals_only(equations: Equations) -> bool:
    """Whether all that is held are first integrals at their start values."""
    program = equations.problem.program
    return equations.solver.form == "eased" and set(program.constraints) <= set(program.keep)


class OntoIntegrals:
    """Moves states onto kept integrals, as `Projection` moves them onto constraints."""

    def __init__(self, equations: Equations) -> None:
        self._names, self._n, self._r = equations.constraints, len(equations.coordinates), len(equations.constraints)
        self._tape, self._sizes = _tape(equations), deviation_sizes(equations)

    def of(self, state: np.ndarray, time: float, constants: Sequence[float]) -> np.ndarray:
        """The state moved onto the integrals; a `NoState` if there is none near."""
        best, smallest, used = state, np.inf, state
        for _ in range(ITERATIONS):
            deviation, slope, mass = self._values(used, time, constants)
            terms = self._sizes.rounding(time, used.tolist(), constants)
            with np.errstate(all="ignore"):
                size = float(np.where(deviation == 0, 0.0, np.abs(deviation) / terms).max())
            halved = size < smallest / 2
            if size < smallest:
                best, smallest = used, size
            if smallest == 0 or (smallest < ROUNDING_NOISE and not halved) or not np.isfinite(size):
                break
            used = used.copy()
            used[: 2 * self._n] += self._correction(used, deviation, slope, mass)
        if smallest < OFF:
            return best
        raise self._refusal(best, time, constants)

    def _correction(self, state: np.ndarray, deviation: np.ndarray, slope: np.ndarray, mass: np.ndarray) -> np.ndarray:
        n = self._n
        try:
            response = np.linalg.inv(np.linalg.cholesky(mass)).T
            parts = [state[:n], state[n : 2 * n]]
            q, v = (float(np.sqrt(part @ mass @ part)) or 1.0 for part in parts)
            along = np.hstack([slope[:, :n] @ response * q, slope[:, n:] @ response * v])
            size = np.linalg.norm(along, axis=1)
            size = np.where(size > 0, size, 1.0)
            step = -np.linalg.lstsq(along / size[:, None], deviation / size, rcond=DEPENDENT)[0]
        except np.linalg.LinAlgError:
            return np.full(2 * n, np.nan)
        return np.concatenate([response @ step[:n] * q, response @ step[n:] * v])

    def _values(
        self, state: np.ndarray, time: float, constants: Sequence[float]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Deviations, their slopes in (q, v), and the mass matrix."""
        n, r = self._n, self._r
        numbers = np.array(self._tape([time, *state.tolist(), *constants]))
        w, mass, slope = np.split(numbers, np.cumsum([r, n * n]))
        return w, slope.reshape(r, 2 * n), mass.reshape(n, n)

    def _refusal(self, best: np.ndarray, time: float, constants: Sequence[float]) -> BadRequest:
        deviation, slope, _ = self._values(best, time, constants)
        worst = int(np.abs(np.nan_to_num(deviation, nan=np.inf)).argmax())
        name = self._names[worst]
        error = NoState(f"no state near keeps the integral {name!r}", where="project", fix="take a smaller step")
        error.residue = Unmet(name, float(deviation[worst]), slope[worst, self._n :], False)
        return error


def _tape(equations: Equations) -> Tape:
    """w, M and ∂w/∂(q, v), written out once."""

    def made() -> Tape:
        inputs, zero = equations.inputs, equations.inputs.graph.zero
        n, w = len(inputs.q), equations.deviations.w
        slopes = jacobian(w, (*inputs.q, *inputs.v))
        mass = [row.get(j, zero) for row in equations.dynamics.mass for j in range(n)]
        dense = [row.get(j, zero) for row in slopes for j in range(2 * n)]
        return Tape(equations.field.inputs, (*w, *mass, *dense))

    return equations.deviations.memo.once(("onto integrals",), made)
