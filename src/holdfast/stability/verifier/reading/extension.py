"""Programs whose controls are reached through added states, as a small system of their own, without the code.

    N M a = N h                       N E = 0: rows that no control moves
    J_X a = s₂ − γ_X                  rates that a controller adds as states: s₂' = s₃, …, s' = the law's
    J_D = Σ κ R                       the other rows, dependent on those above (R a = b) at every state, so that
    α = γ_D + Σ κ b                   their second rate is a function of places and s; α', α'' follow by differentiation
    ∂α^(k)/∂v a = law − rest          and the last of them asks for an acceleration

The code of a run eliminates all of this at once, through quotients of sums that nearly cancel: over a cell its
enclosures are 10³ to 10⁶ times too wide. Here three rows are left, to be solved like those of any problem. That κ does
what it should, that these accelerations are the code's and these deviations its rates, is compared at states, in 200
bits, as for all code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from holdfast.stability.verifier.numbers.dag import Dag, Node, inputs_of
from holdfast.stability.verifier.numbers.evaluate import ball_values
from holdfast.stability.verifier.reading.chains import (
    ADDED,
    BITS,
    ChainAgreement,
    ChainEquations,
    _vanishes,
)
from holdfast.stability.verifier.reading.file import Claims
from holdfast.stability.verifier.refusal import Refused

MOST_ROWS = 4  # of a determinant that is written out
STATES = 4  # at which code and system are compared before the system is used
SINGULAR = 1e-9  # of the largest determinant of its size: a smaller one is not chosen
Rows = list[list[Node]]


@dataclass(frozen=True, eq=False)
class ExtendedEquations(ChainEquations):
    """Equations of a program with added states, whose accelerations are unknowns of a system of their own."""

    own_rows: tuple[Rows, list[Node]] = field(default_factory=lambda: ([], []))
    dependent: Sequence[Node] = ()  # what vanishes where κ does what it should

    @property
    def solved(self) -> bool:
        return False

    @property
    def rows(self) -> tuple[Rows, list[Node]]:
        return self.own_rows


def extended(coded: ChainEquations, point: Sequence[float]) -> ExtendedEquations | None:
    """The same problem as a system, with pivots chosen at a state; None where it is of another kind."""
    stated = coded.stated
    added = {name: rate for name, rate in stated.states.items() if name.startswith(ADDED)}
    if not added or len(added) != len(stated.states) or coded.mass is None:
        return None
    try:
        return _Extension(coded, dict(zip(coded.inputs, point, strict=True)), list(added)).equations()
    except _NotThisKind:
        return None


class _NotThisKind(Exception):
    """The problem is not one of added rates above accelerations."""


class _Extension:
    def __init__(self, coded: ChainEquations, at: Mapping[str, float], added: list[str]) -> None:
        self.coded, self.dag, self.at = coded, coded.dag, at
        self.coordinates = coded.stated.coordinates
        held = {name: chain for name, chain in coded.chains.items() if f"{ADDED}2_{name}" in added}
        self.set = {name: [f"set_{word}" for word in chain if f"set_{word}" in added] for name, chain in held.items()}
        self.others = [name for name in coded.chains if name not in held]
        complete = all(len(words) == len(coded.chains[name]) - 2 for name, words in self.set.items())
        if not complete or sum(map(len, self.set.values())) != len(added) or not self.others:
            raise _NotThisKind
        if any(len(chain) < 3 or not chain[0].startswith("y_") for chain in coded.chains.values()):
            raise _NotThisKind

    def equations(self) -> ExtendedEquations:
        coded, dag = self.coded, self.dag
        rows, right = self._free()
        for name, words in self.set.items():
            rows.append(list(coded.jacobian[name]))
            right.append(dag.sub(dag.input(words[0]), coded.drift[name]))
        psi, rates = self._usual()
        dependent: list[Node] = []
        last: list[tuple[str, Node]] = []
        for name in self.others:
            second, lacking = self._second(name, rows, right)
            dependent += lacking
            last.append((name, self._chain(name, second, psi, rates)))
        for name, node in last:
            row, rest = self._demanded(name, node, psi, rates)
            rows.append(row)
            right.append(rest)
        if len(rows) != len(self.coordinates):
            raise _NotThisKind
        given = {key: getattr(coded, key) for key in coded.__dataclass_fields__} | {"psi": psi, "state_rates": rates}
        return ExtendedEquations(**given, own_rows=(rows, right), dependent=dependent)

    # ── rows that no control moves ────────────────────────────────────────────────────────────────

    def _free(self) -> tuple[Rows, list[Node]]:
        """N M and N h, with N = det(E_P) on the row itself and −E_f adj(E_P) on rows P that the controls move."""
        coded, dag = self.coded, self.dag
        holders, mass, n = coded.holders, coded.mass, len(self.coordinates)
        assert mass is not None
        width = len(holders[0])
        if not width < n or width > MOST_ROWS:
            raise _NotThisKind
        moved = self._largest([[row[j] for row in holders] for j in range(width)])
        square = [[holders[i][j] for j in range(width)] for i in moved]
        size, rows, right = _determinant(dag, square), Rows(), list[Node]()
        for i in (i for i in range(n) if i not in moved):
            weights = {i: size}
            for k, place in enumerate(moved):  # Cramer: the part of row i that is row `place`
                swapped = [holders[i] if m == k else row for m, row in enumerate(square)]
                weights[place] = dag.neg(_determinant(dag, swapped))
            rows.append([dag.sum(dag.mul(w, mass[m][j]) for m, w in weights.items()) for j in range(n)])
            right.append(dag.sum(dag.mul(w, coded.bias[m]) for m, w in weights.items()))
        return rows, right

    # ── rows that depend on the others ────────────────────────────────────────────────────────────

    def _second(self, name: str, rows: Rows, right: Sequence[Node]) -> tuple[Node, list[Node]]:
        """α of a row, and what vanishes where it depends on the others as found."""
        dag, own, count = self.dag, self.coded.jacobian[name], len(rows)
        if not 0 < count <= MOST_ROWS:
            raise _NotThisKind
        columns = self._largest(rows)
        square = [[row[j] for j in columns] for row in rows]
        size, mine = _determinant(dag, square), [own[j] for j in columns]
        parts = [
            dag.div(_determinant(dag, [mine if m == k else row for m, row in enumerate(square)]), size)
            for k in range(count)
        ]
        second = dag.sum([self.coded.drift[name], *(dag.mul(k, b) for k, b in zip(parts, right, strict=True))])
        still = {dag.input(f"{q}_dot"): dag.zero for q in self.coordinates}  # it does not depend on speeds: the terms
        (second,) = dag.substituted([second], still)  # with them cancel, or else the code disagrees with it
        lacking = [
            dag.sub(own[j], dag.sum(dag.mul(k, row[j]) for k, row in zip(parts, rows, strict=True)))
            for j in range(len(own))
            if j not in columns
        ]
        return second, lacking

    def _largest(self, rows: Rows) -> tuple[int, ...]:
        """The columns with the largest determinant at the state."""
        table = np.array([[float(x.mid()) for x in self._values(row)] for row in rows])
        chosen = list(combinations(range(table.shape[1]), len(rows)))
        sizes = [abs(np.linalg.det(table[:, list(columns)])) for columns in chosen]
        best = int(np.argmax(sizes))
        if not sizes[best] > SINGULAR * np.abs(table).max(initial=0.0) ** len(rows):
            raise _NotThisKind
        return chosen[best]

    def _values(self, nodes: Sequence[Node]) -> list[Any]:
        import flint

        return ball_values(nodes, {name: flint.arb(value) for name, value in self.at.items()})

    # ── deviations ────────────────────────────────────────────────────────────────────────────────

    def _usual(self) -> tuple[dict[str, Node], dict[str, Node]]:
        """The deviations that are known as they are, and the rates of the added states."""
        dag, coded = self.dag, self.coded
        q, v = ([dag.input(name + end) for name in self.coordinates] for end in ("", "_dot"))
        along = {dag.input("t"): dag.one, **dict(zip(q, v, strict=True))}
        psi = dict.fromkeys(coded.psi, dag.zero)
        for chain in coded.chains.values():
            psi[chain[0]] = coded.psi[chain[0]]
            (psi[chain[1]],) = dag.derivatives([coded.psi[chain[0]]], along)
        rates = dict[str, Node]()
        for name, words in self.set.items():
            psi |= {word[4:]: dag.input(word) for word in words}
            for word, after in zip(words, [*words[1:], None], strict=True):
                rates[word] = self._asked(name, psi) if after is None else dag.input(after)
        return psi, {name: rates[name] for name in coded.stated.states}

    def _asked(self, name: str, psi: Mapping[str, Node]) -> Node:
        """The law of a row: −Σ c ψ."""
        dag = self.dag
        pairs = zip(self.coded.gains[name], self.coded.chains[name], strict=True)
        return dag.sum(dag.mul(dag.const(-c), psi[word]) for c, word in pairs)

    def _rate(self, node: Node, rates: Mapping[str, Node]) -> Node:
        """The rate of a function of time, places and added states."""
        dag = self.dag
        if inputs_of([node]) & {f"{name}_dot" for name in self.coordinates}:
            raise _NotThisKind  # its rate needs accelerations before the law asks for them
        along = {dag.input("t"): dag.one}
        along |= {dag.input(name): dag.input(f"{name}_dot") for name in self.coordinates}
        along |= {dag.input(name): rate for name, rate in rates.items()}
        return dag.derivatives([node], along)[0]

    def _chain(self, name: str, second: Node, psi: dict[str, Node], rates: Mapping[str, Node]) -> Node:
        """w₂ = α and its rates, up to the last deviation, which is returned."""
        words = self.coded.chains[name][2:]
        psi[words[0]] = second
        for before, word in pairwise(words):
            psi[word] = self._rate(psi[before], rates)
        return psi[words[-1]]

    def _demanded(
        self, name: str, last: Node, psi: Mapping[str, Node], rates: Mapping[str, Node]
    ) -> tuple[list[Node], Node]:
        """∂ψ/∂v a = law − (∂ψ/∂t + ∂ψ/∂q v + ∂ψ/∂s s')."""
        dag = self.dag
        v = [dag.input(f"{q}_dot") for q in self.coordinates]
        (row,) = dag.partials([last], v)
        along = {dag.input("t"): dag.one}
        along |= {dag.input(q): speed for q, speed in zip(self.coordinates, v, strict=True)}
        along |= {dag.input(word): rate for word, rate in rates.items()}
        (rest,) = dag.derivatives([last], along)
        return row, dag.sub(self._asked(name, psi), rest)


def _determinant(dag: Dag, table: Sequence[Sequence[Node]]) -> Node:
    """Written out along its first row."""
    if len(table) == 1:
        return table[0][0]
    total = dag.zero
    for j, entry in enumerate(table[0]):
        if entry is not dag.zero:
            minor = _determinant(dag, [[*row[:j], *row[j + 1 :]] for row in table[1:]])
            term = dag.mul(entry, minor)
            total = dag.sub(total, term) if j % 2 else dag.add(total, term)
    return total


class ExtendedAgreement:
    """The code against the problem, as for all programs above degree 2; and against the system that is used here."""

    def __init__(self, coded: ChainAgreement, made: ExtendedEquations) -> None:
        self.coded, self.made = coded, made

    def check(self, point: Sequence[float]) -> bool:
        """Refuse where they differ; False where the equations are not defined."""
        import flint

        if not self.coded.check(point):
            return False
        before, flint.ctx.prec = flint.ctx.prec, BITS
        try:
            return self._checked(dict(zip(self.made.inputs, map(flint.arb, map(float, point)), strict=True)))
        except ZeroDivisionError:
            return False
        finally:
            flint.ctx.prec = before

    def _checked(self, values: dict[str, Any]) -> bool:
        made, coded = self.made, self.coded.equations
        names = list(made.psi)
        rows, right = made.rows
        found = ball_values([*(made.psi[name] for name in names), *made.dependent, *made.state_rates.values()], values)
        code = ball_values([coded.psi[name] for name in names], values)
        rates = dict(zip(coded.state_rates, ball_values(list(coded.state_rates.values()), values), strict=True))
        flat = ball_values([node for row, b in zip(rows, right, strict=True) for node in (*row, b)], values)
        if not all(x.is_finite() for x in (*found, *code, *rates.values(), *flat)):
            return False
        noise = 2.0**-60 * max(float(x.abs_upper()) for x in (*found, *code, *rates.values(), *flat))
        own, found = found[: len(names)], found[len(names) :]
        for name, a, b in zip(names, own, code, strict=True):
            _vanishes([a, -b], noise, f"{name} is not the rate that the code gives it")
        for entry in found[: len(made.dependent)]:
            _vanishes([entry], noise, "a row does not depend on the others as it should")
        for name, rate in zip(made.state_rates, found[len(made.dependent) :], strict=True):
            _vanishes([rate, -rates[name]], noise, f"the code moves the state {name} otherwise")
        a, width = [rates[f"{name}_dot"] for name in made.stated.coordinates], len(rows) + 1
        for i in range(len(rows)):
            *row, b = flat[i * width : (i + 1) * width]
            terms = [x * y for x, y in zip(row, a, strict=True)]
            _vanishes([*terms, -b], noise, "the code that is run gives other accelerations than the problem")
        return True


def agreeing(coded: ChainAgreement, made: ExtendedEquations, points: Sequence[Sequence[float]]) -> bool:
    """Whether the system says what the code does at some states: else the code's own rates are used."""
    try:
        return any([ExtendedAgreement(coded, made).check(point) for point in points])
    except Refused:
        return False


def some_states(claims: Claims, inputs: Sequence[str]) -> list[list[float]]:
    """Moments and states of which a certificate speaks, none of them special."""
    shake = np.random.default_rng(5)
    for block in claims.blocks:
        if block.proof is not None and set(block.proof.region) == set(inputs):
            ends = np.array([block.proof.region[name] for name in inputs])
            return shake.uniform(ends[:, 0], ends[:, 1], (STATES, len(ends))).tolist()
        if block.tube_proof is not None and block.tube_proof.tube < len(claims.tubes):
            tube = claims.tubes[block.tube_proof.tube]
            rows = shake.integers(len(tube.spans), size=STATES)
            near = tube.curves[rows, :, 0] + tube.halves[rows] * shake.uniform(-1, 1, tube.halves[rows].shape)
            return np.column_stack([tube.spans[rows, 0], near]).tolist()
    return [[claims.begin, *claims.start]]
