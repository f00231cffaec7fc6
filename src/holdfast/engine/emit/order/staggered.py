"""Lanes that fill several registers, taken a register at a time, each part of them half a body behind the one before.

Statement by statement, all parts hold their values at once and wait for the same chain at once. Apart, one holds few
while another holds many, and one has work while another waits. (Two registers of AVX2, a step of RK4: chains of 2, 5,
10 and 20 links 3, 5, 7 and 2 % faster; ten links store 205 values in place of 251 for which there is no register.)
"""

from __future__ import annotations

from holdfast.engine.emit.body import CodeBody

PLAIN = {"add", "sub", "mul", "div", "fma", "fms", "fnma", "neg", "abs", "sqrt", "min", "max"}


def separable(body: CodeBody) -> bool:
    """Whether its lanes are taken apart: not where functions are called, which look for rare arguments in all lanes at
    once (a four-bar 4 %, a platform on six legs 3 % slower).
    """
    return all(op in PLAIN for op, _ in body.statements)


def staggered(count: int, parts: int) -> list[tuple[int, int]]:
    """The part and the number of each statement, in the order in which they stand."""
    lag = count // 2
    turns = sorted((number + part * lag, part, number) for part in range(parts) for number in range(count))
    return [(part, number) for _, part, number in turns]
