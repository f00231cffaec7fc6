"""``holdfast certify``: how far can the constraints drift?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import click

import holdfast as hf
from holdfast.cli.options import FILE, JSON, step_options
from holdfast.cli.shared import equations_in, gains_line, print_json, problem_in, reports_errors
from holdfast.cli.text import say
from holdfast.cli.watch import limited


@click.command()
@FILE
@step_options
@click.option("--drift", type=float, help="Seek the largest step that keeps every held deviation below this.")
@click.option("--effort", type=float, help="Work of the search for proofs, 1 is about a second; default 5.")
@click.option("--speeds", type=float, help="Have a tube hold speeds up to this part more or less than the run's.")
@click.option("--in-order", is_flag=True, help="Follow the steps of the run in the order of time, for its length.")
@click.option("--sample", is_flag=True, help="Estimate over the region what is not proved.")
@click.option(
    "--stretches", is_flag=True, help="Certify each stretch of the run between steps that no tube is proved of."
)
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write the certificate to NAME.json.")
@JSON
@reports_errors
def certify(file: str, output: str | None, as_json: bool, stretches: bool, **asked: Any) -> None:
    """How far can the constraints of FILE drift, and is that proved?

    Takes drift, region, weights, effort and speeds from the file's [certificate] table where they are not given. Where
    the whole run is not proved, the stretches of it that are follow, each with a file of its own; --json is of the
    whole run alone, or with --stretches of them. Of an adaptive run, what is proved along its own steps is told. Exit
    code 0: held as said; 1: refused, or the run left the region of its proof.
    """
    if output and not output.endswith(".json"):
        raise hf.BadRequest(f"a certificate is JSON, {output!r} is not", where="-o", fix="name it NAME.json")
    equations, tuning = equations_in(problem_in(file), **asked)
    if tuning is not None:
        say(gains_line(tuning), err=as_json)
    if equations.problem.phases or stretches:
        _each_part(equations, asked, output, as_json, stretches)
        return
    with limited("certifying", more=math.inf):
        certificate = hf.certify(equations, **asked)
    if output:
        certificate.save(output)
    if as_json:
        print_json(certificate.to_dict())
    else:
        say(certificate.summary(), nl=False)
        if output:
            say(_written(certificate, output))
        with limited("certifying stretches", more=math.inf):
            parts = hf.proved_stretches(certificate, effort=asked.get("effort"))
        _told(parts, "Proved in the stretch", output)
    left = any(block.stayed is False for block in certificate.blocks)
    good = certificate.label is not hf.Label.refused or (not as_json and _along_own_steps(equations, certificate))
    click.get_current_context().exit(1 if left or not good else 0)


def _along_own_steps(equations: hf.Equations, certificate: hf.Certificate) -> bool:
    """Tells what is proved along the steps that an adaptive run chose; whether that is all that it holds."""
    run = certificate.trajectory
    if run is None or run.step is not None or not run.outcome.holds_program:
        return False
    try:
        with limited("certifying along its own steps", more=math.inf):
            found = hf.own_step_bounds(run.equations or equations, run)
    except hf.BadRequest as error:
        say(f"  nothing is proved along its own steps: {error.what}")
        return False
    for name, bounds in found.items():
        say(f"  {name}: nothing is proved along its own steps: {bounds}" if isinstance(bounds, str) else f"  {bounds}")
    return not any(isinstance(bounds, str) for bounds in found.values())


def _each_part(
    equations: hf.Equations, asked: dict[str, Any], output: str | None, as_json: bool, stretches: bool
) -> None:
    """A certificate for each phase, or stretch; files are named NAME.1-swing.json and so on."""
    words = ("drift", "sample", "speeds", "in_order")
    unsuited = [word.replace("_", "-") for word in words if asked.pop(word, None)]
    if unsuited and stretches:
        raise hf.BadRequest(f"--{unsuited[0]} is for a whole run", where="--stretches", fix="leave one of them out")
    if unsuited:
        raise hf.BadRequest(f"--{unsuited[0]} is for one program, and this problem has phases", where="phases")
    with limited("certifying", more=math.inf):
        found = (hf.certify_stretches if stretches else hf.certify_phases)(equations, **asked)
    if as_json:
        print_json({name: certificate.to_dict() for name, certificate in found.items()})
    _told(found, "Stretch" if stretches else "Phase", output, as_json)
    left = any(block.stayed is False for certificate in found.values() for block in certificate.blocks)
    refused = any(certificate.label is hf.Label.refused for certificate in found.values())
    click.get_current_context().exit(1 if left or refused else 0)


def _told(found: Mapping[str, hf.Certificate], word: str, output: str | None, silent: bool = False) -> None:
    """Each part told, and written to a file of its own where files are wanted."""
    for name, certificate in found.items():
        file = None if output is None else f"{output.removesuffix('.json')}.{name.replace(' ', '-')}.json"
        if file is not None:
            certificate.save(file)
        if not silent:
            say(f"{word} {name}")
            say(certificate.summary(), nl=False)
            if file is not None:
                say(_written(certificate, file))


def _written(certificate: hf.Certificate, file: str) -> str:
    """Where it was written, and where something is proved, how to have it re-checked."""
    proved = any(block.label.is_proof or block.label is hf.Label.mean_square for block in certificate.blocks)
    return f"  written to {file}" + (f"; `holdfast verify {file}` re-checks it" if proved else "")
