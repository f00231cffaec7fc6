"""Statements of a body in an order that holds few values at once, where registers are few for what they hold.

Always that statement is next which sets the most values free for the one it makes. Among equals, on a card, the one
that takes up what was made last (ten links: 73 values held at once instead of 110, and 1.9 times the steps a second);
in lanes, the one that the longest chain of others waits for, as a processor still looks ahead (ten links: 66 instead of
83, and 5 % less time). What is computed does not change, nor any bit of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from holdfast.engine.emit.body import CodeBody

REGISTERS = 32  # of AVX-512; with the 16 of AVX2 either order is as good for bodies that hold so many values


def in_few_registers(body: CodeBody) -> CodeBody:
    """The same body in the order that holds fewer values at once: its own, or the one for a card."""
    return min(body, body.in_order(_Schedule(body).order()), key=values_held)


def ordered_for_lanes(body: CodeBody) -> CodeBody:
    """The same body in the order for lanes; with what is urgent first where there are registers for all it holds."""
    urgent = body.urgent_first
    return urgent if values_held(urgent) <= REGISTERS else few_held(body)


def few_held(body: CodeBody) -> CodeBody:
    """The same body with few values held, and what is urgent first among equals."""
    return body.in_order(_Schedule(body, body.waiting).order())


def values_held(body: CodeBody) -> int:
    """The most values that wait, at any statement, to be used later."""
    first, last = body.inputs, dict[int, int]()
    for number, (_, operands) in enumerate(body.statements):
        last |= {slot: number for slot in operands if not isinstance(slot, float) and slot >= first}
    ends = Counter(last.values())
    most = held = 0
    for number in range(len(body.statements)):
        held += first + number in last
        most = max(most, held)
        held -= ends[number]
    return most


class _Schedule:
    """Which statements wait for which, and how often each value is still needed."""

    def __init__(self, body: CodeBody, urgency: Sequence[int] | None = None) -> None:
        """`urgency` decides between statements that set as many values free: the greatest first."""
        first, self.urgency = body.inputs, urgency
        self.operands = [
            {slot - first for slot in operands if not isinstance(slot, float) and slot >= first}
            for _, operands in body.statements
        ]
        self.users: list[list[int]] = [[] for _ in self.operands]
        for number, needed in enumerate(self.operands):
            for slot in needed:
                self.users[slot].append(number)
        self.waiting = [len(needed) for needed in self.operands]
        self.left = [len(users) for users in self.users]
        self.made = [-1] * len(self.operands)  # when

    def order(self) -> list[int]:
        """Taken from a heap; what another statement has made better meanwhile is put into it once more."""
        ready = [(self._cost(number), number) for number, waits in enumerate(self.waiting) if not waits]
        heapify(ready)
        found: list[int] = []
        while ready:
            cost, number = heappop(ready)
            if self.made[number] >= 0:
                continue
            if cost != (now := self._cost(number)):
                heappush(ready, (now, number))
                continue
            self.made[number] = len(found)
            found.append(number)
            for slot in self.operands[number]:
                self.left[slot] -= 1
                if self.left[slot] == 1:  # its last user now sets it free
                    self._again(ready, slot)
            for user in self.users[number]:
                self.waiting[user] -= 1
                if not self.waiting[user]:
                    heappush(ready, (self._cost(user), user))
        return found

    def _again(self, ready: list[tuple[tuple[int, int], int]], slot: int) -> None:
        for user in self.users[slot]:
            if self.made[user] < 0 and not self.waiting[user]:
                heappush(ready, (self._cost(user), user))

    def _cost(self, number: int) -> tuple[int, int]:
        """How many more values are held afterwards; then its urgency, or how long ago its operands were made."""
        freed = sum(self.left[slot] == 1 for slot in self.operands[number])
        if self.urgency is not None:
            return int(bool(self.users[number])) - freed, -self.urgency[number]
        latest = max((self.made[slot] for slot in self.operands[number]), default=-1)
        return int(bool(self.users[number])) - freed, -latest
