"""``holdfast family``: all systems that keep a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

import holdfast as hf
from holdfast.cli.options import FILE, JSON, LATEX
from holdfast.cli.shared import print_json, problem_in, reports_errors
from holdfast.cli.text import say
from holdfast.cli.watch import limited

LEAST = {1: "The least of all, K(Phi - omega_t):", 2: "The least of all, K(Y - gamma):"}


@click.command()
@FILE
@LATEX
@JSON
@reports_errors
def family(file: str, as_latex: bool, as_json: bool) -> None:
    """All systems that keep the program of FILE under its law, and the member that its [family] table chooses.

    Energies, forces and controls are left out. With order = 1 in that table, the systems are of first order.
    """
    problem = problem_in(file)
    with limited("deriving the family"):
        made = _family_of(problem)
        facts: dict[str, object] = {"freedom": made.freedom}
        if not made.letters:
            at = made.general_solution()
            facts |= {"rank": at.rank, "smallest_singular_value": at.smallest}
        data = made.to_dict() if as_json else {}
        text = "" if as_json else made.latex() if as_latex else made.summary()
    if as_json:
        print_json({**data, "family": {**facts, "explanation": made.explain()}})
        return
    if not as_latex:
        say(made.explain())
        chosen = [key for key in problem.family if key != "order"]
        say("\n" + (f"The member by {', '.join(chosen)}:" if chosen else LEAST[_order(problem)]) + "\n")
    say(text, nl=False)


def _family_of(problem: hf.Problem) -> hf.Family:
    """The family of the program alone, with the parameters, start and run of the problem."""
    system, program = problem.system, problem.program
    return hf.family(
        hf.Program(holonomic=program.holonomic, nonholonomic=program.nonholonomic, law=program.law),
        coordinates=None if _order(problem) == 1 else system.coordinates,
        states=system.coordinates if _order(problem) == 1 else None,
        parameters=system.parameters,
        definitions=system.definitions,
        functions=system.functions,
        start=problem.start,
        run=problem.run,
        title=problem.title,
        **_member(problem.family),
    )


def _order(problem: hf.Problem) -> int:
    return int(problem.family.get("order", 2))


def _member(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """What the file chooses, as arguments of `hf.family`."""
    given = {key: value for key, value in chosen.items() if key != "order"}
    if "criterion" in given:
        table = dict(given["criterion"])
        kind = hf.Nearest if table.pop("kind") == "nearest" else hf.LeastEffort
        given["criterion"] = kind(**table)
    return given
