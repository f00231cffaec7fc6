"""Linear systems of forms, solved without elimination on forms, in the driver language.

    A x = b,     x = x̃ + S_old ρ_old + S_new ρ_new

x̃ is a polynomial found in plain doubles from the centre A_c of the matrix, S_old and S_new ≈ A_c⁻¹ too; ρ_old are the
residuals of earlier systems, and ρ_new is thereby defined. It obeys

    ρ_new = b − A (x̃ + S_old ρ_old) + (I − A S_new) ρ_new

and any v > 0 that is not below the right side made of absolute values bounds it, and shows A to be regular over the
whole cell (docs/theory/8-tube.md). Nothing is left for R.

A system lies in `system` as: rows N, entries, first residual, then for each entry its row, column, slot and number of
residuals, for each row the slot of b (−1 for 0) and its number of residuals, and for each unknown its slot.
"""

from __future__ import annotations

from holdfast.engine.drivers.language import (
    Integer,
    Integers,
    Number,
    Reals,
    absolute,
    any_lane,
    part,
    quotient,
    real,
    select,
)
from holdfast.engine.forms.products import add_product
from holdfast.engine.forms.values import (
    PAD,
    TERMS,
    clear,
    measure,
    moving,
    of_degree,
    polynomial,
    remainder,
    residual_part,
)


def invert(a: Reals, size: Integer, inverse: Reals) -> None:
    """An approximate inverse by Gauss and Jordan, rows exchanged lane by lane; a is used up."""
    for i in range(size * size):
        inverse[i] = 0.0
    for i in range(size):
        inverse[i * size + i] = 1.0
    for c in range(size):
        for i in range(c + 1, size):
            better = absolute(a[i * size + c]) > absolute(a[c * size + c])
            if any_lane(better):
                for j in range(size):
                    upper = a[c * size + j]
                    lower = a[i * size + j]
                    a[c * size + j] = select(better, lower, upper)
                    a[i * size + j] = select(better, upper, lower)
                    upper = inverse[c * size + j]
                    lower = inverse[i * size + j]
                    inverse[c * size + j] = select(better, lower, upper)
                    inverse[i * size + j] = select(better, upper, lower)
        scale = quotient(1.0, a[c * size + c])
        for j in range(size):
            a[c * size + j] = a[c * size + j] * scale
            inverse[c * size + j] = inverse[c * size + j] * scale
        for i in range(size):
            factor = a[i * size + c]
            if i != c and any_lane(factor != 0.0):
                for j in range(size):
                    a[i * size + j] = a[i * size + j] - factor * a[c * size + j]
                    inverse[i * size + j] = inverse[i * size + j] - factor * inverse[c * size + j]


def entry_value(mem: Reals, system: Integers, e: Integer, shape: Integers) -> Reals:
    """An entry of A."""
    return part(mem, system[3 + 4 * e + 2] * shape[3])


def unknown_value(mem: Reals, system: Integers, j: Integer, shape: Integers) -> Reals:
    """An unknown."""
    return part(mem, system[3 + 4 * system[1] + 2 * system[0] + j] * shape[3])


def centre_inverse(mem: Reals, system: Integers, shape: Integers, inverse: Reals, vary: Reals, work: Reals) -> None:
    """A_c⁻¹ at s = 0, and |A − A_c| of each entry and power of s. work: N² Reals."""
    size = system[0]
    for i in range(size * size):
        work[i] = 0.0
    for e in range(system[1]):
        a = entry_value(mem, system, e, shape)
        place = system[3 + 4 * e] * size + system[3 + 4 * e + 1]
        work[place] = work[place] + a[0]
        r = remainder(a, shape)
        err = residual_part(a, shape)
        for k in range(TERMS):
            vary[e * TERMS + k] = (moving(a, shape, k) + r[k] + err[k]) * PAD
    invert(work, size, inverse)


