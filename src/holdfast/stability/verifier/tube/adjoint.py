"""What rounding adds to the deviations in one step over parts of a tube, by the mean value and adjoints.

    x̂ᵢ = x + step Σ_j a_ij K̂_j + δᵢ,      K̂ᵢ = K(x̂ᵢ) + κᵢ,      κᵢ what the code's own operations add at x̂ᵢ

δ and κ are put in step by step, from nothing to all of them: ψ moves by the mean of its slopes on the way,

    ψ̂ − ψ = Σᵢ (gᵢ·δᵢ + kᵢ·κᵢ),    k_i = step (b_i g + Σ_(j>i) a_ji g_j),    gᵢ = (∂K/∂x)ᵀ kᵢ,   g = ∂ψ/∂x

all of it over a box that holds every x̂ᵢ. K solves A z = b, so that gᵢ = μᵀ ∂(b − A z)/∂x with Aᵀ μ = kᵢ: nothing is
eliminated. Each operation v̂ = f(v̂, v̂)(1 + ε) of the code has a slope too, found from the last one backwards:
kᵢ·κᵢ = Σ v̄ f ε. The slopes know what errors added up without signs do not: that those of an elimination nearly cancel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from holdfast.stability.verifier.numbers.dag import Node
from holdfast.stability.verifier.numbers.evaluate import Forms, times
from holdfast.stability.verifier.numbers.forms import GROWTH, LEAST, UNIT, Array, Form, combination, joined
from holdfast.stability.verifier.reading.code import ROUNDED, Code, Rounded, advanced, constant
from holdfast.stability.verifier.reading.equations import Equations
from holdfast.stability.verifier.refusal import Unconfirmed
from holdfast.stability.verifier.schemes import Tableau
from holdfast.stability.verifier.steps.cells import Cells, boxes
from holdfast.stability.verifier.steps.friction import UNKNOWN
from holdfast.stability.verifier.steps.probe import middle_one, probed
from holdfast.stability.verifier.steps.rounding import RoundingModel
from holdfast.stability.verifier.steps.unknowns import enclosed
from holdfast.stability.verifier.tube.cells import TubeCells
from holdfast.stability.verifier.tube.slopes import CodeSlopes
from holdfast.stability.verifier.tube.space import TubeSpace
from holdfast.stability.verifier.tube.step import TubeMotion

Stage = tuple[dict[str, Form], dict[str, Form], dict[int, Form], dict[int, Rounded], dict[str, Array]]
"""Of one stage: values of time and states, rates, unknowns, all places of the code, and what rates are off by there
without rounding."""


class AdjointRounding:
    """Bounds ‖Lᵀ(error of ψ)‖ of several blocks for one step of the code, over parts of cells."""

    def __init__(
        self, equations: Equations, code: Code, blocks: Sequence[list[str]], tableau: Tableau, step: float,
        factors: Sequence[Array], numbers: Mapping[str, float], latest: float, across: int = 0,
    ) -> None:  # fmt: skip
        """`across`: directions of the cells beside those of time and states."""
        self.equations, self.tableau, self.step = equations, tableau, step
        self._clock = 4 * ROUNDED * latest  # of t = begin + count·step, and of the stages within
        self._blocks, self._factors, self._numbers = blocks, factors, numbers
        names = [name for block in blocks for name in block]
        self.motion, self._slopes = _followed(equations, names, code, numbers)
        self.used = [name for name in self.motion.variables if name != "t"]
        self.space = TubeSpace(len(self.used) + across, len(tableau.weights) * self.motion.rows, 1)
        self._names = ["t", *self.used]
        inputs = [equations.dag.input(name) for name in self._names]
        self._of_psi = equations.dag.partials([equations.psi[name] for name in names], inputs)
        self._of_rates = self._derived(inputs)

    def _derived(self, inputs: list[Node]) -> dict[str | int, list[Node]]:
        """∂/∂(time, states) of the rows b − A z, with z as inputs, and of the rates that need no system."""
        dag = self.equations.dag
        self._rows = [i for part in self.motion.parts for i in part.rows]
        self._columns = [j for part in self.motion.parts for j in part.columns]
        rows = []
        for i in self._rows:
            system = self.motion.system
            used = [j for j in self._columns if system.matrix[i][j] is not dag.zero]
            taken = dag.sum(dag.mul(system.matrix[i][j], dag.input(f"{UNKNOWN}{j}")) for j in used)
            rows.append(dag.sub(system.right[i], taken))
        found: dict[str | int, list[Node]] = dict(zip(self._rows, dag.partials(rows, inputs), strict=True))
        own = [name for name in self.motion.states if name in self.equations.state_rates]
        slopes = dag.partials([self.equations.state_rates[name] for name in own], inputs)
        return found | dict(zip(own, slopes, strict=True))

    def judged(self, cells: TubeCells) -> Array:
        """Bounds for each block and part: (blocks, parts)."""
        with np.errstate(all="ignore"):
            moved = self._moved(cells)
        found, first = [], 0
        for block in self._blocks:
            own = moved[first : first + len(block)]
            first += len(block)
            found.append(np.sqrt((own**2).sum(axis=0)) * GROWTH)
        bounds = np.array(found)
        return np.where(np.isfinite(bounds), bounds, np.inf)

    # ── forwards ──────────────────────────────────────────────────────────────────────────────────

    def _moved(self, cells: TubeCells) -> Array:
        """How far rounding moves each component of Lᵀψ: (components, parts)."""
        self.motion.begin_step()
        begin = cells.values(self.space, self.used)
        count = len(cells)
        fixed = {name: constant(Fraction(value), begin["t"]) for name, value in self._numbers.items()}
        stages: list[Stage] = []
        driven: list[dict[str, Array]] = []
        for node, row in zip(self.tableau.nodes, self.tableau.stages, strict=True):
            place, lost = self._advanced(begin, row, node, stages)
            driven.append(lost)
            stages.append(self._stage(place, fixed, count))
        after, lost = self._advanced(begin, self.tableau.weights, Fraction(1), stages)
        slopes = self._first(after, count)
        return self._back(slopes, stages, driven, lost)

    def _stage(self, place: dict[str, Form], fixed: Mapping[str, Rounded], count: int) -> Stage:
        """Rates over the box of a stage, widened by what the code's operations may add to them."""
        exact, unknowns = self.motion.both(self.space, count, place)
        left = self.motion.left(self.space, count, place, unknowns)
        off = {name: left[j] for name, j in self.motion.unknown_of.items() if name in exact and j in left}
        nothing = np.zeros(count)
        values = {name: Rounded(form, nothing) for name, form in place.items()}
        known = self._slopes.followed({**values, **fixed})
        rates = {}
        for name, out in zip(self.motion.states, self._slopes.outputs, strict=True):
            error = known[out].error + off.get(name, nothing)
            rates[name] = Form(self.space, exact[name].c, exact[name].r + error[:, None])
        return place, rates, unknowns, known, off

    def _advanced(
        self, begin: Mapping[str, Form], weights: Sequence[Fraction], node: Fraction, stages: Sequence[Stage]
    ) -> tuple[dict[str, Form], dict[str, Array]]:
        """The box of x + step Σ b K̂ as a driver computes it, and what its own operations may add."""
        count = len(begin["t"].c)
        moment = begin["t"].shifted(np.full(count, float(node) * self.step), 1e-15 * self.step + self._clock)
        place, lost = {"t": moment}, {"t": np.full(count, self._clock)}
        states, nothing = self.motion.states, np.zeros(count)
        at = [Rounded(begin[name], nothing) for name in states]
        rates = [[Rounded(stage[1][name], nothing) for name in states] for stage in stages]
        for name, x in zip(states, advanced(at, self.step, weights, rates), strict=True):
            place[name] = Form(self.space, x.form.c, x.form.r + x.error[:, None])
            lost[name] = x.error
        return place, lost

    # ── backwards ─────────────────────────────────────────────────────────────────────────────────

    def _first(self, after: Mapping[str, Form], count: int) -> dict[str, Form]:
        """Lᵀ ∂ψ/∂(t, x) after the step, all components of a state in one form, one after the other."""
        forms, first = Forms(self.space, count, after), 0
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
        lost: Mapping[str, Array],
    ) -> Array:  # fmt: skip
        times_over = sum(len(block) for block in self._blocks)

        def reached(at: Mapping[str, Form], errors: Mapping[str, Array]) -> Array:
            found = np.zeros(times_over * len(lost["t"]))
            for name, error in errors.items():
                size = at[name].bound()[:, 0]
                found += np.where(size > 0, size * np.tile(error, times_over), 0.0)
            return found

        total = reached(slopes, lost)
        at: list[dict[str, Form]] = []  # gᵢ of the later stages, the last first
        for i in reversed(range(len(stages))):
            weights = [(self.tableau.weights[i], slopes)]
            later = range(len(stages) - 1, i, -1)
            weights += [(self.tableau.stages[j][i], at[k]) for k, j in enumerate(later)]
            chosen = [(w, table) for w, table in weights if w]
            if not chosen:
                at.append({})
                continue
            seeds = {name: self._weighted(name, chosen) for name in self.motion.states}
            place, _, unknowns, known, off = stages[i]
            total += reached(seeds, off)
            total += self._slopes.moved([seeds[name] for name in self.motion.states], known, times_over)
            found = self._through(seeds, place, unknowns, times_over)
            at.append(found)
            total += reached(found, driven[i])
        return (total * GROWTH).reshape(times_over, -1)

    def _weighted(self, name: str, chosen: Sequence[tuple[Fraction, Mapping[str, Form]]]) -> Form:
        """step Σ w g of one state."""
        total: Form | None = None
        for weight, table in chosen:
            if not table:
                continue
            part = times(weight * Fraction(self.step), table[name])
            assert isinstance(part, Form)
            total = part if total is None else total + part
        assert total is not None
        return total

    def _through(
        self, seeds: Mapping[str, Form], place: Mapping[str, Form], unknowns: Mapping[int, Form], over: int
    ) -> dict[str, Form]:
        """(∂K/∂x)ᵀ times seeds, over the box of a stage."""
        count = len(place["t"].c)
        table = {**place, **{f"{UNKNOWN}{j}": form for j, form in unknowns.items()}}
        forms = Forms(self.space, count, table)
        mu = self._adjoints(seeds, forms, over)
        found: dict[str, list[Form]] = {name: [] for name in self._names}
        pairs: list[tuple[Form, list[Node]]] = [(mu[k], self._of_rates[i]) for k, i in enumerate(self._rows)]
        for name in self.motion.states:
            if name in self.equations.state_rates:
                pairs.append((seeds[name], self._of_rates[name]))
            elif name not in self.motion.unknown_of:
                found[f"{name}_dot"].append(seeds[name])
        for factor, nodes in pairs:
            for name, node in zip(self._names, nodes, strict=True):
                if node is not self.equations.dag.zero:
                    (slope,) = forms.of([node])
                    found[name].append(factor * joined([slope] * over))
        nothing = Form.constant(self.space, np.zeros(over * count))
        return {name: sum(parts[1:], parts[0]) if parts else nothing for name, parts in found.items()}

    def _adjoints(self, seeds: Mapping[str, Form], forms: Forms, over: int) -> list[Form]:
        """μ with Aᵀ μ = seeds, A with the slopes of forces by the reactions that they use."""
        if not self._rows:
            return []
        bent = self.motion.system.bent
        wanted = {column: name for name, column in self.motion.unknown_of.items()}
        count = forms.cells * over
        right = [
            seeds[wanted[j]] if wanted.get(j) in seeds else Form.constant(self.space, np.zeros(count))
            for j in self._columns
        ]
        matrix = [
            [
                entry if isinstance(entry, Fraction) else joined([entry] * over)
                for entry in forms.raw([bent[i][j] for i in self._rows])
            ]
            for j in self._columns
        ]
        return enclosed(matrix, right)


