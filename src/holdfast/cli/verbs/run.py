"""``holdfast run``: everything at once, on one page."""

from __future__ import annotations

import click

from holdfast.cli.options import FILE, JSON, OPEN, PAGE, QUIET
from holdfast.cli.page import command_line, finish, page_at, studied
from holdfast.cli.shared import problem_in, reports_errors


@click.command()
@FILE
@PAGE
@click.option(
    "--effort", type=click.FloatRange(min=0), help="Seconds of computing for proofs; default: as FILE says, else 5."
)
@OPEN
@QUIET
@JSON
@reports_errors
def run(file: str, output: str | None, effort: float | None, opened: bool, quiet: bool, as_json: bool) -> None:
    """Do everything with FILE: derive, tune if asked, run, certify, and write one page.

    The verdict at the top is the worst of how the run ended, the error of its states (estimated by a halved step, or by
    a tighter tolerance) and what is promised: proved, checked, no promise, or failed. Exit code 0: nothing failed; 1:
    failed; 2: FILE has errors; 130: interrupted, with a page of what was computed.
    """
    target = page_at(file, output)
    made = studied(problem_in(file), quiet, effort=effort)
    words = ["holdfast", "run", file, *(["--effort", f"{effort:g}"] if effort is not None else [])]
    finish(made, target, command_line(*words), opened, as_json)
