"""``holdfast simulate``, and what it shares with ``holdfast ensemble``."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

import holdfast as hf
from holdfast.cli_parts import (
    FILE,
    JSON,
    F,
    equations_in,
    gains_line,
    print_json,
    problem_in,
    progress_bar,
    reports_errors,
)
from holdfast.cli_text import in_one_line, say

FORMS = (".npz", ".nc", ".csv")


def run_options(command: F) -> F:
    """The options that every run takes; what is not given is taken from the file's [run] table."""
    options: list[Callable[[F], F]] = [
        click.option("--scheme", help="euler, rk4, dop853, ...; default: the file's."),
        click.option("--step", type=float, help="The step of a fixed-step scheme."),
        click.option("--tolerance", type=float, help="The tolerance of an adaptive scheme."),
        click.option("--longest-step", type=float, help="The longest step of an adaptive scheme."),
        click.option("--absolute", type=float, help="The absolute tolerance of an adaptive scheme."),
        click.option("--duration", type=float, help="How long the run lasts."),
        click.option("--every", type=int, help="Keep every n-th step."),
        click.option(
            "--start-policy", type=click.Choice(["project", "keep", "raise"]), help="A start off the program."
        ),
        click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write to NAME.nc, NAME.npz or NAME.csv."),
        click.option("-q", "--quiet", is_flag=True, help="Show no progress."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@FILE
@run_options
@JSON
@reports_errors
def simulate(file: str, output: str | None, quiet: bool, as_json: bool, **asked: Any) -> None:
    """Run the problem of FILE and say how it went.

    Exit code 0: it went well; 1: it did not (see the outcome); 130: interrupted, with the rows so far written.
    """
    check_output(output)
    problem = problem_in(file)
    equations, tuning = equations_in(problem, **asked)
    with progress_bar("simulate", quiet=quiet) as progress:
        run = hf.simulate(equations, progress=progress, **asked)
    if output:
        run.save(output)
    if as_json:
        print_json(_run_data(run, tuning, output))
    else:
        _print_run(run, problem.title or file, tuning, output)
    leave(run.success, interrupted=run.outcome is hf.Outcome.interrupted)


def leave(success: bool, *, interrupted: bool) -> None:
    """Exit as a run went: 0 well, 1 not well, 130 interrupted."""
    click.get_current_context().exit(130 if interrupted else 0 if success else 1)


def check_output(output: str | None) -> None:
    """Refuse at the door what could not be written after a long run."""
    if output is None:
        return
    target = Path(output)
    if target.suffix not in FORMS:
        raise hf.BadRequest(
            f"no form of file is known for {target.name!r}", where="-o", fix="end it in .nc, .npz or .csv"
        )
    if not target.parent.is_dir():
        raise hf.BadRequest(f"there is no folder {target.parent}", where="-o", fix="make it first, or choose another")
    if target.suffix == ".nc" and find_spec("xarray") is None:
        raise hf.BadRequest("xarray is not installed", where="-o", fix='pip install "holdfast[xarray]", or use .npz')


def _largest(run: hf.Trajectory) -> dict[str, float]:
    """The largest size of each deviation."""
    return {name: float(abs(run[name]).max()) for name in run.start.deviation}


def _balance(run: hf.Trajectory) -> dict[str, float]:
    """Where the energy went, over the whole run."""
    balance = run.energy_balance
    parts = ("change", "forces", "dissipation", "held", "explicit", "correction", "residual")
    return {part: float(getattr(balance, part)[-1]) for part in parts}


def _run_data(run: hf.Trajectory, tuning: hf.Tuning | None, output: str | None) -> dict[str, Any]:
    return {
        "schema": 1,
        "title": run.problem.title if run.problem else "",
        "outcome": run.outcome.name,
        "success": run.success,
        "message": run.message,
        "findings": [found.text for found in run.findings],
        "scheme": run.scheme,
        "step": run.step,
        "tolerance": run.tolerance,
        "steps": run.steps,
        "rows": len(run.times),
        "time": float(run.times[-1]),
        "start": {
            "policy": run.start.policy,
            "changes": {name: list(pair) for name, pair in run.start.changes.items()},
            "left_out": list(run.start.open),
            "deviation": dict(run.start.deviation),
        },
        "final": {name: float(run[name][-1]) for name in run.names},
        "largest_deviation": _largest(run),
        "energy_balance": _balance(run),
        "tuning": None if tuning is None else tuning.to_dict(),
        "output": output,
    }


def _print_run(run: hf.Trajectory, title: str, tuning: hf.Tuning | None, output: str | None) -> None:
    size = f"steps of {run.step:g}" if run.step is not None else f"steps within {run.tolerance:g}"
    say(in_one_line(title))
    line("outcome", run.outcome.value)
    for found in run.findings:
        line("found", found.text)
    line("start", str(run.start))
    if run.problem is not None and run.problem.system.noise:
        line("noise", "left out: this is the motion without it (hf.sample_paths runs it)")
    if tuning is not None:
        line("tuned", gains_line(tuning))
    line("run", f"{run.scheme}, {run.steps} {size}, {len(run.times)} rows to t = {run.times[-1]:.6g}")
    line("final", listed({name: float(run[name][-1]) for name in run.state_names}))
    if run.deviation_rate.shape[1]:
        line("largest", listed(_largest(run)))
    balance = _balance(run)
    line("energy", listed({name: balance[name] for name in balance if name == "change" or balance[name]}))
    if output:
        line("written", output)


def line(word: str, text: str) -> None:
    """One line of a result: a word, and what is said of it."""
    say(f"  {word:<9} {text}")


def listed(values: dict[str, float]) -> str:
    """Values by name on one line."""
    return ", ".join(f"{name} = {value:.6g}" for name, value in values.items())
