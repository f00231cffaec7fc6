"""Boxes cut down to where functions lie between limits, in the driver language: a box in each lane.

    f(x) = a + Σ l_k e_k + q(e) + r(e),    x_k = c_k + r_k e_k,   |e_k| ≤ 1

f are forms of second order in the variables of a box. Each row is solved for each e_k, with what q and r leave on the
other side, and the box drawn in, as long as that makes it smaller. Doubles are rounded to nearest, and `CUT_SLACK` of
all that meets in a sum is added on either side.
"""

from __future__ import annotations

from holdfast.engine.drivers.language import (
    Integer,
    Integers,
    Numbers,
    Real,
    Reals,
    absolute,
    any_lane,
    larger,
    part,
    real,
    select,
    smaller,
)
from holdfast.engine.forms.dispatch import FIELDS, perform
from holdfast.engine.forms.functions import INFINITE
from holdfast.engine.forms.values import LEAST, PAD, clear, measure, remainder, residual_part

CUT_ROUNDS = 6  # of cutting boxes down, as long as they shrink
SHRINKS = 0.8  # of a side: a box that loses less is cut down no further
CUT_SLACK = 1e-13  # of the terms of a sum: more than what a few hundred roundings of doubles lose
OUTWARD = 1e-15  # of a number: more than the rounding of a sum
SPACE = 5  # Reals beside two for each variable


def middle_of(low: Real, high: Real) -> Real:
    """Of a side, to nearest."""
    return low + (high - low) / 2.0


def reach_of(low: Real, high: Real) -> Real:
    """Not below what either end is away from the middle; never 0, so that each e has a meaning."""
    middle = middle_of(low, high)
    return larger(high - middle, middle - low) * (1.0 + CUT_SLACK) + OUTWARD * absolute(middle) + LEAST


def evaluate_box(
    shape: Integers, code: Integers, constants: Numbers, length: Integer, mem: Reals, pairs: Integers,
    systems: Integers, bounds: Reals, betas: Reals, differences: Reals, work: Reals, ends: Reals,
    input_slots: Integers, variables: Integer,
) -> None:  # fmt: skip
    """The tape over boxes with these ends, first all low ones."""
    for k in range(variables):
        v = part(mem, input_slots[k] * shape[3])
        clear(v, shape[2])
        v[0] = middle_of(ends[k], ends[variables + k])
        v[1 + k] = reach_of(ends[k], ends[variables + k])
        measure(v, shape, 0, 1)
    for i in range(length):
        perform(
            part(code, FIELDS * i), part(constants, 2 * i), mem, pairs, systems, shape, bounds, betas, differences, work
        )


def rest_of(v: Reals, shape: Integers, variables: Integer, found: Reals) -> None:
    """Of a form, into `found`: the middle of all beside its linear part, how far it is from it, and its size."""
    squares = real(0.0)
    spread = real(0.0)
    size = absolute(v[0])
    for k in range(variables):
        size = size + absolute(v[1 + k])
    m = 1 + variables
    for i in range(variables):
        squares = squares + v[m]
        spread = spread + absolute(v[m]) / 2.0
        size = size + absolute(v[m])
        for j in range(1, variables - i):
            spread = spread + absolute(v[m + j])
            size = size + absolute(v[m + j])
        m += variables - i
    r = remainder(v, shape)
    e = residual_part(v, shape)
    found[0] = squares / 2.0
    found[1] = spread + (r[0] + e[0]) + CUT_SLACK * (size + r[0] + e[0]) + LEAST
    found[2] = size


