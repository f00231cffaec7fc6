"""Steps from the theorems: the rule that follows from Theorem A, and the chain of figures of the 2006 paper.

    |Ṽ| ≤ ½τ²W   ⇒   τ ≤ 2 p l₁ ε²/W   and   τp ≤ 1                       (Theorem A)

    paper:  ε ≥ ‖z₀‖√(l₂/l₁),   τ₁ = α/p < τ < τ₂ = ‖z₀‖√(2 l₁α/W),   τ₁ < τ₂ ⇔ α < 2 l₁p²‖z₀‖²/W

The lower limit τ₁ is an artefact of a fixed α: letting α → τp turns the chain into τ ≤ 2 p l₁‖z₀‖²/W.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from holdfast.errors import BadRequest
from holdfast.stability.theory.lyapunov import LyapunovFunction


def step_rule(function: LyapunovFunction, tolerance: float, curvature: float) -> float:
    """The largest τ that |W| ≤ `curvature` allows: min(2 p l₁ε²/W, 1/p)."""
    if function.rate <= 0:
        raise BadRequest("V does not fall under this law: p ≤ 0", fix="choose another G, or other gains")
    return min(2 * function.rate * function.l1 * tolerance**2 / curvature, 1 / function.rate)


def smallest_tolerance(function: LyapunovFunction, step: float, curvature: float, start: float = 0.0) -> float:
    """The smallest ε that the rule grants for a step: √(τW/(2 p l₁)), and at least ‖z₀‖√(l₂/l₁)."""
    settled = sqrt(step * curvature / (2 * function.rate * function.l1))
    return max(settled, start * sqrt(function.l2 / function.l1))


@dataclass(frozen=True, slots=True)
class PaperChain:
    """The figures of the paper's example, from p, l₁, l₂, ‖z₀‖, W and α."""

    tolerance: float  # ε
    tau_1: float
    tau_2: float
    tau_2_factor: float  # of √(2α)
    alpha_limit: float  # τ₁ < τ₂ below it
    rule_by_start: float  # 2 p l₁‖z₀‖²/W
    rule_by_tolerance: float  # 2 p l₁ε²/W

    @property
    def consistent(self) -> bool:
        return self.tau_1 < self.tau_2


def paper_chain(function: LyapunovFunction, start: float, curvature: float, alpha: float) -> PaperChain:
    """The paper's chain for ‖z₀‖ = `start` and |W| ≤ `curvature`."""
    p, l1, start = function.rate, function.l1, float(start)
    tolerance = start * sqrt(function.l2 / l1)
    factor = start * sqrt(l1 / curvature)
    return PaperChain(
        tolerance=tolerance,
        tau_1=alpha / p,
        tau_2=factor * sqrt(2 * alpha),
        tau_2_factor=factor,
        alpha_limit=2 * l1 * p**2 * start**2 / curvature,
        rule_by_start=2 * p * l1 * start**2 / curvature,
        rule_by_tolerance=2 * p * l1 * tolerance**2 / curvature,
    )
