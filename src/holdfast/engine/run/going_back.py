"""States moved onto the program by native code, one after the other."""

from __future__ import annotations

from collections import deque
from typing import Any, final

import numpy as np

from holdfast.engine.code.back_source import going_back
from holdfast.engine.code.machine import NativeMachine
from holdfast.engine.run.one_state import OneState, smallest_share
from holdfast.engine.run.requests import Numbers
from holdfast.graph.field import Field
from holdfast.graph.way_back import WayBack

SPARE = 4  # blocks of memory that are kept: more threads than this make their own


@final
class GoingBack:
    """Newton's iteration of a way back, compiled. Threads may share it: a block is used by one call at a time."""

    def __init__(self, field: Field, back: WayBack) -> None:
        self._machine = NativeMachine(going_back(field, back))
        self._sizes = len(field.state), len(field.parameters)
        self._pivots = OneState(self._machine, "body", *self._sizes, len(back.watched))
        self._spare = deque[tuple[np.ndarray, np.ndarray, np.ndarray, list[Any]]](maxlen=SPARE)

    def __call__(self, t: float, state: Numbers, parameters: Numbers) -> np.ndarray | None:
        """The state on the program; None where a few turns do not lead there."""
        try:
            block = self._spare.pop()
        except IndexError:
            block = self._block()
        x, p, _, pointers = block
        x[:], p[:] = state, parameters
        failed = self._machine.functions["returned"](t, *pointers)
        self._machine.expect(float(self._machine.layout.operations))
        found = None if failed else x.copy()
        self._spare.append(block)
        return found

    def margin(self, t: float, state: Numbers, parameters: Numbers) -> float:
        """The smallest of the pivots that it divides by at a state, beside its scale."""
        return smallest_share(self._pivots(t, state, parameters))

    def _block(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[Any]]:
        states, parameters = self._sizes
        whole, first = np.zeros(states + parameters + self._machine.layout.work), states + parameters
        return whole[:states], whole[states:first], whole, self._machine.pointers(whole, (0, states, first))
