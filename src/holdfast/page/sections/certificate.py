"""The certificate: its label block by block, what it rests on, and with what margin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holdfast.page.facts import PageFacts, bound, counted, inward, limit, number, spoken
from holdfast.page.figures.ranges import Range, ranges
from holdfast.page.markup.html import Child, Markup, bullets, details, element, joined, paragraph, table
from holdfast.page.markup.mathml import mathml
from holdfast.page.section import Section
from holdfast.problem.quantities import latex_name
from holdfast.stability.certificate.certificate import BlockCertificate, Label, Proof
from holdfast.stability.certificate.statement import range_words, when_words
from holdfast.stability.certificate.tube_proof import OrderedProof, TubeProof
from holdfast.stability.own_steps import OwnStepBounds
from holdfast.stability.parts.stretches import covered

MOST_RANGES = 10  # quantities in the picture of the region
MOST_BLOCKS, MOST_TOLD = 6, 40  # that are told one by one; more stand in one table, folded away


def write(subject: PageFacts) -> Markup:
    if subject.by_phase:
        said = (
            "Each phase is a program of its own, from where this run entered it. Nothing is said of the shorter step "
            "by which an event is met, nor of what happens between phases."
        )
        parts = [joined(element("h3", f"Phase {name}"), _one(part)) for name, part in subject.phases()]
        return joined(paragraph(said), *parts)
    return joined(_one(subject), _stretches(subject)) if subject.stretches else _one(subject)


def _stretches(subject: PageFacts) -> Markup:
    """What is proved of the run between the steps that no proof crosses: each stretch with its bounds, in a table."""
    found, rows = list(subject.stretches.values()), list[list[Child]]()
    for one in found:
        ends = number(one.begin, 6), number(one.begin + one.duration, 6)
        for block in (block for block in one.blocks if block.label.is_proof):
            for name, most, seen in zip(block.names, block.bounds, block.observed, strict=True):
                margin = _left(most, seen, block.settles)
                rows.append([*ends, mathml(latex_name(name)), bound(most), bound(seen), margin])
    share = limit(100 * covered(subject.trajectory, found), 2)
    said = (
        f"{counted(len(found), 'stretch', 'es')} of this run, {share} % of its time, each a problem of its own that "
        "starts where this run entered it. Of the steps between them nothing is proved."
    )
    head: list[Child] = ["from t =", "to", "deviation", "bound", "largest along it", "margin"]
    label = element("span", Label.tube.value, class_=f"label {Label.tube.name}")
    bounds = details("Each with its bounds", table(head, rows))
    return element("div", element("h3", "By stretches ", label), paragraph(said), bounds, class_="block")


def _one(subject: PageFacts) -> Markup:
    certificate = subject.certificate
    if certificate is None and subject.doubt:
        return paragraph(f"{subject.doubt} Nothing of it is shown.")
    if certificate is None and subject.own_steps:
        return joined(*(_own_steps(subject, one) for one in subject.own_steps))
    if certificate is None:
        return paragraph("No certificate was made for this run: nothing is promised beyond what the figures show.")
    if not certificate.blocks:
        return paragraph(f"{Label.nothing.value.capitalize()}. {Label.nothing.meaning}")
    size = f", step {number(certificate.step)}" if certificate.step else certificate.stepping
    blocks = certificate.blocks
    first = " The one with the least margin first:" if len(blocks) > MOST_BLOCKS else ""
    intro = paragraph(
        f"For {certificate.scheme}{size}, over {number(certificate.duration)} from t = {number(certificate.begin)}."
        f"{first}"
    )
    if len(blocks) <= MOST_BLOCKS:
        pictured = next((block for block in blocks if isinstance(block.proof, Proof)), None)
        return joined(intro, *(_block(subject, block, pictured=block is pictured) for block in blocks))
    worst, *rest = sorted(blocks, key=_margin)
    return joined(
        intro,
        _block(subject, worst),
        details(
            f"All {len(blocks)}, by their margin, and the other {len(rest)} in words",
            _bounds((worst, *rest), labelled=True),
            *(_block(subject, block, pictured=False) for block in rest[:MOST_TOLD]),
        ),
    )


def _own_steps(subject: PageFacts, found: OwnStepBounds) -> Markup:
    """One block, along the steps that the run chose."""
    label = element("span", Label.tube.value, class_=f"label {Label.tube.name}")
    rows: list[list[Child]] = []
    for name, most in zip(found.names, found.bounds, strict=True):
        seen = float(np.abs(subject.trajectory[name]).max())
        rows.append([mathml(latex_name(name)), bound(most), bound(seen), _left(most, seen, settles=False)])
    return element(
        "div",
        element("h3", ", ".join(map(spoken, found.constraints)), " ", label),
        paragraph(subject.prose(found.promise()), class_="promise"),
        table(["deviation", "bound", "largest along this run", "margin"], rows),
        details("What it rests on", bullets([f"Every step contracts by γ = {bound(found.gamma, 6)} at least."])),
        class_="block",
    )


def _block(subject: PageFacts, block: BlockCertificate, pictured: bool = True) -> Markup:
    """One block; the picture of Omega stands open once, and is folded away where it would say the same again."""
    names = ", ".join(map(spoken, block.constraints))
    head = element("h3", names, " ", element("span", block.label.value, class_=f"label {block.label.name}"))
    said = block.promise(subject.trajectory.scheme, subject.trajectory.step)
    return element(
        "div",
        head,
        paragraph(subject.prose(said), class_="promise") if said else paragraph(block.label.meaning, class_="quiet"),
        None if said else paragraph(subject.prose(_sentence(block.reason))),
        _stayed(block),
        _bounds([block]),
        _averages(block),
        _hypotheses(subject, block, pictured),
        class_="block",
    )


def _sentence(text: str) -> str:
    """A reason with its capital and its stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


