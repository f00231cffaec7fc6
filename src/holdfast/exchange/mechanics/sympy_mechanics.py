"""The verb: a system of `sympy.physics.mechanics` as a problem.

    method = LagrangesMethod(L, [theta], ...)          or a KanesMethod whose equations are formed
    problem = hf.from_sympy_mechanics(method, parameters={m: 1, l: 1, g: 9.81}, start={theta: 0.5})

The statement goes over, energies, forces and constraints, and the equations are derived anew; that they are those of
the method itself is checked by numbers before the problem is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.exchange.mechanics.agreement import require_agreement
from holdfast.exchange.mechanics.statement import statement_of
from holdfast.exchange.mechanics.translation import Translation
from holdfast.problem.laws.linear import Law
from holdfast.problem.problem import Problem


def from_sympy_mechanics(
    method: Any,
    *,
    parameters: Mapping[Any, Any] | None = None,
    start: Mapping[Any, Any] | None = None,
    law: Law | None = None,
    title: str = "",
) -> Problem:
    """The problem that a `LagrangesMethod` or a `KanesMethod` (or a formed `System`) of SymPy states.

    Coordinates keep their names, with ``x.rate`` for their derivatives; symbols are parameters, letters where
    `parameters` gives no value; other functions of time are functions of the problem. Constraints are called c1, c2
    and so on (holonomic) and n1, n2; under Kane, speeds are replaced by rates. Keys of `parameters` and `start` are
    SymPy's own symbols, or names. A method whose motion its energies do not give (a rolling condition built into
    velocities) is refused.

        >>> problem = hf.from_sympy_mechanics(LagrangesMethod(L, [theta]), parameters={m: 1, l: 1, g: 9.81})
    """
    stated = statement_of(method)
    words = Translation(stated)
    problem = words.problem(parameters or {}, start or {}, law, title)
    require_agreement(stated)
    return problem
