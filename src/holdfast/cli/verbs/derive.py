"""``holdfast derive``: the equations of motion."""

from __future__ import annotations

import click

from holdfast.cli.options import FILE, JSON, LATEX
from holdfast.cli.shared import derived, print_json, problem_in, reports_errors
from holdfast.cli.text import say
from holdfast.cli.watch import limited


@click.command()
@FILE
@LATEX
@JSON
@reports_errors
def derive(file: str, as_latex: bool, as_json: bool) -> None:
    """The equations of motion, multipliers and control forces of FILE."""
    equations = derived(problem_in(file))
    with limited("writing the equations"):
        if as_json:
            print_json(equations.to_dict())
        else:
            say(equations.latex() if as_latex else equations.summary(), nl=False)
