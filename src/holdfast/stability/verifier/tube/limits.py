"""Limits of controls in a tube: none is reached at any stage of a step from any of its cells.

The step that is run has stages of its own length alone; where none of them is at a limit, it is the step of the motion
without limits, whose defect is what the cells are held against.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from holdfast.stability.verifier.numbers.dag import Node
from holdfast.stability.verifier.numbers.evaluate import ball_values
from holdfast.stability.verifier.numbers.forms import Array
from holdfast.stability.verifier.reading.code import Code, Rounded
from holdfast.stability.verifier.reading.equations import Equations
from holdfast.stability.verifier.reading.limits import Cut
from holdfast.stability.verifier.refusal import Refused, require
from holdfast.stability.verifier.steps.rounding import Agreement

ALIKE = 2.0**-60  # of its size: how near a number of the code is to one of the equations, in 200 bits


class WatchedCode:
    """The code of a model of rounding, which tells over which cells no limit was reached at any stage so far."""

    def __init__(self, code: Code, cuts: tuple[Cut, ...], cells: int) -> None:
        self.code, self.cuts = code, cuts
        self.held: Array = np.ones(cells, dtype=bool)

    def rounded(self, values: Mapping[str, Rounded]) -> list[Rounded]:
        first = len(self.code.inputs)
        known = self.code.followed(values, range(first, first + len(self.code.operations)))
        for cut in self.cuts:
            self.held &= cut.inside(known)
        return [known[k] for k in self.code.rates]


class LimitAgreement(Agreement):
    """The code without its limits against the equations, and its limits against those of the text."""

    def __init__(self, made: Equations, code: Code, cuts: tuple[Cut, ...], numbers: Mapping[str, float]) -> None:
        super().__init__(made, code, numbers)
        stated, dag = made.stated, made.dag
        require(self.system.known_rows, "limits of controls among variable masses are not known here")
        self._cuts = cuts
        first = len(stated.coordinates) + len(stated.constraints) - len(stated.controls)
        put = {dag.input(name): dag.const(Fraction(value)) for name, value in numbers.items()}
        self._limits: list[tuple[str, int, bool, Node]] = []
        for name, ends in stated.limits.items():
            unknown = first + list(stated.controls).index(name)
            low, high = dag.substituted(ends, put)
            self._limits += [(name, unknown, False, low), (name, unknown, True, high)]
        require(len(cuts) == len(self._limits), "the code that is run has not the limits of the problem")

    def _checked(self, point: list[Any], flint: Any) -> bool:
        if not super()._checked(point, flint):
            return False
        values = dict(zip(self.equations.inputs, point, strict=True))
        wanted = self._wanted(values, flint)
        known = self.code.known(values | {name: flint.arb(value) for name, value in self.numbers.items()})
        for name, unknown, above, end in self._limits:
            limit = ball_values([end], values)[0]
            pairs = [(known[cut.place], known[cut.limit]) for cut in self._cuts if cut.above == above]
            if not any(_alike(u, wanted[unknown, 0]) and _alike(x, limit) for u, x in pairs):
                raise Refused(f"the code that is run does not limit {name!r} as the problem does")
        return True

    def _wanted(self, values: Mapping[str, Any], flint: Any) -> Any:
        """Accelerations and multipliers, controls last, from the equations."""
        width = len(self.system.matrix[0])
        found = ball_values([node for row in self.system.matrix for node in row] + self.system.right, values)
        rows = [found[i * width : (i + 1) * width] for i in range(len(self.system.matrix))]
        return flint.arb_mat(rows).solve(flint.arb_mat([[b] for b in found[len(rows) * width :]]))


def _alike(a: Any, b: Any) -> bool:
    off = a - b
    size = max(float(a.abs_upper()), float(b.abs_upper()))
    return bool(off.contains(0)) and float(off.abs_upper()) <= ALIKE * size
