"""A step over boxes where rows that may repeat each other are met in passes: its slopes, and what rounding adds.

    A z_p = b + (0, W⁻¹λ_{p−1}),      a rate is an a of the last pass P

Seeds k of accelerations go back through all passes: k·∂a/∂x = Σ_p μ_pᵀ ∂(b − A z_p)/∂x with Aᵀμ_P = (k, 0) and
Aᵀμ_p = (0, W⁻¹μ_{p+1}) of the rows. Every part of a pass is affine in where it begins (`PassPlaces`), so that what its
own operations add moves the rate by exactly

    μ_p·κ of r₂,     −Jᵀμ_{p+1}·κ of δ,     W⁻¹μ_{p+1}·κ of λ,     and in the last pass k·κ of δ and of a,

and operations are followed through one part at a time, from enclosures by the system. Followed through all of them,
enclosures would be multiplied by the weights at each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.stability.verifier.numbers.evaluate import Forms
from holdfast.stability.verifier.numbers.forms import GROWTH, UNIT, Array, Form, combination, joined, parted
from holdfast.stability.verifier.order.pass_code import (
    Entry,
    PassCode,
    PassesForwards,
    depending,
    product,
    summed,
    widened,
)
from holdfast.stability.verifier.order.repeated import RepeatedEquations
from holdfast.stability.verifier.reading.code import Code, Rounded
from holdfast.stability.verifier.rounding.backwards import StepBackwards
from holdfast.stability.verifier.schemes import Tableau
from holdfast.stability.verifier.steps.unknowns import enclosed
from holdfast.stability.verifier.tube.cells import TubeCells

ORDER = 2  # of forms: slopes of λ count by the weights, so that what bends is not left to remainders
SKEW = 1e-6  # by which directions may miss to be orthogonal, at most


@dataclass(frozen=True, eq=False)
class PassStage:
    """One stage: n directions of accelerations, one after the other in a form, their slopes, and what rounding adds.

    Directions are along the constraints as far as these go, and across them: a deviation hardly knows the others.
    """

    basis: Array  # V: (boxes, directions, coordinates), orthogonal but for rounding
    slopes: dict[str, Form]  # of V a, by time and states
    moved: Array  # (directions, boxes)
    others: dict[str, list[Form]]  # slopes of rates that need no system, by their states
    of_others: Array


@dataclass(frozen=True, eq=False)
class BoxSlopes:
    """∂ψ/∂(t, x) before and after a step over boxes around centres, and what rounding adds to ψ after it."""

    centre: Array  # (boxes, 1 + states)
    reach: Array
    before: list[list[Form]]  # by deviation and variable
    after: list[list[Form]]
    rounding: Array  # (deviations, boxes)


class PassedStep(StepBackwards[PassStage]):
    """One step over boxes at rows, in forms of first order."""

    equations: RepeatedEquations

    def __init__(
        self, equations: RepeatedEquations, code: Code, names: list[str], tableau: Tableau, step: float,
        numbers: Mapping[str, float], clock: float,
    ) -> None:  # fmt: skip
        dag, states = equations.dag, equations.inputs[1:]
        self._count, self._weights = len(equations.stated.coordinates), equations.weights
        own = depending(1 + len(states), ORDER)
        blocks, factors = [[name] for name in names], [np.ones((1, 1))] * len(names)
        super().__init__(equations, blocks, factors, tableau, step, clock, numbers, own, states, states)
        self._matrix, self._right = equations.rows
        inputs = [dag.input(name) for name in self._names]
        self._of_right = dag.partials(self._right, inputs)
        self._of_matrix = [dag.partials(row, inputs) for row in self._matrix]
        self._of_others = {name: dag.partials([node], inputs)[0] for name, node in equations.state_rates.items()}
        self._code = PassCode(code, self._count, len(self._weights))

    def over(self, cells: TubeCells) -> BoxSlopes:
        """Of a step from each box."""
        with np.errstate(all="ignore"):
            begin, centre, reach = self._boxes(cells)
            before = self._of_deviations(begin, len(cells))
            rounding, after = self._moved(begin)
        count = len(rounding)
        return BoxSlopes(centre, reach, self._sorted(before, count), self._sorted(after, count), rounding)

    def _boxes(self, cells: TubeCells) -> tuple[dict[str, Form], Array, Array]:
        """Time and states as centres, which are doubles, and what they may be off by: a direction for each."""
        values, place = {}, cells.values(self.space)
        centres, reaches = [], []
        for k, name in enumerate(self._names):
            form = place[name]
            centre = form.c[:, 0, 0]
            reach = (np.abs(form.c[:, 1:, 0]).sum(axis=1) + form.r[:, 0] + UNIT * np.abs(centre)) * GROWTH
            values[name] = Form.constant(self.space, centre)
            values[name].c[:, self.space.linear[k], 0] = reach
            centres.append(centre)
            reaches.append(reach)
        return values, np.stack(centres, axis=1), np.stack(reaches, axis=1)

    def _sorted(self, slopes: Mapping[str, Form], count: int) -> list[list[Form]]:
        """By deviation and variable."""
        own = {name: parted(form, count) for name, form in slopes.items()}
        return [[own[name][i] for name in self._names] for i in range(count)]

    # ── forwards ──────────────────────────────────────────────────────────────────────────────────

    def _stage(
        self, place: dict[str, Form], fixed: Mapping[str, Rounded], count: int
    ) -> tuple[dict[str, Form], PassStage]:
        forms, nothing, n = Forms(self.space, count, place), np.zeros(count), self._count
        common = self._code.common({**{name: Rounded(form, nothing) for name, form in place.items()}, **fixed})
        matrix = [forms.raw(row) for row in self._matrix]
        followed = PassesForwards(self._code, self._weights, matrix, forms.of(self._right), common)
        a = followed.through()
        rates = {name: place[f"{name}_dot"] for name in self.states[:n]} | dict(
            zip(self.states[n : 2 * n], a, strict=True)
        )
        of_others = self._code.others.running(self._code.others.followed(common, {}))
        for off, (name, node) in zip(of_others, self.equations.state_rates.items(), strict=True):
            rates[name] = widened(forms.of([node])[0], off)
        others = {name: forms.of(nodes) for name, nodes in self._of_others.items()}
        basis = directions(matrix[n:], n, count)
        return rates, PassStage(basis, *self._responses(followed, forms, basis), others, of_others)

    def _residuals(self, forms: Forms, z: Sequence[Form]) -> list[list[Form]]:
        """∂(b − A z)/∂(t, x), row by row."""
        found = []
        for of_right, of_row in zip(self._of_right, self._of_matrix, strict=True):
            row = forms.of(of_right)
            for of_entry, x in zip(of_row, z, strict=True):
                for k, slope in enumerate(forms.raw(of_entry)):
                    if isinstance(slope, Form) or slope:
                        row[k] = row[k] - product(slope, x)
            found.append(row)
        return found

    # ── backwards ─────────────────────────────────────────────────────────────────────────────────

    def _responses(self, forwards: PassesForwards, forms: Forms, basis: Array) -> tuple[dict[str, Form], Array]:
        """Slopes of V a, and how far rounding moves it."""
        n, code, last, count = self._count, self._code, len(forwards.passes) - 1, len(basis)
        columns = basis.transpose(2, 1, 0).reshape(n, n * count)
        k = [Form.constant(self.space, column) for column in columns]
        found: dict[str, list[Form]] = {name: [] for name in self._names}
        across = [[_over(row[j], n) for row in forwards.matrix] for j in range(len(self._right))]
        nothing = Form.constant(self.space, np.zeros(n * count))
        wanted, of_change = [*k, *[nothing] * len(self._weights)], k
        moved = _reach(k, forwards.of_results[last], n)
        for p in range(last, -1, -1):
            mu = enclosed(across, wanted)
            for factor, row in zip(mu, self._residuals(forms, forwards.passes[p]), strict=True):
                for name, slope in zip(self._names, row, strict=True):
                    found[name].append(product(factor, _over(slope, n)))
            if p >= last - 1:
                moved += code.change[p].moved(of_change, forwards.change[p], n)
            else:
                moved += _reach(of_change, forwards.of_change[p], n)
            unmet = [x + x for x in mu[n:]] if p == 1 else mu[n:]  # that of the second pass is λ of the first, too
            if p == last:
                moved += code.unmet[p].moved(unmet, forwards.unmet[p], n)
            elif p:
                moved += _reach(unmet, forwards.of_unmet[p], n)
            wanted = [*[nothing] * n, *(product(1 / w, x) for w, x in zip(self._weights, mu[n:], strict=True))]
            of_change = [-summed([product(across[j][n + i], x) for i, x in enumerate(mu[n:])]) for j in range(n)]
            if p > 1:
                moved += _reach(wanted[n:], forwards.of_results[p - 1][n:], n)
        return {name: summed(parts) for name, parts in found.items()}, (moved * GROWTH).reshape(n, count)

    def _behind(self, seeds: Mapping[str, Form], stage: PassStage, over: int) -> tuple[dict[str, Form], Array]:
        n, names = self._count, self._names
        along = self._along([seeds[name] for name in self.states[n : 2 * n]], stage.basis, over)
        moved = _reach(along, stage.moved, over)
        moved = moved + _reach([seeds[name] for name in stage.others], stage.of_others, over)
        found = {}
        for name, slopes in stage.slopes.items():
            pairs = zip(along, parted(slopes, n), strict=True)
            found[name] = summed([product(factor, _over(slope, over)) for factor, slope in pairs])
        for name in self.states[:n]:
            found[f"{name}_dot"] = found[f"{name}_dot"] + seeds[name]
        for name, more in stage.others.items():
            for other, slope in zip(names, more, strict=True):
                found[other] = found[other] + product(seeds[name], _over(slope, over))
        return found, moved

    @staticmethod
    def _along(k: Sequence[Form], basis: Array, over: int) -> list[Form]:
        """c with k·x = c·V x for every x: V k, and |V| |I − VᵀV| |k| to either side, twice.

        For k·x = V k·V x + ρ·x with ρ = (I − VᵀV) k, and |x| ≤ 2 |V|ᵀ|V x| where I − VᵀV is small.
        """
        n = len(k)
        skew = np.abs(np.eye(n) - np.swapaxes(basis, 1, 2) @ basis) + 4 * n * UNIT
        skew[skew.sum(axis=2).max(axis=1) > SKEW] = np.inf
        most = np.stack([form.bound()[:, 0] for form in k], axis=1)
        lost = np.einsum("nbj,njk,nk->nb", np.abs(np.tile(basis, (over, 1, 1))), np.tile(skew, (over, 1, 1)), most)
        found = combination(np.tile(basis, (over, 1, 1)), k)
        return [widened(form, 2 * off) for form, off in zip(found, lost.T, strict=True)]


def directions(rows: Sequence[Sequence[Entry]], coordinates: int, count: int) -> Array:
    """Orthogonal directions in the middle of boxes, those of the constraints first; any will do."""
    middle = np.zeros((count, len(rows), coordinates))
    for i, row in enumerate(rows):
        for j, entry in enumerate(row[:coordinates]):
            middle[:, i, j] = entry.c[:, 0, 0] if isinstance(entry, Form) else float(entry)
    sound: Array = np.all(np.isfinite(middle), axis=(1, 2))
    middle = np.where(sound[:, None, None], middle, 0.0)
    try:
        return np.linalg.svd(middle)[2]
    except np.linalg.LinAlgError:
        return np.tile(np.eye(coordinates), (count, 1, 1))


def _reach(seeds: Sequence[Form], added: Array, over: int) -> Array:
    """Σ |seed| |κ|."""
    return np.asarray(sum(x.bound()[:, 0] * np.tile(off, over) for x, off in zip(seeds, added, strict=True)))


def _over(entry: Entry, over: int) -> Entry:
    """An entry as often as there are components."""
    return joined([entry] * over) if isinstance(entry, Form) else entry
