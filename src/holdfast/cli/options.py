"""Arguments and options that several commands take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
LATEX = click.option("--latex", "as_latex", is_flag=True, help="Print LaTeX.")
QUIET = click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
QUIETLY = click.Option(["-q", "--quiet"], is_flag=True, expose_value=False, help="Show no progress.")
PAGE = click.option("-o", "--output", type=click.Path(dir_okay=False), help="The page; default: FILE's name, .html.")
LIVE = click.option(
    "--live/--no-live", default=None, help="Sliders that run the equations in the page; default: where they are short."
)
OPEN = click.option("--open", "opened", is_flag=True, help="Show it in a browser.")


def _noted(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> None:
    """NAME=VALUE of each, for `problem_in`."""
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise click.BadParameter(f"{text!r} is not NAME=VALUE", context, option)
        context.find_root().obj.setdefault("values", {})[name.strip()] = value.strip()


SET = click.option(
    "--set", multiple=True, metavar="NAME=VALUE", callback=_noted, expose_value=False,
    help="A parameter or function: a number, an expression, a CSV file; may be repeated.",
)  # fmt: skip


def FILE(command: F) -> F:
    """The problem file, and values in place of those it states."""
    return click.argument("file", type=click.Path(allow_dash=True), metavar="FILE")(SET(command))


def run_options(command: F) -> F:
    """The options that every run takes; what is not given is taken from the file's [run] table."""
    options: list[Callable[[F], F]] = [
        click.option("--scheme", help="euler, rk4, dop853, ...; default: the file's."),
        click.option("--step", type=float, help="The step of a fixed-step scheme."),
        click.option("--tolerance", type=float, help="The tolerance of an adaptive scheme."),
        click.option("--longest-step", type=float, help="The longest step of an adaptive scheme."),
        click.option("--absolute", type=float, help="The absolute tolerance of an adaptive scheme."),
        click.option("--duration", type=float, help="How long the run lasts."),
        click.option(
            "--every", type=int, help="Keep every n-th step; default: each, of long runs at most 100 000 rows."
        ),
        click.option(
            "--start-policy", type=click.Choice(["project", "keep", "raise"]), help="A start off the program."
        ),
        click.option(
            "-o",
            "--output",
            type=click.Path(dir_okay=False),
            help="Write to NAME.nc, NAME.npz or NAME.csv; an ensemble also to NAME.zarr.zip, case by case.",
        ),
        click.option("-q", "--quiet", is_flag=True, help="Show no progress."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def step_options(command: F) -> F:
    """Scheme, step or tolerance, and duration; what is not given is taken from the file's [run] table."""
    options = [
        click.option("--scheme", help="euler, rk4, dop853, ...; default: the file's."),
        click.option("--step", type=float, help="The step of a fixed-step scheme."),
        click.option("--tolerance", type=float, help="The tolerance of an adaptive scheme."),
        click.option("--duration", type=float, help="How long the run lasts."),
    ]
    for option in reversed(options):
        command = option(command)
    return command
