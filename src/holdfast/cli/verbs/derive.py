"""``holdfast derive``: the equations of motion."""

from __future__ import annotations

import click

import holdfast as hf
from holdfast.cli.options import FILE, JSON, LATEX
from holdfast.cli.shared import derived, print_json, problem_in, reports_errors
from holdfast.cli.text import say
from holdfast.cli.watch import limited


@click.command()
@FILE
@click.option("--coefficients", is_flag=True, help="The accelerations by powers of the rates: b^i_jl, b^i_j, b^i_0, h.")
@LATEX
@JSON
@reports_errors
def derive(file: str, coefficients: bool, as_latex: bool, as_json: bool) -> None:
    """The equations of motion, multipliers and control forces of FILE."""
    equations = derived(problem_in(file))
    with limited("writing the equations"):
        shown = hf.coefficients(equations) if coefficients else equations
        if as_json:
            print_json(shown.to_dict())
        else:
            say(shown.latex() if as_latex else shown.summary(), nl=False)
