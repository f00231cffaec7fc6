"""Whether constraints depend on each other wherever they hold: a repeat, and neither a chance nor a contradiction.

The rank of J is counted on the program, for beside it the constraints of a closed loop may well be independent. So the
start and the samples beside it are first moved onto the program, positions and then rates, by Gauss-Newton steps that
leave out the directions in which J has hardly any rank. The dependence counts as a repeat where, at every state found,

    rank J is the same,      y = 0 and w = 0 are met by all constraints,      −γ lies in the range of J
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.equations.dynamics.deviation import Deviations
from holdfast.equations.dynamics.inputs import Inputs
from holdfast.equations.dynamics.sample import Sample
from holdfast.equations.solving.repeats import circuits_of, rank_of, repetition, scaled_rows
from holdfast.graph.linear_algebra import Rows
from holdfast.graph.nodes import Node

STEPS = 40  # of Gauss-Newton, at most
WEAK = (
    1e-3,
    1e-9,
)  # relative singular values left out: at first those that vanish on the program, then none that count
FAR = 0.3  # and more of them far from the program, where slopes of second order look like first
HELD = 1e-11  # of the size of its terms: a deviation below this is met
CONSISTENT = 1e-8  # of its size: what of γ may lie outside the range of J
LOOKS = 2  # states on the program, at least, that make a dependence


@dataclass(frozen=True, eq=False)
class Dependence:
    """Constraints that repeat others wherever the program holds."""

    rank: int
    circuits: tuple[tuple[str, ...], ...]  # the names of each; the last one repeats the others
    samples: tuple[Sample, ...]  # states on the program

    @property
    def names(self) -> tuple[str, ...]:
        """The constraints whose multipliers are not unique, in the order of the circuits."""
        return tuple(dict.fromkeys(name for circuit in self.circuits for name in circuit))

    @property
    def words(self) -> str:
        """'c' repeats what 'a' and 'b' already fix; ..."""
        return "; ".join(repetition(circuit) for circuit in self.circuits)


def weak_slope(step: int) -> float:
    """The relative slope below which a direction is left out of one step of Gauss-Newton: the less, the nearer."""
    return max(WEAK[0], FAR / 2**step)


def dependence_of(
    constraints: Sequence[str], inputs: Inputs, deviations: Deviations, samples: Sequence[Sample]
) -> Dependence | None:
    """The dependence of constraints on each other wherever they hold; none where they are independent, or contradict
    each other, or where that cannot be told.
    """
    if len(constraints) < 2 or deviations.degrees or not all(deviations.jacobian):
        return None
    way = _WayOnto(inputs, deviations)
    ranks, held, last = set[int](), list[Sample](), np.zeros((0, 0))
    for sample in samples:
        found = way.on_program(sample)
        if found is None:
            continue
        last = found.dense(deviations.jacobian, len(inputs.q))
        rank = rank_of(last)
        if rank == len(constraints) or not way.consistent(found, last):
            return None
        ranks.add(rank)
        held.append(found)
    if len(held) < LOOKS or len(ranks) > 1:
        return None
    circuits = tuple(tuple(circuit.names(constraints)) for circuit in circuits_of(last))
    return Dependence(ranks.pop(), circuits, tuple(held))


@dataclass(frozen=True, eq=False)
class _WayOnto:
    """Moves samples onto the program."""

    inputs: Inputs
    deviations: Deviations

    def on_program(self, sample: Sample) -> Sample | None:
        """The sample moved to y = 0 and w = 0; none where no such state is found near it."""
        inputs, deviations = self.inputs, self.deviations
        moved: Sample | None = sample
        if deviations.y:
            moved = self._solved(sample, inputs.q, deviations.y, deviations.jacobian[: len(deviations.y)])
        if moved is not None:
            moved = self._solved(moved, inputs.v, deviations.w, deviations.jacobian)
        return moved

    def consistent(self, sample: Sample, slopes: np.ndarray) -> bool:
        """Whether accelerations exist that keep w = 0: −γ in the range of J."""
        drift = np.array(sample.of(self.deviations.drift))
        size = np.linalg.norm(slopes, axis=1)
        size = np.where(size > 0, size, 1.0)
        rows, wanted = slopes / size[:, None], drift / size
        found = np.linalg.lstsq(rows, wanted, rcond=WEAK[1])[0]
        q, v = (np.abs([sample.values[node] for node in nodes]) for nodes in (self.inputs.q, self.inputs.v))
        turning = np.abs(rows) @ (v**2 / np.where(q > 0, q, q.max(initial=0.0) or 1.0))  # what rounding is measured by
        return bool(
            np.abs(rows @ found - wanted).max() <= CONSISTENT * max(np.abs(wanted).max(), turning.max(), 1e-300)
        )

    def _solved(self, sample: Sample, moving: Sequence[Node], zeros: Sequence[Node], slopes: Rows) -> Sample | None:
        values, n = {node: sample.values[node] for node in moving}, len(moving)
        largest = max((abs(x) for x in values.values()), default=0.0) or 1.0
        reach = np.array([abs(x) or largest for x in values.values()])
        best, used = np.inf, sample
        for step in range(STEPS):
            off = np.array(used.of(zeros))
            matrix = used.dense(slopes, n)
            if not (np.isfinite(off).all() and np.isfinite(matrix).all()):
                return None
            terms = np.abs(matrix) @ reach
            worst = float(np.max(np.where(off == 0, 0.0, np.abs(off) / np.where(terms > 0, terms, 1.0))))
            if worst <= HELD and not worst < best / 2:
                break
            best = min(best, worst)
            if worst == 0:
                break
            change = _step(matrix * reach, off, WEAK[1] if step >= STEPS // 2 else weak_slope(step)) * reach
            values = {node: x + float(d) for (node, x), d in zip(values.items(), change, strict=True)}
            used = Sample({**used.values, **values}, sample.seed)
        return used if best <= HELD or worst <= HELD else None


def _step(matrix: np.ndarray, off: np.ndarray, weak: float) -> np.ndarray:
    """The least change that meets the deviations to first order, but for directions nearly without slope."""
    size = np.linalg.norm(matrix, axis=1)
    wanted = np.divide(-off, size, out=np.zeros_like(off), where=size > 0)
    return np.asarray(np.linalg.lstsq(scaled_rows(matrix), wanted, rcond=weak)[0])
