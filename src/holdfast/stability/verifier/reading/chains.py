"""Programs above degree 2: chains of rates, taken along the operations that are run.

    ψ₀ = y,   ψ_(k+1) = ∂ψ_k/∂t + Σ ∂ψ_k/∂x · f,        f the rates of the code, as nodes

So each deviation is the rate of the one before it by what it is. What is left to show is shown at states, as for all
code: that the last one changes as the law asks, and that f is a motion of the problem under some reactions and
controls.
States that a controller adds, ``set_w2_NAME``, are the code's own, each shown to be the deviation of its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import comb
from typing import Any

import numpy as np

from holdfast.stability.verifier.numbers.dag import Dag, Node
from holdfast.stability.verifier.numbers.evaluate import ball_values
from holdfast.stability.verifier.reading.code import FUNCTIONS, Code
from holdfast.stability.verifier.reading.equations import Equations, equations_of_motion
from holdfast.stability.verifier.reading.file import Claims
from holdfast.stability.verifier.reading.statement import Statement
from holdfast.stability.verifier.refusal import Refused, Unconfirmed, require

ADDED = "set_w"  # begins the name of a state that a controller adds
BITS = 200
TINY = 2.0**-40  # of the largest term: what a difference that should vanish may leave


def above_usual(claims: Claims) -> bool:
    """Whether a proved block has rates beyond w among its deviations."""
    proved = [block for block in claims.blocks if (block.proof or block.tube_proof or block.ordered) is not None]
    return any(not name.startswith(("y_", "w_")) for block in proved for name in block.names)


class ChainLaw:
    """Gains of a law of any order, by name: c_k of y^(k), with the usual names where the order is the usual one."""

    def __init__(self, stated: Statement, claims: Claims) -> None:
        self.stated = stated
        self.order = {name: len(names) for name, names in _chains(stated, claims).items()}
        self.gains: dict[str, Node] = {}
        self.words: dict[str, list[str]] = {}
        table = dict(stated.law)
        kind = table.get("kind")
        for name, order in self.order.items():
            given = self._coefficients(kind, table, name, order)
            usual = ["stiffness", "damping"] if name in stated.holonomic else ["damping"]
            kinds = usual if order == len(usual) else [f"c{k}" for k in range(order)]
            self.words[name] = [f"law.{word}.{name}" for word in kinds]
            self.gains |= dict(zip(self.words[name], given, strict=True))

    def _coefficients(self, kind: Any, table: Mapping[str, Any], name: str, order: int) -> list[Node]:
        dag = self.stated.dag
        if kind == "critically-damped":
            rate = self.stated.scalar(_of(table["rate"], name), "law.rate")
            return [dag.mul(dag.const(comb(order, k)), dag.power(rate, order - k)) for k in range(order)]
        if kind == "linear":
            given = _of(table["coefficients"], name)
            require(isinstance(given, list) and len(given) == order, f"the law gives {name!r} not {order} coefficients")
            return [self.stated.scalar(value, "law.coefficients") for value in given]
        raise Unconfirmed(f"a law of the kind {str(kind)[:30]!r} above degree 2 cannot be re-checked independently")


def _of(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        require(name in value, f"the law gives no gain for {name!r}")
        return value[name]
    return value


def _chains(stated: Statement, claims: Claims) -> dict[str, list[str]]:
    """The deviations of each constraint in the order of their rates, as the blocks name them."""
    named = {name for block in claims.blocks for name in block.names}
    found = {}
    for constraint in stated.constraints:
        first = [f"y_{constraint}"] if constraint in stated.holonomic else []
        chain = [*first, f"w_{constraint}"]
        while f"w{len(chain) + 1 - len(first)}_{constraint}" in named:
            chain.append(f"w{len(chain) + 1 - len(first)}_{constraint}")
        require(set(chain) <= named, f"the certificate says nothing of {constraint!r}, so its order is not known")
        found[constraint] = chain
    return found


@dataclass(frozen=True, eq=False)
class ChainEquations(Equations):
    """Equations whose motion is the code's own."""

    chains: Mapping[str, Sequence[str]] = field(default_factory=dict)
    gains: Mapping[str, Sequence[Fraction]] = field(default_factory=dict)

    @property
    def solved(self) -> bool:
        return True

    @property
    def chained(self) -> bool:
        return True

    def names_of(self, constraint: str) -> set[str]:
        return set(self.chains[constraint])

    def affine(self, constraints: list[str]) -> bool:
        """Whether y = J q + e(t) with a constant J, and all further rates are states of the code.

        That they are, each at every state, is shown at states: so is w' = J a + γ the first of them, each the rate of
        the one before it, and the rate of the last the law's.
        """
        further = [word for name in constraints for word in self.chains[name][2:]]
        return all(f"set_{word}" in self.stated.states for word in further) and super().affine(constraints)

    def matrix(self, names: list[str]) -> list[list[Fraction]]:
        """H of a block: each deviation's rate is the next one, that of the last is the law's."""
        after = {a: b for chain in self.chains.values() for a, b in pairwise(chain)}
        laws = {chain[-1]: (chain, self.gains[name]) for name, chain in self.chains.items()}
        rows = []
        for name in names:
            if name in after:
                require(after[name] in names, f"the block holds {name} without its rate")
                rows.append([Fraction(other == after[name]) for other in names])
                continue
            chain, gains = laws[name]
            require(set(chain) <= set(names), f"the block holds {name} without what its law uses")
            own = dict(zip(chain, gains, strict=True))
            rows.append([-own.get(other, Fraction(0)) for other in names])
        return rows


