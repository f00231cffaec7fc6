"""Which gains and parameters make a program attracting: conditions in letters, block by block.

    d(y, w)/dt = H (y, w):   det(λ I − H) = 0 has all roots in Re λ < 0      (Liénard–Chipart)
    V = ½ zᵀ G z:            V > 0 and V' = ½ zᵀ(G H + Hᵀ G) z < 0           (Sylvester's minors)

The first are necessary and sufficient where H is constant; for a law that is not linear they hold near the program.
Where H depends on the motion they are about H frozen, and prove nothing. The second are sufficient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from holdfast.common.arguments import clear_arguments
from holdfast.common.nearest import did_you_mean
from holdfast.equations.dynamics.blocks import decoupled_blocks
from holdfast.equations.equations import Equations
from holdfast.equations.writing.text import formula, text
from holdfast.errors import BadRequest
from holdfast.problem.letters import letters_in
from holdfast.problem.quantities import Deviation, DeviationRate, Parameter
from holdfast.problem.text.expression import parse
from holdfast.problem.vocabulary import LAW, name_of
from holdfast.stability.letters.routh import ROOT, characteristic_polynomial, determinant, stable_where
from holdfast.stability.letters.signs import positive_conditions
from holdfast.stability.linear.spectrum import varying_entries

MOST_ROWS = 8  # of a block: beyond, the minors have more terms than anyone reads

Relations = tuple[sp.Basic, ...]


@dataclass(frozen=True, eq=False)
class QuadraticForm:
    """V of a block with its derivative along the law, and when they are definite."""

    function: sp.Expr
    rate: sp.Expr
    positive: Relations
    decreasing: Relations

    @property
    def inequalities(self) -> Relations:
        """V > 0 and V' < 0: sufficient for asymptotic stability."""
        return tuple(dict.fromkeys((*self.positive, *self.decreasing)))


@dataclass(frozen=True, eq=False)
class BlockConditions:
    """Deviations that influence each other: their polynomial in λ, and the inequalities for its roots."""

    names: tuple[str, ...]
    constraints: tuple[str, ...]
    matrix: sp.Matrix
    constant: bool
    polynomial: sp.Expr
    inequalities: Relations
    form: QuadraticForm | None = None

    @property
    def attainable(self) -> bool:
        """Whether any values of the letters make it attracting."""
        return sp.false not in self.inequalities


