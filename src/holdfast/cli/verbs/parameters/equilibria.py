"""``holdfast equilibria``: states of rest, and how they change with a parameter."""

from __future__ import annotations

from typing import Any

import click

import holdfast as hf
from holdfast.cli.options import FILE, JSON
from holdfast.cli.shared import derived, leave, print_json, problem_in, reports_errors
from holdfast.cli.text import in_one_line, say


@click.command()
@FILE
@click.option("--along", metavar="NAME=LOW:HIGH", help="A parameter or gain, and its range: w=1:8.")
@click.option("--places", type=click.IntRange(min=0), help="Random places that rests are looked for from.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the random places.")
@JSON
@reports_errors
def equilibria(file: str, along: str | None, places: int | None, seed: int, as_json: bool) -> None:
    """States of rest of FILE, with their stability in words.

    With --along they are continued in a parameter: branches, folds, and where stability changes.

    Exit code 0: some were found; 1: none.
    """
    problem = problem_in(file)
    equations = derived(problem)
    asked: dict[str, Any] = {"seed": seed} if places is None else {"seed": seed, "places": places}
    if along is not None:
        branches = hf.equilibrium_branches(equations, _range(along), **asked)
        data, text, found = branches.to_dict(), branches.summary(), bool(len(branches))
    else:
        rests = hf.equilibria(equations, **asked)
        data = {"schema": 1, "equilibria": [rest.to_dict() for rest in rests]}
        text, found = "".join(f"{rest}\n" for rest in rests) or "no states of rest were found\n", bool(rests)
    if as_json:
        print_json({"title": problem.title, **data})
    else:
        say(in_one_line(problem.title or file))
        say(text, nl=False)
    leave(found, interrupted=False)


def _range(text: str) -> dict[str, tuple[float, float]]:
    name, _, limits = text.partition("=")
    low, _, high = limits.partition(":")
    try:
        return {name.strip(): (float(low), float(high))}
    except ValueError:
        raise hf.BadRequest(f"{text!r} is no range of a parameter", where="--along", fix="NAME=LOW:HIGH") from None
