"""``holdfast report``: the page of a saved run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

import holdfast as hf
from holdfast.cli.options import FILE, JSON, LIVE, OPEN, PAGE, QUIET
from holdfast.cli.page import command_line, finish, page_at, studied
from holdfast.cli.shared import problem_in, reports_errors
from holdfast.cli.text import ordinary

SAVED = (".npz", ".nc")


@click.command()
@FILE
@PAGE
@click.option("--certificate", type=click.Path(), help="A certificate saved beside the run.")
@LIVE
@OPEN
@QUIET
@JSON
@reports_errors
def report(
    file: str,
    output: str | None,
    certificate: str | None,
    live: bool | None,
    opened: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """The page of a saved run (RUN.npz, RUN.nc), or of a problem FILE that is run first, without a proof.

    holdfast run adds a certificate.
    """
    target = page_at(file, output)
    if Path(file).suffix in SAVED:
        run = hf.Trajectory.load(ordinary(file, "a saved run"))
        if run.problem is None:
            raise hf.BadRequest("this run does not know its problem", where=file, fix="make the run again")
        made = hf.Study(run.problem, None, run)
    else:
        made = studied(problem_in(file), quiet, certified=False)
    if certificate:
        made = replace(made, certificate=hf.Certificate.load(ordinary(certificate, "a certificate")))
    finish(made, target, command_line("holdfast", "report", file), opened, as_json, live)
