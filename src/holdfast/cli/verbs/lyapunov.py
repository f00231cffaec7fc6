"""``holdfast lyapunov``: does V of the file's [lyapunov] table fall, and what do the step theorems say?"""

from __future__ import annotations

import math
from typing import Any

import click

import holdfast as hf
from holdfast.cli.options import FILE, JSON, LATEX, step_options
from holdfast.cli.shared import equations_in, gains_line, print_json, problem_in, reports_errors
from holdfast.cli.text import say
from holdfast.cli.watch import limited


@click.command()
@FILE
@step_options
@click.option("--epsilon", type=float, help="The size that |z| shall not exceed; default: the file's.")
@click.option(
    "--effort", type=float, help="Work of the search for proofs, 1 is about a second; default: the file's, or 5."
)
@LATEX
@JSON
@reports_errors
def lyapunov(
    file: str, epsilon: float | None, effort: float | None, as_latex: bool, as_json: bool, **asked: Any
) -> None:
    """Is V of FILE's [lyapunov] positive, and does it fall along the motion: proved, sampled or refuted?

    Without a function in the file one is sought. With an epsilon, the theorems on Euler's scheme are answered for the
    file's run; with a curvature, their steps. Exit code 0: V is positive and falls (proved or sampled); 1: not so.
    """
    equations, tuning = equations_in(problem_in(file), **asked)
    if tuning is not None:
        say(gains_line(tuning), err=True)
    with limited("judging V", more=math.inf):
        study = hf.lyapunov(equations, effort=effort)
        parts = _parts(study, epsilon, asked)
    if as_json:
        print_json({"schema": 1, "title": equations.problem.title, **study.to_dict(), **_data(parts)})
    elif as_latex:
        say(study.latex(), nl=False)
    else:
        say(study.summary(), nl=False)
        for part in parts.values():
            if part is not None:
                say("")
                say(str(part).rstrip("\n"))
    click.get_current_context().exit(0 if study.positive and study.decreasing else 1)


def _parts(study: Any, epsilon: float | None, asked: dict[str, Any]) -> dict[str, Any]:
    """Theorems, step rule and step condition, where the file says enough for them; None where not."""
    table = study.equations.problem.lyapunov
    wanted = table.get("epsilon") if epsilon is None else epsilon
    run = _euler_run(study.equations, asked) if wanted is not None or "curvature" in table else None
    found: dict[str, Any] = dict.fromkeys(("theorems", "step_rule", "step_condition"))
    if run is None or not study.positive:
        return found
    if wanted is not None:
        found["theorems"] = hf.theorems(run, study, wanted)
    if study.constant and study.decreasing:
        if "curvature" in table:
            start = float(study.along(run).norms[0])
            options = {"curvature": table["curvature"], "alpha": table.get("alpha"), "epsilon": wanted}
            found["step_rule"] = hf.step_rule(study, start=start, **options)
        found["step_condition"] = hf.step_condition(study.equations, run.scheme, run.step or 0.0, V=study)
    return found


def _euler_run(equations: hf.Equations, asked: dict[str, Any]) -> hf.Trajectory | None:
    """The run that the theorems speak of: Euler's, every step of it; none where the file does not state one."""
    scheme = asked.get("scheme") or equations.problem.run.scheme
    return hf.simulate(equations, every=1, **asked) if str(scheme).lower() == "euler" else None


def _data(parts: dict[str, Any]) -> dict[str, Any]:
    return {name: None if part is None else part.to_dict() for name, part in parts.items()}
