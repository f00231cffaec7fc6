"""``holdfast export``: the equations for other tools."""

from __future__ import annotations

import re
from pathlib import Path

import click

import holdfast as hf
from holdfast.cli.options import FILE, JSON
from holdfast.cli.shared import equations_in, print_json, problem_in, reports_errors
from holdfast.cli.text import say
from holdfast.cli.watch import limited

TARGETS = ("c", "fmu", "numpy", "casadi", "jax", "js", "modelica", "latex")


@click.command()
@FILE
@click.option("--to", type=click.Choice(TARGETS), required=True, help="The other tool.")
@click.option("-o", "--output", type=click.Path(), help="A folder, or the one file; default: beside the caller.")
@click.option("--name", help="What files and functions are called; default: FILE's name.")
@click.option("--scheme", help="euler, rk4, ...: how the exported step is made; default: the file's, or rk4.")
@click.option("--step", type=float, help="The step; default: the file's.")
@click.option(
    "--input", "inputs", multiple=True, help="A parameter, or (each) control, that others put in; repeatable."
)
@click.option("--precision", type=click.Choice(["double", "float"]), default="double", help="Of C.")
@click.option("--controller", is_flag=True, help="Of C: the control forces alone, from the measured state.")
@click.option("--fmi", type=click.IntRange(2, 3), default=2, show_default=True, help="Of an FMU: the version of FMI.")
@JSON
@reports_errors
def export(
    file: str, to: str, output: str | None, name: str | None, scheme: str | None, step: float | None,
    inputs: tuple[str, ...], precision: str, controller: bool, fmi: int, as_json: bool,
) -> None:  # fmt: skip
    """Write the equations of FILE for another tool: C, an FMU, NumPy, CasADi, JAX, Modelica or LaTeX."""
    problem = problem_in(file)
    equations, _ = equations_in(problem)
    called = name if name is not None or file == "-" else re.sub(r"\W", "_", Path(file).stem, flags=re.ASCII)
    with limited("writing the equations"):
        made = hf.export(
            equations, to, name=called, scheme=scheme, step=step, inputs=inputs, precision=precision,
            part="controller" if controller else "model", fmi=fmi,
        )  # fmt: skip
    written = made.save(output or ".")
    if as_json:
        files = [str(path) for path in written]
        told = {"schema": 1, "title": problem.title, "to": to, "name": made.name}
        print_json({**told, "files": files, "notes": list(made.notes)})
        return
    for path in written:
        say(f"wrote {path}")
    for note in made.notes:
        say(f"note: {note}")
