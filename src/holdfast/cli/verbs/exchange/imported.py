"""``holdfast import``: a mechanism out of another tool's file, as a problem file."""

from __future__ import annotations

from pathlib import Path

import click

import holdfast as hf
from holdfast.cli.options import JSON
from holdfast.cli.shared import print_json, reports_errors
from holdfast.cli.text import say
from holdfast.cli.watch import limited


@click.command("import")
@click.argument("file", type=click.Path())
@click.option("-o", "--output", type=click.Path(), help="The problem file; default: FILE's name, .toml.")
@click.option("--floating", is_flag=True, help="Of URDF: the root link moves freely instead of standing on the ground.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@JSON
@reports_errors
def import_(file: str, output: str | None, floating: bool, force: bool, as_json: bool) -> None:
    """Write the mechanism of a URDF or MJCF FILE as a problem file of bodies and joints.

    What of FILE is not read (meshes, limits, actuators, ...) is listed.
    """
    with limited("reading the mechanism"):
        found = hf.import_robot(file, floating=floating)
        text = hf.dumps(found.problem)
    target = Path(output) if output else Path(Path(file).stem).with_suffix(".toml")
    if target.exists() and not force:
        raise hf.BadRequest(f"{target} is there already", where="-o", fix="give another name with -o, or --force")
    hf.dump(found.problem, target)
    if as_json:
        told = {"schema": 1, "title": found.title, "file": str(target), "bodies": len(found.system.bodies)}
        told |= {"coordinates": [c.name for c in found.system.coordinates], "unread": list(found.unread)}
        print_json({**told, "renamed": dict(found.renamed), "notes": list(found.notes)})
        return
    count, freedoms = len(found.system.bodies), len(found.system.coordinates)
    say(f"wrote {target}: {count} {'body' if count == 1 else 'bodies'}, {freedoms} coordinates, {len(text)} characters")
    for old, new in found.renamed:
        say(f"renamed: {old} is {new}")
    for note in found.notes:
        say(f"note: {note}")
    for what in found.unread:
        say(f"not read: {what}")
