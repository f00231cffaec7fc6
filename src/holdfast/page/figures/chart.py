"""Charts as inline SVG, written by ourselves: curves, marks, lines and shades on plain or logarithmic axes.

Colours are classes, so that the page's style colours them in light, dark and print; there are no style attributes,
which the page's content policy forbids. The same run gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from holdfast.page.figures.scale import Scale, drawable, limits
from holdfast.page.markup.figure_text import FigureText, quantity, words
from holdfast.page.markup.html import Markup, element

WIDTH, HEIGHT = 460.0, 270.0  # units of the drawing; two figures stand side by side on a wide page
LEFT, RIGHT, BOTTOM, TOP, BETWEEN = 70.0, 14.0, 46.0, 12.0, 16.0
SIZE, TICK = 14.5, 13.0  # of letters
LEGEND = 19.0  # height of a row of it
MOST_X, MOST_Y = 7, 6  # ticks of an axis, about
TICK_ROOM = 44  # units of the drawing for each label below

INK, QUIET, FAINT, BAD, SHADE = "ink", "quiet", "faint", "bad", "shade"
SERIES = 6
TIME = quantity("t").spans[0]  # how the label of an axis of time begins
DASHES = {"--": "5 3", ":": "1.5 3"}


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """Something drawn: SVG attributes, and the places of its points as values."""

    x: np.ndarray
    y: np.ndarray
    attributes: str
    mark: str = ""  # "o" or "s": points instead of a line
    size: float = 0.0
    closed: bool = False


@dataclass
class Panel:
    """One pair of axes."""

    shapes: list[Shape] = field(default_factory=list)
    spans: list[tuple[float, float, str]] = field(default_factory=list)
    lines: list[tuple[str, float, str]] = field(default_factory=list)
    entries: list[tuple[str, FigureText, str]] = field(default_factory=list)
    x_limits: tuple[float, float] | None = None
    y_limits: tuple[float, float] | None = None
    x_label: FigureText | None = None
    y_label: FigureText | None = None
    log: bool = False
    columns: int = 0
    middle: str = ""

    def plot(
        self,
        x: Any,
        y: Any,
        mark: str = "",
        *,
        color: str | None = None,
        label: FigureText | str = "",
        linestyle: str = "-",
        linewidth: float = 1.8,
        markersize: float = 5.0,
        name: str = "",
        size: bool = False,
    ) -> None:
        """A curve, or marks; `name` is the quantity that is drawn (its `size`), by which a living page finds it."""
        drawn = sum(not shape.closed for shape in self.shapes)
        paint_class = _class(color if color is not None else f"C{drawn % SERIES}")
        dash = f' stroke-dasharray="{DASHES[linestyle]}"' if linestyle in DASHES else ""
        paint = (
            f'class="f-{paint_class}"'
            if mark
            else f'class="s-{paint_class}" stroke-width="{linewidth:g}" fill="none"{dash}'
        )
        told = (f' data-name="{escape(name, quote=True)}"' if name else "") + (' data-size="1"' if size else "")
        self.shapes.append(Shape(np.asarray(x, float), np.asarray(y, float), paint + told, mark, markersize * 0.7))
        if label:
            self.entries.append((paint, words(label) if isinstance(label, str) else label, mark))

    def fill(self, x: Any, y: Any, *, color: str) -> None:
        """A shaded area."""
        paint = f'class="f-{_class(color)}" fill-opacity="0.35"'
        self.shapes.append(Shape(np.asarray(x, float), np.asarray(y, float), paint, closed=True))

    def axhline(self, at: float, *, color: str, linewidth: float = 0.8, linestyle: str = "-") -> None:
        dash = f' stroke-dasharray="{DASHES[linestyle]}"' if linestyle in DASHES else ""
        self.lines.append(("h", at, f'class="s-{_class(color)}" stroke-width="{linewidth:g}"{dash}'))

    def axvline(self, at: float, *, color: str, linewidth: float = 0.8) -> None:
        self.lines.append(("v", at, f'class="s-{_class(color)}" stroke-width="{linewidth:g}"'))

    def axvspan(self, low: float, high: float, *, color: str) -> None:
        self.spans.append((low, high, f'class="f-{_class(color)}" fill-opacity="0.12"'))

    def set_xlim(self, low: float, high: float) -> None:
        self.x_limits = (float(low), float(high))

    def set_ylim(self, low: float, high: float) -> None:
        self.y_limits = (float(low), float(high))

    def set_xlabel(self, label: FigureText | str) -> None:
        self.x_label = words(label) if isinstance(label, str) else label

    def set_ylabel(self, label: FigureText | str) -> None:
        self.y_label = words(label) if isinstance(label, str) else label

    def legend(self, columns: int = 4) -> None:
        """Show what each curve is, above the axes, where it covers nothing."""
        self.columns = min(columns, len(self.entries))

    @property
    def rows(self) -> int:
        """Of the legend."""
        return -(-len(self.entries) // self.columns) if self.columns else 0

    def ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The limits of both axes: as set, or so that everything is seen."""
        across = [shape.x for shape in self.shapes]
        up = [shape.y for shape in self.shapes]
        up += [np.array([at]) for kind, at, _ in self.lines if kind == "h"]
        x = self.x_limits or limits(across, 0.01 if not any(shape.mark for shape in self.shapes) else 0.05)
        y = self.y_limits or limits(up, 0.05, log=self.log)
        return drawable(*x), drawable(*y, log=self.log)


