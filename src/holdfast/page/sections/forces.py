"""Multipliers and control forces: as formulas or statements, and as curves."""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.equations.writing import formula as latex
from holdfast.page.figure import even_groups, figure, thinned
from holdfast.page.html import Markup, details, joined, paragraph
from holdfast.page.mathml import formula
from holdfast.page.sections.section import Section, side_by_side
from holdfast.page.subject import Subject, counted
from holdfast.problem.quantities import latex_name

MOST = 60  # statements that are typeset
CURVES = 9


def write(subject: Subject) -> Markup:
    if not subject.held:
        return Markup("")
    return joined(_formulas(subject), side_by_side(*_curves(subject)))


def _formulas(subject: Subject) -> Markup:
    equations = subject.equations
    closed = equations.inverse_dynamics
    if closed:
        return joined(*(formula(f"{latex_name(name)} = {latex(value)}") for name, value in closed.items()))
    statements = equations.statements
    lines = [formula(f"{latex_name(s.name.name)} = {latex(s.value)}") for s in statements[:MOST]]
    rest = len(statements) - MOST
    names = ", ".join(equations.holder_names)
    return joined(
        paragraph(f"No short closed form: {names} follow by elimination, in {counted(len(statements), 'statement')}."),
        details(
            f"The {len(lines)} statements" if rest <= 0 else f"The first {MOST} of {len(statements)} statements",
            *lines,
            paragraph("The rest: holdfast derive --latex.", class_="quiet") if rest > 0 else None,
        ),
    )


def _curves(subject: Subject) -> list[Markup]:
    run, names = subject.trajectory, list(subject.equations.holder_names)
    made = []
    for number, group in enumerate(even_groups(names[:CURVES], 3)):

        def draw(axes: Any, group: list[str] = group) -> None:
            panels = np.atleast_1d(axes)
            for k, (panel, name) in enumerate(zip(panels, group, strict=True)):
                panel.plot(*thinned(run.times, run[name]), color=f"C{k}")
                panel.set_ylabel(subject.label(name))
            panels[-1].set_xlabel("$t$")

        caption = "Held forces over time: " + ", ".join(group)
        made.append(figure(f"forces-{number}", caption, draw, panels=len(group), height=1.0 + 1.05 * len(group)))
    return made


SECTION = Section("forces", "Multipliers and control forces", write)
