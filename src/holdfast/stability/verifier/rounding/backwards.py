"""One step as it is computed, forwards over boxes that hold all of it, and backwards by the slopes of what it ends in.

    x̂ᵢ = x + step Σ_j a_ij K̂_j + δᵢ,      K̂ᵢ = K(x̂ᵢ) + κᵢ,      κᵢ what the code's own operations add at x̂ᵢ

δ and κ are put in step by step, from nothing to all of them: ψ moves by the mean of its slopes on the way,

    ψ̂ − ψ = Σᵢ (gᵢ·δᵢ + kᵢ·κᵢ),    k_i = step (b_i g + Σ_(j>i) a_ji g_j),    gᵢ = (∂K/∂x)ᵀ kᵢ,   g = ∂ψ/∂x

all of it over a box that holds every x̂ᵢ. The slope of ψ after the step by where it begins is g + Σᵢ gᵢ.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Generic, TypeVar

import numpy as np

from holdfast.stability.verifier.numbers.evaluate import Forms, times
from holdfast.stability.verifier.numbers.forms import GROWTH, Array, Form, Space, combination, joined
from holdfast.stability.verifier.reading.code import Rounded, advanced, constant
from holdfast.stability.verifier.reading.equations import Equations
from holdfast.stability.verifier.schemes import Tableau

Lengths = tuple[Array, Array]  # of the step from each part: a middle and a reach
Stage = TypeVar("Stage")  # what a kind of motion keeps of a stage, for the way back


class StepBackwards(ABC, Generic[Stage]):
    """One step over parts of cells: how far rounding moves Lᵀψ of several blocks, and its slopes.

    The step is one for all parts, or as long from each as `lengths` say, and at most the one.
    """

    def __init__(
        self, equations: Equations, blocks: Sequence[list[str]], factors: Sequence[Array], tableau: Tableau,
        step: float, clock: float, numbers: Mapping[str, float], space: Space, states: list[str], used: list[str],
    ) -> None:  # fmt: skip
        self.equations, self.tableau, self.step, self.space, self.states = equations, tableau, step, space, states
        self._clock = clock
        self._blocks, self._factors, self._numbers = blocks, factors, numbers
        self._names = ["t", *used]
        inputs = [equations.dag.input(name) for name in self._names]
        self._of_psi = equations.dag.partials([equations.psi[name] for block in blocks for name in block], inputs)

    @abstractmethod
    def _stage(self, place: dict[str, Form], fixed: Mapping[str, Rounded], count: int) -> tuple[dict[str, Form], Stage]:
        """Rates over the box of a stage, widened by what the code's operations may add to them; and what is kept."""

    @abstractmethod
    def _behind(self, seeds: Mapping[str, Form], stage: Stage, over: int) -> tuple[dict[str, Form], Array]:
        """(∂K/∂x)ᵀ times seeds over the box of a stage, and how far its own rounding moves what the seeds are of."""

    # ── forwards ──────────────────────────────────────────────────────────────────────────────────

    def _moved(self, begin: Mapping[str, Form], lengths: Lengths | None = None) -> tuple[Array, dict[str, Form]]:
        """How far rounding moves each component of Lᵀψ, (components, parts), and its slopes where the step begins."""
        count = len(begin["t"].c)
        fixed = {name: constant(Fraction(value), begin["t"]) for name, value in self._numbers.items()}
        stages: list[Stage] = []
        rates: list[dict[str, Form]] = []
        driven: list[dict[str, Array]] = []
        for node, row in zip(self.tableau.nodes, self.tableau.stages, strict=True):
            place, lost = self._advanced(begin, row, node, rates, lengths)
            driven.append(lost)
            own, stage = self._stage(place, fixed, count)
            rates.append(own)
            stages.append(stage)
        after, lost = self._advanced(begin, self.tableau.weights, Fraction(1), rates, lengths)
        return self._back(self._of_deviations(after, count), stages, driven, lost, lengths)

    def _advanced(
        self, begin: Mapping[str, Form], weights: Sequence[Fraction], node: Fraction,
        stages: Sequence[dict[str, Form]], lengths: Lengths | None,
    ) -> tuple[dict[str, Form], dict[str, Array]]:  # fmt: skip
        """The box of x + step Σ b K̂ as a driver computes it, and what its own operations may add."""
        count = len(begin["t"].c)
        middle, reach = lengths or (np.full(count, self.step), np.zeros(count))
        moment = begin["t"].shifted(float(node) * middle, float(node) * reach + 1e-15 * self.step + self._clock)
        step = Rounded(Form.constant(self.space, middle, reach), np.zeros(count))
        place, lost = {"t": moment}, {"t": np.full(count, self._clock)}
        nothing = np.zeros(count)
        at = [Rounded(begin[name], nothing) for name in self.states]
        rates = [[Rounded(stage[name], nothing) for name in self.states] for stage in stages]
        for name, x in zip(self.states, advanced(at, step, weights, rates), strict=True):
            place[name] = Form(self.space, x.form.c, x.form.r + x.error[:, None])
            lost[name] = x.error
        return place, lost

    # ── backwards ─────────────────────────────────────────────────────────────────────────────────

    def _of_deviations(self, at: Mapping[str, Form], count: int) -> dict[str, Form]:
        """Lᵀ ∂ψ/∂(t, x) at a place, all components of a state in one form, one after the other."""
        forms, first = Forms(self.space, count, at), 0
        turned: dict[str, list[Form]] = {name: [] for name in self._names}
        for block, factor in zip(self._blocks, self._factors, strict=True):
            rows = np.broadcast_to(factor.T, (count, *factor.shape))
            for k, name in enumerate(self._names):
                column = forms.of([self._of_psi[first + i][k] for i in range(len(block))])
                turned[name] += combination(rows, column)
            first += len(block)
        return {name: joined(parts) for name, parts in turned.items()}

    def _back(
        self, slopes: dict[str, Form], stages: Sequence[Stage], driven: Sequence[dict[str, Array]],
        lost: Mapping[str, Array], lengths: Lengths | None,
    ) -> tuple[Array, dict[str, Form]]:  # fmt: skip
        over = sum(len(block) for block in self._blocks)
        total = reached(slopes, lost, over)
        at: list[dict[str, Form]] = []  # gᵢ of the later stages, the last first
        for i in reversed(range(len(stages))):
            weights = [(self.tableau.weights[i], slopes)]
            later = range(len(stages) - 1, i, -1)
            weights += [(self.tableau.stages[j][i], at[k]) for k, j in enumerate(later)]
            chosen = [(w, table) for w, table in weights if w]
            if not chosen:
                at.append({})
                continue
            seeds = {name: self._weighted(name, chosen, lengths) for name in self.states}
            found, moved = self._behind(seeds, stages[i], over)
            total += moved + reached(found, driven[i], over)
            at.append(found)
        whole = {name: sum((table[name] for table in at if table), slopes[name]) for name in self._names}
        return (total * GROWTH).reshape(over, -1), whole

    def _weighted(
        self, name: str, chosen: Sequence[tuple[Fraction, Mapping[str, Form]]], lengths: Lengths | None
    ) -> Form:
        """step Σ w g of one state."""
        step, total = Fraction(self.step) if lengths is None else Fraction(1), None
        for weight, table in chosen:
            if not table:
                continue
            part = times(weight * step, table[name])
            assert isinstance(part, Form)
            total = part if total is None else total + part
        assert total is not None
        if lengths is None:
            return total
        middle, reach = (np.tile(part, len(total.c) // len(part)) for part in lengths)
        return total.scaled(middle, reach)


def reached(at: Mapping[str, Form], errors: Mapping[str, Array], over: int) -> Array:
    """Σ |slope| |error|, for each of `over` components and part."""
    found = np.zeros(len(next(iter(at.values())).c))
    for name, error in errors.items():
        size = at[name].bound()[:, 0]
        found += np.where(size > 0, size * np.tile(error, over), 0.0)
    return found
