"""Text to SymPy, safely: an expression of a problem file is read by a whitelist, and no code is ever run.

    numbers        12  0.1  1e-3            exact: 0.1 is 1/10
    operations     + - * / **  ( )
    functions      sqrt exp log sin cos tan asin acos atan atan2 sinh cosh tanh abs sign min max
    time           ddt(e)                   the total time derivative
    vectors        C  [a, b]  C.x  dot(a, b)  cross(a, b)  distance(a, b)  angle(a, b)  omega(body)
    constant       pi

Python's parser makes the tree (`ast.parse`, nothing is compiled), and each kind of node that is allowed has its lines
in `Builder`. Three limits keep reading quick and certain to end. The *nodes* of the text bound the work of building.
*Magnitudes* bound the numbers, before they are made and through definitions. The *size* with points written out bounds
what is walked later: a point is replaced by its components, so a chain of points can double at each step, whereas a
definition stays one shared symbol and counts as one, here and on the graph.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import sympy as sp
from sympy.core.parameters import distribute

from holdfast.common.limits import allowance
from holdfast.problem.text import scalars
from holdfast.problem.text.builder import Builder
from holdfast.problem.text.likeness import Key, KnownForm, Likeness, likeness
from holdfast.problem.text.magnitude import Magnitude
from holdfast.problem.text.scalars import Scalar
from holdfast.problem.text.spelling import MAX_LENGTH, Unreadable
from holdfast.problem.text.vectors import Parts
from holdfast.problem.vocabulary import Vocabulary

Vector = tuple[sp.Expr, ...]

MAX_NODES = 12_000  # of all expressions of a file together; what SymPy is slow at counts more (`Builder`)
MAX_SIZE = 100_000  # the same, with points written out


@dataclass(slots=True)
class ReadingBudget:
    """How much may still be read."""

    nodes: int = field(default_factory=lambda: allowance(MAX_NODES))
    size: int = field(default_factory=lambda: allowance(MAX_SIZE))

    @property
    def spent(self) -> bool:
        return self.nodes < 0 or self.size < 0


class Expressions:
    """Reads the expressions of one problem: its names, its points, its constant definitions, and the work left."""

    def __init__(self, names: Vocabulary, points: Mapping[str, Vector] | None = None) -> None:
        self.names = names
        self.points: dict[str, Parts] = {}
        self.constants: dict[str, Magnitude] = {}  # definitions that are numbers
        self.later: tuple[str, Collection[str]] = ("", ())  # the definition being read, and those not yet known
        self.work = ReadingBudget()
        self.forms: dict[Key, KnownForm] = {}  # of texts that were read, up to their names
        for name, position in (points or {}).items():
            self.add_point(name, position)

    def add_point(self, name: str, position: Vector) -> None:
        self.points[name] = tuple(Scalar(part, scalars.tree_size(part)) for part in position)

    def add_definition(self, name: str, expression: sp.Expr) -> None:
        """Remember how large a constant definition is; the definition itself stays a symbol."""
        found = scalars.shadow_of(expression, self.constants)
        if found is not None:
            self.constants[name] = found

    def with_names(self, names: Vocabulary) -> Expressions:
        """The same reader with more names, as a law has."""
        other = Expressions(names)
        other.points, other.constants, other.work = self.points, self.constants, self.work
        other.later, other.forms = self.later, self.forms
        return other

    def read(self, text: str, *, complex_allowed: bool = False) -> sp.Expr | Vector:
        """The expression or vector that the text means; `Unreadable` says what is wrong with it, and where."""
        short = not complex_allowed and len(text) <= allowance(MAX_LENGTH)
        like = likeness(text, self.names, (self.points, self.constants)) if short else None
        known = None if like is None else self.forms.get(like.key)
        if like is not None and known is not None and known.pattern is not None and self._afford(known):
            return known.pattern.filled(like.symbols, like.factor)
        before = self.work.nodes, self.work.size
        with distribute(False):  # 2*(x + y) stays as it is written
            try:
                found = Builder(self, text, complex_allowed=complex_allowed).read()
            except RecursionError:
                raise Unreadable("the expression is nested too deeply", text, 0, len(text), "name its parts") from None
        if like is not None and isinstance(found, sp.Expr):
            self._remember(like, found, before[0] - self.work.nodes, before[1] - self.work.size)
        return found

    def _afford(self, known: KnownForm) -> bool:
        """Whether as much as an expression cost may still be read; it is charged for."""
        if known.nodes > self.work.nodes or known.size > self.work.size:
            return False
        self.work.nodes -= known.nodes
        self.work.size -= known.size
        return True

    def _remember(self, like: Likeness, found: sp.Expr, nodes: int, size: int) -> None:
        """What was read, for texts alike."""
        known = self.forms.setdefault(like.key, KnownForm(found, like, nodes, size))
        if known.expression is not found and known.pattern is None and not known.refused:
            known.tried(found, like)

    def scalar(self, text: str, *, complex_allowed: bool = False) -> sp.Expr:
        """Like `read`, where a vector does not belong."""
        value = self.read(text, complex_allowed=complex_allowed)
        if isinstance(value, tuple):
            what = f"this is a vector of {len(value)} components, and a scalar belongs here"
            raise Unreadable(what, text, *_stripped(text), "take a component such as C.x, or dot(a, b)")
        return value


def parse(text: str, names: Vocabulary, points: Mapping[str, Vector] | None = None) -> sp.Expr | Vector:
    """One expression (or vector) of a problem file, in the words of a vocabulary."""
    return Expressions(names, points).read(text)


def _stripped(text: str) -> tuple[int, int]:
    start = len(text) - len(text.lstrip())
    return start, max(start + 1, len(text.rstrip()))
