"""Running text in which names are set as formulas set them: y_home is y with "home" below it, phi is φ, phi_dot φ̇."""

from __future__ import annotations

import re
from collections.abc import Collection

from holdfast.page.markup.figure_text import GREEK
from holdfast.page.markup.html import Child, Markup, joined
from holdfast.page.markup.mathml import mathml
from holdfast.problem.quantities import latex_name

NAME = re.compile(r"(?<![\w.])(\|?)([A-Za-z]\w*)(?![\w(])(\|?)")  # |y_rod| is one formula, and stays in one line
ENGLISH = frozenset({"a", "A", "I", "t"})  # names that are also words, or stand there as they are


def prose(text: str, quantities: Collection[str], spoken: Collection[str] = ()) -> Markup:
    """A sentence whose known quantities are typeset; names of `spoken` things lose their underscores: loop_x, loop x.

    Words that happen to be names ("rod", "shaft") stay words: only letters, Greek names, indices and rates are set.
    """
    parts: list[Child] = []
    done = 0
    for found in NAME.finditer(text):
        before, name, after = found.groups()
        shown: Child = None
        if name in spoken:
            shown = before + name.replace("_", " ") + after
        elif name in quantities and _symbolic(name):
            size = before and after
            shown = mathml(f"|{latex_name(name)}|") if size else joined(before, mathml(latex_name(name)), after)
        if shown is not None:
            parts += [text[done : found.start()], shown]
            done = found.end()
    return joined(*parts, text[done:])


def _symbolic(name: str) -> bool:
    """Whether a name is no plain word: one letter, a Greek one, with an index, a digit or the dot of a rate."""
    return name not in ENGLISH and (len(name) == 1 or "_" in name or name[-1].isdigit() or name in GREEK)
