"""Attempts of a stiff adaptive scheme, in the driver language: the step, its error, and the step after it.

    err  = ‖ (μ - h ∂F/∂x)⁻¹ (h F(x) + Σ e_i Z_i) / (absolute + relative · max(|x|, |x⁺|)) ‖

measured again with F(x + that) in place of F(x) before a first step, or one after a rejected one, is given up; or, if
larger, what the polynomial of the step misses between its ends (which the filter hides in what is stiff);

    h⁺ = h / clip(max(err^¼ / safety, h_old/h · (err²/err_old)^¼ / SAFETY), 1/GROWTH, 1/SHRINK)

with a safety that falls with the corrections it took, and Gustafsson's prediction from the last two steps. Partials
stay in use while corrections shrink fast, their factors while the step is nearly the same. A step whose equations are
not solved is tried again with new partials, then with half its length. Hairer, Wanner, IV.8.

Numbers kept in front of the work space, all 0 at the start of a run:

    0 evaluations of F    1 whether there are partials    2 whether they are of this state    3 h of the factors
    4 h of the last accepted step    5 η of the last solved one    6 its θ    7 its corrections
    8 the largest growth of a step, soon after one whose equations were not solved, or 0
    9 the relative tolerance
"""

from __future__ import annotations

from holdfast.engine.drivers.complex_elimination import factorise_complex
from holdfast.engine.drivers.fixed import NOT_CONVERGED, STAGES_END, N, judged, rates
from holdfast.engine.drivers.implicit import factorise, solve
from holdfast.engine.drivers.language import (
    Integers,
    Number,
    Numbers,
    Reals,
    absolute,
    as_integers,
    larger,
    number,
    part,
    power,
    smaller,
    square_root,
)
from holdfast.engine.drivers.newton import newton

# given by the assembly: the scheme's numbers (see `stiff_numbers`), and where in the work space everything lies
MU = ALPHA = BETA = E1 = E2 = E3 = C1 = C2 = EXPONENT = SAFETY = SHRINK = GROWTH = 0.0
D21 = D22 = D23 = D31 = D32 = D33 = WORST = 0.0
AT_Z = AT_Q = AT_NEW_Q = AT_SCALE = AT_Y = AT_ERROR = AT_STAGES = AT_ORDER = AT_PARTIALS = AT_REAL = AT_PAIR = 0
CORRECTIONS = 0

QUICK = 0.001  # corrections that shrink like this let the partials stay
SAME = 1e-9  # steps that differ by a smaller part of themselves have the same factors
NEARLY = 1.2  # a next step up to this much longer is not worth new factors
RECOVERY = 1.15  # growth of the step after one whose equations were not solved; to the power 3/2 from step to step


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
    scale = part(work, AT_SCALE)
    for i in range(N):
        scale[i] = absolutes[i] + control[3] * absolute(x[i])
    work[9] = control[3]
    span = later - t  # as rounded: many steps of one length would round the time the same way
    failed = take_step(t, span, x, f, p, new, work)
    if failed != 0.0:
        return failed
    rates(later, new, p, f_new, part(work, STAGES_END))
    work[0] = work[0] + 1.0
    control[8] = larger(1e-10, measured(t, span, x, f, p, new, absolutes, control, counts, work))
    return judged(new, f_new, watch)


def take_step(t: Number, h: Number, x: Reals, f: Reals, p: Reals, new: Reals, work: Reals) -> Number:
    """new = the state after one step, whose polynomial is kept; 0, or why its equations are not solved."""
    z = part(work, AT_Z)
    failed = 0.0
    for _again in range(2):
        factors(t, h, x, p, work)
        foretell(h, work)
        failed = newton(t, h, x, p, work[9], work)
        if failed == 0.0 or work[2] > 0.0:
            break
        work[1] = 0.0
    for i in range(N):
        new[i] = x[i] + z[2 * N + i]
    polynomial(z, part(work, AT_NEW_Q))
    return failed


def factors(t: Number, h: Number, x: Reals, p: Reals, work: Reals) -> None:
    """∂F/∂x where it is wanted, and the factors of μ - h ∂F/∂x and of α + iβ - h ∂F/∂x where those have changed."""
    partial = part(work, AT_PARTIALS)
    one = part(work, AT_REAL)
    two = part(work, AT_PAIR)
    three = part(work, AT_PAIR + N * N)
    if work[1] == 0.0:
        for i in range(N * N):
            partial[i] = 0.0
        partials(t, x, p, partial, part(work, STAGES_END))
        work[1] = 1.0
        work[2] = 1.0
        work[3] = 0.0
    if absolute(work[3] - h) > SAME * h:
        for i in range(N * N):
            one[i] = -h * partial[i]
            two[i] = -h * partial[i]
            three[i] = 0.0
        for i in range(N):
            one[i * N + i] = one[i * N + i] + MU
            two[i * N + i] = two[i * N + i] + ALPHA
            three[i * N + i] = BETA
        factorise(one, as_integers(part(work, AT_ORDER)), N)
        factorise_complex(two, three, as_integers(part(work, AT_ORDER + N)), N)
        work[3] = h


def foretell(h: Number, work: Reals) -> None:
    """Z to begin with: the last step's polynomial, continued; 0 in the first step."""
    z = part(work, AT_Z)
    q = part(work, AT_Q)
    if work[4] == 0.0:
        for i in range(3 * N):
            z[i] = 0.0
    else:
        ratio = h / work[4]
        for stage in range(3):
            theta = 1.0 + ratio
            if stage == 0:
                theta = 1.0 + C1 * ratio
            if stage == 1:
                theta = 1.0 + C2 * ratio
            for i in range(N):
                inner = q[N + i] + theta * q[2 * N + i]
                z[stage * N + i] = theta * (q[i] + (1.0 - theta) * inner) - q[i]


