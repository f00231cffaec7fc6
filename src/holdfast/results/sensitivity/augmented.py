"""The motion together with its changes, as one field: what an engine runs for sensitivities.

    x' = F(x, p, t)        S_j' = ∂F/∂x S_j + ∂F/∂p_j        S_j = ∂x/∂p_j, or ∂x/∂x_k(0)

Both by one forward sweep on the graph for each direction. A scheme that is applied to this field gives, step for step,
the exact derivative of its own numerical motion: a step is made of values of F and sums, and so is its derivative.
Coordinates stand before rates in it, those of all S_j too, as schemes that tell them apart want it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.graph.derivatives import directional
from holdfast.graph.field import Field
from holdfast.graph.nodes import Node
from holdfast.problem.vocabulary import name_of
from holdfast.results.quantities import quantity_node
from holdfast.results.sensitivity.directions import Directions

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Augmented:
    """The field of (x, S), and where in its state and its observables everything lies."""

    field: Field
    states: Array  # (states) places of x
    slopes: Array  # (directions, states) places of S
    of: tuple[str, ...]
    columns: tuple[int, ...]  # for each of `of`: the number of its state, or -1 - the number of its observable

    def joined(self, state: Array, slopes: Array) -> Array:
        """x and S in the order of the field."""
        whole = np.empty(self.states.size + self.slopes.size)
        whole[self.states] = state
        whole[self.slopes] = slopes
        return whole

    def values(self, states: Array, observed: Array) -> Array:
        """(rows, of): what is asked for, from rows of the field and of its observables."""
        parts = [states[:, self.states[k]] if k >= 0 else observed[:, -1 - k] for k in self.columns]
        return np.array(parts).reshape(len(parts), len(states)).T

    def changes(self, states: Array, observed: Array) -> Array:
        """(rows, of, directions): the derivatives of what is asked for."""
        count, more = len(self.slopes), sum(k < 0 for k in self.columns)
        parts = [
            states[:, self.slopes[:, k]] if k >= 0 else observed[:, more + (-1 - k) * count :][:, :count]
            for k in self.columns
        ]
        return np.array(parts).reshape(len(parts), len(states), count).transpose(1, 0, 2)


def augmented(equations: Equations, directions: Directions, of: tuple[Any, ...]) -> Augmented:
    """The field for some directions and quantities; made once for the same ones."""
    shown = tuple(name_of(one) for one in of)
    key = (augmented, directions.names, shown)
    return equations.memo.once(key, lambda: _made(equations, directions, of, shown))


def _made(equations: Equations, directions: Directions, of: tuple[Any, ...], shown: tuple[str, ...]) -> Augmented:
    own, graph = equations.field, equations.inputs.graph
    size, n = len(own.state), own.positions
    letters = [[graph.input(f"change {j} of {x.data}") for x in own.state] for j in range(len(directions))]
    moving = [dict(zip(own.state, row, strict=True)) for row in letters]
    for direction, constant in zip(moving, directions.constants, strict=True):
        if constant is not None:
            direction[own.parameters[constant]] = graph.one
    rates = [list(own.rates), *(directional(own.rates, direction) for direction in moving)]
    order = [(k, i) for part in _parts(size, n) for k in range(len(directions) + 1) for i in part]
    place = {one: number for number, one in enumerate(order)}
    known = {name: k for k, name in enumerate(equations.state_names)}
    nodes: list[Node] = [
        quantity_node(equations, one) for one, name in zip(of, shown, strict=True) if name not in known
    ]
    changes = [directional(nodes, direction) for direction in moving]
    columns, further = [], 0
    for name in shown:
        columns.append(known[name] if name in known else -1 - further)
        further += name not in known
    field = Field(
        time=own.time,
        state=tuple((own.state if not k else letters[k - 1])[i] for k, i in order),
        parameters=own.parameters,
        rates=tuple(rates[k][i] for k, i in order),
        pivots=own.pivots,
        scales=own.scales,
        observables=(*nodes, *(row[k] for k in range(len(nodes)) for row in changes)),
        positions=n * (len(directions) + 1),
    )
    rows = np.array([[place[k, i] for i in range(size)] for k in range(len(directions) + 1)], dtype=int)
    return Augmented(field, rows[0], rows[1:], shown, tuple(columns))


def _parts(size: int, n: int) -> tuple[range, range, range]:
    """Coordinates, rates and the rest."""
    return range(n), range(n, 2 * n), range(2 * n, size)
