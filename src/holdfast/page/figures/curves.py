"""Quantities over time, a few panels to a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.page.facts import PageFacts
from holdfast.page.figures.chart import figure
from holdfast.page.figures.curve import even_groups, thinned
from holdfast.page.markup.html import Markup

PANELS = 3  # of a figure, at most


def curves(subject: PageFacts, names: Sequence[str], kind: str, title: str, most: int = PANELS) -> list[Markup]:
    """Figures of the named quantities along the run, `most` to one at most, as evenly filled as can be."""
    run, made = subject.trajectory, []
    for number, group in enumerate(even_groups(list(names), most)):

        def draw(axes: Any, group: list[str] = group) -> None:
            panels = axes if isinstance(axes, list) else [axes]
            for k, (panel, name) in enumerate(zip(panels, group, strict=True)):
                panel.plot(*thinned(run.times, run[name]), color=f"C{k}", name=name)
                panel.set_ylabel(subject.label(name))
            panels[-1].set_xlabel(subject.label("t"))

        caption = f"{title}: " + ", ".join(group)
        said, size = subject.prose(caption), 100 + 105 * len(group)
        made.append(figure(f"{kind}-{number}", caption, draw, panels=len(group), height=size, said=said))
    return made
