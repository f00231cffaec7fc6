"""States of rest: v = 0, nothing accelerates, and the program is kept.

    F(q, 0, s) = 0,    ψ(q, 0, s) = 0

By damped least squares (Levenberg and Marquardt) from a rough state, with the slopes of the graph; each equation counts
in the size that its slopes give it. More equations than unknowns are no harm: those of the program follow from it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.equations.internal.tangent import Slopes, tangent_of

Array = np.ndarray
STEPS = 60  # of the iteration
SETTLED = 1e-10  # of the size of a state: a step below this ends the iteration
MET = 1e-9  # of what its slopes make of the state's size: an equation that is off by less is met
FAR = 1e6  # times the size of where it began: what went further has no rest


@np.errstate(all="ignore")
def rest_near(
    equations: Equations, state: Array | Sequence[float], time: float, constants: Sequence[float]
) -> Array | None:
    """The state of rest that the iteration finds from here; none where it finds none."""
    tangent, n = tangent_of(equations), len(equations.coordinates)
    used = np.array(state, dtype=float)
    used[n : 2 * n] = 0.0
    moving = [k for k in range(len(used)) if not n <= k < 2 * n]
    reach = 1.0 + float(np.abs(used).max(initial=0.0))
    damping, slopes = 1e-3, tangent.at(time, used, constants)
    if not slopes.finite:
        return None
    for _ in range(STEPS):
        residue, system, scale = _scaled(slopes, moving, reach)
        if not residue.size:
            return used
        step = _step(system, residue, damping)
        trial = used.copy()
        trial[moving] += step / slopes.weights[moving]
        if not np.isfinite(trial).all() or np.abs(trial).max() > FAR * reach:
            return None
        ahead = tangent.at(time, trial, constants)
        better = ahead.finite and _size(ahead, scale) <= _size(slopes, scale)
        if better:
            small = bool((np.abs(trial - used) <= SETTLED * np.fmax(np.abs(trial), reach * SETTLED)).all())
            used, slopes, damping = trial, ahead, damping / 10
            if small:
                break
        elif damping > 1e12:
            break
        else:
            damping = max(damping, 1e-12) * 10
    residue, _, _ = _scaled(slopes, moving, reach)
    return used if bool((np.abs(residue) <= MET).all()) else None


def _values(slopes: Slopes) -> Array:
    return np.concatenate([slopes.rates, slopes.deviations])


def _size(slopes: Slopes, scale: Array) -> float:
    return float(np.linalg.norm(_values(slopes) / scale))


def _scaled(slopes: Slopes, moving: list[int], reach: float) -> tuple[Array, Array, Array]:
    """What is left of each equation, and its slopes by the moving states: both over what these make of the reach."""
    system = np.vstack([slopes.motion, slopes.program])[:, moving] / slopes.weights[moving]
    sizes = np.linalg.norm(system, axis=1) * reach * slopes.weights[moving].max(initial=0.0)
    values = _values(slopes)
    largest = float(sizes.max(initial=0.0)) or 1.0
    scale = np.where(sizes > 1e-12 * largest, sizes, np.where(values != 0, np.abs(values) / 1e-3, 1.0))
    return values / scale, system / scale[:, None], scale


def _step(system: Array, residue: Array, damping: float) -> Array:
    """(JᵀJ + damping · diag) δ = −Jᵀ r, by a least squares of the rows and the damping below them."""
    columns = np.linalg.norm(system, axis=0)
    below = np.diag(np.sqrt(damping) * np.where(columns > 0, columns, 1.0))
    rows = np.vstack([system, below])
    return np.asarray(np.linalg.lstsq(rows, np.concatenate([-residue, np.zeros(len(below))]), rcond=None)[0])
