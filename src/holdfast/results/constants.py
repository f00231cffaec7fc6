"""The constants of a run at its rows: numbers, but for controls that are held between samples, which are columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.problem.controller import HELD


def constants_along(
    equations: Equations, parameters: Mapping[str, Any], columns: Mapping[str, np.ndarray]
) -> list[Any]:
    """In the order of the field's inputs. A held control that acted within its limits is what was held of it."""
    program = equations.problem.program
    held = {f"{name}{HELD}": columns[name] for name in program.controls} if program.sampling is not None else {}
    return [held.get(name, parameters[name]) for name in equations.parameter_names]
