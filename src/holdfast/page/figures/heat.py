"""Many alike quantities over time in one picture: a row for each, darker where it is larger."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from holdfast.page.figures.scale import Scale
from holdfast.page.markup.figure_text import FigureText, power_of_ten
from holdfast.page.markup.html import Markup, element

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 640.0, 96.0, 16.0, 34.0, 42.0
ROW = 13.0  # units of the drawing for each quantity
COLUMNS, LEVELS, DECADES = 160, 12, 12  # stretches of time, shades, and powers of ten below the largest value


def heat_map(
    name: str, caption: str, times: np.ndarray, rows: Sequence[tuple[FigureText, np.ndarray]], label: FigureText
) -> Markup:
    """|values| of each row, the largest of every stretch of time, on one logarithmic scale of shades."""
    sizes = np.array([_largest(values) for _, values in rows])
    top = float(np.nanmax(sizes, initial=0.0))
    if not (math.isfinite(top) and top > 0):
        return Markup("")
    high = math.ceil(math.log10(top) - 1e-9)
    seen = sizes[sizes > 0]
    low = max(math.floor(math.log10(float(seen.min()))), high - DECADES)
    low = min(low, high - 1)
    height = TOP + ROW * len(rows) + BOTTOM
    across = Scale(float(times[0]), float(times[-1]), LEFT, WIDTH - RIGHT)
    parts = [
        _cells(sizes, low, high),
        *(_label(text, LEFT - 6, TOP + ROW * (k + 0.8)) for k, (text, _) in enumerate(rows)),
        _times(across, TOP + ROW * len(rows)),
        _label(label, (LEFT + WIDTH - RIGHT) / 2, height - 6, "middle", "word"),
        _key(low, high),
    ]
    head = f'<svg viewBox="0 0 {WIDTH:g} {height:g}" role="img">'
    inside = Markup(head + element("title", caption) + "".join(parts) + "</svg>")
    return element("figure", inside, element("figcaption", caption), id=f"figure-{name}", class_="wide")


def _largest(values: np.ndarray) -> np.ndarray:
    """The largest size in each stretch; nothing is lost between the columns."""
    edges = np.unique(np.linspace(0, len(values), min(COLUMNS, len(values)) + 1).astype(int))[:-1]
    return np.asarray(np.maximum.reduceat(np.nan_to_num(np.abs(values), nan=0.0), edges))


def _cells(sizes: np.ndarray, low: int, high: int) -> str:
    """One path for each shade; neighbours of one shade are one box."""
    with np.errstate(divide="ignore"):
        share = (np.log10(sizes) - low) / (high - low)
    shades = np.where(sizes > 0, np.clip(np.ceil(share * LEVELS), 1, LEVELS), 0).astype(int)
    wide = (WIDTH - LEFT - RIGHT) / shades.shape[1]
    boxes: dict[int, list[str]] = {}
    for row, line in enumerate(shades):
        edges = [0, *(np.nonzero(np.diff(line))[0] + 1).tolist(), len(line)]
        for a, b in pairwise(edges):
            if line[a]:
                x, y, long = LEFT + a * wide, TOP + ROW * row, (b - a) * wide
                place = f"M{x:.1f} {y:.1f}h{long:.1f}v{ROW - 1:g}h{-long:.1f}z"
                boxes.setdefault(int(line[a]), []).append(place)
    return "".join(_box("".join(boxes[shade]), shade) for shade in sorted(boxes))


def _box(path: str, shade: int) -> str:
    return f'<path d="{path}" class="f-s0" fill-opacity="{shade / LEVELS:.2f}"/>'


def _label(text: FigureText, x: float, y: float, anchor: str = "end", kind: str = "tick") -> str:
    size = 13.0 if kind == "tick" else 14.5
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{text.markup(size)}</text>'


def _times(across: Scale, bottom: float) -> str:
    values, labels, _ = across.ticks(7)
    return "".join(
        _label(text, float(x), bottom + 15, "middle") for x, text in zip(across(np.array(values)), labels, strict=True)
    )


def _key(low: int, high: int) -> str:
    """What the shades mean."""
    parts, first, wide = [], WIDTH - RIGHT - 12 * LEVELS - 50, 12.0
    for shade in range(1, LEVELS + 1):
        parts.append(_box(f"M{first + (shade - 1) * wide:.1f} 8h{wide:g}v10h{-wide:g}z", shade))
    parts.append(_label(power_of_ten(low), first - 6, 18))
    parts.append(_label(power_of_ten(high), first + LEVELS * wide + 6, 18, "start"))
    return "".join(parts)
