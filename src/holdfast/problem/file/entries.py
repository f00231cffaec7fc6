"""Single entries of a problem file: numbers, expressions, names and texts, each checked where it stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import sympy as sp

from holdfast.common.limits import MORE, allowance
from holdfast.common.nearest import did_you_mean
from holdfast.errors import BadStatement
from holdfast.problem.file.findings import Findings, key_text
from holdfast.problem.file.places import Path
from holdfast.problem.text.expression import Expressions
from holdfast.problem.text.magnitude import Refusal, decimal, of_fraction
from holdfast.problem.text.spelling import Unreadable
from holdfast.problem.vocabulary import Kinds, Vocabulary

MAX_ENTRIES = 1000  # of one table
ENERGIES = (("system", "kinetic"), ("system", "potential"), ("system", "dissipation"))  # sums, which lists may give

HOMES = {
    "coordinates": "[system]", "kinetic": "[system]", "potential": "[system]", "dissipation": "[system]",
    "forces": "[system.forces]", "states": "[system.states]", "masses": "[system.masses]", "noise": "[system.noise]",
    "holonomic": "[program.holonomic]", "nonholonomic": "[program.nonholonomic]", "controls": "[program.controls]",
    "reactions": "[program]", "law": "[program.law]", "scheme": "[run]", "step": "[run]", "duration": "[run]",
    "redundant": "[program]",
    "tolerance": "[run]", "definitions": "the top of the file", "points": "the top of the file",
    "parameters": "the top of the file", "start": "the top of the file",
}  # fmt: skip


class WrittenNumber(float):
    """A float of a file that remembers how it was written, so that 0.1 stays exactly 1/10."""

    text: str

    def __new__(cls, text: str) -> WrittenNumber:
        number = super().__new__(cls, text)
        number.text = text
        return number


def plain(value: Any) -> Any:
    """A value of a file with ordinary floats in it."""
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return float(value) if isinstance(value, WrittenNumber) else value


def kind_of(value: Any) -> str:
    """What a TOML value is, in words."""
    words = {
        bool: "a truth value",
        int: "a number",
        WrittenNumber: "a number",
        str: "a text",
        list: "a list",
        dict: "a table",
    }
    return words.get(type(value), f"a {type(value).__name__}")


class Entries:
    """Reads single values and notes what is wrong with them; a value that fails is None."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.names = Vocabulary()
        self.expressions = Expressions(self.names)
        self.spoiled: set[str] = set()  # names whose own statement failed: their use is not an error of its own

    def table(
        self, parent: Mapping[str, Any], path: Path, *, known: Iterable[str] | None = None, limit: int = MAX_ENTRIES
    ) -> dict[str, Any]:
        """A table of the file, empty if it is not there; keys that nobody knows are refused.

        One too large ends the reading, before all that uses its names is blamed.
        """
        value = parent.get(str(path[-1]), {})
        if not isinstance(value, dict):
            self.findings.add(
                path, f"this should be a table, not {kind_of(value)}", f"write [{'.'.join(map(str, path))}]"
            )
            return {}
        if len(value) > allowance(limit):
            self.findings.add(path, f"this table has more than {allowance(limit)} entries", MORE, on_key=True)
            self.findings.raise_if_any()
        if known is not None:
            self.check_keys(value, path, known)
        return value

    def check_keys(self, table: Mapping[str, Any], path: Path, known: Iterable[str]) -> None:
        known = list(known)
        for key in table:
            if key in known:
                continue
            home = HOMES.get(key, "")
            otherwise = "known keys: " + ", ".join(known)
            if home and path != tuple(home.strip("[]").split(".")):
                otherwise = f"it belongs in {home}" if home.startswith("[") else f"it belongs at {home}, as [{key}]"
            hint = did_you_mean(key, known, otherwise)
            self.findings.add((*path, key), f"unknown key {key[:40]!r}", hint, on_key=True)

    def text(self, table: Mapping[str, Any], path: Path, default: str) -> str:
        value = table.get(str(path[-1]), default)
        if isinstance(value, str):
            return value
        self.findings.add(path, f"a text belongs here, not {kind_of(value)}", "put it in quotes")
        return default

    def listed_names(self, table: Mapping[str, Any], path: Path) -> list[str]:
        """A list of names; one that cannot be taken ends the reading, before all that uses the names is blamed."""
        value = table.get(str(path[-1]), [])
        if not isinstance(value, list):
            self.findings.add(path, f"a list of names belongs here, not {kind_of(value)}", 'e.g. ["x", "phi"]')
            self.findings.raise_if_any()
        if len(value) > allowance(MAX_ENTRIES):
            self.findings.add(path, f"this list has more than {allowance(MAX_ENTRIES)} names", MORE, on_key=True)
            self.findings.raise_if_any()
        for index, name in enumerate(value):
            if not isinstance(name, str):
                self.findings.add((*path, index), f"a name belongs here, not {kind_of(name)}", "put it in quotes")
        return [name for name in value if isinstance(name, str)]

    def expression(self, value: Any, path: Path, allowed: Kinds, reader: Expressions | None = None) -> sp.Expr | None:
        """A number, or an expression in quotes, that depends only on what is allowed here."""
        reader = reader or self.expressions
        if not isinstance(value, str):
            return self.number(value, path)
        if reader.work.spent:  # already noted where it happened
            return None
        try:
            return reader.names.admit(reader.scalar(value), allowed, where=key_text(path))
        except BadStatement as error:
            if not allowed and not (isinstance(error, Unreadable) and not error.unknown):
                error.fix = "a value here is a number, or an expression of numbers such as 2*pi/3"
            self.blame(error, path, value)
            return None

    def number(self, value: Any, path: Path) -> sp.Expr | None:
        """An exact number from a TOML number."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.findings.add(path, f"a number or an expression in quotes belongs here, not {kind_of(value)}")
            return None
        try:
            if isinstance(value, WrittenNumber):
                exact = decimal(value.text.lstrip("+-")) * (-1 if value.text.startswith("-") else 1)
            else:
                exact = Fraction(value)
                of_fraction(exact).checked()
            return sp.Rational(exact.numerator, exact.denominator)
        except Refusal as refusal:
            self.findings.add(path, refusal.what, refusal.hint or "values must be finite and real")
            return None

    def blame(self, error: BadStatement, path: Path, value: Any = None) -> None:
        """Note an error, unless it only follows from another one."""
        if isinstance(error, Unreadable) and error.unknown in self.spoiled:
            return
        self.findings.blame(error, path, value)
