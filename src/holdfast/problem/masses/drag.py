"""Drag per unit of mass, f_c(z, V): constant, linear or quadratic in the speed, in air that may thin with height."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import sympy as sp

from holdfast.problem.types import Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class Drag:
    """f_c(z, V) = coefficient · V^power · exp(−z/scale), as a force against the velocity.

        F = −m f_c(z, V) v/V,      F = 0 where V = 0

    A body of area A and drag coefficient C in air of density ρ has the coefficient ρ C A/(2 m) and power 2; with
    m = m(t), so has the coefficient.
    """

    coefficient: Expression
    power: int = 2
    scale: Expression = None  # height in which the air thins by e; none for air that does not thin

    def per_mass(self, speed: Any, height: Any = 0) -> sp.Expr:
        """f_c(z, V)."""
        return sp.sympify(self._at(height) * speed**self.power)

    def force(self, velocity: Iterable[Any], *, mass: Any = 1, height: Any = 0) -> tuple[sp.Expr, ...]:
        """The force on a mass that moves with this velocity through still air."""
        parts = tuple(velocity)
        square = sp.Add(*(part**2 for part in parts))
        if self.power == 0:
            unit = tuple(sp.Piecewise((part / sp.sqrt(square), square > 0), (0, True)) for part in parts)
            return tuple(-mass * self._at(height) * part for part in unit)
        speed_power = sp.sqrt(square) ** (self.power - 1)
        return tuple(-mass * self._at(height) * speed_power * part for part in parts)

    def _at(self, height: Any) -> Any:
        return self.coefficient if self.scale is None else self.coefficient * sp.exp(-sp.sympify(height) / self.scale)


def constant_drag(coefficient: Expression) -> Drag:
    """Drag that does not depend on the speed, as of dry friction."""
    return Drag(coefficient=coefficient, power=0)


def quadratic_drag(coefficient: Expression) -> Drag:
    """Drag with the square of the speed, in air of one density."""
    return Drag(coefficient=coefficient)


def exponential_atmosphere(coefficient: Expression, scale: Expression) -> Drag:
    """Quadratic drag in air that thins by e in the height `scale` (about 8000 m on Earth)."""
    return Drag(coefficient=coefficient, scale=scale)
