"""The equations as a LaTeX document."""

from __future__ import annotations

from holdfast.equations.equations import Equations
from holdfast.exchange.names import comment

LETTERS = {letter: f"\\{letter}" for letter in "#$%&_{}"}
LETTERS |= {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"}


def latex_text(equations: Equations, version: str) -> str:
    """A document that compiles as it is; `equations.latex()` alone is its middle."""
    return f"""% made by Holdfast {comment(version)}
\\documentclass{{article}}
\\usepackage[utf8]{{inputenc}}
\\usepackage{{amsmath,amssymb}}
\\begin{{document}}
\\section*{{{_escaped(equations.problem.title or "Equations of motion")}}}
{equations.latex().rstrip()}
\\end{{document}}
"""


def _escaped(text: str) -> str:
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return "".join(LETTERS.get(letter, letter) for letter in line)
