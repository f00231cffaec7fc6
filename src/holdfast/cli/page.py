"""What ``holdfast run`` and ``holdfast report`` share: a study made, its page written, and what is printed of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

import holdfast as hf
from holdfast.cli.shared import derived, print_json, progress_bar
from holdfast.cli.text import in_one_line, plain_matplotlib, say, wrapped
from holdfast.cli.watch import limited

DOING = {
    "derive": "deriving",
    "tune": "choosing gains",
    "simulate": "running",
    "certify": "certifying",
    "verify": "re-checking what is proved",
}


def page_at(file: str, output: str | None) -> Path:
    """Where the page goes; a place that cannot be written is refused before any work."""
    target = Path(output) if output else Path("holdfast.html" if file == "-" else Path(file).stem + ".html")
    if target.suffix not in (".html", ".htm"):
        raise hf.BadRequest(f"{target.name!r} is not a page", where="-o", fix="end the name in .html")
    if not target.parent.is_dir():
        raise hf.BadRequest(f"there is no folder {target.parent}", where="-o", fix="make it first, or choose another")
    return target


def command_line(*words: str) -> str:
    """The words of a command as they would be typed again."""
    import shlex

    return shlex.join(words)


def studied(problem: hf.Problem, quiet: bool, **asked: Any) -> hf.Study:
    """Everything that follows from a problem, its progress shown."""
    equations = derived(problem)
    with progress_bar("starting", quiet=quiet) as progress:

        def told(part: str, share: float) -> None:
            if progress is not None:
                progress(share, DOING.get(part, part))

        return hf.study(problem, equations=equations, progress=told, **asked)


def finish(made: hf.Study, target: Path, command: str, opened: bool, as_json: bool, live: bool | None = None) -> None:
    if made.tuning is not None:  # its map is drawn by matplotlib
        plain_matplotlib()
    made = replace(made, command=command if live is None else f"{command} --{'' if live else 'no-'}live", live=live)
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
    say(wrapped(in_one_line(title)))
    say(wrapped(verdict), colour={"failed": "red", "no promise": "yellow"}.get(page.word, "green"))
    for line in rest:
        say(wrapped(line))
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
        "certificate": None if certificate is None else _promises(certificate),
        "phases": {name: _promises(found) for name, found in made.by_phase.items()},
        "stretches": {name: _promises(found) for name, found in made.stretches.items()},
        "tuning": None if tuning is None else tuning.to_dict(),
        "page": str(target),
    }


def _promises(certificate: hf.Certificate) -> dict[str, Any]:
    return {
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
