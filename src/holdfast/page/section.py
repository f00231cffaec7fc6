"""What a section is: a function from the subject of a page to its part of it, or to nothing where it does not apply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.page.facts import PageFacts
from holdfast.page.markup.html import Markup, element


@dataclass(frozen=True, slots=True)
class Section:
    """`write` gives the body; an empty one leaves the section out."""

    name: str
    title: str
    write: Callable[[PageFacts], Markup]

    def of(self, subject: PageFacts) -> Markup:
        body = self.write(subject)
        return element("section", element("h2", self.title), body, id=self.name) if body else body


def side_by_side(*figures: Markup) -> Markup:
    """Figures in columns where there is room."""
    kept = [figure for figure in figures if figure]
    return element("div", *kept, class_="figures") if kept else Markup("")