def polynomial_solution(
    mem: Reals, system: Integers, pairs: Integers, count: Integer, shape: Integers, inverse: Reals, work: Reals
) -> None:
    """x̃, by powers of s and then by degree in the variables of the cell. work: N monomials."""
    size = system[0]
    monomials = shape[0]
    right = part(system, 3 + 4 * system[1])
    for k in range(TERMS):
        for i in range(size):
            for m in range(monomials):
                work[i * monomials + m] = 0.0
            if right[2 * i] >= 0:
                b = part(mem, right[2 * i] * shape[3])
                for m in range(monomials):
                    work[i * monomials + m] = b[m * TERMS + k]
        for e in range(system[1]):
            a = entry_value(mem, system, e, shape)
            x = unknown_value(mem, system, system[3 + 4 * e + 1], shape)
            row = part(work, system[3 + 4 * e] * monomials)
            if k > 0:
                for n in range(count):
                    p = pairs[3 * n] * TERMS
                    q = pairs[3 * n + 1] * TERMS
                    total = row[pairs[3 * n + 2]]
                    for j in range(1, k + 1):
                        total = total - a[p + j] * x[q + k - j]
                    row[pairs[3 * n + 2]] = total
        for degree in range(shape[1] + 1):
            if degree > 0:
                for e in range(system[1]):
                    a = entry_value(mem, system, e, shape)
                    x = unknown_value(mem, system, system[3 + 4 * e + 1], shape)
                    row = part(work, system[3 + 4 * e] * monomials)
                    for n in range(count):
                        if pairs[3 * n] > 0 and shape[4 + pairs[3 * n + 2]] == degree:
                            place = pairs[3 * n + 2]
                            row[place] = row[place] - a[pairs[3 * n] * TERMS] * x[pairs[3 * n + 1] * TERMS + k]
            for m in range(monomials):
                if shape[4 + m] == degree:
                    for j in range(size):
                        x = unknown_value(mem, system, j, shape)
                        total = real(0.0)
                        for i in range(size):
                            total = total + inverse[j * size + i] * work[i * monomials + m]
                        x[m * TERMS + k] = total
    for j in range(size):
        measure(unknown_value(mem, system, j, shape), shape, 0, TERMS)


def residual_of_solution(
    mem: Reals, system: Integers, pairs: Integers, count: Integer, shape: Integers, term: Number, left: Reals,
    work: Reals,
) -> None:  # fmt: skip
    """|b − A x̃| row by row, old residuals only where they multiply what moves. work: a value's monomials, 3 rows."""
    size = system[0]
    monomials = shape[0]
    order = shape[1]
    right = part(system, 3 + 4 * system[1])
    poly = work
    mass = part(work, monomials * TERMS)
    rest = part(mass, TERMS)
    for i in range(size):
        clear(work, monomials + 2)
        if right[2 * i] >= 0:
            b = part(mem, right[2 * i] * shape[3])
            rb = remainder(b, shape)
            for m in range(monomials * TERMS):
                poly[m] = -b[m]
            for k in range(TERMS):
                mass[k] = polynomial(b, shape, k)
                rest[k] = rb[k]
        for e in range(system[1]):
            if system[3 + 4 * e] == i:
                a = entry_value(mem, system, e, shape)
                x = unknown_value(mem, system, system[3 + 4 * e + 1], shape)
                for n in range(count):
                    add_product(
                        part(poly, pairs[3 * n + 2] * TERMS),
                        part(a, pairs[3 * n] * TERMS),
                        part(x, pairs[3 * n + 1] * TERMS),
                    )
                ra = remainder(a, shape)
                ea = residual_part(a, shape)
                for p in range(TERMS):
                    size_a = polynomial(a, shape, p)
                    for q in range(TERMS - p):
                        size_x = polynomial(x, shape, q)
                        total = ra[p] * size_x + ea[p] * (moving(x, shape, q) + term * size_x)
                        above = real(0.0)
                        for degree in range(1, order + 1):
                            high = of_degree(x, shape, order + 1 - degree)
                            low = of_degree(a, shape, degree)
                            above = above + high[q]
                            total = total + low[p] * above
                        rest[p + q] = rest[p + q] + total
                        mass[p + q] = mass[p + q] + size_a * size_x
        for k in range(TERMS):
            total = rest[k] + term * mass[k]
            for m in range(monomials):
                total = total + absolute(poly[m * TERMS + k])
            left[i * TERMS + k] = total
