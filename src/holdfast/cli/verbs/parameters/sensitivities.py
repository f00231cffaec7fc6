"""``holdfast sensitivities``: how a run changes with parameters, gains and starts."""

from __future__ import annotations

from typing import Any

import click

import holdfast as hf
from holdfast.cli.options import FILE, JSON
from holdfast.cli.shared import equations_in, leave, print_json, problem_in, reports_errors
from holdfast.cli.text import in_one_line, line, say
from holdfast.cli.verbs.parameters.names import NAMES
from holdfast.common.files import write


@click.command()
@FILE
@click.option("--to", type=NAMES, help="Parameters, gains (law.stiffness.rod) and starts (x(0)); default: parameters.")
@click.option("--of", type=NAMES, help="Quantities of the run; default: all states.")
@click.option("--scheme", help="euler, rk4, dop853, ...; default: the file's.")
@click.option("--step", type=float, help="The step of a fixed-step scheme.")
@click.option("--tolerance", type=float, help="The tolerance of an adaptive scheme.")
@click.option("--duration", type=float, help="How long the run lasts.")
@click.option("--every", type=int, help="Keep every n-th step.")
@click.option(
    "--start-policy", type=click.Choice(["project", "keep", "raise"]), help="How the start is put on the program."
)
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write all derivatives by time to NAME.csv.")
@JSON
@reports_errors
def sensitivities(file: str, output: str | None, as_json: bool, **asked: Any) -> None:
    """How the run of FILE changes with parameters, gains and start values.

    Prints the largest change of each quantity along the run for a change of each parameter by 1 %.
    """
    if output and not output.endswith(".csv"):
        raise hf.BadRequest(f"{output!r} is no CSV file", where="-o", fix="name it NAME.csv")
    problem = problem_in(file)
    equations, _ = equations_in(problem, **{word: asked[word] for word in ("scheme", "step", "tolerance", "duration")})
    found = hf.sensitivities(equations, **asked)
    if output:
        write(output, found.to_csv())
    if as_json:
        print_json({"title": problem.title, **found.to_dict(), "output": output})
    else:
        say(in_one_line(problem.title or file))
        say(found.summary(), nl=False)
        if output:
            line("written", output)
    leave(found.run.success, interrupted=found.run.outcome is hf.Outcome.interrupted)
