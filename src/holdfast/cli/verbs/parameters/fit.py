"""``holdfast fit``: parameters and start values from measured data."""

from __future__ import annotations

from typing import Any

import click

import holdfast as hf
from holdfast.cli.options import FILE, JSON
from holdfast.cli.shared import equations_in, leave, print_json, problem_in, reports_errors
from holdfast.cli.text import in_one_line, line, say
from holdfast.cli.verbs.parameters.names import NAMES, numbers


@click.command()
@FILE
@click.argument("data", type=click.Path(), metavar="DATA.csv")
@click.option("--parameters", type=NAMES, required=True, help="What is sought: m,l or m=1.2,l,theta(0).")
@click.option("--columns", type=NAMES, help="Columns of DATA to fit to; default: all but the times.")
@click.option("--sigma", type=NAMES, help="The noise: 0.01, or theta=0.01,x=0.1; default: as residuals tell.")
@click.option("--scheme", help="euler, rk4, dop853, ...; default: the file's.")
@click.option("--step", type=float, help="The step of a fixed-step scheme.")
@click.option("--tolerance", type=float, help="The tolerance of an adaptive scheme.")
@click.option(
    "--start-policy", type=click.Choice(["project", "keep", "raise"]), help="How the start is put on the program."
)
@click.option("--write", type=click.Path(dir_okay=False), help="Write the problem with what was found to NAME.toml.")
@JSON
@reports_errors
def fit(file: str, data: str, parameters: list[str], as_json: bool, write: str | None, **asked: Any) -> None:
    """Find parameters, gains or start values of FILE that fit DATA.csv best.

    The first row of DATA names its columns: t (or time), and quantities of a run. Prints each value with its standard
    error, the noise of each column, and what the data do not determine.

    Exit code 0: a minimum was found and determines all values; 1: the search did not converge, or some are not
    determined.
    """
    problem = problem_in(file)
    columns, sigma = asked.pop("columns"), asked.pop("sigma")
    equations, _ = equations_in(problem, **{word: asked[word] for word in ("scheme", "step", "tolerance")})
    found = hf.fit(equations, data, numbers(parameters, "--parameters"), columns=columns, sigma=_noise(sigma), **asked)
    if write:
        hf.dump(found.problem, write)
    if as_json:
        print_json({"title": problem.title, **found.to_dict(), "written": write})
    else:
        say(in_one_line(problem.title or file))
        say(found.summary(), nl=False)
        if write:
            line("written", write)
    determined = all(error < float("inf") for error in found.errors.values())
    leave(found.success and determined, interrupted=False)


def _noise(given: list[str] | None) -> Any:
    """One number for all columns, or numbers by name."""
    if given is None:
        return None
    if len(given) == 1 and "=" not in given[0]:
        try:
            return float(given[0])
        except ValueError:
            raise hf.BadRequest(f"{given[0]!r} is not a number", where="--sigma", fix="e.g. 0.01") from None
    found = numbers(given, "--sigma")
    lacking = next((name for name, value in found.items() if value is None), None)
    if lacking is not None:
        raise hf.BadRequest(f"{lacking!r} has no number", where="--sigma", fix=f"{lacking}=0.01")
    return found
