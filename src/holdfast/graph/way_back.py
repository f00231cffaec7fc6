"""The way back onto the program as nodes: what deviates, the sizes of its terms, and the change that takes it away."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from holdfast.graph.nodes import Node, fingerprint


@dataclass(frozen=True, eq=False)
class Correction:
    """Deviations at a state, the size of the terms of each, and the change of coordinates (or of rates) to subtract."""

    deviations: tuple[Node, ...]
    sizes: tuple[Node, ...]
    change: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class WayBack:
    """Newton's iteration for the positions, then for the rates; of inputs in the order of the field's."""

    positions: Correction
    rates: Correction
    inputs: tuple[Node, ...]
    watched: tuple[Node, ...] = ()  # the pivots that the changes divide by, then the scale of each

    @cached_property
    def fingerprint(self) -> str:
        parts = (self.positions, self.rates)
        nodes = tuple(node for part in parts for node in (*part.deviations, *part.sizes, *part.change))
        return fingerprint(nodes, self.inputs)
