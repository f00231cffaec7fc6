"""What more can be said of a certificate in a tube: starts whose runs stay in it, and bounds in phase."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from holdfast.common.frozen import Frozen
from holdfast.common.rounded import rounded_down
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.graph.arithmetics.balls import precision
from holdfast.results.judgement.outcome import Outcome
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.by_name import scheme_named
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.schemes.kinds.scheme import Scheme
from holdfast.stability.certificate.certificate import Certificate, made_here
from holdfast.stability.certificate.run_code import run_code
from holdfast.stability.certificate.statement import IN_NORM
from holdfast.stability.certificate.tube_proof import OrderedProof, Tube, TubeProof, tubes_of
from holdfast.stability.proof.block import blocks_of
from holdfast.stability.proof.claim import BITS, Claim, truncation
from holdfast.stability.tube.cells import Cells, room_around
from holdfast.stability.tube.flow import TubeFlow, tube_flow
from holdfast.stability.tube.in_phase import PhaseBounds, cells_at_rows, defect_ranges, phase_bounds
from holdfast.stability.tube.starts import Neighbours


@dataclass(frozen=True, eq=False)
class SafeStarts:
    """Every run of the certificate's scheme and step that starts within `distances` of its start, state by state, is
    proved to stay in its tube to the last whole step of its run, rounding included. So what is proved in the tube holds
    for it without that condition: the bounds, if it starts with no more deviation than this one (‖ψ₀‖_P ≤ `start_size`
    of the block); otherwise the same bounds once its own deviation has died away by γ a step. What is proved by steps
    in the order of time (`contracts` is False) is for starts with no more of any deviation than this one only.

    `part` is the distance as a part of the tube's half-widths; 0 where nothing is proved.
    """

    part: float
    distances: Mapping[str, float]
    contracts: bool = True

    def __bool__(self) -> bool:
        return self.part > 0

    def __str__(self) -> str:
        if not self:
            return "No start beside this one is proved to stay in the tube."
        told = ", ".join(f"{name} +- {rounded_down(value, 2)}" for name, value in self.distances.items())
        return (
            f"Proved: every run that starts within {told} of this one's start stays in the tube to the end, so that "
            f"the bounds hold for it{self._when}."
        )

    @property
    def _when(self) -> str:
        if not self.contracts:
            return " if it starts with no more of any deviation than this one"
        return f": from its start on if that deviates no more than this one's {IN_NORM}, else once that has died away"


def safe_starts(equations: Equations, certificate: Certificate) -> SafeStarts:
    """How far a start may be from that of a certificate in a tube, so that its whole run is proved to stay in the tube.

    The certificate must be the one that `certify` has just made from these equations. Takes a few seconds.
    `certificate.with_starts(starts.distances)` states them in its file, and `hf.verify` re-checks them.

    starts = hf.safe_starts(equations, certificate);  starts.part;  starts.distances["x"];  print(starts)
    """
    run, scheme, step = _along(equations, certificate, "safe_starts")
    tubes = tubes_of(certificate.blocks)
    flow = tube_flow(equations, _numbers(equations, certificate), whole=True)
    room = np.min([_room(tube, run) for tube in tubes], axis=0)
    if not (room > 0).all():
        return SafeStarts(0.0, Frozen())
    neighbours = Neighbours(flow, scheme, step, run, room)
    part, widths = neighbours.largest_start(), neighbours.widths
    told = {name: float(part * width) for name, width in zip(run.state_names, widths, strict=True)}
    contracts = not any(isinstance(block.proof, OrderedProof) for block in certificate.blocks)
    return SafeStarts(part, Frozen(told) if part else Frozen(), contracts)


def in_phase(equations: Equations, certificate: Certificate) -> dict[str, PhaseBounds]:
    """Bounds of each block that is proved in a tube, row by row, with the defects of its steps taken in their order.

    Tighter than those of the certificate, which hold at any time (bead on the hoop: 1.1 times the largest deviation
    seen in place of 2.3); for runs at the times and speeds of this one, also where the tube holds others; whole steps
    alone (the one by which an event ends a run is left out). The certificate must be the one that `certify` has just
    made from these equations. By the constraints of the block, joined by "+"; the verifier does not re-check them.

        found = hf.in_phase(equations, certificate);  found["wire"].bounds;  found["wire"].middle;  found["wire"].radius
    """
    run, scheme, step = _along(equations, certificate, "in_phase")
    if not any(isinstance(block.proof, TubeProof) for block in certificate.blocks):
        raise BadRequest("its steps are followed in the order of time already", where="in_phase(certificate)")
    numbers = _numbers(equations, certificate)
    flow, blocks = tube_flow(equations, numbers), {b.constraints: b for b in blocks_of(equations, numbers, run)}
    ranges: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    found = {}
    for block in certificate.blocks:
        proof = block.proof
        if not isinstance(proof, TubeProof):
            continue
        if id(proof.tube) not in ranges:
            ranges[id(proof.tube)] = _defects(proof.tube, flow, scheme, step, run)
        own = blocks[block.constraints]
        low, high = (ends[:-1, list(own.places)] for ends in ranges[id(proof.tube)])
        with precision(BITS):
            contraction = Claim(equations, own, scheme, step, numbers, {}, {}).contraction(
                np.array(proof.factor), proof.gamma
            )
            most = truncation(proof.coefficient, scheme, step)
        start = math.inf if block.start_size is None else block.start_size
        found["+".join(block.constraints)] = phase_bounds(
            contraction, block.names, low, high, most, proof.rounding, start
        )
    return found


def _defects(
    tube: Tube, flow: TubeFlow, scheme: RungeKutta, step: float, run: Trajectory
) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the defect of a step from each row's part of the tube; both cells count where they meet."""
    at, rows = cells_at_rows(_cells(tube), run)
    low, high = defect_ranges(flow, scheme, step, at)
    least, most = np.full((len(run.times), low.shape[1]), np.inf), np.full((len(run.times), low.shape[1]), -np.inf)
    np.minimum.at(least, rows, low)
    np.maximum.at(most, rows, high)
    return least, most


