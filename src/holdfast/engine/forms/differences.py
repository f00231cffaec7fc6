"""How the run as it is computed differs from the exact one, on values that depend on residuals.

In the driver language, for tapes without a series in s (TERMS = 1). Both runs are the same functions of their
residuals, ρ̂ and ρ; so a value differs by

    δ = Σ_j S_j (ρ̂_j − ρ_j) + q,     |ρ̂_j − ρ_j| ≤ differences[j],   |q| ≤ Q,      D = Σ_j |S_j| differences[j]

with the S_j that the value has already. Operations are exact here: what doubles do is put in where a system is solved
(the residual that the code's own elimination leaves) and where stages are added up.
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
    real,
    select,
)
from holdfast.engine.forms.error_symbols import bend, slope_at, spread
from holdfast.engine.forms.functions import EXPONENTIAL, INFINITE, LARGEST_EXPONENT, RECIPROCAL, SINE
from holdfast.engine.forms.residuals import bound_residuals
from holdfast.engine.forms.rounding import ADD, ADD_NUMBER, FUNCTION, MUL, NUMBER, OPERATION, SCALE, SUB, SUB_FROM
from holdfast.engine.forms.systems import entry_value, unknown_value
from holdfast.engine.forms.values import (
    LEAST,
    PAD,
    TERM,
    moving,
    of_degree,
    remainder,
    residual_part,
    rounding,
    symbol,
)


def varied(v: Reals, shape: Integers) -> Real:
    """How far the exact value may be from its centre, residuals included."""
    r = remainder(v, shape)
    e = residual_part(v, shape)
    return (moving(v, shape, 0) + r[0] + e[0]) * PAD


def largest_of(v: Reals, shape: Integers) -> Real:
    """The largest exact value, at most, residuals included."""
    sizes = of_degree(v, shape, 0)
    return (sizes[0] + varied(v, shape)) * PAD


def with_product(v: Reals, a: Reals, b: Reals, c: Number, shape: Integers) -> None:
    """c |a| |b| more of rounding, residuals of both included."""
    q = rounding(v, shape)
    q[0] = (q[0] + c * (largest_of(a, shape) * largest_of(b, shape))) * PAD


def gather(v: Reals, count: Integer, shape: Integers, differences: Reals) -> None:
    """D."""
    s = symbol(v, shape, 0)
    d = spread(v, shape)
    total = real(0.0)
    for j in range(count):
        total = total + absolute(s[j]) * differences[j]
    d[0] = total * PAD


def carry_difference(
    op: Integer, v: Reals, v2: Reals, a: Reals, b: Reals, na: Integer, nb: Integer, constants: Numbers,
    shape: Integers, differences: Reals, work: Reals,
) -> None:  # fmt: skip
    """Q and D after an operation, its exact value and S being there."""
    qa = rounding(a, shape)
    qb = rounding(b, shape)
    da = spread(a, shape)
    db = spread(b, shape)
    q = rounding(v, shape)
    c = absolute(constants[0])
    off = constants[1]
    count = na
    if nb > na and op <= MUL:
        count = nb
    if op == ADD or op == SUB:
        q[0] = (qa[0] + qb[0] + TERM * (da[0] + db[0])) * PAD
    if op == MUL:
        first = largest_of(a, shape)
        second = largest_of(b, shape)
        carried = first * qb[0] + second * qa[0] + (da[0] + qa[0]) * (db[0] + qb[0])
        moved = varied(a, shape) * db[0] + varied(b, shape) * da[0] + TERM * (first * db[0] + second * da[0])
        q[0] = (carried + moved) * PAD
    if op == ADD_NUMBER or op == SUB_FROM:
        q[0] = qa[0]
    if op == SCALE:
        q[0] = ((c + off) * qa[0] + (off + TERM * c) * da[0]) * PAD
    if op == NUMBER:
        q[0] = 0.0
        count = 0
    if op >= FUNCTION:
        kind = op - FUNCTION
        radius = (varied(a, shape) + qa[0] + da[0]) * PAD
        low = a[0] - radius
        if kind == RECIPROCAL:
            low = absolute(a[0]) - radius
        low = low - absolute(low) * OPERATION
        slope = absolute(slope_at(kind, a[0], work))
        high = a[0] + radius
        high = high + absolute(high) * OPERATION
        varies = (bend(kind, low, high) * radius + slope * TERM) * PAD
        if kind == EXPONENTIAL:
            varies = select(absolute(a[0]) < LARGEST_EXPONENT, varies, INFINITE)
        q[0] = ((slope + varies) * qa[0] + varies * da[0]) * PAD
        if kind == SINE:
            q2 = rounding(v2, shape)
            q2[0] = ((1.0 + varies) * qa[0] + (varies + TERM) * da[0]) * PAD
            gather(v2, count, shape, differences)
    gather(v, count, shape, differences)


def difference_of_system(
    mem: Reals, system: Integers, shape: Integers, differences: Reals, left: Reals, miss: Reals, vary: Reals,
    work: Reals,
) -> None:  # fmt: skip
    """Bounds of ρ̂_new − ρ_new, where the computed unknowns leave a residual r in their own system Â x̂ = b̂ + r:

    (b̂ − b) − (Â − A) x̂ + r − A S_old (ρ̂_old − ρ_old) + (I − A S_new)(ρ̂_new − ρ_new)

    `left` has what S_old misses of old differences; `vary` is widened here. work: 2N Reals.
    """
    size = system[0]
    old = system[2]
    right = part(system, 3 + 4 * system[1])
    errors = part(right, 3 * size)
    for i in range(size):
        if right[2 * i] >= 0:
            qb = rounding(part(mem, right[2 * i] * shape[3]), shape)
            left[i] = left[i] + qb[0]
        if errors[i] >= 0:
            r = part(mem, errors[i] * shape[3])
            q = rounding(r, shape)
            d = spread(r, shape)
            left[i] = left[i] + q[0] + d[0]
    for e in range(system[1]):
        a = entry_value(mem, system, e, shape)
        x = unknown_value(mem, system, system[3 + 4 * e + 1], shape)
        qa = rounding(a, shape)
        da = spread(a, shape)
        gather(x, old, shape, differences)
        known = spread(x, shape)
        row = system[3 + 4 * e]
        away = da[0] * (varied(x, shape) + TERM * largest_of(x, shape))
        vary[e] = (vary[e] + da[0] + qa[0]) * PAD
        left[row] = left[row] + qa[0] * largest_of(x, shape) + away + vary[e] * known[0]
    for i in range(size):
        left[i] = left[i] * PAD + LEAST
    bound_residuals(mem, system, shape, left, miss, vary, part(differences, old), work)
    for j in range(size):
        x = unknown_value(mem, system, j, shape)
        q = rounding(x, shape)
        q[0] = 0.0
        gather(x, old + size, shape, differences)
