"""What a section is: a function from the subject of a page to its part of it, or to nothing where it does not apply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.page.facts import PageFacts
from holdfast.page.markup.html import Child, Markup, element, joined

MOST_NAMES = 4  # of rows that say the same


@dataclass(frozen=True, slots=True)
class Section:
    """`write` gives the body; an empty one leaves the section out."""

    name: str
    title: str
    write: Callable[[PageFacts], Markup]

    def of(self, subject: PageFacts) -> Markup:
        body = self.write(subject)
        return element("section", heading(self.title, self.name), body, id=self.name) if body else body


def heading(title: str, name: str) -> Markup:
    """The head of a section, with a link to itself."""
    anchor = element("a", "#", href=f"#{name}", class_="anchor", aria_label=f"Link to: {title}")
    return element("h2", title, " ", anchor)


def side_by_side(*figures: Markup) -> Markup:
    """Figures in columns where there is room."""
    kept = [figure for figure in figures if figure]
    return element("div", *kept, class_="figures") if kept else Markup("")


def merged(rows: list[list[Child]]) -> list[list[Child]]:
    """Rows that say the same of several names as one row: "link1 to link20 (20)". The first cell is the name."""
    found: dict[tuple[Child, ...], list[Child]] = {}
    for first, *rest in rows:
        found.setdefault(tuple(rest), []).append(first)
    return [[_names(names), *rest] for rest, names in found.items()]


def _names(names: list[Child]) -> Child:
    few = [name for name in names if name is not None]
    if len(few) <= MOST_NAMES:
        return joined(*(piece for k, name in enumerate(few) for piece in ((", " if k else ""), name)))
    return joined(few[0], ", ", few[1], ", …, ", few[-1], f" ({len(few)} alike)")