def _along(equations: Equations, certificate: Certificate, where: str) -> tuple[Trajectory, RungeKutta, float]:
    """Run, scheme and step of a certificate in a tube that was just made from these equations."""
    if not isinstance(equations, Equations) or not isinstance(certificate, Certificate):
        raise BadRequest(f"{where}() takes Equations and the certificate that certify() made of them")
    run, scheme = certificate.trajectory, _scheme(certificate)
    if run is not None and run.step is None:
        raise BadRequest(
            f"the run chose its own steps, and {where} is for runs of one step",
            where=f"{where}(certificate)", fix="certify a run of one step",
        )  # fmt: skip
    if not made_here(certificate) or run is None or certificate.step is None:
        raise BadRequest("the certificate was not made here, so its run is not at hand", fix="hf.certify(...) again")
    if not tubes_of(certificate.blocks) or not isinstance(scheme, RungeKutta):
        raise BadRequest(
            "nothing in this certificate is proved in a tube",
            where=f"{where}(certificate)",
            fix="ask certify for a tube along the run",
        )
    if run_code(equations) != certificate.code:
        raise BadRequest(
            "the certificate was made of other equations", where=f"{where}(certificate)", fix="give those that it is of"
        )
    return _whole_steps(run), scheme, certificate.step


def _whole_steps(run: Trajectory) -> Trajectory:
    """The same without the shortened step by which an event was met: no step of a certificate has its length."""
    if run.outcome is not Outcome.event or len(run.times) < 3:
        return run
    return replace(run, times=run.times[:-1], columns={name: run.columns[name][:-1] for name in run.state_names})


def _numbers(equations: Equations, certificate: Certificate) -> dict[str, float]:
    return {name: certificate.parameters[name] for name in equations.parameter_names}


def _scheme(certificate: Certificate) -> Scheme:
    """The scheme of a certificate, by its name or by the tableau that it states."""
    if certificate.tableau is None:
        return scheme_named(certificate.scheme)
    weights = tuple(Fraction(value) for value in certificate.tableau["weights"])
    stages = tuple(tuple(Fraction(value) for value in row) for row in certificate.tableau["stages"])
    return RungeKutta(name=certificate.scheme, order=certificate.tableau["order"], stages=stages, weights=weights)


def _room(tube: Tube, run: Trajectory) -> np.ndarray:
    """The half-widths of boxes around the rows of a run that lie in the tube."""
    return room_around(_cells(tube), run)


def _cells(tube: Tube) -> Cells:
    return Cells(*(np.array([cell[k] if k else cell[:2] for cell in tube.cells]) for k in (0, 2, 3)))
