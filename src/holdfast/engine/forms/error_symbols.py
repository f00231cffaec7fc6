"""Rounding of the run with a symbol for each operation: what cancels in the end is not counted as if it did not.

In the driver language, for tapes without a series in s (TERMS = 1). The computed value differs from the exact one by

    δ = Σ_j S_j ε_j + q,      |ε_j| ≤ β_j,   |q| ≤ Q,      D = Σ_j |S_j| β_j

where ε_j is the rounding of the j-th operation of the code and S_j its slope at the centre of the cell; what slopes
vary by over the cell, and products of errors, go into Q. A residual of an elimination is far smaller than the error
of its solution: running errors (`rounding`) lose that, these do not.
"""

from __future__ import annotations

from holdfast.engine.drivers.language import (
    Integer,
    Integers,
    Number,
    Numbers,
    Real,
    Reals,
    absolute,
    fma,
    part,
    quotient,
    real,
    select,
    square_root,
)
from holdfast.engine.emit.elementary import exponential, sine_cosine
from holdfast.engine.forms.functions import (
    EXPONENTIAL,
    INFINITE,
    LARGEST_EXPONENT,
    LOGARITHM,
    RECIPROCAL,
    ROOT,
    SINE,
)
from holdfast.engine.forms.rounding import (
    ADD,
    ADD_NUMBER,
    ELEMENTARY_OPERATION,
    FUNCTION,
    MUL,
    NUMBER,
    OPERATION,
    SCALE,
    SUB,
    SUB_FROM,
    UNDERFLOW,
    largest,
)
from holdfast.engine.forms.values import PAD, TERM, TERMS, moving, remainder, rounding, symbol

OWN_ROUNDING, CARRIED = 2, 3  # symbols are carried, and each operation adds one; they are only carried


def spread(v: Reals, shape: Integers) -> Reals:
    """D."""
    return part(v, (shape[0] + shape[1] + 4) * TERMS)


def away(v: Reals, shape: Integers) -> Real:
    """How far the exact value may be from its centre over the cell."""
    r = remainder(v, shape)
    return (moving(v, shape, 0) + r[0]) * PAD


def combine(v: Reals, a: Reals, b: Reals, na: Integer, nb: Integer, ca: Real, cb: Real, shape: Integers) -> None:
    """S = ca S_a + cb S_b."""
    s = symbol(v, shape, 0)
    sa = symbol(a, shape, 0)
    sb = symbol(b, shape, 0)
    both = na
    if nb < na:
        both = nb
    for j in range(both):
        s[j] = fma(ca, sa[j], cb * sb[j])
    for j in range(both, na):
        s[j] = ca * sa[j]
    for j in range(both, nb):
        s[j] = cb * sb[j]


def settle(v: Reals, count: Integer, fresh: Integer, unit: Number, own: Integer, shape: Integers, betas: Reals) -> None:
    """D from S; and a symbol for the operation's own rounding. Symbols between `count` and the fresh one are zero."""
    s = symbol(v, shape, 0)
    d = spread(v, shape)
    q = rounding(v, shape)
    total = real(0.0)
    for j in range(count):
        total = fma(absolute(s[j]), betas[j], total)
    total = total * PAD
    if own == OWN_ROUNDING:
        for j in range(count, fresh):
            s[j] = 0.0
        s[fresh] = 1.0
        betas[fresh] = (unit * (largest(v, shape) + total + q[0])) * PAD + UNDERFLOW
        total = total + betas[fresh]
    d[0] = total * PAD


def slope_at(kind: Integer, c: Real, pair: Reals) -> Real:
    """f'(c), or near it; pair gets sine and cosine."""
    found = real(1.0)
    if kind == RECIPROCAL:
        found = quotient(-1.0, c * c)
    if kind == ROOT:
        found = quotient(0.5, square_root(c))
    if kind == LOGARITHM:
        found = quotient(1.0, c)
    if kind == EXPONENTIAL:
        found = exponential(c)
    if kind == SINE:
        sine_cosine(c, pair)
        found = pair[1]
    return found


def bend(kind: Integer, low: Real, high: Real) -> Real:
    """The largest |f''| where |x| ≥ low (x ≥ low for roots and logarithms) and x ≤ high, at most."""
    found = real(1.0)
    if kind == RECIPROCAL:
        found = select(low > 0.0, quotient(2.0, low * low * low), INFINITE)
    if kind == ROOT:
        found = select(low > 0.0, quotient(0.25, low * square_root(absolute(low))), INFINITE)
    if kind == LOGARITHM:
        found = select(low > 0.0, quotient(1.0, low * low), INFINITE)
    if kind == EXPONENTIAL:
        found = select(absolute(high) < LARGEST_EXPONENT, exponential(high), INFINITE)
    return found * PAD


