"""What a target language must be able to say. A value is its kind and its text.

Kinds: "i" Integer, "d" Number, "r" Real, "w" Word, "b" one condition, "m" a condition per lane, "" nothing, and arrays
"pi", "pd", "pr".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple


class Value(NamedTuple):
    kind: str
    text: str


class Signature(NamedTuple):
    arguments: tuple[str, ...]
    returns: str


class Target(ABC):
    """The primitive operations of a target language."""

    lanes: int

    @abstractmethod
    def begin(self, name: str, arguments: list[tuple[str, str]], returns: str, hint: str) -> None: ...
    @abstractmethod
    def end(self) -> None: ...
    @abstractmethod
    def constant(self, kind: str, value: float) -> Value: ...
    @abstractmethod
    def declare(self, name: str, kind: str) -> None: ...
    @abstractmethod
    def assign(self, name: str, value: Value) -> None: ...
    @abstractmethod
    def read(self, name: str, kind: str) -> Value: ...
    @abstractmethod
    def argument(self, name: str, kind: str) -> Value: ...
    @abstractmethod
    def load(self, array: Value, index: Value) -> Value: ...
    @abstractmethod
    def store(self, array: Value, index: Value, value: Value) -> None: ...
    @abstractmethod
    def part(self, array: Value, index: Value) -> Value: ...
    @abstractmethod
    def as_integers(self, array: Value) -> Value: ...
    @abstractmethod
    def binary(self, op: str, a: Value, b: Value) -> Value: ...
    @abstractmethod
    def compare(self, op: str, a: Value, b: Value) -> Value: ...
    @abstractmethod
    def negate(self, a: Value) -> Value: ...
    @abstractmethod
    def logical(self, op: str, a: Value, b: Value) -> Value: ...
    @abstractmethod
    def widen(self, value: Value) -> Value: ...
    @abstractmethod
    def builtin(self, name: str, values: list[Value]) -> Value: ...
    @abstractmethod
    def call(self, name: str, values: list[Value], returns: str) -> Value: ...
    @abstractmethod
    def ignore(self, value: Value) -> None:
        """A value computed for its effect only."""

    @abstractmethod
    def loop(self, name: str, start: Value, stop: Value) -> AbstractContextManager[None]: ...
    @abstractmethod
    def repeat(self, condition: Callable[[], Value]) -> AbstractContextManager[None]: ...
    @abstractmethod
    def branch(self, condition: Value, yes: Callable[[], None], no: Callable[[], None] | None) -> None: ...
    @abstractmethod
    def leave(self) -> None: ...
    @abstractmethod
    def give(self, value: Value | None) -> None: ...