def _stayed(block: BlockCertificate) -> Markup | None:
    if block.stayed is None:
        return None
    where = "the tube" if block.label is Label.tube else "Omega"
    kept, left = f"Checked: this run stayed in {where}.", f"This run LEFT {where}: the proof does not speak of it."
    return paragraph(element("b", kept if block.stayed else left))


def _margin(block: BlockCertificate) -> float:
    """Bound by largest value, the smallest of a block; what promises nothing comes first, what was never seen last."""
    if not block.bounds:
        return -1.0
    seen = block.observed or (0.0,) * len(block.bounds)
    return min((most / size for most, size in zip(block.bounds, seen, strict=True) if size > 0), default=float("inf"))


def _bounds(blocks: Sequence[BlockCertificate], labelled: bool = False) -> Markup | None:
    """Bound, largest value seen, and what is left between them."""
    rows: list[list[Child]] = []
    for block in blocks:
        label: list[Child] = [block.label.value] if labelled else []
        for k, (name, most) in enumerate(zip(block.names, block.bounds, strict=False)):
            seen = block.observed[k] if block.observed else float("nan")
            rows.append([mathml(latex_name(name)), *label, bound(most), bound(seen), _left(most, seen, block.settles)])
        if labelled and not block.bounds:
            rows.append([", ".join(map(spoken, block.constraints)), *label, "–", "–", "no promise"])
    head: list[Child] = ["deviation", *(["label"] if labelled else []), "bound", "largest along this run", "margin"]
    return table(head, rows) if rows else None


def _averages(block: BlockCertificate) -> Markup | None:
    """Root mean squares over all paths, which are no bounds of a path: from the start on, and once settled."""
    found = block.mean_square
    if found is None:
        return None
    first, settled = (found.of(values, block.names) for values in (found.envelope(0)[:, 0], found.bounds))
    rows: list[list[Child]] = [
        [mathml(latex_name(name)), bound(begun), bound(most)]
        for name, begun, most in zip(block.names, first, settled, strict=True)
    ]
    return table(["root mean square over all paths of", "from the start on", "once settled"], rows)


