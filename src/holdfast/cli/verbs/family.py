"""``holdfast family``: all systems that keep a program."""

from __future__ import annotations

import click

import holdfast as hf
from holdfast.cli.options import FILE, JSON, LATEX
from holdfast.cli.shared import print_json, problem_in, reports_errors
from holdfast.cli.text import say


@click.command()
@FILE
@LATEX
@JSON
@reports_errors
def family(file: str, as_latex: bool, as_json: bool) -> None:
    """All systems that keep the program of FILE under its law; energies, forces and controls are left out."""
    problem = problem_in(file)
    system, program = problem.system, problem.program
    made = hf.family(
        hf.Program(holonomic=program.holonomic, nonholonomic=program.nonholonomic, law=program.law),
        system.coordinates,
        parameters=system.parameters,
        definitions=system.definitions,
        functions=system.functions,
        start=problem.start,
        run=problem.run,
        title=problem.title,
    )
    if as_json:
        facts: dict[str, object] = {"freedom": made.freedom}
        if not made.letters:
            at = made.general_solution()
            facts |= {"rank": at.rank, "smallest_singular_value": at.smallest}
        print_json({**made.to_dict(), "family": {**facts, "explanation": made.explain()}})
    elif as_latex:
        say(made.latex(), nl=False)
    else:
        say(made.explain())
        say("\nThe least of all, K(Y - gamma):\n")
        say(made.summary(), nl=False)
