"""What every solver of the equations can do, whatever its way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from holdfast.graph.linear_algebra import Pivot
from holdfast.graph.nodes import Graph, Node

SolutionForm = Literal["inverse", "solved", "weighted", "eased", "redundant", "saddle"]


class Solver(Protocol):
    """Solves M a = forces + E μ and J a = demand; whatever the way, `pivots` vanish only with the rank."""

    @property
    def form(self) -> SolutionForm: ...
    @property
    def graph(self) -> Graph: ...
    @property
    def pivots(self) -> tuple[Pivot, ...]: ...
    @property
    def unsigned(self) -> bool:
        """Whether some pivot touches zero without changing its sign where the rank is lost."""

    def __call__(self, forces: Sequence[Node], demand: Sequence[Node]) -> tuple[list[Node], list[Node]]:
        """Accelerations and holders' forces."""