def _left(most: float, seen: float, settles: bool) -> str:
    """What is left between a bound and the largest value seen, nan where none was looked for."""
    if seen == 0:
        return "kept exactly"
    if most >= seen:
        return f"{limit(most / seen)} times"
    if settles:
        return "holds once settled"
    return "exceeded" if seen > most else "–"


def _hypotheses(subject: PageFacts, block: BlockCertificate, pictured: bool) -> Markup | None:
    facts: list[Child] = []
    if block.gamma is not None:
        facts.append(f"One step contracts by γ = {bound(block.gamma, 6)} in the norm of the certificate.")
    if block.defect is not None:
        part = ""
        if isinstance(block.proof, Proof | TubeProof):
            part = f", {bound(block.proof.rounding)} of it rounding"
        facts.append(f"A step adds at most {bound(block.defect)} to the deviation{part}.")
    if block.epsilon is not None:
        facts.append(f"{_when(block)} stays below ε = {bound(block.epsilon)} in that norm.")
    if block.slack:
        used = bound(100 * max(0.0, 1 - block.slack), 2)
        facts.append(f"Along this run no step used more than {used} % of what the theorem allows it to add.")
    if isinstance(block.proof, OrderedProof):
        facts.append(f"{counted(block.proof.steps, 'step')} in the order of time; none is shown to contract by itself.")
    if not facts:
        return None
    picture = _picture(subject, block)
    folded = None if pictured else picture
    return joined(picture if pictured else None, details("What it rests on", bullets(facts), folded, _place(block)))


def _when(block: BlockCertificate) -> str:
    """Where, and from when on, a deviation is below what it settles at."""
    where = "While the state stays in Omega, the" if isinstance(block.proof, Proof) else "In the tube, the"
    where = where if block.proof is not None else "Along this run, the"
    return f"{where} deviation, once that of the start has died away," if block.settles else f"{where} deviation"


def _picture(subject: PageFacts, block: BlockCertificate) -> Markup | None:
    """The run inside the box of the proof."""
    proof, run = block.proof, subject.trajectory
    if not isinstance(proof, Proof):
        return None
    rows: list[Range] = [
        (subject.label(name), (low, high), inward(low, high), run[name])
        for name, low, high in (*proof.region, *proof.limits)
        if name in run and high > low and name != "t"
    ]
    if not rows:
        return None
    name = "omega-" + "-".join(block.constraints)
    more = f"; the first {MOST_RANGES} of {len(rows)} quantities" if len(rows) > MOST_RANGES else ""
    caption = f"The box Omega of the proof (shaded), and where in it this run was (line; dot: its start){more}"
    return ranges(name, caption, rows[:MOST_RANGES])


def _place(block: BlockCertificate) -> Markup | None:
    """Where a proof holds: Omega, or a tube along the run."""
    if isinstance(block.proof, TubeProof | OrderedProof):
        return _tube(block.proof)
    return _region(block.proof) if block.proof else None


def _tube(proof: TubeProof | OrderedProof) -> Markup:
    tube = proof.tube
    rows: list[list[Child]] = [
        [mathml(latex_name(name)), number(scale), limit(tube.width * scale)] for name, scale in tube.scales
    ]
    width = limit(100 * tube.width)
    return joined(
        paragraph(f"The tube of the proof is {width} % of {range_words(tube)}, to both sides:"),
        table(["state", "range", "half-width of the tube"], rows),
        paragraph(
            f"Shown over {len(tube.cells):,} cells, for runs whose states stay within these half-widths of this run's "
            f"{when_words(tube)}. Nothing is said of runs that leave the tube, nor that a neighbour stays in it."
        ),
    )


def _region(proof: Proof) -> Markup:
    rows: list[list[Child]] = [
        [mathml(latex_name(name)), *inward(low, high)] for name, low, high in (*proof.region, *proof.limits)
    ]
    return joined(
        paragraph("The region Omega of the proof:"),
        table(["quantity", "from", "to"], rows),
        paragraph(f"The tube has the radius {limit(proof.tube)}; shown over {counted(proof.cells, 'cell')}."),
    )


SECTION = Section("certificate", "What is promised", write)
