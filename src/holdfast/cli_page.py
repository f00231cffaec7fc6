"""``holdfast run`` and ``holdfast report``: one command, one page."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

import holdfast as hf
from holdfast.cli_parts import FILE, JSON, equations_in, print_json, problem_in, progress_bar, reports_errors
from holdfast.cli_text import in_one_line, ordinary, plain_matplotlib, say
from holdfast.cli_watch import limited

SAVED = (".npz", ".nc")
OUTPUT = click.option("-o", "--output", type=click.Path(dir_okay=False), help="The page; default: FILE's name, .html.")
OPEN = click.option("--open", "opened", type=click.BOOL, default=False, show_default=True, help="Show it in a browser.")
QUIET = click.option("-q", "--quiet", is_flag=True, help="Show no progress.")


@dataclass
class Made:
    """What a command has computed so far: an interruption keeps it."""

    run: hf.Trajectory
    equations: hf.Equations | None = None
    certificate: hf.Certificate | None = None
    tuning: hf.Tuning | None = None
    remarks: list[str] = field(default_factory=list)
    interrupted: bool = False


@click.command()
@FILE
@OUTPUT
@click.option(
    "--effort", type=click.FloatRange(min=0), default=5.0, show_default=True, help="Seconds of computing for proofs."
)
@OPEN
@QUIET
@JSON
@reports_errors
def run(file: str, output: str | None, effort: float, opened: bool, quiet: bool, as_json: bool) -> None:
    """Do everything with FILE: derive, tune if asked, run, certify, and write one page.

    The verdict at the top is the worst of how the run ended, the error of its states (estimated by a halved step, or by
    a tighter tolerance) and what is promised: proved, checked, no promise, or failed. Exit code 0: nothing failed; 1:
    failed; 2: FILE has errors; 130: interrupted, with a page of what was computed.
    """
    target = _target(file, output)
    made = _everything(problem_in(file), effort, quiet)
    words = ["holdfast", "run", file, *(["--effort", f"{effort:g}"] if effort != 5.0 else [])]
    _finish(made, target, " ".join(map(_quoted, words)), opened, as_json)


@click.command()
@FILE
@OUTPUT
@click.option("--certificate", type=click.Path(), help="A certificate saved beside the run.")
@OPEN
@QUIET
@JSON
@reports_errors
def report(file: str, output: str | None, certificate: str | None, opened: bool, quiet: bool, as_json: bool) -> None:
    """The page of a saved run (RUN.npz, RUN.nc), or of a problem FILE that is run first, without a proof.

    ``holdfast run`` adds a certificate.
    """
    target = _target(file, output)
    if Path(file).suffix in SAVED:
        made = Made(hf.Trajectory.load(ordinary(file, "a saved run")))
    else:
        made = _run(problem_in(file), quiet)
        made.interrupted = made.run.outcome is hf.Outcome.interrupted
    if certificate:
        made.certificate = hf.Certificate.load(ordinary(certificate, "a certificate"))
    _finish(made, target, " ".join(map(_quoted, ["holdfast", "report", file])), opened, as_json)


def _run(problem: hf.Problem, quiet: bool) -> Made:
    """The run, after choosing gains where the law leaves them open."""
    if isinstance(problem.program.law, hf.Tuned):
        _say("choosing gains", quiet)
    equations, tuning = equations_in(problem)
    with progress_bar("simulate", quiet=quiet) as progress:
        return Made(hf.simulate(equations, progress=progress), equations, tuning=tuning)


def _everything(problem: hf.Problem, effort: float, quiet: bool) -> Made:
    made = _run(problem, quiet)
    equations = made.equations
    assert equations is not None
    made.interrupted = made.run.outcome is hf.Outcome.interrupted
    if made.interrupted or not equations.constraints:
        return made
    if made.run.step is None:
        made.remarks.append(
            "No certificate: an adaptive scheme chooses its own steps, and a certificate is for one step."
        )
        return made
    _say(f"certifying (at most about {effort:g} s of proof)", quiet)
    try:
        known = made.run if made.run.every == 1 else None
        made.certificate = hf.certify(equations, trajectory=known, effort=effort)
    except hf.InternalError:
        raise  # a fault of our own is never a remark
    except hf.HoldfastError as error:
        made.remarks.append(f"No certificate: {error.what}")
    except KeyboardInterrupt:
        made.interrupted = True
        made.remarks.append("Interrupted before the certificate was finished.")
    return made


def _finish(made: Made, target: Path, command: str, opened: bool, as_json: bool) -> None:
    plain_matplotlib()
    if not made.interrupted:
        _ = made.run.state_error  # further runs: they have no limit, the page has
    with limited("writing the page"):
        page = _page(made, command)
    page.save(target)
    if as_json:
        print_json(_data(made, page, target))
    else:
        _print(made, page, target)
    if opened:
        click.launch(str(target))
    click.get_current_context().exit(130 if made.interrupted else 0 if page.good else 1)


def _page(made: Made, command: str) -> hf.Report:
    return hf.report(
        made.run, made.certificate, made.tuning, command=command, remarks=made.remarks, state_error=not made.interrupted
    )


def _print(made: Made, page: hf.Report, target: Path) -> None:
    title = made.run.problem.title if made.run.problem else ""
    say(in_one_line(title) or "A run of Holdfast")
    colour = {"failed": "red", "no promise": "yellow"}.get(page.word, "green")
    say(f"  {page.verdict}", colour=colour)
    for fault in page.faults:
        if fault not in page.verdict:
            say(f"  {fault}")
    if made.tuning is not None:
        say("  " + made.tuning.summary().splitlines()[0])
    for block in page.certificate.blocks if page.certificate else ():
        say(f"  {block.line()}")
    for warning in page.warnings:
        if warning in page.faults:
            continue
        say(f"  note: {warning}")
    say(f"  page: {target} ({target.stat().st_size / 1000:.0f} kB)")


def _data(made: Made, page: hf.Report, target: Path) -> dict[str, Any]:
    certificate, tuning = page.certificate, made.tuning
    return {
        "schema": 1,
        "title": made.run.problem.title if made.run.problem else "",
        "word": page.word,
        "good": page.good,
        "verdict": page.verdict,
        "faults": list(page.faults),
        "remarks": list(page.warnings),
        "interrupted": made.interrupted,
        "outcome": made.run.outcome.name,
        "state_error": _state_error(made),
        "certificate": None
        if certificate is None
        else {
            "label": certificate.label.name,
            "blocks": [
                {
                    "constraints": list(block.constraints),
                    "label": block.label.name,
                    "bounds": dict(zip(block.names, block.bounds, strict=False)),
                    "reason": block.reason,
                }
                for block in certificate.blocks
            ],
        },
        "tuning": None if tuning is None else tuning.to_dict(),
        "page": str(target),
    }


def _state_error(made: Made) -> dict[str, Any] | None:
    """The error of the states, where it was estimated."""
    if made.interrupted:
        return None
    error = made.run.state_error
    return {
        "worst": error.worst,
        "time": error.time,
        "name": error.name,
        "relative": error.relative,
        "by_name": dict(error.by_name),
    }


def _target(file: str, output: str | None) -> Path:
    """Where the page goes; a place that cannot be written is refused before any work."""
    target = Path(output) if output else Path("holdfast.html" if file == "-" else Path(file).stem + ".html")
    if target.suffix not in (".html", ".htm"):
        raise hf.BadRequest(f"{target.name!r} is not a page", where="-o", fix="end the name in .html")
    if not target.parent.is_dir():
        raise hf.BadRequest(f"there is no folder {target.parent}", where="-o", fix="make it first, or choose another")
    return target


def _quoted(word: str) -> str:
    import shlex

    return shlex.quote(word)


def _say(text: str, quiet: bool) -> None:
    if not quiet and sys.stderr.isatty():
        say(text, err=True)
