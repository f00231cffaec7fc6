"""The loop of an adaptive run, in the driver language.

    first_step    how long the first step of a run is
    attempt       one step and the size of its error, in units of the tolerances
    next_step     how long the step after an accepted one is
    shorter_step  how long a step is tried after a rejected one

A step whose end is not finite or has lost a pivot is rejected like one with too large an error; what stopped it is
reported when no step is left to try. Explicit schemes are attempted by `embedded`, stiff ones by `stiff`.
"""

from __future__ import annotations

from holdfast.engine.drivers.fixed import EVENT, EVENTS, NOT_CONVERGED, WIDTH, N, crossed, event_values, rates
from holdfast.engine.drivers.language import (
    Integer,
    Integers,
    Number,
    Numbers,
    Reals,
    absolute,
    larger,
    number,
    part,
    power,
    smaller,
    square_root,
)  # fmt: skip

# given by the assembly: how many coefficients the scheme's interpolant has, where a step's stages end, the order of
# the error that its steps are chosen by
TERMS = STAGES_END = ERROR_ORDER = 0

STEP_COLLAPSED = 5.0
RESOLUTION = 2.3e-15  # of the time: shorter steps do not move it
LARGEST = 1.7976931348623157e308  # of doubles


def first_step(control: Numbers, x: Reals, f: Reals, p: Reals, absolutes: Numbers, work: Reals) -> Number:
    """A step over which the state changes by about a hundredth of its scale (Hairer, Nørsett, Wanner, II.4)."""
    t = control[0]
    duration = control[1] - t
    relative = control[3]
    extent = 0.0
    slope = 0.0
    for i in range(N):
        scale = absolutes[i] + relative * absolute(x[i])
        here = x[i] / scale
        there = f[i] / scale
        extent = extent + here * here
        slope = slope + there * there
    extent = square_root(extent / number(N))
    slope = square_root(slope / number(N))
    guess = 0.000001
    if extent > 0.00001 and slope > 0.00001:
        guess = 0.01 * extent / slope
    guess = smaller(guess, duration)
    trial = part(work, 0)
    moved = part(work, N)
    for i in range(N):
        trial[i] = x[i] + guess * f[i]
    rates(t + guess, trial, p, moved, part(work, N + WIDTH + EVENTS + STAGES_END))
    bend = 0.0
    for i in range(N):
        turned = (moved[i] - f[i]) / (absolutes[i] + relative * absolute(x[i]))
        bend = bend + turned * turned
    largest = larger(slope, square_root(bend / number(N)) / guess)
    if not largest <= LARGEST:
        return 0.001 * guess
    step = larger(0.000001, 0.001 * guess)
    if largest > 0.000000000000001:
        step = power(0.01 / largest, 1.0 / number(ERROR_ORDER))
    return smaller(smaller(100.0 * guess, step), duration)


def adaptive(
    attempts: Integer,
    control: Numbers,
    counts: Integers,
    x: Reals,
    f: Reals,
    p: Reals,
    watch: Reals,
    events: Reals,
    absolutes: Numbers,
    times: Numbers,
    states: Reals,
    coefficients: Reals,
    work: Reals,
) -> None:
    """Attempt up to `attempts` steps and keep every accepted one.

    control   time, final time, next step (0: still to be chosen), relative tolerance, err of the last accepted step,
              why the last attempt failed, status, longest step, err of the last attempt
    counts    accepted, rejected, kept by this call, whether the last attempt was rejected,
              whether interpolants are wanted
    """
    new = part(work, 0)
    f_new = part(work, N)
    event_new = part(work, N + WIDTH)
    rest = part(work, N + WIDTH + EVENTS)
    counts[2] = 0
    if control[2] == 0.0 and control[0] < control[1]:
        control[2] = first_step(control, x, f, p, absolutes, work)
    for _attempt in range(attempts):
        t = control[0]
        end = control[1]
        if t >= end:
            return
        h = smaller(control[2], control[7])
        later = t + h
        if t + 1.01 * h >= end:
            h = end - t
            later = end
        if h <= RESOLUTION * absolute(t):
            control[6] = control[5]
            if control[5] == 0.0 or control[5] == NOT_CONVERGED:
                control[6] = STEP_COLLAPSED
            return
        verdict = attempt(t, later, h, x, f, p, watch, new, f_new, absolutes, control, counts, rest)
        if control[8] <= 1.0 and verdict == 0.0:
            if EVENTS > 0:
                event_values(later, new, p, event_new, part(rest, STAGES_END))
                happened = crossed(events, event_new, part(events, EVENTS))
                if happened > 0.0:
                    control[2] = h
                    control[6] = EVENT
                    return
                for e in range(EVENTS):
                    events[e] = event_new[e]
            kept = counts[2]
            if counts[4] > 0:
                interpolant(t, h, x, f, p, new, f_new, part(coefficients, kept * TERMS * N), rest)
            times[kept] = later
            for i in range(N):
                states[kept * N + i] = new[i]
                x[i] = new[i]
            for i in range(WIDTH):
                f[i] = f_new[i]
            control[0] = later
            control[2] = next_step(h, control, counts, rest)
            control[5] = 0.0
            counts[0] = counts[0] + 1
            counts[2] = kept + 1
            counts[3] = 0
        else:
            control[2] = shorter_step(h, verdict, control, counts, rest)
            control[5] = verdict
            counts[1] = counts[1] + 1
            counts[3] = 1


# given by the assembly as well


def attempt(
    t: Number,
    later: Number,
    h: Number,
    x: Reals,
    f: Reals,
    p: Reals,
    watch: Reals,
    new: Reals,
    f_new: Reals,
    absolutes: Numbers,
    control: Numbers,
    counts: Integers,
    work: Reals,
) -> Number:
    raise NotImplementedError


def next_step(h: Number, control: Numbers, counts: Integers, work: Reals) -> Number:
    raise NotImplementedError


def shorter_step(h: Number, verdict: Number, control: Numbers, counts: Integers, work: Reals) -> Number:
    raise NotImplementedError


def interpolant(
    t: Number,
    h: Number,
    x: Reals,
    f: Reals,
    p: Reals,
    new: Reals,
    f_new: Reals,
    out: Reals,
    work: Reals,
) -> None:
    raise NotImplementedError
