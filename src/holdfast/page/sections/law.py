"""The perturbation law: as an equation, in every dialect, with its roots, limits and transients."""

from __future__ import annotations

import numpy as np

from holdfast.equations.writing.text import degree_lines
from holdfast.equations.writing.text import formula as latex
from holdfast.errors import HoldfastError
from holdfast.page.facts import PageFacts, bound, number, spoken
from holdfast.page.figures.roots import figures
from holdfast.page.markup.html import Child, Markup, details, element, joined, paragraph, table
from holdfast.page.markup.mathml import formula, mathml
from holdfast.page.section import Section, merged, side_by_side
from holdfast.problem.laws.linear import Gain, Unstabilised
from holdfast.problem.quantities import latex_name
from holdfast.stability.letters.conditions import conditions
from holdfast.stability.linear.spectrum import BlockStability
from holdfast.stability.tuning.dialects import dialects

LONGEST = 400  # characters of a polynomial in LaTeX: a line or two of the page
LARGEST_MATRIX = 12  # rows of a matrix that can still be read
MOST_LINES = 6  # equations of the law that stand there at once
GREEK = {"alpha": "α", "beta": "β", "kappa": "κ", "omega": "ω", "zeta": "ζ", "time constant": "T", "damping ratio": "ζ"}


def write(subject: PageFacts) -> Markup:
    if not subject.held:
        return Markup("")
    roots = side_by_side(*figures(subject))
    rest = (_dialects(subject), _transients(subject), _conditions(subject), _matrix(subject))
    if subject.large:
        more = details("Roots drawn, dialects, transients, and which gains attract", roots, *rest)
        return joined(_equations(subject), _blocks(subject), more)
    return joined(_equations(subject), rest[0], _blocks(subject), roots, *rest[1:])


def _equations(subject: PageFacts) -> Markup:
    equations = subject.equations
    if isinstance(subject.problem.program.law, Unstabilised):
        return paragraph("There is no law: deviations stay where they are, or drift.")
    lines = [
        formula(rf"\frac{{d}}{{dt}} {latex_name(name)} = {latex(value)}")
        for name, value in zip(equations.deviation_names[len(equations.deviation) :], equations.demand, strict=True)
    ]
    gains = _gains(subject)
    note = paragraph(
        "Deviations y are the values of the holonomic functions; w are their rates, and the nonholonomic functions."
    )
    degrees = [paragraph(subject.prose(f"{line[0].upper()}{line[1:]}.")) for line in degree_lines(equations)]
    if len(lines) > MOST_LINES:
        lines = [*lines[:1], details(f"The further {len(lines) - 1} equations", *lines[1:])]
    return joined(note, *degrees, *lines, paragraph("with ", *gains) if gains else None)


def _gains(subject: PageFacts) -> list[Child]:
    """Gains and their values; of many with one value the first and the last."""
    by_value: dict[str, list[Child]] = {}
    for name in subject.equations.form.gains:
        value = number(float(subject.trajectory.parameters[name]), 6)
        by_value.setdefault(value, []).append(mathml(latex_name(Gain(name).letter)))
    found: list[Child] = []
    for value, letters in by_value.items():
        few = letters if len(letters) <= MOST_LINES else [letters[0], letters[1], "…", letters[-1]]
        found += [",  "] if found else []
        found += [piece for k, letter in enumerate(few) for piece in ((", " if k else ""), letter)]
        found.append(f" = {value}")
    return found


def _dialects(subject: PageFacts) -> Markup:
    try:
        words = dialects(subject.equations)
    except HoldfastError:
        return Markup("")
    kinds = list(dict.fromkeys(kind for each in words.values() for kind in each))
    rows: list[list[Child]] = [
        [spoken(name), *(_said(each.get(kind, {})) for kind in kinds)] for name, each in words.items()
    ]
    return joined(element("h3", "The same law in every dialect"), table(["constraint", *kinds], merged(rows)))


def _said(values: dict[str, float]) -> str:
    return ", ".join(f"{GREEK.get(key, key)}\u00a0=\u00a0{number(value)}" for key, value in values.items()) or "–"


