"""The gains and why: what tuning measured, and the map it chose from."""

from __future__ import annotations

from typing import Any

from holdfast.page.facts import PageFacts, counted, number, sentence
from holdfast.page.figures.figure import drawing, shown
from holdfast.page.markup.html import Child, Markup, bullets, joined, paragraph, table
from holdfast.page.section import Section, side_by_side
from holdfast.stability.tuning.plot import MARKERS

SIZE = 5.6, 3.9  # inches: letters that can be read on a phone
CAPTION = (
    "The worst deviation for every rate and damping ratio tried: grey where runs diverge, hatched where errors are "
    "more than twice those without gains; a red line on the scale is the deviation without gains; signs as in the table"
)


def write(subject: PageFacts) -> Markup:
    tuning = subject.tuning
    if tuning is None:
        return Markup("")
    marks = _marks(tuning)
    rows: list[list[Child]] = [
        [
            sentence(f"{marks.get(name, '')} {name}".strip()),
            number(found.deviation), number(found.state_error), number(found.energy_error),
        ]
        for name, found in tuning.rows.items()
    ]  # fmt: skip
    head: list[Child] = ["law", "worst scaled deviation", "state error", "energy error"]
    first = tuning.summary().splitlines()[0]
    return joined(
        paragraph(sentence(first)),
        table(head, rows),
        bullets([sentence(note) for note in tuning.notes]) if tuning.notes else None,
        side_by_side(_map(tuning)),
        paragraph(f"Measured on this model in {counted(tuning.runs, 'run')}.", class_="quiet"),
    )


def _marks(tuning: Any) -> dict[str, str]:
    """The sign of each law on the map, for its row of the table: that is the legend."""
    signs = dict(zip(MARKERS, "○□◇△▽✚☆✖◁▷", strict=True))
    textbook = getattr(tuning, "textbook", ())
    found = {mark.name: signs[kind] for mark, kind in zip(textbook, MARKERS, strict=False)}
    return {**found, "chosen here": "★"} if found else {}


def _map(tuning: Any) -> Markup:
    import matplotlib.pyplot as plt

    with drawing():
        plt.rcParams["backend"] = "svg"
        axes = tuning.plot()
        drawn = axes.figure
        if _marks(tuning) and axes.get_legend() is not None:
            axes.get_legend().remove()
            drawn.set_size_inches(*SIZE)
        try:
            return shown(drawn, "gains", CAPTION)
        finally:
            plt.close(drawn)


SECTION = Section("tuning", "The gains, and why these", write)
