"""Rates from quasi-velocities, and what follows from that alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from holdfast.equations.equations import Equations
from holdfast.graph.derivatives import directional, jacobian
from holdfast.graph.linear_algebra import Pivot, Rows, times, transposed
from holdfast.graph.nodes import Node, substitute

Nodes = tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class Kinematics:
    """v = S(q, t) u + s₀(q, t), with as many quasi-velocities u as coordinates, or fewer.

        a = S u' + σ,     σ = (dS/dt) u + ds₀/dt

    `definitions` are u in q, v and t, as numbers need them; `meanings` the same as people read them.
    """

    equations: Equations
    u: Nodes  # as inputs
    rates: Nodes  # v, in u
    definitions: Nodes
    meanings: Nodes
    pivots: tuple[Pivot, ...] = ()
    attracted: bool = False  # whether s₀ brings the positions back to a program
    wider: tuple[Kinematics, Nodes] | None = None  # with w as the further quasi-velocities, and what w is kept at

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(node.data for node in self.u)

    @cached_property
    def slopes(self) -> Rows:
        """S, coordinates by quasi-velocities."""
        return jacobian(self.rates, self.u)

    @cached_property
    def _at(self) -> dict[Node, Node]:
        return dict(zip(self.equations.inputs.v, self.rates, strict=True))

    def in_u(self, nodes: Sequence[Node]) -> list[Node]:
        """Nodes with the rates replaced."""
        return substitute(list(nodes), self._at)

    def rows_in_u(self, rows: Rows) -> Rows:
        """A sparse matrix with the rates replaced."""
        flat = iter(self.in_u([node for row in rows for node in row.values()]))
        found = [{j: next(flat) for j in row} for row in rows]
        return [{j: node for j, node in row.items() if not node.is_zero} for row in found]

    @cached_property
    def direction(self) -> dict[Node, Node]:
        """How time, coordinates and states move while the quasi-velocities are held."""
        inputs = self.equations.inputs
        moving = {inputs.time: inputs.graph.one} | dict(zip(inputs.q, self.rates, strict=True))
        return moving | dict(zip(inputs.s, self.state_rates, strict=True))

    @cached_property
    def state_rates(self) -> Nodes:
        return tuple(self.in_u(self.equations.inputs.state_rates))

    @cached_property
    def carried(self) -> Nodes:
        """σ: the accelerations while the quasi-velocities are held."""
        return tuple(directional(self.rates, self.direction))

    def accelerations(self, u_rates: Sequence[Node]) -> Nodes:
        """a = S u' + σ."""
        pushed = times(self.slopes, u_rates, self.equations.inputs.graph)
        return tuple(push + carry for push, carry in zip(pushed, self.carried, strict=True))

    def along(self, vector: Sequence[Node]) -> list[Node]:
        """Sᵀ times a vector by coordinate: forces on the quasi-velocities."""
        return times(transposed(self.slopes, len(self.u)), vector, self.equations.inputs.graph)
