"""The values of a body at one state, in memory that is kept from one call to the next."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple, final

import numpy as np

from holdfast.engine.code.machine import Machine

SPARE = 4  # blocks that are kept: more threads than this make their own


class _Block(NamedTuple):
    """One block of memory with all that a body reads, gives and works on."""

    state: np.ndarray
    parameters: np.ndarray
    values: np.ndarray
    pointers: tuple[Any, ...]
    whole: np.ndarray


@final
class OneState:
    """A body of a machine at one state after the other. Threads may share it: a block is used by one call at a time."""

    __slots__ = ("_body", "_machine", "_places", "_spare")

    def __init__(self, machine: Machine, body: str, states: int, parameters: int, width: int) -> None:
        first, last = states + parameters, states + parameters + width
        self._machine, self._body, self._places = machine, body, (0, states, first, last)
        self._spare = deque[_Block](maxlen=SPARE)

    def __call__(self, t: float, state: Any, parameters: Any) -> list[float]:
        """The values at (t, x, p)."""
        try:
            block = self._spare.pop()
        except IndexError:
            block = self._block()
        block.state[:], block.parameters[:] = state, parameters
        self._machine.functions[self._body](t, *block.pointers)
        found: list[float] = block.values.tolist()
        self._spare.append(block)
        return found

    def _block(self) -> _Block:
        _, first, second, third = self._places
        whole = np.zeros(third + self._machine.layout.work)
        pointers = tuple(self._machine.pointers(whole, self._places))
        return _Block(whole[:first], whole[first:second], whole[second:third], pointers, whole)


def smallest_share(pivots: list[float]) -> float:
    """The smallest pivot beside its scale, of pivots and then their scales; 1 where there are none."""
    count = len(pivots) // 2
    shares = [abs(p / scale) if scale else 0.0 for p, scale in zip(pivots[:count], pivots[count:], strict=True)]
    return min(shares, default=1.0)
