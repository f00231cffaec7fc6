"""All errors of a problem file, gathered with their places, so that the user sees them in one go."""

from __future__ import annotations

import re
from typing import Any

from holdfast.errors import BadFile, HoldfastError, Misstatement
from holdfast.problem.file.places import Path, Places
from holdfast.problem.text.spelling import Unreadable

QUOTED = re.compile(r"'([A-Za-z][\w.]*)'")
DOTTED = re.compile(r"\w+(\.\w+|\[\d+\])*")
PART = re.compile(r"\w+")
HOMES: dict[
    str, tuple[tuple[Path, int], ...]
] = {  # where the first word stands in a file, and how many parts it replaces
    "law": ((("program",), 0),),
    "cases": ((("ensemble", "grid"), 1), (("ensemble", "zip"), 1)),
    "region": ((("certificate",), 0),),
    "weights": ((("certificate",), 0),),
}
MAX_FINDINGS = 50  # shown
ENOUGH = 200  # found: reading stops


class Findings:
    """Errors by the place they point at: one for each place, the first that was met."""

    def __init__(self, file: str, places: Places) -> None:
        self.file, self.places = file, places
        self._found: dict[tuple[int, int], Misstatement] = {}

    def __len__(self) -> int:
        return len(self._found)

    def add(
        self, path: Path, what: str, hint: str = "", *, within: tuple[int, int] | None = None, on_key: bool = False
    ) -> None:
        """An error at the value (or the key) of a path, or at some characters within its text."""
        start, end = self._offsets(path, within, on_key)
        if instance := self.places.instances.get(self.places.known(path)):
            what = f"{what} (in {instance})"
        line, column = self.places.line_and_column(start) if end else (0, 0)
        source = self.places.line_text(line) if line else ""
        width = max(1, min(end - start, len(source) - column + 1)) if line else 1
        finding = Misstatement(what, key_text(path), line, column, width, source, hint)
        self._found.setdefault((line or len(self.places.text) + len(self._found), column), finding)
        if len(self._found) >= ENOUGH:
            self.raise_if_any()

    def _offsets(self, path: Path, within: tuple[int, int] | None, on_key: bool) -> tuple[int, int]:
        known = self.places.known(path)
        if not known:
            return 0, 0
        span = self.places.spans[known]
        if on_key or known != path:
            return span.key
        if not span.characters:
            return span.value
        last = len(span.characters) - 1
        start, end = within or (0, last)
        if start >= last:
            return span.characters[max(0, last - 1)], span.characters[last]
        return span.characters[start], span.characters[min(end, last)]

    def any_within(self, path: Path) -> bool:
        """Whether something was found in a table already."""
        start = key_text(path)
        return any(finding.key == start or finding.key.startswith(f"{start}.") for finding in self._found.values())

    def blame(self, error: HoldfastError, path: Path, value: Any = None) -> None:
        """An error that was raised for a path: at the characters it names, or else at a name it quotes."""
        if isinstance(error, Unreadable):
            self.add(path, error.what, error.fix, within=(error.start, error.end))
            return
        for name in QUOTED.findall(error.what):
            if (*path, name) in self.places.spans:
                self.add((*path, name), error.what, error.fix, on_key=True)
                return
            match = re.search(rf"\b{re.escape(name)}\b", value) if isinstance(value, str) else None
            if match:
                self.add(path, error.what, error.fix, within=match.span())
                return
        self.add(path, error.what, error.fix)

    def blame_where(self, error: HoldfastError) -> None:
        """An error whose `where` is a dotted path, as `System`, `Program`, laws and verbs give it."""
        path = self._path(error.where)
        if path in self.places.spans and any(
            key_text(path).endswith(f".{name}") for name in QUOTED.findall(error.what)
        ):
            self.add(path, error.what, error.fix, on_key=True)  # it is about the very thing that stands there
        else:
            self.blame(error, path)

    def knows(self, where: str) -> bool:
        """Whether a `where` is a dotted path to something that stands in the file."""
        return bool(DOTTED.fullmatch(where)) and bool(self.places.known(self._path(where)))

    def _path(self, where: str) -> Path:
        """A dotted path as the file has it: laws, cases and regions stand in tables of their own."""
        parts: Path = tuple(int(part) if part.isdigit() else part for part in PART.findall(where))
        homes = [(*home, *parts[drop:]) for home, drop in HOMES.get(where.partition(".")[0], ())]
        return next((path for path in homes if path in self.places.spans), homes[0] if homes else parts)

    def raise_if_any(self) -> None:
        if self._found:
            raise self.error()

    def error(self) -> BadFile:
        """All that was found, in the order of the file."""
        ordered = [self._found[place] for place in sorted(self._found)]
        if len(ordered) > MAX_FINDINGS:
            count = f"at least {ENOUGH - MAX_FINDINGS}" if len(ordered) >= ENOUGH else len(ordered) - MAX_FINDINGS
            more = Misstatement(f"and {count} more errors", hint="mend these first")
            ordered = [*ordered[:MAX_FINDINGS], more]
        return BadFile(self.file, tuple(ordered))


def key_text(path: Path) -> str:
    """A path as the user writes it: ``system.kinetic``, ``points.C[1]``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text[:80]
