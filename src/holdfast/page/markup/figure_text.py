"""Words and quantities in figures: text with italic letters, dots, subscripts and powers, in the page's own fonts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

from holdfast.page.markup.html import Markup

UPPER = "Alpha Beta Gamma Delta Epsilon Zeta Eta Theta Iota Kappa Lambda Mu Nu Xi Omicron Pi Rho . Sigma Tau Upsilon"
UPPER += " Phi Chi Psi Omega ."
LOWER = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho . sigma tau upsilon"
GREEK = f"{UPPER} {LOWER} phi chi psi omega".split()  # in the order of the italic letters from U+1D6E2 on
FIRST_GREEK, FIRST_UPPER, FIRST_LOWER = 0x1D6E2, 0x1D434, 0x1D44E
PLANCK = "\u210e"  # the italic h stands elsewhere
DOTS = {"_dot": "\u0307", "_ddot": "\u0308"}
TALL = frozenset("b d f h i j k l t beta delta zeta theta lambda xi".split())
RATES = {"\u0307": "d/dt ", "\u0308": "d²/dt² "}
NARROW, WIDE = frozenset("fijlrtI ,.:;'()[]|!"), frozenset("mwMWQOGDHNUVAC−×+=")
SMALL = 0.72  # of the size: what is raised or lowered


@dataclass(frozen=True, slots=True)
class TextRun:
    """Letters in one style: `level` is 1 for raised ones, −1 for lowered ones."""

    text: str
    level: int = 0


@dataclass(frozen=True, slots=True)
class FigureText:
    """Spans in a row."""

    spans: tuple[TextRun, ...]

    def __add__(self, other: FigureText) -> FigureText:
        return FigureText((*self.spans, *other.spans))

    @property
    def width(self) -> float:
        """About how wide it is, in letters' sizes; there is no browser here to ask."""
        return sum(_width(span.text) * (SMALL if span.level else 1.0) for span in self.spans)

    def markup(self, size: float) -> Markup:
        """As the inside of an SVG text element of this size."""
        parts, shift = [], 0.0
        for span in self.spans:
            wanted = -0.38 * size if span.level > 0 else 0.22 * size if span.level < 0 else 0.0
            moved = f' dy="{wanted - shift:.1f}"' if wanted != shift else ""
            style = ' class="small"' if span.level else ""
            parts.append(f"<tspan{moved}{style}>{escape(span.text)}</tspan>" if moved or style else escape(span.text))
            shift = wanted
        return Markup("".join(parts))


def words(text: str) -> FigureText:
    """Plain text."""
    return FigureText((TextRun(text),))


def quantity(name: str, unit: str = "") -> FigureText:
    """A name as formulas have it: Greek words as letters, digits and parts after _ lowered, rates with dots."""
    dot = ""
    for ending, mark in sorted(DOTS.items(), key=lambda item: -len(item[0])):
        if name.endswith(ending):
            name, dot = name.removesuffix(ending), mark
            break
    stem, *rest = name.split("_")
    letters = re.fullmatch(r"([A-Za-z]+?)([0-9]+)", stem)
    if letters:
        stem, rest = letters[1], [letters[2], *rest]
    tall = len(_letter(stem)) > 1 or stem[:1].isupper() or stem in TALL  # a dot over it is lost: d/dt stands before it
    spans = [TextRun((RATES[dot] if dot and tall else "") + _letter(stem) + ("" if tall else dot))]
    below = " ".join(_letter(part) for part in rest if part)
    if below:
        spans.append(TextRun(below, -1))
    if unit:
        spans.append(TextRun(f" [{unit}]"))
    return FigureText(tuple(spans))


def _letter(word: str) -> str:
    """A word as it is set: one letter or the name of a Greek one in italics, others upright."""
    if word in GREEK and word != ".":
        return chr(FIRST_GREEK + GREEK.index(word))
    if len(word) == 1 and word.isascii() and word.isalpha():
        if word == "h":
            return PLANCK
        return chr((FIRST_UPPER + ord(word) - ord("A")) if word.isupper() else (FIRST_LOWER + ord(word) - ord("a")))
    return word


def number(value: float, decimals: int) -> FigureText:
    """A tick's value with a true minus."""
    return words(f"{value:.{decimals}f}".replace("-", "−"))


def power_of_ten(exponent: int, factor: str = "") -> FigureText:
    """10ⁿ, or × 10ⁿ."""
    return FigureText((TextRun(f"{factor}10"), TextRun(str(exponent).replace("-", "−"), 1)))


def _width(text: str) -> float:
    return sum(0.0 if "\u0300" <= c <= "\u036f" else 0.3 if c in NARROW else 0.75 if c in WIDE else 0.52 for c in text)
