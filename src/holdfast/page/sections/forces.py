"""Multipliers and control forces: as formulas or statements, and as curves."""

from __future__ import annotations

from holdfast.equations.writing.text import formula as latex
from holdfast.page.facts import PageFacts, counted
from holdfast.page.figures.curves import curves
from holdfast.page.markup.html import Markup, details, joined, paragraph
from holdfast.page.markup.mathml import formula
from holdfast.page.section import Section, side_by_side
from holdfast.problem.quantities import latex_name

MOST_STATEMENTS = 60  # statements that are typeset
CURVES = 9


def write(subject: PageFacts) -> Markup:
    if not subject.held:
        return Markup("")
    return joined(_formulas(subject), side_by_side(*_curves(subject)))


def _formulas(subject: PageFacts) -> Markup:
    equations = subject.equations
    closed = equations.inverse_dynamics
    if closed:
        return joined(*(formula(f"{latex_name(name)} = {latex(value)}") for name, value in closed.items()))
    statements = equations.statements
    lines = [formula(f"{latex_name(s.name.name)} = {latex(s.value)}") for s in statements[:MOST_STATEMENTS]]
    rest = len(statements) - MOST_STATEMENTS
    names = ", ".join(equations.holder_names)
    return joined(
        paragraph(f"No short closed form: {names} follow by elimination, in {counted(len(statements), 'statement')}."),
        details(
            f"The {len(lines)} statements"
            if rest <= 0
            else f"The first {MOST_STATEMENTS} of {len(statements)} statements",
            *lines,
            paragraph("The rest: holdfast derive --latex.", class_="quiet") if rest > 0 else None,
        ),
    )


def _curves(subject: PageFacts) -> list[Markup]:
    return curves(subject, subject.equations.holder_names[:CURVES], "forces", "Held forces over time")


SECTION = Section("forces", "Multipliers and control forces", write)
