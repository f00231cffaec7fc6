"""LaTeX to MathML, with what browsers need to set it well: readable dots, stretching brackets, thin spaces."""

from __future__ import annotations

import re
from functools import lru_cache
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert

from holdfast.page.markup.html import Markup, element, joined

FUNCTIONS = frozenset("sin cos tan sinh cosh tanh exp log ln asin acos atan atan2 min max sign".split())
NAMESPACE = re.compile(r' xmlns="[^"]*"')
BARE = re.compile(r"&(?!#\w+;)")
WORD = re.compile(r'(?:<mi mathvariant="normal">[^<]</mi>){2,}')  # upright letters that belong together
ROWS = frozenset({"math", "mrow", "mtd", "msqrt", "mstyle"})
DOTS = {"\u02d9": "\u0307", "\u00a8": "\u0308"}  # accents, and the same as marks on a letter
ONE_DOT = "\u02d9"
RAISED = frozenset({"msup", "msub", "msubsup"})
ITALIC = {chr(0x61 + k): chr(0x1D44E + k) for k in range(26) if k != 7}
ITALIC |= {chr(0x3B1 + k): chr(0x1D6FC + k) for k in range(25)} | {"\u03d5": "\U0001d719"}
TALL = frozenset("bdfhijklt\u03b2\u03b4\u03b6\u03b8\u03bb\u03be")  # letters on which a mark would sit too low
SIGNS, CLOSING = frozenset("+-−±"), frozenset(")]}|!′")
LONGEST_PIECES = (70, 120)  # letters that fit a narrow page, and a sheet of paper
LONGEST_FORMULA = 12_000  # letters of LaTeX that are still typeset; longer formulas can be copied


def mathml(latex: str, display: str = "inline") -> Markup:
    """A formula as MathML; the page's font has the tables that let brackets grow."""
    return _written(_tree(latex, display))


@lru_cache(maxsize=512)
def broken(latex: str) -> tuple[Markup, ...]:
    """A displayed formula as pieces that may stand in lines of their own: cut before + and −, and behind =.

    Browsers break text, not formulas: each piece is a formula by itself, and what does not fit goes to the next line.
    """
    root = _tree(latex, "block")
    row = root
    while len(row) == 1 and row[0].tag == "mrow":
        row = row[0]
    pieces = [part for piece in _terms(list(row)) for part in _opened(piece)]
    return tuple(_written(_formula_of(piece)) for piece in pieces)


def _terms(row: list[Element]) -> list[list[Element]]:
    """A row cut before its signs and behind =."""
    pieces: list[list[Element]] = [[]]
    for child in row:
        text = child.text if child.tag == "mo" else None
        begins = text in SIGNS and pieces[-1] and not _is_sign(pieces[-1][-1])
        if begins or (pieces[-1] and _is_equal(pieces[-1][-1])):
            pieces.append([])
        pieces[-1].append(child)
    return pieces


def _opened(piece: list[Element]) -> list[list[Element]]:
    """A long term in pieces: a/b as (1/b) a, and a bracket cut at its own signs, its ends as large letters."""
    if sum(map(_length, piece)) <= LONGEST_PIECES[0]:
        return [piece]
    longest = max(range(len(piece)), key=lambda k: _length(piece[k]))
    item, before, after = piece[longest], piece[:longest], piece[longest + 1 :]
    if item.tag == "mfrac" and _length(item[0]) > _length(item[1]):
        one = Element("mfrac")
        one.extend([_leaf("mn", "1"), item[1]])
        above = list(item[0]) if item[0].tag == "mrow" else [item[0]]
        if len(_terms(above)) > 1:
            above = [_leaf("mo", "("), *above, _leaf("mo", ")")]
        return _opened([*before, one, *above, *after])
    inside = _within(item)
    if inside is None:
        return [piece] if item.tag != "mrow" or len(item) < 2 else _opened([*before, *item, *after])
    opening, content, closing = inside
    for end in (opening, closing):
        end.attrib = {"stretchy": "false", "mathsize": "1.35em"}
    parts = [part for term in _terms(content) for part in _opened(term)]
    parts[0] = [*before, opening, *parts[0]]
    parts[-1] = [*parts[-1], closing, *after]
    return parts


def _within(item: Element) -> tuple[Element, list[Element], Element] | None:
    """The ends and the content of a bracket with several terms."""
    children = list(item)
    if item.tag != "mrow" or len(children) < 3 or children[0].text != "(" or children[-1].text != ")":
        return None
    return (children[0], children[1:-1], children[-1]) if len(_terms(children[1:-1])) > 1 else None


def _length(item: Element) -> int:
    return len("".join(item.itertext()))


def _formula_of(piece: list[Element]) -> Element:
    made = Element("math", {"displaystyle": "true"})
    made.extend(piece)
    for end in {id(item): item for item in (piece[0], piece[-1])}.values():
        if end.tag == "mo" and (end.text in SIGNS or end.text == "="):
            end.set("form", "infix")  # at the edge of a piece it would be set as a sign, without its spaces
    return made


