"""``holdfast tune``: which gains, for this scheme and step?"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

import holdfast as hf
from holdfast.cli.options import FILE, JSON, step_options
from holdfast.cli.shared import derived, print_json, problem_in, reports_errors
from holdfast.cli.text import plain_matplotlib, say
from holdfast.cli.watch import limited
from holdfast.common.files import write_stream

PICTURES = (".png", ".svg", ".pdf")


@click.command()
@FILE
@step_options
@click.option("--per-constraint", is_flag=True, help="A pair of gains for each constraint.")
@click.option("--on", metavar="ADDRESS", help="A dask cluster, or local for a process to each core.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Draw the map of gains: .png, .svg or .pdf.")
@click.option("--write", type=click.Path(dir_okay=False), help="Write the problem with these gains to NAME.toml.")
@JSON
@reports_errors
def tune(file: str, output: str | None, write: str | None, as_json: bool, **asked: Any) -> None:
    """Which gains hold the program of FILE best, for its scheme and step?

    "No gains" is a legal answer. A few hundred runs of the model decide; the errors stay within twice those without
    gains.
    """
    if output and Path(output).suffix not in PICTURES:
        raise hf.BadRequest(f"{output!r} is not a picture", where="-o", fix="name it " + ", ".join(PICTURES))
    problem = problem_in(file)
    equations = derived(problem)
    with limited("tuning", more=math.inf):
        tuning = hf.tune(equations, **asked)
    if output:
        _draw(tuning, output)
    if write:
        hf.dump(problem.with_law(tuning.law), write)
    if as_json:
        print_json(tuning.to_dict())
    else:
        say(tuning.summary(), nl=False)


def _draw(tuning: hf.Tuning | hf.TrackingTuning, output: str) -> None:
    matplotlib = plain_matplotlib()
    matplotlib.use("Agg")
    kind = Path(output).suffix.removeprefix(".")
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        figure = tuning.plot().figure
        write_stream(output, lambda file: figure.savefig(file, format=kind, dpi=150))
