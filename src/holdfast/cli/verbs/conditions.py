"""``holdfast conditions``: which gains and parameters make a program attracting."""

from __future__ import annotations

import click

import holdfast as hf
from holdfast.cli.options import FILE, JSON, LATEX
from holdfast.cli.shared import derived, print_json, problem_in, reports_errors
from holdfast.cli.text import say
from holdfast.cli.watch import limited


@click.command()
@FILE
@click.option("--function", "V", help="A quadratic form in the deviations: 3*y_rod**2 + 2*y_rod*w_rod + w_rod**2.")
@LATEX
@JSON
@reports_errors
def conditions(file: str, V: str | None, as_latex: bool, as_json: bool) -> None:
    """For which gains and parameters the deviations of FILE die away, as inequalities."""
    equations = derived(problem_in(file))
    with limited("finding the conditions"):
        found = hf.conditions(equations, V)
        if as_json:
            print_json(found.to_dict())
        else:
            say(found.latex() if as_latex else found.summary(), nl=False)
