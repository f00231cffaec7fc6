"""What a motion is differentiated by: parameters, gains and start values, by name.

"m"   "law.stiffness.rod"   "theta(0)"   "theta_dot(0)"        a state's name alone means its start value, too
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from holdfast.common.nearest import did_you_mean
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.problem.keep import kept_states
from holdfast.problem.vocabulary import name_of

START = re.compile(r"\s*(\w+)\s*\(\s*0\s*\)\s*\Z")


@dataclass(frozen=True, slots=True)
class Directions:
    """Names as results show them, and for each its place among the constants or among the states."""

    names: tuple[str, ...]
    constants: tuple[int | None, ...]
    starts: tuple[int | None, ...]

    def __len__(self) -> int:
        return len(self.names)

    def place(self, name: Any) -> int:
        """The number of a direction; by any of its spellings."""
        text = spelling(name)
        for known in (text, f"{text}(0)"):
            if known in self.names:
                return self.names.index(known)
        hint = did_you_mean(text, self.names, "known: " + ", ".join(self.names))
        raise BadRequest(f"nothing was differentiated by {text!r}", where="sensitivities", fix=hint)


def spelling(name: Any) -> str:
    """A name without the blanks that one may write in ``x (0)``."""
    text = name_of(name)
    found = START.match(text)
    return f"{found[1]}(0)" if found else text.strip()


def directions_of(equations: Equations, to: Iterable[Any] | str | None, *, where: str) -> Directions:
    """The directions that are asked for, each once and known; of nothing asked, all parameters that have a value."""
    if to is None:
        to = tuple(equations.inputs.parameters)
    asked = [to] if isinstance(to, str) or not isinstance(to, Iterable) else list(to)
    names, constants, starts = [], [], []
    for given in asked:
        text = spelling(given)
        constant, start = _places(equations, text, where)
        shown = text if start is None else f"{equations.state_names[start]}(0)"
        if shown in names:
            raise BadRequest(f"{shown!r} is named twice", where=where, fix="name it once")
        names.append(shown)
        constants.append(constant)
        starts.append(start)
    if not names:
        raise BadRequest("nothing is named to differentiate by", where=where, fix='e.g. ["m", "theta(0)"]')
    return Directions(tuple(names), tuple(constants), tuple(starts))


def _places(equations: Equations, text: str, where: str) -> tuple[int | None, int | None]:
    """Where a name stands: among the constants, or among the states."""
    found = START.match(text)
    if found is None and text in equations.parameter_names:
        return equations.parameter_names.index(text), None
    name = found[1] if found else text
    if name in equations.state_names:
        if name in kept_states(equations.problem.program) or name in equations.deviations.states:
            fix = "vary the coordinates and rates that it follows from"
            raise BadRequest(f"the start of {name!r} follows from the rest of the state", where=where, fix=fix)
        return None, equations.state_names.index(name)
    if name in equations.problem.system.definitions:
        fix = "vary the parameters that it is stated by"
        raise BadRequest(f"{name!r} is a definition: it follows from others", where=where, fix=fix)
    known = (*equations.parameter_names, *(f"{state}(0)" for state in equations.state_names))
    what = f"no parameter, gain or start value is called {text!r}"
    raise BadRequest(what, where=where, fix=did_you_mean(text, known, "known: " + ", ".join(known)))