def _blocks(subject: PageFacts) -> Markup:
    """Per block: verdict, roots, and what one step of the scheme does to it."""
    run, rows = subject.trajectory, []
    for block in subject.spectrum.blocks:
        name = ", ".join(block.constraints)
        limit = subject.limits.get(name)
        per_step = "–"
        if run.step is not None:
            factor = subject.scheme.propagator(block.matrix, run.step)
            per_step = number(float(np.abs(np.linalg.eigvals(factor)).max()), 6)
        row: list[Child] = [
            spoken(name),
            block.verdict.value,
            "; ".join(_complex(root) for root in block.eigenvalues[:6]) + ("; …" if len(block.eigenvalues) > 6 else ""),
            per_step,
            "–" if limit is None else _limit(block.verdict, limit.spectral.step),
        ]
        rows.append(row)
    head: list[Child] = ["constraints", "verdict", "roots", "factor per step", "linear step limit"]
    return joined(element("h3", "Roots, and one step of the scheme"), table(head, merged(rows)))


def _limit(verdict: BlockStability, step: float) -> str:
    """The largest step at which the scheme still contracts; words where the law leaves nothing to contract."""
    if step > 0:
        return number(step)
    return "none: the law itself grows" if verdict is BlockStability.unstable else "none: kept, not attracted"


def _complex(root: complex) -> str:
    if abs(root.imag) < 1e-12 * max(1.0, abs(root)):
        return number(root.real + 0.0)
    return f"{number(root.real)}\u00a0{'+' if root.imag > 0 else '−'}\u00a0{number(abs(root.imag))}i"


def _transients(subject: PageFacts) -> Markup:
    rows: list[list[Child]] = [
        [
            spoken(name),
            number(found.spectral_abscissa),
            number(found.numerical_abscissa, 3) if abs(found.numerical_abscissa) > 1e-12 else "0",
            number(found.kreiss),
            f"{number(found.peak)} at t = {number(found.peak_time, 3)}" if found.peak > 1 + 1e-9 else "none",
            bound(found.bound),
        ]
        for name, found in subject.transients.items()
    ]
    if not rows:
        return Markup("")
    head: list[Child] = [
        "constraints",
        "decay",
        "first growth",
        "Kreiss constant",
        "largest growth",
        "Lyapunov's bound",
    ]
    note = paragraph("In common units (y, w/ω): how far deviations may grow before they die away.", class_="quiet")
    return joined(element("h3", "Transients"), table(head, merged(rows)), note)


def _conditions(subject: PageFacts) -> Markup:
    """Which gains would do: the polynomial of each block and its inequalities, where they are short enough to read."""
    try:
        found = conditions(subject.equations)
    except HoldfastError:
        return Markup("")
    rows: list[list[Child]] = []
    for block in found.blocks:
        shown = joined(*(p for k, r in enumerate(block.inequalities) for p in (" and " if k else "", mathml(latex(r)))))
        if block.constant and len(latex(block.polynomial)) <= LONGEST:
            never: Child = "for no values" if not block.attainable else "for all values"
            held = shown if block.attainable and block.inequalities else never
            rows.append([", ".join(map(spoken, block.constraints)), mathml(latex(block.polynomial)), held])
    if not rows:
        return Markup("")
    head: list[Child] = ["constraints", "characteristic polynomial", "deviations die away exactly where"]
    rows = merged(rows)
    if len(rows) <= MOST_LINES:
        return joined(element("h3", "Which gains attract"), table(head, rows))
    rest = details(f"The further {len(rows) - 1} blocks", table(head, rows[1:]))
    return joined(element("h3", "Which gains attract"), table(head, rows[:1]), rest)


def _matrix(subject: PageFacts) -> Markup:
    matrix = subject.equations.deviation_matrix
    if matrix.rows > LARGEST_MATRIX:
        return Markup("")
    shown = latex(matrix)
    column = r"\left(\begin{matrix}y\\w\end{matrix}\right)"
    names = [
        piece for k, name in enumerate(subject.spectrum.names) for piece in (", " * (k > 0), mathml(latex_name(name)))
    ]
    return details(
        "The matrix of the deviations",
        formula(rf"\frac{{d}}{{dt}}{column} = H{column}, \quad H = {shown}"),
        paragraph("in the order ", *names),
    )


SECTION = Section("law", "The law of the deviations", write)
