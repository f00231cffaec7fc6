"""The table [program.law] and back: every kind of law by its name.

    kind = "spring-damper"      stiffness, damping         4, "4*m", { rod = 4, "rod.pin" = 1 }, [[4, 1], [1, 4]]
    kind = "baumgarte"          alpha, beta, kappa         numbers, or by constraint
    kind = "critically-damped"  rate
    kind = "roots"              roots                      [-1, -2], ["-1+2i", "-1-2i"], { rod = [-1, -2], roll = -3 }
    kind = "quadratic"          a0, a1, a2                 a2 by constraint: { rod = 1 } or { rod = { "rod.pin" = 1 } }
    kind = "excess-energies"    kinetic, potential, dissipation   or   inertia, damping, stiffness
    kind = "general"            rod = "-4*y_rod - 3*w_rod" for each constraint
    kind = "unstabilised"
    kind = "tuned"

Every gain may be a number or an expression in quotes. A complex root is a text such as "-1+2i".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy as sp

from holdfast.common.frozen import Frozen
from holdfast.common.nearest import did_you_mean
from holdfast.errors import BadStatement
from holdfast.problem.file.entries import Entries, kind_of
from holdfast.problem.file.places import Path
from holdfast.problem.laws.linear import (
    Baumgarte,
    CriticallyDamped,
    ExcessEnergies,
    GeneralLaw,
    Law,
    LinearLaw,
    Quadratic,
    Roots,
    SpringDamper,
    Tuned,
    Unstabilised,
)
from holdfast.problem.text.expression import Expressions
from holdfast.problem.vocabulary import LAW

KINDS: dict[str, tuple[type[Law], tuple[str, ...]]] = {
    "spring-damper": (SpringDamper, ("stiffness", "damping")),
    "baumgarte": (Baumgarte, ("alpha", "beta", "kappa")),
    "critically-damped": (CriticallyDamped, ("rate",)),
    "roots": (Roots, ("roots",)),
    "linear": (LinearLaw, ("coefficients",)),
    "quadratic": (Quadratic, ("a0", "a1", "a2")),
    "excess-energies": (ExcessEnergies, ("kinetic", "potential", "dissipation", "inertia", "damping", "stiffness")),
    "general": (GeneralLaw, ()),
    "unstabilised": (Unstabilised, ()),
    "tuned": (Tuned, ()),
}
NEEDED = {"baumgarte": "alpha", "critically-damped": "rate", "roots": "roots", "linear": "coefficients"}
PATH: Path = ("program", "law")


def read_law(program: Mapping[str, Any], entries: Entries, reader: Expressions, anything_held: bool) -> Law:
    """The law of a program; without a table, deviations are not corrected."""
    if "law" not in program:
        return Unstabilised()
    table = entries.table(program, PATH)
    kind = table.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        _note_kind(kind, entries)
        return Unstabilised()
    law, keys = KINDS[kind]
    reading = _Values(entries, reader, complex_allowed=kind == "roots")
    given = {key: value for key, value in table.items() if key != "kind"}
    if kind == "general":
        return GeneralLaw({name: reading.value(value, (*PATH, name)) for name, value in given.items()})
    entries.check_keys(given, PATH, ("kind", *keys) if keys else ("kind",))
    if kind in NEEDED and NEEDED[kind] not in given:
        needed = NEEDED[kind]
        entries.findings.add(
            PATH,
            f"a law of the kind {kind!r} needs {needed!r}",
            f"e.g. {needed} = " + {"roots": "[-1, -2]", "linear": "[2, 3]"}.get(kind, "10"),
        )
        return Unstabilised()
    found = {key: reading.value(value, (*PATH, key)) for key, value in given.items() if key in keys}
    try:
        return law(**found)
    except BadStatement as error:
        entries.findings.blame_where(error)
        return Unstabilised()


def _note_kind(kind: Any, entries: Entries) -> None:
    listed = ", ".join(KINDS)
    if kind is None:
        entries.findings.add(PATH, "the law has no kind", f'e.g. kind = "spring-damper"; kinds: {listed}')
    elif not isinstance(kind, str):
        entries.findings.add((*PATH, "kind"), f"the kind of a law is a text, not {kind_of(kind)}", f"kinds: {listed}")
    else:
        hint = did_you_mean(kind.lower().replace("_", "-").replace(" ", "-"), KINDS, f"kinds: {listed}")
        entries.findings.add((*PATH, "kind"), f"unknown kind of law {kind[:40]!r}", hint)


class _Values:
    """Reads gains: numbers, expressions, by constraint, by pairs of constraints, and matrices."""

    def __init__(self, entries: Entries, reader: Expressions, *, complex_allowed: bool) -> None:
        self.entries, self.reader, self.complex_allowed = entries, reader, complex_allowed

    def value(self, value: Any, path: Path) -> Any:
        if isinstance(value, dict):
            return self._by_name(value, path)
        if isinstance(value, list):
            return tuple(self.value(inner, (*path, index)) for index, inner in enumerate(value))
        if self.complex_allowed and isinstance(value, str):
            return self._root(value, path)
        found = self.entries.expression(value, path, LAW, self.reader)
        return sp.S.Zero if found is None else found

    def _by_name(self, table: Mapping[str, Any], path: Path) -> dict[str, Any]:
        """By constraint, or by pair: ``"rod.pin" = 1`` or ``rod.pin = 1``; in a2 the pairs are a level lower."""
        found: dict[str, Any] = {}
        products = path[2] == "a2"
        for name, value in table.items():
            place = (*path, name)
            if not isinstance(value, dict):
                found[name if products else _single(name)] = self.value(value, place)
            elif products and len(path) == 3:
                found[name] = self._by_name(value, place)
            else:
                for column, number in value.items():
                    pair = f"{name}.{column}"
                    found[pair if products else _single(pair)] = self._number(number, (*place, column))
        return found

    def _number(self, value: Any, path: Path) -> Any:
        if not isinstance(value, (dict, list)):
            return self.value(value, path)
        self.entries.findings.add(path, f"a number or an expression in quotes belongs here, not {kind_of(value)}")
        return sp.S.Zero

    def _root(self, value: str, path: Path) -> sp.Expr:
        if self.reader.work.spent:
            return sp.S.Zero
        try:
            return self.reader.scalar(value, complex_allowed=True)
        except BadStatement as error:
            self.entries.blame(error, path, value)
            return sp.S.Zero


def _single(pair: str) -> str:
    """The key of a gain: a constraint coupled with itself goes by its own name."""
    row, _, column = pair.partition(".")
    return row if row == column else pair


def law_entries(law: Law) -> dict[str, Any]:
    """The table of a law, with SymPy values."""
    for kind, (made, keys) in KINDS.items():
        if type(law) is not made:
            continue
        given = dict(law.demand) if isinstance(law, GeneralLaw) else {key: getattr(law, key) for key in keys}
        if "kind" in given:
            break
        return {"kind": kind} | {key: value for key, value in given.items() if _stated(law, key, value)}
    raise BadStatement(
        f"the law {type(law).__name__} has no form in a problem file",
        where="program.law",
        fix="kinds: " + ", ".join(KINDS),
    )


def _stated(law: Law, key: str, value: Any) -> bool:
    """Whether a gain differs from what is taken when nothing is said."""
    silent = isinstance(law, (SpringDamper, Quadratic)) and not isinstance(value, (Frozen, tuple)) and value == 0
    return value is not None and not silent