def solve_row(
    v: Reals, bottom: Real, top: Real, variables: Integer, rest: Reals, least: Reals, most: Reals, lives: Reals
) -> None:
    """The range of each e in which one row can lie between its limits; `lives` is 0 where there is none."""
    largest = larger(absolute(bottom), absolute(top))
    size = rest[2] + absolute(rest[0]) + rest[1] + largest
    known = size < INFINITE
    room = rest[1] + CUT_SLACK * size
    centre = v[0] + rest[0]
    total = real(0.0)
    away = real(0.0)
    for k in range(variables):
        total = total + v[1 + k] * (least[k] + most[k]) / 2.0
        away = away + absolute(v[1 + k]) * (most[k] - least[k]) / 2.0
    below = bottom - centre - room
    above = top - centre + room
    lives[0] = select(known and (total + away < below or total - away > above), 0.0, lives[0])
    for k in range(variables):
        slope = v[1 + k]
        middle = total - slope * (least[k] + most[k]) / 2.0
        free = away - absolute(slope) * (most[k] - least[k]) / 2.0
        one = (below - middle - free) / slope
        other = (above - middle + free) / slope
        first = smaller(one, other)
        last = larger(one, other)
        solved = known and absolute(first) < INFINITE and absolute(last) < INFINITE
        low = select(solved, larger(least[k], first - CUT_SLACK * absolute(first)), least[k])
        high = select(solved, smaller(most[k], last + CUT_SLACK * absolute(last)), most[k])
        lives[0] = select(low <= high, lives[0], 0.0)
        least[k] = smaller(low, high)
        most[k] = larger(low, high)


def draw_in(ends: Reals, variables: Integer, least: Reals, most: Reals, lives: Reals, active: Reals) -> None:
    """The box within the ranges of e, where it is active; it stays so where it lives and has become smaller."""
    shrunk = real(0.0)
    for k in range(variables):
        low = ends[k]
        high = ends[variables + k]
        middle = middle_of(low, high)
        reach = reach_of(low, high)
        lower = middle + reach * larger(least[k], real(-1.0)) - CUT_SLACK * reach
        upper = middle + reach * smaller(most[k], real(1.0)) + CUT_SLACK * reach
        lower = larger(low, lower - OUTWARD * absolute(lower) - LEAST)
        upper = smaller(high, upper + OUTWARD * absolute(upper) + LEAST)
        lives[0] = select(active[0] > 0.0 and not lower <= upper, 0.0, lives[0])
        shrunk = select(upper - lower < SHRINKS * (high - low), 1.0, shrunk)
        ends[k] = select(active[0] > 0.0, lower, low)
        ends[variables + k] = select(active[0] > 0.0, upper, high)
    active[0] = select(active[0] > 0.0 and lives[0] > 0.0 and shrunk > 0.0, 1.0, 0.0)


def cut(
    shape: Integers, code: Integers, constants: Numbers, length: Integer, mem: Reals, pairs: Integers,
    systems: Integers, bounds: Reals, betas: Reals, differences: Reals, work: Reals, blocks: Integer,
    boxes: Reals, input_slots: Integers, variables: Integer, outputs: Reals, output_slots: Integers,
    output_count: Integer, limits: Reals, space: Reals,
) -> None:  # fmt: skip
    """Blocks of boxes cut down in place, and the tape over what is left of them.

    boxes: for each block, low ends, high ends, and 1 where there is a box that may hold something. outputs: for each
    block and output its polynomial and what is beyond. limits: all low ones, then all high ones.
    """
    monomials = shape[0]
    least = space
    most = part(space, variables)
    rest = part(space, 2 * variables)
    active = part(space, 2 * variables + 3)
    held = part(space, 2 * variables + 4)
    for n in range(blocks):
        ends = part(boxes, n * (2 * variables + 1))
        lives = part(ends, 2 * variables)
        active[0] = real(1.0)
        for _ in range(CUT_ROUNDS):
            if any_lane(active[0] > 0.0):
                evaluate_box(
                    shape, code, constants, length, mem, pairs, systems, bounds, betas, differences, work, ends,
                    input_slots, variables,
                )  # fmt: skip
                for k in range(variables):
                    least[k] = real(-1.0)
                    most[k] = real(1.0)
                held[0] = lives[0]
                for i in range(output_count):
                    v = part(mem, output_slots[i] * shape[3])
                    rest_of(v, shape, variables, rest)
                    solve_row(v, limits[i], limits[output_count + i], variables, rest, least, most, held)
                lives[0] = select(active[0] > 0.0, held[0], lives[0])
                draw_in(ends, variables, least, most, lives, active)
        evaluate_box(
            shape, code, constants, length, mem, pairs, systems, bounds, betas, differences, work, ends,
            input_slots, variables,
        )  # fmt: skip
        for i in range(output_count):
            v = part(mem, output_slots[i] * shape[3])
            out = part(outputs, (n * output_count + i) * (monomials + 1))
            for m in range(monomials):
                out[m] = v[m]
            r = remainder(v, shape)
            e = residual_part(v, shape)
            out[monomials] = (r[0] + e[0]) * PAD
