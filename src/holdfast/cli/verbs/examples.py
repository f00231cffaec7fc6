"""``holdfast examples``: the shipped problem files."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import click

import holdfast as hf
from holdfast.cli.options import JSON
from holdfast.cli.shared import print_json, reports_errors
from holdfast.cli.text import say
from holdfast.common.files import write


@click.command()
@click.argument("name", required=False)
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Where to write it; default NAME.toml.")
@JSON
@reports_errors
def examples(name: str | None, output: str | None, as_json: bool) -> None:
    """List the shipped problem files, or copy one out by NAME."""
    shelf = {entry.name.removesuffix(".toml"): entry for entry in _shipped()}
    if name is None:
        titles = {key: _title(entry.read_text("utf-8")) for key, entry in sorted(shelf.items())}
        if as_json:
            print_json({"schema": 1, "examples": titles})
        else:
            width = max(map(len, titles))
            for key, title in titles.items():
                say(f"{key:<{width}}  {title}")
        return
    if name not in shelf:
        raise hf.BadRequest(f"there is no example {name!r}", fix=_near(name, sorted(shelf)))
    target = Path(output or f"{name}.toml")
    if target.exists():
        raise hf.BadRequest(f"{target} exists already", fix="name another file with -o, or remove it first")
    write(target, shelf[name].read_text("utf-8"))
    say(str(target))


def _near(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else "known: " + ", ".join(known)


def _shipped() -> list[Any]:
    folder = resources.files("holdfast") / "examples"
    return [entry for entry in folder.iterdir() if entry.name.endswith(".toml")]


def _title(text: str) -> str:
    import tomllib

    return str(tomllib.loads(text).get("title", ""))
