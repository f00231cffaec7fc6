"""What the terminal is told: one way out for all text, and one end for all that goes wrong.

Text from a file may contain anything. What would move the cursor, change colours or turn the direction of writing is
shown as an escape such as \\\\x1b. What the encoding of the terminal has no letters for is shown so too.
"""

from __future__ import annotations

import errno
import glob
import os
import re
import shutil
import sys
import textwrap
import traceback
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import click

import holdfast as hf

WIDEST = 100  # letters of a line that is easily read
CARET = re.compile(r"\s*\|\s*\^+\s*")
MISUSE, BROKEN, INTERRUPTED = 2, 70, 130
HIDDEN = re.compile(  # C0 less tab and newline, C1, lone surrogates, and what turns, joins or separates unseen
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """The text with everything shown that a terminal would obey instead of showing it."""
    return HIDDEN.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), text)


def in_one_line(text: str) -> str:
    """A text that stands on one line, as a title does."""
    return " ".join(text.split("\n"))


def say(text: str, *, err: bool = False, nl: bool = True, colour: str | None = None) -> None:
    """Print a text on standard output or standard error; colour, where the terminal has it, is ours alone."""
    shown = visible(text)
    if (sys.stderr if err else sys.stdout) is None:
        if err:
            return
        raise OSError(errno.EBADF, "standard output is closed")
    click.echo(shown if colour is None else click.style(shown, fg=colour), err=err, nl=nl)


def say_error(text: str) -> None:
    """An error on standard error: its first word and its carets in red, the word before the cure in cyan."""
    if sys.stderr is None:
        return
    click.echo("\n".join(map(_coloured, visible(text).split("\n"))), err=True)


def _coloured(line: str) -> str:
    """One line of an error; colours are taken out again by click where there is no terminal."""
    for word, colour in (("error:", "red"), ("  fix:", "cyan")):
        if line.startswith(word):
            return click.style(word, fg=colour, bold=True) + line.removeprefix(word)
    if CARET.fullmatch(line):
        bar, _, rest = line.partition("|")
        return f"{bar}|{click.style(rest, fg='red', bold=True)}"
    return line


def wrapped(text: str) -> str:
    """A paragraph in lines that fit the terminal, indented as its first; as it is where nobody looks at one."""
    if sys.stdout is None or not sys.stdout.isatty():
        return text
    room = min(shutil.get_terminal_size().columns, WIDEST)
    indent = text[: len(text) - len(text.lstrip())]
    return textwrap.fill(
        text.strip(), room, initial_indent=indent, subsequent_indent=f"{indent}  ", break_long_words=False
    )


def prepare_streams() -> None:
    """What an encoding has no letters for is escaped instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


class Typed(click.Group):
    """A group whose every end is a sentence and an exit code; its help ends with examples as they are typed."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.epilog:
            with formatter.section("Examples"):
                for line in self.epilog.strip().splitlines():
                    formatter.write(f"  {line.strip()}\n")

    def main(self, args: Any = None, prog_name: str | None = None, **extra: Any) -> Any:  # type: ignore[override]
        if not extra.pop("standalone_mode", True):
            return super().main(args, prog_name, standalone_mode=False, **extra)
        prepare_streams()
        debug = "--debug" in (sys.argv[1:] if args is None else args)
        try:
            code = super().main(args, prog_name, standalone_mode=False, **extra)
            _flush()
        except BaseException as error:
            if debug and not isinstance(error, (click.exceptions.Exit, SystemExit)):
                say("".join(traceback.format_exception(error)).rstrip(), err=True)
            sys.exit(_ended(error))
        sys.exit(code if isinstance(code, int) else 0)


