"""What the commands share: files in, errors as texts, progress on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

import click

import holdfast as hf

F = TypeVar("F", bound=Callable[..., Any])

FILE = click.argument("file", type=click.Path(allow_dash=True), metavar="FILE")
JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


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
            click.echo(_error_text(error), err=True)
            context.exit(2)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            context.exit(130)

    return guarded  # type: ignore[return-value]


def _error_text(error: hf.HoldfastError) -> str:
    text = str(error)
    return text if text.startswith("error:") else f"error: {text}"


def problem_in(file: str) -> hf.Problem:
    """The problem of a file, or of standard input."""
    return hf.loads(sys.stdin.read(), "standard input") if file == "-" else hf.load(file)


def print_json(data: dict[str, Any]) -> None:
    click.echo(json.dumps(data, indent=2))


@contextmanager
def progress_bar(title: str, *, quiet: bool) -> Iterator[Callable[[float], None] | None]:
    """A function that takes the fraction done and shows it, where somebody looks at standard error."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=1.0)
        yield lambda done: bar.update(task, completed=done)
