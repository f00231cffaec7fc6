"""``holdfast certify``, ``holdfast tune`` and ``holdfast verify``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

import holdfast as hf
from holdfast.cli_parts import FILE, JSON, F, derived, equations_in, gains_line, print_json, problem_in, reports_errors
from holdfast.cli_text import ordinary, plain_matplotlib, say
from holdfast.cli_watch import limited
from holdfast.files import write_stream

SECONDS = 60.0  # of `verify`, unless said otherwise

PICTURES = (".png", ".svg", ".pdf")
NO_CERTIFICATE = (
    "it is not JSON",
    "it cannot be read as text",
    "it is not a certificate",
)  # misuse, not a failed proof


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


@click.command()
@FILE
@step_options
@click.option("--drift", type=float, help="Seek the largest step that keeps every held deviation below this.")
@click.option("--effort", type=float, help="Seconds of computing for the search of proofs; default 5.")
@click.option("--sample", is_flag=True, help="Estimate over the region what is not proved.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write the certificate to NAME.json.")
@JSON
@reports_errors
def certify(file: str, output: str | None, as_json: bool, **asked: Any) -> None:
    """How far can the constraints of FILE drift, and is that proved?

    Takes drift, region, weights and effort from the file's [certificate] table where they are not given. Exit code 0:
    held as said; 1: refused, or the run left the region of its proof.
    """
    if output and not output.endswith(".json"):
        raise hf.BadRequest(f"a certificate is JSON, {output!r} is not", where="-o", fix="name it NAME.json")
    equations, tuning = equations_in(problem_in(file), **asked)
    if tuning is not None:
        say(gains_line(tuning), err=as_json)
    with limited("certifying", more=math.inf):
        certificate = hf.certify(equations, **asked)
    if output:
        certificate.save(output)
    if as_json:
        print_json(certificate.to_dict())
    else:
        say(certificate.summary(), nl=False)
        if output:
            say(f"  written to {output}; `holdfast verify {output}` re-checks it")
    left = any(block.stayed is False for block in certificate.blocks)
    click.get_current_context().exit(1 if left or certificate.label is hf.Label.refused else 0)


@click.command()
@FILE
@step_options
@click.option("--per-constraint", is_flag=True, help="A pair of gains for each constraint.")
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


def _draw(tuning: hf.Tuning, output: str) -> None:
    matplotlib = plain_matplotlib()
    matplotlib.use("Agg")
    kind = Path(output).suffix.removeprefix(".")
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        figure = tuning.plot().figure
        write_stream(output, lambda file: figure.savefig(file, format=kind, dpi=150))


@click.command()
@click.argument("certificate", type=click.Path(), metavar="CERTIFICATE")
@click.argument("problem", type=click.Path(), required=False, metavar="[PROBLEM]")
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True), help="The time it may take; default 60.")
@JSON
@reports_errors
def verify(certificate: str, problem: str | None, seconds: float | None, as_json: bool) -> None:
    """Does every proof in a certificate hold, and is it about PROBLEM?

    Reads the certificate and its problem with a reader of its own, derives the equations anew, and encloses every
    claim with another arithmetic than the search that found it; then makes the run again. With PROBLEM, a problem
    file, the certificate must be about that problem, with its numbers. Exit code 0: it holds; 1: it does not, or was
    not confirmed within the time.
    """
    ordinary(certificate, "a certificate")
    if problem is not None:
        ordinary(problem, "a problem file")
    found = hf.verify(certificate, problem, seconds=seconds or SECONDS)
    if not found and any(line.startswith(NO_CERTIFICATE) for line in found.findings):
        raise hf.BadRequest(
            f"{certificate} is not a certificate: {found.findings[0]}", fix="holdfast certify -o writes one"
        )
    if as_json:
        print_json({"schema": 1, "holds": found.holds, "findings": list(found.findings)})
    elif len(found.findings) == 1 and found.findings[0].startswith("nothing in it is proved"):
        say(f"{certificate}: {found.findings[0]}")
    else:
        say(f"{certificate}: {'holds' if found.holds else 'does not hold'}")
        for line in found.findings:
            say(f"  {line}")
    click.get_current_context().exit(0 if found.holds else 1)
