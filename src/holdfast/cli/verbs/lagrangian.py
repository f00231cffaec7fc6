"""``holdfast lagrangian``: are the equations Lagrange's?"""

from __future__ import annotations

import click

import holdfast as hf
from holdfast.cli.options import FILE, JSON, LATEX
from holdfast.cli.shared import derived, print_json, problem_in, reports_errors
from holdfast.cli.text import say
from holdfast.cli.watch import limited


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
