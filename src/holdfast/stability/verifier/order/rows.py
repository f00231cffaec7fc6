"""Steps from all rows of a run where rows of the problem may repeat each other: in batches, on all cores.

A process is Python begun anew with the claims on its input (`holdfast.stability.verifier.order.worker`). What is found
does not depend on how many there are.
"""

from __future__ import annotations

import base64
import contextlib
import pickle
from collections.abc import Callable

import numpy as np

from holdfast.stability.verifier.check import Reading
from holdfast.stability.verifier.numbers.evaluate import Forms, ball_values
from holdfast.stability.verifier.numbers.forms import UNIT, Array
from holdfast.stability.verifier.order.centred import CentredSteps
from holdfast.stability.verifier.order.centres import CentreSteps
from holdfast.stability.verifier.order.passes import PassedStep
from holdfast.stability.verifier.order.repeated import RepeatedEquations
from holdfast.stability.verifier.order.steps import PADDING, Boxes, StepMaps
from holdfast.stability.verifier.reading.code import clock_error
from holdfast.stability.verifier.reading.tubes import StatedTube
from holdfast.stability.verifier.refusal import Unconfirmed, require
from holdfast.stability.verifier.steps.unknowns import _distance, _inverse, bounded
from holdfast.stability.verifier.tube.cells import TubeCells
from holdfast.stability.verifier.tube.cores import Workers, usable_cores
from holdfast.stability.verifier.tube.space import TubeSpace

ROWS = 128  # in a batch: more would need memory for nothing
WORTH = ROWS + 1  # rows: fewer are one batch
STIFF = 2**20  # what weights are times the masses that move with a row (docs/theory/1-equations.md, 1.6)
WORKER = "holdfast.stability.verifier.order.worker"
Progress = Callable[[float], None]
Steps = tuple[Array, Array, Array, Array]  # M, the ends of d, and rounding, row by row


class RowSteps:
    """The step from each row, from a batch of them at a time."""

    def __init__(self, read: Reading, names: list[str], found: Boxes) -> None:
        made, claims = read.equations, read.claims
        assert isinstance(made, RepeatedEquations)
        assert claims.step is not None
        clock = clock_error(claims.begin, claims.begin, claims.begin + claims.duration, claims.step, read.tableau)
        slopes = PassedStep(made, read.code, names, read.tableau, claims.step, claims.parameters, clock)
        self._steps = CentredSteps(slopes, CentreSteps(made, names, read.tableau, claims.step))
        self._found = found

    @property
    def batches(self) -> int:
        return -(-(int(self._found.rows[-1]) + 1) // ROWS)

    def batch(self, k: int) -> Steps:
        """Boxes of one row share the M of the first, and what is left of both is left of the row."""
        chosen = np.flatnonzero(self._found.rows // ROWS == k)
        starts = np.flatnonzero(np.diff(self._found.rows[chosen], prepend=-1))
        steps = self._steps.over(self._found.cells.chosen(chosen))
        matrices = steps.matrices()[starts]
        low, high = steps.left(matrices[self._found.rows[chosen] - k * ROWS])
        low, high = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
        return matrices, low, high, np.maximum.reduceat(steps.rounding, starts)

    def every(self, first: int, count: int, tell: Progress) -> dict[int, Steps]:
        """Every n-th batch."""
        found = {}
        for k in range(first, self.batches, count):
            found[k] = self.batch(k)
            tell((k + 1) / self.batches)
        return found


def steps_of_rows(read: Reading, names: list[str], found: Boxes, place: int, tell: Progress) -> tuple[StepMaps, Array]:
    """The maps of all rows, and the rounding of each; `place` is of a block whose claim this is."""
    rows, count = int(found.rows[-1]) + 1, usable_cores()
    workers: Workers | None = None
    if count > 1 and rows >= WORTH:
        with contextlib.suppress(OSError):
            workers = Workers(pickle.dumps((read.claims, place)), count, WORKER)
    known: dict[int, Steps] = {}
    if workers is None:
        known = RowSteps(read, names, found).every(0, 1, tell)
    else:
        for told in workers.results(tell):
            known |= unpacked(told)
    parts = [known[k] for k in range(len(known))]
    matrices, low, high, rounding = (np.concatenate([part[i] for part in parts]) for i in range(4))
    if not np.isfinite(low + high).all():
        raise Unconfirmed("a step from a box of the tube is not enclosed")
    middle = (low + high) / 2
    radius = np.maximum(high - middle, middle - low) * PADDING + UNIT * (np.abs(low) + np.abs(high))
    return StepMaps(matrices, middle, radius), rounding


def packed(found: dict[int, Steps]) -> str:
    return base64.b64encode(pickle.dumps(found)).decode()


def unpacked(told: str) -> dict[int, Steps]:
    found: dict[int, Steps] = pickle.loads(base64.b64decode(told))
    return found


def require_regular(made: RepeatedEquations, tube: StatedTube, begin: float, start: list[float]) -> None:
    """Nothing fails between the rows: M + JᵀWJ is definite all over the tube, since it is with smaller weights.

    It is at the start, and regular in every cell; cells meet.
    """
    import flint

    dag, n = made.dag, len(made.stated.coordinates)
    assert made.mass is not None
    rows = [made.jacobian[name] for name in made.stated.constraints]
    weights = [dag.const(weight / STIFF) for weight in made.weights]
    nodes = [
        dag.add(
            made.mass[i][j], dag.sum(dag.mul(w, dag.mul(row[i], row[j])) for w, row in zip(weights, rows, strict=True))
        )
        for i in range(n)
        for j in range(n)
    ]
    prec, flint.ctx.prec = flint.ctx.prec, 200
    try:
        place = dict(zip(made.inputs, map(flint.arb, (begin, *start)), strict=True))
        values = ball_values(nodes, place)
        corners = [flint.arb_mat([values[i * n : i * n + k] for i in range(k)]).det() for k in range(1, n + 1)]
    finally:
        flint.ctx.prec = prec
    require(all(bool(x > 0) for x in corners), "masses and constraints do not decide the motion where it starts")
    cells = TubeCells.whole(list(tube.scales), tube.spans, tube.curves, tube.halves)
    space = TubeSpace(len(tube.scales), 0, 1)
    with np.errstate(all="ignore"):
        forms = Forms(space, len(cells), cells.values(space, list(tube.scales))).of(nodes)
        table = [forms[i * n : (i + 1) * n] for i in range(n)]
        middle = np.array([[entry.c[:, 0, 0] for entry in row] for row in table]).transpose(2, 0, 1)
        found = bounded(_distance(table, _inverse(middle)), np.ones((len(cells), n, 1)))
    if not np.isfinite(found).all():
        raise Unconfirmed("masses and constraints are not shown to decide the motion between the rows")