def carry_function(
    kind: Integer, v: Reals, v2: Reals, a: Reals, na: Integer, fresh: Integer, own: Integer, shape: Integers,
    betas: Reals, work: Reals,
) -> None:  # fmt: skip
    """δ of f(a): the slope at the centre for the symbols, and its variation over the cell times D."""
    qa = rounding(a, shape)
    da = spread(a, shape)
    radius = (away(a, shape) + qa[0] + da[0]) * PAD
    low = a[0] - radius
    if kind == RECIPROCAL:
        low = absolute(a[0]) - radius
    low = low - absolute(low) * OPERATION
    slope = slope_at(kind, a[0], work)
    varies = (bend(kind, low, (a[0] + radius) * PAD) * radius + absolute(slope) * TERM + TERM * UNDERFLOW) * PAD
    if kind == EXPONENTIAL:
        varies = select(absolute(a[0]) < LARGEST_EXPONENT, varies, INFINITE)
    q = rounding(v, shape)
    unit = ELEMENTARY_OPERATION
    if kind == RECIPROCAL or kind == ROOT:
        unit = OPERATION
    combine(v, a, a, na, 0, slope, real(0.0), shape)
    q[0] = ((absolute(slope) + varies) * qa[0] + varies * da[0]) * PAD
    settle(v, na, fresh, unit, own, shape, betas)
    if kind == SINE:
        if own == OWN_ROUNDING:
            s = symbol(v, shape, 0)
            s[fresh + 1] = 0.0  # the cosine's
        combine(v2, a, a, na, 0, -work[0], real(0.0), shape)
        q2 = rounding(v2, shape)
        q2[0] = ((absolute(work[0]) + varies) * qa[0] + varies * da[0]) * PAD + TERM * da[0]
        settle(v2, na, fresh + 1, unit, own, shape, betas)


def carry_symbols(
    op: Integer, v: Reals, v2: Reals, a: Reals, b: Reals, na: Integer, nb: Integer, fresh: Integer, own: Integer,
    constants: Numbers, shape: Integers, betas: Reals, work: Reals,
) -> None:  # fmt: skip
    """S, Q and D after an operation of the code, its exact value being there."""
    qa = rounding(a, shape)
    qb = rounding(b, shape)
    da = spread(a, shape)
    db = spread(b, shape)
    q = rounding(v, shape)
    c = constants[0]
    off = 0.0
    if constants[1] > 0.0:
        off = absolute(c) * OPERATION
    count = na
    if nb > na:
        count = nb
    if op == ADD or op == SUB:
        sign = 1.0
        if op == SUB:
            sign = -1.0
        combine(v, a, b, na, nb, real(1.0), real(sign), shape)
        q[0] = (qa[0] + qb[0] + TERM * (da[0] + db[0])) * PAD
        settle(v, count, fresh, OPERATION, own, shape, betas)
    if op == MUL:
        combine(v, a, b, na, nb, b[0], a[0], shape)
        first = largest(a, shape)
        second = largest(b, shape)
        carried = first * qb[0] + second * qa[0] + (da[0] + qa[0]) * (db[0] + qb[0])
        moved = away(a, shape) * db[0] + away(b, shape) * da[0] + TERM * (first * db[0] + second * da[0])
        q[0] = (carried + moved) * PAD
        settle(v, count, fresh, OPERATION, own, shape, betas)
    if op == ADD_NUMBER or op == SUB_FROM:
        sign = 1.0
        if op == SUB_FROM:
            sign = -1.0
        combine(v, a, a, na, 0, real(sign), real(0.0), shape)
        q[0] = qa[0] + off
        settle(v, na, fresh, OPERATION, own, shape, betas)
    if op == SCALE:
        combine(v, a, a, na, 0, real(c), real(0.0), shape)
        q[0] = ((absolute(c) + off) * qa[0] + off * (largest(a, shape) + da[0]) + TERM * absolute(c) * da[0]) * PAD
        settle(v, na, fresh, OPERATION, own, shape, betas)
    if op == NUMBER:
        q[0] = 0.0
        settle(v, 0, fresh, 0.0, own, shape, betas)
        d = spread(v, shape)
        if own == OWN_ROUNDING:
            betas[fresh] = off
            d[0] = off
        else:
            q[0] = off
    if op >= FUNCTION:
        carry_function(op - FUNCTION, v, v2, a, na, fresh, own, shape, betas, work)


def slack_symbol(
    v: Reals, a: Reals, b: Reals, na: Integer, fresh: Integer, c: Number, shape: Integers, betas: Reals
) -> None:
    """a, with c |b| more of rounding, as a symbol of its own; the rows before S are there already."""
    combine(v, a, a, na, 0, real(1.0), real(0.0), shape)
    settle(v, na, fresh, 0.0, OWN_ROUNDING, shape, betas)
    qb = rounding(b, shape)
    db = spread(b, shape)
    d = spread(v, shape)
    more = c * (largest(b, shape) + qb[0] + db[0]) * PAD
    betas[fresh] = (betas[fresh] + more) * PAD
    d[0] = (d[0] + more) * PAD
