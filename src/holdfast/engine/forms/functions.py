"""1/a, √a, sin a, cos a, eᵃ and log a of forms, in the driver language.

The constant coefficient in s is the function's Taylor polynomial at the centre of the cell, with Lagrange's remainder
over the cell; the others follow by the recurrences of power series (Moore 1966). Residuals are followed by the mean
value: f(a + D) = f(a) + (∫ f'(a + θD) dθ) D, where the slope is enclosed over a and D together.

The functions' own errors are those of `emit.elementary`, proved to be below 2.4 ulp; ELEMENTARY takes 26
times that. Where an argument is outside the range of those polynomials, the remainder is infinite: nothing is asked of
the system's library.
"""

from __future__ import annotations

from holdfast.engine.drivers.language import (
    Integer,
    Integers,
    Number,
    Real,
    Reals,
    absolute,
    number,
    part,
    quotient,
    real,
    select,
    square_root,
)
from holdfast.engine.emit.elementary import exponential, logarithm, sine_cosine
from holdfast.engine.forms.products import product
from holdfast.engine.forms.values import (
    LEAST,
    PAD,
    TERM,
    TERMS,
    UNIT,
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

ELEMENTARY = 2.0**-47
INFINITE = float("inf")
LARGEST_ANGLE = 2.0**29  # half of what our own sine takes, so that what is run stays within it too
LARGEST_EXPONENT = 700.0
LEAST_LOGARITHM = 1e-300
RECIPROCAL, ROOT, HALF_RECIPROCAL_ROOT, SINE, COSINE, EXPONENTIAL, LOGARITHM = range(7)


def derivatives(kind: Integer, c: Real, top: Integer, f: Reals) -> None:
    """f⁽ᵏ⁾(c)/k! for k = 0 … top; f holds two more Reals."""
    if kind == RECIPROCAL:
        f[0] = quotient(1.0, c)
        for k in range(top):
            f[k + 1] = quotient(-f[k], c)
    if kind == ROOT:
        f[0] = square_root(c)
        for k in range(top):
            f[k + 1] = quotient(f[k] * (0.5 - number(k)), number(k + 1) * c)
    if kind == HALF_RECIPROCAL_ROOT:
        f[0] = quotient(0.5, square_root(c))
        for k in range(top):
            f[k + 1] = quotient(f[k] * (-0.5 - number(k)), number(k + 1) * c)
    if kind == SINE or kind == COSINE:
        sine_cosine(c, part(f, top + 1))
        f[0] = select(kind == SINE, f[top + 1], f[top + 2])
        slope = select(kind == SINE, f[top + 2], -f[top + 1])
        if top > 0:
            f[1] = slope
        for k in range(top - 1):
            f[k + 2] = quotient(-f[k], number((k + 1) * (k + 2)))
    if kind == EXPONENTIAL:
        f[0] = exponential(c)
        for k in range(top):
            f[k + 1] = quotient(f[k], number(k + 1))
    if kind == LOGARITHM:
        f[0] = logarithm(c)
        if top > 0:
            f[1] = quotient(1.0, c)
        for k in range(1, top):
            f[k + 1] = quotient(-f[k] * number(k), number(k + 1) * c)


def next_derivative(kind: Integer, c: Real, radius: Real, top: Integer, f: Reals) -> Real:
    """The largest |f⁽ᵗᵒᵖ⁾|/top! over [c − radius, c + radius], at most; infinite where f is not defined there."""
    bound = real(0.0)
    if kind == SINE or kind == COSINE:
        size = 1.0
        for k in range(top):
            size = size / number(k + 1)
        bound = select(absolute(c) + radius < LARGEST_ANGLE, real(size), real(INFINITE))
    if kind == EXPONENTIAL:
        high = c + radius
        derivatives(kind, high, top, f)
        inside = (absolute(c) < LARGEST_EXPONENT) and (absolute(high) < LARGEST_EXPONENT)
        bound = select(inside, f[top], real(INFINITE))
    if kind == RECIPROCAL or kind == ROOT or kind == HALF_RECIPROCAL_ROOT or kind == LOGARITHM:
        low = c - radius
        if kind == RECIPROCAL:
            low = absolute(c) - radius
        low = low - absolute(low) * ELEMENTARY
        derivatives(kind, low, top, f)
        inside = (low > LEAST_LOGARITHM) and (absolute(c) < quotient(1.0, LEAST_LOGARITHM))
        bound = select(inside, absolute(f[top]), real(INFINITE))
    return bound * PAD


def multiply_slice(
    v: Reals, kv: Integer, a: Reals, ka: Integer, b: Reals, kb: Integer, c: Number,
    pairs: Integers, count: Integer, shape: Integers, mass: Reals,
) -> None:  # fmt: skip
    """v_kv += c a_ka b_kb for single powers of s, residuals left aside; `mass` gathers what rounding is a part of."""
    for n in range(count):
        place = pairs[3 * n + 2] * TERMS + kv
        v[place] = v[place] + c * a[pairs[3 * n] * TERMS + ka] * b[pairs[3 * n + 1] * TERMS + kb]
    order = shape[1]
    size_a = polynomial(a, shape, ka)
    size_b = polynomial(b, shape, kb)
    ra = remainder(a, shape)
    rb = remainder(b, shape)
    total = ra[ka] * (size_b + rb[kb]) + size_a * rb[kb]
    above = real(0.0)
    for degree in range(1, order + 1):
        sizes_b = of_degree(b, shape, order + 1 - degree)
        sizes_a = of_degree(a, shape, degree)
        above = above + sizes_b[kb]
        total = total + sizes_a[ka] * above
    r = remainder(v, shape)
    r[kv] = r[kv] + total * absolute(c)
    mass[0] = mass[0] + size_a * size_b * absolute(c)


def close_slice(v: Reals, k: Integer, shape: Integers, mass: Reals) -> None:
    """Sizes of one power of s, and its rounding in R: `mass` is no less than all of its terms together."""
    measure(v, shape, k, k + 1)
    r = remainder(v, shape)
    r[k] = (r[k] + 2.0 * of_product(shape) * mass[0]) * PAD + LEAST
    mass[0] = 0.0


def clear_slice(v: Reals, k: Integer, shape: Integers) -> None:
    for row in range(shape[2]):
        v[row * TERMS + k] = 0.0


def copy_slice(v: Reals, a: Reals, k: Integer, shape: Integers) -> None:
    for row in range(shape[2]):
        v[row * TERMS + k] = a[row * TERMS + k]


def compose(kind: Integer, v: Reals, a: Reals, pairs: Integers, count: Integer, shape: Integers, work: Reals) -> None:
    """f(a) for the constant power of s. work: two values, then 3·order + 20 Reals.

    A Taylor coefficient of degree k is wrong by at most 5 + 3k units: below 5 for f, and three for each recurrence.
    """
    order = shape[1]
    change = work
    held = part(work, shape[3])
    f = part(work, 2 * shape[3])
    beyond = part(f, order + 4)
    mass = part(beyond, order + 5)
    copy_slice(change, a, 0, shape)
    centre = a[0]
    change[0] = 0.0
    sizes = of_degree(change, shape, 0)
    sizes[0] = 0.0
    left = remainder(change, shape)
    radius = (moving(change, shape, 0) + left[0]) * PAD
    derivatives(kind, centre, order, f)
    last = next_derivative(kind, centre, radius, order + 1, beyond)
    mass[0] = 0.0
    r = remainder(v, shape)
    clear_slice(v, 0, shape)
    v[0] = f[order]
    r[0] = UNIT * (5.0 + 3.0 * number(order)) * absolute(f[order]) + LEAST
    measure(v, shape, 0, 1)
    for n in range(order):
        k = order - 1 - n
        copy_slice(held, v, 0, shape)
        clear_slice(v, 0, shape)
        multiply_slice(v, 0, held, 0, change, 0, 1.0, pairs, count, shape, mass)
        v[0] = v[0] + f[k]
        r[0] = r[0] + UNIT * ((5.0 + 3.0 * number(k)) * absolute(f[k]) + absolute(v[0]))
        close_slice(v, 0, shape, mass)
    power = radius
    for _ in range(order):
        power = power * radius
    rest = last * power
    rest = select(rest < INFINITE, rest, real(INFINITE))
    r[0] = (r[0] + rest) * PAD + LEAST


def reciprocal(v: Reals, a: Reals, pairs: Integers, count: Integer, shape: Integers, work: Reals) -> None:
    """v = 1/a: v_k = −v₀ Σ_{j≥1} a_j v_{k−j}. work: four values and what `compose` needs."""
    compose(RECIPROCAL, v, a, pairs, count, shape, part(work, 2 * shape[3]))
    total = work
    mass = part(work, shape[3])
    mass[0] = 0.0
    for k in range(1, TERMS):
        clear_slice(total, k, shape)
        for j in range(1, k + 1):
            multiply_slice(total, k, a, j, v, k - j, 1.0, pairs, count, shape, mass)
        close_slice(total, k, shape, mass)
        clear_slice(v, k, shape)
        multiply_slice(v, k, v, 0, total, k, -1.0, pairs, count, shape, mass)
        close_slice(v, k, shape, mass)


def root(v: Reals, a: Reals, pairs: Integers, count: Integer, shape: Integers, work: Reals) -> None:
    """v = √a: v_k = (a_k − Σ_{0<j<k} v_j v_{k−j}) / (2 v₀)."""
    rest = part(work, 2 * shape[3])
    compose(ROOT, v, a, pairs, count, shape, rest)
    total = work
    inverse = part(work, shape[3])
    compose(HALF_RECIPROCAL_ROOT, inverse, a, pairs, count, shape, rest)
    mass = rest
    mass[0] = 0.0
    for k in range(1, TERMS):
        copy_slice(total, a, k, shape)
        mass[0] = polynomial(a, shape, k)
        for j in range(1, k):
            multiply_slice(total, k, v, j, v, k - j, -1.0, pairs, count, shape, mass)
        close_slice(total, k, shape, mass)
        clear_slice(v, k, shape)
        multiply_slice(v, k, inverse, 0, total, k, 1.0, pairs, count, shape, mass)
        close_slice(v, k, shape, mass)


def sine_and_cosine(
    s: Reals, c: Reals, a: Reals, pairs: Integers, count: Integer, shape: Integers, work: Reals
) -> None:
    """s_k = Σ (j/k) a_j c_{k−j},   c_k = −Σ (j/k) a_j s_{k−j}."""
    compose(SINE, s, a, pairs, count, shape, part(work, 2 * shape[3]))
    compose(COSINE, c, a, pairs, count, shape, part(work, 2 * shape[3]))
    mass = work
    other = part(work, 1)
    mass[0] = 0.0
    other[0] = 0.0
    for k in range(1, TERMS):
        clear_slice(s, k, shape)
        clear_slice(c, k, shape)
        for j in range(1, k + 1):
            share = number(j) / number(k)
            multiply_slice(s, k, a, j, c, k - j, share, pairs, count, shape, mass)
            multiply_slice(c, k, a, j, s, k - j, -share, pairs, count, shape, other)
        close_slice(s, k, shape, mass)
        close_slice(c, k, shape, other)


def exponential_form(v: Reals, a: Reals, pairs: Integers, count: Integer, shape: Integers, work: Reals) -> None:
    """v_k = Σ (j/k) a_j v_{k−j}."""
    compose(EXPONENTIAL, v, a, pairs, count, shape, part(work, 2 * shape[3]))
    mass = work
    mass[0] = 0.0
    for k in range(1, TERMS):
        clear_slice(v, k, shape)
        for j in range(1, k + 1):
            multiply_slice(v, k, a, j, v, k - j, number(j) / number(k), pairs, count, shape, mass)
        close_slice(v, k, shape, mass)


def logarithm_form(v: Reals, a: Reals, pairs: Integers, count: Integer, shape: Integers, work: Reals) -> None:
    """v_k = (a_k − Σ_{0<j<k} (j/k) v_j a_{k−j}) / a₀."""
    rest = part(work, 2 * shape[3])
    compose(LOGARITHM, v, a, pairs, count, shape, rest)
    total = work
    inverse = part(work, shape[3])
    compose(RECIPROCAL, inverse, a, pairs, count, shape, rest)
    mass = rest
    mass[0] = 0.0
    for k in range(1, TERMS):
        copy_slice(total, a, k, shape)
        mass[0] = polynomial(a, shape, k)
        for j in range(1, k):
            multiply_slice(total, k, v, j, a, k - j, -number(j) / number(k), pairs, count, shape, mass)
        close_slice(total, k, shape, mass)
        clear_slice(v, k, shape)
        multiply_slice(v, k, inverse, 0, total, k, 1.0, pairs, count, shape, mass)
        close_slice(v, k, shape, mass)


def follow(v: Reals, a: Reals, slope: Reals, sign: Number, na: Integer, shape: Integers, bounds: Reals) -> None:
    """Add ± slope · (the residuals of a) to v: its centre to S, what it moves by to R."""
    for j in range(na):
        s = symbol(v, shape, j)
        sa = symbol(a, shape, j)
        for k in range(TERMS):
            s[k] = 0.0
        for i in range(TERMS):
            for k in range(TERMS - i):
                s[i + k] = s[i + k] + sign * slope[i] * sa[k]
    r = remainder(v, shape)
    rs = remainder(slope, shape)
    ea = residual_part(a, shape)
    sizes = of_degree(slope, shape, 0)
    for i in range(TERMS):
        size = moving(slope, shape, i) + rs[i] + TERM * sizes[i]
        for k in range(TERMS - i):
            r[i + k] = r[i + k] + size * ea[k] * PAD
    for k in range(TERMS):
        r[k] = r[k] * PAD + LEAST
    reach(v, shape, na, bounds)


def without_residuals(v: Reals, a: Reals, shape: Integers) -> None:
    """The same with what its residuals may add as a remainder."""
    copy(v, a, shape[2])
    r = remainder(v, shape)
    e = residual_part(v, shape)
    for k in range(TERMS):
        r[k] = (r[k] + e[k]) * PAD
        e[k] = 0.0


def cut_series(v: Reals, shape: Integers) -> None:
    """Nothing beyond the constant power of s: the operand does not depend on it."""
    for row in range(shape[2]):
        for k in range(1, TERMS):
            v[row * TERMS + k] = 0.0


def finish(v: Reals, steady: Integer, shape: Integers) -> None:
    """No residuals yet; and no powers of s where the operand has none."""
    e = residual_part(v, shape)
    for k in range(TERMS):
        e[k] = 0.0
    if steady == 0:
        cut_series(v, shape)


def apply(
    kind: Integer, v: Reals, v2: Reals, a: Reals, ka: Integer, na: Integer,
    pairs: Integers, count: Integer, shape: Integers, bounds: Reals, work: Reals,
) -> None:  # fmt: skip
    """A function of a form with residuals; sine and cosine are made together. work: nine values and some Reals."""
    size = shape[3]
    rest = part(work, 3 * size)
    if kind == RECIPROCAL:
        reciprocal(v, a, pairs, count, shape, rest)
    if kind == ROOT:
        root(v, a, pairs, count, shape, rest)
    if kind == EXPONENTIAL:
        exponential_form(v, a, pairs, count, shape, rest)
    if kind == LOGARITHM:
        logarithm_form(v, a, pairs, count, shape, rest)
    if kind == SINE:
        sine_and_cosine(v, v2, a, pairs, count, shape, rest)
        finish(v2, ka, shape)
    finish(v, ka, shape)
    if na > 0:
        wide = work
        slope = part(work, size)
        other = part(work, 2 * size)
        without_residuals(wide, a, shape)
        if kind == RECIPROCAL:
            reciprocal(other, wide, pairs, count, shape, rest)
            finish(other, 1, shape)
            product(slope, other, other, 1, 0, 0, pairs, count, shape, bounds, rest)
            follow(v, a, slope, -1.0, na, shape, bounds)
        if kind == ROOT:
            root(other, wide, pairs, count, shape, rest)
            reciprocal(slope, other, pairs, count, shape, rest)
            follow(v, a, slope, 0.5, na, shape, bounds)
        if kind == EXPONENTIAL:
            exponential_form(slope, wide, pairs, count, shape, rest)
            follow(v, a, slope, 1.0, na, shape, bounds)
        if kind == LOGARITHM:
            reciprocal(slope, wide, pairs, count, shape, rest)
            follow(v, a, slope, 1.0, na, shape, bounds)
        if kind == SINE:
            sine_and_cosine(other, slope, wide, pairs, count, shape, rest)
            follow(v, a, slope, 1.0, na, shape, bounds)
            follow(v2, a, other, -1.0, na, shape, bounds)
