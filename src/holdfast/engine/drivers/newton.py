"""Newton's method for the stages of a stiff scheme, in the driver language.

    (A⁻¹ ⊗ I - h I ⊗ ∂F/∂x) ΔZ = h F - (A⁻¹ ⊗ I) Z

With l A⁻¹ = μ l this is (μ - h ∂F/∂x)(l ΔZ) = l (h F - A⁻¹ Z) for each pole μ of the scheme: one real system and one
complex one of the size of the state. The partials are those of an earlier state, so corrections shrink by a factor θ:

    θ = |ΔZ| / |ΔZ before|          η = θ/(1 - θ)          solved when η |ΔZ| is small beside the tolerances

Hairer, Wanner, IV.8.
"""

from __future__ import annotations

from holdfast.engine.drivers.complex_elimination import solve_complex
from holdfast.engine.drivers.fixed import NOT_CONVERGED, NOT_FINITE, STAGES_END, WIDTH, N, rates
from holdfast.engine.drivers.implicit import solve
from holdfast.engine.drivers.language import (
    Number,
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

# given by the assembly: the scheme's numbers (see `stiff_numbers`), and where in the work space everything lies
A11 = A12 = A13 = A21 = A22 = A23 = A31 = A32 = A33 = C1 = C2 = 0.0
L1 = L2 = L3 = LR1 = LR2 = LR3 = LI1 = LI2 = LI3 = 0.0
R1 = R2 = R3 = RR1 = RR2 = RR3 = RI1 = RI2 = RI3 = 0.0
AT_Z = AT_SCALE = AT_Y = AT_STEP = AT_STAGES = AT_ORDER = AT_REAL = AT_PAIR = 0

CORRECTIONS = 7
LARGEST_GOAL = 0.03  # of the tolerances
ENOUGH = 0.02  # of the tolerances, where rounding lets corrections shrink no further
HOPELESS = 0.99  # corrections that shrink no faster than this
ROUNDING = 2.3e-16


def newton(t: Number, h: Number, x: Reals, p: Reals, relative: Number, work: Reals) -> Number:
    """Correct Z until it is solved; 0, or why it is not. Notes η, θ and the corrections it took."""
    z = part(work, AT_Z)
    step = part(work, AT_STEP)
    scale = part(work, AT_SCALE)
    goal = larger(2.0 * ROUNDING * extent(x, scale), smaller(LARGEST_GOAL, square_root(relative)))
    theta = 0.0
    ratio = 0.0
    before = 0.0
    slow = 0.0
    eta = 1.0
    if work[7] > 0.0:
        eta = power(larger(work[5], ROUNDING), 0.8)
    for count in range(CORRECTIONS):
        stage_rates(t, h, x, p, work)
        correction(h, work)
        total = 0.0
        for stage in range(3):
            for i in range(N):
                z[stage * N + i] = z[stage * N + i] + step[stage * N + i]
                share = step[stage * N + i] / scale[i]
                total = total + share * share
        size = square_root(total / number(3 * N))
        if not (size < 1e300):
            return NOT_FINITE
        if count > 0:
            earlier = ratio
            ratio = size / before
            theta = ratio
            if count > 1:
                theta = square_root(ratio * earlier)
            eta = theta / larger(1.0 - theta, 1.0 - HOPELESS)
            if theta >= HOPELESS or eta * size * power(theta, number(CORRECTIONS - 1 - count)) > goal:
                slow = 1.0
        if eta * size <= goal or (slow > 0.0 and size <= larger(ENOUGH, goal)):
            work[5] = eta
            work[6] = theta
            work[7] = number(count + 1)
            return 0.0
        if slow > 0.0:
            return NOT_CONVERGED
        before = size
    return NOT_CONVERGED


def extent(x: Reals, scale: Reals) -> Number:
    """The mean size of a state in units of the tolerances."""
    total = 0.0
    for i in range(N):
        share = absolute(x[i]) / scale[i]
        total = total + share * share
    return square_root(total / number(N))


def stage_rates(t: Number, h: Number, x: Reals, p: Reals, work: Reals) -> None:
    """F at the three stages."""
    z = part(work, AT_Z)
    y = part(work, AT_Y)
    scratch = part(work, STAGES_END)
    for i in range(N):
        y[i] = x[i] + z[i]
    rates(t + C1 * h, y, p, part(work, AT_STAGES), scratch)
    for i in range(N):
        y[i] = x[i] + z[N + i]
    rates(t + C2 * h, y, p, part(work, AT_STAGES + WIDTH), scratch)
    for i in range(N):
        y[i] = x[i] + z[2 * N + i]
    rates(t + h, y, p, part(work, AT_STAGES + 2 * WIDTH), scratch)
    work[0] = work[0] + 3.0


def correction(h: Number, work: Reals) -> None:
    """ΔZ, from the rates at the stages."""
    z = part(work, AT_Z)
    step = part(work, AT_STEP)
    k1 = part(work, AT_STAGES)
    k2 = part(work, AT_STAGES + WIDTH)
    k3 = part(work, AT_STAGES + 2 * WIDTH)
    for i in range(N):
        first = h * k1[i] - (A11 * z[i] + A12 * z[N + i] + A13 * z[2 * N + i])
        second = h * k2[i] - (A21 * z[i] + A22 * z[N + i] + A23 * z[2 * N + i])
        third = h * k3[i] - (A31 * z[i] + A32 * z[N + i] + A33 * z[2 * N + i])
        step[i] = L1 * first + L2 * second + L3 * third
        step[N + i] = LR1 * first + LR2 * second + LR3 * third
        step[2 * N + i] = LI1 * first + LI2 * second + LI3 * third
    solve(part(work, AT_REAL), as_integers(part(work, AT_ORDER)), N, step)
    solve_complex(
        part(work, AT_PAIR),
        part(work, AT_PAIR + N * N),
        as_integers(part(work, AT_ORDER + N)),
        N,
        part(step, N),
        part(step, 2 * N),
    )
    for i in range(N):
        alone = step[i]
        real_part = step[N + i]
        imaginary = step[2 * N + i]
        step[i] = R1 * alone + RR1 * real_part + RI1 * imaginary
        step[N + i] = R2 * alone + RR2 * real_part + RI2 * imaginary
        step[2 * N + i] = R3 * alone + RR3 * real_part + RI3 * imaginary
