"""What an FMU does, in the driver language: written once, for the binary and for the sources.

An instance is one array m of doubles:

    m[0]  time      m[X...]  states      m[P...]  parameters      m[RATES...]  rates, pivots and their scales
    m[OBSERVED...]  observables      m[WATCH...]  signs of the pivots      m[STALE]      m[BEGUN]      m[WORK...]

A value reference is a place in it. Answers are FMI's: 0 good, 2 discarded (try a shorter step), 3 an error.
"""

from __future__ import annotations

from holdfast.engine.drivers.language import (
    Integer,
    Number,
    Real,
    Reals,
    any_lane,
    number,
    part,
    select,
)

# given by the assembly: sizes, and places in m
N = PARAMETERS = PIVOTS = WIDTH = SIZE = 0
X = P = RATES = OBSERVED = WATCH = STALE = BEGUN = WORK = SCRATCH = 0
STEP = 0.0
ALMOST = 1.0 - 1e-9  # of a communication step: what its sub-steps may miss it by, times being sums


def fmu_refresh(m: Reals) -> None:
    """Rates and observables, where something changed since."""
    if any_lane(m[STALE] != 0.0):
        rates(m[0], part(m, X), part(m, P), part(m, RATES), part(m, SCRATCH))
        observe(m[0], part(m, X), part(m, P), part(m, OBSERVED), part(m, SCRATCH))
        m[STALE] = 0.0


def fmu_reset(m: Reals) -> Integer:
    """The instance as it was made."""
    for i in range(SIZE):
        m[i] = 0.0
    fmu_defaults(m)
    m[STALE] = 1.0
    return 0


def fmu_time(m: Reals, t: Number) -> Integer:
    m[0] = t
    m[STALE] = 1.0
    return 0


def fmu_begin(m: Reals) -> Integer:
    """The end of initialisation: the signs of the pivots are those of a run that starts here."""
    fmu_refresh(m)
    for j in range(PIVOTS):
        m[WATCH + j] = select(m[RATES + N + j] < 0.0, -1.0, 1.0)
    m[BEGUN] = 1.0
    if any_lane(judged(part(m, X), part(m, RATES), part(m, WATCH)) != 0.0):
        return 3
    return 0


def fmu_put_states(m: Reals, x: Reals, count: Integer) -> Integer:
    if count != N:
        return 3
    for i in range(N):
        m[X + i] = x[i]
    m[STALE] = 1.0
    return 0


def fmu_states(m: Reals, out: Reals, count: Integer) -> Integer:
    if count != N:
        return 3
    for i in range(N):
        out[i] = m[X + i]
    return 0


def fmu_rates(m: Reals, dx: Reals, count: Integer) -> Integer:
    """dx/dt; discarded where a rate is not finite or a rank is lost, so that a solver tries a shorter step."""
    if count != N:
        return 3
    fmu_refresh(m)
    for i in range(N):
        dx[i] = m[RATES + i]
    verdict = judged(part(m, X), part(m, RATES), part(m, WATCH))
    if any_lane((m[BEGUN] != 0.0) and (verdict != 0.0)):
        return 2
    return 0


def fmu_nominals(m: Reals, out: Reals, count: Integer) -> Integer:
    if count != N:
        return 3
    for i in range(N):
        out[i] = 1.0
    return 0


def fmu_advance(m: Reals, t: Number, h: Number) -> Integer:
    """A communication step, in as many equal steps of the scheme as keep each of them within STEP."""
    new = part(m, WORK)
    f_new = part(m, WORK + N)
    rest = part(m, WORK + N + WIDTH)
    count = 1
    while number(count) * STEP < h * ALMOST:
        count = count + 1
    size = h / number(count)
    m[0] = t
    rates(t, part(m, X), part(m, P), part(m, RATES), part(m, SCRATCH))
    for k in range(count):
        later = t + number(k + 1) * size
        take_step(t + number(k) * size, size, part(m, X), part(m, RATES), part(m, P), new, rest)
        rates(later, new, part(m, P), f_new, part(m, SCRATCH))
        if any_lane(judged(new, f_new, part(m, WATCH)) != 0.0):
            m[STALE] = 1.0
            return 3
        for i in range(N):
            m[X + i] = new[i]
        for i in range(WIDTH):
            m[RATES + i] = f_new[i]
        m[0] = later
    m[0] = t + h
    m[STALE] = 1.0
    return 0


# given by the assembly as well


def fmu_defaults(m: Reals) -> None:
    raise NotImplementedError


def rates(t: Number, x: Reals, p: Reals, out: Reals, scratch: Reals) -> None:
    raise NotImplementedError


def observe(t: Number, x: Reals, p: Reals, out: Reals, scratch: Reals) -> None:
    raise NotImplementedError


def judged(x: Reals, f: Reals, watch: Reals) -> Real:
    raise NotImplementedError


def take_step(t: Number, h: Number, x: Reals, f: Reals, p: Reals, new: Reals, work: Reals) -> Real:
    raise NotImplementedError
