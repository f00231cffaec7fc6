"""``holdfast run`` and ``holdfast report``: one command, one page."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

import holdfast as hf
from holdfast.cli_parts import FILE, JSON, derived, print_json, problem_in, progress_bar, reports_errors
from holdfast.cli_text import in_one_line, ordinary, plain_matplotlib, say
from holdfast.cli_watch import limited

SAVED = (".npz", ".nc")
OUTPUT = click.option("-o", "--output", type=click.Path(dir_okay=False), help="The page; default: FILE's name, .html.")
OPEN = click.option("--open", "opened", type=click.BOOL, default=False, show_default=True, help="Show it in a browser.")
QUIET = click.option("-q", "--quiet", is_flag=True, help="Show no progress.")


@click.command()
@FILE
@OUTPUT
@click.option(
    "--effort", type=click.FloatRange(min=0), help="Seconds of computing for proofs; default: as FILE says, else 5."
)
@OPEN
@QUIET
@JSON
@reports_errors
def run(file: str, output: str | None, effort: float | None, opened: bool, quiet: bool, as_json: bool) -> None:
    """Do everything with FILE: derive, tune if asked, run, certify, and write one page.

    The verdict at the top is the worst of how the run ended, the error of its states (estimated by a halved step, or by
    a tighter tolerance) and what is promised: proved, checked, no promise, or failed. Exit code 0: nothing failed; 1:
    failed; 2: FILE has errors; 130: interrupted, with a page of what was computed.
    """
    target = _target(file, output)
    made = _studied(problem_in(file), quiet, effort=effort)
    words = ["holdfast", "run", file, *(["--effort", f"{effort:g}"] if effort is not None else [])]
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
        run = hf.Trajectory.load(ordinary(file, "a saved run"))
        if run.problem is None:
            raise hf.BadRequest("this run does not know its problem", where=file, fix="make the run again")
        made = hf.Study(run.problem, None, run)
    else:
        made = _studied(problem_in(file), quiet, certified=False)
    if certificate:
        made = replace(made, certificate=hf.Certificate.load(ordinary(certificate, "a certificate")))
    _finish(made, target, " ".join(map(_quoted, ["holdfast", "report", file])), opened, as_json)


def _studied(problem: hf.Problem, quiet: bool, **asked: Any) -> hf.Study:
    """Everything that follows from a problem, its progress shown."""
    equations = derived(problem)
    with progress_bar("simulate", quiet=quiet) as progress:

        def told(part: str, share: float) -> None:
            if part in DOING and share == 0:
                _say(DOING[part], quiet)
            if part == "simulate" and progress is not None:
                progress(share)

        return hf.study(problem, equations=equations, progress=told, **asked)


DOING = {"tune": "choosing gains", "certify": "certifying", "verify": "re-checking what is proved"}


def _finish(made: hf.Study, target: Path, command: str, opened: bool, as_json: bool) -> None:
    plain_matplotlib()
    made = replace(made, command=command)
    if not made.interrupted:
        _ = made.trajectory.state_error  # further runs: they have no limit, the page has
    with limited("writing the page"):
        page = made.report()
        _ = page.html
    page.save(target)
    if as_json:
        print_json(_data(made, page, target))
    else:
        _print(made, page, target)
    if opened:
        click.launch(str(target))
    click.get_current_context().exit(130 if made.interrupted else 0 if page.good else 1)


def _print(made: hf.Study, page: hf.Report, target: Path) -> None:
    title, verdict, *rest = made.summary().splitlines()
    say(in_one_line(title))
    say(verdict, colour={"failed": "red", "no promise": "yellow"}.get(page.word, "green"))
    for line in rest:
        say(line)
    say(f"  page: {target} ({target.stat().st_size / 1000:.0f} kB)")


def _data(made: hf.Study, page: hf.Report, target: Path) -> dict[str, Any]:
    certificate, tuning = page.certificate, made.tuning
    return {
        "schema": 1,
        "title": made.trajectory.problem.title if made.trajectory.problem else "",
        "word": page.word,
        "good": page.good,
        "verdict": page.verdict,
        "faults": list(page.faults),
        "remarks": list(page.warnings),
        "interrupted": made.interrupted,
        "outcome": made.trajectory.outcome.name,
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


def _state_error(made: hf.Study) -> dict[str, Any] | None:
    """The error of the states, where it was estimated."""
    if made.interrupted:
        return None
    error = made.trajectory.state_error
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
    if not quiet and sys.stderr is not None and sys.stderr.isatty():
        say(text, err=True)
