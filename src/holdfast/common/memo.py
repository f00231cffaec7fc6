"""What others work out of one object, made once and kept with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

T = TypeVar("T")


class Memo:
    """Results by the function that makes them. An object that is worth it has one, as `memo`."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[Any, Any] = {}

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """What was made under this key, or what `make` makes now."""
        if key not in self._kept:
            self._kept[key] = make()
        found: T = self._kept[key]
        return found

    def kept(self, key: Any) -> Any:
        """What was made under this key; None where nothing was yet."""
        return self._kept.get(key)

    def __reduce__(self) -> tuple[type[Memo], tuple[()]]:
        return Memo, ()  # nothing in it but what can be made again


def remembered(function: Callable[[Any], T]) -> Callable[[Any], T]:
    """The function of one object with a `memo`, called once for each object."""

    @wraps(function)
    def once(owner: Any) -> T:
        memo: Memo = owner.memo
        return memo.once(function, lambda: function(owner))

    return once
