"""Controls with limits: the code as it is where none is reached.

    u = min(max(u*, low), high)        is u* to the last bit where low < u* < high, since min and max do not round

So within a tube in which that is shown of every stage of every step, the code computes what it would without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from holdfast.stability.verifier.numbers.forms import Array
from holdfast.stability.verifier.reading.code import Code, Rounded
from holdfast.stability.verifier.refusal import Unconfirmed


@dataclass(frozen=True)
class Cut:
    """One min or max of the code: the place of what it cuts off, and of its limit, which parameters alone decide."""

    above: bool  # a limit from above, as min gives
    place: int
    limit: int

    def inside(self, known: Mapping[int, Rounded]) -> Array:
        """Over which cells the double of the control is surely on the free side."""
        (low, high), (least, most) = known[self.place].widened(), known[self.limit].widened()
        found: Array = high < least if self.above else low > most
        return found


def free_code(code: Code, states: int) -> tuple[Code, tuple[Cut, ...]]:
    """The code without its limits, and these; `states` of its inputs, time among them, are no parameters."""
    first, cuts = len(code.inputs), list[Cut]()
    still = {k: k >= states for k in range(first)}
    image = {k: k for k in range(first)}
    operations: list[tuple[Any, ...]] = []
    for place, (op, *args) in enumerate(code.operations, first):
        count = {"const": 0, "pi": 0, "power": 1, "table": 1}.get(op, len(args))
        places, rest = [image[k] for k in args[:count]], args[count:]
        still[place], image[place] = all(still[k] for k in places), place
        operations.append((op, *places, *rest))
        if op in ("min", "max"):
            moving = [k for k in places if not still[k]]
            if len(moving) != 1:
                raise Unconfirmed("the code has a min or max that is no limit of a control")
            (limit,) = (k for k in places if k != moving[0])
            cuts.append(Cut(op == "min", moving[0], limit))
            image[place] = moving[0]
            operations[-1] = ("const", Fraction(0))  # nothing reads it any more
    rates = tuple(image[k] for k in code.rates)
    return replace(code, operations=tuple(operations), rates=rates), tuple(cuts)
