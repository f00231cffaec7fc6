"""What stays free along a run: how small changes of it grow, and which coordinates leave.

Roots at single instants prove nothing along a motion that changes. So the transition matrix of the linearised motion is
carried from row to row, on the directions that the program leaves free:

    Φ' = A(t) Φ,    Φ(0) = a basis of the null space of Z,    projected onto it again at every row

by the exponential of the mean of A between two rows. Its growth is *estimated*: the rows are those of one run, and the
norm is a choice (coordinates by the roots of their masses, rates over a hundredth of the duration). A motion that only
shears (a pendulum whose period depends on its swing) makes it grow in proportion to time; what grows more than that
from the first half to the second grows without bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.equations.internal.tangent import Slopes, free_basis, shares, tangent_of

Array = np.ndarray
ROWS = 1000  # of a run, at most, between which changes are carried
WORK, FEWEST = 3 * 10**8, 100  # numbers that all rows may take together, and rows that are taken in any case
TICKS = 100  # the unit of time in the norm is the duration over this
MORE = 1.5  # growth over the second half below this is none: what moves then was asked to, and x'' = 0 gives 2
DOUBLED = 8.0  # growth over the second half beyond this is more than any t² gives (4), with a margin of two
STEADY = 0.5  # of its pace in the third quarter: a coordinate that keeps this in the last one goes on leaving
AWAY = 0.2  # of its whole range, in the last quarter: one that moved less is coming to rest (steady motion covers 0.25)
CARRIED = 0.01  # of a direction: a coordinate with a smaller share does not carry it


@dataclass(frozen=True, eq=False)
class FreeAlongRun:
    """How what is free moved along one run; an estimate."""

    growth: float  # of small changes over the run: the norm of Φ at the end, or infinite
    exponent: float  # its rate per unit of time over the second half
    exponential: bool  # whether it grew faster than any power of time that a bounded motion shows
    leaving: Mapping[str, float]  # coordinates that go on leaving at the end, with their rate over the last quarter
    shares: Array  # of each coordinate in what is free, the mean along the run
    until: float  # the time up to which this is known

    label = "estimated"

    @property
    def grows(self) -> bool:
        return self.exponential or bool(self.leaving)

    def to_dict(self) -> dict[str, Any]:
        """As plain data; growth beyond all numbers is null."""
        return {
            "label": self.label,
            "growth": self.growth if np.isfinite(self.growth) else None,
            "exponent": self.exponent,
            "exponential": self.exponential,
            "leaving": dict(self.leaving),
            "until": self.until,
        }


@np.errstate(all="ignore")
def along_run(
    equations: Equations, times: Array, states: Array, constants: Sequence[float], chosen: Sequence[int]
) -> FreeAlongRun | None:
    """What is free along the rows of a run (rows, states); none where fewer than a few rows are finite."""
    good = np.isfinite(states).all(axis=1)
    last = len(good) if good.all() else int(good.argmin())
    most = min(last, ROWS, max(FEWEST, WORK // tangent_of(equations).work))
    rows = np.unique(np.linspace(0, last - 1, most).astype(int)) if last else np.zeros(0, dtype=int)
    if len(rows) < 8 or not times[rows[-1]] > times[rows[0]]:
        return None
    times, states = times[rows], states[rows]
    slopes = tangent_of(equations).along(times, states, constants)
    n, duration = len(equations.coordinates), float(times[-1] - times[0])
    weights = np.median(np.where(np.isfinite(slopes.weights), slopes.weights, 1.0), axis=0)
    weights[n : 2 * n] *= duration / TICKS
    if not slopes.finite:
        return None
    sizes, carried, loose = _carried(times, slopes, weights, chosen, n)
    half = int(np.searchsorted(times, times[0] + duration / 2))
    peak = np.maximum.accumulate(sizes)
    gained = float(peak[-1] - peak[half])
    span = float(times[-1] - times[half])
    found = _leaving(equations, times, states, loose) if gained > np.log(MORE) else {}
    growth = float(np.exp(min(sizes[-1], 700.0))) if sizes[-1] < 700 else float("inf")
    return FreeAlongRun(
        growth, gained / span if span else 0.0, bool(gained > np.log(DOUBLED)), found, carried, float(times[-1])
    )


def _carried(times: Array, slopes: Slopes, weights: Array, chosen: Sequence[int], n: int) -> tuple[Array, Array, Array]:
    """log ‖Φ‖ at each row, and the mean share in what is free of each chosen state, and of each rate."""
    bases = [free_basis(program, weights) for program in slopes.program]
    motion = weights[:, None] * slopes.motion / weights
    steps = np.diff(times)
    flows = _exponentials((motion[1:] + motion[:-1]) / 2 * steps[:, None, None])
    phi, size, sizes = bases[0], 0.0, [0.0]
    for flow, basis in zip(flows, bases[1:], strict=True):
        phi = basis @ (basis.T @ (flow @ phi))
        norm = float(np.linalg.norm(phi, 2)) if phi.size else 0.0
        if not (np.isfinite(norm) and norm > 0):
            break
        phi, size = phi / norm, size + np.log(norm)
        sizes.append(size)
    sizes += [sizes[-1]] * (len(times) - len(sizes))
    some = bases[:: max(1, len(bases) // 50)]
    rates = range(n, 2 * n)
    carried, loose = (np.mean([shares(basis, which) for basis in some], axis=0) for which in (chosen, rates))
    return np.array(sizes), carried, loose


def _exponentials(matrices: Array) -> Array:
    """exp of each matrix: a Taylor series at a small part of it, squared back."""
    size = float(np.abs(matrices).sum(axis=2).max(initial=0.0))
    halvings = max(0, int(np.ceil(np.log2(size))) + 1) if size > 0 else 0
    small = matrices / 2.0**halvings
    term = np.broadcast_to(np.eye(matrices.shape[1]), matrices.shape)
    total = term.copy()
    for k in range(1, 14):
        term = term @ small / k
        total = total + term
    with np.errstate(all="ignore"):
        for _ in range(halvings):
            total = total @ total
    return total


def _leaving(equations: Equations, times: Array, states: Array, loose: Array) -> dict[str, float]:
    """Coordinates whose rates are free and that go on leaving, one way, at no falling pace over the second half.

    What a nonholonomic constraint asks to move is left out: that it moves is the program's own wish.
    """
    program = equations.problem.program
    wished = {j for row in equations.deviations.jacobian[len(program.holonomic) :] for j in row}
    quarters = [int(np.searchsorted(times, times[0] + part * (times[-1] - times[0]))) for part in (0.5, 0.75)]
    third, last = slice(quarters[0], quarters[1] + 1), slice(quarters[1], len(times))
    found = {}
    for k, (name, q, share) in enumerate(zip(equations.coordinates, states.T, loose, strict=False)):
        if share < CARRIED or k in wished:
            continue
        paces = [float((q[part][-1] - q[part][0]) / (times[part][-1] - times[part][0])) for part in (third, last)]
        one_way = bool((np.diff(q[third.start :]) * np.sign(paces[1]) >= 0).all())
        steady = paces[0] * paces[1] > 0 and abs(paces[1]) >= STEADY * abs(paces[0])
        if one_way and steady and abs(q[-1] - q[last.start]) >= AWAY * float(np.ptp(q)):
            found[name] = paces[1]
    return found
