"""What is proved of deviations under noise: a bound of their mean squares, over all paths, and never of one path.

    E ψψᵀ ⪯ S for a path that starts on the program,      rms ψᵢ ≤ √Sᵢᵢ + γᵏ ‖ψ₀‖_P widthᵢ     after k steps

It is a label and a field of its own, so that nothing that reads a sure bound ever meets it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from holdfast.common.rounded import exactly, rounded_up
from holdfast.stability.certificate.from_start import PADDING, decay, widths_of
from holdfast.stability.certificate.statement import IN_NORM

TAKEN = "The noise is taken to be independent from step to step and between channels, of mean 0 and variance 1."


@dataclass(frozen=True, slots=True)
class MeanSquareProof:
    """The numbers of a proof in the mean square, all that a verifier needs beside the problem.

    𝓛(S) = R S Rᵀ + τ Σ Bⱼ S Bⱼᵀ. With P = L Lᵀ and Q ↦ Rᵀ Q R + τ Σ Bⱼᵀ Q Bⱼ below γ² at P, S is kept:
    (1 + share)(𝓛(S) + what the noise adds on the program) + (1 + 1/share) n diag(rounding²) ⪯ S
    """

    names: tuple[str, ...]  # of the deviations that are followed together: a block's own first, then what moves it
    scheme: str  # of `hf.sample_paths`
    projected: bool  # noise acts along the program only, as where reactions answer the rest at once
    factor: tuple[tuple[float, ...], ...]  # L
    gamma: float
    second_moment: tuple[tuple[float, ...], ...]  # S
    share: float  # how rounding is told from the rest
    rounding: tuple[float, ...]  # rms of what doubles add to each deviation in a step
    start_size: float  # ‖ψ₀‖_P, not below
    bounds: tuple[float, ...]  # rms of each deviation once the start has died away: √Sᵢᵢ, not below

    def envelope(self, steps: Any) -> np.ndarray:
        """A bound of the root mean square of each deviation (rows) after so many steps (columns)."""
        left, _ = decay(self.gamma, np.atleast_1d(np.asarray(steps, float)))
        widths = np.array(widths_of(self.factor))[:, None]
        return np.asarray((np.array(self.bounds)[:, None] + left * self.start_size * widths) * PADDING)

    def of(self, values: Any, names: Sequence[str]) -> list[float]:
        """Of values by deviation, those of some."""
        return [float(values[self.names.index(name)]) for name in names]

    def bounded(self, names: Sequence[str]) -> str:
        """In words, rounded up."""
        return rms_words(names, self.of(self.bounds, names))

    def reason(self) -> str:
        """What it rests on, in a sentence."""
        return (
            f"A step multiplies the mean square by {rounded_up(self.gamma**2, 6)} at most, and the second moment that "
            "noise and rounding leave is kept by every step."
        )

    def promise(self, names: Sequence[str], step: float) -> str:
        """What is proved, in sentences."""
        kept = self.bounded(names)
        first = self.of(self.envelope(0)[:, 0], names)
        if not all(a <= 1.01 * b for a, b in zip(first, self.of(self.bounds, names), strict=True)):
            kept = (
                f"{rms_words(names, first)} from the start on, and, as that dies away by {rounded_up(self.gamma, 6)} a "
                f"step, {kept} once settled"
            )
        along = ", noise along the program only" if self.projected else ""
        others = ", ".join(name for name in self.names if name not in names)
        start = f"no more deviation than this one {IN_NORM}" + (f", that of {others} included" if others else "")
        return (
            f"Proved in the mean square, over all paths of {self.scheme} (hf.sample_paths{along}) with step "
            f"{exactly(step)} that start with {start}: {kept}, rounding included. {TAKEN} A single path may go beyond "
            "at any time."
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def mean_square_from(data: Mapping[str, Any]) -> MeanSquareProof:
    """A proof from its data."""
    return MeanSquareProof(**{name: _tuples(value) for name, value in data.items()})


def rms_words(names: Sequence[str], bounds: Any) -> str:
    return ", ".join(f"rms {name} <= {rounded_up(float(bound))}" for name, bound in zip(names, bounds, strict=True))


def _tuples(value: Any) -> Any:
    return tuple(_tuples(part) for part in value) if isinstance(value, list | tuple) else value
