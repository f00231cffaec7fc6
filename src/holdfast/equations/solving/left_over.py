"""Fewer controls than programs: which of the programs they can hold, and which are left over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from math import comb

from holdfast.common.frozen import Frozen
from holdfast.equations.solving.repeats import listed
from holdfast.errors import BadStatement, ConstraintsDependent, HoldfastError
from holdfast.problem.laws.linear import Unstabilised
from holdfast.problem.problem import Problem
from holdfast.problem.program import counted

MOST_CHOICES = 20  # sets of programs that are all tried; of more, one is found program by program


def left_over(problem: Problem, derive: Callable[[Problem], object]) -> BadStatement:
    """The error that says which programs the controls can hold at the start, found by deriving with these alone."""
    program = problem.program
    counts = [counted(len(program.controls), "control"), counted(len(program.reactions), "reaction")]
    what = f"{counted(len(program.constraints), 'constraint')} cannot be held by {' and '.join(counts)}"
    waiting = [name for name in program.constraints if name not in program.reactions]
    count = len(program.controls)
    if program.keep:
        return _error(what, waiting)
    repeated = _repeats(problem, derive)
    if repeated is not None:
        fix = "leave it out: the motion is the same without it" if "repeats" in repeated.what else repeated.fix
        return BadStatement(f"{what}: {repeated.what}", where=repeated.where, fix=fix)

    def holds(chosen: Sequence[str]) -> bool:
        try:
            derive(_with_programs(problem, chosen))
        except HoldfastError:
            return False
        return True

    found = list(_choices(waiting, count, holds))
    if not found:
        return _error(f"{what}, and at the start the controls can hold no {count} of {listed(waiting)}", waiting)
    controls = listed(list(program.controls))
    can = "can hold" if len(program.controls) == 1 else "can together hold"
    if len(found) == 1:
        others = [name for name in waiting if name not in found[0]]
        left = f"{listed(others)} {'is' if len(others) == 1 else 'are'} left over"
        return _error(f"{what}: {controls} {can} {listed(found[0])}, and {left}", others)
    choices = " or ".join(listed(chosen) for chosen in found)
    lacking = len(waiting) - count
    left = "one is left over" if lacking == 1 else f"{lacking} are left over"
    return _error(f"{what}: {controls} {can} {choices}, and {left}", waiting)


def _repeats(problem: Problem, derive: Callable[[Problem], object]) -> ConstraintsDependent | None:
    """The error that names programs which repeat or contradict others, whoever holds them."""
    held = replace(
        problem.program, controls=Frozen(), reactions=(), limits=Frozen(), effort=Frozen(), law=Unstabilised(),
        redundant="refuse", model=Frozen(), sampling=None,
    )  # fmt: skip
    try:
        derive(replace(problem, program=held, lyapunov=Frozen(), units=Frozen()))
    except ConstraintsDependent as error:
        return error
    except HoldfastError:
        return None  # what else is wrong is told of the controls
    return None


def _choices(waiting: Sequence[str], count: int, holds: Callable[[Sequence[str]], bool]) -> Iterator[list[str]]:
    """The sets of as many programs as there are controls that these can hold."""
    if comb(len(waiting), count) <= MOST_CHOICES:
        yield from (list(chosen) for chosen in combinations(waiting, count) if holds(chosen))
        return
    found: list[str] = []
    for name in waiting:
        if len(found) < count and holds([*found, name]):
            found.append(name)
    if found:
        yield found


def _with_programs(problem: Problem, chosen: Sequence[str]) -> Problem:
    """The problem with these programs and those that reactions hold, without a law."""
    program = problem.program
    kept = {*chosen, *program.reactions}
    holonomic, nonholonomic = (
        Frozen({name: row for name, row in rows.items() if name in kept})
        for rows in (program.holonomic, program.nonholonomic)
    )
    fewer = replace(
        program, holonomic=holonomic, nonholonomic=nonholonomic, law=Unstabilised(), limits=Frozen(), effort=Frozen(),
        model=Frozen(), sampling=None,
    )  # fmt: skip
    return replace(problem, program=fewer, lyapunov=Frozen(), units=Frozen())


def _error(what: str, others: Sequence[str]) -> BadStatement:
    fix = f"add a control that moves {listed(others)}, name it in reactions, or leave it out"
    return BadStatement(
        what, where="program.controls", fix=fix if len(others) == 1 else fix.replace("it", "one of them")
    )
