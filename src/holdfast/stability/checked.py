"""What a run says of one block of deviations: the defect at every step, and whether it stayed in a region."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from holdfast.results.outcome import Outcome
from holdfast.results.trajectory import Trajectory
from holdfast.stability.block import Block
from holdfast.stability.certificate import BlockCertificate, Label, Proof
from holdfast.stability.choice import ChosenNorm


@dataclass(frozen=True, eq=False)
class Told:
    """One block along one run."""

    block: Block
    run: Trajectory

    @cached_property
    def psi(self) -> np.ndarray:
        """The deviations at every whole step; the shortened step to an event is left out."""
        rows = np.array([self.run[name] for name in self.block.names]).T
        return rows[:-1] if self.run.outcome is Outcome.event and len(rows) > 2 else rows

    def watched(self, step: float) -> bool:
        """Whether the run kept every step, and nothing but the scheme moved it."""
        times = self.run.times[: len(self.psi)]
        return len(times) > 1 and self.run.every == 1 and bool(np.allclose(np.diff(times), step, rtol=1e-6, atol=0))

    @property
    def reading_errors(self) -> tuple[float, ...]:
        """What rounding may do to a deviation when it is read off a state: a few units of the sizes it is made of."""
        size = 1 + max(float(np.abs(self.run[name]).max()) for name in self.run.state_names)
        return (1e-12 * size**2,) * len(self.block.names)

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
            Label.neutral, f"The law does not attract it; along this run it deviated by at most {worst:.3g}."
        )

    def checked(self, norm: ChosenNorm, defects: np.ndarray) -> BlockCertificate:
        """Both halves of the theorem along the run: contraction in one norm, and defects within what it forgives."""
        sizes = np.linalg.norm(defects @ norm.factor, axis=1)
        worst, start = float(sizes.max()), float(np.linalg.norm(self.psi[0] @ norm.factor))
        epsilon = max(start, worst / (1 - norm.gamma))
        slack = 1 - worst / ((1 - norm.gamma) * epsilon) if epsilon > 0 else 1.0
        frozen = "" if self.block.constant else " with H frozen at each step,"
        reason = (
            f"Along this run,{frozen} one step contracts by {norm.gamma:.6g} and the defect stays below {worst:.3g}, "
            f"so the deviation stays below {epsilon:.3g} in the norm of the certificate."
        )
        return replace(
            self.plain(Label.checked, reason),
            gamma=norm.gamma,
            defect=worst,
            epsilon=epsilon,
            bounds=tuple(epsilon * width for width in norm.widths()),
            slack=slack,
        )


def stays(names: tuple[str, ...], proof: Proof, run: Trajectory) -> bool:
    """Whether each row of a run lies in the region of a proof, from its entry into the tube on."""
    sizes = np.linalg.norm(np.array([run[name] for name in names]).T @ np.array(proof.factor), axis=1)
    inside = sizes <= proof.tube
    if not inside.any():
        return False
    first = int(np.argmax(inside))
    kept = bool(inside[first:].all())
    for name, low, high in (*proof.region, *proof.limits):
        values = run.times if name == "t" else run[name]
        kept = kept and bool(((values[first:] >= low) & (values[first:] <= high)).all())
    return kept
