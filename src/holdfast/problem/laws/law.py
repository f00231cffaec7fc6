"""What all laws share: gains as inputs, the form of a law as equations, and gain matrices given in many ways."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from holdfast.common.frozen import Frozen
from holdfast.common.nearest import did_you_mean
from holdfast.errors import BadStatement
from holdfast.problem.quantities import Deviation, DeviationRate, NamedSymbol, deviation_chain, latex_name
from holdfast.problem.text.pattern import Pattern, alphabet, plain
from holdfast.problem.vocabulary import MOTION, Vocabulary, exact

HIGHEST = 8  # degree of a constraint: formulas grow with each derivative, and no machine in use asks for more


class Gain(NamedSymbol):
    """A number of a law, as an input of the equations: ``law.stiffness.rod``."""

    __slots__ = ()
    rank = 0

    @property
    def letter(self) -> str:
        """A short name for reading: ``k_rod``, ``b_rod``."""
        _, kind, *constraints = self.name.split(".")
        return "_".join((LETTERS.get(kind, kind), *constraints))

    def _latex(self, printer: Any) -> str:
        return latex_name(self.letter)


LETTERS = {"stiffness": "k", "damping": "b", "quadratic": "c", "inertia": "a"}


@dataclass(frozen=True, slots=True)
class Constraints:
    """What a law needs to know of a program: the names of its constraints, by kind, and the words allowed in
    expressions.
    """

    holonomic: tuple[str, ...]
    nonholonomic: tuple[str, ...]
    vocabulary: Vocabulary
    degrees: Frozen[int] = Frozen()  # of those that are above the usual: 2 of holonomic, 1 of nonholonomic ones

    @property
    def all(self) -> tuple[str, ...]:
        return self.holonomic + self.nonholonomic

    def degree(self, name: str) -> int:
        """The order of the law of a constraint: how often it is differentiated until what holds it appears."""
        return self.degrees.get(name, 2 if name in self.holonomic else 1)

    def chain(self, name: str) -> tuple[NamedSymbol, ...]:
        """The deviation of a constraint and its rates, as many as its degree."""
        names = deviation_chain(name, name in self.holonomic, self.degree(name))
        return tuple(Deviation(name) if word.startswith("y_") else DeviationRate(word) for word in names)

    def require_usual(self, law: str) -> None:
        """Refuse a law of second order where a constraint asks for a higher one."""
        for name, degree in self.degrees.items():
            roots = ", ".join(str(-k) for k in range(1, degree + 1))
            raise BadStatement(
                f"{law} is of second order, and {name!r} needs a law of order {degree}: its control appears in its "
                f"derivative of that order",
                where="program.law",
                fix=f'e.g. hf.critically_damped(rate), or hf.from_roots({{"{name}": ({roots})}})',
            )


@dataclass(frozen=True, slots=True)
class LawForm:
    """A law as equations: the demand Y by constraint, the numbers that became inputs, and excess energies if it has
    them.
    """

    demand: Frozen[sp.Expr]
    gains: Frozen[sp.Expr] = Frozen()
    excess: Frozen[sp.Expr] = Frozen()  # kinetic, potential, dissipation of the deviations


class Law(ABC):
    """A perturbation law."""

    __slots__ = ()

    @abstractmethod
    def form(self, constraints: Constraints) -> LawForm:
        """The law as one expression per constraint."""

    def stated_degree(self, constraint: str, holonomic: bool) -> int:
        """The order that the law itself gives a constraint, by so many roots or coefficients; 0 where it says none."""
        return 0


def frozen_gains(value: Any, where: str = "program.law") -> Any:
    """A hashable copy of numbers, mappings by name or pair of names, and matrices."""
    if isinstance(value, sp.MatrixBase):
        value = value.tolist()
    if isinstance(value, Mapping):
        return Frozen({_key(key): frozen_gains(inner, where) for key, inner in value.items()})
    if isinstance(value, (list, tuple)) or type(value).__name__ == "ndarray":
        return tuple(frozen_gains(inner, where) for inner in value)
    if isinstance(value, complex) or (isinstance(value, sp.Expr) and value.has(sp.I)):
        return sp.nsimplify(value, rational=True) if isinstance(value, complex) else value
    return exact(value, where=where)


def single_gains(value: Any, kind: str) -> Any:
    """Gains of which a constraint has one: a number for all, or numbers by constraint."""
    gains = frozen_gains(value, f"law.{kind}")
    for gain in gains.values() if isinstance(gains, Frozen) else (gains,):
        if isinstance(gain, (tuple, Frozen)):
            raise BadStatement(
                f"{kind} = {value!r}: a constraint has one {kind}, not several",
                where=f"law.{kind}",
                fix=f'give a number, or numbers by constraint: {kind}={{"rod": 5, "pin": 8}}',
            )
    return gains


def _key(key: Any) -> str:
    """The key of a gain: a constraint's name, or ``row.column`` for a cross term."""
    if isinstance(key, tuple):
        return ".".join(_key(part) for part in key)
    return key if isinstance(key, str) else str(getattr(key, "constraint", getattr(key, "name", key)))


