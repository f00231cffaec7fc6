"""Forces that use their own reactions, on a tape of forms: Newton's steps, each a linear system solved by residuals.

    M a − (E + ∂h/∂λ) μ = h(λ_k) − (∂h/∂λ) λ_k − m₂,     J a + D μ = Y − γ,     λ_{k+1} = the μ that h names

is one of Newton's steps on λ = λ₀ + S (h(λ) − h(0)), where the code has eliminated S and λ₀: the same numbers, without
the loss. A step hardly depends on the one before it, and residuals carry that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from holdfast.engine.forms.tape import Recorder, Value
from holdfast.equations.equations import Equations
from holdfast.equations.solving.friction import STEPS
from holdfast.graph.arithmetics.balls import ball, balls
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.derivatives import jacobian
from holdfast.graph.nodes import Node, substitute

Places = dict[tuple[int, int], Value]


@dataclass(frozen=True, eq=False)
class FrictionFlow:
    """Forces with the multipliers among their inputs."""

    inputs: tuple[Node, ...]  # the multipliers
    unknowns: tuple[int, ...]  # where they are among the unknowns of the system
    forces: tuple[Node, ...]  # h − m₂
    slopes: Mapping[tuple[int, int], Node]  # ∂h_i/∂λ_j
    steps: int  # Newton's, of the code

    def solved(self, tape: Recorder, inputs: Sequence[Node], place: Sequence[Value], entries: Places,
               rest: Sequence[Value]) -> list[Value]:  # fmt: skip
        """The forces at the multipliers that the code finds; `rest` is the lower part of the right side."""
        size = len(self.inputs)
        nodes = [*self.forces, *self.slopes.values()]

        def at(multipliers: Sequence[Value]) -> tuple[list[Value], dict[tuple[int, int], Value]]:
            found = tape.graph([*inputs, *self.inputs], [*place, *multipliers], nodes)
            return found[: len(self.forces)], dict(zip(self.slopes, found[len(self.forces) :], strict=True))

        forces, _ = at([Fraction(0)] * size)
        known = self._named(tape.solve(entries, [*forces, *rest]))
        for _ in range(self.steps):
            forces, slopes = at(known)
            bent, right = dict(entries), list(forces)
            for (i, j), slope in slopes.items():
                column = self.unknowns[j]
                bent[i, column] = tape.sub(bent.get((i, column), Fraction(0)), slope)
                right[i] = tape.sub(right[i], tape.mul(slope, known[j]))
            known = self._named(tape.solve(bent, [*right, *rest]))
        return at(known)[0]

    def in_balls(self, inputs: Sequence[Node], point: Sequence[Any], entries: Mapping[tuple[int, int], Any],
                 rest: Sequence[Any]) -> list[Any]:  # fmt: skip
        """The same forces at one state, by elimination in balls."""
        nodes = (*self.forces, *self.slopes.values())
        evaluate = Tape((*inputs, *self.inputs), nodes).compiled(balls())
        known = [ball(0)] * len(self.inputs)
        for k in range(self.steps + 1):
            found = evaluate([*point, *known])
            bent, right = dict(entries), found[: len(self.forces)]
            for (i, j), slope in zip(self.slopes, found[len(self.forces) :], strict=True) if k else ():
                column = self.unknowns[j]
                bent[i, column] = bent.get((i, column), ball(0)) - slope
                right[i] = right[i] - slope * known[j]
            known = [solved_in_balls(bent, [*right, *rest])[m] for m in self.unknowns]
        return evaluate([*point, *known])[: len(self.forces)]

    def _named(self, unknowns: Sequence[int]) -> list[Value]:
        return [unknowns[k] for k in self.unknowns]


def solved_in_balls(entries: Mapping[tuple[int, int], Any], right: Sequence[Any]) -> list[Any]:
    """The solution of a linear system; not finite where the matrix is not shown to be regular."""
    import flint

    size = len(right)
    matrix = flint.arb_mat([[entries.get((i, j), ball(0)) for j in range(size)] for i in range(size)])
    try:
        found = matrix.solve(flint.arb_mat([[x] for x in right]))
    except ZeroDivisionError:
        return [flint.arb("nan")] * size
    return [found[i, 0] for i in range(size)]


def friction_flow(equations: Equations, numbers: Mapping[Node, Node]) -> FrictionFlow | None:
    """Of equations whose forces use their reactions; None for others."""
    friction = equations.friction
    if friction is None:
        return None
    inputs = tuple(friction.multipliers)
    forces = [h - m for h, m in zip(friction.stated.bias, equations.solution.excess_bias, strict=True)]
    rows = jacobian(forces, inputs)
    slopes = {(i, j): node for i, row in enumerate(rows) for j, node in row.items()}
    nodes = substitute([*forces, *slopes.values()], dict(numbers))
    held = list(equations.problem.program.held_by_reaction)
    return FrictionFlow(
        inputs=inputs,
        unknowns=tuple(len(forces) + held.index(name) for name in friction.constraints),
        forces=tuple(nodes[: len(forces)]),
        slopes=dict(zip(slopes, nodes[len(forces) :], strict=True)),
        steps=1 if friction.affine else STEPS,
    )
