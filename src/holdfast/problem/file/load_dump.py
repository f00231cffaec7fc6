"""Problem files: `load` and `dump`, and the same for texts.

A problem file is TOML. It is read without running any code, all its errors come in one go, and writing it either
succeeds as a whole or leaves everything as it was.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Any

from sympy.core.parameters import distribute

from holdfast.common.collection import uncollected
from holdfast.common.files import write
from holdfast.common.limits import MORE, allowance
from holdfast.errors import BadFile, BadRequest, BadStatement, HoldfastError, Misstatement
from holdfast.problem.file.entries import WrittenNumber
from holdfast.problem.file.findings import Findings
from holdfast.problem.file.given import blamed_on_given, with_given
from holdfast.problem.file.places import Places
from holdfast.problem.file.read import read_problem
from holdfast.problem.file.repeat import with_instances
from holdfast.problem.file.write import written
from holdfast.problem.problem import Problem
from holdfast.problem.text.file_text import FileText

MAX_BYTES = 1_000_000
KEY_PART = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')[ \t]*"""
LONG_KEY = re.compile(rf"""(?<![A-Za-z0-9_-])(?:{KEY_PART}\.[ \t]*){{10}}""")  # tomllib takes long over these
MAX_ITEMS = 80_000  # of lists, and a quarter as many keys and brackets: half a second of tomllib

TOML_HINTS = {
    "Invalid value": "put expressions in quotes, write decimals with a point",
    "Cannot overwrite": "this key is given twice: keep one",
    "Cannot declare": "this table is given twice: join them",
    "Cannot mutate": "an inline table is complete: add the key inside its braces",
    "Illegal character": "a control character does not belong here: delete it",
    "Expected '=' after a key": "write key = value",
    "Unclosed array": "close the list with ]",
    "Unterminated string": "close the text with a quote",
    "Expected newline": "one entry to a line; quotes go around the whole expression",
}


def load(path: str | os.PathLike[str], values: Mapping[str, Any] | None = None) -> Problem:
    """The problem stated in a file; `values` take the place of those it states, written as it would write them."""
    if not isinstance(path, (str, os.PathLike)):
        raise BadRequest(f"{path!r} is not the name of a file", where="hf.load", fix='e.g. hf.load("pendulum.toml")')
    file = Path(path)
    return _read(_text(file), str(file), file.parent, values or {})


def loads(text: str | bytes, name: str = "<text>", values: Mapping[str, Any] | None = None) -> Problem:
    """The problem stated in a text, or in its bytes as UTF-8; `name` stands for the file in errors."""
    if isinstance(text, bytes):
        text = _decoded(text, name)
    if not isinstance(text, str):
        raise BadRequest(f"a problem is a text, not {type(text).__name__}", where="hf.loads", fix="decode it first")
    return _read(text, name, None, values or {})


