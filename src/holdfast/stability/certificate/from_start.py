"""What a proof says from the start on: an envelope for every deviation at every step.

    |ψᵢ| ≤ min( settledᵢ + γᵏ s widthᵢ,   widthᵢ (γᵏ s + δ (1 − γᵏ)/(1 − γ)) )

k steps after the first that is covered, where s = ‖ψ‖_P at that step: the start, or the first in the tube of the proof
where the start lies outside of it (what comes before is checked along the run). The settled bound is its limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from holdfast.graph.arithmetics.balls import precision
from holdfast.stability.certificate.tube_proof import OrderedProof

Array = np.ndarray
WIDTH_BITS = 256  # norms are as ill-conditioned as doubles let them be
PADDING = 1 + 1e-12  # a few dozen roundings of positive terms, of which none cancels


def widths_of(factor: Sequence[Sequence[float]]) -> list[float]:
    """‖eᵢᵀL⁻ᵀ‖, not below: the largest value of each deviation in the unit ball of the norm."""
    import flint

    with precision(WIDTH_BITS):
        inverse = flint.arb_mat([[float(x) for x in row] for row in factor]).transpose().inv()
        sizes = [[x.abs_upper() for x in row] for row in inverse.tolist()]  # a power of a ball around 0 is no number
        found = [float(sum((x * x for x in row), flint.arb(0)).sqrt().upper()) for row in sizes]
    return [float(np.nextafter(x, np.inf)) if np.isfinite(x) else np.inf for x in found]


def decay(gamma: float, after: Any) -> tuple[Array, Array]:
    """γᵏ and 1 − γᵏ, each to a few roundings."""
    powers = np.asarray(after, float) * (np.log1p(gamma - 1) if gamma >= 0.5 else np.log(gamma))  # γ − 1 is exact there
    return np.exp(powers), -np.expm1(powers)


def envelope(block: Any, steps: Any) -> Array:
    """The bound of each deviation (rows) at each step (columns); infinite where no step is covered."""
    if block.mean_square is not None:
        return np.full((len(block.names), np.size(steps)), np.inf)  # no bound is sure: its own `envelope` is of rms
    counts = np.rint(np.atleast_1d(np.asarray(steps, float)))
    if block.proof is None or block.start_size is None or block.defect is None:
        flat = np.array(block.bounds or [np.inf] * len(block.names), float)
        found = np.broadcast_to(flat[:, None], (len(flat), len(counts))).copy()
        if isinstance(block.proof, OrderedProof):
            found[:, counts > block.proof.steps] = np.inf  # nothing is said of what follows
        return found
    gamma, start = block.proof.gamma, block.start_size
    left, grown = decay(gamma, np.maximum(counts - block.from_step, 0.0))
    widths = np.array(widths_of(block.proof.factor))[:, None]
    settled = np.array(block.bounds)[:, None] + (left * start * widths if block.settles else 0.0)
    summed = widths * (left * start + block.defect * grown / (1 - gamma))
    found = np.minimum(settled, summed) * PADDING
    found[:, counts < block.from_step] = np.inf
    return found
