"""The certificate: its label block by block, what it rests on, and with what margin."""

from __future__ import annotations

from holdfast.page.facts import PageFacts, number, sentence
from holdfast.page.markup.html import Child, Markup, bullets, details, element, joined, paragraph, table
from holdfast.page.section import Section
from holdfast.stability.certificate.certificate import BlockCertificate, Label, Proof
from holdfast.stability.certificate.tube_proof import TubeProof


def write(subject: PageFacts) -> Markup:
    certificate = subject.certificate
    if certificate is None and subject.doubt:
        return paragraph(f"{subject.doubt} Nothing of it is shown.")
    if certificate is None:
        return paragraph("No certificate was made for this run: nothing is promised beyond what the figures show.")
    if not certificate.blocks:
        return paragraph(f"{Label.nothing.value.capitalize()}. {Label.nothing.meaning}")
    size = f", step {number(certificate.step)}" if certificate.step else ""
    intro = paragraph(
        f"For {certificate.scheme}{size}, over {number(certificate.duration)} from t = {number(certificate.begin)}."
    )
    return joined(intro, *(_block(block) for block in certificate.blocks))


def _block(block: BlockCertificate) -> Markup:
    names = ", ".join(block.constraints).replace("_", " ")
    head = element("h3", names, " ", element("span", block.label.value, class_=f"label {block.label.name}"))
    return element(
        "div",
        head,
        paragraph(block.label.meaning, class_="quiet"),
        paragraph(sentence(block.reason)),
        _stayed(block),
        _bounds(block),
        _hypotheses(block),
        class_="block",
    )


def _stayed(block: BlockCertificate) -> Markup | None:
    if block.stayed is None:
        return None
    text = (
        "Checked: this run stayed in Omega." if block.stayed else "This run LEFT Omega: the proof does not speak of it."
    )
    return paragraph(element("b", text))


def _bounds(block: BlockCertificate) -> Markup | None:
    """Bound, largest value seen, and what is left between them."""
    if not block.bounds:
        return None
    rows: list[list[Child]] = []
    for k, (name, bound) in enumerate(zip(block.names, block.bounds, strict=True)):
        seen = block.observed[k] if block.observed else float("nan")
        if seen > 0 and bound >= seen:
            margin = f"{number(bound / seen, 3)} times"
        else:
            margin = "holds once settled" if block.settles else "reached"
        rows.append([name, number(bound), number(seen), margin])
    return table(["deviation", "bound", "largest along this run", "margin"], rows)


def _hypotheses(block: BlockCertificate) -> Markup | None:
    facts: list[Child] = []
    if block.gamma is not None:
        facts.append(f"One step contracts by γ = {number(block.gamma, 6)} in the norm of the certificate.")
    if block.defect is not None:
        facts.append(f"A step adds at most {number(block.defect)} to the deviation (truncation and rounding).")
    if block.epsilon is not None:
        facts.append(f"The deviation stays below ε = {number(block.epsilon)} in that norm.")
    if block.slack:
        facts.append(f"Smallest slack along the run: {number(block.slack, 3)} of what the theorem forgives.")
    if not facts:
        return None
    return joined(bullets(facts), _place(block))


def _place(block: BlockCertificate) -> Markup | None:
    """Where a proof holds: Omega, or a tube along the run."""
    if isinstance(block.proof, TubeProof):
        return _tube(block.proof)
    return _region(block.proof) if block.proof else None


def _tube(proof: TubeProof) -> Markup:
    tube = proof.tube
    rows: list[list[Child]] = [[name, number(scale), number(tube.width * scale)] for name, scale in tube.scales]
    return details(
        f"The tube of the proof: {number(100 * tube.width)} % of each range along this run",
        table(["state", "range", "half-width of the tube"], rows),
        paragraph(
            f"Shown over {len(tube.cells):,} cells, for runs whose states stay within these half-widths of this run's "
            "at the same time. Nothing is said of runs that leave the tube, nor that a neighbour stays in it."
        ),
    )


def _region(proof: Proof) -> Markup:
    rows: list[list[Child]] = [[name, number(low), number(high)] for name, low, high in (*proof.region, *proof.limits)]
    return details(
        "The region Omega of the proof",
        table(["quantity", "from", "to"], rows),
        paragraph(f"The tube has the radius {number(proof.tube)}; shown over {proof.cells:,} cells."),
    )


SECTION = Section("certificate", "The certificate", write)
