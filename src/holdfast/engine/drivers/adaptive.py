"""The loop of an adaptive run, in the driver language: Hairer's step control.

    err  = ‖ local error / (absolute + relative · max(|x|, |x⁺|)) ‖
    step⁺ = step · clip(safety · err^-EXPONENT · old^FEEDBACK, SHRINK, GROWTH)      accepted when err <= 1

A step whose end is not finite or has lost a pivot is rejected like one with too large an error, and tried again four
times shorter; what stopped it is reported when no step is left to try. Hairer, Nørsett, Wanner, II.4.
"""

from __future__ import annotations

from holdfast.engine.drivers.fixed import (
    EVENT,
    EVENTS,
    STAGES_END,
    WIDTH,
    N,
    crossed,
    event_values,
    judged,
    rates,
    remember_pivots,
    take_step,
)
from holdfast.engine.drivers.language import (
    Integer,
    Integers,
    Number,
    Numbers,
    Reals,
    absolute,
    larger,
    part,
    power,
    smaller,
)

# given by the assembly: the scheme's step control, how many coefficients its interpolant has
EXPONENT = FEEDBACK = SAFETY = SHRINK = GROWTH = 0.0
TERMS = 0

STEP_COLLAPSED = 5.0
RESOLUTION = 2.3e-15  # of the time: shorter steps do not move it


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

    control   time, final time, next step, relative tolerance, err of the last accepted step,
              why the last attempt failed, status, longest step
    counts    accepted, rejected, kept by this call, whether the last attempt was rejected,
              whether interpolants are wanted
    """
    new = part(work, 0)
    f_new = part(work, N)
    event_new = part(work, N + WIDTH)
    rest = part(work, N + WIDTH + EVENTS)
    scratch = part(rest, STAGES_END)
    counts[2] = 0
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
            if control[5] == 0.0:
                control[6] = STEP_COLLAPSED
            return
        take_step(t, h, x, f, p, new, rest)
        rates(later, new, p, f_new, scratch)
        err = h * error_norm(x, f, new, f_new, absolutes, control[3], rest)
        verdict = judged(new, f_new, watch)
        if err <= 1.0 and verdict == 0.0:
            if EVENTS > 0:
                event_values(later, new, p, event_new, scratch)
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
            remember_pivots(f, watch)
            factor = power(err, EXPONENT) / power(control[4], FEEDBACK) / SAFETY
            factor = larger(1.0 / GROWTH, smaller(1.0 / SHRINK, factor))
            if counts[3] > 0:
                factor = larger(1.0, factor)
            control[0] = later
            control[2] = h / factor
            control[4] = larger(err, 0.0001)
            control[5] = 0.0
            counts[0] = counts[0] + 1
            counts[2] = kept + 1
            counts[3] = 0
        else:
            control[2] = 0.25 * h
            if err > 1.0 and verdict == 0.0:
                control[2] = h / smaller(1.0 / SHRINK, power(err, EXPONENT) / SAFETY)
            control[5] = verdict
            counts[1] = counts[1] + 1
            counts[3] = 1


# given by the assembly as well


def error_norm(
    x: Reals, f: Reals, new: Reals, f_new: Reals, absolutes: Numbers, relative: Number, work: Reals
) -> Number:
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
