"""Things that repeat, stated once: the links of a chain, the cells of a lattice.

    [repeat.link]
    for = { i = [1, 100] }
    [repeat.link.system]
    coordinates = ["x{i}", "y{i}"]
    kinetic = "m*(x{i}_dot**2 + y{i}_dot**2)/2"
    [repeat.link.program.holonomic]
    "rod{i}" = "(x{i} - x{i-1})**2 + (y{i} - y{i-1})**2 - l**2"

For each value of its indices, a table of `repeat` adds what it contains to the tables of the same names: lists are
continued, energies added up, entries joined. ``{i}``, ``{i-1}``, ``{2*i+1}`` stand for numbers, in keys and in texts.
Nothing is executed: braces hold whole numbers and indices, joined by + - *.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.common.limits import MORE, allowance
from holdfast.common.nearest import did_you_mean
from holdfast.problem.file.entries import ENERGIES
from holdfast.problem.file.findings import Findings
from holdfast.problem.file.places import Path, Span

REPEATED = (
    "system definitions points parameters functions program events output start units animation bodies joints".split()
)
MOST = 1000  # instances of one table
LARGEST_INDEX = 10**6
BRACES = re.compile(r"(\w?)\{([^{}]*)\}")
TERM = re.compile(r"\s*([+-]?)\s*(\d{1,7}|[A-Za-z]\w*)(?:\s*\*\s*(\d{1,7}|[A-Za-z]\w*))?")
NAME = re.compile(r"[A-Za-z]\w*")


def with_instances(raw: Mapping[str, Any], findings: Findings) -> dict[str, Any]:
    """The tables of a file with everything that repeats written out; what cannot be is noted."""
    stated = raw.get("repeat")
    found = {key: value for key, value in raw.items() if key != "repeat"}
    if stated is None:
        return found
    if not isinstance(stated, dict) or not all(isinstance(table, dict) for table in stated.values()):
        findings.add(("repeat",), "each thing that repeats is a table of its own", "write [repeat.link]")
        return found
    for name, table in stated.items():
        repeat = _Repeat(name, table, findings)
        for values in repeat.instances():
            found = repeat.joined(found, values)
    return found


@dataclass(frozen=True, eq=False)
class _Repeat:
    """One table of `repeat`."""

    name: str
    table: Mapping[str, Any]
    findings: Findings

    @property
    def path(self) -> Path:
        return ("repeat", self.name)

    def instances(self) -> Iterator[dict[str, int]]:
        """The values of the indices, the last one running fastest."""
        for key in self.table:
            if key != "for" and key not in REPEATED:
                hint = did_you_mean(key, ("for", *REPEATED), f"known: for, {', '.join(REPEATED)}")
                self.findings.add((*self.path, key), f"{key[:40]!r} is nothing that repeats", hint, on_key=True)
        given = self.table.get("for")
        if not isinstance(given, dict) or not given:
            self.findings.add(
                (*self.path, "for") if given is not None else self.path,
                f"what repeats says for which numbers: {self.name[:40]!r} does not",
                "e.g. for = { i = [1, 10] }, both ends included",
            )
            return
        ranges = [self._range(index, ends) for index, ends in given.items()]
        if any(numbers is None for numbers in ranges):
            return
        count = math.prod(len(numbers) for numbers in ranges if numbers is not None)
        if count > allowance(MOST):
            what = f"{self.name[:40]!r} repeats {count:,} times, and at most {allowance(MOST):,} are written out"
            self.findings.add((*self.path, "for"), what, MORE)
            return
        for values in itertools.product(*(numbers for numbers in ranges if numbers is not None)):
            yield dict(zip(given, values, strict=True))

    def _range(self, index: str, ends: Any) -> range | None:
        path = (*self.path, "for", index)
        if not NAME.fullmatch(index):
            self.findings.add(path, f"{index[:40]!r} is no name of an index", "e.g. i", on_key=True)
            return None
        whole = isinstance(ends, list) and len(ends) == 2 and all(type(end) is int for end in ends)
        if not whole or not 0 <= ends[0] <= ends[1] <= LARGEST_INDEX:
            what = f"the numbers of {index!r} are a first and a last one, whole and not below 0"
            self.findings.add(path, what, f"e.g. {index} = [1, 10]")
            return None
        return range(ends[0], ends[1] + 1)

    def joined(self, tables: Mapping[str, Any], values: Mapping[str, int]) -> dict[str, Any]:
        """The tables with this instance in them."""
        content = {key: value for key, value in self.table.items() if key in REPEATED}
        return _Instance(self, values).joined(tables, content, (), self.path)


@dataclass(frozen=True, eq=False)
class _Instance:
    """A table of `repeat` under certain values of its indices."""

    repeat: _Repeat
    values: Mapping[str, int]

    def joined(self, into: Any, content: Mapping[str, Any], path: Path, source: Path) -> dict[str, Any]:
        """A table with what an instance adds to it; `source` is where that stands in the file."""
        if not isinstance(into, dict):
            return {}
        for key, value in content.items():
            name, origin = self._written(key, (*source, key)), (*source, key)
            here = (*path, name)
            self._place(here, origin)
            if isinstance(value, dict):
                into[name] = self.joined(into.get(name, {}), value, here, origin)
            elif here in ENERGIES:
                into[name] = self._longer(_listed(into.get(name, [])), [value], here, source=(origin,))
            elif isinstance(value, list) and name in into and isinstance(into[name], list) and len(here) > 1:
                sources = tuple((*origin, k) for k in range(len(value)))
                into[name] = self._longer(into[name], value, here, source=sources)
            elif name in into:
                what = f"{name[:40]!r} is stated already (in {self.said})"
                hint = "put an index into the name, as in x{i}" if name == key else "keep one of the two"
                self.repeat.findings.add(origin, what, hint, on_key=True)
            else:
                into[name] = self._value(value, here, origin)
        return into

    def _longer(self, before: list[Any], value: list[Any], path: Path, source: tuple[Path, ...]) -> list[Any]:
        for item, origin in zip(value, source, strict=True):
            here = (*path, len(before))
            self._place(here, origin)
            before.append(self._value(item, here, origin))
        return before

    def _value(self, value: Any, path: Path, source: Path) -> Any:
        if isinstance(value, str):
            return self._written(value, source)
        if isinstance(value, list):
            return self._longer([], value, path, tuple((*source, k) for k in range(len(value))))
        if isinstance(value, dict):
            return self.joined({}, value, path, source)
        return value

    @property
    def said(self) -> str:
        """Which instance this is, in words."""
        return ", ".join([self.repeat.name[:40], *(f"{name} = {value}" for name, value in self.values.items())])

    def _place(self, path: Path, source: Path) -> None:
        """What is wrong at a path is shown where it was written, with the values of the indices."""
        places = self.repeat.findings.places
        span = places.spans.get(source)
        if span is not None and path not in places.spans:
            places.spans[path] = Span(span.key, span.value)
            places.instances[path] = self.said

    def _written(self, text: str, source: Path) -> str:
        """A text with numbers in the place of its braces."""
        return BRACES.sub(lambda match: self._number(match, source), text) if "{" in text else text

    def _number(self, match: re.Match[str], source: Path) -> str:
        before, inside = match[1], match[2]
        value = _sum(inside, self.values)
        if value is None:
            known = ", ".join(self.values)
            what = f"{{{inside[:40]}}} is no whole number made of {known}"
            self.repeat.findings.add(
                source, what, f"as in {{{next(iter(self.values))}-1}}: indices and numbers by + - *"
            )
            return before
        if before and value < 0:
            what = f"{{{inside[:40]}}} is {value} (in {self.said})"
            self.repeat.findings.add(source, what, "begin later, or number names from 0 on")
            return before
        return f"{before}{value}" if value >= 0 else f"({value})"


def _listed(stated: Any) -> list[Any]:
    """An energy as the list of its terms."""
    return stated if isinstance(stated, list) else [stated]


def _sum(text: str, values: Mapping[str, int]) -> int | None:
    """The value of whole numbers and indices, joined by + - *; None for anything else."""
    total, place = 0, 0
    while place < len(text.rstrip()) or place == 0:
        match = TERM.match(text, place)
        if match is None or (place and not match[1]):
            return None
        factors = [_whole(word, values) for word in match.groups()[1:] if word]
        if any(factor is None for factor in factors):
            return None
        total += (-1 if match[1] == "-" else 1) * math.prod(factor for factor in factors if factor is not None)
        place = match.end()
    return total


def _whole(word: str, values: Mapping[str, int]) -> int | None:
    return int(word) if word.isdigit() else values.get(word)
