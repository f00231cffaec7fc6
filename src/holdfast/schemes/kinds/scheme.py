"""What a scheme owes to those who run it, prove with it and choose gains for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from functools import lru_cache
from hashlib import sha256

import numpy as np

from holdfast.schemes.algebra.stability_function import StabilityFunction


class Scheme(ABC):
    """A one-step scheme: x⁺ from x, for dx/dt = F(x, t).

    Its duties: `name`, `order` (of a step of given length), `stage_count`, `explicit`, `adaptive`, `stability` and
    `propagator`. The engine has a driver for each kind (`engine.code.kernel_source.DRIVERS`); everything else asks the
    questions below, and never which kind it has.
    """

    __slots__ = ()
    name: str
    order: int

    def __repr__(self) -> str:
        kind = "adaptive" if self.adaptive else "fixed step"
        return f"<{self.name}: order {self.order}, {kind}; .spelled has its coefficients>"

    @property
    def spelled(self) -> str:
        """All that it is made of, as text: what tells it from every other."""
        parts = {entry.name: getattr(self, entry.name) for entry in fields(self)}  # type: ignore[arg-type]
        told = (f"{name}={part.spelled if isinstance(part, Scheme) else repr(part)}" for name, part in parts.items())
        return f"{type(self).__name__}({', '.join(told)})"

    @property
    def fingerprint(self) -> str:
        """A hash of all that it is made of: two schemes of one name have two."""
        return _fingerprint(self)

    @property
    @abstractmethod
    def stage_count(self) -> int:
        """Evaluations of F in one step, or attempt."""

    @property
    @abstractmethod
    def explicit(self) -> bool:
        """Whether a step needs no equations solved."""

    @property
    @abstractmethod
    def stability(self) -> StabilityFunction:
        """R(z), the factor of one step of x' = λx, with z = λ·step."""

    @abstractmethod
    def propagator(self, matrix: np.ndarray, step: float, positions: int | None = None) -> np.ndarray:
        """One step of d(y,w)/dt = H (y,w) as a matrix; the first `positions` rows are the y, where that matters."""

    @property
    def adaptive(self) -> bool:
        """Whether it chooses its own steps."""
        return False

    @property
    def error_order(self) -> int:
        """The power of the step that its measured error grows with."""
        return self.order

    @property
    def dense_stages(self) -> int:
        """Evaluations of F that only its interpolant needs, at each accepted step."""
        return 0

    @property
    def treats_all_alike(self) -> bool:
        """Whether one step of x' = Hx is R(step·H), whatever the components of x are."""
        return True

    @property
    def unproved(self) -> str:
        """Why no proof can be made of its steps; empty where one can."""
        return f"{self.name} is {'no Runge-Kutta tableau' if self.explicit else 'implicit'}"

    def wiping_roots(self) -> np.ndarray:
        """Roots times step at which one step wipes a deviation out: the zeros of R."""
        return np.roots([float(c) for c in reversed(self.stability.numerator)])


@lru_cache(maxsize=64)
def _fingerprint(scheme: Scheme) -> str:
    return sha256(scheme.spelled.encode()).hexdigest()[:32]