def _read(text: str, name: str, folder: Path | None, values: Mapping[str, Any]) -> Problem:
    """The problem of a text, whose data lie below the folder."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    _check_size(text, name)
    try:
        raw = tomllib.loads(text, parse_float=WrittenNumber)
    except RecursionError:
        raise _unusable(name, "lists or tables are nested too deeply") from None
    except ValueError as error:
        raise _not_toml(name, text, str(error)) from None
    try:
        with distribute(False):  # set once: SymPy empties its cache at each change
            findings = Findings(name, Places(text))
            raw = with_instances(raw, findings)
            findings.raise_if_any()
            with uncollected("repeat" in text):
                problem = read_problem(with_given(raw, values), findings, folder)
    except BadFile as error:
        raise blamed_on_given(error, values) from None
    object.__setattr__(problem, "source", None if values else FileText(text, problem.system, problem.program))
    return problem


def _check_size(text: str, name: str) -> None:
    """Refuse what the TOML reader would take long over; the text inside quotes counts too, which does no harm."""
    if len(text) > allowance(MAX_BYTES):
        raise _too_large(name)
    if LONG_KEY.search(text):
        raise _unusable(name, "a key has too many parts", "tables are nested two or three deep")
    items = text.count(",") + 4 * sum(text.count(sign) for sign in "=[{")
    if items > allowance(MAX_ITEMS):
        raise _unusable(name, f"the lists and tables of this problem have more than {MAX_ITEMS:,} items", MORE)


def _too_large(name: str) -> BadFile:
    what = f"the problem is larger than {allowance(MAX_BYTES):,} characters"
    return _unusable(name, what, f"a problem file is a page or two; {MORE}")


def located(error: HoldfastError, text: str, name: str = "<text>") -> HoldfastError:
    """The error at its place in the text of the problem, with line and caret; as it is where it names no such place.

    What is found after loading (a scheme that is not there, constraints that repeat each other) says where by a dotted
    path such as ``run.scheme``, which is looked up in the text here.
    """
    findings = Findings(name, Places(text.removeprefix("\ufeff").replace("\r\n", "\n")))
    if isinstance(error, BadFile) or not findings.knows(error.where):
        return error
    findings.blame_where(error)
    return findings.error()


def dumps(problem: Problem) -> str:
    """The problem as the text of a file. What would not read back as the same problem is refused."""
    if not isinstance(problem, Problem):
        raise BadRequest(f"{type(problem).__name__} is not a problem", fix="dump a hf.Problem")
    return problem.memo.once(dumps, lambda: _checked_text(problem))


def _checked_text(problem: Problem) -> str:
    """The text, read back once to see that it says the same."""
    text = written(problem)
    try:
        same = loads(text) == problem
    except BadFile as error:
        first = error.findings[0]
        raise BadStatement(f"this problem has no file: {first.what}", where=first.key, fix=first.hint) from None
    if not same:
        raise BadStatement(
            "this problem would read back differently",
            fix="an expression is held unevaluated: use expressions as SymPy makes them",
        )
    return text


def dump(problem: Problem, path: str | os.PathLike[str]) -> None:
    """Write the problem to a file: as a whole, or not at all."""
    text = dumps(problem)
    if not isinstance(path, (str, os.PathLike)):
        raise BadRequest(f"{path!r} is not the name of a file", where="hf.dump", fix='e.g. "pendulum.toml"')
    write(path, text)


def _text(file: Path) -> str:
    """The text of a file, if it is one: an ordinary file of UTF-8 and of moderate size."""
    try:
        if file.is_dir():
            raise _unusable(str(file), "this is a folder, not a problem file")
        if not file.exists():
            raise _unusable(str(file), "there is no such file", _near(file))
        if not file.is_file():
            raise _unusable(str(file), "this is not an ordinary file")
        with open(file, "rb") as stream:
            content = stream.read(allowance(MAX_BYTES) + 1)
    except (OSError, ValueError) as error:
        raise _unusable(
            str(file)[:200], f"the file cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from None
    return _decoded(content, str(file))


def _decoded(content: bytes, name: str) -> str:
    """Bytes as text: UTF-8, and of moderate size."""
    if len(content) > allowance(MAX_BYTES):
        raise _too_large(name)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _unusable(name, f"line {line} is not UTF-8 text", "save the file as UTF-8") from None


def _near(file: Path) -> str:
    example = file.name.removesuffix(".toml")
    try:
        if (resources.files("holdfast") / "examples" / f"{example}.toml").is_file():
            return f"it is a shipped example: `holdfast examples {example}` copies it here"
        near = difflib.get_close_matches(
            file.name, [other.name for other in islice(file.parent.glob("*.toml"), 200)], n=1
        )
    except OSError:
        return ""
    return f"did you mean {str(file.with_name(near[0]))!r}?" if near else ""


def _unusable(name: str, what: str, hint: str = "") -> BadFile:
    return BadFile(name, (Misstatement(what, hint=hint),))


def _not_toml(name: str, text: str, message: str) -> BadFile:
    """The error of the TOML reader, with the line shown."""
    what = re.sub(r" \(at .*\)$", "", message)
    hint = next((hint for start, hint in TOML_HINTS.items() if what.startswith(start)), "")
    place = re.search(r"\(at line (\d+), column (\d+)\)$", message)
    lines = text.split("\n")
    line, column = (int(place[1]), int(place[2])) if place else (len(lines), len(lines[-1]) + 1)
    if "digits" in what and not place:
        return _unusable(name, "a number has too many digits")
    source = lines[line - 1].replace("\t", " ") if line <= len(lines) else ""
    return BadFile(name, (Misstatement(f"this is not TOML: {what}", "", line, column, 1, source, hint),))
