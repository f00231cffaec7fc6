"""``holdfast certify``: how far can the constraints drift?"""

from __future__ import annotations

import math
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
@click.option("--sample", is_flag=True, help="Estimate over the region what is not proved.")
@click.option(
    "--stretches", is_flag=True, help="Certify each stretch of the run between steps that no tube is proved of."
)
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write the certificate to NAME.json.")
@JSON
@reports_errors
def certify(file: str, output: str | None, as_json: bool, stretches: bool, **asked: Any) -> None:
    """How far can the constraints of FILE drift, and is that proved?

    Takes drift, region, weights, effort and speeds from the file's [certificate] table where they are not given. Exit
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
            say(f"  written to {output}; `holdfast verify {output}` re-checks it")
    left = any(block.stayed is False for block in certificate.blocks)
    click.get_current_context().exit(1 if left or certificate.label is hf.Label.refused else 0)


def _each_part(
    equations: hf.Equations, asked: dict[str, Any], output: str | None, as_json: bool, stretches: bool
) -> None:
    """A certificate for each phase, or stretch; files are named NAME.1-swing.json and so on."""
    unsuited = [word for word in ("drift", "sample", "speeds") if asked.pop(word, None)]
    if unsuited and stretches:
        raise hf.BadRequest(f"--{unsuited[0]} is for a whole run", where="--stretches", fix="leave one of them out")
    if unsuited:
        raise hf.BadRequest(f"--{unsuited[0]} is for one program, and this problem has phases", where="phases")
    with limited("certifying", more=math.inf):
        found = (hf.certify_stretches if stretches else hf.certify_phases)(equations, **asked)
    word = "Stretch" if stretches else "Phase"
    if as_json:
        print_json({name: certificate.to_dict() for name, certificate in found.items()})
    for name, certificate in found.items():
        file = None if output is None else f"{output.removesuffix('.json')}.{name.replace(' ', '-')}.json"
        if file is not None:
            certificate.save(file)
        if not as_json:
            say(f"{word} {name}")
            say(certificate.summary(), nl=False)
            if file is not None:
                say(f"  written to {file}; `holdfast verify {file}` re-checks it")
    left = any(block.stayed is False for certificate in found.values() for block in certificate.blocks)
    refused = any(certificate.label is hf.Label.refused for certificate in found.values())
    click.get_current_context().exit(1 if left or refused else 0)
