"""The table of functions of a problem: undetermined, by an expression, or by data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy as sp

from holdfast.common.frozen import Frozen
from holdfast.errors import BadStatement
from holdfast.problem.data import Data
from holdfast.problem.functions import FunctionValue, StatedFunction, check_arguments
from holdfast.problem.quantities import Coordinate, Parameter, Rate, State, Time, time
from holdfast.problem.vocabulary import MOTION, Vocabulary, by_name

ARGUMENTS = (Time, Coordinate, Rate, State)


def stated_functions(
    given: Mapping[Any, Any], occurring: Mapping[str, FunctionValue], names: Vocabulary
) -> Frozen[StatedFunction]:
    """The functions given and those that occur in expressions, declared and checked."""
    values = by_name(given, where="functions")
    keys = {key.name: key for key in given if isinstance(key, FunctionValue)}
    found: dict[str, StatedFunction] = {}
    for name in dict.fromkeys((*values, *occurring)):
        where, value = f"functions.{name}", values.get(name)
        used = occurring.get(name) or keys.get(name)
        if isinstance(value, StatedFunction):
            of, value = value.of, value.value
        else:
            of = used.of if used is not None else (time,)
        arguments = tuple(_argument(x, names, where) for x in of)
        check_arguments(arguments, where=where)
        names.declare_function(name, StatedFunction(arguments), where=where)
        found[name] = StatedFunction(arguments, _value(value, arguments, names, where))
    return Frozen(found)


def _argument(given: Any, names: Vocabulary, where: str) -> sp.Symbol:
    return names.find(given, ARGUMENTS, where=f"{where}.of")


def _value(value: Any, of: tuple[sp.Symbol, ...], names: Vocabulary, where: str) -> sp.Expr | Data | None:
    if value is None:
        return None
    if isinstance(value, Data):
        if len(of) != 1:
            raise BadStatement(
                f"data are a function of one quantity, not of {len(of)}", where=where, fix="name one argument"
            )
        return value
    expression = names.admit(value, MOTION, where=where)
    if expression.atoms(FunctionValue):
        raise BadStatement(
            "the expression of a function uses another function", where=where, fix="write its expression in its place"
        )
    stray = [s for s in names.dependence(expression) if not isinstance(s, Parameter) and s not in of]
    if stray:
        listed = ", ".join(x.name for x in of)
        name = where.removeprefix("functions.")
        raise BadStatement(
            f"{name!r} is a function of {listed}, and its expression uses {sorted(s.name for s in stray)[0]!r}",
            where=where,
            fix="state all arguments: hf.function(name, of=(...)), of = [...] in a file",
        )
    return expression
