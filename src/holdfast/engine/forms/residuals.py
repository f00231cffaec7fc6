"""The residuals of a linear system of forms: how the unknowns move with them, and how large they are.

In the driver language; `systems` says what is solved.
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
    real,
    select,
)
from holdfast.engine.forms.functions import INFINITE
from holdfast.engine.forms.systems import (
    entry_value,
    unknown_value,
)
from holdfast.engine.forms.values import (
    HUGE,
    LEAST,
    PAD,
    TERMS,
    clear,
    symbol,
)

ROUNDS = 60  # of widening a guess of the residuals
WIDER = 1.02  # each time by so much more than was found


def given_slopes(mem: Reals, system: Integers, shape: Integers, j: Integer, given: Reals) -> None:
    """S_b − S_A x̃_c of an old residual, or a unit row for a new one, as series in s."""
    size = system[0]
    old = system[2]
    right = part(system, 3 + 4 * system[1])
    clear(given, size)
    if j < old:
        for i in range(size):
            if right[2 * i] >= 0 and j < right[2 * i + 1]:
                sb = symbol(part(mem, right[2 * i] * shape[3]), shape, j)
                for k in range(TERMS):
                    given[i * TERMS + k] = sb[k]
        for e in range(system[1]):
            if j < system[3 + 4 * e + 3]:
                sa = symbol(entry_value(mem, system, e, shape), shape, j)
                x = unknown_value(mem, system, system[3 + 4 * e + 1], shape)
                out = part(given, system[3 + 4 * e] * TERMS)
                for p in range(TERMS):
                    for q in range(TERMS - p):
                        out[p + q] = out[p + q] - sa[p] * x[q]
    else:
        given[(j - old) * TERMS] = 1.0


def solve_slopes(
    mem: Reals, system: Integers, shape: Integers, j: Integer, given: Reals, inverse: Reals, work: Reals
) -> None:
    """S_j of all unknowns: A_c S_j = given, power by power. work: N Reals."""
    size = system[0]
    for k in range(TERMS):
        for i in range(size):
            work[i] = given[i * TERMS + k]
        for e in range(system[1]):
            a = entry_value(mem, system, e, shape)
            s = symbol(unknown_value(mem, system, system[3 + 4 * e + 1], shape), shape, j)
            row = system[3 + 4 * e]
            total = work[row]
            for c in range(1, k + 1):
                total = total - a[c] * s[k - c]
            work[row] = total
        for i in range(size):
            total = real(0.0)
            for c in range(size):
                total = total + inverse[i * size + c] * work[c]
            s = symbol(unknown_value(mem, system, i, shape), shape, j)
            s[k] = total


def missed_slopes(
    mem: Reals, system: Integers, shape: Integers, j: Integer, given: Reals, term: Number, lost: Reals, work: Reals
) -> None:
    """|given − A_c S_j|, rounding included, for each row and power of s. work: 2 rows."""
    mass = part(work, TERMS)
    for i in range(system[0]):
        for k in range(TERMS):
            work[k] = given[i * TERMS + k]
            mass[k] = absolute(work[k])
        for e in range(system[1]):
            if system[3 + 4 * e] == i:
                a = entry_value(mem, system, e, shape)
                s = symbol(unknown_value(mem, system, system[3 + 4 * e + 1], shape), shape, j)
                for p in range(TERMS):
                    for q in range(TERMS - p):
                        change = a[p] * s[q]
                        work[p + q] = work[p + q] - change
                        mass[p + q] = mass[p + q] + absolute(change)
        for k in range(TERMS):
            lost[i * TERMS + k] = (absolute(work[k]) + term * mass[k]) * PAD + LEAST


def slopes(
    mem: Reals, system: Integers, shape: Integers, bounds: Reals, differences: Reals, inverse: Reals, term: Number,
    left: Reals, apart: Reals, miss: Reals, work: Reals,
) -> None:  # fmt: skip
    """S of all residuals; what is missed of old ones goes to left, of new ones to miss. work: 3N + 2 rows.

    `apart` gathers what is missed of the differences of old ones.
    """
    size = system[0]
    old = system[2]
    lost = part(work, size * TERMS)
    rest = part(lost, size * TERMS)
    clear(apart, size)
    for j in range(old + size):
        given_slopes(mem, system, shape, j, work)
        solve_slopes(mem, system, shape, j, work, inverse, rest)
        missed_slopes(mem, system, shape, j, work, term, lost, rest)
        for i in range(size):
            if j < old and TERMS == 1:
                apart[i] = apart[i] + lost[i] * differences[j]
            for p in range(TERMS):
                if j < old:
                    b = part(bounds, j * TERMS)
                    for q in range(TERMS - p):
                        place = i * TERMS + p + q
                        left[place] = left[place] + lost[i * TERMS + p] * b[q]
                else:
                    miss[(i * size + j - old) * TERMS + p] = lost[i * TERMS + p]


def right_side(
    mem: Reals, system: Integers, shape: Integers, left: Reals, miss: Reals, vary: Reals, v: Reals,
    out: Reals, work: Reals,
) -> None:  # fmt: skip
    """left + |I − A_c S_new| v + |A − A_c| |S_new| v. work: N rows."""
    size = system[0]
    old = system[2]
    clear(work, size)
    for j in range(size):
        x = unknown_value(mem, system, j, shape)
        for n in range(size):
            s = symbol(x, shape, old + n)
            for p in range(TERMS):
                slope = absolute(s[p])
                for q in range(TERMS - p):
                    work[j * TERMS + p + q] = work[j * TERMS + p + q] + slope * v[n * TERMS + q]
    for i in range(size * TERMS):
        out[i] = left[i]
    for e in range(system[1]):
        row = part(out, system[3 + 4 * e] * TERMS)
        x = part(work, system[3 + 4 * e + 1] * TERMS)
        for p in range(TERMS):
            for q in range(TERMS - p):
                row[p + q] = row[p + q] + vary[e * TERMS + p] * x[q]
    for i in range(size):
        for n in range(size):
            for p in range(TERMS):
                lost = miss[(i * size + n) * TERMS + p]
                for q in range(TERMS - p):
                    out[i * TERMS + p + q] = out[i * TERMS + p + q] + lost * v[n * TERMS + q]
    for i in range(size * TERMS):
        out[i] = out[i] * PAD


def bound_residuals(
    mem: Reals, system: Integers, shape: Integers, left: Reals, miss: Reals, vary: Reals, v: Reals,
    work: Reals,
) -> None:  # fmt: skip
    """v with right side ≤ v, found by widening; infinite in the lanes where none was found. work: 2N rows."""
    size = system[0]
    after = work
    rest = part(work, size * TERMS)
    for i in range(size * TERMS):
        v[i] = left[i]
    good = real(0.0)
    for _ in range(ROUNDS):
        right_side(mem, system, shape, left, miss, vary, v, after, rest)
        whole = real(1.0)
        for i in range(size * TERMS):
            whole = select(after[i] <= v[i], whole, 0.0)
        good = select(whole > 0.5, 1.0, good)
        if not any_lane(good < 0.5):
            break
        for i in range(size * TERMS):
            v[i] = select(good > 0.5, v[i], after[i] * WIDER)
    for i in range(size * TERMS):
        good = select(v[i] < HUGE, good, 0.0)
    for i in range(size * TERMS):
        v[i] = select(good > 0.5, v[i], INFINITE)
