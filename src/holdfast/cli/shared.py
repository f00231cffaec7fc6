"""What the commands share: files in, errors as texts, progress on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

import holdfast as hf
from holdfast.cli.cures import RUN_WORDS, typed
from holdfast.cli.options import F
from holdfast.cli.text import INTERRUPTED, MISUSE, say, say_error
from holdfast.cli.watch import limited
from holdfast.common import strict_json

MOST_INPUT = 16_000_000  # bytes of standard input: more is no problem file, whatever the limit


def reports_errors(command: F) -> F:
    """Our own errors become texts on standard error and exit code 2; Ctrl-C exits 130."""

    @wraps(command)
    def guarded(*args: Any, **kwargs: Any) -> None:
        context = click.get_current_context()
        try:
            command(*args, **kwargs)
        except hf.HoldfastError as error:
            if context.find_root().obj["debug"]:
                raise
            say_error(_error_text(_placed(error, context)))
            context.exit(MISUSE)
        except KeyboardInterrupt:
            say("interrupted", err=True)
            context.exit(INTERRUPTED)

    return guarded  # type: ignore[return-value]


def _error_text(error: hf.HoldfastError) -> str:
    text = str(error)
    return text if text.startswith("error:") else f"error: {text}"


def _placed(error: hf.HoldfastError, context: click.Context) -> hf.HoldfastError:
    """The error at its line of the problem file, where the file is to blame and not an option."""
    text, name = context.find_root().obj.get("problem", ("", ""))
    by_option = any(context.params.get(word) is not None for word in RUN_WORDS)
    if error.where in RUN_WORDS and not by_option:
        error.where = f"run.{error.where}"
    error.fix = typed(error.fix, by_option=by_option)
    return hf.located(error, text, name)


def problem_in(file: str) -> hf.Problem:
    """The problem of a file, or of standard input; its text is kept for the places of later errors."""
    values = click.get_current_context().find_root().obj.get("values", {})
    with limited("reading the problem"):
        if file == "-":
            content, name = _standard_input(), "standard input"
            problem = hf.loads(content, name, values)
        else:
            problem, name = hf.load(file, values), file
            content = _content(file)
    text = content.decode("utf-8-sig", "replace")
    click.get_current_context().find_root().obj["problem"] = (text, name)
    return problem


def _standard_input() -> bytes:
    """What standard input holds, up to a little more than any problem may have."""
    if sys.stdin is None:
        raise hf.BadRequest("standard input is closed", where="-", fix="name a file, or pipe one in")
    try:
        return bytes(sys.stdin.buffer.read(MOST_INPUT))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise hf.BadRequest(f"standard input cannot be read: {reason}", where="-", fix="name a file") from None


def _content(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError:  # it is gone since it was read: errors are named by their key
        return b""


def with_run(problem: hf.Problem, **asked: Any) -> hf.Problem:
    """The problem with another scheme, step or tolerance, or duration for its run; a step replaces a tolerance."""
    given = {name: value for name, value in asked.items() if value is not None}
    if not given:
        return problem
    if "step" in given and "tolerance" in given:
        raise hf.BadRequest("a step and a tolerance are both given", where="--step", fix="give one of the two")
    if "step" in given or "tolerance" in given:
        given = {"step": None, "tolerance": None, **given}
    return replace(problem, run=replace(problem.run, **given))


def derived(problem: hf.Problem) -> hf.Equations:
    """The equations of a problem, derived under the limits."""
    with limited("deriving the equations"):
        return hf.derive(problem)


def equations_in(problem: hf.Problem, **asked: Any) -> tuple[hf.Equations, hf.Tuning | hf.TrackingTuning | None]:
    """The equations of a problem, ready to run: gains that are still open are tuned first, for the run asked."""
    equations = derived(problem)
    if not isinstance(problem.program.law, hf.Tuned) or not equations.constraints:
        return equations, None
    wanted: dict[str, Any] = {word: asked.get(word) for word in ("scheme", "step", "tolerance", "duration")}
    tuning = hf.tune(equations, **wanted)
    return tuning.equations, tuning


def gains_line(tuning: hf.Tuning | hf.TrackingTuning) -> str:
    """One line on gains that were chosen on the way: for what, how good, and which."""
    gains = ", ".join(f"{name} = {value:g}" for name, value in tuning.to_dict()["gains"].items())
    return tuning.summary().splitlines()[0] + (f" ({gains})" if gains else "")


def print_json(data: dict[str, Any]) -> None:
    say(strict_json.dumps(data, indent=2))


@contextmanager
def progress_bar(title: str, *, quiet: bool) -> Iterator[Callable[..., None] | None]:
    """A function that takes the fraction done, and a new title if it likes, and shows it on a terminal."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=1.0)
        yield lambda done, said=None: bar.update(task, completed=done, description=said or title)


FORMS = (".npz", ".nc", ".csv")


def check_output(output: str | None, forms: tuple[str, ...] = FORMS) -> None:
    """Refuse at the door what could not be written after a long run."""
    if output is None:
        return
    target = Path(output)
    if target.suffix not in forms:
        fix = "end it in .nc, .npz or .csv" if forms == FORMS else "end it in " + " or ".join(forms)
        raise hf.BadRequest(f"no form of file is known for {target.name!r}", where="-o", fix=fix)
    if not target.parent.is_dir():
        raise hf.BadRequest(f"there is no folder {target.parent}", where="-o", fix="make it first, or choose another")
    if target.suffix == ".nc" and find_spec("xarray") is None:
        raise hf.BadRequest("xarray is not installed", where="-o", fix='pip install "holdfast[xarray]", or use .npz')


def leave(success: bool, *, interrupted: bool) -> None:
    """Exit as a run went: 0 well, 1 not well, 130 interrupted."""
    click.get_current_context().exit(130 if interrupted else 0 if success else 1)
