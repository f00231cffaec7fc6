"""The loop of a fixed-step run, in the driver language.

    t_s = t0 + s·step           x_{s+1} = take_step(t_s, x_s)           f_{s+1} = F(t_{s+1}, x_{s+1})

f holds the rates at x and, after them, the pivots and their scales; it is the first stage of the next step, so looking
at the new pivots costs nothing. A step is taken over only when the new state and its rates are finite, no pivot is
lost and no event happened; otherwise the lane keeps its last good state and the reason.
"""

from __future__ import annotations

from holdfast.engine.drivers.language import (
    Integer,
    Number,
    Numbers,
    Real,
    Reals,
    absolute,
    any_lane,
    fma,
    number,
    part,
    rarely,
    real,
    select,
)

# given by the assembly: how many states, parameters, pivots and events, how long f is, where a step's stages end
N = PARAMETERS = PIVOTS = EVENTS = WIDTH = STAGES_END = 0

NOT_FINITE, RANK_LOST, EVENT, NOT_CONVERGED = 1.0, 2.0, 3.0, 4.0
LEAST_PIVOT = 1e-13  # of its scale: some hundred roundings of what a pivot is made of


def judged(x: Reals, f: Reals, watch: Reals) -> Real:
    """0 where the state is good. `watch` holds the sign that each pivot had at the start."""
    state = real(0.0)
    rate = real(0.0)
    state_behind = real(0.0)  # sums from both ends: a processor adds them side by side
    rate_behind = real(0.0)
    for i in range((N + 1) // 2):
        state = fma(x[i], 0.0, state)  # nan as soon as one is infinite or nan
        rate = fma(f[i], 0.0, rate)
        state_behind = fma(x[N - 1 - i], 0.0, state_behind)
        rate_behind = fma(f[N - 1 - i], 0.0, rate_behind)
    state = state + state_behind
    rate = rate + rate_behind
    held = real(1.0)
    for j in range(PIVOTS):
        held = select(f[N + j] * watch[j] > LEAST_PIVOT * absolute(f[N + PIVOTS + j]), held, 0.0)
    verdict = select(rate == 0.0, 0.0, NOT_FINITE)
    verdict = select(held == 0.0, RANK_LOST, verdict)
    return select(state == 0.0, verdict, NOT_FINITE)


def crossed(before: Reals, after: Reals, directions: Reals) -> Real:
    """1 where an event function changed its sign in a direction that counts (1 rising, -1 falling, 0 both)."""
    happened = real(0.0)
    for e in range(EVENTS):
        rising = (before[e] < 0.0) and (after[e] >= 0.0) and (directions[e] >= 0.0)
        falling = (before[e] > 0.0) and (after[e] <= 0.0) and (directions[e] <= 0.0)
        happened = select(rising or falling, 1.0, happened)
    return happened


def one_step(
    s: Integer,
    t0: Number,
    h: Number,
    p: Reals,
    watch: Reals,
    directions: Reals,
    x: Reals,
    f: Reals,
    events: Reals,
    new: Reals,
    f_new: Reals,
    event_new: Reals,
    status: Reals,
    done: Reals,
    work: Reals,
) -> Integer:
    """Step number s + 1 from x to new, judged; a lane that has ended keeps its state. Gives 1 where no lane goes on."""
    scratch = part(work, STAGES_END)
    later = t0 + number(s + 1) * h
    failed = take_step(t0 + number(s) * h, h, x, f, p, new, work)
    rates(later, new, p, f_new, scratch)
    verdict = select(failed == 0.0, judged(new, f_new, watch), failed)
    if EVENTS > 0:
        event_values(later, new, p, event_new, scratch)
        happened = crossed(events, event_new, directions)
        verdict = select((verdict == 0.0) and (happened > 0.0), EVENT, verdict)
    verdict = select(status[0] == 0.0, verdict, status[0])
    alive = verdict == 0.0
    status[0] = verdict
    done[0] = select(alive, number(s + 1), done[0])
    if rarely(verdict != 0.0):  # a processor goes on with the new state before the verdict is there
        for i in range(N):
            new[i] = select(alive, new[i], x[i])
        for i in range(WIDTH):
            f_new[i] = select(alive, f_new[i], f[i])
        for e in range(EVENTS):
            event_new[e] = select(alive, event_new[e], events[e])
        if not any_lane(alive):
            return 1
    return 0


def fixed(
    first: Integer,
    count: Integer,
    every: Integer,
    t0: Number,
    h: Number,
    x: Reals,
    f: Reals,
    p: Reals,
    watch: Reals,
    events: Reals,
    status: Reals,
    done: Reals,
    rows: Reals,
    work: Reals,
) -> Integer:
    """Take up to `count` steps from step number `first`; keep every `every`-th state in `rows`; give the steps taken.

    `events` holds the event functions at x, then their directions. Steps go from x to `new` and back in turn, so that
    none is copied.
    """
    new = part(work, 0)
    f_new = part(work, N)
    event_new = part(work, N + WIDTH)
    rest = part(work, N + WIDTH + EVENTS)
    directions = part(events, EVENTS)
    row = 0
    taken = count
    for s in range(first, first + count):
        over = 0
        if (s - first) % 2 == 0:
            over = one_step(s, t0, h, p, watch, directions, x, f, events, new, f_new, event_new, status, done, rest)
        else:
            over = one_step(s, t0, h, p, watch, directions, new, f_new, event_new, x, f, events, status, done, rest)
        if (s + 1) % every == 0:
            if (s - first) % 2 == 0:
                for i in range(N):
                    rows[row * N + i] = new[i]
            else:
                for i in range(N):
                    rows[row * N + i] = x[i]
            row = row + 1
        if over > 0:
            taken = s + 1 - first
            break
    if taken % 2 == 1:
        for i in range(N):
            x[i] = new[i]
        for i in range(WIDTH):
            f[i] = f_new[i]
        for e in range(EVENTS):
            events[e] = event_new[e]
    return taken


def fixed_blocks(
    blocks: Integer,
    first: Integer,
    count: Integer,
    every: Integer,
    kept: Integer,
    t0: Number,
    h: Number,
    x: Reals,
    f: Reals,
    p: Reals,
    watch: Reals,
    events: Reals,
    status: Reals,
    done: Reals,
    rows: Reals,
    work: Reals,
) -> None:
    """`fixed` for several blocks of lanes, one after the other; `kept` rows of each are there already or to come."""
    for b in range(blocks):
        fixed(
            first,
            count,
            every,
            t0,
            h,
            part(x, b * N),
            part(f, b * WIDTH),
            part(p, b * PARAMETERS),
            part(watch, b * PIVOTS),
            part(events, b * 2 * EVENTS),
            part(status, b),
            part(done, b),
            part(rows, b * kept * N),
            work,
        )


def started(t: Number, x: Reals, p: Reals, f: Reals, watch: Reals, status: Reals, scratch: Reals) -> None:
    """Rates and pivots at a start, the signs of the pivots there, and whether it is good."""
    rates(t, x, p, f, scratch)
    for j in range(PIVOTS):
        watch[j] = select(f[N + j] < 0.0, -1.0, 1.0)
    status[0] = judged(x, f, watch)


def start_blocks(
    blocks: Integer, t: Number, x: Reals, p: Reals, f: Reals, watch: Reals, status: Reals, scratch: Reals
) -> None:
    """`started` for several blocks of lanes."""
    for b in range(blocks):
        started(
            t,
            part(x, b * N),
            part(p, b * PARAMETERS),
            part(f, b * WIDTH),
            part(watch, b * PIVOTS),
            part(status, b),
            scratch,
        )


def many(
    count: Integer, each: Integer, width: Integer, t: Numbers, x: Reals, p: Reals, out: Reals, scratch: Reals
) -> None:
    """A body at each of many states: row k of `out` is `width` values. A case is `each` rows, with parameters."""
    for k in range(count):
        whose = k // each
        body(t[k - whose * each], part(x, k * N), part(p, whose * PARAMETERS), part(out, k * width), scratch)


# given by the assembly as well


def take_step(t: Number, h: Number, x: Reals, f: Reals, p: Reals, new: Reals, work: Reals) -> Real:
    raise NotImplementedError


def rates(t: Number, x: Reals, p: Reals, out: Reals, scratch: Reals) -> None:
    raise NotImplementedError


def event_values(t: Number, x: Reals, p: Reals, out: Reals, scratch: Reals) -> None:
    raise NotImplementedError


def body(t: Number, x: Reals, p: Reals, out: Reals, scratch: Reals) -> None:
    raise NotImplementedError
