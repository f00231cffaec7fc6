"""Rates whose forces bend with the reactions that they use, over boxes at rows: what solving leaves is a remainder."""

from __future__ import annotations

from holdfast.stability.verifier.numbers.evaluate import Forms
from holdfast.stability.verifier.numbers.forms import Form, Space
from holdfast.stability.verifier.steps.unknowns import enclosed
from holdfast.stability.verifier.tube.friction import enclosed_with_friction
from holdfast.stability.verifier.tube.solving import lessened
from holdfast.stability.verifier.tube.step import TubeMotion


class RubbingMotion(TubeMotion):
    """The same without symbols: boxes at rows are so small that remainders of stages need no names."""

    def _solved(self, space: Space, forms: Forms) -> dict[int, Form]:
        found: dict[int, Form] = {}
        for part in self.parts:
            matrix, known, less = self._rows_of(part, forms, found)
            if self.system.bends(part):
                z = enclosed_with_friction(self.system, part, matrix, known, less)
            else:
                z = enclosed(matrix, lessened(known.of([self.system.right[i] for i in part.rows]), less))
            found |= dict(zip(part.columns, z, strict=True))
        return found
