"""Solutions of large systems, looked at in doubles first: what is plainly solved need not be enclosed in balls.

A mistake on the way to a solution (a row left out, a sign, a wrong order) leaves a residual as large as the terms of
its equation, at a state where nothing is special. Rounding leaves one that is smaller by far; between the two, balls
decide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from holdfast.equations.dynamics.deviation import Deviations
from holdfast.equations.dynamics.lagrange import Dynamics
from holdfast.equations.dynamics.sample import Sample
from holdfast.equations.solving.solution import Solution
from holdfast.graph.linear_algebra import Rows
from holdfast.graph.nodes import Node

PLAIN = 1e-9  # of its largest term: a residual below this is rounding (10⁻¹⁶, through a long elimination), no mistake


def plainly_solved(
    dynamics: Dynamics, deviations: Deviations, holders: Rows, solution: Solution, sample: Sample
) -> bool:
    """Whether M a − E μ + m₂ − h and J a + D μ + γ − Y vanish beside their terms, in all rows and by far."""
    a, mu = sample.of(solution.accelerations), sample.of(solution.mu)
    rest = (_sum(sample, solution.excess_bias, solution.bias), _sum(sample, solution.drift, solution.demand))
    held = [{k: -value for k, value in row.items()} for row in sample.rows(holders)]
    moved = zip(sample.rows(dynamics.mass), held, rest[0], strict=True)
    kept = zip(sample.rows(deviations.jacobian), sample.rows(deviations.through_rows), rest[1], strict=True)
    for by_motion, by_force, known in (*moved, *kept):
        terms = [value * a[j] for j, value in by_motion.items()]
        terms += [value * mu[k] for k, value in by_force.items()]
        off, largest = math.fsum((*terms, *known)), max(map(abs, (*terms, *known)))
        if not abs(off) <= PLAIN * largest < math.inf:
            return False
    return True


def _sum(sample: Sample, plus: Sequence[Node], minus: Sequence[Node]) -> list[tuple[float, float]]:
    """The two known terms of each row."""
    return [(x, -y) for x, y in zip(sample.of(plus), sample.of(minus), strict=True)]