def _class(color: str) -> str:
    return f"s{int(color[1:]) % SERIES}" if color.startswith("C") and color[1:].isdigit() else color


def figure(
    name: str,
    caption: str,
    draw: Callable[[Any], None],
    *,
    panels: int = 1,
    height: float = HEIGHT,
    equal: bool = False,
    said: Markup | None = None,
) -> Markup:
    """One figure with its caption, as it is `said` with names typeset; `draw` is given the axes.

    Several panels are a list of axes, above each other; where they are `equal` (one unit both ways), side by side.
    """
    made = [Panel() for _ in range(panels)]
    draw(made if panels > 1 else made[0])
    over_time = any(panel.x_label is not None and panel.x_label.spans[0] == TIME for panel in made)
    top = TOP + LEGEND * max(panel.rows for panel in made) + 6
    parts = []
    for k, panel in enumerate(made):
        box = _beside(k, panels, top, height) if equal else _above(k, panels, top, height)
        last = equal or k == panels - 1
        parts.append(_panel(panel, box, f"{name}-{k}", last=last, equal=equal, over_time=over_time))
    head = f'<svg viewBox="0 0 {WIDTH:g} {height:g}" role="img">'
    inside = Markup(head + element("title", caption) + "".join(parts) + "</svg>")
    return element("figure", inside, element("figcaption", said or caption), id=f"figure-{name}")


Box = tuple[float, float, float, float]  # left, top, right, bottom


def _above(k: int, panels: int, top: float, height: float) -> Box:
    room = (height - top - BOTTOM - BETWEEN * (panels - 1)) / panels
    begin = top + k * (room + BETWEEN)
    return LEFT, begin, WIDTH - RIGHT, begin + room


def _beside(k: int, panels: int, top: float, height: float) -> Box:
    wide = (WIDTH - panels * (LEFT + RIGHT)) / panels
    begin = k * (LEFT + wide + RIGHT) + LEFT
    return begin, top, begin + wide, height - BOTTOM


def _panel(panel: Panel, box: Box, name: str, *, last: bool, equal: bool, over_time: bool) -> str:
    (x0, x1), (y0, y1) = panel.ends()
    if equal:
        box = _equal(box, x1 - x0, y1 - y0)
    left, top, right, bottom = box
    across, up = Scale(x0, x1, left, right), Scale(y0, y1, bottom, top, panel.log)
    clip = f"clip-{name}"
    area = f'<rect x="{left:g}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}"/>'
    drawn = [_span(span, across, box) for span in panel.spans]
    grid, marks = _axes(panel, box, across, up, last=last)
    drawn += [_line(line, across, up, box) for line in panel.lines]
    drawn += [_shape(shape, across, up) for shape in panel.shapes]
    inside = f'<clipPath id="{clip}">{area}</clipPath><g clip-path="url(#{clip})">{"".join(drawn)}</g>'
    scales = f'data-across="{x0!r} {x1!r} {left:g} {right:g}" data-up="{y0!r} {y1!r} {bottom:.1f} {top:.1f}"'
    log = (' data-log="1"' if panel.log else "") + (' data-time="1"' if over_time else "")
    inner = grid + inside + marks + _legend(panel, box) + _middle(panel, box)
    return f'<g class="panel" {scales}{log}>{inner}</g>'


def _equal(box: Box, width: float, height: float) -> Box:
    """The largest box within the box in which both axes have one unit."""
    left, top, right, bottom = box
    unit = min((right - left) / width, (bottom - top) / height)
    spare_x, spare_y = (right - left) - unit * width, (bottom - top) - unit * height
    return left + spare_x / 2, top + spare_y / 2, right - spare_x / 2, bottom - spare_y / 2


def _text(label: FigureText, x: float, y: float, size: float, anchor: str = "middle", turned: bool = False) -> str:
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
    kind = "tick" if size == TICK else "word"
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}"{turn}>{label.markup(size)}</text>'


