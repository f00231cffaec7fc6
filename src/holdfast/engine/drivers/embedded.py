"""Attempts of an explicit adaptive scheme, in the driver language: Hairer's step control.

    err  = ‖ local error / (absolute + relative · max(|x|, |x⁺|)) ‖
    step⁺ = step · clip(safety · err^-EXPONENT · old^FEEDBACK, SHRINK, GROWTH)      accepted when err <= 1

After a step whose end is no good, one four times shorter is tried. Hairer, Nørsett, Wanner, II.4.
"""

from __future__ import annotations

from holdfast.engine.drivers.fixed import STAGES_END, judged, rates, take_step
from holdfast.engine.drivers.language import Integers, Number, Numbers, Reals, larger, part, power, select, smaller

EXPONENT = FEEDBACK = SAFETY = SHRINK = GROWTH = 0.0  # given by the assembly: the scheme's step control


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
    """Take a step, put the size of its error into control[8], and judge its end."""
    failed = take_step(t, h, x, f, p, new, work)
    rates(later, new, p, f_new, part(work, STAGES_END))
    control[8] = h * error_norm(x, f, new, f_new, absolutes, control[3], work)
    return select(failed == 0.0, judged(new, f_new, watch), failed)


def next_step(h: Number, control: Numbers, counts: Integers, work: Reals) -> Number:
    """The step after an accepted one; not longer than that if it came after a rejected one."""
    err = control[8]
    factor = power(err, EXPONENT) / power(control[4], FEEDBACK) / SAFETY
    factor = larger(1.0 / GROWTH, smaller(1.0 / SHRINK, factor))
    if counts[3] > 0:
        factor = larger(1.0, factor)
    control[4] = larger(err, 0.0001)
    return h / factor


def shorter_step(h: Number, verdict: Number, control: Numbers, counts: Integers, work: Reals) -> Number:
    """The step to try after a rejected one."""
    err = control[8]
    if err > 1.0 and verdict == 0.0:
        return h / smaller(1.0 / SHRINK, power(err, EXPONENT) / SAFETY)
    return 0.25 * h


# given by the assembly as well


def error_norm(
    x: Reals, f: Reals, new: Reals, f_new: Reals, absolutes: Numbers, relative: Number, work: Reals
) -> Number:
    raise NotImplementedError
