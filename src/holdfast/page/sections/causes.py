"""The held forces by their cause: what holds the exact program, and what corrects deviations."""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.equations.forms.multiplier_parts import DEGREES, multiplier_parts, part_name
from holdfast.page.facts import PageFacts
from holdfast.page.figures.chart import figure
from holdfast.page.figures.curve import thinned
from holdfast.page.markup.figure_text import FigureText, TextRun, quantity
from holdfast.page.markup.html import Markup, details, joined, paragraph
from holdfast.page.markup.mathml import formula
from holdfast.page.section import side_by_side

LONGEST_LINE = 700  # letters of LaTeX of a part that is written out
MOST_HOLDERS = 4  # forces whose parts are drawn
WORDS = (
    "Each force is a sum of three parts: (0) holds the exact program, (1) corrects deviations to first order, "
    "and (2) is of second order in them."
)


def causes(subject: PageFacts) -> Markup:
    """Formulas and curves of the parts, folded away below the forces themselves."""
    if subject.problem.program.shortfall or subject.equations.friction is not None:
        return Markup("")  # a control that is cut off is no sum of its parts, nor a reaction that friction uses
    parts = multiplier_parts(subject.equations)
    shown = [line for line in parts.latex_lines() if len(line) <= LONGEST_LINE] if parts.formulas else []
    drawn = [_figure(subject, name) for name in subject.equations.holder_names[: 1 if subject.large else MOST_HOLDERS]]
    return details("By cause", paragraph(WORDS), joined(*map(formula, shown)), side_by_side(*drawn))


def _figure(subject: PageFacts, holder: str) -> Markup:
    run = subject.trajectory
    curves = {degree: run[part_name(holder, degree)] for degree in DEGREES}
    acting = {degree: values for degree, values in curves.items() if np.isfinite(values).all() and values.any()}
    if not acting:
        return Markup("")

    def draw(axes: Any) -> None:
        for degree, values in acting.items():
            axes.plot(*thinned(run.times, values), color=f"C{degree}", label=_label(holder, degree))
        axes.set_xlabel(subject.label("t"))
        axes.set_ylabel(subject.label(holder))
        axes.legend()

    return figure(f"cause-{holder}", f"The parts of {holder}", draw, said=subject.prose(f"The parts of {holder}"))


def _label(holder: str, degree: int) -> FigureText:
    return quantity(holder) + FigureText((TextRun(f"({degree})", 1),))
