"""Names of a problem as other languages can bear them: identifiers, texts between quotes, comments.

Nothing that a problem is called may end a comment or a text, open another one, or meet a word of the language.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from holdfast.errors import BadRequest

IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
LONGEST = 48  # letters of an identifier's own part: with a prefix, well below the 63 that C99 tells apart
RESERVED = frozenset(  # words of C, C++, Python and Modelica that a whole name may not be
    """auto break case char const continue default do double else enum extern float for goto if inline int long main
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while class
    template this new delete try catch throw namespace public private protected virtual operator friend using bool true
    false and as assert async await def del elif except finally from global import in is lambda None nonlocal not or
    pass raise with yield True False algorithm annotation block connect connector constant constrainedby der
    discrete each elseif elsewhen encapsulated end equation expandable external final flow function impure initial
    inner input loop model outer output package parameter partial pure record redeclare replaceable stream then
    time type when within hf real math numpy jax casadi""".split()  # and what the exported texts themselves use
)


def identifier(text: str) -> str:
    """A text as an identifier of any language: letters, digits and underscores, other letters by their numbers."""
    plain = unicodedata.normalize("NFKD", text)
    kept = "".join(_piece(letter) for letter in plain if not unicodedata.combining(letter))
    kept = re.sub(r"_{2,}", "_", kept)[:LONGEST].strip("_")  # two underscores in a row are the compiler's own in C++
    if not kept:
        return "model"
    return kept if kept[0].isalpha() else f"n_{kept}"


def _piece(letter: str) -> str:
    if letter.isascii():
        return letter if letter.isalnum() else "_"
    return f"_u{ord(letter):x}_" if letter.isalpha() else "_"


def distinct(texts: Iterable[str]) -> tuple[str, ...]:
    """Identifiers for several texts, no two alike even where capitals do not count."""
    taken: set[str] = set()
    found = []
    for text in texts:
        own = base = identifier(text)
        count = 2
        while own.lower() in taken:
            own, count = f"{base}_{count}", count + 1
        taken.add(own.lower())
        found.append(own)
    return tuple(found)


def model_name(given: str | None, title: str) -> str:
    """The name of what is exported: as asked for, or made of the title."""
    if given is None:
        made = identifier(title.lower())
        return f"{made}_model" if made in RESERVED else made
    if not isinstance(given, str) or not IDENTIFIER.fullmatch(given) or given in RESERVED or len(given) > LONGEST:
        raise BadRequest(
            f"{given!r} cannot be the name of functions",
            where="name",
            fix=f"letters, digits and _ (at most {LONGEST}), beginning with a letter, and no word of C or Python",
        )
    return given


def comment(text: str) -> str:
    """A text on one line that stays within any comment: no ends of comments, no backslashes, no trigraphs."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    line = line.replace("\\", "|").replace('"""', "'''")
    for pair in ("*/", "/*", "??", "//"):
        while pair in line:
            line = line.replace(pair, " ".join(pair))
    return line


def c_string(text: str) -> str:
    """A text as a string of C: bytes of UTF-8, all but plain letters by their octal numbers."""
    plain = (chr(byte) if _plain(byte) else f"\\{byte:03o}" for byte in text.encode("utf-8", "replace"))
    return '"' + "".join(plain) + '"'


def _plain(byte: int) -> bool:
    return 32 <= byte < 127 and chr(byte) not in '"\\?'
