"""What an engine runs: dx/dt = F(x, p, t) as nodes, with what must be watched and what is wanted beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

from holdfast.graph.nodes import Node, fingerprint


@final
class LateNodes(Sequence[Node]):
    """Nodes that are made when the first of them is asked for."""

    def __init__(self, make: Callable[[], Iterable[Node]]) -> None:
        self._make = make

    @cached_property
    def _nodes(self) -> tuple[Node, ...]:
        return tuple(self._make())

    def __len__(self) -> int:
        return len(self._nodes)

    def __getitem__(self, place: Any) -> Any:
        return self._nodes[place]

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes)


@dataclass(frozen=True, eq=False)
class Field:
    """A vector field on the graph.

        dx/dt = F(x, p, t)

    where x is the `state`, p the `parameters` (constants of a run: physical parameters and gains) and t the `time`.
    `pivots` are the divisors of the elimination, `scales` the sizes of what they are made of (1 where none are given):
    a run ends when a pivot vanishes beside its scale, or changes its sign. `observables` are evaluated at
    the rows that are kept (multipliers, deviations, energies), never at each step; those of a large system are made
    when somebody asks for them (`LateNodes`). The first `positions` components of
    x are coordinates, the next as many their rates; the rest are first-order states.
    """

    time: Node
    state: tuple[Node, ...]
    parameters: tuple[Node, ...]
    rates: tuple[Node, ...]
    pivots: tuple[Node, ...] = ()
    scales: tuple[Node, ...] = ()
    observables: Sequence[Node] = ()
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
    def shift(self) -> int:
        """How many places behind a state its rates may begin in memory: where the first half of them is the second
        half of the state, and so is there already; else behind all of it.
        """
        half, size = self.positions, len(self.state)
        return half if size == 2 * half and self.rates[:half] == self.state[half:] else size

    @property
    def late(self) -> bool:
        """Whether its observables are made when they are asked for."""
        return isinstance(self.observables, LateNodes)

    @cached_property
    def fingerprint(self) -> str:
        """Of what is computed; of a field with late observables, of what is run."""
        return fingerprint((*self.rates, *self.watched, *(() if self.late else self.observables)), self.inputs)
