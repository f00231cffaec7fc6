"""Multipliers and control forces: as formulas or statements, and as curves."""

from __future__ import annotations

import numpy as np

from holdfast.equations.writing.text import effort_lines
from holdfast.equations.writing.text import formula as latex
from holdfast.page.facts import PageFacts, counted, number
from holdfast.page.figures.curves import curves
from holdfast.page.markup.html import Markup, details, joined, paragraph
from holdfast.page.markup.mathml import formula
from holdfast.page.section import Section, side_by_side
from holdfast.page.sections.causes import causes
from holdfast.problem.quantities import latex_name

MOST_STATEMENTS = 60  # statements that are typeset
FEW_STATEMENTS = 12  # where there are more
CURVES, FEW_CURVES = 9, 2


def write(subject: PageFacts) -> Markup:
    if not subject.held:
        return Markup("")
    shared = [paragraph(subject.prose(f"{line}.")) for line in effort_lines(subject.equations)]
    return joined(_ideal(subject), _formulas(subject), *shared, side_by_side(*_curves(subject)), causes(subject))


def _ideal(subject: PageFacts) -> Markup | None:
    """Words where controls push along motions that the program allows, with the work they do; else nothing."""
    run, equations = subject.trajectory, subject.equations
    controls = [name for name in equations.problem.program.controls if name in run]
    if not controls:
        return None
    values = equations.evaluate(run.y[:, 0].tolist(), float(run.times[0]), parameters=dict(run.parameters))
    gradients, directions = np.asarray(values.jacobian), np.asarray(values.holders).T
    if not (np.isfinite(gradients).all() and np.isfinite(directions).all()):
        return None
    beside = np.linalg.matrix_rank(np.vstack([gradients, directions])) - np.linalg.matrix_rank(gradients)
    if not beside:
        return None
    power = run["power_held"]
    row = int(np.abs(power).argmax())
    return paragraph(
        f"The controls are not ideal: they also push along motions that the program allows, and do work there "
        f"(R·v is largest at t = {number(float(run.times[row]))}: {number(float(power[row]))})."
    )


def _formulas(subject: PageFacts) -> Markup:
    equations = subject.equations
    closed = equations.inverse_dynamics
    if closed:
        return joined(*(formula(f"{latex_name(name)} = {latex(value)}") for name, value in closed.items()))
    statements = equations.statements
    most = MOST_STATEMENTS if len(statements) <= MOST_STATEMENTS else FEW_STATEMENTS
    lines = [formula(f"{latex_name(s.name.name)} = {latex(s.value)}") for s in statements[:most]]
    rest, held = len(statements) - most, equations.holder_names
    names = ", ".join(held) if len(held) <= MOST_STATEMENTS // 10 else f"{held[0]}, {held[1]}, …, {held[-1]}"
    return joined(
        paragraph(
            subject.prose(
                f"No short closed form: {names} follow by elimination, in {counted(len(statements), 'statement')}."
            )
        ),
        None if equations.friction is None else paragraph(subject.prose(equations.friction.note)),
        details(
            f"The {len(lines)} statements" if rest <= 0 else f"The first {most} of {len(statements)} statements",
            *lines,
            paragraph("The rest: holdfast derive --latex.", class_="quiet") if rest > 0 else None,
        ),
    )


def _curves(subject: PageFacts) -> list[Markup]:
    program = subject.problem.program
    shown = [*(f"lambda_{name}" for name in program.held_by_reaction), *program.controls]
    if subject.large:  # the largest speak for all
        shown.sort(key=lambda name: -float(np.nanmax(np.abs(subject.trajectory[name]), initial=0.0)))
    most = FEW_CURVES if subject.large else CURVES
    rest = f" (the largest {most} of {len(shown)})" if subject.large and len(shown) > most else ""
    return curves(subject, shown[:most], "forces", f"Held forces over time{rest}", 1 if subject.large else 3)


SECTION = Section("forces", "Multipliers and control forces", write)
