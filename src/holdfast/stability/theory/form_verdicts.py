"""Whether V is positive definite and falls over a region: proved in balls, or else sampled, never mixed.

A constant that the samples show is asked for again in balls, a little less of it at each try: V ≥ l₁‖z‖², V̇ ≤ −pV. What
balls do not show is *sampled*; a sample of the other sign, evaluated in balls, *refutes*.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from holdfast.common.frozen import Frozen
from holdfast.graph.arithmetics.balls import ball, precision
from holdfast.stability.linear.shape import Array
from holdfast.stability.proof.contraction import is_positive_definite
from holdfast.stability.proof.enclosure import Ball, matrix
from holdfast.stability.theory.form_bounds import BITS, FormSamples, RegionForms, rounded, symmetric

SHARES = (1 - 2.0**-30, 0.9, 0.5, 0.1)  # of the sampled constant, tried one after the other; the first by one look only
SignLabel = Literal["proved", "sampled", "refuted", "undecided"]


@dataclass(frozen=True, slots=True)
class SignVerdict:
    """A sign over a region, with its label.

    *proved*: shown in balls for every state of the region. *sampled*: seen at states of it, not proved. *refuted*: a
    state of it, evaluated in balls, has the other sign. *undecided*: neither; the reason says why.
    """

    claim: str
    label: SignLabel
    reason: str
    numbers: Frozen[float] = field(default_factory=Frozen)

    @property
    def holds(self) -> bool | None:
        """True where proved or sampled, False where refuted, None where undecided."""
        return {"proved": True, "sampled": True, "refuted": False}.get(self.label)

    def __bool__(self) -> bool:
        return self.holds is True

    def __str__(self) -> str:
        return f"{self.claim}: {self.label}; {self.reason}."

    def to_dict(self) -> dict[str, Any]:
        return {"claim": self.claim, "label": self.label, "reason": self.reason, "numbers": dict(self.numbers)}


def between(low: Ball, high: Ball) -> Callable[[Any, Any, Any], bool]:
    """low·I < G < high·I."""

    def shown(G: Any, drift: Any, law: Any) -> bool:
        size = range(G.nrows())
        above = matrix([[G[i, j] - (low if i == j else ball(0)) for j in size] for i in size])
        below = matrix([[(high if i == j else ball(0)) - G[i, j] for j in size] for i in size])
        return is_positive_definite(above) and is_positive_definite(below)

    return shown


def falling(rate: Ball) -> Callable[[Any, Any, Any], bool]:
    """−(Γ + GA + AᵀG) − pG > 0."""

    def shown(G: Any, drift: Any, law: Any) -> bool:
        slope = G * law
        slope = slope + slope.transpose() + drift + G * rate
        return is_positive_definite(slope * ball(-1))

    return shown


POSITIVE, FALLS = "V is positive definite", "V falls"


def size_verdict(forms: RegionForms, obstacle: str, effort: float) -> SignVerdict:
    """l₁‖z‖² ≤ V ≤ l₂‖z‖² over the region."""
    seen = forms.sampled
    if not len(seen):
        return SignVerdict(POSITIVE, "undecided", "V is not defined at any sampled state of the region")
    low, high = seen.sizes
    if not low > 0:
        return _not_positive(forms, seen)
    for share, part in _shares(forms):
        l1, l2 = low * share, high / share
        claim = between(2 * ball(l1), 2 * ball(l2))
        cells = 0 if obstacle else forms.covered(claim, effort * part)
        if cells:
            words = f"{_sizes(l1, l2)} {forms.where()}, in {_counted(cells)} of balls"
            return SignVerdict(POSITIVE, "proved", words, Frozen({"l1": l1, "l2": l2}))
    words = f"{_sizes(low, high)} at {_states(len(seen))} {forms.where()}; {_no_proof(obstacle)}"
    return SignVerdict(POSITIVE, "sampled", words, Frozen({"l1": low, "l2": high}))


def rate_verdict(forms: RegionForms, positive: SignVerdict, obstacle: str, effort: float) -> SignVerdict:
    """V̇ ≤ −pV over the region, p > 0."""
    seen = forms.sampled
    if not positive:
        return SignVerdict(FALLS, "undecided", "V itself is not positive definite here")
    rate = float(seen.rates.min())
    if not rate > 0:
        return _not_falling(forms, seen, rate)
    for share, part in _shares(forms):
        claim = falling(ball(rate * share))
        cells = 0 if obstacle or positive.label != "proved" else forms.covered(claim, effort * part)
        if cells:
            words = f"V̇ ≤ −{rounded(rate * share, upward=False)} V {forms.where()}, in {_counted(cells)} of balls"
            return SignVerdict(FALLS, "proved", words, Frozen({"rate": rate * share}))
    bound = rounded(rate, upward=False)
    words = f"V̇ ≤ −{bound} V at {_states(len(seen))} {forms.where()}; {_no_proof(obstacle)}"
    return SignVerdict(FALLS, "sampled", words, Frozen({"rate": rate}))


def _shares(forms: RegionForms) -> list[tuple[float, float]]:
    """Shares of a sampled constant, each with its part of the time."""
    if forms.variables or forms.nodes.in_deviations:
        return [(share, 1 / (len(SHARES) - 1)) for share in SHARES[1:]]
    return [(SHARES[0], 1.0)]


def _no_proof(obstacle: str) -> str:
    return f"no proof: {obstacle}" if obstacle else "balls did not decide it: more effort or a smaller region may"


def _counted(cells: int) -> str:
    return f"{cells} cell" + "s" * (cells != 1)


def _states(count: int) -> str:
    return f"{count} state" + "s" * (count != 1)


def _sizes(l1: float, l2: float) -> str:
    return f"{rounded(l1, upward=False)} ‖z‖² ≤ V ≤ {rounded(l2, upward=True)} ‖z‖²"


def _not_positive(forms: RegionForms, seen: FormSamples) -> SignVerdict:
    values, vectors = np.linalg.eigh(symmetric(seen.forms[:, 0]))
    worst = int(values[:, 0].argmin())
    words = _witness(forms, seen.points[worst], vectors[worst, :, 0])
    with precision(4 * BITS):
        below = forms.at(seen.points[worst], vectors[worst, :, 0])[0] < 0
    if below:
        return SignVerdict(POSITIVE, "refuted", f"V < 0 {words}")
    return SignVerdict(POSITIVE, "undecided", f"V is not larger than 0 {words}")


def _not_falling(forms: RegionForms, seen: FormSamples, rate: float) -> SignVerdict:
    worst, numbers = int(seen.rates.argmin()), Frozen({"rate": rate})
    _, vectors = np.linalg.eigh(seen.slopes[worst])
    direction = vectors[:, -1]
    words = _witness(forms, seen.points[worst], direction)
    with precision(4 * BITS):
        above = forms.at(seen.points[worst], direction)[1] > 0
    if above and not forms.nodes.along_rates:
        return SignVerdict(FALLS, "refuted", f"V grows {words}, as z → 0", numbers)
    return SignVerdict(FALLS, "undecided", f"V̇ is not negative {words}", numbers)


def _witness(forms: RegionForms, point: Array, direction: Array) -> str:
    """A state and a direction of z, in words."""
    at = [f"{forms.nodes.names[k]} = {point[k]:.6g}" for k in forms.variables]
    z = ", ".join(f"{value:.4g}" for value in direction + 0.0)
    return ("at " + ", ".join(at) + ", " if at else "") + f"for z along ({z})"