def chain_equations(stated: Statement, law: ChainLaw, claims: Claims) -> ChainEquations:
    """The equations of a problem above degree 2 with the doubles of a run, moved by the code."""
    code = claims.code
    assert code is not None
    names, chains = code.inputs[1 : 1 + len(claims.start)], _chains(stated, claims)
    own = stated.state_names
    require(list(names[: len(own)]) == own, "the code is of another state")
    more = names[len(own) :]
    require(all(name.startswith(ADDED) for name in more), "the code has states that the problem has not")
    rates = dict(zip(names, code_nodes(stated.dag, code, claims.parameters), strict=True))
    physics = equations_of_motion(stated, claims.parameters)
    dag = stated.dag
    along = {dag.input("t"): dag.one} | {dag.input(name): rate for name, rate in rates.items()}
    put = {dag.input(name): dag.const(Fraction(value)) for name, value in claims.parameters.items()}
    psi: dict[str, Node] = {}
    for constraint, chain in chains.items():
        base = stated.holonomic.get(constraint, stated.nonholonomic.get(constraint))
        assert base is not None
        (psi[chain[0]],) = dag.substituted([base], put)
        for before, name in pairwise(chain):
            (psi[name],) = dag.derivatives([psi[before]], along)
    gains = {name: [Fraction(claims.parameters[word]) for word in law.words[name]] for name in chains}
    for name in more:
        stated.states[name] = dag.zero  # known to the code alone
    return ChainEquations(**{**physics, "psi": psi, "state_rates": rates}, chains=chains, gains=gains)


def code_nodes(dag: Dag, code: Code, numbers: Mapping[str, float]) -> list[Node]:
    """The rates of the code as nodes, with the doubles of a run for its numbers."""
    known = [dag.const(Fraction(numbers[name])) if name in numbers else dag.input(name) for name in code.inputs]
    for op, *args in code.operations:
        if op == "const":
            known.append(dag.const(args[0]))
        elif op == "pi":
            known.append(dag.node("pi"))
        elif op == "power":
            known.append(dag.power(known[args[0]], args[1]))
        elif op in ("add", "sub", "mul", "div", "neg"):
            known.append(getattr(dag, op)(*(known[k] for k in args)))
        elif op == "pow":
            known.append(dag.raised(known[args[0]], known[args[1]]))
        elif op in FUNCTIONS or op in ("atan2", "min", "max"):
            known.append(dag.call(op, *(known[k] for k in args)))
        else:
            raise Unconfirmed(f"the code has the operation {op!r}, which is not re-checked above degree 2")
    return [known[k] for k in code.rates]


