"""What a problem leaves open: parameters without a value, and functions without an expression or data.

Equations are derived, shown and judged with letters in them; what needs numbers asks for them by name (`OpenLetters`).
Where a derivation itself has to decide something by numbers (a pivot, whether a term is 0), it does so at random values
of the letters, and says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import sympy as sp

from holdfast.errors import BadRequest
from holdfast.problem.derivative import kinds_and_symbols
from holdfast.problem.functions import FunctionValue
from holdfast.problem.quantities import Parameter
from holdfast.problem.vocabulary import PLAIN

SPELLED = 12  # letters that an error lists; of more it says how many


class OpenLetters(BadRequest):
    """Numbers were asked of equations that still contain letters."""


def open_letters(names: Iterable[str], functions: Iterable[FunctionValue] = ()) -> OpenLetters:
    """The error that asks for all of them at once."""
    values = [f"{f.name}({', '.join(map(str, f.of))})" for f in functions]
    listed = [*names, *values]
    shown = ", ".join(listed[:SPELLED]) + (f" and {len(listed) - SPELLED} more" if len(listed) > SPELLED else "")
    examples = [f"{name!r}: 1" for name in names] + [f"{f.name!r}: ..." for f in functions]
    given = ", ".join(examples[:3]) + (", ..." if len(examples) > 3 else "")
    in_file = "[parameters]" if not values else "[functions]" if not list(names) else "[parameters] and [functions]"
    return OpenLetters(
        f"this needs numbers, and {shown} {'has' if len(listed) == 1 else 'have'} no value",
        where=in_file,
        fix=f"problem.with_values({{{given}}}), `--set NAME=VALUE`, or state "
        f"{'it' if len(listed) == 1 else 'them'} in {in_file}",
    )


def letters_in(*parts: Any) -> tuple[dict[str, Parameter], dict[str, FunctionValue]]:
    """The parameters and the functions that occur in expressions, however they are nested; by name, in order."""
    parameters: dict[str, Parameter] = {}
    functions: dict[str, FunctionValue] = {}
    waiting = list(parts)
    while waiting:
        part = waiting.pop()
        if isinstance(part, sp.Basic):
            kinds, symbols = kinds_and_symbols(part)
            plain = kinds <= PLAIN
            for symbol in symbols if plain else part.free_symbols:
                if isinstance(symbol, Parameter):
                    known = parameters.get(symbol.name)
                    parameters[symbol.name] = symbol if known is None or _plain(known) else known
            if not plain:
                functions |= {value.name: value.itself for value in part.atoms(FunctionValue)}
        elif isinstance(part, sp.MatrixBase):
            waiting.extend(part)
        elif isinstance(part, Mapping):
            waiting.extend((*part.keys(), *part.values()))
        elif isinstance(part, (tuple, list)):
            waiting.extend(part)
        elif is_dataclass(part) and not isinstance(part, type):
            waiting.extend(getattr(part, field.name) for field in fields(part) if field.init)
    return dict(sorted(parameters.items())), dict(sorted(functions.items()))


def _plain(symbol: Parameter) -> bool:
    """Whether nothing more is assumed of it than that it is real."""
    return bool(symbol == Parameter(symbol.name))