def measured(
    t: Number,
    h: Number,
    x: Reals,
    f: Reals,
    p: Reals,
    new: Reals,
    absolutes: Numbers,
    control: Numbers,
    counts: Integers,
    work: Reals,
) -> Number:
    """The size of the error of a step whose equations are solved."""
    z = part(work, AT_Z)
    y = part(work, AT_Y)
    error = part(work, AT_ERROR)
    again = part(work, AT_STAGES)
    order = as_integers(part(work, AT_ORDER))
    for i in range(N):
        error[i] = h * f[i] + (E1 * z[i] + E2 * z[N + i] + E3 * z[2 * N + i])
    solve(part(work, AT_REAL), order, N, error)
    size = error_size(x, new, error, absolutes, control[3])
    if size >= 1.0 and (counts[0] == 0 or counts[3] > 0):
        for i in range(N):
            y[i] = x[i] + error[i]
        rates(t, y, p, again, part(work, STAGES_END))
        work[0] = work[0] + 1.0
        for i in range(N):
            error[i] = h * again[i] + (E1 * z[i] + E2 * z[N + i] + E3 * z[2 * N + i])
        solve(part(work, AT_REAL), order, N, error)
        size = error_size(x, new, error, absolutes, control[3])
    if work[4] > 0.0:
        size = larger(size, between(h, x, new, absolutes, control[3], work))
    return size


def between(h: Number, x: Reals, new: Reals, absolutes: Numbers, relative: Number, work: Reals) -> Number:
    """The size of the error between the ends of a step: its polynomial, continued back to a stage of the step before.

    It misses that stage by the fourth derivative times θ Π(θ - c_i); within the step this product is WORST at most.
    """
    q = part(work, AT_Q)
    new_q = part(work, AT_NEW_Q)
    error = part(work, AT_ERROR)
    theta = -(1.0 - C2) * work[4] / h
    share = WORST / absolute(theta * (theta - C1) * (theta - C2) * (theta - 1.0))
    for i in range(N):
        there = C2 * (q[i] + (1.0 - C2) * (q[N + i] + C2 * q[2 * N + i])) - q[i]
        back = theta * (new_q[i] + (1.0 - theta) * (new_q[N + i] + theta * new_q[2 * N + i]))
        error[i] = share * (back - there)
    return error_size(x, new, error, absolutes, relative)


def error_size(x: Reals, new: Reals, error: Reals, absolutes: Numbers, relative: Number) -> Number:
    """The mean size of an error in units of the tolerances."""
    total = 0.0
    for i in range(N):
        ratio = error[i] / (absolutes[i] + relative * larger(absolute(x[i]), absolute(new[i])))
        total = total + ratio * ratio
    return square_root(total / number(N))


def next_step(h: Number, control: Numbers, counts: Integers, work: Reals) -> Number:
    """The step after an accepted one, whose polynomial is kept to begin with."""
    err = control[8]
    patience = 2.0 * number(CORRECTIONS)
    factor = power(err, EXPONENT) / SAFETY * ((patience + work[7]) / (patience + 1.0))
    if counts[0] > 0:
        factor = larger(factor, work[4] / h * power(err * err / control[4], EXPONENT) / SAFETY)
    factor = larger(1.0 / GROWTH, smaller(1.0 / SHRINK, factor))
    if counts[3] > 0:
        factor = larger(1.0, factor)
    for i in range(3 * N):
        work[AT_Q + i] = work[AT_NEW_Q + i]
    if work[8] > 0.0:
        factor = larger(factor, 1.0 / work[8])
        work[8] = work[8] * square_root(work[8])
        if work[8] > GROWTH:
            work[8] = 0.0
    control[4] = larger(err, 0.01)
    work[2] = 0.0
    work[4] = h
    if work[6] > QUICK:
        work[1] = 0.0
        return h / factor
    if factor <= 1.0 and NEARLY * factor >= 1.0:
        return h
    return h / factor


def shorter_step(h: Number, verdict: Number, control: Numbers, counts: Integers, work: Reals) -> Number:
    """The step to try after a rejected one, with partials of the state it starts from."""
    work[1] = work[2]
    if verdict == NOT_CONVERGED:
        work[8] = RECOVERY
    if verdict != 0.0 or not (control[8] > 1.0):
        return 0.5 * h
    if counts[0] == 0:
        return 0.1 * h
    return h / smaller(1.0 / SHRINK, power(control[8], EXPONENT) / SAFETY)


def polynomial(z: Reals, out: Reals) -> None:
    """The coefficients of the polynomial through the start of a step and its stages."""
    for i in range(N):
        first = z[i]
        second = z[N + i]
        third = z[2 * N + i]
        out[i] = third
        out[N + i] = D21 * first + D22 * second + D23 * third
        out[2 * N + i] = D31 * first + D32 * second + D33 * third


def interpolant(
    t: Number, h: Number, x: Reals, f: Reals, p: Reals, new: Reals, f_new: Reals, out: Reals, work: Reals
) -> None:
    """The dense output of an accepted step."""
    for i in range(3 * N):
        out[i] = work[AT_NEW_Q + i]


# given by the assembly as well


def partials(t: Number, x: Reals, p: Reals, out: Reals, scratch: Reals) -> None:
    raise NotImplementedError
