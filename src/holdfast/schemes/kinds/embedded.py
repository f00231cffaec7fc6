"""A scheme that measures its own error, chooses its step by it, and can be asked between its steps.

    stages 1…s               the main tableau, which gives x⁺
    stage s+1                F(x⁺, t + step): also the first stage of the next step
    further stages           only for dense output, at accepted steps

    error rows e             Σ e_i k_i, one or two estimates of the local error divided by the step
    dense rows d             Σ d_i k_i, the higher coefficients of the interpolant (see `engine.dense`)
    the other numbers        of the step control (see `engine.drivers.adaptive`)

Hairer, Nørsett, Wanner, *Solving Ordinary Differential Equations I*, II.4 to II.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from holdfast.schemes.kinds.adaptive import Adaptive
from holdfast.schemes.kinds.runge_kutta import RungeKutta

Rows = tuple[tuple[Fraction, ...], ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Embedded(Adaptive):
    """An explicit adaptive scheme round its `main` tableau."""

    main: RungeKutta
    error: Rows
    dense: Rows
    dense_order: int
    extra_stages: Rows = ()
    exponent: Fraction
    feedback: Fraction = Fraction(0)
    safety: Fraction = Fraction(9, 10)
    shrink: Fraction
    growth: Fraction

    def __hash__(self) -> int:
        return hash(self.main)

    @property
    def error_order(self) -> int:
        return self.exponent.denominator

    @property
    def dense_stages(self) -> int:
        return len(self.extra_stages)

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.main.name
