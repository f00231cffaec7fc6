"""``holdfast simulate``: one run, and how it went."""

from __future__ import annotations

from typing import Any

import click

import holdfast as hf
from holdfast.cli.options import FILE, JSON, run_options
from holdfast.cli.shared import (
    check_output,
    equations_in,
    gains_line,
    leave,
    print_json,
    problem_in,
    progress_bar,
    reports_errors,
)
from holdfast.cli.text import in_one_line, line, listed, say


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
        output = ", ".join(map(str, run.save(output)))
    if as_json:
        print_json(_run_data(run, tuning, output))
    else:
        _print_run(run, problem.title or file, tuning, output)
    leave(run.success, interrupted=run.outcome is hf.Outcome.interrupted)


def _largest(run: hf.Trajectory) -> dict[str, float]:
    """The largest size of each deviation."""
    return {name: _greatest(abs(run[name])) for name in run.start.deviation}


def _greatest(values: Any) -> float:
    """Where it is known: a phase that does not hold a constraint has no deviation of it."""
    known = values[values == values]
    return float(known.max()) if known.size else float("nan")


def _balance(run: hf.Trajectory) -> dict[str, float]:
    """Where the energy went, over the whole run."""
    balance = run.energy_balance
    parts = ("change", "forces", "dissipation", "held", "explicit", "correction", "residual")
    return {part: float(getattr(balance, part)[-1]) for part in parts}


def _norm(run: hf.Trajectory) -> dict[str, float]:
    """The norm of all deviations together: at the start, at its largest, at the end."""
    if not run.deviation_rate.shape[1]:
        return {}
    norm = run.deviation_norm
    return {"start": float(norm[0]), "largest": _greatest(norm), "final": float(norm[-1])}


def _run_data(run: hf.Trajectory, tuning: hf.Tuning | hf.TrackingTuning | None, output: str | None) -> dict[str, Any]:
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
        "deviation_norm": _norm(run),
        "energy_balance": _balance(run),
        "tuning": None if tuning is None else tuning.to_dict(),
        "output": output,
    }


def _print_run(
    run: hf.Trajectory, title: str, tuning: hf.Tuning | hf.TrackingTuning | None, output: str | None
) -> None:
    size = f"steps of {run.step:g}" if run.step is not None else f"steps within {run.tolerance:g}"
    say(in_one_line(title))
    line("outcome", run.outcome.value)
    if isinstance(run, hf.JoinedRun):
        for text in run.summary().splitlines():
            line("phase", text.strip())
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
        line("largest", listed({**_largest(run), "norm": _greatest(run.deviation_norm)}))
    balance = _balance(run)
    line("energy", listed({name: balance[name] for name in balance if name == "change" or balance[name]}))
    if output:
        line("written", output)
