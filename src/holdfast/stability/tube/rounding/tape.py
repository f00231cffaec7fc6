"""What doubles add to the deviations in one step, bounded over cells of a tube."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holdfast.engine.forms.evaluate import Forms, FormTape
from holdfast.engine.forms.monomials import CellMonomials
from holdfast.engine.forms.tape import Recorder
from holdfast.graph.arithmetics.rounded_balls import UNDERFLOW
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.tube.flow import TubeFlow
from holdfast.stability.tube.rounding.computed import ComputedStep

Factor = tuple[Sequence[int], np.ndarray]


class RoundingTape:
    """Bounds ‖Lᵀ(error of ψ)‖ for one step as it is run; `fine` with a symbol for each rounding of a stage."""

    def __init__(
        self, flow: TubeFlow, scheme: RungeKutta, step: float, monomials: CellMonomials, *, fine: bool = False,
        chosen: Sequence[list[int]] | None = None, varying: bool = False,
    ) -> None:  # fmt: skip
        """With `varying`, the length of the step is the first input, at most `step`."""
        self.flow = flow
        tape = Recorder(1, monomials)
        taken = ComputedStep(flow, scheme, step, tape, fine=fine, chosen=chosen, varying=varying)
        psi = tape.graph(flow.inputs, [taken.end, *taken.after], flow.psi)
        self.tape = FormTape(tape, [tape.number(x) for x in (*psi, *taken.after)])

    def step(self, cells: np.ndarray) -> Forms:
        """The state after a step: its polynomials and remainders over cells, and the rounding of each component."""
        found, count = self.tape(cells), len(self.flow.psi)
        return Forms(found.polynomials[:, count:], found.remainders[:, count:], found.rounding[:, count:])

    def errors(self, cells: np.ndarray) -> np.ndarray:
        """Of each deviation after a step, at most [cell, deviation]; `cells` as the tape takes them."""
        with np.errstate(all="ignore"):
            found = self.tape(cells).rounding[:, : len(self.flow.psi)] * (1 + 1e-12)
        return np.where(np.isfinite(found), found, np.inf)

    def bounds(self, cells: np.ndarray, factors: Sequence[Factor]) -> np.ndarray:
        """At most, for each cell and block; `cells` as the tape takes them."""
        with np.errstate(all="ignore"):
            errors = self.tape(cells).rounding[:, : len(self.flow.psi)]
            turned = [np.linalg.norm(errors[:, list(places)] @ np.abs(factor), axis=1) for places, factor in factors]
        bounds = np.array(turned).T * (1 + 1e-12) + UNDERFLOW
        return np.where(np.isfinite(bounds), bounds, np.inf)
