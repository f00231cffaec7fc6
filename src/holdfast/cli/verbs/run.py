"""``holdfast run``: everything at once, on one page."""

from __future__ import annotations

from typing import Any

import click

from holdfast.cli.options import FILE, JSON, LIVE, OPEN, PAGE, QUIET, step_options
from holdfast.cli.page import command_line, finish, page_at, studied
from holdfast.cli.shared import problem_in, reports_errors, with_run


@click.command()
@FILE
@PAGE
@step_options
@click.option(
    "--effort",
    type=click.FloatRange(min=0),
    help="Work of the search for proofs, 1 is about a second; default: as FILE says, else 5.",
)
@LIVE
@OPEN
@QUIET
@JSON
@reports_errors
def run(
    file: str,
    output: str | None,
    effort: float | None,
    live: bool | None,
    opened: bool,
    quiet: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Do everything with FILE: derive, tune if asked, run, certify, and write one page.

    The verdict at the top is the worst of how the run ended, the error of its states (estimated by a halved step, or by
    a tighter tolerance) and what is promised: proved, checked, no promise, or failed. Exit code 0: nothing failed; 1:
    failed; 2: FILE has errors; 130: interrupted, with a page of what was computed.
    """
    target = page_at(file, output)
    problem = with_run(problem_in(file), **asked)
    made = studied(problem, quiet, effort=effort)
    given = {**asked, "effort": effort}
    words = ["holdfast", "run", file]
    for name, value in given.items():
        words += [] if value is None else [f"--{name}", value if isinstance(value, str) else f"{value:g}"]
    finish(made, target, command_line(*words), opened, as_json, live)
