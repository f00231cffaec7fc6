"""The verdict: one word, one line and the sentences behind it, for the page, the commands and the exit code.

The word is the worst of four: how the run ended (*failed* if not well), the error of its states (*no promise* where a
halved step, or a tighter tolerance, moves one by more than a tenth of its range), what the certificate promises, and
what controls leave free (*no promise* where it runs away by a root with Re > 0).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.page.facts import PageFacts, bound, counted, limit, number, sentence
from holdfast.results.runs.joined import JoinedRun
from holdfast.results.trajectory import Trajectory
from holdfast.stability.certificate.certificate import Label
from holdfast.stability.linear.spectrum import BlockStability
from holdfast.stability.parts.stretches import covered

WORDS = ("proved", "checked", "no promise", "failed")  # from best to worst
SHORT = 1e-6  # of a step: a last one that lacks less is whole
PROMISES = {
    Label.proved: "proved",
    Label.tube: "proved",  # the line says where
    Label.mean_square: "proved",  # the line says that it is an average
    Label.checked: "checked",
    Label.nothing: "checked",
    Label.estimated: "no promise",
    Label.neutral: "no promise",
    Label.refused: "no promise",
}


@dataclass(frozen=True, slots=True)
class PageVerdict:
    """One of `WORDS`, and a line that begins with it; `faults` say why it is not a better one."""

    word: str
    line: str
    faults: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Whether nothing failed."""
        return self.word != "failed"


def verdict_of(subject: PageFacts) -> PageVerdict:
    """The worst of outcome, state error and promise."""
    faults = [*_of_run(subject), *_of_law(subject)]
    if faults:
        faults = [sentence(fault) for fault in faults]
        return PageVerdict("failed", f"Failed: {faults[0]}", tuple(faults))
    away, unstable = _running_away(subject)
    doubts = [sentence(doubt) for doubt in (*_of_states(subject), *_of_certificate(subject))]
    doubts += [away] if unstable else []
    word = "no promise" if doubts else _promised(subject)
    apart = [] if doubts else _apart(subject)  # a doubt is about all of them
    head = word.capitalize() + (f" for {', '.join(apart)} (kept, not attracted)" if apart else "")
    but = f" But {away}" if away else ""
    return PageVerdict(word, sentence(f"{head}: {_praise(subject, apart)}{but}"), tuple(doubts))


def _apart(subject: PageFacts) -> list[str]:
    """The constraints that are kept without being attracted, where others have a promise of their own."""
    found = subject.certificate
    return [] if found is None or PROMISES[found.attracted] == "no promise" else _only_kept(subject)


def _only_kept(subject: PageFacts) -> list[str]:
    """The constraints that a certificate tells of as kept by the law, which attracts none of their deviations."""
    blocks = () if subject.certificate is None else subject.certificate.blocks
    return [name for block in blocks if block.label is Label.neutral for name in block.constraints]


def _running_away(subject: PageFacts) -> tuple[str, bool]:
    """What controls leave free and what runs away, in a sentence, and whether faster than any push: by a root with
    Re > 0, or along the run. A program may be held, and its bound proved, while the cart leaves for ever.
    """
    found = subject.internal
    if found is None or found.warning is None:
        return "", False
    along = found.along
    unstable = found.non_minimum_phase or (along is not None and along.exponential)
    seen = unstable or (along is not None and along.grows)
    return (sentence(f"{found.warning}."), unstable) if seen else ("", False)


def _of_states(subject: PageFacts) -> list[str]:
    """Why the states are not to be trusted: their error, and constraints that became dependent on the way."""
    run = subject.trajectory
    found = [finding.text for finding in run.findings if not finding.failing]
    if subject.states_estimated and run.state_error.large:
        error = run.state_error
        found.insert(0, f"The states are not a result: {error}." if math.isfinite(error.worst) else f"{error}.")
    return [text[0].upper() + text[1:] for text in found]


def _promised(subject: PageFacts) -> str:
    if not subject.held:
        return "checked" if subject.states_estimated else "no promise"
    if subject.by_phase:
        return _promised_by_phase(subject)
    if subject.certificate is None:
        return "proved" if subject.own_steps and not _beside_own_steps(subject) else "no promise"
    return PROMISES[subject.certificate.label]


def _beside_own_steps(subject: PageFacts) -> list[str]:
    """The constraints of which nothing is proved along the steps that the run chose."""
    shown = {name for one in subject.own_steps for name in one.constraints}
    return [name for name in subject.equations.constraints if name not in shown]


def _promised_by_phase(subject: PageFacts) -> str:
    """The worst of the phases that hold something; not proved where steps of the run are in none of the proofs."""
    labels = [found.label for found in subject.by_phase.values() if found.label is not Label.nothing]
    if _silent_phases(subject):
        return "no promise"
    word = max((PROMISES[label] for label in labels), key=WORDS.index, default="checked")
    return "checked" if word == "proved" and not _all_steps(subject) else word


def _holding(subject: PageFacts) -> Iterator[tuple[str, Trajectory, float]]:
    """The phases that hold something, each with its run and its step."""
    run = subject.trajectory
    for k, (name, part) in enumerate(zip(run.phases, run.parts, strict=True) if isinstance(run, JoinedRun) else (), 1):
        if part.problem is not None and part.problem.program.constraints and part.step is not None:
            yield f"{k} {name}", part, part.step


def _silent_phases(subject: PageFacts) -> list[str]:
    """The phases of a step and more that hold something, and have no certificate."""
    return [
        name
        for name, part, step in _holding(subject)
        if name not in subject.by_phase and part.times[-1] - part.times[0] >= (1 - SHORT) * step
    ]


