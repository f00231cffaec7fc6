"""A mapping that cannot change: hashable, picklable, and equal to a dict with the same items in any order."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

V = TypeVar("V")
W = TypeVar("W")


class Frozen(Mapping[str, V], Generic[V]):
    """Names to values, in the order stated."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, V] | Iterable[tuple[str, V]] = ()) -> None:
        object.__setattr__(self, "_items", dict(items))

    def __getitem__(self, name: str) -> V:
        return self._items[name]  # type: ignore[attr-defined]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)  # type: ignore[attr-defined]

    def __len__(self) -> int:
        return len(self._items)  # type: ignore[attr-defined]

    def get(self, name: str, default: Any = None) -> Any:
        return self._items.get(name, default)  # type: ignore[attr-defined]

    def items(self) -> ItemsView[str, V]:
        return self._items.items()  # type: ignore[attr-defined]

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("this mapping cannot change; make another")

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))  # type: ignore[attr-defined]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and dict(self.items()) == dict(other.items())

    def __repr__(self) -> str:
        return repr(self._items)  # type: ignore[attr-defined]

    def __reduce__(self) -> tuple[Any, ...]:
        return (Frozen, (self._items,))  # type: ignore[attr-defined]

    def mapped(self, change: Callable[[V], W]) -> Frozen[W]:
        """The same names with changed values."""
        return Frozen({name: change(value) for name, value in self.items()})
