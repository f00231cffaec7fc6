"""What an arithmetic is: a table of functions, one for each operation of the graph.

A graph says what is computed, an arithmetic in what: floats, arrays of floats, balls, power series, Taylor forms,
floats with bounds of their rounding. `every` lists them all, and one test holds each against every operation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from holdfast.graph.nodes import BINARY, UNARY

INFIX = {"add": "+", "sub": "-", "mul": "*"}  # where the numbers have Python's operators


@dataclass(frozen=True)
class Arithmetic:
    """Functions by operation, and how an exact constant and pi are made.

    The duties: every operation of `UNARY` and `BINARY`, whole powers (``power(a, exponent)``, by repeated squaring,
    lowest bit first, as the kernels do), ``select(c, a, b)``, which is a where c > 0 and b elsewhere, and
    ``table(a, part)``, a function by pieces. An operation
    that Python's operators do is named in `infix`, and negation may be. Outside its domain a function answers nan, or
    raises `Undecided` where the arithmetic encloses and nothing can be said.
    """

    name: str
    functions: dict[str, Callable[..., Any]]
    constant: Callable[[Fraction], Any]
    pi: Callable[[], Any]
    infix: dict[str, str] = field(default_factory=lambda: dict(INFIX))

    def missing(self) -> set[str]:
        """The operations that it cannot do."""
        known = {*self.functions, *self.infix} | ({"neg"} if self.infix else set())
        return {*UNARY, *BINARY, "power", "select", "table"} - known
