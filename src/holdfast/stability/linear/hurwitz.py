"""Where the roots of a matrix lie, decided exactly: doubles are rational numbers, so no tolerance is needed.

    μ(λ)      minimal polynomial of H: the roots of the characteristic one, each as often as its largest Jordan block
    μ = λᵏ g(λ²) h(λ),    g = gcd of the even and odd parts of μ/λᵏ (as polynomials of λ²)

h has no root on the imaginary axis, so Routh's table decides it; the roots of g(λ²) come in pairs ±λ: they lie on the
axis where g has a root ≤ 0, and one of the pair lies to the right otherwise. Roots on the axis belong to bounded
motions when they are simple in μ (k ≤ 1, g without multiple roots), to polynomial growth otherwise.

Gantmacher, *The Theory of Matrices*, ch. XV; for the matrix of the whole (y, w), which unlike det(λ²−λB−K̂) has no
spurious zero roots when some constraints are nonholonomic.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

LARGEST = 40  # rows: exact arithmetic takes about a second there


@dataclass(frozen=True, slots=True)
class RootPlace:
    """Which half planes hold roots, and whether those on the axis are semisimple."""

    right: bool
    axis: bool
    semisimple: bool
    exact: bool = True

    @property
    def hurwitz(self) -> bool:
        return not self.right and not self.axis


def place_of_roots(matrix: np.ndarray) -> RootPlace:
    """Decide exactly for the doubles given; beyond `LARGEST` rows by eigenvalues and a tolerance."""
    import flint

    size = len(matrix)
    if size > LARGEST:
        return _by_eigenvalues(np.asarray(matrix, dtype=float))
    entries = [flint.fmpq(*float(x).as_integer_ratio()) for x in np.asarray(matrix).ravel()]
    coefficients = [_fraction(c) for c in flint.fmpq_mat(size, size, entries).minpoly().coeffs()]
    zeros = next(k for k, c in enumerate(coefficients) if c)
    rest = coefficients[zeros:]
    even, odd = _poly(rest[::2]), _poly(rest[1::2])
    common = even.gcd(odd) if odd.degree() >= 0 else even
    on_axis, to_the_right, simple = _pairs(common)
    spread = _poly([c for coefficient in common.coeffs() for c in (_fraction(coefficient), Fraction(0))][:-1])
    free = [_fraction(c) for c in divmod(_poly(rest), spread)[0].coeffs()]
    return RootPlace(
        right=to_the_right or not routh_stable(free),
        axis=zeros > 0 or on_axis,
        semisimple=zeros <= 1 and simple,
    )


def _by_eigenvalues(matrix: np.ndarray) -> RootPlace:
    """Roots closer to the axis than rounding count as lying on it; whether those are semisimple is not claimed."""
    real = np.linalg.eigvals(matrix).real
    tiny = 1e-12 * np.linalg.norm(matrix, 2)
    axis = bool((np.abs(real) <= tiny).any())
    return RootPlace(right=bool(real.max() > tiny), axis=axis, semisimple=not axis, exact=False)


def routh_stable(coefficients: list[Fraction]) -> bool:
    """Whether a polynomial (constant term first, no root on the axis) has all roots to the left: Routh's table."""
    above = coefficients[::-1][::2]
    below = coefficients[::-1][1::2]
    if not below:
        return True  # a constant
    first = above[0]
    for _ in range(len(coefficients) - 1):
        if not below or below[0] * first <= 0:
            return False
        factor = above[0] / below[0]
        padded = below + [Fraction(0)] * (len(above) - len(below))
        above, below = below, [a - factor * b for a, b in zip(above[1:], padded[1:], strict=True)]
        first = above[0]
    return True


def _pairs(common: Any) -> tuple[bool, bool, bool]:
    """For g: whether some roots are ≤ 0 (pairs on the axis), whether others exist, and whether all are simple."""
    if common.degree() < 1:
        return False, False, True
    on_axis = to_the_right = False
    simple = True
    for root, multiplicity in common.numer().complex_roots():
        simple = simple and multiplicity == 1
        if root.imag == 0 and root.real < 0:
            on_axis = True
        else:
            to_the_right = True
    return on_axis, to_the_right, simple


def _poly(coefficients: list[Fraction]) -> Any:
    import flint

    return flint.fmpq_poly([flint.fmpq(c.numerator, c.denominator) for c in coefficients])


def _fraction(value: Any) -> Fraction:
    return Fraction(int(value.p), int(value.q))
