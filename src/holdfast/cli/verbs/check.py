"""``holdfast check``: is the problem well stated, and where does it start?"""

from __future__ import annotations

import click

import holdfast as hf
from holdfast.cli.options import FILE, JSON
from holdfast.cli.shared import derived, print_json, problem_in, reports_errors
from holdfast.cli.text import in_one_line, say
from holdfast.cli.watch import limited


@click.command()
@FILE
@click.option(
    "--deep",
    is_flag=True,
    help="Look further: degrees, what stays free, authority, redundancy, states of rest, ways to assemble.",
)
@JSON
@reports_errors
def check(file: str, deep: bool, as_json: bool) -> None:
    """Is the problem well stated, and where does it start?

    Reads FILE (or - for standard input), derives its equations, and finds and judges the start as a run would. Exit
    code 0: well stated; 1: stated, but flagged (a negative mass, a law that drives deviations away); 2: refused. What
    stays free and runs away is a warning.
    """
    problem = problem_in(file)
    equations = derived(problem)
    if problem.run.duration is not None and not isinstance(problem.program.law, hf.Tuned):
        hf.run_as_stated(equations)
    if problem.phases:
        with limited("deriving its phases"):
            hf.phase_equations(equations)
    with limited("finding the start"):
        found = hf.checked_start(equations)
        inner = found.internal
    table = None
    if deep:
        with limited("looking deeper"):
            deeper = hf.deep_check(equations)
            table = deeper.to_dict() if as_json else deeper.summary()
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
                "repeats": found.repeats,
                "start": dict(zip(equations.state_names, found.start.state, strict=True)),
                "findings": [finding.text for finding in found.findings],
                "internal": None if inner is None else inner.to_dict(),
                "deep": table,
            }
        )
    else:
        say(f"{in_one_line(problem.title or file)}: {'flagged' if found.findings else 'well stated'}")
        for finding in found.findings:
            say(f"  found        {finding.text}")
        say(f"  coordinates  {', '.join(equations.coordinates)}")
        say(f"  program      {', '.join(equations.constraints) or 'nothing to hold'}")
        for k, text in enumerate(equations.phase_lines):
            say(f"  {'' if k else 'phases':<12} {text}")
        if equations.constraints:
            say(f"  held by      {', '.join(equations.holder_names)}  (condition number {found.condition:.3g})")
            if found.repeats:
                say(f"  repeats      {found.repeats}")
            say(f"  start        {str(found.start).removeprefix('the start ')}")
        if deep:
            say(str(table), nl=False)
        elif inner is not None:
            say(f"  {'free' if inner.warning is None else 'warning':<12} {inner.warning or inner.sentence}")
    click.get_current_context().exit(1 if found.findings else 0)
