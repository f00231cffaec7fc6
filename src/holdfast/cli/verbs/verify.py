"""``holdfast verify``: does a certificate hold?"""

from __future__ import annotations

import click

import holdfast as hf
from holdfast.cli.options import JSON
from holdfast.cli.shared import print_json, reports_errors
from holdfast.cli.text import ordinary, say


@click.command()
@click.argument("certificate", type=click.Path(), metavar="CERTIFICATE")
@click.argument("problem", type=click.Path(), required=False, metavar="[PROBLEM]")
@click.option(
    "--seconds", type=click.FloatRange(min=0, min_open=True), help="The time it may take; default: no limit of its own."
)
@click.option("--on", metavar="ADDRESS", help="A dask cluster, or local for a process to each core.")
@JSON
@reports_errors
def verify(certificate: str, problem: str | None, seconds: float | None, on: str | None, as_json: bool) -> None:
    """Does every proof in a certificate hold, and is it about PROBLEM?

    Reads the certificate and its problem with a reader of its own, derives the equations anew, and encloses every
    claim with another arithmetic than the search that found it; then makes the run again. With PROBLEM, a problem
    file, the certificate must be about that problem, with its numbers. Exit code 0: it holds; 1: it does not, or was
    not re-checked to the end; 2: it is no certificate that can be read.
    """
    ordinary(certificate, "a certificate")
    if problem is not None:
        ordinary(problem, "a problem file")
    found = hf.verify(certificate, problem, seconds=seconds, on=on)
    if not found.readable:
        raise hf.BadRequest(f"{certificate} cannot be read: {found.findings[0]}", fix="holdfast certify -o writes one")
    if as_json:
        print_json({"schema": 1, "holds": found.holds, "findings": list(found.findings)})
    elif len(found.findings) == 1 and found.findings[0].startswith("nothing in it is proved"):
        say(f"{certificate}: {found.findings[0]}")
    else:
        say(f"{certificate}: {found.verdict}")
        for line in found.findings:
            say(f"  {line}")
    click.get_current_context().exit(0 if found.holds else 1)