def _ended(error: BaseException) -> int:
    """The exit code of an error, after a sentence about it."""
    if isinstance(error, click.exceptions.Exit):
        return _flushed(error.exit_code)
    if isinstance(error, SystemExit) and isinstance(error.__context__, OSError):
        return _ended(error.__context__)  # click's own answer to a closed pipe
    if isinstance(error, SystemExit):
        return _flushed(error.code if isinstance(error.code, int) else 0 if error.code is None else 1)
    with suppress(OSError):
        if isinstance(error, (KeyboardInterrupt, click.Abort)):
            say("interrupted", err=True)
            return INTERRUPTED
        if isinstance(error, hf.HoldfastError):  # only --debug lets it come so far
            return MISUSE
        if isinstance(error, click.ClickException):
            say(_usage(error), err=True)
            return error.exit_code
        if isinstance(error, OSError) and error.errno in (errno.EPIPE, errno.ENOSPC, errno.EBADF, errno.EIO):
            _silence()
            if error.errno != errno.EPIPE:  # whoever closes a pipe knows
                say(f"error: the output cannot be written: {error.strerror}", err=True)
            return MISUSE
        if isinstance(error, OSError):
            place = f"{error.filename}: " if error.filename else ""
            say(f"error: {place}{error.strerror or error}", err=True)
            return MISUSE
        if isinstance(error, MemoryError):
            say("error: there is not enough memory for this\n  fix:   keep fewer rows, or run fewer cases", err=True)
            return MISUSE
        say(_fault(error), err=True)
    return BROKEN


def _usage(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    usage = f"{context.get_usage()}\nTry '{context.command_path} --help' for help.\n\n" if context else ""
    return f"{usage}error: {error.format_message()}"


def _flushed(code: int) -> int:
    try:
        _flush()
    except OSError as error:
        return _ended(error)
    return code


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _silence() -> None:
    """Let what is still waiting to be written go nowhere, so that leaving does not fail once more."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())


def _fault(error: BaseException) -> str:
    """A sentence on a fault of our own, with the file to send."""
    import tempfile
    import traceback

    what = f"error: {type(error).__name__}: a fault of Holdfast, not of the problem"
    try:
        handle, name = tempfile.mkstemp(prefix="holdfast-fault-", suffix=".txt")
        with open(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"holdfast {hf.__version__}, Python {sys.version}, {sys.platform}\n")
            file.write(f"command: {sys.argv[1:]!r}\n\n")
            file.write("".join(traceback.format_exception(error, limit=-40)))
    except OSError:
        return f"{what}\n  fix:   run it again with --debug and report what it says, with the problem file"
    return f"{what}\n  fix:   please report it: send {name} with the problem file"


def ordinary(path: str, what: str) -> str:
    """The path of an ordinary file; a folder, a pipe or a device is refused before it is opened."""
    try:
        if Path(path).is_file():
            return path
        kind = "a folder" if Path(path).is_dir() else "no ordinary file" if Path(path).exists() else "not there"
    except (OSError, ValueError) as error:
        kind = getattr(error, "strerror", None) or "no name of a file"
    parts = _parts_of(Path(path)) if kind == "not there" else []
    raise hf.BadRequest(
        f"{path} is {kind}", where=what, fix=f"name {what}" + (f": {', '.join(parts)}" if parts else "")
    )


def _parts_of(path: Path) -> list[str]:
    """Files that a verb wrote in place of one, where a problem has phases or stretches: NAME.1-swing.json."""
    try:
        return sorted(str(part) for part in path.parent.glob(f"{glob.escape(path.stem)}.*{path.suffix}"))[:4]
    except (OSError, ValueError):
        return []


def plain_matplotlib() -> Any:
    """matplotlib, loaded where no matplotlibrc of the current folder is read: that folder came with a problem."""
    try:
        here = os.open(".", os.O_RDONLY)
    except OSError:  # the folder is gone, and so is what it held
        return import_module("matplotlib")
    try:
        os.chdir(os.path.dirname(__file__))
        return import_module("matplotlib")
    finally:
        os.chdir(here)
        os.close(here)


def line(word: str, text: str) -> None:
    """One line of a result: a word, and what is said of it."""
    say(f"  {word:<9} {text}")


def listed(values: dict[str, float]) -> str:
    """Values by name on one line."""
    return ", ".join(f"{name} = {value:.6g}" for name, value in values.items())
