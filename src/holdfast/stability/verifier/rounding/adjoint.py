"""What rounding adds to the deviations in one step over parts of a tube, by the mean value and adjoints (`backwards`).

K solves A z = b, so that gᵢ = μᵀ ∂(b − A z)/∂x with Aᵀ μ = kᵢ: nothing is eliminated. Each operation v̂ = f(v̂, v̂)(1 + ε)
of the code has a slope too, found from the last one backwards: kᵢ·κᵢ = Σ v̄ f ε. The slopes know what errors added up
without signs do not: that those of an elimination nearly cancel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from holdfast.stability.verifier.numbers.dag import Node
from holdfast.stability.verifier.numbers.evaluate import Forms
from holdfast.stability.verifier.numbers.forms import GROWTH, LEAST, UNIT, Array, Form, joined
from holdfast.stability.verifier.reading.code import Code, Rounded
from holdfast.stability.verifier.reading.equations import Equations
from holdfast.stability.verifier.refusal import Unconfirmed
from holdfast.stability.verifier.rounding.backwards import Lengths, StepBackwards, reached
from holdfast.stability.verifier.rounding.slopes import CodeSlopes
from holdfast.stability.verifier.schemes import Tableau
from holdfast.stability.verifier.steps.cells import Cells, boxes
from holdfast.stability.verifier.steps.friction import UNKNOWN
from holdfast.stability.verifier.steps.probe import middle_one, probed
from holdfast.stability.verifier.steps.rounding import RoundingModel
from holdfast.stability.verifier.steps.unknowns import enclosed
from holdfast.stability.verifier.tube.cells import TubeCells
from holdfast.stability.verifier.tube.space import TubeSpace
from holdfast.stability.verifier.tube.step import TubeMotion

Stage = tuple[dict[str, Form], dict[int, Form], dict[int, Rounded], dict[str, Array]]
"""Of one stage: values of time and states, unknowns, all places of the code, and what rates are off by there without
rounding."""


class AdjointRounding(StepBackwards[Stage]):
    """Bounds ‖Lᵀ(error of ψ)‖ of several blocks for one step of the code, over parts of cells."""

    def __init__(
        self, equations: Equations, code: Code, blocks: Sequence[list[str]], tableau: Tableau, step: float,
        factors: Sequence[Array], numbers: Mapping[str, float], clock: float, across: int = 0,
    ) -> None:  # fmt: skip
        """`across`: directions of the cells beside those of time and states."""
        names = [name for block in blocks for name in block]
        self.motion, self._slopes = _followed(equations, names, code, numbers)
        self.used = [name for name in self.motion.variables if name != "t"]
        space = TubeSpace(len(self.used) + across, len(tableau.weights) * self.motion.rows, 1)
        super().__init__(
            equations, blocks, factors, tableau, step, clock, numbers, space, self.motion.states, self.used
        )
        self.space: TubeSpace = space
        self._of_rates = self._derived([equations.dag.input(name) for name in self._names])

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

    def judged(self, cells: TubeCells, lengths: Lengths | None = None) -> Array:
        """Bounds for each block and part, (blocks, parts); `lengths` are of the step from each, where they differ."""
        with np.errstate(all="ignore"):
            self.motion.begin_step()
            moved, _ = self._moved(cells.values(self.space, self.used), lengths)
        found, first = [], 0
        for block in self._blocks:
            own = moved[first : first + len(block)]
            first += len(block)
            found.append(np.sqrt((own**2).sum(axis=0)) * GROWTH)
        bounds = np.array(found)
        return np.where(np.isfinite(bounds), bounds, np.inf)

    def _stage(self, place: dict[str, Form], fixed: Mapping[str, Rounded], count: int) -> tuple[dict[str, Form], Stage]:
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
        return rates, (place, unknowns, known, off)

    def _behind(self, seeds: Mapping[str, Form], stage: Stage, over: int) -> tuple[dict[str, Form], Array]:
        place, unknowns, known, off = stage
        moved = reached(seeds, off, over)
        moved += self._slopes.moved([seeds[name] for name in self.motion.states], known, over)
        return self._through(seeds, place, unknowns, over), moved

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
