"""One value of the kernel of forms, in the driver language: how it lies in memory, and how large it is.

    q(e, s) = Σ_k sᵏ ( Σ_m c[m][k] eᵐ + Σ_j Σ_i S_j[i] ρ_j[k−i](e) + r_k(e) ),    |e| ≤ 1,   |r_k| ≤ R[k]

e are the variables of a cell, s the length of a step beyond the point of expansion. ρ_j is the unknown residual of one
row of one linear system that was solved on the way, |ρ_j[k]| ≤ bounds[j][k]; S_j says how the value moves with it. c
and S are doubles; what rounding, truncation and products of small things leave goes into R. No rounding mode is needed:
bounds are sums of terms that are not negative, computed to nearest and widened by PAD.

A value has these rows, each of TERMS Reals, a cell in each lane:

    c (monomials) | sizes by degree 0 … order | R | E: what its residuals may add | Q, D: rounding of the run | S

`shape` is (monomials, order, rows before S, Reals of a value, then the degree of each monomial). The mathematics is in
docs/theory/8-tube.md.
"""

from __future__ import annotations

from holdfast.engine.drivers.language import Integer, Integers, Real, Reals, absolute, part, real

TERMS = 6  # coefficients in s; given by the assembly
UNIT = 2.0**-53  # of one operation to nearest
PAD = 1 + 2.0**-36  # more than 10⁵ roundings of a sum of terms that are not negative
LEAST = 1e-280  # more than what underflow takes from thousands of terms
TERM = 2.0**-44  # the rounding of one coefficient: sums of up to 512 products
HUGE = 1e40  # residuals beyond are no bound; below, what underflow does to S stays below LEAST


def of_product(shape: Integers) -> Real:
    """The rounding of one coefficient of a product, beside its terms.

    A monomial is the product of two others in at most 2^order ways, each with TERMS products of powers of s; residuals
    have two.
    """
    total = real(UNIT)
    for _ in range(shape[1]):
        total = total + total
    each = real(4.0 * UNIT)
    for _ in range(TERMS):
        each = each + total
    return each


def remainder(v: Reals, shape: Integers) -> Reals:
    """R."""
    return part(v, (shape[0] + shape[1] + 1) * TERMS)


def residual_part(v: Reals, shape: Integers) -> Reals:
    """E."""
    return part(v, (shape[0] + shape[1] + 2) * TERMS)


def rounding(v: Reals, shape: Integers) -> Reals:
    """Q."""
    return part(v, (shape[0] + shape[1] + 3) * TERMS)


def symbol(v: Reals, shape: Integers, j: Integer) -> Reals:
    """S_j."""
    return part(v, (shape[2] + j) * TERMS)


def of_degree(v: Reals, shape: Integers, degree: Integer) -> Reals:
    """Σ |c| over the monomials of a degree."""
    return part(v, (shape[0] + degree) * TERMS)


def moving(v: Reals, shape: Integers, k: Integer) -> Real:
    """How far the polynomial of sᵏ may be from its constant."""
    total = real(0.0)
    for degree in range(1, shape[1] + 1):
        total = total + v[(shape[0] + degree) * TERMS + k]
    return total


def polynomial(v: Reals, shape: Integers, k: Integer) -> Real:
    """The largest value of the polynomial of sᵏ, at most."""
    return v[shape[0] * TERMS + k] + moving(v, shape, k)


def measure(v: Reals, shape: Integers, first: Integer, last: Integer) -> None:
    """The sizes by degree, of the powers of s from `first` to before `last`."""
    for degree in range(shape[1] + 1):
        row = of_degree(v, shape, degree)
        for k in range(first, last):
            row[k] = 0.0
    for m in range(shape[0]):
        sizes = of_degree(v, shape, shape[4 + m])
        c = part(v, m * TERMS)
        for k in range(first, last):
            sizes[k] = sizes[k] + absolute(c[k])


def clear(v: Reals, rows: Integer) -> None:
    """Zero the first rows."""
    for i in range(rows * TERMS):
        v[i] = 0.0


def copy(v: Reals, a: Reals, rows: Integer) -> None:
    """The first rows of another value."""
    for i in range(rows * TERMS):
        v[i] = a[i]


def reach(v: Reals, shape: Integers, count: Integer, bounds: Reals) -> None:
    """E from S and the bounds of the first `count` residuals."""
    e = residual_part(v, shape)
    for k in range(TERMS):
        e[k] = 0.0
    for j in range(count):
        s = symbol(v, shape, j)
        b = part(bounds, j * TERMS)
        for i in range(TERMS):
            size = absolute(s[i])
            for k in range(TERMS - i):
                e[i + k] = e[i + k] + size * b[k]
    for k in range(TERMS):
        e[k] = e[k] * PAD
