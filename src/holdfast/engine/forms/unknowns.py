"""The unknowns of a linear system of forms, all steps together, in the driver language; see `systems`."""

from __future__ import annotations

from holdfast.engine.drivers.language import Integer, Integers, Number, Reals, part
from holdfast.engine.forms.differences import difference_of_system
from holdfast.engine.forms.residuals import bound_residuals, slopes
from holdfast.engine.forms.systems import (
    centre_inverse,
    polynomial_solution,
    residual_of_solution,
    unknown_value,
)
from holdfast.engine.forms.values import LEAST, PAD, TERMS, clear, reach, residual_part


def solve(
    mem: Reals, system: Integers, pairs: Integers, count: Integer, shape: Integers, bounds: Reals, differences: Reals,
    term: Number, work: Reals,
) -> None:  # fmt: skip
    """The unknowns of a system, with N new residuals and their bounds."""
    size = system[0]
    old = system[2]
    inverse = work
    vary = part(work, size * size)
    left = part(vary, system[1] * TERMS)
    apart = part(left, size * TERMS)
    miss = part(apart, size * TERMS)
    rest = part(miss, size * size * TERMS)
    for j in range(size):
        clear(unknown_value(mem, system, j, shape), shape[2] + old + size)
    centre_inverse(mem, system, shape, inverse, vary, rest)
    polynomial_solution(mem, system, pairs, count, shape, inverse, rest)
    residual_of_solution(mem, system, pairs, count, shape, term, left, rest)
    slopes(mem, system, shape, bounds, differences, inverse, term, left, apart, miss, rest)
    for j in range(size):
        reach(unknown_value(mem, system, j, shape), shape, old, bounds)
    for e in range(system[1]):
        known = residual_part(unknown_value(mem, system, system[3 + 4 * e + 1], shape), shape)
        row = part(left, system[3 + 4 * e] * TERMS)
        for p in range(TERMS):
            for q in range(TERMS - p):
                row[p + q] = row[p + q] + vary[e * TERMS + p] * known[q]
    for i in range(size * TERMS):
        left[i] = left[i] * PAD + LEAST
    bound_residuals(mem, system, shape, left, miss, vary, part(bounds, old * TERMS), rest)
    for j in range(size):
        reach(unknown_value(mem, system, j, shape), shape, old + size, bounds)
    if TERMS == 1:
        difference_of_system(mem, system, shape, differences, apart, miss, vary, rest)
