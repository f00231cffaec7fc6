"""The equations of motion, typeset."""

from __future__ import annotations

import re

import sympy as sp

from holdfast.equations.writing.bodies import unread_operations
from holdfast.equations.writing.text import formula as latex
from holdfast.equations.writing.text import latex_of_states
from holdfast.page.facts import PageFacts, counted
from holdfast.page.markup.html import Markup, details, joined, paragraph
from holdfast.page.markup.mathml import formula
from holdfast.page.section import Section
from holdfast.problem.quantities import Acceleration, latex_name

MOST_LINES = 12  # equations that stand there at once; of more the first few
FEW = 2
MOST_ENTRIES = 60  # of a matrix that is written out
WIDEST = 95  # letters of a row of a matrix that fits the page; a wider one is told entry by entry
COMMAND = re.compile(r"\\[a-z]+|[{}_^ ]+")
LONGEST_LINE = 700  # letters of LaTeX of an equation that is written out in one line


def write(subject: PageFacts) -> Markup:
    equations = subject.equations
    if unread_operations(equations):
        return _in_words(subject)
    rows = [_row(subject, i) for i in range(len(equations.coordinates))]
    states = [formula(line) for line in latex_of_states(equations)]
    if all(len(row) <= LONGEST_LINE for row in rows):
        lines = [*(formula(row) for row in rows), *states]
        if len(lines) > MOST_LINES:
            rest = lines[FEW:]
            lines = [*lines[:FEW], details(f"The further {counted(len(rest), 'equation')}", *rest)]
        return joined(*lines, details("In matrix form", _matrices(subject)))
    note = paragraph("The equations are long; in matrix form they read:")
    return joined(note, _matrices(subject), *states)


def _in_words(subject: PageFacts) -> Markup:
    """Equations of many bodies, which nobody would read."""
    equations, inertia, free = subject.equations, subject.letter("M"), subject.letter("h")
    accelerations = sp.Matrix([Acceleration(f"{name}_ddot") for name in equations.coordinates])
    n, count = len(equations.coordinates), unread_operations(equations)
    held = rf" + {subject.letter('E')}\,\mu" if equations.constraints else ""
    return joined(
        formula(rf"{inertia}\,{latex(accelerations)} = {free}{held}", "motion"),
        paragraph(
            f"The mass matrix ({n} × {n}) and the free forces come from recursions over the bodies, {count} operations "
            "in all; `holdfast derive --json` and `equations.statements` have them line by line."
        ),
    )


def _row(subject: PageFacts, i: int) -> str:
    """One equation of motion: inertia on the left, free and held forces on the right."""
    equations = subject.equations
    inertia = sum(
        (
            entry * Acceleration(f"{name}_ddot")
            for entry, name in zip(equations.mass_matrix.row(i), equations.coordinates, strict=True)
        ),
        sp.S.Zero,
    )
    right = equations.bias[i] - equations.excess_bias[i]
    terms = [] if right == 0 and equations.constraints else [latex(right)]
    for k, name in enumerate(equations.holder_names):
        entry = equations.holder_matrix[i, k]
        if entry != 0:
            factor = "" if entry == 1 else "-" if entry == -1 else latex(entry)
            factor = rf"\left({factor}\right)" if isinstance(entry, sp.Add) else factor
            terms.append(f"{factor} {latex_name(name)}".strip())
    return f"{latex(inertia)} = {_sum(terms) or '0'}"


def _sum(terms: list[str]) -> str:
    text = " + ".join(terms)
    return text.replace("+ - ", "- ").replace("+ -", "- ")


def _matrices(subject: PageFacts) -> Markup:
    equations = subject.equations
    accelerations = sp.Matrix([Acceleration(f"{name}_ddot") for name in equations.coordinates])
    inertia, free = subject.letter("M"), subject.letter("h")
    parts = [_matrix(inertia, equations.mass_matrix, "mass matrix"), _matrix(free, equations.bias, "free forces")]
    motion = rf"{inertia}\,{latex(accelerations)} = {free}"
    if any(entry != 0 for entry in equations.excess_bias):
        parts.append(_matrix("m_2", equations.excess_bias, "excess bias, of second order in the deviations"))
        motion += " - m_2"
    if equations.constraints:
        names = r" \\ ".join(latex_name(name) for name in equations.holder_names)
        column = rf"\left(\begin{{matrix}}{names}\end{{matrix}}\right)"
        held = subject.letter("E")
        parts.append(_matrix(held, equations.holder_matrix, "directions of the held forces"))
        parts += [
            _matrix(subject.letter("J"), equations.jacobian, "constraint Jacobian"),
            _matrix(r"\gamma", equations.drift_term, "drift term"),
        ]
        if equations.deviations.through:
            parts.append(_matrix("D", equations.through, "what controls do through states: w' = J a + γ + D μ"))
        motion += rf" + {held}\,{column}"
    return joined(formula(motion, "motion"), *parts)


def _matrix(letter: str, matrix: sp.Matrix, note: str) -> Markup:
    """A matrix as a whole where it fits, otherwise entry by entry."""
    whole = f"{letter} = {latex(matrix)}"
    if len(whole) <= 1.6 * LONGEST_LINE and _width(matrix) <= WIDEST:
        return formula(whole, note)
    rows, columns = matrix.shape
    count = sum(entry != 0 for entry in matrix)
    if count > MOST_ENTRIES:
        return paragraph(
            f"{letter}: the {note}, {rows} × {columns} with {count} entries that are not 0.", class_="quiet"
        )
    shown = [
        f"{letter}_{{{i + 1}{j + 1 if columns > 1 else ''}}} = {latex(matrix[i, j])}"
        for i in range(rows)
        for j in range(columns)
        if matrix[i, j] != 0 and not (matrix.is_symmetric(simplify=False) and j < i)
    ]
    zero = "; what is not written is 0" if count < rows * columns else ""
    return joined(*(formula(line, "" if k else f"{note}{zero}") for k, line in enumerate(shown)))


def _width(matrix: sp.Matrix) -> int:
    """Letters in a row of it, about."""
    letters = [[len(COMMAND.sub("x", latex(entry))) for entry in matrix.row(i)] for i in range(matrix.rows)]
    return sum(max(column) for column in zip(*letters, strict=True)) + 2 * matrix.cols


SECTION = Section("equations", "Equations of motion", write)
