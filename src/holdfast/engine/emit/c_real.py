"""C whose numbers are doubles or floats: what exports and graphics cards share.

In double every elementary function is our own, as in the kernels; in float the library's take their place.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from holdfast.engine.emit import c
from holdfast.engine.emit.body import CodeBody
from holdfast.engine.emit.c_writer import CWriter
from holdfast.engine.emit.tables import write_c_tables
from holdfast.engine.emit.target import Signature
from holdfast.errors import BadRequest

WRAPPED = {  # in float the library's functions take the place of our own, which are of doubles
    "exp": ("exponential", "expf"),
    "log": ("logarithm", "logf"),
    "sinh": ("hyperbolic_sine", "sinhf"),
    "cosh": ("hyperbolic_cosine", "coshf"),
    "tanh": ("hyperbolic_tangent", "tanhf"),
}


@dataclass(frozen=True, slots=True)
class Precision:
    """A type of C numbers, the suffix of its constants and functions, and its rounding beside that of doubles."""

    type: str
    suffix: str
    coarser: float


PRECISIONS = {"double": Precision("double", "", 1.0), "float": Precision("float", "f", 2.0**29)}


def precision_named(name: str) -> Precision:
    if name not in PRECISIONS:
        raise BadRequest(f"there is no precision {name!r}", where="precision", fix='"double" or "float"')
    return PRECISIONS[name]


class RealWriter(CWriter):
    """Text in which a number is a `real`, of the given precision."""

    number = "real"

    def __init__(self, precision: Precision) -> None:
        super().__init__()
        self.precision = precision

    def literal(self, value: float) -> str:
        if not self.precision.suffix:
            return super().literal(value)
        with np.errstate(over="ignore"):
            short = np.float32(value)
        if math.isinf(short) != math.isinf(value) or (value != 0 and short == 0):
            raise BadRequest(
                f"the constant {value:g} is beyond the range of float", where="precision", fix="export in double"
            )
        if not math.isfinite(value):
            return super().literal(value)
        return f"({short!s}f)" if value < 0 else f"{short!s}f"

    def library(self, name: str) -> str:
        return name + self.precision.suffix

    def elementary(self, bodies: Iterable[CodeBody], known: dict[str, Signature]) -> None:
        """The elementary functions that the bodies call."""
        bodies = list(bodies)
        if not self.precision.suffix:
            c.write_elementary(self, bodies, known)
            return
        operations = {op for body in bodies for op, _ in body.statements}
        write_c_tables(self, bodies)
        if operations & {"sin", "cos"}:
            self.functions.append(SINE_COSINE)
        if "pow" in operations:
            self.functions.append("static inline real hf_general_power(real x, real y) { return powf(x, y); }\n")
        for op in sorted(operations & set(WRAPPED)):
            name, called = WRAPPED[op]
            self.functions.append(f"static inline real hf_{name}(real x) {{ return {called}(x); }}\n")


SINE_COSINE = """static inline void hf_sine_cosine(real x, real *pair)
{
    pair[0] = sinf(x);
    pair[1] = cosf(x);
}
"""
