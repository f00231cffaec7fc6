"""``holdfast ensemble``: many runs, and a small table of how they went."""

from __future__ import annotations

from typing import Any

import click

import holdfast as hf
from holdfast.cli.options import FILE, JSON, run_options
from holdfast.cli.shared import (
    FORMS,
    check_output,
    equations_in,
    gains_line,
    leave,
    print_json,
    problem_in,
    progress_bar,
    reports_errors,
)
from holdfast.cli.text import in_one_line, line, say

MOST_CASES = 12  # cases in the table; of more, those that went worst
GROWING = ".zarr.zip"  # a file that is written case by case, whatever their number
OBSERVED = 2_000_000  # rows of all cases together up to which their deviations are looked at once more


@click.command()
@FILE
@run_options
@click.option("--threads", type=click.IntRange(min=1), help="Default: all cores.")
@click.option("--device", type=click.Choice(["cpu", "gpu"]), help="gpu: a graphics card (needs holdfast[cuda]).")
@click.option("--precision", type=click.Choice(["double", "float"]), default="double", help="On a card only.")
@click.option("--on", metavar="ADDRESS", help="A dask cluster, or local for a process to each core.")
@JSON
@reports_errors
def ensemble(file: str, output: str | None, quiet: bool, as_json: bool, **asked: Any) -> None:
    """Run all cases of the [ensemble] table of FILE.

    The table has `grid = { m = [1, 2], l = { from = 1, to = 2, count = 5 } }` for all combinations, `zip = { ... }` for
    columns that go together, or both. Names are start values, parameters, or gains such as law.stiffness.home.

    Exit code 0: all cases went well; 1: some did not; 130: interrupted, with the rows so far written.
    """
    grows = output is not None and output.endswith(GROWING)
    check_output(output, (".nc", ".npz", ".csv", ".zip") if grows else FORMS)
    problem = problem_in(file)
    equations, tuning = equations_in(problem, **asked)
    with progress_bar("ensemble", quiet=quiet) as progress:
        runs = hf.ensemble(equations, progress=progress, save=output if grows else None, **asked)
    if output and not grows:
        runs.save(output)
    if as_json:
        print_json(_data(runs, tuning, output))
    else:
        _print(runs, problem.title or file, tuning, output)
    leave(bool(runs.success.all()), interrupted=hf.Outcome.interrupted in runs.outcomes)


def _data(runs: hf.Ensemble, tuning: hf.Tuning | hf.TrackingTuning | None, output: str | None) -> dict[str, Any]:
    return {
        "schema": 1,
        "title": runs.equations.problem.title,
        "runs": len(runs),
        "success": int(runs.success.sum()),
        "outcomes": [outcome.name for outcome in runs.outcomes],
        "cases": {name: values.tolist() for name, values in runs.cases.items()},
        "largest_deviation": {name: _finite(values) for name, values in _largest(runs).items()},
        "reductions": {name: _finite(values) for name, values in runs.reductions.items()},
        "final": {name: _finite(runs[name][:, -1]) for name in runs.equations.state_names},
        "tuning": None if tuning is None else tuning.to_dict(),
        "output": output,
    }


def _finite(values: Any) -> list[float | None]:
    """Numbers for JSON, which has no infinities; nothing for a case that did not get so far."""
    return [value if abs(value) < float("inf") else None for value in values.tolist()]


def _largest(runs: hf.Ensemble) -> dict[str, Any]:
    """The largest deviation of each constraint, case by case: of y, or of w where there is no y."""
    import numpy as np

    program = runs.equations.problem.program
    if len(runs) * len(runs.times) > OBSERVED or len(runs.times) <= 2:
        return {}  # too much to look at, or too little to tell
    names = [f"y_{name}" if name in program.holonomic else f"w_{name}" for name in program.constraints]
    return {name: np.nan_to_num(abs(runs[name]), nan=0.0).max(axis=1) for name in names}


def _print(runs: hf.Ensemble, title: str, tuning: hf.Tuning | hf.TrackingTuning | None, output: str | None) -> None:
    request = runs.request
    size = f"steps of {request.step:g}" if request.step is not None else f"within {request.tolerance:g}"
    say(in_one_line(title))
    line("cases", f"{len(runs)} of {', '.join(runs.cases)}")
    if tuning is not None:
        line("tuned", gains_line(tuning))
    line("run", f"{request.scheme.name}, {size}, {len(runs.times)} rows to t = {request.begin + request.duration:.6g}")
    for outcome, count in runs.tally.items():
        line("outcome" if outcome is next(iter(runs.tally)) else "", f"{count} x {outcome.value}")
    good, largest = runs.success, _largest(runs)
    if good.any():
        line("final", ", ".join(_range(name, runs[name][good, -1]) for name in runs.equations.state_names))
    if largest and good.any():
        line("largest", ", ".join(_range(name, values[good]) for name, values in largest.items()))
    asked = runs.reductions
    if asked and good.any():
        line("reduced", ", ".join(_range(name, values[good]) for name, values in asked.items()))
    _print_table(runs, largest, asked)
    if output:
        line("written", output)


def _range(name: str, values: Any) -> str:
    low, high = float(values.min()), float(values.max())
    return f"{name} = {low:.4g}" if f"{low:.4g}" == f"{high:.4g}" else f"{name} = {low:.4g} .. {high:.4g}"


def _print_table(runs: hf.Ensemble, largest: dict[str, Any], asked: dict[str, Any]) -> None:
    """The cases one by one; of many, those that did not go well, then those that deviate most."""
    worst = sum((values / max(float(values.max()), 1e-300) for values in largest.values()), 0.0 * runs.success)
    order = sorted(range(len(runs)), key=lambda k: (bool(runs.success[k]), -float(worst[k])))
    shown = sorted(order[:MOST_CASES])
    head = ["case", *runs.cases, "outcome", *(f"largest |{name}|" for name in largest), *asked]
    rows = [
        [
            str(k),
            *(f"{float(values[k]):.6g}" for values in runs.cases.values()),
            runs.outcomes[k].name,
            *(f"{float(values[k]):.3g}" for values in largest.values()),
            *(f"{float(values[k]):.6g}" for values in asked.values()),
        ]
        for k in shown
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    say("")
    for row in (head, *rows):
        say("  " + "  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip())
    if len(runs) > MOST_CASES:
        say(f"  ... the {MOST_CASES} that went worst, of {len(runs)}; -o writes them all")
