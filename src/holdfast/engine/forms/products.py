"""Sums and products of forms, in the driver language."""

from __future__ import annotations

from holdfast.engine.drivers.language import Integer, Integers, Number, Reals, absolute, fma, number, part
from holdfast.engine.forms.values import (
    LEAST,
    PAD,
    TERMS,
    UNIT,
    clear,
    copy,
    measure,
    moving,
    of_degree,
    of_product,
    polynomial,
    reach,
    remainder,
    residual_part,
    symbol,
)


def add_scaled(out: Reals, a: Reals, b: Reals) -> None:
    """out += a₀ b, for series in s."""
    x = a[0]
    for k in range(TERMS):
        out[k] = fma(x, b[k], out[k])


def rounded(v: Reals, shape: Integers, symbols: Integer, bounds: Reals) -> None:
    """Sizes, E, and in R what one rounding of each coefficient makes."""
    measure(v, shape, 0, TERMS)
    reach(v, shape, symbols, bounds)
    r = remainder(v, shape)
    e = residual_part(v, shape)
    for k in range(TERMS):
        r[k] = (r[k] + UNIT * polynomial(v, shape, k) + 2.0 * UNIT * e[k]) * PAD + LEAST


def add(v: Reals, a: Reals, b: Reals, sign: Number, na: Integer, nb: Integer, shape: Integers, bounds: Reals) -> None:
    """a ± b; na and nb are their numbers of residuals."""
    for i in range(shape[0] * TERMS):
        v[i] = fma(sign, b[i], a[i])
    count = na
    if nb > na:
        count = nb
    for j in range(count):
        s = symbol(v, shape, j)
        for k in range(TERMS):
            s[k] = 0.0
        if j < na:
            sa = symbol(a, shape, j)
            for k in range(TERMS):
                s[k] = sa[k]
        if j < nb:
            sb = symbol(b, shape, j)
            for k in range(TERMS):
                s[k] = fma(sign, sb[k], s[k])
    r = remainder(v, shape)
    ra = remainder(a, shape)
    rb = remainder(b, shape)
    for k in range(TERMS):
        r[k] = ra[k] + rb[k]
    rounded(v, shape, count, bounds)


def add_number(v: Reals, a: Reals, sign: Number, c: Number, off: Number, na: Integer, shape: Integers) -> None:
    """±a + c, where c is known to within `off`; exact for c = 0."""
    copy(v, a, shape[2] + na)
    for i in range(shape[0] * TERMS):
        v[i] = sign * a[i]
    for j in range(na):
        s = symbol(v, shape, j)
        for k in range(TERMS):
            s[k] = sign * s[k]
    if c != 0.0:
        v[0] = v[0] + c
        sizes = of_degree(v, shape, 0)
        sizes[0] = absolute(v[0])
        r = remainder(v, shape)
        r[0] = (r[0] + UNIT * absolute(v[0]) + off) * PAD + LEAST


def scale(v: Reals, a: Reals, c: Number, off: Number, na: Integer, shape: Integers, bounds: Reals) -> None:
    """c a, where c is known to within `off`."""
    for i in range(shape[0] * TERMS):
        v[i] = c * a[i]
    for j in range(na):
        s = symbol(v, shape, j)
        sa = symbol(a, shape, j)
        for k in range(TERMS):
            s[k] = c * sa[k]
    r = remainder(v, shape)
    ra = remainder(a, shape)
    ea = residual_part(a, shape)
    for k in range(TERMS):
        known = polynomial(a, shape, k) + ea[k]
        r[k] = ((absolute(c) + off) * ra[k] + off * known) * PAD
    rounded(v, shape, na, bounds)


def product(
    v: Reals, a: Reals, b: Reals, ka: Integer, na: Integer, nb: Integer,
    pairs: Integers, count: Integer, shape: Integers, bounds: Reals, work: Reals,
) -> None:  # fmt: skip
    """a b; `pairs` says which monomials meet in which; a is constant in s where ka is 0.

    work: 3 + order rows.
    """
    symbols = na
    if nb > na:
        symbols = nb
    clear(v, shape[2] + symbols)
    for n in range(count):
        x = part(a, pairs[3 * n] * TERMS)
        y = part(b, pairs[3 * n + 1] * TERMS)
        out = part(v, pairs[3 * n + 2] * TERMS)
        if ka == 0:
            add_scaled(out, x, y)
        else:
            add_product(out, x, y)
    for j in range(nb):
        add_product(symbol(v, shape, j), a, symbol(b, shape, j))
    for j in range(na):
        add_product(symbol(v, shape, j), b, symbol(a, shape, j))
    product_rest(v, a, b, na, nb, shape, work)
    measure(v, shape, 0, TERMS)
    reach(v, shape, symbols, bounds)


def product_rest(v: Reals, a: Reals, b: Reals, na: Integer, nb: Integer, shape: Integers, work: Reals) -> None:
    """R of a product: remainders, degrees beyond the order, residuals times what moves, and rounding."""
    order = shape[1]
    term = of_product(shape)
    each = UNIT * number(TERMS)  # of the constant monomial, which is a product of two in one way
    first = of_degree(a, shape, 0)
    second = of_degree(b, shape, 0)
    r = remainder(v, shape)
    ra = remainder(a, shape)
    rb = remainder(b, shape)
    ea = residual_part(a, shape)
    eb = residual_part(b, shape)
    above = part(work, TERMS)  # sizes of b of at least each degree
    for k in range(TERMS):
        work[k] = polynomial(b, shape, k)
        above[(order + 1) * TERMS + k] = 0.0
    for d in range(order):
        degree = order - d
        sizes = of_degree(b, shape, degree)
        for k in range(TERMS):
            above[degree * TERMS + k] = above[(degree + 1) * TERMS + k] + sizes[k]
    for i in range(TERMS):
        size_a = polynomial(a, shape, i)
        moving_a = moving(a, shape, i)
        remaining = ra[i]
        for j in range(TERMS - i):
            size_b = work[j]
            fixed = first[i] * second[j]
            total = remaining * (size_b + rb[j]) + size_a * rb[j]
            total = total + each * fixed + term * (moving_a * size_b + first[i] * moving(b, shape, j))
            for degree in range(1, order + 1):
                sizes = of_degree(a, shape, degree)
                total = total + sizes[i] * above[(order + 1 - degree) * TERMS + j]
            if nb > 0:
                total = total + eb[j] * (remaining + moving_a + term * size_a)
            if na > 0:
                total = total + ea[i] * (above[TERMS + j] + rb[j] + term * size_b)
            if na > 0 and nb > 0:
                total = total + ea[i] * eb[j]
            r[i + j] = r[i + j] + total
    for k in range(TERMS):
        r[k] = r[k] * PAD + LEAST


def add_product_text(terms: int) -> str:
    """out += a b for series in s, unrolled: the innermost part of everything."""
    lines = ["def add_product(out: Reals, a: Reals, b: Reals) -> None:"]
    lines += [f"    x{i} = a[{i}]\n    y{i} = b[{i}]\n    z{i} = out[{i}]" for i in range(terms)]
    lines += [f"    z{i + j} = fma(x{i}, y{j}, z{i + j})" for i in range(terms) for j in range(terms - i)]
    lines += [f"    out[{k}] = z{k}" for k in range(terms)]
    return "\n".join(lines) + "\n"


def add_product(out: Reals, a: Reals, b: Reals) -> None:
    """As `add_product_text`, for Python."""
    for i in range(TERMS):
        for j in range(TERMS - i):
            out[i + j] = fma(a[i], b[j], out[i + j])
