"""What all schemes that choose their own steps share: they are built round a tableau."""

from __future__ import annotations

import numpy as np

from holdfast.schemes.algebra.stability_function import StabilityFunction
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.schemes.kinds.scheme import Scheme


class Adaptive(Scheme):
    """An adaptive scheme round its `main` tableau, which says all about a single step."""

    __slots__ = ()
    main: RungeKutta

    @property
    def order(self) -> int:  # type: ignore[override]
        return self.main.order

    @property
    def stage_count(self) -> int:
        return self.main.stage_count

    @property
    def explicit(self) -> bool:
        return self.main.explicit

    @property
    def adaptive(self) -> bool:
        return True

    @property
    def stability(self) -> StabilityFunction:
        return self.main.stability

    def propagator(self, matrix: np.ndarray, step: float, positions: int | None = None) -> np.ndarray:
        """R(step·H) of the main weights."""
        return self.main.propagator(matrix, step)
