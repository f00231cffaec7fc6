"""The exhaust that gives the thrust a program asked for: formulas, and its speed and velocity along the run."""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.equations.forms.exhaust_formulas import AXES, exhaust_formulas
from holdfast.equations.writing.text import formula as latex
from holdfast.errors import HoldfastError
from holdfast.page.facts import PageFacts, number
from holdfast.page.figures.chart import figure
from holdfast.page.figures.curve import thinned
from holdfast.page.markup.figure_text import quantity, words
from holdfast.page.markup.html import Markup, element, joined, paragraph
from holdfast.page.markup.mathml import formula
from holdfast.page.section import Section, side_by_side
from holdfast.results.exhaust import Exhaust, exhaust

LONGEST_LINE = 700  # letters of LaTeX of a formula that is written out
MOST_POINTS = 3  # points whose exhaust is drawn


def write(subject: PageFacts) -> Markup:
    driven = [name for name, mass in subject.problem.system.masses.items() if mass.thrust]
    return joined(*(_of_point(subject, name, len(driven) > 1) for name in driven[:MOST_POINTS]))


def _of_point(subject: PageFacts, name: str, several: bool) -> Markup:
    found = exhaust(subject.trajectory, name)
    said = str(found)
    return joined(
        element("h3", name) if several else None,
        paragraph(f"{said[0].upper()}{said[1:]}."),
        _formulas(subject, name),
        side_by_side(_figure(found, name)),
    )


def _formulas(subject: PageFacts, name: str) -> Markup:
    try:
        found = exhaust_formulas(subject.equations, name).lines()
    except HoldfastError as error:
        return paragraph(f"There are no formulas: {error.what}.")
    lines = [f"{letter} = {latex(value)}" for _, letter, value in found]
    return joined(*(formula(line) for line in lines if len(line) <= LONGEST_LINE))


def _figure(found: Exhaust, name: str) -> Markup:
    if not np.isfinite(found.speed).any():
        return Markup("")

    def draw(axes: Any) -> None:
        upper, lower = axes
        for k, axis in enumerate(AXES[: found.velocity.shape[1]]):
            seen = np.isfinite(found.velocity[:, k])
            upper.plot(*thinned(found.times[seen], found.velocity[seen, k]), color=f"C{k}", label=quantity(f"u_{axis}"))
        upper.set_ylabel(quantity("u"))
        upper.legend()
        seen = np.isfinite(found.speed)
        lower.plot(*thinned(found.times[seen], found.speed[seen]), color="C0")
        lower.set_ylabel(words("|") + quantity("u") + words(" − ") + quantity("v") + words("|"))
        lower.set_xlabel(quantity("t"))

    last = number(float(found.speed[np.isfinite(found.speed)][-1]))
    caption = f"Velocity of the exhaust of {name}, and its speed relative to the point (at last {last})"
    return figure(f"exhaust-{name}", caption, draw, panels=2, height=310)


SECTION = Section("exhaust", "Exhaust", write)