class ChainAgreement:
    """Whether the code moves as the problem and the law ask, at points: the code against what it should satisfy."""

    def __init__(self, made: ChainEquations, code: Code, numbers: Mapping[str, float]) -> None:
        require(set(code.inputs[len(made.inputs) :]) == set(numbers), "the code has other parameters")
        self.equations, dag = made, made.dag
        along = {dag.input("t"): dag.one} | {dag.input(name): rate for name, rate in made.state_rates.items()}
        self._last = {name: dag.derivatives([made.psi[chain[-1]]], along)[0] for name, chain in made.chains.items()}
        put = {dag.input(name): dag.const(Fraction(value)) for name, value in numbers.items()}
        stated = made.stated
        self._own = [name for name in stated.states if not name.startswith(ADDED)]
        none = {dag.input(f"control {name}"): dag.zero for name in stated.controls}
        self._free = dag.substituted([stated.states[name] for name in self._own], put | none)
        ways = [[way.get(name, dag.zero) for name in self._own] for way in stated.controls.values()]
        through = dag.partials([stated.states[name] for name in self._own], list(none))
        held = len(stated.constraints) - len(stated.controls)
        self._columns = [
            [dag.zero] * held + [dag.add(way[i], slope) for way, slope in zip(ways, through[i], strict=True)]
            for i in range(len(self._own))
        ]
        flat = dag.substituted([node for row in self._columns for node in row], put)
        width = len(stated.constraints)
        self._columns = [flat[i * width : (i + 1) * width] for i in range(len(self._own))]

    def check(self, point: Sequence[float]) -> bool:
        """Refuse where they differ; False where the equations are not defined."""
        import flint

        before, flint.ctx.prec = flint.ctx.prec, BITS
        try:
            return self._checked(
                dict(zip(self.equations.inputs, map(flint.arb, map(float, point)), strict=True)), flint
            )
        except ZeroDivisionError:
            return False
        finally:
            flint.ctx.prec = before

    def _checked(self, values: dict[str, Any], flint: Any) -> bool:
        made = self.equations
        coordinates, n = made.stated.coordinates, len(made.stated.coordinates)
        names = list(made.state_rates)
        rates = ball_values(list(made.state_rates.values()), values)
        psi = dict(zip(made.psi, ball_values(list(made.psi.values()), values), strict=True))
        last = dict(zip(self._last, ball_values(list(self._last.values()), values), strict=True))
        if not all(x.is_finite() for x in (*rates, *psi.values(), *last.values())):
            return False
        noise = 2.0**-60 * max(float(x.abs_upper()) for x in (*rates, *psi.values(), *last.values()))
        for k, name in enumerate(coordinates):
            _vanishes([rates[k], -values[f"{name}_dot"]], noise, f"the code moves {name} not by its rate")
        for word, value in psi.items():
            if f"set_{word}" in values:
                _vanishes([value, -values[f"set_{word}"]], noise, f"the code's state set_{word} is not {word}")
        for name, chain in made.chains.items():
            terms = [flint.arb(flint.fmpq(c.numerator, c.denominator)) * psi[word]
                     for c, word in zip(made.gains[name], chain, strict=True)]  # fmt: skip
            _vanishes([last[name], *terms], noise, f"the code that is run does not ask of {name!r} what the law asks")
        return self._physical(values, dict(zip(names, rates, strict=True)), n, noise, flint)

    def _physical(self, values: dict[str, Any], rates: Mapping[str, Any], n: int, noise: float, flint: Any) -> bool:
        """M a − h = E μ and s' − s'(0) = C μ for some μ."""
        made, width = self.equations, len(self.equations.stated.constraints)
        if made.mass is None:
            raise Unconfirmed("cannot be re-checked independently: it needs the equations of variable masses")
        flat = [node for row in (*made.mass, *made.holders, *self._columns) for node in row]
        found = ball_values([*flat, *made.bias, *self._free], values)
        mass = [found[i * n : (i + 1) * n] for i in range(n)]
        rows = [found[n * n + i * width : n * n + (i + 1) * width] for i in range(n + len(self._own))]
        rest = found[len(flat) :]
        a = [rates[f"{name}_dot"] for name in made.stated.coordinates]
        right = [[*(m * x for m, x in zip(row, a, strict=True)), -h] for row, h in zip(mass, rest, strict=False)]
        right += [[rates[name], -own] for name, own in zip(self._own, rest[n:], strict=True)]
        chosen = _independent(np.array([[float(x.mid()) for x in row] for row in rows]))
        if len(chosen) < width:
            return False
        sums = [sum(terms[1:], terms[0]) for terms in right]
        mu = flint.arb_mat([rows[i] for i in chosen]).solve(flint.arb_mat([[sums[i]] for i in chosen]))
        for i, terms in enumerate(right):
            pushed = [-rows[i][k] * mu[k, 0] for k in range(width)]
            _vanishes(
                [*terms, *pushed], noise, "the code that is run moves as no reactions and controls of the problem do"
            )
        return True


def _independent(rows: np.ndarray) -> list[int]:
    """As many rows as there are columns, far from dependent: the largest that is left, one after the other."""
    left, chosen = rows.copy(), list[int]()
    for _ in range(rows.shape[1]):
        sizes = np.linalg.norm(left, axis=1)
        best = int(sizes.argmax())
        if not sizes[best] > 1e-9 * np.abs(rows).max():
            break
        chosen.append(best)
        way = left[best] / sizes[best]
        left = left - np.outer(left @ way, way)
    return chosen


def _vanishes(terms: Sequence[Any], noise: float, otherwise: str) -> None:
    """The sum contains 0, and is tiny beside its largest term, or beside a part of all there is."""
    total = sum(terms[1:], terms[0])
    largest = max(noise, *(float(term.abs_upper()) for term in terms))
    if not (total.contains(0) and float(total.rad()) <= TINY * largest):
        raise Refused(otherwise)
