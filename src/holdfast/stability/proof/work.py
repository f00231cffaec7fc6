"""The work of a search for proofs, counted in products and not in seconds: the same file gives the same proof.

One unit is a product of two terms of Taylor forms, each a short power series of balls; what else a cell takes is told
in such units. `EFFORT` of them, an effort of 1, take about a second; a slower machine takes longer and finds the same.
"""

from __future__ import annotations

EFFORT = 1_000_000  # units that an effort of 1 stands for: 0.8 to 1.4 µs each where they were fitted
LEAST_CELL = 400.0  # units: what a cell costs that needs no form at all (a stretch of time: 0.4 ms)
EMPTY_CELL = 100.0  # units, for a box that the region misses (0.05 to 0.15 ms)


class SearchWork:
    """What may be spent, and what has been; a part of it is charged to the whole as well."""

    def __init__(self, limit: float, whole: SearchWork | None = None, *, beside: bool = False) -> None:
        self.limit, self.spent, self._whole, self._beside = limit, 0.0, whole, beside

    @classmethod
    def of(cls, effort: float) -> SearchWork:
        return cls(EFFORT * effort)

    def part(self, limit: float) -> SearchWork:
        """So much of it at most, for one purpose."""
        return SearchWork(limit, self)

    def beside(self, limit: float) -> SearchWork:
        """So much more, even where the whole is spent: for what must follow for the rest to count."""
        return SearchWork(limit, self, beside=True)

    def charge(self, units: float) -> None:
        self.spent += units
        if self._whole is not None:
            self._whole.charge(units)

    @property
    def left(self) -> float:
        own = self.limit - self.spent
        return own if self._whole is None or self._beside else min(own, self._whole.left)

    @property
    def effort(self) -> float:
        """The limit as an effort."""
        return self.limit / EFFORT
