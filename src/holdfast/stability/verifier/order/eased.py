"""More first integrals than coordinates, kept together: their corrections are eased (docs/theory/1-equations.md, 1.10).

    M a − Jᵀ μ = h,      J a + θ diag(S) μ = Y − γ,      S = J M⁻¹ Jᵀ,      θ = p₀ = 1/10

With more rows than coordinates det S = 0 at every state, so that θ is p₀ throughout. The system is regular; its
multipliers stay unknowns, as everywhere here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from holdfast.stability.verifier.numbers.dag import Node, ordered
from holdfast.stability.verifier.numbers.evaluate import ball_values
from holdfast.stability.verifier.reading.code import Code
from holdfast.stability.verifier.reading.equations import KINKS, Equations
from holdfast.stability.verifier.reading.statement import reactions_in
from holdfast.stability.verifier.refusal import Unconfirmed, require
from holdfast.stability.verifier.steps.rounding import BITS, Agreement, _vanishes
from holdfast.stability.verifier.steps.unknowns import System, _saddle

SOFTNESS = Fraction(1, 10)  # p₀
LOOKS = 8  # states at which rows are seen to be first integrals
REPEATED = "constraints that repeat each other are met in passes, which it does not list: certify again"


@dataclass(frozen=True, eq=False)
class EasedEquations(Equations):
    """Equations whose rows yield: θ diag S beside the multipliers."""

    own_rows: tuple[list[list[Node]], list[Node]] = field(default_factory=lambda: ([], []))

    @property
    def rows(self) -> tuple[list[list[Node]], list[Node]]:
        return self.own_rows


def yields(made: Equations) -> bool:
    """Whether there are more rows than accelerations to meet them."""
    return len(made.stated.constraints) > len(made.stated.coordinates)


def eased(made: Equations, begin: float, start: Sequence[float]) -> EasedEquations:
    """The same equations, eased; `Unconfirmed` where the rows are no first integrals, or masses not as simple."""
    dag, stated = made.dag, made.stated
    n, names = len(stated.coordinates), stated.constraints
    if stated.holonomic or stated.controls:
        raise Unconfirmed(REPEATED)
    if made.mass is None or any(made.mass[i][j] is not dag.zero for i in range(n) for j in range(n) if i != j):
        raise Unconfirmed("first integrals of coordinates that share inertia are not re-checked")
    if reactions_in(made.bias):
        raise Unconfirmed("forces use the reactions of first integrals that yield, which is not re-checked")
    if not _are_integrals(made, begin, start):
        raise Unconfirmed(REPEATED)
    matrix, right = _saddle(made)
    for k, name in enumerate(names):
        squares = (dag.div(dag.power(made.jacobian[name][i], 2), made.mass[i][i]) for i in range(n))
        matrix[n + k][n + k] = dag.mul(dag.const(SOFTNESS), dag.sum(squares))
    given = {key: getattr(made, key) for key in made.__dataclass_fields__}
    return EasedEquations(**given, own_rows=(matrix, right))


def _are_integrals(made: Equations, begin: float, start: Sequence[float]) -> bool:
    """Whether J a₀ + γ = 0 with M a₀ = h: at states about the start, where nothing in it branches."""
    import flint

    dag, n = made.dag, len(made.stated.coordinates)
    assert made.mass is not None
    free = [dag.div(made.bias[i], made.mass[i][i]) for i in range(n)]
    rows = []
    for name in made.stated.constraints:
        rows.append([made.drift[name], *(dag.mul(a, b) for a, b in zip(made.jacobian[name], free, strict=True))])
    if any(node.op in KINKS for node in ordered([node for row in rows for node in row])):
        return False
    shake, at = np.random.default_rng(23), np.array([begin, *start])
    before, flint.ctx.prec = flint.ctx.prec, BITS
    try:
        for _ in range(LOOKS):
            point = at + np.where(at != 0, np.abs(at), 1.0) * shake.uniform(-0.5, 0.5, len(at))
            values = dict(zip(made.inputs, map(flint.arb, point.tolist()), strict=True))
            for row in rows:
                terms = ball_values(row, values)
                total, largest = sum(terms[1:], terms[0]), max(float(x.abs_upper()) for x in terms)
                if not (total.contains(0) and float(total.rad()) <= 2.0**-100 * largest):
                    return False
    finally:
        flint.ctx.prec = before
    return True


class EasedAgreement(Agreement):
    """Whether the code computes the accelerations of the eased system, at states."""

    def __init__(self, equations: EasedEquations, code: Code, numbers: Mapping[str, float]) -> None:
        super().__init__(equations, code, numbers)
        self.system = System(equations)

    def _checked(self, point: list[Any], flint: Any) -> bool:
        equations, system = self.equations, self.system
        n, width = system.count, len(system.matrix)
        values = dict(zip(equations.inputs, point, strict=True))
        rates = self.code.balls(values | {name: flint.arb(value) for name, value in self.numbers.items()})
        found = ball_values([node for row in system.matrix for node in row] + system.right, values)
        if not all(x.is_finite() for x in (*rates, *found)):
            return False
        noise = 2.0**-60 * max(float(x.abs_upper()) for x in (*found, *rates, *point))
        for k, name in enumerate(equations.stated.coordinates):
            _vanishes([rates[k], -values[f"{name}_dot"]], noise, f"the code moves {name} not by its rate")
        rows = [found[i * width : (i + 1) * width] for i in range(width)]
        solution = flint.arb_mat(rows).solve(flint.arb_mat([[b] for b in found[width * width :]]))
        for k, name in enumerate(equations.stated.coordinates):
            why = f"the code that is run gives {name} another acceleration than the problem"
            _vanishes([rates[n + k], -solution[k, 0]], noise, why)
        self._states(values, rates[2 * n :], noise)
        return True


def yielding(
    made: Equations, code: Code, numbers: Mapping[str, float], begin: float, start: Sequence[float]
) -> tuple[EasedEquations, EasedAgreement]:
    """Equations and agreement of a problem with more rows than accelerations."""
    require(len(start) == len(made.inputs) - 1, "the start is not a state of the problem")
    found = eased(made, begin, start)
    return found, EasedAgreement(found, code, numbers)
