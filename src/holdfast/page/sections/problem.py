"""The problem as it was stated."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import sympy as sp

from holdfast.equations.writing.text import formula as latex
from holdfast.page.facts import PageFacts, counted, number, spoken
from holdfast.page.markup.html import Child, Markup, details, element, joined, paragraph, table
from holdfast.page.markup.mathml import formula, mathml
from holdfast.page.markup.stated import Unwritten, stated_latex
from holdfast.page.section import Section
from holdfast.page.sections.stated_bodies import stated_bodies
from holdfast.problem.data import Data
from holdfast.problem.functions import StatedFunction
from holdfast.problem.program import Program
from holdfast.problem.quantities import latex_name

MOST_LINES, MOST_NAMED, FEW = 6, 12, 2  # constraints and definitions written out at once; of more the first few
MOST_OPEN = 60  # lines of a file that is not folded away


def write(subject: PageFacts) -> Markup:
    return joined(_in_words(subject), _energies(subject), _program(subject), _values(subject), _text(subject))


def _in_words(subject: PageFacts) -> Markup:
    run, equations = subject.trajectory, subject.equations
    size = f"step {number(run.step)}" if run.step is not None else f"tolerance {number(run.tolerance or 0)}"
    kept = len(equations.constraints)
    what = f"{counted(kept, 'constraint')} to keep" if kept else "nothing to hold"
    return paragraph(
        f"{counted(len(equations.coordinates), 'coordinate')}, {what}; run with {run.scheme}, {size}, "
        f"from t = {number(float(run.times[0]))} to {number(float(run.times[-1]))} in {counted(run.steps, 'step')}."
    )


def _energies(subject: PageFacts) -> Markup:
    system, written = subject.problem.system, _Written(subject)
    shown = system.kinetic != 0 or not (system.masses or system.bodies)
    lines = [("kinetic energy", "T", "kinetic")] if shown else []
    lines += [("potential", "P", "potential")] if system.potential != 0 else []
    lines += [("dissipation", "D", "dissipation")] if system.dissipation != 0 else []
    parts = [
        formula(f"{subject.letter(letter)} = {written(getattr(system, key), 'system', key)}", note)
        for note, letter, key in lines
    ]
    parts += [
        formula(f"Q_{{{latex_name(name)}}} = {written(value, 'system', 'forces', name)}", "force")
        for name, value in system.forces.items()
    ]
    own = [item for item in system.definitions.items() if item[0] not in system.produced]
    named = [f"{latex_name(n)} = {written(value, 'definitions', n)}" for n, value in own]
    named += [f"{latex_name(name)} = {place}" for name, place in written.points()]
    named += [
        rf"\dot{{{latex_name(name)}}} = {written(value, 'system', 'states', name)}"
        for name, value in system.states.items()
        if name not in system.produced
    ]
    where = [formula(line, "" if k else "where") for k, line in enumerate(named)]
    rest = where[MOST_NAMED:]
    more = details(f"The further {counted(len(rest), 'definition')}", *rest) if rest else None
    return joined(stated_bodies(subject), *parts, *where[:MOST_NAMED], more, *_masses(subject))


class _Written:
    """Expressions as the file writes them, where there is one that still says what was run; else as SymPy does."""

    def __init__(self, subject: PageFacts) -> None:
        source = subject.source
        self._tables = source.tables() if source is not None and source.states(subject.problem) else {}
        self._points = subject.problem.system.points

    def __call__(self, value: sp.Expr, *path: str) -> str:
        inner: Any = self._tables
        for key in path:
            inner = inner.get(key) if isinstance(inner, dict) else None
        try:
            return stated_latex(inner)
        except Unwritten:
            return latex(value)

    def points(self) -> list[tuple[str, str]]:
        """Points as stated, where what is stated speaks of them."""
        stated = self._tables.get("points", {})
        said = {str(self._tables.get(key)) for key in ("system", "program", "definitions")}
        used: set[str] = set()
        while more := {name for name in set(self._points) - used if any(_speaks(text, name) for text in said)}:
            used |= more
            said = {str(stated.get(name)) for name in more}
        found = []
        for name in self._points if isinstance(stated, dict) else ():
            if name not in used or name not in stated:  # points of bodies stand with these
                continue
            with suppress(Unwritten):
                found.append((name, rf"\left({', '.join(map(stated_latex, stated.get(name, [])))}\right)"))
        return found


def _speaks(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){name}(?!\w)", text) is not None


def _masses(subject: PageFacts) -> list[Markup]:
    """Points whose mass may change: mass and position."""
    lines = []
    for name, point in subject.problem.system.masses.items():
        place = r",\; ".join(latex(part) for part in point.position)
        word = rf"\mathrm{{{name.replace('_', ' ')}}}"
        lines.append(
            formula(rf"m_{{{word}}} = {latex(point.mass)}, \quad r_{{{word}}} = \left({place}\right)", "moving mass")
        )
    return lines


def _program(subject: PageFacts) -> Markup:
    program, written = subject.problem.program, _Written(subject)
    if not program.constraints:
        return paragraph("There is no program: the motion is free.")
    kept = [("holonomic", *item) for item in program.holonomic.items()]
    kept += [("nonholonomic", *item) for item in program.nonholonomic.items()]
    lines = [
        formula(f"{written(value, 'program', kind, name)} = 0", f"{spoken(name)}, {_holder(subject, name)}")
        for kind, name, value in kept
    ]
    few = 1 if subject.large else FEW
    shown = lines if len(lines) <= MOST_LINES else lines[:few]
    if len(lines) > MOST_LINES:
        shown.append(details(f"The further {len(lines) - few} constraints", *lines[few:]))
    controls = [
        joined(
            mathml(latex_name(name)),
            " acts on ",
            *_listed([mathml(latex_name(q)) for q in direction]),
            _limits(program, name),
        )
        for name, direction in program.controls.items()
    ]
    return joined(
        element("h3", "Program: what the motion must keep"),
        *shown,
        paragraph("Controls: ", *_listed(controls), ".") if controls else None,
        *map(paragraph, map(subject.prose, _controller(program))),
    )


def _controller(program: Program) -> list[str]:
    """What the controller believes, and how it measures, a sentence each."""
    said = []
    if program.model:
        known = ", ".join(f"{name} = {_plain(value)}" for name, value in program.model.items())
        said.append(f"The controller's model has {known}.")
    if program.sampling is not None:
        sampling = program.sampling
        noise = ", ".join(f"{name} {number(size)}" for name, size in sampling.noise.items() if size)
        said.append(
            f"It measures every {number(sampling.step)}"
            + (f", {number(sampling.delay)} late" if sampling.delay else "")
            + (f", with noise of the standard deviations {noise}" if noise else "")
            + ", and holds its controls in between."
        )
    return said


def _holder(subject: PageFacts, name: str) -> str:
    return "held by its reaction" if name in subject.problem.program.held_by_reaction else "held by control"


def _listed(parts: list[Markup]) -> list[Child]:
    return [piece for k, part in enumerate(parts) for piece in ((", " if k else ""), part)]


def _values(subject: PageFacts) -> Markup:
    run = subject.trajectory
    parameters = [name for name in subject.equations.parameter_names if not name.startswith("law.")]
    rows: list[list[Child]] = [
        [mathml(latex_name(name)), number(float(run.parameters[name]), 8), subject.unit(name)] for name in parameters
    ]
    rows += [
        [mathml(f"{latex_name(name)}(t_0)"), number(value, 8), subject.unit(name)]
        for name, value in zip(run.state_names, run.start.state, strict=True)
    ]
    rows += [
        [mathml(latex(stated.at(name))), _given(stated), subject.unit(name)]
        for name, stated in subject.problem.system.functions.items()
    ]
    return details("Parameters and start values", _with_units(rows))


def _with_units(rows: list[list[Child]]) -> Markup:
    """The table; without a column of units where there are none."""
    if any(row[2] for row in rows):
        return table(["quantity", "value", "unit"], rows)
    return table(["quantity", "value"], [row[:2] for row in rows])


def _given(stated: StatedFunction) -> Child:
    """A function by its expression, or what its data are."""
    if isinstance(stated.value, Data):
        first, last = stated.value.range
        what = f"a spline of degree {stated.value.degree} through {len(stated.value.times)} values"
        return f"{what}, {stated.of[0].name} = {number(first)} to {number(last)}"
    return mathml(latex(stated.value))


def _text(subject: PageFacts) -> Markup:
    """The file as it was written; and as it was run, where that is something else."""
    source = subject.source
    if source is not None and source.states(subject.problem):
        return details(
            "The problem file, as it was written", _copied(source.text), opened=source.text.count("\n") <= MOST_OPEN
        )
    before = [details("The file that it came from", _copied(source.text))] if source is not None else []
    if not subject.text:
        why = "This problem was stated in Python and has no form as a file."
        return joined(*before, paragraph(why, class_="quiet"))
    return joined(*before, details("The problem as a file", _copied(subject.text)))


def _copied(text: str) -> Markup:
    """A text in a box of its own, with a button that copies it."""
    button = element("button", "Copy", type="button", class_="copy", data_copy=text, title="Copy the file")
    return element("div", element("pre", text, tabindex="0"), button, class_="source")


def _limits(program: Program, name: str) -> str:
    """Where a control is cut off, in words; nothing where it is not."""
    low, high = program.limits.get(name, (None, None))
    if low is None and high is None:
        return ""
    ends = [f"{word} {_plain(end)}" for word, end in (("from", low), ("to", high)) if end is not None]
    return f" ({' '.join(ends)})"


def _plain(value: sp.Expr) -> str:
    """A number in decimals; an expression as it is."""
    return number(float(value)) if value.is_number else str(value)


SECTION = Section("problem", "The problem as stated", write)
