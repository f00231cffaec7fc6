"""What few steps make of what should stay as it is, however short they are: neither a departure nor a change of energy.

From rest everything that a deviation or an energy is made of grows with the time, and so does what a scheme leaves of
it undone: of k steps of Euler's method a part 1/k, in all units and at any step. Of a quantity Φ(x) that motions keep,

    ΔΦ = ½ (Φ'(x) − Φ'(x₀)) (x − x₀) / k        of k equal steps of first order

exactly so where Φ is quadratic and both factors grow evenly; where they grow as squares of the time, up to thrice that.
So much speaks against no run whose steps are short: in each the accelerations change little, or evenly, and J turns
little. Of long steps nothing is known, and beyond `FEW_STEPS` it is a small part of the terms themselves: there nothing
is excused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.common.memo import remembered
from holdfast.engine.run.rows import Rows
from holdfast.equations.equations import Equations
from holdfast.graph.arithmetics.arrays import ARRAYS
from holdfast.graph.arithmetics.tape import Evaluator, Tape
from holdfast.graph.derivatives import jacobian
from holdfast.graph.nodes import Node
from holdfast.results.judgement.masses import inertia_at

UNEVEN = 3.0  # times what evenly growing factors make; of thirteen mechanisms from rest, 2.9 at the most
FEW_STEPS = 30  # from which UNEVEN / k is no more than what counts as far off in any case
SHORT = 0.2  # of the accelerations: what a short step changes of them; with a rate of 10, one of 0.01 corrects a tenth
BETWEEN = 0.3  # of the accelerations: how far their mean may be from that of two rows; of a multiplied one, a half


@dataclass(frozen=True, eq=False)
class KeptQuantities:
    """Quantities that a motion should keep, by their slopes: `places` are (quantity, input), of time and states."""

    places: Sequence[tuple[int, int]]
    evaluate: Evaluator
    held_by: Sequence[Sequence[int]]  # the constraints that hold each

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.held_by)

    @classmethod
    def of(cls, equations: Equations, nodes: Sequence[Node], held_by: Sequence[Sequence[int]]) -> KeptQuantities:
        """Some nodes, differentiated on the graph."""
        inputs = equations.field.inputs
        rows = jacobian(nodes, inputs[: 1 + len(equations.field.state)])
        places = [(k, j) for k, row in enumerate(rows) for j in row]
        tape = Tape(inputs, tuple(slope for row in rows for slope in row.values()))
        return cls(places, tape.compiled(ARRAYS), held_by)

    def moved(self, coordinates: int) -> list[list[int]]:
        """Which coordinates each quantity is made of, by themselves or by their rates."""
        found: list[set[int]] = [set() for _ in range(self.count)]
        for quantity, place in self.places:
            if 0 < place <= 2 * coordinates:
                found[quantity].add((place - 1) % coordinates)
        return [sorted(some) or list(range(coordinates)) for some in found]

    def turned(self, inputs: np.ndarray, constants: Sequence[float]) -> np.ndarray:
        """½ (Φ' − Φ'₀)(x − x₀) of each, (rows, quantities), at rows of time and states and since the first of them."""
        gained, found = inputs - inputs[0], np.zeros((len(inputs), self.count))
        values = self.evaluate([*inputs.T, *map(np.float64, constants)])
        for (quantity, place), slope in zip(self.places, values, strict=True):
            along = np.broadcast_to(slope, len(inputs))
            found[:, quantity] += (along - along[0]) * gained[:, place] / 2
        return found


@remembered
def kept_deviations(equations: Equations) -> KeptQuantities:
    """All y_ and w_, in the order of their names."""
    nodes = [*equations.deviations.y, *equations.deviations.w]
    return KeptQuantities.of(equations, nodes, [[row] for row in equations.deviations.rows])


@remembered
def kept_energy(equations: Equations) -> KeptQuantities:
    """The energy, where nothing does work."""
    return KeptQuantities.of(equations, [equations.observables["energy"]], [range(len(equations.constraints))])


def made_by_few_steps(
    kept: KeptQuantities, equations: Equations, rows: Rows, chosen: np.ndarray, constants: Sequence[float]
) -> np.ndarray:
    """How much of each quantity the steps up to some rows may have made, (rows, quantities); 0 where they are many."""
    found, numbers = np.zeros((len(chosen), kept.count)), _step_numbers(rows)
    few = np.flatnonzero(numbers < FEW_STEPS)
    asked = np.flatnonzero(np.isin(chosen, few[1:]))
    if len(asked):
        inputs = np.column_stack([rows.times[few], rows.states[few]])
        own = np.searchsorted(few, chosen[asked])
        short = _short(kept, equations, inputs, numbers[few], constants)[own]
        share = UNEVEN * (1 / numbers[few][own, None] - 1 / FEW_STEPS)
        found[asked] = np.where(short, share * np.abs(kept.turned(inputs, constants)[own]), 0.0)
    return found


def _step_numbers(rows: Rows) -> np.ndarray:
    """How many steps led to each row; of rows that were not all kept, as if steps were of one length."""
    since = rows.times - rows.times[0]
    if len(since) == rows.steps + 1 or not since[-1]:
        return np.arange(len(since))
    return np.maximum(np.rint(rows.steps * since / since[-1]), np.minimum(np.arange(len(since)), 1))


def _short(
    kept: KeptQuantities, equations: Equations, inputs: np.ndarray, numbers: np.ndarray, constants: Sequence[float]
) -> np.ndarray:
    """Whether the steps up to each row were short for each quantity, (rows, quantities): in each the accelerations of
    what it is made of change little, or alike in three of them, and the constraints that hold it turn little: what
    moves beside it, or carries it along, says nothing of it.

    They are compared in the metric of masses at the start, in which they have one unit.
    """
    n, steps = len(equations.coordinates), np.diff(numbers)
    tape = Tape(equations.field.inputs, tuple(equations.field.rates[n : 2 * n]))
    found = np.array([tape([*row.tolist(), *constants]) for row in inputs])
    inertia = inertia_at(equations, inputs[0, 0], inputs[0, 1:].tolist(), constants)
    roots = np.sqrt(np.maximum(inertia, 0.0))
    accelerations = found * roots
    means = np.diff(inputs[:, 1 + n : 1 + 2 * n], axis=0) / np.diff(inputs[:, :1], axis=0) * roots
    followed = _followed(equations, inputs, steps, inertia, constants)
    short = np.ones((len(inputs), kept.count), dtype=bool)
    for quantity, (moved, held_by) in enumerate(zip(kept.moved(n), kept.held_by, strict=True)):
        some = accelerations[:, moved]
        changes = np.diff(some, axis=0) / steps[:, None]
        told = (steps == 1) | _as_between(means[:, moved], some)
        small = (_little(changes, some) & told) | _evenly(changes)
        short[1:, quantity] = np.logical_and.accumulate(small & followed[:, list(held_by)].all(axis=1))
    return short


def _followed(
    equations: Equations, inputs: np.ndarray, steps: np.ndarray, inertia: np.ndarray, constants: Sequence[float]
) -> np.ndarray:
    """Whether each row of J, (rows but one, constraints), is turned or stretched by little in each step."""
    places, evaluate = _slopes(equations)
    sizes = np.zeros((len(inputs), len(equations.constraints)))
    changes = np.zeros((len(steps), len(equations.constraints)))
    for (row, column), slope in zip(places, evaluate([*inputs.T, *map(np.float64, constants)]), strict=True):
        if inertia[column] > 0:
            along = np.broadcast_to(slope, len(inputs))
            sizes[:, row] += along**2 / inertia[column]
            changes[:, row] += np.diff(along) ** 2 / inertia[column]
    limit = (SHORT * steps[:, None]) ** 2 * np.maximum(sizes[1:], sizes[:-1])
    return np.asarray((changes <= limit) & np.isfinite(limit))


@remembered
def _slopes(equations: Equations) -> tuple[list[tuple[int, int]], Evaluator]:
    """What does not vanish of J, and where it stands."""
    rows = equations.deviations.jacobian
    nodes = tuple(node for row in rows for node in row.values())
    return [(i, j) for i, row in enumerate(rows) for j in row], Tape(equations.field.inputs, nodes).compiled(ARRAYS)


def _as_between(means: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Whether means of vectors over the time between rows are about those of the rows at its ends.

    Of what was multiplied in each of several steps between them the last value is most, and the mean a small part.
    """
    sizes = np.linalg.norm(vectors, axis=1)
    apart = np.linalg.norm(means - (vectors[1:] + vectors[:-1]) / 2, axis=1)
    return np.asarray(apart <= BETWEEN * np.maximum(sizes[1:], sizes[:-1]))


def _evenly(changes: np.ndarray) -> np.ndarray:
    """Which of some changes are of three that follow each other and are nearly the same."""
    found, alike = np.zeros(len(changes), dtype=bool), _little(np.diff(changes, axis=0), changes)
    for first in np.flatnonzero(alike[:-1] & alike[1:]):
        found[first : first + 3] = True
    return found


def _little(changes: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Whether changes from each vector to the next are small beside these."""
    sizes = np.linalg.norm(vectors, axis=1)
    limit = SHORT * np.maximum(sizes[1:], sizes[:-1])
    return np.asarray((np.linalg.norm(changes, axis=1) <= limit) & np.isfinite(limit))
