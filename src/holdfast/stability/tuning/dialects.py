"""A linear law in the words of those who use one.

y'' + b y' + k y = 0        damping, stiffness
y'' + 2 alpha y' + beta² y  Baumgarte
omega = √k, zeta = b/(2√k)  natural rate, damping ratio
Kp = k, Kd = b              gains of a controller
2/b, zeta                   time constant of the decay, damping ratio
w' + b w = 0                velocity constraints: kappa = Kp = b, time constant 1/b
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.results.judgement.check import values_at_start

Words = dict[str, dict[str, float]]


def dialects(equations: Equations) -> dict[str, Words]:
    """The law of the equations, by constraint and dialect. Needs a law whose constraints each go by themselves."""
    matrix = values_at_start(equations).deviation_matrix
    holonomic, every = tuple(equations.problem.program.holonomic), equations.constraints
    m, found = len(holonomic), {}
    for row, name in enumerate(every):
        place = m + row
        own = {row, place} if name in holonomic else {place}
        if not equations.demand_law.is_linear or any(matrix[place, j] for j in range(len(matrix)) if j not in own):
            raise BadRequest(
                f"the law of {name!r} is not that of a spring and a damper",
                fix="the dialects are for linear laws without cross terms",
            )
        damping = -float(matrix[place, place])
        found[name] = of_gains(-float(matrix[place, row]), damping) if name in holonomic else of_damping(damping)
    return found


def of_gains(stiffness: float, damping: float) -> Words:
    """The dialects of a holonomic constraint."""
    rate = math.sqrt(stiffness) if stiffness >= 0 else math.nan
    ratio = damping / (2 * rate) if rate > 0 else math.inf if damping > 0 else math.nan
    constant = 2 / damping if damping else math.inf
    return {
        "spring and damper": {"b": damping, "k": stiffness},
        "Baumgarte": {"alpha": damping / 2, "beta": rate},
        "oscillator": {"omega": rate, "zeta": ratio},
        "controller": {"Kp": stiffness, "Kd": damping},
        "decay": {"time constant": constant, "damping ratio": ratio},
    }


def of_damping(damping: float) -> Words:
    """The dialects of a nonholonomic constraint."""
    return {
        "spring and damper": {"b": damping},
        "Baumgarte": {"kappa": damping},
        "controller": {"Kp": damping},
        "decay": {"time constant": 1 / damping if damping else math.inf},
    }


def in_words(words: Mapping[str, Mapping[str, Any]]) -> str:
    """One line: ``b = 10, k = 25; alpha = 5, beta = 5; ...``."""
    return "; ".join(", ".join(f"{key} = {value:.6g}" for key, value in part.items()) for part in words.values())
