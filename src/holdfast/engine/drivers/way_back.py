"""A step that ends on the program, in the driver language: the scheme's own step, then Newton's iteration back.

    q ← q − Δq until |y| ≤ CLOSE · s(y),     then     v ← v − Δv until |w| ≤ CLOSE · s(w)

for a few turns, or else until NOISE · s, where s are the sizes of the terms that a deviation is made of, here or where
the iteration began, whichever is larger (a bare coordinate has no terms but itself). A state that is not there after a
few turns is left to the caller.
"""

from __future__ import annotations

from holdfast.engine.drivers.language import (
    Integer,
    Number,
    Real,
    Reals,
    absolute,
    any_lane,
    larger,
    part,
    real,
    select,
)

# given by the assembly: how many coordinates, and how many deviations of positions and of rates are looked at
POSITIONS = HELD_POSITIONS = HELD_RATES = MOST_HELD = BACK_AT = BACK_WORK = 0

NOISE = 2.0**-46  # of the size of its terms: below this a deviation is rounding,
CLOSE = 2.0**-52  # and below this no turn can lessen it
NOT_RETURNED = 7.0  # the state after the step was not brought back
TURNS = 8  # of the iteration: from a deviation of one step two or three do,
FEW = 3  # and as many are worth it for the last digits


def far(held: Reals, first: Reals, count: Integer, turns: Integer) -> Real:
    """1 where a deviation is more than rounding after so many turns; `held` are the deviations, then the sizes of
    their terms.
    """
    limit = NOISE
    if turns < FEW:
        limit = CLOSE
    found = real(0.0)
    for i in range(count):
        size = larger(held[count + i], first[i])
        found = select(absolute(held[i]) <= limit * size, found, 1.0)
    return found


def returned(t: Number, x: Reals, p: Reals, work: Reals) -> Real:
    """Move x back onto the program; 0 where it is there."""
    held = part(work, 0)
    first = part(work, 2 * MOST_HELD)
    change = part(work, 3 * MOST_HELD)
    scratch = part(work, BACK_WORK)
    position_deviations(t, x, p, held, scratch)
    for i in range(HELD_POSITIONS):
        first[i] = held[HELD_POSITIONS + i]
    turns = 0
    away = far(held, first, HELD_POSITIONS, turns)
    while any_lane(away > 0.0) and (turns < TURNS):
        position_correction(t, x, p, change, scratch)
        for i in range(POSITIONS):
            x[i] = select(away > 0.0, x[i] - change[i], x[i])
        position_deviations(t, x, p, held, scratch)
        turns = turns + 1
        away = far(held, first, HELD_POSITIONS, turns)
    rate_deviations(t, x, p, held, scratch)
    for i in range(HELD_RATES):
        first[i] = held[HELD_RATES + i]
    turns = 0
    apart = far(held, first, HELD_RATES, turns)
    while any_lane(apart > 0.0) and (turns < TURNS):
        rate_correction(t, x, p, change, scratch)
        for i in range(POSITIONS):
            x[POSITIONS + i] = select(apart > 0.0, x[POSITIONS + i] - change[i], x[POSITIONS + i])
        rate_deviations(t, x, p, held, scratch)
        turns = turns + 1
        apart = far(held, first, HELD_RATES, turns)
    return select((away == 0.0) and (apart == 0.0), 0.0, NOT_RETURNED)


def take_step(t: Number, h: Number, x: Reals, f: Reals, p: Reals, new: Reals, work: Reals) -> Real:
    """The scheme's own step, and the way back from where it led."""
    failed = free_step(t, h, x, f, p, new, work)
    back = returned(t + h, new, p, part(work, BACK_AT))
    return select(failed == 0.0, back, failed)


# given by the assembly as well


def free_step(t: Number, h: Number, x: Reals, f: Reals, p: Reals, new: Reals, work: Reals) -> Real:
    raise NotImplementedError


def position_deviations(t: Number, x: Reals, p: Reals, out: Reals, scratch: Reals) -> None:
    raise NotImplementedError


def position_correction(t: Number, x: Reals, p: Reals, out: Reals, scratch: Reals) -> None:
    raise NotImplementedError


def rate_deviations(t: Number, x: Reals, p: Reals, out: Reals, scratch: Reals) -> None:
    raise NotImplementedError


def rate_correction(t: Number, x: Reals, p: Reals, out: Reals, scratch: Reals) -> None:
    raise NotImplementedError
