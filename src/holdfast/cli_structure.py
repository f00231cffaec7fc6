"""``holdfast lagrangian`` and ``holdfast family``."""

from __future__ import annotations

import click

import holdfast as hf
from holdfast.cli_parts import FILE, JSON, derived, print_json, problem_in, reports_errors
from holdfast.cli_text import say
from holdfast.cli_watch import limited

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
    equations = derived(problem_in(file))
    with limited("looking for a Lagrangian", more=time_limit):
        form = hf.lagrangian(equations, solved=solved, time_limit=time_limit)
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
    with limited("deriving the family"):
        made = _family_of(problem)
        at = made.general_solution()
        shown = made.to_dict() if as_json else made.latex() if as_latex else made.summary()
    if as_json:
        facts = {"freedom": made.freedom, "rank": at.rank, "smallest_singular_value": at.smallest}
        print_json({**shown, "family": {**facts, "explanation": made.explain()}})
    elif as_latex:
        say(shown, nl=False)
    else:
        say(made.explain())
        say("\nThe least of all, K(Y - gamma):\n")
        say(shown, nl=False)


def _family_of(problem: hf.Problem) -> hf.Family:
    """The family of the program alone, with the parameters, start and run of the problem."""
    system, program = problem.system, problem.program
    return hf.family(
        hf.Program(holonomic=program.holonomic, nonholonomic=program.nonholonomic, law=program.law),
        system.coordinates,
        parameters=system.parameters,
        definitions=system.definitions,
        start=problem.start,
        run=problem.run,
        title=problem.title,
    )
