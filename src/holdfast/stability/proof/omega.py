"""Omega, the region a proof speaks of: ranges of time, state and energy, and what it takes for granted of other blocks.

Where none is given it is the run's own, widened by a tenth of each range. Every margin is relative to the run's own
sizes, so that a mechanism in metres and the same one in nanometres have the same Omega.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.graph.arithmetics.balls import ball_between, precision
from holdfast.results.trajectory import Trajectory
from holdfast.stability.certificate.certificate import BlockCertificate, Label, Proof
from holdfast.stability.proof.block import ProofBlock
from holdfast.stability.proof.claim import BITS, Claim
from holdfast.stability.proof.enclosure import magnitude

Bounds = dict[str, tuple[float, float]]

MARGIN = 0.1  # of each range of the run
LEAST_MARGIN = 1e-9  # of the size of a state's kind: room for rounding where the run does not move
TIMES_SEEN = 4  # what is granted of the deviations of other blocks at first, beside what the run showed
TIMES_CHECKED = 2  # and beside what was checked along the run, where a deviating start counts in full
ROUNDINGS = 256  # reading errors that are granted to a deviation which the run showed to be smaller still
WIDER = 1.1  # beyond what is proved of another block, so that the next proof of it still fits


def state_sizes(run: Trajectory, positions: int) -> dict[str, float]:
    """The size of each state's kind along a run: coordinates and rates are tied by the duration, states stand alone."""
    largest = np.abs(run.y).max(axis=1)
    span = max(float(run.times[-1] - run.times[0]), 0.0)
    places, rates = (float(part.max(initial=0.0)) for part in (largest[:positions], largest[positions : 2 * positions]))
    kinds = (max(places, rates * span), max(rates, places / span if span else 0.0))
    sizes = [*[kinds[0]] * positions, *[kinds[1]] * positions, *largest[2 * positions :]]
    return {name: float(size) or 1.0 for name, size in zip(run.state_names, sizes, strict=True)}


def region_of(asked: Mapping[str, tuple[float, float]], run: Trajectory, positions: int) -> Bounds:
    """The ranges asked for, completed from the run with a margin."""
    region = {"t": asked.get("t", (float(run.times[0]), float(run.times[-1])))}
    sizes = state_sizes(run, positions)
    for name in run.state_names:
        low, high = float(run[name].min()), float(run[name].max())
        margin = MARGIN * (high - low) + LEAST_MARGIN * sizes[name]
        region[name] = asked.get(name, (low - margin, high + margin))
    return region


@dataclass(frozen=True, eq=False)
class Assumptions:
    """What proofs may take for granted of the deviations of other blocks: sizes by name."""

    sizes: Mapping[str, float]
    asked: Mapping[str, tuple[float, float]]  # the user's own ranges, which are kept as they are

    @classmethod
    def along(
        cls,
        run: Trajectory,
        errors: Mapping[str, float],
        checked: Sequence[BlockCertificate],
        asked: Mapping[str, tuple[float, float]],
    ) -> Assumptions:
        """A first guess: from a run, the errors of reading it, and what was checked along it."""
        bounds = {name: bound for block in checked for name, bound in zip(block.names, block.bounds, strict=True)}
        sizes = {}
        for name, error in errors.items():
            shown = TIMES_SEEN * float(np.abs(run[name]).max()) + ROUNDINGS * error
            sizes[name] = max(shown, TIMES_CHECKED * bounds.get(name, 0.0))
        return cls(sizes, asked)

    def limits(self, equations: Equations, block: ProofBlock) -> Bounds:
        """The limits of the other blocks' deviations, and what else was asked for."""
        names = equations.deviation_names
        others = [name for i, name in enumerate(names) if i not in block.places]
        limits = {name: self.asked.get(name, (-self.sizes[name], self.sizes[name])) for name in others}
        known = {"t", *equations.state_names, *names}
        return limits | {name: bounds for name, bounds in self.asked.items() if name not in known}

    def lacking(self, shown: Mapping[str, float]) -> dict[str, float]:
        """The deviations of which more is proved than was granted, by what they need; a user's own range stays."""
        return {name: size for name, size in shown.items() if name not in self.asked and size > self.sizes[name]}

    def widened(self, sizes: Mapping[str, float]) -> Assumptions:
        return replace(self, sizes={**self.sizes, **{name: WIDER * size for name, size in sizes.items()}})


def ranges_over(setting: Claim) -> list[float]:
    """What Omega alone implies of each deviation of the block: its largest size over the box, at most."""
    with precision(BITS):
        box = [ball_between(*setting.region[name]) for name in ("t", *setting.equations.state_names)]
        return [magnitude(value) for value in setting.deviations(box)]


def unproved_limits(block: BlockCertificate, shown: Mapping[str, float]) -> dict[str, float]:
    """What a proved block takes for granted of other deviations, beyond what is proved of them."""
    if block.label is not Label.proved or not isinstance(block.proof, Proof):
        return {}
    granted = {name: min(-low, high) for name, low, high in block.proof.limits if name.startswith(("y_", "w_"))}
    return {name: size for name, size in granted.items() if not shown.get(name, np.inf) <= size}


def peaks_of(blocks: Sequence[BlockCertificate], run: Trajectory) -> dict[str, float]:
    """What is proved of each deviation from the run's start on, the share of a deviating start included."""
    peaks: dict[str, float] = {}
    for block in blocks:
        proof = block.proof
        if block.label is not Label.proved or not isinstance(proof, Proof):
            continue
        factor = np.array(proof.factor)
        start = float(np.linalg.norm(np.array([run[name][0] for name in block.names]) @ factor))
        if start > proof.tube:
            continue  # of its way into the tube nothing is proved
        widths = np.linalg.norm(np.linalg.inv(factor.T), axis=1)
        shares = start * widths if block.settles else 0 * widths
        peaks |= {n: b + float(s) for n, b, s in zip(block.names, block.bounds, shares, strict=True)}
    return peaks
