"""Where things stand in a TOML text: a small scanner from key paths to lines and columns.

`tomllib` reads the values but keeps no positions. This scanner runs over a text that tomllib has accepted, so it may
trust the syntax. For strings it keeps the place of every character, so that a caret can stand inside a quoted
expression, escapes and lines included.
"""

from __future__ import annotations

import bisect
import contextlib
import itertools
import re
from dataclasses import dataclass

Path = tuple[str | int, ...]

BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
BLANK = re.compile(r"[ \t]*")
SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
PLAIN = re.compile(r"[^,\]}\n#]*")
TRIMMED = re.compile(r"[ \t]*\n[ \t\r\n]*")
ESCAPES = {"u": 6, "U": 10}


@dataclass(frozen=True, slots=True)
class Span:
    """The places of a key and of its value, as offsets; for a string also the offset of each of its characters."""

    key: tuple[int, int]
    value: tuple[int, int]
    characters: tuple[int, ...] = ()


class Places:
    """The spans of a text by key path."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self.spans: dict[Path, Span] = {}
        self.instances: dict[Path, str] = {}  # of what repeats: for which numbers a path stands
        with contextlib.suppress(IndexError, RecursionError):  # what was found serves; the rest is named by its key
            _Scanner(text, self.spans).run()

    def line_and_column(self, offset: int) -> tuple[int, int]:
        line = bisect.bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line_text(self, line: int) -> str:
        start = self._starts[line - 1]
        end = self.text.find("\n", start)
        return self.text[start : end if end >= 0 else len(self.text)].replace("\t", " ")

    def known(self, path: Path) -> Path:
        """The longest beginning of a path that stands in the text."""
        while path and path not in self.spans:
            path = path[:-1]
        return path


class _Scanner:
    def __init__(self, text: str, spans: dict[Path, Span]) -> None:
        self.text, self.spans, self.at = text, spans, 0
        self.counts: dict[Path, int] = {}  # of tables in arrays of tables

    def run(self) -> None:
        table: Path = ()
        while True:
            self._skip(SPACE)
            if self.at >= len(self.text):
                return
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table)

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def _header(self) -> Path:
        several = self.text.startswith("[[", self.at)
        self.at += 2 if several else 1
        self._skip(BLANK)
        start = self.at
        names = self._key()
        end = self.at
        self._skip(BLANK)
        self.at += 2 if several else 1
        path: Path = ()
        for place, name in enumerate(names):
            path = (*path, name)
            if several and place == len(names) - 1:
                self.counts[path] = self.counts.get(path, 0) + 1
            if path in self.counts:
                path = (*path, self.counts[path] - 1)
        self.spans.setdefault(path, Span((start, end), (start, end)))
        return path

    def _key(self) -> list[str]:
        names = []
        while True:
            if self.text[self.at] in "\"'":
                quoted = self._string()
                names.append("".join(self._decoded(quoted)))
            else:
                match = BARE_KEY.match(self.text, self.at)
                if not match:
                    raise IndexError
                names.append(match[0])
                self.at = match.end()
            back = self.at
            self._skip(BLANK)
            if not self.text.startswith(".", self.at):
                self.at = back
                return names
            self.at += 1
            self._skip(BLANK)

    def _decoded(self, characters: tuple[int, ...]) -> list[str]:
        """The characters of a quoted key; an escape in it is kept as it is written, which serves to name it."""
        return [self.text[start:stop] for start, stop in itertools.pairwise(characters)]

    def _pair(self, table: Path) -> None:
        start = self.at
        names = self._key()
        key = (start, self.at)
        self._skip(BLANK)
        self.at += 1  # the = sign
        self._skip(BLANK)
        path = table
        for name in names:
            path = (*path, name)
            self.spans.setdefault(path, Span(key, key))
        self._value(path, key)

    def _value(self, path: Path, key: tuple[int, int]) -> None:
        start, character = self.at, self.text[self.at]
        characters: tuple[int, ...] = ()
        if character in "\"'":
            characters = self._string()
        elif character == "[":
            self._array(path)
        elif character == "{":
            self._inline(path)
        else:
            self._skip(PLAIN)
            self.at = start + len(self.text[start : self.at].rstrip())
        self.spans[path] = Span(key, (start, self.at), characters)

    def _array(self, path: Path) -> None:
        self.at += 1
        for index in range(len(self.text)):
            self._skip(SPACE)
            if self.text[self.at] == "]":
                break
            self._value((*path, index), (self.at, self.at + 1))
            self._skip(SPACE)
            if self.text[self.at] == ",":
                self.at += 1
        self.at += 1

    def _inline(self, path: Path) -> None:
        self.at += 1
        self._skip(SPACE)
        while self.text[self.at] != "}":
            self._pair(path)
            self._skip(SPACE)
            if self.text[self.at] == ",":
                self.at += 1
                self._skip(SPACE)
        self.at += 1

    def _string(self) -> tuple[int, ...]:
        """Passes over a string; the offset of each of its characters, and of its end."""
        quote = self.text[self.at]
        fence = quote * 3 if self.text.startswith(quote * 3, self.at) else quote
        self.at += len(fence)
        if len(fence) == 3 and self.text.startswith("\n", self.at):
            self.at += 1
        found = []
        while not self.text.startswith(fence, self.at) or (
            len(fence) == 3 and self.text.startswith(quote * 4, self.at)
        ):
            if quote == '"' and self.text[self.at] == "\\":
                trimmed = TRIMMED.match(self.text, self.at + 1)
                if trimmed:
                    self.at = trimmed.end()
                    continue
                found.append(self.at)
                self.at += ESCAPES.get(self.text[self.at + 1], 2)
            else:
                found.append(self.at)
                self.at += 1
        found.append(self.at)
        self.at += len(fence)
        return tuple(found)
