"""Quasi-velocities and their rates as symbols, for formulas."""

from __future__ import annotations

from holdfast.problem.quantities import NamedSymbol


class QuasiVelocity(NamedSymbol):
    """A quasi-velocity u: a combination of rates that need not be the rate of anything."""

    __slots__ = ()
    rank = 2

    @property
    def rate(self) -> QuasiAcceleration:
        return QuasiAcceleration(f"{self.name}_dot")


class QuasiAcceleration(NamedSymbol):
    """The rate u' of a quasi-velocity."""

    __slots__ = ()
    rank = 3
