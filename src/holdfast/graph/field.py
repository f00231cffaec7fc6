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
    `pivots` are the divisors of the elimination: a run ends when one of them vanishes. `observables` are evaluated at
    the rows that are kept (multipliers, deviations, energies), never at each step. The first `positions` components of
    x are coordinates, the next as many their rates; the rest are first-order states.
    """

    time: Node
    state: tuple[Node, ...]
    parameters: tuple[Node, ...]
    rates: tuple[Node, ...]
    pivots: tuple[Node, ...] = ()
    observables: tuple[Node, ...] = ()
    positions: int = 0
    least_pivot: float = 1e-13  # of the largest one so far: less is no rank at all, or another order is to be tried

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The inputs in the order in which every evaluator takes them: t, x, p."""
        return (self.time, *self.state, *self.parameters)

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint((*self.rates, *self.pivots, *self.observables), self.inputs)
