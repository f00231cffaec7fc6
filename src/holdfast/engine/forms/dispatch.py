"""The tape as data: one instruction after the other, over blocks of cells, in the driver language.

An instruction is thirteen integers (operation, two results, two operands, their powers of s and numbers of residuals,
where its pairs of monomials begin and how many they are, how rounding is carried or where its system lies, and the
first symbol it may add) and two numbers (a constant, and how well it is known).
"""

from __future__ import annotations

from holdfast.engine.drivers.language import Integer, Integers, Numbers, Reals, part
from holdfast.engine.forms.differences import carry_difference, with_product
from holdfast.engine.forms.error_symbols import CARRIED, OWN_ROUNDING, carry_symbols, slack_symbol, spread
from holdfast.engine.forms.functions import (
    EXPONENTIAL,
    LOGARITHM,
    RECIPROCAL,
    ROOT,
    SINE,
    apply,
    without_residuals,
)
from holdfast.engine.forms.products import add, add_number, product, scale
from holdfast.engine.forms.rounding import carry, with_slack
from holdfast.engine.forms.unknowns import solve
from holdfast.engine.forms.values import (
    PAD,
    TERMS,
    clear,
    copy,
    measure,
    remainder,
    residual_part,
    rounding,
)

FIELDS = 13
ADD, SUB, MUL, ADD_NUMBER, SUB_FROM, SCALE, NUMBER, SOLVE = range(8)
PLAIN, WIDE, SLACK, MORE, TALLY = 8, 9, 10, 11, 12
DIFFERENCE = 4  # a way of carrying rounding
FUNCTION = 16  # and the kind of function


def perform(
    code: Integers, constants: Numbers, mem: Reals, pairs: Integers, systems: Integers, shape: Integers,
    bounds: Reals, betas: Reals, differences: Reals, work: Reals,
) -> None:  # fmt: skip
    """One instruction."""
    op = code[0]
    na = code[7]
    nb = code[8]
    if TERMS == 1 and op != SOLVE and code[11] >= OWN_ROUNDING and code[11] <= CARRIED:
        na = 0  # what the operands carry are symbols of rounding, which are followed below
        nb = 0
    size = shape[3]
    v = part(mem, code[1] * size)
    v2 = part(mem, code[2] * size)
    a = part(mem, code[3] * size)
    b = part(mem, code[4] * size)
    table = part(pairs, 3 * code[9])
    if op == ADD:
        add(v, a, b, 1.0, na, nb, shape, bounds)
    if op == SUB:
        add(v, a, b, -1.0, na, nb, shape, bounds)
    if op == MUL:
        product(v, a, b, code[5], na, nb, table, code[10], shape, bounds, work)
    if op == ADD_NUMBER:
        add_number(v, a, 1.0, constants[0], constants[1], na, shape)
    if op == SUB_FROM:
        add_number(v, a, -1.0, constants[0], constants[1], na, shape)
    if op == SCALE:
        scale(v, a, constants[0], constants[1], na, shape, bounds)
    if op == NUMBER:
        clear(v, shape[2])
        v[0] = constants[0]
        measure(v, shape, 0, 1)
        r = remainder(v, shape)
        r[0] = constants[1]
    if op == SOLVE:
        solve(mem, part(systems, code[11]), table, code[10], shape, bounds, differences, constants[0], work)
    if op == PLAIN:
        without_residuals(v, a, shape)
    if op == WIDE:
        copy(v, a, shape[2])
        r = remainder(v, shape)
        q = rounding(v, shape)
        d = spread(v, shape)
        r[0] = (r[0] + q[0] + d[0]) * PAD
        q[0] = 0.0
        d[0] = 0.0
    if op == SLACK and code[11] != OWN_ROUNDING:
        copy(v, a, shape[2] + na)
        with_slack(v, b, constants[0], shape)
    if op == SLACK and code[11] == OWN_ROUNDING:
        copy(v, a, shape[2])
        slack_symbol(v, a, b, code[7], code[12], constants[0], shape, betas)
    if op == MORE:
        copy(v, a, shape[2] + na)
        more = rounding(v, shape)
        qb = rounding(b, shape)
        db = spread(b, shape)
        more[0] = (more[0] + qb[0] + db[0]) * PAD
    if op == TALLY:  # the second result is an operand here
        copy(v, a, shape[2])
        with_product(v, b, v2, constants[0], shape)
    if op >= FUNCTION:
        apply(op - FUNCTION, v, v2, a, code[5], na, table, code[10], shape, bounds, work)
    computes = op <= NUMBER or op >= FUNCTION  # the others say themselves what they carry
    if TERMS == 1 and code[11] == 1 and computes:
        carry(op, v, v2, a, b, constants, shape)
    if TERMS == 1 and code[11] == DIFFERENCE and computes:
        carry_difference(op, v, v2, a, b, na, nb, constants, shape, differences, work)
    if TERMS == 1 and code[11] >= OWN_ROUNDING and code[11] <= CARRIED and computes:
        carry_symbols(op, v, v2, a, b, code[7], code[8], code[12], code[11], constants, shape, betas, work)


def forms(
    shape: Integers, code: Integers, constants: Numbers, length: Integer, mem: Reals, pairs: Integers,
    systems: Integers, bounds: Reals, betas: Reals, differences: Reals, work: Reals, blocks: Integer,
    inputs: Reals, input_slots: Integers, input_count: Integer, outputs: Reals, output_slots: Integers,
    output_count: Integer, degree: Integer,
) -> None:  # fmt: skip
    """The tape over blocks of cells.

    inputs: for each block and input, the polynomial of s⁰, then the coefficient of s, then R and Q. outputs: for each
    block and output, the polynomial of s^degree, R + E, Q + D.
    """
    size = shape[3]
    monomials = shape[0]
    for n in range(blocks):
        for i in range(input_count):
            v = part(mem, input_slots[i] * size)
            given = part(inputs, (n * input_count + i) * (monomials + 3))
            clear(v, shape[2])
            for m in range(monomials):
                v[m * TERMS] = given[m]
            if TERMS > 1:
                v[1 % TERMS] = given[monomials]
            measure(v, shape, 0, TERMS)
            r = remainder(v, shape)
            q = rounding(v, shape)
            r[0] = given[monomials + 1]
            q[0] = given[monomials + 2]
        for i in range(length):
            perform(
                part(code, FIELDS * i),
                part(constants, 2 * i),
                mem,
                pairs,
                systems,
                shape,
                bounds,
                betas,
                differences,
                work,
            )
        for i in range(output_count):
            v = part(mem, output_slots[i] * size)
            out = part(outputs, (n * output_count + i) * (monomials + 2))
            for m in range(monomials):
                out[m] = v[m * TERMS + degree]
            r = remainder(v, shape)
            e = residual_part(v, shape)
            q = rounding(v, shape)
            out[monomials] = (r[degree] + e[degree]) * PAD
            d = spread(v, shape)
            out[monomials + 1] = (q[0] + d[0]) * PAD


KINDS = {"recip": RECIPROCAL, "sqrt": ROOT, "sin": SINE, "exp": EXPONENTIAL, "log": LOGARITHM}
