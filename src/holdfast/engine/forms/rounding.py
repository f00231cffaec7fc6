"""What doubles do to the run itself, over cells: running error analysis of the operations as they are emitted.

In the driver language, for tapes without a series in s (TERMS = 1). The computed value of a code's operation differs
from the exact one by at most Q. As everywhere in the product (`rounded_balls`), each operation is wrong by at most 2⁻⁵³
of its result, and our elementary functions by eight times that; errors are carried by the slopes of the operations over
the cell. The operands here have no residuals (`PLAIN` has made remainders of them).
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
    part,
    quotient,
    real,
    select,
    square_root,
)
from holdfast.engine.emit.elementary import exponential
from holdfast.engine.forms.functions import (
    EXPONENTIAL,
    INFINITE,
    LARGEST_EXPONENT,
    LOGARITHM,
    RECIPROCAL,
    ROOT,
    SINE,
)
from holdfast.engine.forms.values import PAD, TERMS, moving, polynomial, remainder, residual_part, rounding

OPERATION = 2.0**-53
ELEMENTARY_OPERATION = 2.0**-50
LIBRARY_OPERATION = 2.0**-49  # of what the system computes
UNDERFLOW = 2.0**-480  # as in rounded_balls: what is 0 is no better known than this
ADD, SUB, MUL, ADD_NUMBER, SUB_FROM, SCALE, NUMBER = range(7)
FUNCTION = 16


def largest(v: Reals, shape: Integers) -> Real:
    """The largest value over the cell, at most."""
    r = remainder(v, shape)
    return (polynomial(v, shape, 0) + r[0]) * PAD


def least(v: Reals, shape: Integers) -> Real:
    """The smallest size over the cell, at least, errors of the run taken off too."""
    r = remainder(v, shape)
    q = rounding(v, shape)
    return absolute(v[0]) - (moving(v, shape, 0) + r[0] + q[0]) * PAD


def set_error(v: Reals, shape: Integers, carried: Real, unit: Number) -> None:
    """Q of a result: what was carried, and its own rounding."""
    q = rounding(v, shape)
    q[0] = (carried + unit * (largest(v, shape) + carried)) * PAD + UNDERFLOW
    q[TERMS] = 0.0  # D, which follows Q: nothing is carried by symbols


def with_slack(v: Reals, b: Reals, c: Number, shape: Integers) -> None:
    """c |b| more of rounding, residuals and errors of b included."""
    q = rounding(v, shape)
    qb = rounding(b, shape)
    db = part(qb, TERMS)  # D follows Q
    e = residual_part(b, shape)
    q[0] = (q[0] + c * (largest(b, shape) + e[0] + qb[0] + db[0])) * PAD


def slope_size(kind: Integer, a: Reals, shape: Integers) -> Real:
    """The largest slope of a function over the cell and what rounding adds to it."""
    low = least(a, shape)
    low = low - absolute(low) * OPERATION
    size = real(1.0)
    if kind == RECIPROCAL:
        size = select(low > 0.0, quotient(1.0, low * low), INFINITE)
    if kind == ROOT:
        size = select(low > 0.0 and a[0] > 0.0, quotient(0.5, square_root(absolute(low))), INFINITE)
    if kind == LOGARITHM:
        size = select(low > 0.0 and a[0] > 0.0, quotient(1.0, low), INFINITE)
    if kind == EXPONENTIAL:
        q = rounding(a, shape)
        high = largest(a, shape) + q[0]
        size = select(high < LARGEST_EXPONENT, exponential(high), INFINITE)
    return size * PAD


def carry(op: Integer, v: Reals, v2: Reals, a: Reals, b: Reals, constants: Numbers, shape: Integers) -> None:
    """Q after an operation of the code, its value being there."""
    qa = rounding(a, shape)
    qb = rounding(b, shape)
    c = absolute(constants[0])
    off = 0.0
    if constants[1] > 0.0:
        off = c * OPERATION
    if op == ADD or op == SUB:
        set_error(v, shape, qa[0] + qb[0], OPERATION)
    if op == MUL:
        set_error(v, shape, largest(a, shape) * qb[0] + largest(b, shape) * qa[0] + qa[0] * qb[0], OPERATION)
    if op == ADD_NUMBER or op == SUB_FROM:
        set_error(v, shape, qa[0] + off, OPERATION)
    if op == SCALE:
        set_error(v, shape, (c + off) * qa[0] + off * largest(a, shape), OPERATION)
    if op == NUMBER:
        q = rounding(v, shape)
        q[0] = off
        q[TERMS] = 0.0
    if op >= FUNCTION:
        unit = ELEMENTARY_OPERATION
        if op == FUNCTION + RECIPROCAL or op == FUNCTION + ROOT:
            unit = OPERATION
        carried = slope_size(op - FUNCTION, a, shape) * qa[0]
        set_error(v, shape, carried, unit)
        if op == FUNCTION + SINE:
            set_error(v2, shape, carried, unit)
