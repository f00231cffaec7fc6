"""Where the rates jump as the motion goes: there its derivative jumps too, and no augmented field knows of it.

A limit that is reached, |v| or a force that bends is no harm: the rates are continuous. Where sign(v) or a piecewise
function changes along the motion, the rates are compared closely before and behind the change. A switch that depends on
time alone is none: it comes at the same time whatever is varied.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.graph.arithmetics.arrays import ARRAYS
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.nodes import Node, ancestors
from holdfast.results.sensitivity.directions import Directions

Array = np.ndarray
HALVINGS = 50  # of the way between two rows, until the switch is found
NEAR = 1e-9  # of the way between two rows: how closely before and behind a switch the rates are compared
JUMP = 1e-6  # of the rates' size: a larger difference there is a jump
LONGEST = 60  # characters of a condition that an error shows


class Switches:
    """What in the rates switches with the state, or with what is varied."""

    def __init__(self, equations: Equations, directions: Directions) -> None:
        self._equations = equations
        own = equations.field
        varied = {own.parameters[k] for k in directions.constants if k is not None}
        moved: set[int] = {node.index for node in (*own.state, *varied)}
        self.nodes: list[Node] = []
        for node in ancestors(own.rates):
            if any(arg.index in moved for arg in node.args):
                moved.add(node.index)
            if _switches(node) and node.args[0].index in moved:
                self.nodes.append(node)

    @cached_property
    def _code(self) -> Any:
        inputs, rates = self._equations.field.inputs, self._equations.field.rates
        return Tape(inputs, (*(node.args[0] for node in self.nodes), *rates)).compiled(ARRAYS)

    def _sides(self, times: Array, states: Array, constants: Sequence[float]) -> tuple[Array, Array]:
        """On which side each switch stands, (rows, switches), and the rates, (rows, states)."""
        rows = self._values(times, states, constants)
        sides = [_side(node, rows[:, k]) for k, node in enumerate(self.nodes)]
        return np.array(sides).T, rows[:, len(self.nodes) :]

    def _values(self, times: Array, states: Array, constants: Sequence[float]) -> Array:
        """The operands of the switches, then the rates, at each row."""
        with np.errstate(all="ignore"):
            found = self._code([times, *states.T, *map(np.float64, constants)])
        return np.array([np.broadcast_to(x, len(times)) for x in found]).T

    def refuse_jumps(self, times: Array, states: Array, constants: Sequence[float]) -> None:
        """An error that names the first jump of the rates between these rows."""
        if not self.nodes or len(times) < 2:
            return
        sides, rates = self._sides(times, states, constants)
        still = self._values(times[:1], states[:1], constants)[0, : len(self.nodes)] == 0
        sides[0, still] = sides[1, still]  # it begins on the switch, whatever is varied
        rates = np.where(np.isfinite(rates), rates, 0.0)
        self._look_all(times, states, sides, np.fmax(np.abs(rates).max(axis=0), 1e-300), constants)

    def _look_all(self, times: Array, states: Array, sides: Array, sizes: Array, constants: Sequence[float]) -> None:
        for k in np.nonzero((sides[1:] != sides[:-1]).any(axis=1))[0]:
            self._look(int(k), times, states, sides, sizes, constants)

    def _look(
        self, k: int, times: Array, states: Array, sides: Array, sizes: Array, constants: Sequence[float]
    ) -> None:
        """Between two rows: halve the way towards each switch, and compare the rates on both sides."""
        for number in np.nonzero(sides[k] != sides[k + 1])[0]:
            low, high = 0.0, 1.0
            for _ in range(HALVINGS):
                middle = (low + high) / 2
                side, _ = self._between(np.array([middle]), k, times, states, constants)
                low, high = (middle, high) if side[0, number] == sides[k, number] else (low, middle)
            ends = np.clip([low - NEAR, high + NEAR], 0.0, 1.0)
            _, rates = self._between(ends, k, times, states, constants)
            if (np.abs(rates[1] - rates[0]) > JUMP * sizes).any():
                name = self._equations.state_names[int(np.argmax(np.abs(rates[1] - rates[0]) / sizes))]
                when = times[k] + high * (times[k + 1] - times[k])
                raise BadRequest(
                    f"the rate of {name!r} jumps at t = {when:.6g}, where {self._shown(int(number))} changes sides, "
                    "and the time at which it does moves with what is varied",
                    where="sensitivities",
                    fix="end before, or make it smooth: tanh(v/width) in place of sign(v)",
                )

    def _between(
        self, shares: Array, k: int, times: Array, states: Array, constants: Sequence[float]
    ) -> tuple[Array, Array]:
        t = times[k] + shares * (times[k + 1] - times[k])
        return self._sides(t, states[k] + shares[:, None] * (states[k + 1] - states[k]), constants)

    def _shown(self, number: int) -> str:
        text = str(self._equations.display.tidy(self.nodes[number].args[0]))
        return text if len(text) <= LONGEST else "a condition of the equations"


def _switches(node: Node) -> bool:
    """Whether a node may jump as its first operand goes; a table does where its pieces are constants."""
    if node.op == "table":
        return bool(node.data.order >= node.data.table.degree)
    return node.op in ("sign", "select")


def _side(node: Node, values: Array) -> Array:
    if node.op == "table":
        return np.searchsorted(node.data.table.ends, values, side="right").astype(float)
    return np.asarray((values > 0).astype(float))
