"""Independence of a large program, told by placing few coordinates at a time.

Far from the program, steps that move all coordinates together crumple a net: its bars pull against each other, and the
steps that untangle it become more with its size. Here the constraint with the fewest coordinates that have no place yet
comes first; those are placed so that it, and every other constraint that they complete, is met, as a net is knotted. In
the order of places the jacobian is

        [ J₁₁             ]
    J = [ J₂₁  J₂₂        ]
        [ ...  ...  J_kk  ]

and of full rank where every block on its diagonal is, however ill-conditioned the whole may be. A place that is not
found, or a block that is not plainly of full rank, leaves the matter open: a loop that does not close, or is stretched.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.equations.dynamics.sample import Sample
from holdfast.graph.arithmetics.tape import Ledger
from holdfast.graph.linear_algebra import Rows
from holdfast.graph.nodes import Node, ancestors

STEPS = 30  # of Newton's iteration in the coordinates of one place
ROUGH = 6  # of them, to find about where a place is
DAMPED = (0.1, 1e-12)  # of the diagonal, added to it: at first and at least
NEAR = 1e-13  # of the coordinates: a place that is off by less is found
TRIES = 12  # to find a place
FULL = 1e-4  # the least singular value of a block: Newton's steps onto a rank that is lost come to some 10⁻⁷


def independent_as_placed(sample: Sample, moving: Sequence[Node], zeros: Sequence[Node], slopes: Rows) -> bool:
    """Whether moving values are found, one place after the other, at which the zeros are met and their slopes are
    independent by far; `slopes` are those of the zeros with the moving values.
    """
    values = {node.index: value for node, value in sample.values.items()}
    shake = np.random.default_rng(20240611)
    if not all(slopes):
        return False
    for place, completed in _places(slopes):
        entries = [(slopes[k].get(j), (row, column)) for row, k in enumerate(completed) for column, j in
                   enumerate(place)]  # fmt: skip
        nodes = [zeros[k] for k in completed] + [node for node, _ in entries if node is not None]
        block = [moving[j] for j in place]
        used = {node: values[node.index] for node in {*ancestors(nodes), *block} if node.index in values}
        where = [at for node, at in entries if node is not None]
        found = _Place(block, nodes, where, sample.seed).found(used, shake)
        if found is None:
            return False
        values |= {node.index: value for node, value in zip(block, found.tolist(), strict=True)}
    return True


def _places(slopes: Rows) -> Iterator[tuple[list[int], list[int]]]:
    """The coordinates that are placed together, and the constraints that they complete, in their order."""
    left, meets = [set(row) for row in slopes], dict[int, list[int]]()
    for k, row in enumerate(slopes):
        for j in row:
            meets.setdefault(j, []).append(k)
    waiting = [(len(row), k) for k, row in enumerate(left)]
    heapq.heapify(waiting)
    while waiting:
        count, k = heapq.heappop(waiting)
        if not left[k] or count != len(left[k]):
            continue  # complete by now, or waiting with fewer
        place = set(left[k])
        touched = sorted({other for j in place for other in meets[j]})
        yield sorted(place), [other for other in touched if left[other] <= place]
        for other in touched:
            left[other] -= place
            heapq.heappush(waiting, (len(left[other]), other))


@dataclass(frozen=True, eq=False)
class _Place:
    """A few coordinates, the constraints that they complete (the first nodes) and the slopes of those with them."""

    block: list[Node]
    nodes: list[Node]
    where: list[tuple[int, int]]  # of the slopes: constraint and coordinate
    seed: int

    def found(self, values: dict[Node, float], shake: np.random.Generator) -> np.ndarray | None:
        """Values at which the constraints are met and their slopes independent by far; none where no try ends so.

        Coming from where the sample is would stretch what lies far from it. So places are come to from one side, the
        same for all, as if they hung; then from others too.
        """
        if len(self.nodes) - len(self.where) > len(self.block):
            return None
        first = np.array([values[node] for node in self.block])
        rough, _ = self._met(values, first, ROUGH)
        far = float(np.linalg.norm(rough - first))
        side = np.random.default_rng(len(first)).uniform(-1, 1, len(first))
        for tried in range(TRIES):
            aside = tried / TRIES * shake.uniform(-1, 1, len(first))
            now, least = self._met(values, rough + far * (side + aside))
            if least > FULL:
                return now
        return None

    def _met(self, values: dict[Node, float], now: np.ndarray, steps: int = STEPS) -> tuple[np.ndarray, float]:
        """Where Newton's steps end, and the least singular value of the slopes; 0 where the constraints are not met."""
        count = len(self.nodes) - len(self.where)
        for step in range(steps):
            values |= zip(self.block, now.tolist(), strict=True)
            numbers = np.array(Ledger(values, letters=self.seed).of(self.nodes))
            rows = np.zeros((count, len(self.block)))
            for at, value in zip(self.where, numbers[count:], strict=True):
                rows[at] = value
            size = np.sqrt((rows * rows).sum(axis=1))
            if not (np.isfinite(numbers).all() and (size > 0).all()):
                break
            off, scaled = numbers[:count] / size, rows / size[:, None]
            gram = scaled @ scaled.T
            if np.abs(off).max() <= NEAR * np.abs(now).max():
                return now, math.sqrt(max(float(np.linalg.eigvalsh(gram)[0]), 0.0))
            now = now - scaled.T @ np.linalg.solve(gram + max(DAMPED[0] / 4**step, DAMPED[1]) * np.eye(count), off)
        return now, 0.0
