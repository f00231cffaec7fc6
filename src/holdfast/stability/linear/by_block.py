"""Transients and step limits of equations, block by block of constraints.

A block whose matrix depends on the motion is measured at one state ("frozen"): a picture, not a promise.
"""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.common.frozen import Frozen
from holdfast.equations.equations import Equations
from holdfast.problem.laws.linear import Law
from holdfast.problem.types import ByName, StateLike
from holdfast.schemes.kinds.scheme import Scheme
from holdfast.stability.linear.norms import Norm, continuous
from holdfast.stability.linear.spectrum import LawBlock, spectrum
from holdfast.stability.linear.step_limit import StepLimit, norm_limit, spectral_limit
from holdfast.stability.linear.transient import Transient, transient


@dataclass(frozen=True, eq=False)
class BlockLimits:
    """The linear limits of one block; `by_norm` and its norm are missing where the block does not attract."""

    block: LawBlock
    spectral: StepLimit
    by_norm: StepLimit | None
    norm: Norm | None

    @property
    def frozen(self) -> bool:
        return not self.block.constant

    def __str__(self) -> str:
        remark = " H varies: a frozen limit certifies nothing." if self.frozen else ""
        return f"{', '.join(self.block.constraints)}: {self.spectral}{remark}"


def step_limits(
    equations: Equations,
    scheme: Scheme | str,
    *,
    state: StateLike | None = None,
    time: float | None = None,
    parameters: ByName | None = None,
    law: Law | None = None,
) -> Frozen[BlockLimits]:
    """The spectral limit and the limit in Lyapunov's norm of each block. Necessary, not sufficient."""
    found = {}
    for block in spectrum(equations, state, time, parameters, law).blocks:
        spectral = spectral_limit(scheme, block.matrix, positions=block.positions)
        norm = continuous(block.matrix, positions=block.positions) if block.hurwitz else None
        by_norm = None if norm is None else norm_limit(scheme, block.matrix, norm)
        found[", ".join(block.constraints)] = BlockLimits(block, spectral, by_norm, norm)
    return Frozen(found)


def transients(
    equations: Equations,
    *,
    state: StateLike | None = None,
    time: float | None = None,
    parameters: ByName | None = None,
    law: Law | None = None,
) -> Frozen[Transient]:
    """The growth before the decay of each block, in common units."""
    blocks = spectrum(equations, state, time, parameters, law).blocks
    return Frozen({", ".join(b.constraints): transient(b.matrix, positions=b.positions) for b in blocks})
