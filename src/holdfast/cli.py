"""The same verbs, typed: ``holdfast check``, ``derive``, ``simulate``, ``ensemble``, ``examples``.

Results go to standard output, progress and errors to standard error. Exit codes: 0 good, 1 a negative verdict, 2
misuse, a bad file or output that cannot be written, 70 a fault of Holdfast itself (with a file to send), 130
interrupted. There is no traceback without ``--debug``.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import click

import holdfast as hf
from holdfast.cli_ensemble import ensemble
from holdfast.cli_page import report, run
from holdfast.cli_parts import FILE, JSON, derived, print_json, problem_in, reports_errors
from holdfast.cli_runs import simulate
from holdfast.cli_stability import certify, tune, verify
from holdfast.cli_structure import family, lagrangian
from holdfast.cli_text import Typed, in_one_line, say
from holdfast.cli_watch import WATCH, limited
from holdfast.files import write


@click.group(
    cls=Typed,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""
    holdfast examples                        list the shipped problem files
    holdfast examples cart_rod               copy one out as cart_rod.toml
    holdfast run cart_rod.toml               everything at once, on one page: cart_rod.html
    holdfast check cart_rod.toml             is it well stated, and where does it start?
    holdfast derive cart_rod.toml            its equations of motion and control forces
    holdfast simulate cart_rod.toml          run it, and say how it went
    holdfast simulate cart_rod.toml -o run.nc
    holdfast tune pendulum.toml -o map.png   which gains, for its scheme and step?
    holdfast certify cart_rod.toml -o c.json how far can it drift, and is that proved?
    holdfast verify c.json                   re-check the proof
    """,
)
@click.version_option(hf.__version__, prog_name="holdfast")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.option(
    "--limit",
    type=click.FloatRange(min=0, min_open=True, max=1e6),
    help="Seconds of computing for reading, deriving and writing formulas; default 10.",
)
@click.pass_context
def main(ctx: click.Context, debug: bool, limit: float | None) -> None:
    """Programs in; equations, forces and runs out.

    A problem file states a system by its energies and a program: what the motion must keep.
    """
    ctx.obj = {"debug": debug}
    if limit is not None:
        WATCH.seconds = limit
        ctx.with_resource(hf.limits(seconds=limit))


main.add_command(run)
main.add_command(report)
main.add_command(simulate)
main.add_command(ensemble)
for command in (certify, tune, verify):
    main.add_command(command)
main.add_command(lagrangian)
main.add_command(family)


@main.command()
@FILE
@JSON
@reports_errors
def check(file: str, as_json: bool) -> None:
    """Is the problem well stated, and where does it start?

    Reads FILE (or - for standard input), derives its equations, and finds and judges the start as a run would. Exit
    code 0: well stated; 1: stated, but flagged (a negative mass, a law that drives deviations away); 2: refused.
    """
    problem = problem_in(file)
    equations = derived(problem)
    if problem.run.duration is not None and not isinstance(problem.program.law, hf.Tuned):
        hf.run_as_stated(equations)
    with limited("finding the start"):
        found = hf.checked_start(equations)
    if as_json:
        print_json(
            {
                "schema": 1,
                "title": problem.title,
                "coordinates": list(equations.coordinates),
                "constraints": list(equations.constraints),
                "holders": list(equations.holder_names),
                "initial_deviation": dict(found.start.deviation),
                "condition": found.condition,
                "start": dict(zip(equations.state_names, found.start.state, strict=True)),
                "findings": [finding.text for finding in found.findings],
            }
        )
    else:
        say(f"{in_one_line(problem.title or file)}: {'flagged' if found.findings else 'well stated'}")
        for finding in found.findings:
            say(f"  found        {finding.text}")
        say(f"  coordinates  {', '.join(equations.coordinates)}")
        say(f"  program      {', '.join(equations.constraints) or 'nothing to hold'}")
        if equations.constraints:
            say(f"  held by      {', '.join(equations.holder_names)}  (condition number {found.condition:.3g})")
            say(f"  start        {str(found.start).removeprefix('the start ')}")
    click.get_current_context().exit(1 if found.findings else 0)


@main.command()
@FILE
@click.option("--latex", "as_latex", is_flag=True, help="Print LaTeX.")
@JSON
@reports_errors
def derive(file: str, as_latex: bool, as_json: bool) -> None:
    """The equations of motion, multipliers and control forces of FILE."""
    equations = derived(problem_in(file))
    with limited("writing the equations"):
        if as_json:
            print_json(equations.to_dict())
        else:
            say(equations.latex() if as_latex else equations.summary(), nl=False)


@main.command()
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
