"""Whether our equations are those of the method itself, by numbers at places of no meaning."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from holdfast.equations.derive import derive
from holdfast.errors import BadRequest, HoldfastError
from holdfast.exchange.mechanics.statement import TIME, MethodEquations, MethodStatement
from holdfast.exchange.mechanics.translation import Translation

Place = dict[sp.Expr, float]

PLACES, TRIES = 3, 12  # places that must agree; places looked at, some being singular
CLOSE = 1e-7  # beside the largest acceleration: double precision through two eliminations
WORST = 1e8  # the condition number up to which a place counts


def require_agreement(stated: MethodStatement) -> None:
    """Refuse where the energies do not give the accelerations that the method gives."""
    derived, values, agreed = stated.derived(), random.Random(20), 0
    for _ in range(TRIES):
        place = _place(stated, derived, values)
        theirs = _theirs(derived, place)
        if theirs is None:
            continue
        ours = _ours(stated, place)
        if not np.allclose(ours, theirs, rtol=0, atol=CLOSE * (1 + np.abs(theirs).max())):
            raise BadRequest(
                "its energies do not give its motion: the velocities of its bodies do not follow from its coordinates,"
                " as where a rolling condition is built into them",
                where="from_sympy_mechanics(method)",
                fix="add the coordinates that are missing (the position), and state the condition as a constraint",
            )
        agreed += 1
        if agreed == PLACES:
            return
    raise BadRequest(
        "no place was found at which its own equations can be solved",
        where="from_sympy_mechanics(method)",
        fix="is its mass matrix singular, or do its constraints repeat each other?",
    )


def _place(stated: MethodStatement, derived: MethodEquations, values: random.Random) -> Place:
    """A number for every symbol; functions of time that are given stand still."""
    atoms: set[sp.Expr] = {*stated.coordinates, *stated.rates}
    for e in (*derived.expressions, *stated.expressions):
        atoms |= e.free_symbols | e.atoms(AppliedUndef, sp.Derivative)
    place: Place = {}
    for atom in sorted(atoms - {*derived.unknowns}, key=str):
        still = isinstance(atom, sp.Derivative) and atom not in stated.rates
        place[atom] = 0.0 if still else values.uniform(0.3, 1.3)
    for rate, expression in derived.rates.items():
        place[rate] = float(_numbers([expression], place)[0])
    return place


def _theirs(derived: MethodEquations, place: Place) -> np.ndarray | None:
    """The accelerations of the method at a place; None where they are not defined well enough."""
    count = len(derived.unknowns)
    matrix = _numbers(list(derived.mass), place).reshape(count, count)
    if not np.isfinite(matrix).all() or not np.linalg.cond(matrix) < WORST:
        return None
    solved = np.linalg.solve(matrix, _numbers(list(derived.forcing), place))
    return _numbers(derived.accelerations, place | dict(zip(derived.unknowns, solved.tolist(), strict=True)))


def _ours(stated: MethodStatement, place: Place) -> np.ndarray:
    words = Translation(stated, still=True)
    constants = {symbol: place[symbol] for symbol in (*words.parameters, *words.given)}
    start = {atom: place[atom] for atom in (*stated.coordinates, *stated.rates)}
    try:
        return derive(words.problem(constants, start, None, "")).evaluate(time=place.get(TIME, 0.0)).accelerations
    except HoldfastError as error:
        raise BadRequest(
            f"it cannot be stated by energies: {error.what}", where="from_sympy_mechanics(method)", fix=error.fix
        ) from error


def _numbers(expressions: Sequence[sp.Expr], place: Place) -> np.ndarray:
    symbols = {atom: sp.Dummy() for atom in place}
    listed = [sp.sympify(e).xreplace(symbols) for e in expressions]
    with np.errstate(all="ignore"):
        return np.array(sp.lambdify([*symbols.values()], listed, "numpy", cse=True)(*place.values()), dtype=float)
