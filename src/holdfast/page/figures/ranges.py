"""A run inside its box: for each quantity the range that a proof covers, and where in it the run was."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holdfast.page.markup.figure_text import FigureText, words
from holdfast.page.markup.html import Markup, element

WIDTH, ROW, TOP = 460.0, 26.0, 8.0
LEFT, RIGHT = 150.0, 372.0  # of the boxes; names and ends stand beside them

Range = tuple[FigureText, tuple[float, float], tuple[str, str], np.ndarray]  # name, box, its ends as texts, the run


def ranges(name: str, caption: str, rows: Sequence[Range]) -> Markup:
    """One bar for each quantity, all boxes of one width: what counts is where in its box the run was."""
    parts = []
    for k, (label, box, ends, values) in enumerate(rows):
        y = TOP + ROW * k
        parts.append(_text(label, 8, y + 14, "start", "word"))
        size = f'x="{LEFT:g}" y="{y + 2:g}" width="{RIGHT - LEFT:g}" height="15"'
        parts.append(f'<rect {size} class="f-shade" fill-opacity="0.4"/>')
        parts.append(_run(box, values, y + 9.5))
        parts += [_text(words(ends[0]), LEFT - 6, y + 14), _text(words(ends[1]), RIGHT + 6, y + 14, "start")]
    head = f'<svg viewBox="0 0 {WIDTH:g} {TOP * 2 + ROW * len(rows):g}" role="img">'
    inside = Markup(head + element("title", caption) + "".join(parts) + "</svg>")
    return element("figure", inside, element("figcaption", caption), id=f"figure-{name}")


def _run(box: tuple[float, float], values: np.ndarray, y: float) -> str:
    """From the smallest to the largest value of the run, and marks where it began and ended."""
    low, high = box
    seen = values[np.isfinite(values)]
    if not (high > low and seen.size):
        return ""

    def place(value: float) -> float:
        return LEFT + (RIGHT - LEFT) * min(max((float(value) - low) / (high - low), -0.02), 1.02)

    a, b = place(seen.min()), place(seen.max())
    return (
        f'<path d="M{a:.1f} {y:g}H{max(b, a + 1):.1f}" class="s-s0" stroke-width="5" fill="none"/>'
        f'<circle cx="{place(seen[0]):.1f}" cy="{y:g}" r="4" class="f-s1"/>'
    )


def _text(label: FigureText, x: float, y: float, anchor: str = "end", kind: str = "tick") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{label.markup(13.0)}</text>'
