"""The verdict at the top: one line, good or negative, and the sentences behind it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holdfast.page.subject import Subject, number, sentence
from holdfast.results.outcome import Outcome
from holdfast.stability.certificate import Label
from holdfast.stability.spectrum import Verdict as Judgement

PUMPED = 0.1  # of the energy about: more, done by corrections that should do no work, is not called good


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether all is well, in one line; `faults` say why not."""

    good: bool
    line: str
    faults: tuple[str, ...] = ()


def verdict_of(subject: Subject) -> Verdict:
    """A run is called good if it ended well, nothing was refused, and no energy was pumped in to hold the program."""
    faults = [*_of_run(subject), *_of_law(subject)]
    if not faults:  # a promise refused for these reasons need not be told twice
        faults = [*_of_certificate(subject), *_of_energy(subject)]
    if faults:
        faults = [sentence(fault) for fault in faults]
        return Verdict(False, f"Negative: {faults[0]}", tuple(faults))
    return Verdict(True, f"Good: {_praise(subject)}")


def _of_run(subject: Subject) -> list[str]:
    run = subject.trajectory
    if run.success:
        return []
    stopped = "" if run.outcome in (Outcome.off_program, Outcome.deviation_grew) else f" (t = {number(run.times[-1])})"
    return [run.outcome.value.rstrip(".") + stopped + "."]


def _of_law(subject: Subject) -> list[str]:
    """Blocks whose deviations are driven away."""
    if not subject.held:
        return []
    bad = [block for block in subject.spectrum.blocks if block.verdict is Judgement.unstable]
    return [f"The law drives {', '.join(block.constraints)} away. {block.reason}" for block in bad]


def _of_certificate(subject: Subject) -> list[str]:
    if subject.certificate is None:
        return []
    faults = []
    for block in subject.certificate.blocks:
        names = ", ".join(block.constraints)
        if block.label is Label.refused:
            faults.append(f"No promise for {names}: {block.reason.rstrip('.')}.")
        elif block.stayed is False:
            faults.append(f"The proof for {names} does not cover this run: it left the region Omega.")
    return faults


def _of_energy(subject: Subject) -> list[str]:
    """Reactions must not drive the motion: work of their corrections is an error of the run, not a result."""
    run, program = subject.trajectory, subject.problem.program
    if len(run.times) < 3:
        return []
    lost = []
    if subject.lost_energy > PUMPED:
        part = f"{100 * subject.lost_energy:.0f} %"
        lost = [f"The energy changed by {part} of what is in motion, though nothing does work. Use a smaller step."]
    if not subject.held or program.controls:
        return lost
    work = np.abs(run.energy_balance.correction)
    worst = float(np.nanmax(work))
    if worst <= PUMPED * subject.energy_size:
        return lost
    part = number(100 * worst / subject.energy_size, 2)
    price = f"corrections of the deviations did work of {part} % of the energy in motion"
    return [*lost, f"The program is held at a price: {price}."]


def _praise(subject: Subject) -> str:
    run = subject.trajectory
    said = [run.outcome.value.rstrip(".").removeprefix("The ")]
    if not subject.held:
        return f"the {said[0]}; there is nothing to hold."
    sizes = np.abs(run.deviation if run.deviation.size else run.deviation_rate).max(axis=1)
    kept = f"the deviation ends at {number(float(sizes[-1]), 2)} and never exceeded {number(float(sizes.max()), 2)}"
    return f"the {said[0]}, {kept}, {_promise(subject)}."


def _promise(subject: Subject) -> str:
    certificate = subject.certificate
    if certificate is None:
        return "without a certificate"
    bound = "the drift bound" if subject.trajectory.start.on_program else "the bound it settles below"
    kept = [name for block in certificate.blocks if block.label is Label.neutral for name in block.constraints]
    said = {name for block in certificate.blocks for name in block.constraints}
    silent = [name for name in subject.equations.constraints if name not in said]
    exceptions = [f"{', '.join(kept)}: kept, not attracted"] if kept else []
    exceptions += [f"{', '.join(silent)}: not certified"] if silent else []
    but = f" (except for {'; '.join(exceptions)})" if exceptions else ""
    return {
        Label.proved: f"and {bound} is proved for every state of the region{but}",
        Label.checked: f"and {bound} was checked at every step{but}",
        Label.estimated: f"with an estimated drift bound{but}",
        Label.neutral: "kept but not attracted",
        Label.nothing: "with nothing to hold",
        Label.refused: "with no promise",
    }[certificate.attracted]
