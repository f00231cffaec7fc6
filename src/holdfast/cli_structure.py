"""``holdfast lagrangian`` and ``holdfast family``."""

from __future__ import annotations

import click

import holdfast as hf
from holdfast.cli_parts import FILE, JSON, derived, print_json, problem_in, reports_errors
from holdfast.cli_text import say

LATEX = click.option("--latex", "as_latex", is_flag=True, help="Print LaTeX.")


@click.command()
@FILE
@click.option("--solved", is_flag=True, help="Ask for a - F = 0 in the place of M a - h - R = 0.")
@click.option("--time-limit", type=float, default=20.0, show_default=True, help="Seconds for all integrals together.")
@LATEX
@JSON
@reports_errors
def lagrangian(file: str, solved: bool, time_limit: float, as_latex: bool, as_json: bool) -> None:
    """Are the equations of FILE Lagrange's, with a dissipation function? Which L and D, and in which sense?

    Exit code 0: L and D exist; 1: they do not, and the condition that fails is named.
    """
    form = hf.lagrangian(derived(problem_in(file)), solved=solved, time_limit=time_limit)
    if as_json:
        print_json(form.to_dict())
    else:
        say(form.latex() if as_latex else form.summary(), nl=False)
    click.get_current_context().exit(0 if form.wide else 1)


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
        start=problem.start,
        run=problem.run,
        title=problem.title,
    )
    at = made.general_solution()
    if as_json:
        facts = {"freedom": made.freedom, "rank": at.rank, "smallest_singular_value": at.smallest}
        print_json({**made.to_dict(), "family": {**facts, "explanation": made.explain()}})
    elif as_latex:
        say(made.latex(), nl=False)
    else:
        say(made.explain())
        say("\nThe least of all, K(Y - gamma):\n")
        say(made.summary(), nl=False)