@dataclass(frozen=True, eq=False)
class Conditions:
    """The conditions of all blocks; `linear` where the law is, so that they hold everywhere and not only nearby."""

    blocks: tuple[BlockConditions, ...]
    linear: bool
    stated: dict[str, float]

    @property
    def polynomial(self) -> sp.Expr:
        """det(λ I − H) of the whole, by blocks."""
        return sp.Mul(*(block.polynomial for block in self.blocks))

    @property
    def inequalities(self) -> Relations:
        """Those of all blocks, each once: with constant H, all hold exactly where deviations die away."""
        return tuple(dict.fromkeys(relation for block in self.blocks for relation in block.inequalities))

    @property
    def constant(self) -> bool:
        """Whether H does not depend on the motion; otherwise the inequalities prove nothing."""
        return all(block.constant for block in self.blocks)

    @property
    def hold(self) -> bool | None:
        """Whether the stated numbers satisfy all inequalities; None where letters are open."""
        return _holding(self.inequalities, self.stated)

    def summary(self) -> str:
        """In words, for a terminal."""
        lines: list[str] = []
        for block in self.blocks:
            lines += [", ".join(block.constraints), *(f"  {line}" for line in self._lines(block)), ""]
        return "\n".join(lines).rstrip() + "\n" if lines else "There is nothing to hold.\n"

    def _lines(self, block: BlockConditions) -> list[str]:
        lines = [f"characteristic polynomial: {_written(block.polynomial, text, '*')}"]
        if not block.constant:
            lines.append("H depends on the motion: what follows is about H frozen, and proves nothing")
        where = "asymptotically stable" if self.linear else "asymptotically stable near the program"
        if not block.attainable:
            lines.append(f"never {where}: a root is 0, or lies to the right, whatever the values")
        else:
            lines.append(f"{where} exactly where {_said(block.inequalities)}")
        holding = _holding(block.inequalities, self.stated)
        if block.attainable and block.inequalities and holding is not None:
            lines.append("the stated numbers satisfy " + ("all of them" if holding else "not all of them"))
        if block.form is not None:
            form = block.form
            lines += [f"V = {text(form.function)}", f"V' = {text(form.rate)}"]
            lines += [f"V > 0 where {_said(form.positive)}", f"V' < 0 where {_said(form.decreasing)}"]
        return lines

    def latex(self) -> str:
        """The polynomial and the inequalities of each block as LaTeX."""
        lines = []
        for block in self.blocks:
            lines.append(rf"\det(\lambda I - H) = {_written(block.polynomial, formula, ' ')}")
            lines.append(_formulas(block.inequalities))
            if block.form is not None:
                lines += [rf"V = {formula(block.form.function)}", rf"\dot V = {formula(block.form.rate)}"]
                lines.append(_formulas(block.form.inequalities))
        return "\n".join(f"\\[ {line} \\]" for line in lines if line) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for ``--json``."""
        facts = {"schema": 1, "linear": self.linear, "constant": self.constant, "hold": self.hold}
        return {**facts, "blocks": [_block_data(block) for block in self.blocks]}


@clear_arguments
def conditions(equations: Equations, V: Any = None, *, letters: Iterable[Any] | None = None) -> Conditions:
    """For which gains and parameters the deviations die away, as inequalities; with `V`, a quadratic form in the
    deviations (``hf.deviations``, or a text as in files), also when V > 0 and V' < 0 show it. `letters` names the gains
    and parameters to be kept as letters; the others then take their stated numbers.
    """
    if not isinstance(equations, Equations):
        raise BadRequest(
            f"conditions() takes Equations, not {type(equations).__name__}", fix="hf.derive(problem) first"
        )
    equations.require_unlimited("conditions")
    program = equations.problem.program
    names, H = equations.deviation_names, _with_numbers(equations, letters)
    z = [Deviation(n[2:]) if n.startswith("y_") else DeviationRate(n) for n in names]
    G = None if V is None else _matrix_of(equations, V, z)
    links = H if G is None else H.applyfunc(abs) + G.applyfunc(abs)
    pattern = np.array([[float(entry != 0) for entry in links.row(i)] for i in range(len(names))])
    varying = varying_entries(equations)
    m, blocks = len(equations.deviations.y), []
    for rows in decoupled_blocks(pattern.reshape(len(names), len(names))):
        held = tuple(name for k, name in enumerate(program.constraints) if m + k in rows)
        if len(rows) > MOST_ROWS:
            raise BadRequest(
                f"{', '.join(held)} are coupled: {len(rows)} deviations have no conditions that anyone reads",
                where="conditions",
                fix=f"hf.spectrum decides for numbers; conditions are for blocks of at most {MOST_ROWS}",
            )
        own = H.extract(rows, rows)
        steady = not varying[np.ix_(rows, rows)].any()
        parts = [own.extract(part, part) for part in _cycles(own)]
        polynomials = [characteristic_polynomial(part) for part in parts]
        polynomial = sp.Mul(*polynomials)
        found = positive_conditions([e for each in polynomials for e in stable_where(each)])
        form = None if G is None else _form(G.extract(rows, rows), own, [z[i] for i in rows])
        chosen = tuple(names[i] for i in rows)
        blocks.append(BlockConditions(chosen, held, own, steady, polynomial, found, form))
    linear = equations.demand_law.is_linear or not equations.second_order
    return Conditions(tuple(blocks), linear, equations.stated_values)


def _with_numbers(equations: Equations, letters: Iterable[Any] | None) -> sp.Matrix:
    """H with all letters, or with stated numbers in the place of those that are not asked for."""
    H = equations.deviation_matrix
    if letters is None:
        return H
    kept = {name_of(letter) for letter in ((letters,) if isinstance(letters, (str, sp.Symbol)) else letters)}
    unknown = kept - set(equations.parameter_names)
    if unknown:
        name = sorted(unknown)[0]
        fix = did_you_mean(name, equations.parameter_names, "known: " + ", ".join(equations.parameter_names))
        raise BadRequest(f"no gain or parameter is called {name!r}", where="letters", fix=fix)
    stated = equations.stated_values
    return H.xreplace({s: sp.Rational(stated[s.name]) for s in H.free_symbols if s.name in {*stated} - kept})


def _cycles(matrix: sp.Matrix) -> list[list[int]]:
    """Rows that influence each other both ways: the polynomial is the product of theirs."""
    from scipy.sparse.csgraph import connected_components

    pattern = np.array([[entry != 0 for entry in matrix.row(i)] for i in range(matrix.rows)])
    count, labels = connected_components(pattern, directed=True, connection="strong")
    return sorted(np.nonzero(labels == k)[0].tolist() for k in range(count))


def _matrix_of(equations: Equations, V: Any, z: Sequence[sp.Symbol]) -> sp.Matrix:
    """G of V = ½ zᵀGz."""
    program = equations.problem.program
    names = equations.problem.names.copy()
    for name, letter in letters_in(V)[0].items():  # V may have letters of its own
        if name not in names:
            names.declare(letter, where="V")
    words = names.with_deviations(program.holonomic, program.nonholonomic, equations.deviations.degrees)
    value = parse(V, words) if isinstance(V, str) else V
    expression = words.admit(value, LAW, where="V")
    G = sp.hessian(expression, list(z)) if z else sp.zeros(0, 0)
    rest = sp.expand(expression - (sp.Matrix(z).T * G * sp.Matrix(z))[0] / 2) if z else expression
    if G.has(*z) or rest != 0:
        raise BadRequest(
            "V is not a quadratic form in the deviations", where="V", fix="e.g. 3*y_rod**2 + 4*y_rod*w_rod + 3*w_rod**2"
        )
    moving = [s for s in words.dependence(expression) if s not in z and not isinstance(s, Parameter)]
    if moving:
        raise BadRequest(
            f"V depends on {sorted(s.name for s in moving)[0]}",
            where="V",
            fix="conditions take a V with constant coefficients, which may be letters",
        )
    return G


def _form(G: sp.Matrix, H: sp.Matrix, z: Sequence[sp.Symbol]) -> QuadraticForm | None:
    """V of one block, and Sylvester's conditions; nothing where V does not know the block."""
    if G.is_zero_matrix:
        return None
    vector = sp.Matrix(z)
    slope = (G * H + H.T * G) / 2
    function = sp.expand((vector.T * G * vector)[0] / 2)
    rate = sp.collect(sp.expand((vector.T * slope * vector)[0]), _products(z))
    return QuadraticForm(function, rate, positive_conditions(_minors(G)), positive_conditions(_minors(-slope)))


