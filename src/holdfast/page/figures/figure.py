"""Figures of matplotlib as inline SVG: drawn in stand-in colours, coloured by the page's style in light and dark.

A content policy by hash forbids style attributes, so each becomes plain attributes and classes; namespaces, metadata
and unused names go too. The same run gives the same bytes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from holdfast.page.markup.html import Markup, element
from holdfast.results.style import SHAPE

WIDTH, HEIGHT = 4.6, 2.7  # inches; two figures stand side by side on a wide page

INK, QUIET, FAINT = "#010101", "#020202", "#030303"
SERIES = tuple(f"#0{k}0a0b" for k in range(1, 7))
GOOD, BAD, SHADE = "#0a0b01", "#0a0b02", "#0a0b03"
CLASSES = {INK: "ink", QUIET: "quiet", FAINT: "faint", GOOD: "good", BAD: "bad", SHADE: "shade"}
CLASSES |= {colour: f"s{k}" for k, colour in enumerate(SERIES)}

SETTINGS: dict[str, Any] = SHAPE | {
    "svg.fonttype": "path",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.direction": "in",
    "ytick.direction": "in",
    "axes.linewidth": 0.7,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.3,
    "axes.xmargin": 0.01,
    "hatch.color": QUIET,
    "axes.unicode_minus": True,
    "axes.formatter.limits": (-3, 4),
    "axes.formatter.use_mathtext": False,
    "text.parse_math": True,
    "path.simplify": True,
    "path.simplify_threshold": 0.15,
}


@contextmanager
def drawing() -> Iterator[None]:
    """The page's own settings, whatever the user's are, and no window."""
    import matplotlib as mpl
    from cycler import cycler

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        mpl.rcParams["axes.prop_cycle"] = cycler(color=SERIES)
        yield


def shown(drawn: Any, name: str, caption: str, *, wide: bool = False) -> Markup:
    """A finished matplotlib figure as an element of the page; a wide one takes a row of its own."""
    inside = (svg(drawn, name, caption), element("figcaption", caption))
    return element("figure", *inside, id=f"figure-{name}", class_="wide" if wide else None)


def svg(drawn: Any, name: str, caption: str) -> Markup:
    """The SVG text of a figure, fit for the page."""
    import matplotlib as mpl

    text = io.StringIO()
    for axes in drawn.axes:  # not `findobj`, which makes all the ticks
        for artist in (axes, *axes.get_children()):
            artist.set_rasterized(False)  # a picture within the picture would need a wider content policy
    with mpl.rc_context({"svg.hashsalt": f"holdfast-{name}", "svg.fonttype": "path"}):
        drawn.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return Markup(_cleaned(text.getvalue(), caption))


STYLE = re.compile(r' style="([^"]*)"')
WITHOUT = re.compile(r"<metadata>.*?</metadata>\s*|<style[^>]*>.*?</style>\s*|<!--.*?-->\s*", re.DOTALL)
GROUP_ID = re.compile(r'<g id="[^"]*"')
NAMES = re.compile(r' (?:xmlns(?::\w+)?|version)="[^"]*"')
NUMBER = re.compile(r"(\d+\.\d{2})\d+")


def _cleaned(text: str, caption: str) -> str:
    text = text[text.index("<svg") :]
    text = WITHOUT.sub("", text)
    text = NAMES.sub("", text).replace("xlink:href", "href")
    text = re.sub(r"<defs>\s*</defs>|<defs/>", "", GROUP_ID.sub("<g", text))
    text = STYLE.sub(_attributes, text)
    text = re.sub(r'(<path d="|translate\()([^")]*)', lambda m: m[1] + NUMBER.sub(r"\1", m[2]).replace("\n", ""), text)
    text = re.sub(r' (?:width|height)="[\d.]+pt"', "", text, count=2)
    label = element("title", caption)
    head = text.index(">") + 1
    return text[: head - 1] + ' role="img">' + label + re.sub(r"\s*\n\s*", "\n", text[head:]).strip()


def _attributes(style: re.Match[str]) -> str:
    """A style attribute as attributes, and stand-in colours as classes."""
    classes, written = [], []
    for part in style[1].split(";"):
        key, _, value = (piece.strip() for piece in part.partition(":"))
        if key in ("fill", "stroke") and value in CLASSES:
            classes.append(f"{key[0]}-{CLASSES[value]}")
        elif key:
            written.append(f' {key}="{value}"')
    return "".join(written) + (f' class="{" ".join(classes)}"' if classes else "")
