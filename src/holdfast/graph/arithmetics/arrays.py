"""Arrays of floats: many states at once, each as floats would have it."""

from __future__ import annotations

import numpy as np

from holdfast.graph.arithmetics.arithmetic import Arithmetic
from holdfast.graph.arithmetics.floats import float_power, nearest_double

ARRAYS = Arithmetic(
    name="arrays",
    functions={
        "div": np.divide, "power": float_power, "pow": np.power, "sqrt": np.sqrt, "exp": np.exp, "log": np.log,
        "atan2": lambda y, x: np.arctan2(y + 0.0, x + 0.0),  # one 0, as floats have it
        "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
        "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "abs": np.abs, "sign": np.sign,
        "min": np.minimum, "max": np.maximum, "select": lambda c, a, b: np.where(np.asarray(c) > 0, a, b),
        "table": lambda a, part: np.vectorize(part.at, otypes=[float])(a),
    },
    constant=lambda number: np.float64(nearest_double(number)),
    pi=lambda: np.float64(np.pi),
)  # fmt: skip
