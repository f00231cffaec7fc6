"""The columns of a run by name, each made when it is first asked for.

A run of a fit or a scan is often asked for one number. To copy forty columns and to compute as many observables for it
would cost more than the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from holdfast.common.memo import remembered
from holdfast.equations.equations import Equations


@remembered
def column_names(equations: Equations) -> dict[str, int]:
    """The columns of a run in their order, by name: the state first, then the observables."""
    return {name: place for place, name in enumerate((*equations.state_names, *equations.observable_names))}


class StateRows(Protocol):
    """What columns are made of: rows of states, and of observables beside them."""

    @property
    def states(self) -> np.ndarray: ...

    @property
    def observables(self) -> np.ndarray: ...


class Columns(Mapping[str, np.ndarray]):
    """Names to read-only columns of some rows, in the order of the names; it cannot change."""

    __slots__ = ("_kept", "_places", "_rows")

    def __init__(self, places: Mapping[str, int], rows: StateRows) -> None:
        self._places, self._rows, self._kept = places, rows, dict[str, np.ndarray]()

    def __getitem__(self, name: str) -> np.ndarray:
        found = self._kept.get(name)
        return self._kept.setdefault(name, self._column(self._places[name])) if found is None else found

    def _column(self, place: int) -> np.ndarray:
        states = self._rows.states
        beside = place - states.shape[1]
        column = np.ascontiguousarray(states[:, place] if beside < 0 else self._rows.observables[:, beside])
        column.flags.writeable = False
        return column

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[Any, ...]:
        from holdfast.common.frozen import Frozen

        return Frozen, (dict(self),)
