"""What an engine runs: dx/dt = F(x, p, t) as nodes, with what must be watched and what is wanted beside it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from holdfast.graph.nodes import Node, fingerprint


@dataclass(frozen=True, eq=False)
class Field:
    """A vector field on the graph.

        dx/dt = F(x, p, t)

    where x is the `state`, p the `parameters` (constants of a run: physical parameters and gains) and t the `time`.
    `pivots` are the divisors of the elimination, `scales` the sizes of what they are made of (1 where none are given):
    a run ends when a pivot vanishes beside its scale, or changes its sign. `observables` are evaluated at
    the rows that are kept (multipliers, deviations, energies), never at each step. The first `positions` components of
    x are coordinates, the next as many their rates; the rest are first-order states.
    """

    time: Node
    state: tuple[Node, ...]
    parameters: tuple[Node, ...]
    rates: tuple[Node, ...]
    pivots: tuple[Node, ...] = ()
    scales: tuple[Node, ...] = ()
    observables: tuple[Node, ...] = ()
    positions: int = 0

    @property
    def watched(self) -> tuple[Node, ...]:
        """The pivots, then a scale for each."""
        return (*self.pivots, *(self.scales or (self.time.graph.one,) * len(self.pivots)))

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The inputs in the order in which every evaluator takes them: t, x, p."""
        return (self.time, *self.state, *self.parameters)

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint((*self.rates, *self.watched, *self.observables), self.inputs)
