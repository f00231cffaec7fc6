"""What roots say of a motion near its rest: whether it returns, swings, stays, or runs away."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

Array = np.ndarray
NEUTRAL = 1e-6  # of the largest root: a real part below this is none
NOISE = 1e-7  # of the pace of the whole motion: a double root known to 1e-16 of its square is spread by 1e-8
TOGETHER = 10.0  # times what counts as none: roots nearer than this are one root, of higher multiplicity
DEFICIENT = 1e-8  # of the pace: a singular value of A - root below this is a direction of its own


class Fate(Enum):
    """What becomes of a small push at rest, to first order, from best to worst."""

    nothing = "nothing moves"
    returns = "returns to rest"
    swings = "swings about its rest, and neither returns nor leaves"
    stays = "stays where it is pushed"
    leaves = "keeps any push, and leaves for ever"
    runs_away = "runs away from rest"

    @property
    def bounded(self) -> bool:
        return self not in (Fate.leaves, Fate.runs_away)


@dataclass(frozen=True, eq=False)
class RootsAtRest:
    """The roots of a matrix, largest real part first, and what they say.

    A root with Re > 0 runs away. One with Re = 0 is harmless where it has as many directions as its multiplicity
    (semisimple); where it has fewer, a push grows with time: x'' = 0 has the double root 0 and leaves at any speed.
    """

    roots: Array
    fate: Fate
    worst: complex | None = None  # the root that decides
    direction: Array | None = None  # and what moves by it, in the basis of the matrix


def roots_at_rest(matrix: Array, pace: float) -> RootsAtRest:
    """The roots of a matrix, in which rates are measured by the pace of the whole motion."""
    if not len(matrix):
        return RootsAtRest(np.zeros(0, dtype=complex), Fate.nothing)
    roots, vectors = np.linalg.eig(matrix)
    order = np.lexsort((-roots.imag, -roots.real))
    roots, vectors = roots[order], vectors[:, order]
    none = max(NEUTRAL * float(np.abs(roots).max()), NOISE * pace)
    if roots[0].real > none:
        return RootsAtRest(roots, Fate.runs_away, complex(roots[0]), vectors[:, 0])
    still = np.nonzero(np.abs(roots.real) <= none)[0]
    for k in still:
        alike = np.abs(roots - roots[k]) <= TOGETHER * none
        if alike.sum() > _directions(matrix, roots[alike].mean(), pace):
            worst = roots[k] if abs(roots[k].imag) > TOGETHER * none else 0.0
            return RootsAtRest(roots, Fate.leaves, complex(worst), vectors[:, k])
    if not len(still):
        return RootsAtRest(roots, Fate.returns, complex(roots[0]), vectors[:, 0])
    slow = still[int(np.abs(roots[still].imag).argmin())]
    if abs(roots[slow].imag) > TOGETHER * none:
        return RootsAtRest(roots, Fate.swings, complex(roots[slow]), vectors[:, slow])
    return RootsAtRest(roots, Fate.stays, 0j, vectors[:, slow])


def _directions(matrix: Array, root: complex, pace: float) -> int:
    """How many independent directions a root has; at least one."""
    found = np.linalg.svd(matrix - root * np.eye(len(matrix)), compute_uv=False)
    return max(1, int((found <= DEFICIENT * pace).sum()))