def _products(z: Sequence[sp.Symbol]) -> list[sp.Expr]:
    return [a * b for i, a in enumerate(z) for b in z[i:]]


def _minors(matrix: sp.Matrix) -> list[sp.Expr]:
    """Sylvester's leading minors."""
    return [determinant(matrix[:k, :k]) for k in range(1, matrix.rows + 1)]


def _holding(relations: Relations, stated: dict[str, float]) -> bool | None:
    """Whether stated numbers satisfy the relations, decided for the exact doubles; None where one is missing."""
    put = {s: sp.Rational(stated[s.name]) for r in relations for s in r.free_symbols if s.name in stated}
    found = [relation.subs(put) for relation in relations]
    return False if sp.false in found else None if any(relation is not sp.true for relation in found) else True


def _written(polynomial: sp.Expr, word: Callable[[sp.Expr], str], times: str) -> str:
    """A polynomial by falling powers of λ, or a product of such."""
    factors = sp.Mul.make_args(polynomial)
    texts = [" + ".join(_terms(factor, word, times)).replace("+ -", "- ") for factor in factors]
    return texts[0] if len(texts) == 1 else times.join(f"({each})" for each in texts)


def _terms(polynomial: sp.Expr, word: Callable[[sp.Expr], str], times: str) -> Iterator[str]:
    for (power,), factor in sp.Poly(polynomial, ROOT).terms():
        root = word(ROOT**power) if power else ""
        shown = word(factor)
        if not root:
            yield shown
        elif factor == 1:
            yield root
        else:
            yield (f"({shown})" if factor.is_Add else shown) + times + root


def _said(relations: Relations) -> str:
    if relations == (sp.false,):
        return "nothing: for no values"
    if not relations:
        return "always: for all values of the letters"
    return ", ".join(_relation(relation) for relation in relations)


def _relation(relation: Any) -> str:
    signs = {sp.StrictGreaterThan: ">", sp.StrictLessThan: "<", sp.Unequality: "!="}
    return f"{text(relation.lhs)} {signs[type(relation)]} {text(relation.rhs)}"


def _formulas(relations: Relations) -> str:
    if relations == (sp.false,):
        return r"\text{false}"
    return r", \quad ".join(formula(relation) for relation in relations)


def _block_data(block: BlockConditions) -> dict[str, Any]:
    found: dict[str, Any] = {
        "constraints": list(block.constraints),
        "names": list(block.names),
        "constant": block.constant,
        "polynomial": str(block.polynomial),
        "inequalities": [str(relation) for relation in block.inequalities],
    }
    if block.form is not None:
        form = block.form
        found["V"] = {"V": str(form.function), "rate": str(form.rate)}
        found["V"] |= {"positive": list(map(str, form.positive)), "decreasing": list(map(str, form.decreasing))}
    return found
