"""``holdfast derive``: the equations of motion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

import holdfast as hf
from holdfast.cli.options import FILE, JSON, LATEX
from holdfast.cli.shared import derived, print_json, problem_in, reports_errors
from holdfast.cli.text import say
from holdfast.cli.watch import limited

SHOWN: dict[str, Callable[[hf.Equations], Any]] = {
    "equations": lambda equations: equations,
    "coefficients": lambda equations: hf.coefficients(equations),
    "parts": lambda equations: hf.multiplier_parts(equations),
    "exhaust": lambda equations: hf.exhaust_formulas(equations),
}


@click.command()
@FILE
@click.option("--show", type=click.Choice([*SHOWN]), default="equations", show_default=True, help="What to write out.")
@LATEX
@JSON
@reports_errors
def derive(file: str, show: str, as_latex: bool, as_json: bool) -> None:
    """The equations of motion, multipliers and control forces of FILE.

    Or, with --show, the accelerations by powers of the rates (coefficients), the forces by their cause (parts), or the
    exhaust that gives a thrust.
    """
    equations = derived(problem_in(file))
    with limited("writing the equations"):
        shown = SHOWN[show](equations)
        if as_json:
            print_json(shown.to_dict())
        else:
            say(shown.latex() if as_latex else shown.summary(), nl=False)