@dataclass(frozen=True, slots=True)
class Coupling:
    """The entries of one gain matrix: (row, column, value), from a number, names, pairs of names, or a matrix."""

    kind: str
    value: Any
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    diagonal: tuple[str, ...]  # the rows to which a single number applies

    def entries(self) -> Iterator[tuple[str, str, sp.Expr]]:
        if isinstance(self.value, Frozen):
            yield from self._by_name()
        elif isinstance(self.value, tuple):
            yield from self._matrix()
        else:
            for name in self.diagonal:
                yield name, name, self.value

    def _by_name(self) -> Iterator[tuple[str, str, sp.Expr]]:
        rows, columns, diagonal = frozenset(self.rows), frozenset(self.columns), frozenset(self.diagonal)
        for key in self.value:
            row, _, column = key.partition(".")
            column = column or row
            if row not in rows:
                raise BadStatement(
                    f"{row!r} is not a constraint of this program",
                    where=f"law.{self.kind}",
                    fix=constraint_hint(row, self.rows),
                )
            if column not in columns:
                if column in rows:
                    reason, fix = "is nonholonomic: it has no y, only w", "give it a damping instead"
                else:
                    reason, fix = "is not a constraint of this program", constraint_hint(column, self.columns)
                raise BadStatement(f"{column!r} {reason}", where=f"law.{self.kind}", fix=fix)
        for name in self.diagonal:
            yield name, name, self.value.get(name, self.value.get(f"{name}.{name}", sp.S.Zero))
        for key, number in self.value.items():
            row, _, column = key.partition(".")
            if column and column != row:
                yield row, column, number
            elif row not in diagonal:
                yield row, row, number

    def _matrix(self) -> Iterator[tuple[str, str, sp.Expr]]:
        shape = {len(row) if isinstance(row, tuple) else 0 for row in self.value}
        short = len(self.value) == len(self.columns) <= len(self.rows)
        if shape != {len(self.columns)} or not (len(self.value) == len(self.rows) or short):
            raise BadStatement(
                f"the {self.kind} matrix does not fit the program",
                where=f"law.{self.kind}",
                fix=f"it needs {len(self.rows)} rows and {len(self.columns)} columns",
            )
        for row, numbers in zip(self.rows, self.value, strict=False):
            yield from ((row, column, number) for column, number in zip(self.columns, numbers, strict=True))


class Linear:
    """Collects Y = -K y - B w (- more) and the gains it needs."""

    def __init__(self, constraints: Constraints) -> None:
        self.constraints = constraints
        self.demand: dict[str, sp.Expr] = dict.fromkeys(constraints.all, sp.S.Zero)
        self.gains: dict[str, sp.Expr] = {}
        self._coupled: dict[str, list[tuple[sp.Expr, NamedSymbol]]] = {}  # by row: numbers, and what they multiply

    def number(self, kind: str, places: Sequence[str], value: sp.Expr) -> sp.Expr:
        """An input for a number, the expression itself otherwise."""
        where = ".".join(("law", kind, *(places[:1] if len(set(places)) == 1 else places)))
        value = self.constraints.vocabulary.admit(value, MOTION, where=where)
        if value.free_symbols:
            return value
        self.gains[where] = value
        return Gain(where)

    def subtract(self, row: str, term: sp.Expr) -> None:
        self.demand[row] -= term

    def couple(self, kind: str, value: Any, on: type[NamedSymbol]) -> None:
        """Subtract the coupling of each row with the deviations (or their rates)."""
        names = self.constraints
        columns = names.holonomic if on is Deviation else names.all
        coupling = Coupling(kind, value, names.all, columns, diagonal=columns)
        for row, column, number in coupling.entries():
            deviation = Deviation(column) if on is Deviation else DeviationRate(f"w_{column}")
            self._coupled.setdefault(row, []).append((self.number(kind, (row, column), number), deviation))

    def chain(self, row: str, coefficients: Sequence[Any]) -> None:
        """Subtract c₀ y + c₁ y' + ... of a constraint, as many terms as its degree."""
        usual = ("stiffness", "damping") if row in self.constraints.holonomic else ("damping",)
        kinds = usual if len(coefficients) == len(usual) else [f"c{k}" for k in range(len(coefficients))]
        for kind, value, deviation in zip(kinds, coefficients, self.constraints.chain(row), strict=True):
            self.subtract(row, self.number(kind, (row, row), value) * deviation)

    def form(self) -> LawForm:
        patterns: dict[Any, Pattern] = {}
        for row, terms in self._coupled.items():
            self.demand[row] += self._sum(terms, patterns)
        return LawForm(demand=Frozen(self.demand), gains=Frozen(self.gains))

    @staticmethod
    def _sum(terms: list[tuple[sp.Expr, NamedSymbol]], patterns: dict[Any, Pattern]) -> sp.Expr:
        """-K y - B w of one row, written out once for all rows that are alike."""
        symbols = [part for term in terms for part in term]
        named = all(isinstance(part, NamedSymbol) and plain(part) for part in symbols)
        alike = named and len({*symbols}) == len(symbols)
        key = alphabet(symbols) if alike else None
        if key in patterns:
            return patterns[key].filled(symbols)
        found = sp.S.Zero
        for number, deviation in terms:
            found -= number * deviation
        if key is not None:
            patterns[key] = Pattern(found, symbols)
        return found


def check_constraints(value: Any, known: Sequence[str], kind: str) -> None:
    """Refuse gains by name for constraints that are not there (or not of the kind that has such a gain)."""
    names = frozenset(known)
    for name in value if isinstance(value, Frozen) else ():
        if name not in names:
            raise BadStatement(
                f"{name!r} is not a constraint that has a gain {kind!r}",
                where=f"law.{kind}",
                fix=constraint_hint(name, known),
            )


def constraint_hint(name: str, known: Sequence[str]) -> str:
    """What to write in the place of a constraint that is not there."""
    return did_you_mean(name, known, "constraints: " + ", ".join(known) if known else "this program has none")


def by_constraint(value: Any, name: str) -> Any:
    return (
        value[name] if isinstance(value, Frozen) and name in value else (None if isinstance(value, Frozen) else value)
    )
