"""A stiff scheme that measures its own error, chooses its step by it, and can be asked between its steps.

    Z_i = X_i - x = step Σ_j a_ij F(X_j),   i = 1, 2, 3          c_3 = 1:   x⁺ = x + Z_3

    poles      the eigenvalues of A⁻¹, a real one μ and a pair α ± iβ: Newton's equations fall apart along them
    error      (μ - step ∂F/∂x)⁻¹ (step F(x) + Σ e_i Z_i): the distance to a formula of order 3 that knows F(x) too,
               with what is stiff filtered out
    dense      the polynomial of degree 3 through x and the three stages (see `engine.dense`)

All of it follows from the main tableau. Hairer, Wanner, *Solving Ordinary Differential Equations II*, IV.8.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import NamedTuple, final

import numpy as np

from holdfast.errors import BadStatement
from holdfast.schemes.algebra.exact import inverse, solved, transposed
from holdfast.schemes.kinds.adaptive import Adaptive
from holdfast.schemes.kinds.runge_kutta import RungeKutta

STAGES = 3
POLE_DIGITS = 12  # every machine agrees on them; more would only spare Newton's method a part in 10¹²


class Poles(NamedTuple):
    """Eigenvalues μ and α + iβ of A⁻¹ with their left and right eigenvectors, each left one times its right one 1."""

    real: float
    pair: complex
    real_left: tuple[float, ...]
    real_right: tuple[float, ...]
    pair_left: tuple[complex, ...]
    pair_right: tuple[complex, ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Collocation(Adaptive):
    """An implicit adaptive scheme round its `main` tableau."""

    name: str
    main: RungeKutta
    safety: Fraction = Fraction(9, 10)
    shrink: Fraction = Fraction(1, 5)
    growth: Fraction = Fraction(8)

    def __post_init__(self) -> None:
        main = self.main
        if main.stage_count != STAGES or main.stages[-1] != main.weights or not all(main.nodes):
            raise BadStatement(
                f"the scheme {self.name!r} cannot choose its steps by this tableau",
                where="Collocation(main=...)",
                fix=f"it needs {STAGES} implicit stages, the last of them the end of the step",
            )

    def __hash__(self) -> int:
        return hash((self.name, self.main))

    @property
    def dense_order(self) -> int:
        return STAGES

    @property
    def error_order(self) -> int:
        return self.exponent.denominator

    @property
    def exponent(self) -> Fraction:
        """The measured error grows with this inverse power of the step."""
        return Fraction(1, STAGES + 1)

    @property
    def inverse(self) -> list[list[Fraction]]:
        """A⁻¹."""
        return inverse(self.main.stages)

    @property
    def poles(self) -> Poles:
        """How Newton's equations fall apart."""
        return _poles(self)

    @property
    def error(self) -> list[Fraction]:
        """The e_i: Σ b̂_i c_i^(k-1) = 1/k less 1/μ for k = 1,   e = μ (b̂ - b) A⁻¹."""
        main, pole = self.main, Fraction(repr(self.poles.real))
        powers = [[node**k for node in main.nodes] for k in range(STAGES)]
        means = [Fraction(1, k + 1) - (1 / pole if k == 0 else 0) for k in range(STAGES)]
        apart = [ours - theirs for ours, theirs in zip(solved(powers, means), main.weights, strict=True)]
        return [pole * part for part in solved(transposed(main.stages), apart)]

    @property
    def dense(self) -> list[list[Fraction]]:
        """Rows over Z: Z_i = c_i (C_1 + (1 - c_i) (C_2 + c_i C_3)) solved for the coefficients C."""
        basis = [[c, c * (1 - c), c * c * (1 - c)] for c in self.main.nodes]
        return inverse(basis)

    @property
    def between(self) -> float:
        """max |θ Π(θ - c_i)| within a step: where the polynomial is worst, and how bad."""
        product = np.poly1d([0.0, *map(float, self.main.nodes)], r=True)
        return float(max(abs(product(place)) for place in product.deriv().roots.real))


@cache
def _poles(scheme: Collocation) -> Poles:
    """By doubles, rounded; the last entry of each right eigenvector is 1."""
    values, right = np.linalg.eig(np.array([[float(a) for a in row] for row in scheme.inverse]))
    right = right / right[-1]
    left = np.linalg.inv(right)
    real, pair = int(np.argmin(np.abs(values.imag))), int(np.argmax(values.imag))

    def rounded(number: complex) -> complex:
        return complex(round(number.real, POLE_DIGITS), round(number.imag, POLE_DIGITS))

    return Poles(
        rounded(values[real]).real,
        rounded(values[pair]),
        tuple(rounded(value).real for value in left[real]),
        tuple(rounded(value).real for value in right[:, real]),
        tuple(map(rounded, left[pair])),
        tuple(map(rounded, right[:, pair])),
    )