def _is_sign(item: Element) -> bool:
    """Whether what follows is signed, not added: (−a), = −a, a · −b."""
    return item.tag == "mo" and (item.text or "") not in CLOSING


def _is_equal(item: Element) -> bool:
    return item.tag == "mo" and item.text == "="


def _written(root: Element) -> Markup:
    return Markup(ElementTree.tostring(root, encoding="unicode", short_empty_elements=False))


def _tree(latex: str, display: str) -> Element:
    text = BARE.sub("&amp;", NAMESPACE.sub("", convert(latex, display=display)))
    text = WORD.sub(_one_word, text).replace('mathvariant="sans-serif"', 'mathvariant="normal"')
    root = ElementTree.fromstring(text)
    _worded(root)
    _dotted(root)
    _spaced(root)
    return root


def _one_word(letters: re.Match[str]) -> str:
    return "<mi>" + re.sub(r"<[^>]*>", "", letters[0]) + "</mi>"


def _worded(parent: Element) -> None:
    """A power of a word in brackets: (shaft)², not a 2 that flies off its last letter."""
    for child in parent:
        _worded(child)
        if child.tag == "msup" and len(child) and len(_word(child[0])) > 1 and _word(child[0]) not in FUNCTIONS:
            bracket = Element("mrow")
            bracket.extend([_leaf("mo", "("), child[0], _leaf("mo", ")")])
            child[0] = bracket


def _dotted(parent: Element) -> None:
    """Dots carry meaning here: on a small letter they become marks of the font, elsewhere they are lifted clear."""
    for place, child in enumerate(list(parent)):
        _dotted(child)
        if child.tag != "mover" or len(child) != 2 or child[1].text not in DOTS:
            continue
        letter, accent = "".join(child[0].itertext()), child[1]
        if letter in ITALIC and letter not in TALL:
            parent[place] = _leaf("mi", ITALIC[letter] + DOTS[accent.text or ""])
        elif len(letter) > 1:
            parent[place] = _derivative(child[0], accent.text or "", raised=parent.tag in RAISED and place == 0)
        else:
            lifted = Element("mpadded", {"voffset": "-0.42em", "height": "0.12em"})  # so that a power stays beside it
            lifted.append(accent)
            child.set("accent", "true")
            child[1] = lifted


def _derivative(word: Element, accent: str, *, raised: bool) -> Element:
    """d/dt before a word: a dot over the middle of one is lost; in brackets where a power or an index follows."""
    order = "" if DOTS[accent] == DOTS[ONE_DOT] else "2"
    above, below = Element("mrow"), Element("mrow")
    above.append(_powered("d", order))
    below.extend([_leaf("mi", "d"), _powered("t", order)])
    share = Element("mfrac")
    share.extend([above, below])
    made = Element("mrow")
    parts = [share, Element("mspace", {"width": "0.17em"}), word]
    made.extend([_leaf("mo", "("), *parts, _leaf("mo", ")")] if raised else parts)
    return made


def _powered(letter: str, power: str) -> Element:
    if not power:
        return _leaf("mi", letter)
    made = Element("msup")
    made.extend([_leaf("mi", letter), _leaf("mn", power)])
    return made


def _spaced(parent: Element) -> None:
    """A thin space beside words, so that names and functions do not run into their neighbours."""
    for child in parent:
        _spaced(child)
    if parent.tag not in ROWS:
        return
    children = list(parent)
    for before, after in zip(children[-2::-1], children[:0:-1], strict=True):  # from the end, so places stay right
        if _apart(before, after):
            parent.insert(list(parent).index(after), Element("mspace", {"width": "0.22em"}))


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


def _letters(piece: Markup) -> int:
    return len(re.sub(r"<[^>]*>", "", piece))


def _kind(piece: Markup) -> str:
    """What cannot be broken further is made smaller on paper, where nothing scrolls."""
    count = _letters(piece)
    return "piece" + (" longest" if count > LONGEST_PIECES[1] else " long" if count > LONGEST_PIECES[0] else "")


def _stop(piece: Markup) -> str | None:
    """A piece that may have to be scrolled can be reached by the keyboard; others are no stops on the way."""
    return "0" if _letters(piece) > LONGEST_PIECES[0] else None


def formula(latex: str, note: str = "") -> Markup:
    """A displayed formula with a button that copies its LaTeX."""
    if len(latex) <= LONGEST_FORMULA:
        shown = joined(*(element("span", piece, class_=_kind(piece), tabindex=_stop(piece)) for piece in broken(latex)))
    else:
        shown = element("p", f"a formula of {len(latex):,} letters of LaTeX, to be copied", class_="quiet")
    button = element("button", "LaTeX", type="button", class_="copy", data_copy=latex, title="Copy the LaTeX of this")
    label = element("div", note, class_="note") if note else None
    return element("div", label, element("div", shown, class_="scroll lines"), button, class_="formula")