def _all_steps(subject: PageFacts) -> bool:
    """Whether every step of a run through phases is a whole one of a phase that has a certificate."""
    found = subject.by_phase
    return all(
        name in found and found[name].duration >= float(part.times[-1] - part.times[0]) - SHORT * step
        for name, part, step in _holding(subject)
    )


def _of_run(subject: PageFacts) -> list[str]:
    run = subject.trajectory
    if run.success:
        return []
    stopped = (
        "" if run.outcome.ran_out else f" (t = {number(run.times[-1] if subject.stopped is None else subject.stopped)})"
    )
    return [run.outcome.value.rstrip(".") + stopped + ".", *(found.text for found in run.against)]


def _of_law(subject: PageFacts) -> list[str]:
    """Blocks whose deviations are driven away."""
    if not subject.held:
        return []
    bad = [block for block in subject.spectrum.blocks if block.verdict is BlockStability.unstable]
    return [f"The law drives {', '.join(block.constraints)} away. {block.reason}" for block in bad]


def _of_certificate(subject: PageFacts) -> list[str]:
    if not subject.certificates:
        return [subject.doubt] if subject.doubt else []
    faults = []
    for block in (block for found in subject.certificates for block in found.blocks):
        names = ", ".join(block.constraints)
        if block.label is Label.refused:
            faults.append(f"No promise for {names}: {block.reason.rstrip('.')}.")
        elif block.stayed is False:
            faults.append(f"The proof for {names} does not cover this run: it left the region Omega.")
    return faults


def _praise(subject: PageFacts, apart: Sequence[str]) -> str:
    run = subject.trajectory
    said = [run.outcome.value.rstrip(".").removeprefix("The ")]
    error = f", {run.state_error}" if subject.states_estimated else ""
    if not subject.held:
        return f"the {said[0]}; there is nothing to hold{error}."
    return f"the {said[0]}, {_kept(subject)}{error}, {_promise(subject, apart)}."


def _kept(subject: PageFacts) -> str:
    """How well the program was kept: at the end, and, rounded up, at worst."""
    run = subject.trajectory
    seen = np.abs(run.deviation if run.deviation.size else run.deviation_rate)
    if isinstance(run, JoinedRun):  # where a phase holds something
        seen = np.nan_to_num(seen[~np.isnan(seen).all(axis=1)])
        if not seen.size:
            return "no phase holds anything"
    sizes = seen.max(axis=1)
    never = "never exceeded" if run.every == 1 else "at the rows that were kept did not exceed"
    kept = f"the deviation ends at {number(float(sizes[-1]), 2)} and {never} {bound(float(sizes.max()), 2)}"
    if run.deviation.size:
        largest = np.nanmax if isinstance(run, JoinedRun) else np.max
        kept += f" (its rate {bound(float(largest(np.abs(run.deviation_rate))), 2)}, "
        kept += f"and the norm of both ‖z‖ {bound(float(largest(run.deviation_norm)), 2)})"
    return kept


def _promise(subject: PageFacts, apart: Sequence[str]) -> str:
    """What is promised of the constraints that are not told `apart`."""
    certificate = subject.certificate
    if subject.by_phase:
        return _promise_by_phase(subject)
    if certificate is None and subject.own_steps:
        rest = ", ".join(_beside_own_steps(subject))
        but = f" (except for {rest}: not proved)" if rest else ""
        return f"and the drift bound is proved in a tube along the steps that this run chose{but}"
    if certificate is None:
        return "without a certificate"
    settling = not subject.trajectory.start.on_program
    kind = f"the bound {'the others settle' if apart else 'it settles'} below" if settling else "the drift bound"
    kind += " of the others" if apart and not settling else ""
    kept = [name for name in _only_kept(subject) if name not in apart]
    said = {name for block in certificate.blocks for name in block.constraints}
    silent = [name for name in subject.equations.constraints if name not in said]
    exceptions = [f"{', '.join(kept)}: kept, not attracted"] if kept else []
    exceptions += [f"{', '.join(silent)}: not certified"] if silent else []
    but = f" (except for {'; '.join(exceptions)})" if exceptions else ""
    left = ", which this run left" if any(block.stayed is False for block in certificate.blocks) else ""
    parts = f", and proved {_of_stretches(subject)}" if subject.stretches else ""
    way = "the steps that this run chose" if certificate.times else "this run"
    return {
        Label.proved: f"and {kind} is proved for every state of the region{left}{but}",
        Label.tube: f"and {kind} is proved in a tube along {way}{but}",
        Label.mean_square: "and under its noise the mean square over all paths is proved to stay bounded",
        Label.checked: f"and {kind} was checked at every step{but}{parts}",
        Label.estimated: f"with an estimated drift bound{but}",
        Label.neutral: "kept but not attracted",
        Label.nothing: "with nothing to hold",
        Label.refused: "with no promise",
    }[certificate.attracted]


def _of_stretches(subject: PageFacts) -> str:
    """In how many stretches, and of how much of the run: rounded down, so that no step is added."""
    found = list(subject.stretches.values())
    share = limit(100 * covered(subject.trajectory, found), 2)
    return f"in a tube along {counted(len(found), 'stretch', 'es')} of it ({share} % of its time)"


def _promise_by_phase(subject: PageFacts) -> str:
    """The label of each phase, and what none of them speaks of."""
    told = ", ".join(
        [f"{name} {found.attracted.value}" for name, found in subject.by_phase.items()]
        + [f"{name} not certified" for name in _silent_phases(subject)]
    )
    rest = "" if _all_steps(subject) else "; of the shorter steps that meet an event nothing is said"
    return f"and phase by phase the drift bound is: {told}{rest}"
