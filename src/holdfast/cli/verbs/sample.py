"""``holdfast sample``: many paths under the noise of a problem, beside what the covariance promises."""

from __future__ import annotations

from typing import Any

import click

import holdfast as hf
from holdfast.cli.options import FILE, JSON
from holdfast.cli.shared import (
    check_output,
    equations_in,
    gains_line,
    leave,
    print_json,
    problem_in,
    reports_errors,
)
from holdfast.cli.text import in_one_line, line, say

ROWS = 1000  # that are kept of each path, about
FORMS = (".npz", ".csv")


@click.command()
@FILE
@click.option("--paths", type=click.IntRange(min=1), default=100, show_default=True, help="How many paths.")
@click.option("--seed", type=click.IntRange(min=0), help="Of the random numbers; default: the file's, or 0.")
@click.option("--step", type=float, help="The step; default: the file's.")
@click.option("--duration", type=float, help="How long the paths last; default: the file's.")
@click.option("--since", type=float, help="Averages begin here; default: the middle of the run.")
@click.option("--every", type=click.IntRange(min=1), help="Keep every n-th step; default: about 1000 rows.")
@click.option("--felt/--answered", default=None, help="Whether constraints feel the noise; default: under controls.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write to NAME.npz, or averages to NAME.csv.")
@JSON
@reports_errors
def sample(file: str, output: str | None, as_json: bool, **asked: Any) -> None:
    """Run paths of FILE under the noise of its [system.noise] table.

    Prints the mean and the root mean square of each deviation over all paths, beside the floor that the equations,
    linearised about the program, settle to.

    Exit code 0: all paths went well; 1: some left all bounds, or deviations are unstable in the mean square.
    """
    check_output(output, FORMS)
    problem = problem_in(file)
    equations, tuning = equations_in(problem, step=asked["step"], duration=asked["duration"])
    project = None if asked["felt"] is None else not asked["felt"]
    runs = hf.sample_paths(
        equations,
        step=asked["step"],
        duration=asked["duration"],
        paths=asked["paths"],
        seed=asked["seed"],
        every=asked["every"] or _every(problem, asked),
        project=project,
    )
    expected = hf.mean_square(equations, project=project) if equations.constraints else None
    if output:
        runs.save(output)
    since = asked["since"] if asked["since"] is not None else float(runs.times[0] + runs.times[-1]) / 2
    data = _data(runs, expected, since, output)
    if as_json:
        print_json(data)
    else:
        _print(data, problem.title or file, expected, tuning)
    leave(runs.success and (expected is None or expected.stable), interrupted=False)


def _every(problem: hf.Problem, asked: dict[str, Any]) -> int:
    """So many steps between rows that about `ROWS` are kept."""
    step, duration = asked["step"] or problem.run.step, asked["duration"] or problem.run.duration
    return max(1, int(duration / step / ROWS)) if step and duration else 1


def _data(runs: hf.NoisyRuns, expected: hf.MeanSquare | None, since: float, output: str | None) -> dict[str, Any]:
    names = (*runs.equations.deviation_names, *runs.equations.state_names)
    moments = {name: runs.moments(name, since=since) for name in names}
    return {
        "schema": 1,
        "title": runs.equations.problem.title,
        "paths": runs.paths,
        "seed": runs.seed,
        "scheme": runs.scheme,
        "step": runs.step,
        "time": float(runs.times[-1]),
        "rows": len(runs.times),
        "projected": runs.projected,
        "success": runs.success,
        "since": since,
        "moments": {
            name: {
                "mean": _finite(found.mean),
                "mean_error": _finite(found.mean_error),
                "mean_square": _finite(found.mean_square),
                "mean_square_error": _finite(found.mean_square_error),
            }
            for name, found in moments.items()
        },
        "expected": None if expected is None else expected.to_dict(),
        "output": output,
    }


def _finite(value: float) -> float | None:
    """A number for JSON, which has no infinities."""
    return value if abs(value) < float("inf") else None


def _print(
    data: dict[str, Any], title: str, expected: hf.MeanSquare | None, tuning: hf.Tuning | hf.TrackingTuning | None
) -> None:
    say(in_one_line(title))
    if tuning is not None:
        line("tuned", gains_line(tuning))
    line("paths", f"{data['paths']}, seed {data['seed']}, {data['scheme']}, steps of {data['step']:g}")
    line("rows", f"{data['rows']} to t = {data['time']:.6g}; averages from t = {data['since']:.6g} on")
    line("outcome", "all paths stayed finite" if data["success"] else "some paths left all bounds")
    floor: dict[str, float] = {}
    if expected is not None:
        line("noise", "along the program only" if data["projected"] else "as stated, felt by the constraints")
        line("expected", expected.verdict)
        for note in expected.notes:
            line("", f"note: {note}")
        if expected.stable:
            floor = {name: max(0.0, expected.covariance[k, k]) ** 0.5 for k, name in enumerate(expected.names)}
    _print_table(data["moments"], floor)
    if data["output"]:
        line("written", data["output"])


def _print_table(moments: dict[str, Any], floor: dict[str, float]) -> None:
    """Mean and root mean square, with one standard error, beside the floor."""
    rows = [["quantity", "mean", "root mean square", "expected"]]
    for name, found in moments.items():
        rms = None if found["mean_square"] is None else found["mean_square"] ** 0.5
        error = None if not rms or found["mean_square_error"] is None else found["mean_square_error"] / (2 * rms)
        wanted = f"{floor[name]:.5g}" if name in floor else ""
        rows.append([name, _with_error(found["mean"], found["mean_error"]), _with_error(rms, error), wanted])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    say("")
    for row in rows:
        say("  " + "  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip())


def _with_error(value: float | None, error: float | None) -> str:
    if value is None:
        return "not finite"
    return f"{value:.5g}" if error is None else f"{value:.5g} ± {error:.2g}"
