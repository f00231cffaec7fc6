"""Expressions alike up to their names are read once: what a chain of ten thousand links says of each.

The first text of a form is read as always, and so is the second; if the first with other names is the second, later
ones are made of it. SymPy orders sums and products by the names in them, so texts are alike only if their names are of
the same kinds *and* come in the same order of the alphabet: what is made is then, part by part, what reading makes.

A product of names and numbers, such as the place ``17*l`` of a link, may differ in its whole numbers too.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

from holdfast.problem.quantities import FUNCTIONS, NamedSymbol
from holdfast.problem.text.pattern import Pattern, alphabet, plain
from holdfast.problem.vocabulary import Vocabulary

NAMES = re.compile(r"(?<![A-Za-z0-9_.])([A-Za-z_][A-Za-z0-9_]*)")
PRODUCT = re.compile(r"[A-Za-z0-9_ .]+(?:[*/][A-Za-z0-9_ .]+)+")  # no sums, powers, brackets or calls
EXPONENT = re.compile(r"(?<![A-Za-z_])[0-9.][eE]")
SHORT = 250  # characters: numbers without exponents that fit in make products within 10^±250, and 10^±300 are allowed
WHOLE = re.compile(r"(?<![A-Za-z0-9_.])([1-9][0-9]{0,6})(?![A-Za-z0-9_.])")
Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Likeness:
    """The form of a text, and what fills it: its names as symbols, and its whole numbers where these may differ."""

    key: Key
    symbols: tuple[NamedSymbol, ...]
    factor: Fraction | None = None  # the product of its whole numbers, those that divide inverted


def likeness(text: str, names: Vocabulary, hidden: Sequence[Container[str]]) -> Likeness | None:
    """The form of a text; None if a word in it is not plainly a quantity (`hidden` has those that stand for more)."""
    pieces = NAMES.split(text)
    places: dict[str, int] = {}
    symbols: list[NamedSymbol] = []
    for k in range(1, len(pieces), 2):
        word = pieces[k]
        if word in places:
            continue
        if word in FUNCTIONS or word == "pi":
            places[word] = -1
            continue
        symbol = names.symbol(word)
        if symbol is None or any(word in known for known in hidden) or not plain(symbol):
            return None
        places[word] = len(symbols)
        symbols.append(symbol)
    words: list[Any] = [word if places[word] < 0 else places[word] for word in pieces[1::2]]
    between = pieces[::2]
    factor = None
    if symbols and len(text) <= SHORT and PRODUCT.fullmatch(text) and not EXPONENT.search(text):
        factor = Fraction(1)
        for k, piece in enumerate(between):
            between[k], factor = _without_whole(piece, factor)
    return Likeness((*words, *between, *alphabet(symbols)), tuple(symbols), factor)


def _without_whole(piece: str, factor: Fraction) -> tuple[str, Fraction]:
    """A piece of a product with # for its whole numbers, and the factor with these in it."""
    for match in WHOLE.finditer(piece):
        factor = factor / int(match[1]) if piece[: match.start()].rstrip().endswith("/") else factor * int(match[1])
    return WHOLE.sub("#", piece), factor


class KnownForm:
    """What is known of one form: an expression that was read, what it cost, and the pattern, once it was tried."""

    def __init__(self, expression: sp.Expr, like: Likeness, nodes: int, size: int) -> None:
        self.expression, self.like, self.nodes, self.size = expression, like, nodes, size
        self.pattern: Pattern | None = None
        self.refused = False

    def tried(self, expression: sp.Expr, like: Likeness) -> None:
        """Keep the pattern if it makes, of the names of a second text, what reading that one made."""
        pattern = Pattern(self.expression, self.like.symbols, self.like.factor)
        self.refused = not pattern.sound or pattern.filled(like.symbols, like.factor) != expression
        self.pattern = None if self.refused else pattern
