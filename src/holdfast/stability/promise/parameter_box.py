"""Wide parameters: one that a region bounds becomes a state that does not move, so that a proof covers its range.

region = { m2 = [1, 2], x = [-1, 1] }     every run with any m2 of the range, constant along it
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from holdfast.equations.derive import derive
from holdfast.equations.equations import Equations
from holdfast.equations.values import parameter_vector, state_vector
from holdfast.errors import BadRequest, HoldfastError
from holdfast.problem.file.load_dump import dumps, loads
from holdfast.problem.vocabulary import name_of


def wide_parameters(equations: Equations, region: Mapping[Any, Any] | None) -> dict[str, Any]:
    """The parameters that a region bounds, by name, from the argument or the problem's own table."""
    stated = equations.problem.certificate.get("region", {}) if region is None else region
    if not isinstance(stated, Mapping):
        return {}
    known = set(equations.problem.system.parameters)
    named = {name_of(key): ends for key, ends in stated.items()}
    return {name: ends for name, ends in named.items() if name in known}


def widened(
    equations: Equations, names: Sequence[str], parameters: Mapping[Any, Any], start: Any
) -> tuple[Equations, dict[str, Any]]:
    """The equations with these parameters as states that do not move, started alike; and the other numbers given."""
    values = dict(zip(equations.parameter_names, parameter_vector(equations, parameters), strict=True))
    given = {name_of(key): value for key, value in parameters.items()}
    state = state_vector(equations, start, values)
    try:
        text = _text(dumps(equations.problem), {name: values[name] for name in names}, equations.state_names, state)
        made = derive(replace(loads(text), title=equations.problem.title))
    except HoldfastError as error:
        raise BadRequest(
            f"{', '.join(names)} cannot be given a range: {error.what}",
            where="certificate.region",
            fix="bound states only, or write the parameter as a state with the rate 0",
        ) from None
    return made, {name: value for name, value in given.items() if name not in names}


def _text(text: str, values: Mapping[str, float], names: Sequence[str], state: Sequence[float]) -> str:
    """The problem's text with parameters moved to the states, and with its start in numbers."""
    tables: dict[str, list[str]] = {}
    order, here = [""], ""
    tables[""] = []
    for line in text.splitlines():
        if line.startswith("["):
            here = line
            order.append(here)
            tables[here] = []
        else:
            tables[here].append(line)
    tables["[parameters]"] = [
        line for line in tables.get("[parameters]", []) if line.partition(" = ")[0].strip() not in values
    ]
    states = tables.setdefault("[system.states]", [])
    tables["[system.states]"] = [line for line in states if line.strip()] + [f"{name} = 0" for name in values]
    begin = dict(zip(names, state, strict=True)) | dict(values)
    tables["[start]"] = [f"{name} = {value!r}" for name, value in begin.items()]
    for added in ("[system.states]", "[start]"):
        if added not in order:
            order.append(added)
    kept = [head for head in order if head != "[certificate]"]
    return "\n".join(line for head in kept for line in ("", head, *tables[head])) + "\n"