def _axes(panel: Panel, box: Box, across: Scale, up: Scale, *, last: bool) -> tuple[str, str]:
    """Lines of the grid, to stand behind the curves; and spines, ticks and labels, to stand before them."""
    left, top, right, bottom = box
    grid: list[str] = []
    below: list[str] = []
    beside: list[str] = []
    marks = [f'<path d="M{left:g} {top:.1f}V{bottom:.1f}H{right:g}" class="s-quiet" fill="none" stroke-width="1"/>']
    values, labels, factor = across.ticks(max(2, min(MOST_X, int((right - left) / TICK_ROOM))))
    for x, label in zip(across(np.array(values)), labels, strict=True):
        grid.append(f"M{x:.1f} {top:.1f}V{bottom:.1f}")
        if last:
            below.append(_text(label, x, bottom + 16, TICK))
    if factor is not None and last:
        below.append(_text(factor, right, bottom + 33, TICK, "end"))
    values, labels, factor = up.ticks(max(2, min(MOST_Y, int((bottom - top) / 30))))
    for y, label in zip(up(np.array(values)), labels, strict=True):
        grid.append(f"M{left:g} {y:.1f}H{right:g}")
        beside.append(_text(label, left - 6, y + 0.33 * TICK, TICK, "end"))
    if factor is not None:
        beside.append(_text(factor, left + 2, top - 4, TICK, "start"))
    marks.append(f'<g class="across">{"".join(below)}</g><g class="up">{"".join(beside)}</g>')
    if panel.x_label is not None and last:
        marks.append(_text(panel.x_label, (left + right) / 2, bottom + 36, SIZE))
    if panel.y_label is not None:
        marks.append(_text(panel.y_label, left - LEFT + SIZE, (top + bottom) / 2, SIZE, turned=True))
    return f'<path d="{"".join(grid)}" class="s-faint grid" fill="none" stroke-width="0.8"/>', "".join(marks)


def _span(span: tuple[float, float, str], across: Scale, box: Box) -> str:
    low, high, paint = span
    _, top, right, bottom = box
    x0, x1 = (float(x) for x in across(np.array([low, high])))
    width = max(0.0, min(x1, right) - x0)
    return f'<rect x="{x0:.1f}" y="{top:.1f}" width="{width:.1f}" height="{bottom - top:.1f}" {paint}/>'


def _line(line: tuple[str, float, str], across: Scale, up: Scale, box: Box) -> str:
    kind, at, paint = line
    left, top, right, bottom = box
    if kind == "h":
        return f'<path d="M{left:g} {_near(up(at)):.2f}H{right:g}" {paint} fill="none"/>'
    return f'<path d="M{_near(across(at)):.2f} {top:.1f}V{bottom:.1f}" {paint} fill="none"/>'


def _near(place: np.ndarray) -> float:
    """A place on the paper, or just off it."""
    return float(np.clip(np.nan_to_num(place, nan=-9999.0), -9999, 9999))


def _shape(shape: Shape, across: Scale, up: Scale) -> str:
    x, y = across(shape.x), up(shape.y)
    seen = np.isfinite(x) & np.isfinite(y) & np.isfinite(shape.x) & np.isfinite(shape.y)
    if shape.mark:
        return "".join(_mark(shape, a, b) for a, b in zip(x[seen], y[seen], strict=True) if max(abs(a), abs(b)) < 9999)
    x, y = np.clip(x, -9999, 9999), np.clip(y, -9999, 9999)
    parts, drawing = [], False
    for a, b, here in zip(x.tolist(), y.tolist(), seen.tolist(), strict=True):
        if here:
            parts.append(f"{'L' if drawing else 'M'}{a:.1f} {b:.1f}")
        drawing = here
    return f'<path d="{"".join(parts)}{"Z" if shape.closed else ""}" {shape.attributes}/>'


def _mark(shape: Shape, x: float, y: float) -> str:
    if shape.mark == "s":
        half = shape.size
        return f'<path d="M{x - half:.1f} {y - half:.1f}h{2 * half:g}v{2 * half:g}h{-2 * half:g}z" {shape.attributes}/>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{shape.size:g}" {shape.attributes}/>'


def _legend(panel: Panel, box: Box) -> str:
    """Rows of samples and words, the last entry of each at the right."""
    parts = []
    for row in range(panel.rows):
        entries = panel.entries[row * panel.columns : (row + 1) * panel.columns]
        y = box[1] - 9 - LEGEND * (panel.rows - 1 - row)
        x = box[2] - sum(26 + SIZE * label.width + 14 for _, label, _ in entries) + 14
        for paint, label, mark in entries:
            if mark:
                sample = _mark(Shape(np.zeros(0), np.zeros(0), paint, mark, 3.5), x + 10, y - 5)
            else:
                sample = f'<path d="M{x:.1f} {y - 5:.1f}h20" {paint}/>'
            parts.append(f'<g class="entry">{sample}{_text(label, x + 26, y, SIZE, "start")}</g>')
            x += 26 + SIZE * label.width + 14
    return "".join(parts)


def _middle(panel: Panel, box: Box) -> str:
    left, top, right, bottom = box
    return _text(words(panel.middle), (left + right) / 2, (top + bottom) / 2, SIZE) if panel.middle else ""
