"""From a proof to what is promised of a block: bounds that say something, held against the run they are made for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from holdfast.common.rounded import rounded_up
from holdfast.graph.arithmetics.balls import precision
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.certificate.certificate import BlockCertificate, Label, Proof
from holdfast.stability.certificate.tube_proof import TubeProof
from holdfast.stability.promise.checked import BlockAlongRun
from holdfast.stability.promise.envelope import CoveredRows, Promise
from holdfast.stability.proof.claim import BITS, Claim, total_defect, widened
from holdfast.stability.proof.omega import ranges_over

TOLD_OF_ZERO = 2.0**-20  # of the rounding of a step: far below what it adds, far above what 80 bits leave of a zero


def truncated(scheme: RungeKutta, matrix: np.ndarray) -> np.ndarray:
    """R of a matrix up to the order of the scheme, in doubles."""
    power, total = np.eye(len(matrix)), np.zeros_like(matrix)
    for coefficient in scheme.stability.numerator[: scheme.order + 1]:
        total, power = total + float(coefficient) * power, power @ matrix
    return total


def bounded_in_energy(setting: Claim, run: Trajectory) -> Claim:
    """The setting with the energies of the run and a twentieth of its kinetic energy to either side.

    Only where that makes the region smaller: for a block that already depends on all that the energy depends on.
    """
    motion, energy = setting.motion(), setting.equations.observables.get("energy")
    if motion.affine or energy is None or not motion.covers(energy):
        return setting
    values = run["energy"]
    margin = 0.05 * float(np.abs(run["kinetic"]).max()) + 0.1 * float(np.ptp(values))
    if not margin > 0:  # a run at rest: its energy is one number, and that of hardly a state beside it
        return setting
    bounds = (float(values.min()) - margin, float(values.max()) + margin)
    return replace(setting, limits={**setting.limits, "energy": bounds})


def stated_start(setting: Claim, proof: Proof | TubeProof, told: BlockAlongRun, row: int) -> float:
    """‖ψ‖ of a row of the run, with a little of one step's rounding: what another arithmetic may take for 0."""
    size = setting.begun(np.array(proof.factor), float(told.run.times[row]), told.run.y[:, row].tolist())
    return max(size, TOLD_OF_ZERO * proof.rounding)


def with_proof(setting: Claim, checked: BlockCertificate, proof: Proof, told: BlockAlongRun) -> BlockCertificate | str:
    """The certificate of a proved block, with the line that this run stayed in the region; or why it is no proof."""
    factor = np.array(proof.factor)
    with precision(BITS):
        begun = stated_start(setting, proof, told, 0)
        contraction = setting.contraction(factor, proof.gamma)
        defect = total_defect(proof.coefficient, proof.rounding, setting.scheme, setting.step)
        share = begun if begun <= proof.radius else 0.0  # a start as near as doubles allow
        settled, widths = contraction.settled(defect), contraction.widths()
        bounds = tuple(widened(a, share, b) for a, b in zip(settled, widths, strict=True))
    for name, bound, reach in zip(checked.names, bounds, ranges_over(setting), strict=True):
        if not bound < reach:
            return (
                f"the bound it gives, |{name}| <= {rounded_up(bound)}, says no more than Omega itself, "
                f"|{name}| <= {rounded_up(reach)}"
            )
    rows, settles = CoveredRows.of(checked.names, proof, told.run), begun > proof.radius
    entry = rows.first if begun > proof.tube else 0
    if entry is None:
        return "the run ends before its deviation has entered the tube that a proof was found for"
    with precision(BITS):
        covered = stated_start(setting, proof, told, entry)
    if covered > proof.tube:
        return "the deviation enters the tube of the proof within one rounding"
    varies, scheme = setting.block.varies, setting.scheme
    matrix = None if varies else truncated(scheme, setting.step * setting.block.matrix)
    Promise(checked.names, proof, defect, settled, widths, matrix).require(told.run, told.psi, told.errors, rows)
    words = ""
    if begun > proof.tube:
        words = (
            f" The start lies outside the tube, which the deviation enters at step {entry}: from there on it is proved."
        )
    elif begun > proof.radius:
        words = " The start deviates: the envelope holds from it on, the bounds once that has died away."
    reason = (
        f"One step contracts by {rounded_up(proof.gamma, 6)} and adds at most {rounded_up(defect)} "
        f"({rounded_up(proof.rounding)} of it rounding) for every state of Omega, shown over {proof.cells} "
        f"cell{'s' if proof.cells != 1 else ''}.{words}"
    )
    return replace(
        checked,
        label=Label.proved,
        reason=reason,
        matrix=() if varies else checked.matrix,
        gamma=proof.gamma,
        defect=defect,
        epsilon=proof.radius,
        bounds=bounds,
        stayed=rows.stay,
        settles=settles,
        start_size=covered,
        from_step=entry,
        proof=proof,
    )
