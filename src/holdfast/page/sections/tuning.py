"""The gains and why: what tuning measured, and the map it chose from."""

from __future__ import annotations

from holdfast.page.facts import PageFacts, counted, number, sentence
from holdfast.page.figures.figure import drawing, shown
from holdfast.page.markup.html import Child, Markup, bullets, joined, paragraph, table
from holdfast.page.section import Section, side_by_side


def write(subject: PageFacts) -> Markup:
    tuning = subject.tuning
    if tuning is None:
        return Markup("")
    rows: list[list[Child]] = [
        [name, number(found.deviation), number(found.state_error), number(found.energy_error)]
        for name, found in tuning.rows.items()
    ]
    head: list[Child] = ["law", "worst scaled deviation", "state error", "energy error"]
    first = tuning.summary().splitlines()[0]
    return joined(
        paragraph(sentence(first)),
        table(head, rows),
        bullets(list(tuning.notes)) if tuning.notes else None,
        side_by_side(_map(tuning)),
        paragraph(f"Measured on this model in {counted(tuning.runs, 'run')}.", class_="quiet"),
    )


def _map(tuning: object) -> Markup:
    import matplotlib.pyplot as plt

    with drawing():
        plt.rcParams["backend"] = "svg"
        axes = tuning.plot()  # type: ignore[attr-defined]
        drawn = axes.figure
        try:
            return shown(drawn, "gains", "The worst deviation for every rate and damping ratio tried", wide=True)
        finally:
            plt.close(drawn)


SECTION = Section("tuning", "The gains, and why these", write)
