"""The defect of affine blocks, which time alone decides, in Omega and in tubes alike: shown over a stretch of time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holdfast.stability.verifier.reading.equations import Equations
from holdfast.stability.verifier.refusal import Unconfirmed
from holdfast.stability.verifier.schemes import Tableau
from holdfast.stability.verifier.steps.charts import ChartCutter
from holdfast.stability.verifier.steps.contraction import top
from holdfast.stability.verifier.steps.cover import Budget, Cover, covered
from holdfast.stability.verifier.steps.data import DataSteps, data_of
from holdfast.stability.verifier.steps.defect import DefectJudge
from holdfast.stability.verifier.steps.motion import AffineMotion


def decided_by_time(made: Equations, constraints: list[str], tableau: Tableau) -> bool:
    """Whether a block is affine, and the tableau has no stage beyond its order: what such a stage adds to R acts on
    deviations, and not on the program.
    """
    return len(tableau.weights) <= tableau.order and made.affine(constraints)


@dataclass(frozen=True, eq=False)
class TimeCover:
    """‖Lᵀc‖ ≤ coefficient of one affine block, whatever its states are."""

    made: Equations
    names: list[str]
    tableau: Tableau
    step: float
    factor: list[list[float]]

    def shown(self, times: tuple[float, float], coefficient: float, budget: Budget) -> Cover:
        """Over these times; of a block that follows data piece by piece, with what steps add that pass a knot."""
        matrix = self.made.matrix(self.names)
        if not data_of(self.made, self.names):
            return self._over(times, AffineMotion(self.made, self.names, matrix), coefficient, budget)
        import flint

        steps = DataSteps(self.made, self.names, matrix, self.tableau, self.step, self.factor)
        steps.require_within(*times)
        total, size = Cover(), flint.arb(self.step) ** (self.tableau.order + 1)
        for low, high, image, crossing in steps.parts(*times):
            left = coefficient - top(flint.arb(crossing) / size) * (1 + 1e-12)
            if left < 0:
                told = "the defect is not confirmed: steps across a knot of the data may add more than stated"
                raise Unconfirmed(told)
            found = self._over((low, high), AffineMotion(self.made, self.names, matrix, image), left, budget)
            total.cells, total.largest = total.cells + found.cells, max(total.largest, found.largest)
        return total

    def _over(self, times: tuple[float, float], motion: AffineMotion, coefficient: float, budget: Budget) -> Cover:
        region = np.array([times for _ in motion.variables]).reshape(len(motion.variables), 2)
        cutter = ChartCutter(self.made.dag, motion.variables, [])
        judge = DefectJudge(motion, self.tableau, self.step, self.factor, coefficient, region, cutter)
        return covered(region, cutter, judge, coefficient, "defect", budget)
