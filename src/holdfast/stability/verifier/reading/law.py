"""The law of a problem text: what dw/dt shall be, as nodes in the deviations y_*, w_* and the gains law.*.

Numbers are gains, named law.stiffness.<row>[.<column>]; the certificate states the doubles that a run uses for them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from holdfast.stability.verifier.numbers.dag import Node, inputs_of
from holdfast.stability.verifier.reading.statement import Statement
from holdfast.stability.verifier.refusal import Refused, Unconfirmed, require

TERM = re.compile(
    r"(?P<sign>[-+]?)(?P<number>\d+(?:\.\d*)?(?:e[-+]?\d+)?|\.\d+)?(?:/(?P<below>\d+))?"
    r"(?:\*?(?P<unit>1?i)(?:/(?P<under>\d+))?)?"
)


class Law:
    """Y by constraint, and the number of each gain."""

    def __init__(self, stated: Statement) -> None:
        self.stated, self.dag = stated, stated.dag
        self.demand: dict[str, Node] = {name: self.dag.zero for name in stated.constraints}
        self.gains: dict[str, Node] = {}
        table = dict(stated.law)
        kind = table.pop("kind", "unstabilised")
        match kind:
            case "unstabilised":
                self._couple("stiffness", 0, "y")
                self._couple("damping", 0, "w")
            case "spring-damper":
                self._couple("stiffness", table.get("stiffness", 0), "y")
                self._couple("damping", table.get("damping", 0), "w")
            case "baumgarte":
                self._baumgarte(table["alpha"], table.get("beta"), table.get("kappa"))
            case "critically-damped":
                self._baumgarte(table["rate"], None, None)
            case "roots":
                self._roots(table["roots"])
            case "general":
                self._general(table)
            case "tuned":
                raise Refused('the gains of the law are still to be chosen (kind = "tuned")')
            case _:
                raise Unconfirmed(f"a law of the kind {str(kind)[:30]!r} cannot be re-checked independently")

    def _node(self, value: Any, where: str, *, deviations: bool = False) -> Node:
        names = [f"y_{name}" for name in self.stated.holonomic] + [f"w_{name}" for name in self.stated.constraints]
        return self.stated.scalar(value, where, {name: self.dag.input(name) for name in names} if deviations else None)

    def _subtract(self, kind: str, row: str, column: str, gain: Node, letter: str) -> None:
        if not inputs_of([gain]):
            name = f"law.{kind}.{row}" if row == column else f"law.{kind}.{row}.{column}"
            self.gains[name] = gain
            gain = self.dag.input(name)
        deviation = self.dag.input(f"{letter}_{column}")
        self.demand[row] = self.dag.sub(self.demand[row], self.dag.mul(gain, deviation))

    def _couple(self, kind: str, value: Any, letter: str) -> None:
        """−gain · deviation: from one number, by name, by pairs of names, or a matrix."""
        columns = list(self.stated.holonomic if letter == "y" else self.stated.constraints)
        entries: dict[tuple[str, str], Any] = {(name, name): 0 for name in columns}
        if isinstance(value, Mapping):
            for key, inner in value.items():
                pairs = inner.items() if isinstance(inner, Mapping) else [(key.partition(".")[2], inner)]
                row = key.partition(".")[0]
                for column, number in pairs:
                    entries[row, column or row] = number
        elif isinstance(value, list):
            for row, numbers in zip(self.stated.constraints, value, strict=False):
                require(isinstance(numbers, list), "a gain matrix of the law is no matrix")
                entries |= {(row, column): number for column, number in zip(columns, numbers, strict=False)}
        else:
            entries = {(name, name): value for name in columns}
        for (row, column), number in entries.items():
            require(row in self.demand and column in columns, f"the law has a gain of no constraint: {row}.{column}")
            self._subtract(kind, row, column, self._node(number, f"law.{kind}"), letter)

    def _baumgarte(self, alpha: Any, beta: Any, kappa: Any) -> None:
        dag, found = self.dag, {}
        for name in self.stated.constraints:
            rate = self._node(_of(alpha, name), "law.alpha")
            if name in self.stated.holonomic:
                root = rate if beta is None else self._node(_of(beta, name), "law.beta")
                found[name] = (dag.power(root, 2), dag.mul(dag.const(2), rate))
            else:
                found[name] = (dag.zero, rate if kappa is None else self._node(_of(kappa, name), "law.kappa"))
        self._pairs(found)

    def _pairs(self, found: Mapping[str, tuple[Node, Node]]) -> None:
        for name in self.stated.holonomic:
            self._subtract("stiffness", name, name, found[name][0], "y")
        for name in self.stated.constraints:
            self._subtract("damping", name, name, found[name][1], "w")

    def _roots(self, value: Any) -> None:
        found = {}
        for name in self.stated.constraints:
            given = value.get(name) if isinstance(value, Mapping) else value
            given = given if isinstance(given, list) else [given]
            pairs = [self._root(root) for root in given]
            if name in self.stated.holonomic:
                require(len(pairs) == 2, f"the law gives {name!r} not two roots")
                (a, b), (c, d) = pairs
                require(a * d + b * c == 0 and b + d == 0, f"the roots of {name!r} are not conjugate")
                found[name] = (self.dag.const(a * c - b * d), self.dag.const(-a - c))
            else:
                require(pairs[0][1] == 0, f"the root of {name!r} is not real")
                found[name] = (self.dag.zero, self.dag.const(-pairs[0][0]))
        self._pairs(found)

    def _root(self, value: Any) -> tuple[Fraction, Fraction]:
        """Real and imaginary part of -1, "-1+2i", "2*1i-3": a sum of terms, each a number, i, or both."""
        text = str(value).replace(" ", "")
        parts, at = [Fraction(0), Fraction(0)], 0
        while at < len(text):
            term = TERM.match(text, at)
            good = (
                term is not None and term.end() > at and (term["number"] or term["unit"]) and (term["sign"] or at == 0)
            )
            require(bool(good), f"the root {text[:30]!r} of the law cannot be re-checked")
            assert term is not None
            size = Fraction(term["number"] or 1) / (int(term["below"] or 1) * int(term["under"] or 1))
            parts[1 if term["unit"] else 0] += -size if term["sign"] == "-" else size
            at = term.end()
        require(at > 0, "a root of the law is empty")
        return parts[0], parts[1]

    def _general(self, table: Mapping[str, Any]) -> None:
        require(set(table) == set(self.demand), "the law is not stated for every constraint")
        for name, value in table.items():
            self.demand[name] = self._node(value, f"law.{name}", deviations=True)


def _of(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        require(name in value, f"the law gives no gain for {name!r}")
        return value[name]
    return value
