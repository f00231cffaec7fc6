"""What to distrust, in words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from holdfast.equations.solving.redundant import repeats_note
from holdfast.errors import HoldfastError
from holdfast.page.facts import PageFacts, bound, limit, number, sentence
from holdfast.page.markup.html import Markup, bullets, paragraph
from holdfast.page.section import Section
from holdfast.stability.certificate.certificate import Label
from holdfast.stability.certificate.statement import range_words, when_words
from holdfast.stability.certificate.tube_proof import tubes_of
from holdfast.stability.linear.mean_square import mean_square
from holdfast.stability.linear.spectrum import BlockStability

NEAR_LIMIT = 0.8  # of the linear limit of the step
GROWTH = 2.0  # a transient worth a word
UNEXPLAINED = 0.01  # largest share of the energy in motion that corrections may add (a choice)
SMALL_ERROR = 0.01  # of its range: an error of a state beyond this is worth a word


def write(subject: PageFacts) -> Markup:
    found = warnings_of(subject)
    return (
        bullets([subject.prose(text) for text in found], class_="warnings")
        if found
        else paragraph("Nothing was found that calls for a warning.")
    )


def warnings_of(subject: PageFacts) -> list[str]:
    """Everything that a reader should know before trusting the run, a sentence each."""
    found = [*subject.remarks, *_of_run(subject), *_of_law(subject), *_of_certificate(subject), *_of_energy(subject)]
    if subject.internal is not None and subject.internal.warning is not None:
        found.append(f"{subject.internal.warning}.")
    if subject.motion is not None:
        found += subject.motion.complaints
    return [sentence(text) for text in found]


def _of_run(subject: PageFacts) -> list[str]:
    run, found = subject.trajectory, []
    if run.start.changes or not run.start.on_program:
        text = str(run.start)
        found.append(text[0].upper() + text[1:] + ".")
    if said := repeats_note(subject.equations.solver):
        found.append(said)
    if not run.success:
        found.append(run.message)
    if subject.problem.system.noise:
        found += ["The problem states noise; this run is the motion without it.", *_of_noise(subject)]
    if run.every > 1:
        found.append(f"Only one step in {run.every} was kept: what happened between is not shown.")
    found += [finding.text for finding in run.findings if finding.text not in run.message]
    return found + _of_states(subject)


def _of_noise(subject: PageFacts) -> list[str]:
    """What the noise does to the deviations, in the mean square and to first order."""
    if not subject.held:
        return []
    try:
        found = mean_square(subject.equations)
    except HoldfastError as error:
        return [f"What the noise does to the deviations is not known: {error.what}."]
    floor = ""
    if found.stable and found.kind in ("additive", "both"):
        spread = np.sqrt(np.maximum(np.diag(found.covariance), 0))
        floor = "; " + ", ".join(
            f"{name} spreads by {number(size)}" for name, size in zip(found.names, spread, strict=True)
        )
    return [f"Under the noise: {found.verdict}{floor}.", *(f"On the noise: {note}." for note in found.notes)]


def _of_states(subject: PageFacts) -> list[str]:
    """The error of the states, where it is more than one would overlook."""
    if not subject.states_estimated:
        return ["The error of the states was not estimated."]
    error = subject.trajectory.state_error
    if error.relative <= SMALL_ERROR:
        return []
    text = str(error)
    return [text[0].upper() + text[1:] + "."]


def _of_law(subject: PageFacts) -> list[str]:
    if not subject.held:
        return []
    found = []
    for block in subject.spectrum.blocks:
        if block.verdict is not BlockStability.asymptotically_stable:
            found.append(f"{', '.join(block.constraints)}: {block.verdict.value}. {block.reason}")
    for name, growth in subject.transients.items():
        if growth.peak > GROWTH:
            found.append(f"{name}: deviations may grow {bound(growth.peak)} times before they die away.")
    for name, allowed in subject.limits.items():
        step, most = subject.trajectory.step or 0.0, allowed.spectral.step
        if 0 < most < np.inf and step > NEAR_LIMIT * most:
            beyond = "beyond" if step >= most else "close to"
            found.append(f"{name}: the step {number(step)} is {beyond} the linear limit {limit(most, 4)}.")
    return found


def _of_certificate(subject: PageFacts) -> list[str]:
    certificate = subject.certificate
    if subject.by_phase:
        return [f"Phase {name}: {line}" for name, part in subject.phases() for line in _of_certificate(part)]
    if certificate is None and subject.doubt:
        return [subject.doubt]
    if certificate is None and subject.own_steps:
        return ["What is proved speaks of runs that take the very steps of this one; no file of it can be re-checked."]
    if certificate is None:
        return ["No certificate: the figures show this run only, and say nothing of others."] if subject.held else []
    if certificate.attracted is Label.checked:
        return ["The certificate is checked along this run, not proved: another start needs its own check."]
    if certificate.attracted is Label.mean_square:
        return ["The proof speaks of the average over all paths under the noise: a single path may go beyond it."]
    if certificate.attracted is Label.tube:
        tubes = tubes_of(certificate.blocks)  # each block has its own: what lies in all of them is in the narrowest
        least = replace(min(tubes, key=lambda tube: tube.width), speeds=min(tube.speeds for tube in tubes))
        taken = ", and take the steps that it chose" if certificate.times else ""
        return [
            f"The proof speaks of runs that stay within {limit(100 * least.width)} % of {range_words(least)}, "
            f"{when_words(least)}{taken}; it says nothing of others, nor that a neighbour stays."
        ]
    return []


def _of_energy(subject: PageFacts) -> list[str]:
    run = subject.trajectory
    if len(run.times) < 3:
        return []
    balance, found = run.energy_balance, []
    if subject.lost_energy > UNEXPLAINED:
        part = bound(100 * subject.lost_energy, 2)
        found.append(
            f"The energy changed by {part} % of what is in motion, though nothing does work: an error of the run."
        )
    residual = float(np.nanmax(np.abs(balance.residual), initial=0))
    if residual > UNEXPLAINED * subject.energy_size:
        part, missed = bound(100 * residual / subject.energy_size, 2), float(np.nanmax(balance.quadrature, initial=0))
        why = "the rows are too far apart to sum its causes" if missed > residual / 3 else "the step may be too large"
        found.append(f"Up to {part} % of the energy in motion is unexplained by any cause: {why}.")
    if subject.held:
        work = float(np.nanmax(np.abs(balance.correction), initial=0))
        if work > UNEXPLAINED * subject.energy_size:
            part = bound(100 * work / subject.energy_size, 2)
            found.append(f"Correcting deviations did work of up to {part} % of the energy in motion.")
    return found


SECTION = Section("warnings", "What to distrust", write)
