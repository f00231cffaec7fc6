"""What a run says of one block of deviations: the defect at every step, and whether it stayed in a region."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from holdfast.common.rounded import rounded_up
from holdfast.results.judgement.outcome import Outcome
from holdfast.results.trajectory import Trajectory
from holdfast.stability.certificate.certificate import BlockCertificate, Label
from holdfast.stability.certificate.mean_square import MeanSquareProof
from holdfast.stability.promise.norm_search import ChosenNorm, sizes_in
from holdfast.stability.proof.block import ProofBlock
from holdfast.stability.proof.rounding import row_error


@dataclass(frozen=True, eq=False)
class BlockAlongRun:
    """One block along one run."""

    block: ProofBlock
    run: Trajectory
    reading: np.ndarray  # what rounding may do to each deviation where it is read off a row
    counted_from: float  # rows lie at counted_from + k step, as doubles have it

    @property
    def errors(self) -> np.ndarray:
        return self.reading[: len(self.psi)]

    @cached_property
    def psi(self) -> np.ndarray:
        """The deviations at every whole step; the shortened step to an event is left out."""
        rows = np.array([self.run[name] for name in self.block.names]).T
        return rows[:-1] if self.run.outcome is Outcome.event and len(rows) > 2 else rows

    def watched(self, step: float | None) -> bool:
        """Whether the run kept every step, and nothing but the scheme moved it: rows are a step apart, to the rounding
        that proofs count.

        Without a step: whether its rows are the ends of the steps that it chose.
        """
        times = self.run.times[: len(self.psi)]
        if step is None:
            return self.run.every == 1 and not self.run.picked and self.run.steps == len(times) - 1 > 0
        if len(times) < 2 or self.run.every != 1:
            return False
        return bool((np.abs(np.diff(times) - step) <= row_error(self.counted_from, (times.min(), times.max()))).all())

    @property
    def observed(self) -> tuple[float, ...]:
        return tuple(float(x) for x in np.abs(self.psi).max(axis=0))

    def defects(self, matrices: np.ndarray) -> np.ndarray:
        """U_k = ψ_{k+1} − R ψ_k at every step."""
        psi = self.psi[:-1]
        predicted = psi @ matrices[0].T if len(matrices) == 1 else np.einsum("kij,kj->ki", matrices, psi)
        return np.asarray(self.psi[1:] - predicted)

    def plain(self, label: Label, reason: str) -> BlockCertificate:
        matrix = tuple(tuple(float(x) for x in row) for row in self.block.matrix)
        return BlockCertificate(
            self.block.constraints, label, reason, names=self.block.names, matrix=matrix, observed=self.observed
        )

    def refused(self, reason: str) -> BlockCertificate:
        return self.plain(Label.refused, reason)

    def neutral(self) -> BlockCertificate:
        worst = max(self.observed)
        return self.plain(
            Label.neutral, f"The law does not attract it; along this run it deviated by at most {rounded_up(worst)}."
        )

    def averaged(self, found: MeanSquareProof) -> BlockCertificate:
        """Under noise; the run, which was made without it, shows nothing of that."""
        return replace(self.plain(Label.mean_square, found.reason()), observed=(), mean_square=found)

    def checked(self, norm: ChosenNorm, defects: np.ndarray) -> BlockCertificate:
        """Both halves of the theorem along the run: contraction in one norm, and defects within what it forgives."""
        sizes = sizes_in(norm.factor, defects)
        worst, start = float(sizes.max()), float(np.linalg.norm(self.psi[0] @ norm.factor))
        epsilon = max(start, worst / (1 - norm.gamma))
        slack = 1 - worst / ((1 - norm.gamma) * epsilon) if epsilon > 0 else 1.0
        taken = " with H frozen at each step," if self.block.moves else " with H as it is on the program,"
        run = f"Along this run,{'' if self.block.constant else taken}"
        reason = (
            f"{run} one step contracts by {rounded_up(norm.gamma, 6)} and the defect stays below "
            f"{rounded_up(worst)}, so the deviation stays below {rounded_up(epsilon)} in the norm of the certificate."
        )
        return replace(
            self.plain(Label.checked, reason),
            gamma=norm.gamma,
            defect=worst,
            epsilon=epsilon,
            bounds=tuple(epsilon * width for width in norm.widths()),
            slack=slack,
        )


@dataclass(frozen=True, eq=False)
class MeasuredDefect:
    """What a run says of one block; with the norm and the defects where a proof may be tried."""

    told: BlockAlongRun
    certificate: BlockCertificate
    norm: ChosenNorm | None = None
    defects: np.ndarray | None = None
    thinned: bool = False
    open: bool = False  # no norm contracts at each step, so that at most what steps do together can be shown
