"""Every row of a run against what was proved of it.

    ‖ψ_{k+1} − R ψ_k‖_P ≤ δ                          at each step that begins in Omega
    |ψᵢ| ≤ settledᵢ + γᵏ ‖ψ₀‖_P widthᵢ               at each row up to the first outside Omega

A deviation is read off a state in doubles, and is wrong by what rounding does to the terms it is made of: that much is
forgiven, and no more. A row that breaks a promise contradicts a proof: an error of the product, with both numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.common.memo import remembered
from holdfast.common.rounded import compared
from holdfast.equations.equations import Equations
from holdfast.errors import InternalError
from holdfast.graph.nodes import operation_count
from holdfast.results.start.term_sizes import deviation_sizes
from holdfast.results.trajectory import Trajectory
from holdfast.stability.certificate.certificate import Proof
from holdfast.stability.certificate.tube_proof import TubeProof
from holdfast.stability.promise.norm_search import sizes_in

UNIT = 2.0**-51  # of one operation, beside its result; a quotient may be made of two
CHUNK = 2000  # rows at a time: what is computed of them stays near the processor
Array = np.ndarray


@remembered
def _roundings(equations: Equations) -> Array:
    """How many operations each deviation takes, and one for its result."""
    nodes = (*equations.deviations.y, *equations.deviations.w)
    return np.array([operation_count((node,)) + 1 for node in nodes])


def reading_errors(equations: Equations, run: Trajectory, constants: Sequence[float]) -> dict[str, Array]:
    """A bound of what rounding does to each deviation at each row: the size of its terms, once for each operation."""
    counts, sizes = _roundings(equations), deviation_sizes(equations)
    errors = np.empty((len(counts), len(run.times)))
    for first in range(0, len(run.times), CHUNK):
        rows = slice(first, first + CHUNK)
        errors[:, rows] = sizes.along(run.times[rows], run.y[:, rows], constants).T
    return dict(zip(equations.deviation_names, UNIT * counts[:, None] * errors, strict=True))


@dataclass(frozen=True, eq=False)
class Promise:
    """What a proof says of the rows of one run."""

    names: tuple[str, ...]
    proof: Proof | TubeProof
    defect: float
    settled: Sequence[float]
    widths: Sequence[float]
    step_matrix: Array | None  # R in doubles; None for a law that varies, where γ is all that is known

    def require(self, run: Trajectory, psi: Array, errors: Array, covered: CoveredRows | None = None) -> None:
        """`InternalError` where a row of the run, or a step of it, breaks the promise.

        The rows of a tube along the run are shown to lie in it, one by one; of a region, `covered` says which do.
        """
        inside = np.ones(len(psi), bool)
        if not isinstance(self.proof, TubeProof):
            inside = (covered or CoveredRows.of(self.names, self.proof, run)).inside[: len(psi)]
        if not inside.any():
            return
        first = int(np.argmax(inside))
        leaves = np.flatnonzero(~inside[first:])
        last = first + int(leaves[0]) if len(leaves) else len(psi) - 1  # a step from the last row inside ends here
        rows = slice(first, last + 1)
        self._require_defects(run.times[rows], psi[rows], errors[rows])
        self._require_sizes(run.times[rows], psi[rows], errors[rows])

    def _require_defects(self, times: Array, psi: Array, errors: Array) -> None:
        if len(psi) < 2:
            return
        factor, matrix = np.array(self.proof.factor), self.step_matrix
        if matrix is None:
            sizes, doubts = sizes_in(factor, psi), sizes_in(np.abs(factor), errors)
            self._require(
                times[1:], sizes[1:], self.proof.gamma * sizes[:-1] + self.defect + 2 * doubts.max(), "a step"
            )
            return
        measured = sizes_in(factor, psi[1:] - psi[:-1] @ matrix.T)
        carried = (errors[:-1] + len(matrix) * UNIT * np.abs(psi[:-1])) @ np.abs(matrix).T
        slack = sizes_in(np.abs(factor), errors[1:] + carried)
        self._require(times[1:], measured, self.defect + slack, "the defect of a step")

    def _require_sizes(self, times: Array, psi: Array, errors: Array) -> None:
        factor = np.array(self.proof.factor)
        start = np.linalg.norm(psi[0] @ factor) + np.linalg.norm(errors[0] @ np.abs(factor))
        left = start * self.proof.gamma ** np.arange(len(psi))
        for i, name in enumerate(self.names):
            promised = self.settled[i] + left * self.widths[i]
            self._require(times, np.abs(psi[:, i]), promised + errors[:, i], f"|{name}|")

    def _require(self, times: Array, seen: Array, promised: Array, what: str) -> None:
        broken = np.flatnonzero(~(seen <= promised))
        if len(broken):
            k = int(broken[0])
            reached, most = compared(float(seen[k]), float(promised[k]))
            raise InternalError(
                f"a run contradicts its proof: {what} is {reached} at t = {times[k]:.6g}, where at most {most} "
                "is proved",
                where=f"the certificate of {', '.join(self.names)}",
            )


@dataclass(frozen=True, eq=False)
class CoveredRows:
    """Which rows of a run lie in the tube of a proof, and which of them in its region too."""

    within: Array
    inside: Array

    @classmethod
    def of(cls, names: Sequence[str], proof: Proof, run: Trajectory) -> CoveredRows:
        within = sizes_in(np.array(proof.factor), np.array([run[name] for name in names]).T) <= proof.tube
        inside = within.copy()
        for name, low, high in (*proof.region, *proof.limits):
            values = run.times if name == "t" else run[name]
            inside &= (values >= low) & (values <= high)
        return cls(within, inside)

    @property
    def first(self) -> int | None:
        """The first row in the tube; None where none is."""
        return int(np.argmax(self.within)) if self.within.any() else None

    @property
    def stay(self) -> bool:
        """Whether each row lies in the region, from the entry into the tube on."""
        return self.first is not None and bool(self.inside[self.first :].all())
