"""First integrals as rows of a program, each at the value that it has at the start.

    keep(I)      the row  I(q, v, t) − I₀,  I₀ = I at the start

I₀ is a first-order state ``keep_NAME`` whose rate is 0, and is set where a run starts: each case of an ensemble keeps
its own value. Integrals that are known by name: ``energy``, v·∂T/∂v − T + P, and the momenta ``p_x`` = ∂T/∂x'.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import sympy as sp
from sympy.core.parameters import distribute

from holdfast.common.frozen import Frozen
from holdfast.errors import BadStatement
from holdfast.problem.quantities import Coordinate, Definition, Rate, RateOf, State, rate
from holdfast.problem.system import System
from holdfast.problem.vocabulary import MOTION, Vocabulary, exact

if TYPE_CHECKING:
    from holdfast.problem.program import Program

VALUE = "keep_"  # of a row, the state that remembers its start value


class Kept(sp.Function):
    """The row I − I₀ of an integral I, as a program is told of it; a `sp.Dummy` stands for one known by name."""

    nargs = (1,)


def keep(integral: sp.Expr | float | str) -> sp.Expr:
    """A row of a program: a first integral at its start value, `{"area": hf.keep(x*y.rate - y*x.rate)}`.

    "energy" and the momenta "p_x" need no formula.
    """
    return Kept(sp.Dummy(integral) if isinstance(integral, str) else exact(integral, where="keep"))


def stated(row: Kept) -> sp.Expr | str:
    """What a row keeps: an expression, or the name of an integral."""
    (integral,) = row.args
    return integral.name if isinstance(integral, sp.Dummy) else integral


def depends_on_rates(integral: sp.Expr | str, names: Vocabulary) -> bool:
    """Whether the row is one of velocities."""
    return isinstance(integral, str) or any(isinstance(s, Rate) for s in names.dependence(integral))


def with_kept_rows(system: System, program: Program) -> tuple[System, Program]:
    """The system with the start values for states, and the program with the rows written out."""
    waiting = {name: given for name, given in program.keep.items() if name not in program.constraints}
    if not waiting:
        return system, program
    written = {name: integral(given, system, where=f"program.keep.{name}") for name, given in waiting.items()}
    states = dict(system.states) | start_states(waiting)
    names = system.vocabulary
    rows = {name: e - State(f"{VALUE}{name}") for name, e in written.items()}
    slow = {name: row for name, row in rows.items() if not depends_on_rates(written[name], names)}
    fast = {name: row for name, row in rows.items() if name not in slow}
    holonomic, nonholonomic = Frozen({**program.holonomic, **slow}), Frozen({**program.nonholonomic, **fast})
    stated_already = len(states) == len(system.states)
    wider = system if stated_already else replace(system, states=Frozen(states))
    return wider, replace(program, holonomic=holonomic, nonholonomic=nonholonomic)


def start_states(rows: Iterable[str]) -> dict[str, sp.Expr]:
    """The states that remember start values, with their rates."""
    return {f"{VALUE}{name}": sp.S.Zero for name in rows}


def integral(given: sp.Expr | str, system: System, *, where: str) -> sp.Expr:
    """The expression of an integral, from itself or from its name."""
    if not isinstance(given, str):
        return system.vocabulary.admit(given, MOTION, where=where)
    unknown = "points of variable mass" if system.masses else "bodies" if system.bodies else ""
    if unknown:
        raise BadStatement(f"{given!r} of {unknown} is not known by name", where=where, fix="write it out in the rates")
    with distribute(True):  # as SymPy makes them, also while a file is read
        return _named(given, system, where)


def _named(given: str, system: System, where: str) -> sp.Expr:
    T, P = (_written_out(e, system, where) for e in (system.kinetic, system.potential))
    momenta = {f"p_{q.name}": sp.diff(T, q.rate) for q in system.coordinates}
    if given in momenta:
        return momenta[given]
    if given != "energy":
        listed = ", ".join(["energy", *momenta])
        raise BadStatement(f"no integral is called {given!r}", where=where, fix=f"known: {listed}; or an expression")
    return sp.Add(*(q.rate * momenta[f"p_{q.name}"] for q in system.coordinates)) - T + P


def _written_out(expression: sp.Expr, system: System, where: str) -> sp.Expr:
    """An energy without definitions and unevaluated rates, so that it can be differentiated."""
    own = {Definition(name): e for name, e in system.definitions.items()}
    for _ in range(len(own)):
        expression = expression.xreplace(own)
    while calls := [call for call in expression.atoms(RateOf) if not call.args[0].has(RateOf)]:
        taken = {call: rate(call.args[0]) for call in calls}
        if any(call == found for call, found in taken.items()):
            raise BadStatement(
                "the energies have rates that are taken on the graph only", where=where, fix="write the integral out"
            )
        expression = expression.xreplace(taken)
    return expression


def kept_states(program: Program) -> dict[str, str]:
    """The states that remember start values, each with its row."""
    return {f"{VALUE}{name}": name for name in program.keep}


def names_integral(name: str, names: Vocabulary) -> bool:
    """Whether a text is the name of an integral, "energy" or "p_x", and not of a quantity."""
    if name in names:
        return False
    moving = name.removeprefix("p_")
    return name == "energy" or (moving != name and moving in names and isinstance(names[moving], Coordinate))
