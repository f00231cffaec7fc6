"""The defect of one step at random states of a region: an estimate from below, never a bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from holdfast.common.rounded import rounded_up
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.certificate.certificate import BlockCertificate, Label
from holdfast.stability.promise.checked import BlockAlongRun
from holdfast.stability.promise.norm_search import search_norm
from holdfast.stability.proof.block import ProofBlock
from holdfast.stability.sampling import Batch, Deviator, box_samples

COUNT = 4000


@dataclass(frozen=True, eq=False)
class Sampled:
    """Defects ψ(Φ(x)) − Rψ(x) at the samples that lie in the region."""

    defects: np.ndarray

    @classmethod
    def of(
        cls,
        equations: Equations,
        block: ProofBlock,
        scheme: RungeKutta,
        step: float,
        *,
        region: Mapping[str, tuple[float, float]],
        limits: Mapping[str, tuple[float, float]],
        sizes: Sequence[float],
        parameters: Mapping[Any, Any],
        seed: int = 0,
    ) -> Sampled:
        """Draw states of the region, move them to deviations of at most `sizes`, and take one step from each."""
        times, states = box_samples(equations, region, COUNT, seed, parameters)
        mover = Deviator(equations, parameters)
        wanted = np.zeros((COUNT, len(equations.deviations.y) + len(equations.deviations.w)))
        random = np.random.default_rng(seed + 1)
        wanted[:, block.places] = random.uniform(-1, 1, (COUNT, len(block.places))) * np.asarray(sizes)
        states, good = mover.moved(times, states, wanted)
        for k, name in enumerate(equations.state_names):
            low, high = region[name]
            good &= (states[:, k] >= low) & (states[:, k] <= high)
        for name in [name for name in limits if name in equations.observables]:
            value = Batch.of(equations, [equations.observables[name]], parameters)(times, states)[:, 0]
            good &= (value >= limits[name][0]) & (value <= limits[name][1])
        if not good.any():
            raise BadRequest("no sample lies in the region", where="certify(region=...)", fix="widen it")
        times, states = times[good], states[good]
        after = _stepped(Batch.of(equations, equations.field.rates, parameters), scheme, step, times, states)
        before = mover.deviations(times, states)[:, block.places]
        defects = (
            mover.deviations(times + step, after)[:, block.places] - before @ scheme.propagator(block.matrix, step).T
        )
        return cls(defects[np.isfinite(defects).all(axis=1)])

    def certificate(self, told: BlockAlongRun, matrix: np.ndarray, known: BlockCertificate | None) -> BlockCertificate:
        """The block with the estimate in place of what a run alone could say."""
        norm = search_norm(matrix[None], self.defects) if len(self.defects) else None
        if norm is None:
            return told.refused("no norm was found in which a step contracts")
        worst = float(np.linalg.norm(self.defects @ norm.factor, axis=1).max())
        epsilon = worst / (1 - norm.gamma)
        reason = (
            f"At {len(self.defects)} random states of the region one step adds at most {rounded_up(worst)} and "
            f"contracts by {rounded_up(norm.gamma, 6)}; between them nothing is shown."
        )
        if known is not None:
            reason += f" {known.reason}"
        return replace(
            told.plain(Label.estimated, reason),
            gamma=norm.gamma,
            defect=worst,
            epsilon=epsilon,
            bounds=tuple(epsilon * width for width in norm.widths()),
        )


def _stepped(rates: Batch, scheme: RungeKutta, step: float, times: np.ndarray, states: np.ndarray) -> np.ndarray:
    """One step of an explicit scheme from many states."""
    stages: list[np.ndarray] = []
    for node, row in zip(scheme.nodes, scheme.stages, strict=True):
        place = states + step * sum((float(a) * k for a, k in zip(row, stages, strict=False)), np.zeros_like(states))
        stages.append(rates(times + float(node) * step, place))
    return states + step * sum(
        (float(b) * k for b, k in zip(scheme.weights, stages, strict=True)), np.zeros_like(states)
    )
