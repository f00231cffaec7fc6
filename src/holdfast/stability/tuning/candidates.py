"""Gains that theory offers for a scheme and a step, before anything is measured.

A pair of roots -a ± ib, or -r₁ and -r₂, is told by its natural rate and its damping ratio:

    omega = √k = |root|,     zeta = b/(2 omega),     nonholonomic constraints take w' = -omega w
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from holdfast.schemes.kinds.scheme import Scheme
from holdfast.stability.linear.step_limit import spectral_limit

RATIOS = (0.2, 0.35, 0.5, 1 / math.sqrt(2), 1.0, 1.4, 2.0, 3.0)
RATES = 30  # of the sweep
FARTHEST_ROOT = 10.0  # |root|·step where the scheme sets no limit


@dataclass(frozen=True, slots=True)
class Candidate:
    """One rate and damping ratio for all constraints; `name` for those that a book or the scheme itself suggests."""

    rate: float
    ratio: float
    name: str = ""


def zeros(scheme: Scheme, step: float) -> list[Candidate]:
    """Roots at which one step wipes a deviation out: the zeros of the scheme's R, over the step."""
    candidates = []
    for z in scheme.wiping_roots():
        if z.real < 0 and z.imag >= -1e-9:
            name = f"zero of R at {z.real:.3g}" + (f" ± {abs(z.imag):.3g}i" if abs(z.imag) > 1e-9 else "")
            candidates.append(Candidate(abs(z) / step, min(1.0, -z.real / abs(z)), name))
    return candidates


def textbook(scheme: Scheme, step: float | None) -> list[Candidate]:
    """Rules that are printed and used; those tied to the step need one."""
    rules = [Candidate(1.0, 1.0, "alpha = beta = 1"), Candidate(5.0, 1.0, "alpha = beta = 5")]
    rules += [Candidate(20.0, 1.0, "alpha = beta = 20")]
    if step is None:
        return rules
    rules += [
        Candidate(1 / step, 1.0, "alpha = beta = 1/step"),
        Candidate(math.sqrt(2) / step, math.sqrt(0.5), "alpha = 1/step, beta = √2/step"),
    ]
    return rules + zeros(scheme, step)


def largest_stable_rate(scheme: Scheme, step: float, ratio: float, *, holonomic: bool) -> float:
    """The largest rate that the spectral limit allows at a damping ratio: the limit scales with the rate."""
    matrix = [[0.0, 1.0], [-1.0, -2.0 * ratio]] if holonomic else [[-1.0]]
    return min(float(spectral_limit(scheme, matrix)), FARTHEST_ROOT) / step


def swept_rates(scheme: Scheme, step: float | None, duration: float, motion: float, *, holonomic: bool) -> np.ndarray:
    """Rates from far below the motion's own to the fence; adaptive schemes pay for fast roots, and stop earlier."""
    low = 0.1 * min(motion, 10 / duration)
    if step is None:
        return np.geomspace(low, 100 * motion, RATES)
    high = max(largest_stable_rate(scheme, step, ratio, holonomic=holonomic) for ratio in RATIOS)
    return np.geomspace(min(low, 0.01 * high), high, RATES)