def _followed(
    equations: Equations, names: list[str], code: Code, numbers: Mapping[str, float]
) -> tuple[TubeMotion, CodeSlopes]:
    """The motion of all states on which the deviations depend, or which the code uses for their rates."""
    order = {name: k for k, name in enumerate(equations.inputs[1:])}
    more = set[str]()
    while True:
        motion = TubeMotion(equations, names, more)
        slopes = CodeSlopes(code, [code.rates[order[name]] for name in motion.states])
        lacking = slopes.inputs - {"t", *motion.variables, *numbers}
        if not lacking:
            return motion, slopes
        if not lacking <= set(order):
            raise Unconfirmed("the code needs what is no state: its rounding is not re-checked")
        more |= lacking


class BoxRounding:
    """Rounding of one block over boxes: errors added up, or, where that is too large, by their slopes."""

    def __init__(
        self, quick: RoundingModel, by_slopes: Callable[[], AdjointRounding] | None, names: list[str], relevant: Array
    ) -> None:
        self._quick, self._make, self._names = quick, by_slopes, names
        self._relevant = relevant  # of each variable: 1 beside its range in the region, or 0 where it decides nothing
        self._fine: AdjointRounding | None = None

    def judge(self, cells: Cells, claimed: float) -> tuple[Array, Array, Array]:
        bounds, shares = self._bounds(cells, claimed), np.zeros_like(cells.low)
        poor = np.flatnonzero(bounds > claimed)
        if len(poor):
            row = middle_one(poor, bounds)
            helpful = probed(
                lambda low, high: self._bounds(boxes(cells.variables, low, high), claimed),
                cells.low[row], cells.high[row], float(bounds[row]),
            )  # fmt: skip
            shares[poor] = helpful if helpful.any() else (cells.high - cells.low)[poor] * self._relevant
        return bounds, np.zeros(len(cells)), shares

    def _bounds(self, cells: Cells, claimed: float) -> Array:
        bounds = self._quick.bounds(cells)
        poor = np.flatnonzero(bounds > claimed)
        if len(poor) and self._make is not None:
            self._fine = self._fine or self._make()
            bounds[poor] = np.fmin(bounds[poor], self._fine.judged(self._as_tube(cells.chosen(poor)))[0])
        return bounds

    def _as_tube(self, cells: Cells) -> TubeCells:
        """A box is a cell of a tube around a state that rests."""
        at = [cells.variables.index(name) for name in self._names]
        first = cells.variables.index("t")
        low, high = cells.low[:, at], cells.high[:, at]
        middle = (low + high) / 2
        curves = np.zeros((len(cells), len(at), 4))
        curves[:, :, 0] = middle
        halves = np.maximum(high - middle, middle - low) * GROWTH + UNIT * np.abs(middle) + LEAST
        return TubeCells.whole(
            self._names, np.stack([cells.low[:, first], cells.high[:, first]], axis=1), curves, halves
        )
