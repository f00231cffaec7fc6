"""LaTeX to MathML, with what browsers need to set it well: readable dots, stretching brackets, thin spaces."""

from __future__ import annotations

import re
from functools import lru_cache
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert

from holdfast.page.markup.html import Markup, element

FUNCTIONS = frozenset("sin cos tan sinh cosh tanh exp log ln asin acos atan atan2 min max sign".split())
NAMESPACE = re.compile(r' xmlns="[^"]*"')
BARE = re.compile(r"&(?!#\w+;)")
WORD = re.compile(r'(?:<mi mathvariant="normal">[^<]</mi>){2,}')  # upright letters that belong together
ROWS = frozenset({"math", "mrow", "mtd", "msqrt", "mstyle"})
DOTS = {"\u02d9": "\u0307", "\u00a8": "\u0308"}  # accents, and the same as marks on a letter
ITALIC = {chr(0x61 + k): chr(0x1D44E + k) for k in range(26) if k != 7}
ITALIC |= {chr(0x3B1 + k): chr(0x1D6FC + k) for k in range(25)} | {"\u03d5": "\U0001d719"}
TALL = frozenset("bdfhijklt\u03b2\u03b4\u03b6\u03b8\u03bb\u03be")  # letters on which a mark would sit too low
LONGEST_FORMULA = 12_000  # letters of LaTeX that are still typeset; longer formulas can be copied


@lru_cache(maxsize=512)
def mathml(latex: str, display: str = "inline") -> Markup:
    """A formula as MathML; the page's font has the tables that let brackets grow."""
    text = BARE.sub("&amp;", NAMESPACE.sub("", convert(latex, display=display)))
    text = WORD.sub(_one_word, text).replace('mathvariant="sans-serif"', 'mathvariant="normal"')
    root = ElementTree.fromstring(text)
    _dotted(root)
    _spaced(root)
    return Markup(ElementTree.tostring(root, encoding="unicode", short_empty_elements=False))


def _one_word(letters: re.Match[str]) -> str:
    return "<mi>" + re.sub(r"<[^>]*>", "", letters[0]) + "</mi>"


def _dotted(parent: Element) -> None:
    """Dots carry meaning here: on a small letter they become marks of the font, elsewhere they are lifted clear."""
    for place, child in enumerate(list(parent)):
        _dotted(child)
        if child.tag != "mover" or len(child) != 2 or child[1].text not in DOTS:
            continue
        letter, accent = "".join(child[0].itertext()), child[1]
        if letter in ITALIC and letter not in TALL:
            parent[place] = _leaf("mi", ITALIC[letter] + DOTS[accent.text or ""])
        else:
            lifted = Element("mpadded", {"voffset": "-0.3em"})
            lifted.append(accent)
            child.set("accent", "true")
            child[1] = lifted


def _spaced(parent: Element) -> None:
    """A thin space beside words, so that names and functions do not run into their neighbours."""
    for child in parent:
        _spaced(child)
    if parent.tag not in ROWS:
        return
    children = list(parent)
    for before, after in zip(children[-2::-1], children[:0:-1], strict=True):  # from the end, so places stay right
        if _apart(before, after):
            parent.insert(list(parent).index(after), Element("mspace", {"width": "0.17em"}))


def _apart(before: Element, after: Element) -> bool:
    if {before.tag, after.tag} & {"mo", "mspace"}:
        return False
    left, right = _word(before), _word(after)
    if left in FUNCTIONS and _bracketed(after):
        return False
    return len(left) > 1 or len(right) > 1


def _word(item: Element) -> str:
    """The letters of an identifier, or of what carries indices and powers; nothing for anything else."""
    while item.tag in ("msub", "msup", "msubsup", "mrow") and len(item):
        if item.tag == "mrow" and len(item) > 1:
            return ""
        item = item[0]
    text = item.text or ""
    return text if item.tag == "mi" and text.isascii() else ""


def _bracketed(item: Element) -> bool:
    while item.tag == "mrow" and len(item):
        item = item[0]
    return item.tag == "mo"


def _leaf(tag: str, text: str) -> Element:
    made = Element(tag)
    made.text = text
    return made


def formula(latex: str, note: str = "") -> Markup:
    """A displayed formula with a button that copies its LaTeX."""
    shown = (
        mathml(latex, "block")
        if len(latex) <= LONGEST_FORMULA
        else element("p", f"a formula of {len(latex):,} letters of LaTeX, to be copied", class_="quiet")
    )
    button = element("button", "LaTeX", type="button", class_="copy", data_copy=latex, title="Copy the LaTeX of this")
    label = element("div", note, class_="note") if note else None
    return element("div", label, element("div", shown, class_="scroll", tabindex="0"), button, class_="formula")
