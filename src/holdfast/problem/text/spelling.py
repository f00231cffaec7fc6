"""The spelling of an expression: which characters and words may occur, and brackets that match.

This is judged before Python's own parser sees the text, so that a mistake gets the caret and the hint it deserves. What
passes is made of names, decimal numbers, ``+ - * / **``, brackets, dots and commas; quotes, colons, ``=``, braces and
Python's keywords never pass.
"""

from __future__ import annotations

import keyword
import re
import unicodedata

from holdfast.common.limits import allowance
from holdfast.errors import BadExpression

MAX_LENGTH = 20_000  # characters of one expression
MAX_DEPTH = 50  # brackets within brackets

ALLOWED = re.compile(r"[A-Za-z0-9_ \t\r\n.,+\-*/()\[\]]")
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
KEYWORDS = frozenset(keyword.kwlist)
CLOSING = {")": "(", "]": "["}

HINTS = {
    "^": ("'^' is not a power here", "write ** for powers, e.g. x**2"),
    "=": ("an expression contains no '='", "state a constraint as what is kept at zero, e.g. x**2 + y**2 - l**2"),
    "<": ("comparisons are not allowed", "use min, max, abs or sign"),
    ">": ("comparisons are not allowed", "use min, max, abs or sign"),
    "'": ("quotes do not belong in an expression", "the rate of x is x_dot"),
    '"': ("quotes do not belong in an expression", "write names without quotes"),
    "#": ("comments do not belong in an expression", "put the comment outside the quotes"),
    "{": ("braces do not belong in an expression", "use ( ) to group"),
    "}": ("braces do not belong in an expression", "use ( ) to group"),
    "@": ("'@' is not known here", "write dot(a, b) for a scalar product"),
    "?": ("'?' is no expression", 'declare a letter, [parameters] k = "?", and write its name here'),
    "%": ("'%' is not known here", "the operations are + - * / **"),
    "!": ("'!' is not known here", "the operations are + - * / **"),
    "|": ("'|' is not known here", "write abs(...) for an absolute value"),
    "π": ("'π' is not known here", "write pi"),
    "√": ("'√' is not known here", "write sqrt(...)"),
    "°": ("'°' is not known here", "write angles in radians, e.g. 30*pi/180"),
    "²": ("'²' is not known here", "write **2"),
    "³": ("'³' is not known here", "write **3"),
    "÷": ("'÷' is not known here", "write / for quotients"),
}
HINTS |= {c: (f"{c!r} is not a minus sign", "write - for minus") for c in "−–—‐‑‒"}
HINTS |= {c: (f"{c!r} is not known here", "write * for products") for c in "×·⋅∗•"}
HINTS |= {c: (f"{c!r} is not known here", "the rate of x is x_dot") for c in "′’˙\u0307"}


class Unreadable(BadExpression):
    """An expression that cannot be read, with the place inside its text: characters `start` to `end`."""

    def __init__(self, what: str, text: str, start: int, end: int, fix: str = "", unknown: str = "") -> None:
        self.text, self.start, self.end, self.unknown = text, start, max(end, start + 1), unknown
        near, left = text[max(0, start - 30) : self.end + 30], min(start, 30)
        shown = "".join(c if c.isprintable() else " " for c in near)
        caret = " " * left + "^" * min(self.end - start, len(shown) - left or 1)
        super().__init__(what, where=f"column {start + 1}\n      {shown}\n      {caret}", fix=fix)

    def __reduce__(self) -> tuple[object, ...]:
        return (Unreadable, (self.what, self.text, self.start, self.end, self.fix, self.unknown))


def check_spelling(text: str) -> None:
    """Refuse characters, words and brackets that no expression has."""
    if len(text) > allowance(MAX_LENGTH):
        raise Unreadable(
            f"this expression is longer than {allowance(MAX_LENGTH)} characters",
            text,
            0,
            1,
            "name its parts in [definitions]",
        )
    if not text.strip():
        raise Unreadable("the expression is empty", text, 0, len(text), "write 0 if nothing is meant")
    for place, character in enumerate(text):
        if not ALLOWED.match(character):
            what, hint = _about(character)
            raise Unreadable(what, text, place, place + 1, hint)
    _check_words(text)
    _check_brackets(text)


def _about(character: str) -> tuple[str, str]:
    if character in HINTS:
        return HINTS[character]
    if not character.isprintable():
        return f"an unprintable character (U+{ord(character):04X}) does not belong in an expression", "delete it"
    name = unicodedata.name(character, "")
    greek = re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER (?:FINAL )?(\w+)", name)
    if greek:
        letter = greek[2].lower() if greek[1] == "SMALL" else greek[2].capitalize()
        letter = {"lamda": "lam", "Lamda": "Lam"}.get(letter, letter)
        return f"{character!r} is not a plain letter", f"spell it out: {letter}"
    if ord(character) > 127:
        plain = unicodedata.normalize("NFKD", character)[0]
        looks = f"; it looks like {plain!r}" if plain.isascii() and plain.isalnum() else ""
        return f"{character!r} (U+{ord(character):04X}) is not a plain letter{looks}", "names use a-z, A-Z, 0-9 and _"
    return f"{character!r} is not known here", "the operations are + - * / **"


def _check_words(text: str) -> None:
    for match in WORD.finditer(text):
        word = match[0]
        if word in KEYWORDS:
            hint = "call it something else, e.g. lam" if word == "lambda" else "choose another name"
            raise Unreadable(f"the word {word!r} is reserved", text, *match.span(), hint)
        if word.startswith("__"):
            raise Unreadable(f"{word[:40]!r} is not a name", text, *match.span(), "names begin with a letter")


def _check_brackets(text: str) -> None:
    opened: list[int] = []
    for place, character in enumerate(text):
        if character in "([":
            opened.append(place)
            if len(opened) > MAX_DEPTH:
                hint = "name the inner parts in [definitions]"
                raise Unreadable(f"brackets are nested more than {MAX_DEPTH} deep", text, place, place + 1, hint)
        elif character in CLOSING and (not opened or text[opened.pop()] != CLOSING[character]):
            raise Unreadable("this bracket closes nothing", text, place, place + 1, "delete it, or open one before")
    if opened:
        raise Unreadable("this bracket is never closed", text, opened[-1], opened[-1] + 1, "close it")
