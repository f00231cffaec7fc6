"""Forces that use the reactions they come with: friction in a held joint.

    M a = h(λ) − m₂ + E μ,      J a + γ = Y,      λ the multipliers among μ that h names

For given h this is linear, so that with S, what a unit force on each coordinate does to λ, and λ₀ without friction

    λ = λ₀ + S (h(λ) − h(0))

is all that has to be solved: k equations for the k multipliers that are named. Where h is affine in λ, once and
exactly; elsewhere by a fixed number of Newton's steps from λ₀, whose residual every step of a run looks at. The program
itself is held whatever λ is: friction can be wrong, never the constraint.

The reaction is *determined* where a change of it comes back smaller than it was: I − |C| has positive leading minors
(it is then an M-matrix, and λ ↦ λ₀ + S h(λ) has one fixed point), with C = S ∂h/∂λ at the reaction and far from it; for
an affine h, where I − C has. Where that ends, there are several reactions or none (Painlevé 1895), and so ends a run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from holdfast.equations.dynamics.inputs import Inputs
from holdfast.equations.dynamics.lagrange import Dynamics
from holdfast.equations.dynamics.sample import Sample
from holdfast.equations.solving.repeats import listed
from holdfast.equations.solving.solution import Solution
from holdfast.errors import BadStatement, InternalError, SingularSystem
from holdfast.graph.arithmetics.balls import BRANCHES, JUMPING
from holdfast.graph.derivatives import jacobian
from holdfast.graph.general_solver import abs_node, size_of_terms
from holdfast.graph.linear_algebra import Pivot, Rows
from holdfast.graph.nodes import Graph, Node, ancestors, substitute
from holdfast.problem.problem import Problem

STEPS = 8  # Newton's: what a smoothed |λ| takes at worst where 0.99 of a change comes back; 4 where 0.3 does
SOLVED = Fraction(1, 10**9)  # of the reaction: the residual that may be left, as of every refined solution
CONSISTENT = 1e-6  # of the largest reaction: beyond rounding and residual, at any state that is determined
FAR = Fraction(10) ** 30  # a reaction far beyond any that occurs: there a smoothed |λ| has the slope of |λ|
NOTHING = Fraction(1, 10**280)  # beside which a reaction that is exactly 0 is solved


@dataclass(frozen=True, eq=False)
class Friction:
    """Forces solved with their own reactions: `stated` still has the multipliers as inputs, `dynamics` no longer."""

    constraints: tuple[str, ...]  # whose multipliers the forces use
    stated: Dynamics
    dynamics: Dynamics
    multipliers: dict[Node, Node]  # of each input, the value found
    residual: tuple[Node, ...]  # of λ = λ₀ + S (h(λ) − h(0))
    answer: Rows  # |C|, or C where the forces are affine in λ: what comes back of a change of each multiplier
    affine: bool
    pivots: tuple[Pivot, ...]  # of I − answer, then for each multiplier what is left of the residual allowed; 0 if lost

    def solved(self, nodes: Sequence[Node]) -> list[Node]:
        """Nodes with the multipliers found in the place of their inputs."""
        return list(substitute(list(nodes), self.multipliers))

    @property
    def note(self) -> str:
        """How the forces were found, in one sentence."""
        names = [f"lambda_{name}" for name in self.constraints]
        how = "by one linear solve" if self.affine else f"by {STEPS} of Newton's steps, whose residual each step checks"
        return f"The forces use {', '.join(names)}: both are found together, {how}."

    def require_consistent(self, places: Sequence[int], mu: Sequence[Node], samples: Sequence[Sample]) -> None:
        """Raise an `InternalError` where the reactions of the whole system are not those that friction was given."""
        count, found = len(places), list(self.multipliers.values())
        watched = [node for pivot in self.pivots for node in (pivot.value, pivot.scale)]
        for sample in samples:
            numbers = sample.of([*found, *(mu[k] for k in places), *watched])
            given, held, rest = numbers[:count], numbers[count : 2 * count], numbers[2 * count :]
            if not all(math.isfinite(x) for x in numbers) or not min(rest[::2]) > 0:
                continue  # not determined there, which a run will say
            size = max(map(abs, (*given, *held)))
            if max(abs(x - y) for x, y in zip(given, held, strict=True)) > CONSISTENT * size:
                raise InternalError("friction does not use the reactions that the motion has", where="derive")


def refuse_beside(problem: Problem, inputs: Inputs, *, above: bool) -> None:
    """Refuse friction beside what it is not known with; `above`: controls act through higher derivatives."""
    if not inputs.multipliers:
        return
    program, name = problem.program, next(iter(inputs.multipliers))
    beside = (
        (program.limits, "limits", "controls with limits", "leave the limits out"),
        (program.model, "model", "a controller with a model of its own", "leave the model out"),
        (program.sampling, "sampling", "a controller that measures and waits", "leave the sampling out"),
        (program.shares_effort, "controls", "more controls than programs", "give one control for each program"),
        (above, "controls", "controls that act through higher derivatives", "hold functions that they move at once"),
        (program.redundant == "allow", "redundant", "constraints that may repeat each other", "remove the repeats"),
        (program.keep, "keep", "first integrals that are kept", "leave them out: friction keeps none"),
        (problem.law_form.excess, "law", "a law of excess energies", "state the law by its gains"),
        (problem.system.masses, "masses", "points of variable mass", "state their energies in kinetic"),
    )
    for found, where, what, fix in beside:
        if found:
            place = f"system.{where}" if where == "masses" else f"program.{where}"
            raise BadStatement(f"forces use {name!r}, and {what} stand beside it", where=place, fix=fix)


def friction_of(problem: Problem, inputs: Inputs, dynamics: Dynamics, solution: Solution) -> Friction | None:
    """The forces with the reactions they use, or nothing where they use none."""
    if not inputs.multipliers:
        return None
    held = [f"lambda_{name}" for name in problem.program.held_by_reaction]
    unknown = {name: node for name, node in inputs.multipliers.items() if node in set(ancestors(dynamics.bias))}
    if not unknown:
        return None
    if solution.solver.form in ("redundant", "eased"):
        raise BadStatement(
            f"forces use {', '.join(unknown)}, and constraints that repeat each other leave no multiplier determined",
            where="system.forces",
            fix="remove the repeats",
        )
    _refuse_jumps(dynamics, unknown)
    return _Equation(inputs.graph, dynamics, solution, unknown, [held.index(name) for name in unknown]).friction()


def _refuse_jumps(dynamics: Dynamics, unknown: dict[str, Node]) -> None:
    """A force that jumps with its own reaction has no reaction to go with at the jump."""
    beneath, branches = {node: name for name, node in unknown.items()}, JUMPING
    for node in ancestors(dynamics.bias):
        below = next((beneath[arg] for arg in node.args if arg in beneath), None)
        if below is None:
            continue
        if node.op in branches:
            raise BadStatement(
                f"a force jumps where {below} changes its sign or its case",
                where="system.forces",
                fix=f"write a smooth one, such as sqrt({below}**2 + e**2) or abs({below})",
            )
        beneath[node] = below


@dataclass(frozen=True, eq=False)
class _Equation:
    """λ = λ₀ + S (h(λ) − h(0)) on the graph."""

    graph: Graph
    dynamics: Dynamics
    solution: Solution
    unknown: dict[str, Node]
    places: list[int]  # of the multipliers among μ

    def friction(self) -> Friction:
        graph, inputs = self.graph, list(self.unknown.values())
        bent = _bends(self.dynamics.bias, inputs)
        pushed = [i for i, row in enumerate(jacobian(self.dynamics.bias, inputs)) if row]
        pushed = sorted({*pushed, *(i for i, node in enumerate(self.dynamics.bias) if _uses(node, inputs))})
        none = dict.fromkeys(inputs, graph.zero)
        h0 = substitute(list(self.dynamics.bias), none)
        _, mu = replace(self.solution, bias=tuple(h0)).solved
        first = [mu[k] for k in self.places]
        gain = self._gain(pushed)
        forces = [self.dynamics.bias[i] for i in pushed]
        slopes = jacobian(forces, inputs)
        if bent:
            found = first
            for _ in range(STEPS):
                found = self._newton(found, first, gain, forces, slopes, [h0[i] for i in pushed])
        else:
            found = _solved(_without(self._answer(gain, slopes), graph), first, graph)[0]
        at = dict(zip(inputs, found, strict=True))
        residual = self._residual(found, first, gain, substitute(forces, at), [h0[i] for i in pushed])
        answer = self._largest_answer(gain, slopes, at) if bent else self._answer(gain, slopes)
        strength = _solved(_without(answer, graph), first, graph)[1]
        watched = (*strength, *self._solved_pivots(found, first, residual))
        pivots = tuple(Pivot(graph.call("max", p.value, graph.zero), p.scale) for p in watched)  # lost where negative
        return Friction(
            constraints=tuple(name.removeprefix("lambda_") for name in self.unknown),
            stated=self.dynamics,
            dynamics=_substituted(self.dynamics, at),
            multipliers=at,
            residual=tuple(residual),
            answer=answer,
            affine=not bent,
            pivots=pivots,
        )

    def _gain(self, pushed: Sequence[int]) -> list[list[Node]]:
        """S: what a unit force on each coordinate of `pushed` does to the multipliers, one row for each of these."""
        graph, n, r = self.graph, len(self.dynamics.bias), len(self.solution.demand)
        columns = []
        for i in pushed:
            unit = [graph.one if k == i else graph.zero for k in range(n)]
            _, mu = self.solution.solver(unit, [graph.zero] * r)
            columns.append([mu[k] for k in self.places])
        return [list(row) for row in zip(*columns, strict=True)]

    def _answer(self, gain: list[list[Node]], slopes: Rows) -> Rows:
        """C = S ∂h/∂λ."""
        graph, k = self.graph, len(self.unknown)
        return [
            {j: graph.sum(row[i] * slopes[i][j] for i in range(len(slopes)) if j in slopes[i]) for j in range(k)}
            for row in gain
        ]

    def _largest_answer(self, gain: list[list[Node]], slopes: Rows, at: dict[Node, Node]) -> Rows:
        """|C| at the reaction, and far from it either way, whichever is most."""
        graph, inputs = self.graph, list(self.unknown.values())
        found: Rows = [{} for _ in gain]
        for j, moved in enumerate(inputs):
            column = [{0: row[j]} if j in row else {} for row in slopes]
            nodes = [row[0] for row in column if row]
            none = dict.fromkeys(inputs, graph.zero)
            for place in (at, none | {moved: graph.const(FAR)}, none | {moved: graph.const(-FAR)}):
                values = iter(substitute(nodes, place))
                there: Rows = [{0: next(values)} if row else {} for row in column]
                for i, row in enumerate(gain):
                    size = abs_node(graph.sum(g * there[m][0] for m, g in enumerate(row) if there[m]))
                    found[i][j] = graph.call("max", found[i][j], size) if j in found[i] else size
        return found

    def _newton(
        self, now: list[Node], first: list[Node], gain: list[list[Node]], forces: list[Node], slopes: Rows,
        without: list[Node],
    ) -> list[Node]:  # fmt: skip
        """One of Newton's steps on λ − λ₀ − S (h(λ) − h(0)) = 0."""
        at = dict(zip(self.unknown.values(), now, strict=True))
        flat = iter(substitute([node for row in slopes for node in row.values()], at))
        here: Rows = [{j: next(flat) for j in row} for row in slopes]
        off = self._residual(now, first, gain, substitute(forces, at), without)
        change, _ = _solved(_without(self._answer(gain, here), self.graph), off, self.graph)
        return [x - d for x, d in zip(now, change, strict=True)]

    def _residual(
        self, found: Sequence[Node], first: Sequence[Node], gain: list[list[Node]], forces: Sequence[Node],
        without: Sequence[Node],
    ) -> list[Node]:  # fmt: skip
        more = [h - h0 for h, h0 in zip(forces, without, strict=True)]
        return [
            x - x0 - self.graph.sum(g * h for g, h in zip(row, more, strict=True))
            for x, x0, row in zip(found, first, gain, strict=True)
        ]

    def _solved_pivots(self, found: list[Node], first: list[Node], residual: list[Node]) -> list[Pivot]:
        """What is left of the residual that each multiplier may have: positive while the equation is solved."""
        graph, size = self.graph, self.graph.const(NOTHING)
        for x, x0 in zip(found, first, strict=True):
            size = size + abs_node(x) + abs_node(x0)
        allowed = graph.const(SOLVED) * size
        return [Pivot(allowed - abs_node(r), allowed) for r in residual]


def why_not_determined(constraints: Sequence[str], answer: np.ndarray, share: np.ndarray, state: str) -> SingularSystem:
    """The error that says why friction and its reactions do not determine each other at a state."""
    return SingularSystem(
        f"friction does not determine {listed([f'lambda_{name}' for name in constraints])} at {state}: "
        + friction_words(constraints, answer, share),
        where="system.forces",
        fix="less friction, another direction of motion, or an elastic joint in the place of the constraint",
    )


def friction_words(constraints: Sequence[str], answer: np.ndarray, share: np.ndarray) -> str:
    """What is wrong with friction whose `answer` is |C|; `share` is what is left of each residual allowed."""
    if answer.size and np.isfinite(answer).all():
        values, vectors = np.linalg.eig(answer)
        worst = int(values.real.argmax())
        if values[worst].real >= 1:
            who = constraints[int(np.abs(vectors[:, worst]).argmax())]
            return (
                f"it answers a change of the reaction of {who!r} with {values[worst].real:.3g} of that change, and "
                "from 1 on there are several reactions or none (Painlevé)"
            )
    if share.size and not share.min() > 0:
        return f"the reaction of {constraints[int(share.argmin())]!r} was not found by Newton's steps"
    return "a change of the reactions comes back as large as it was (Painlevé)"


def _bends(forces: Sequence[Node], inputs: Sequence[Node]) -> bool:
    """Whether forces are not affine in the multipliers."""
    wanted, beneath = set(inputs), set(inputs)
    for node in ancestors(forces):
        if any(arg in beneath for arg in node.args):
            if node.op in BRANCHES:
                return True
            beneath.add(node)
    slopes = [node for row in jacobian(forces, inputs) for node in row.values()]
    return any(node in wanted for node in ancestors(slopes))


def _uses(node: Node, inputs: Sequence[Node]) -> bool:
    return any(found in set(inputs) for found in ancestors((node,)))


def _without(answer: Rows, graph: Graph) -> Rows:
    """I − C."""
    return [{j: (graph.one if i == j else graph.zero) - c for j, c in row.items()} for i, row in enumerate(answer)]


def _solved(matrix: Rows, right: Sequence[Node], graph: Graph) -> tuple[list[Node], list[Pivot]]:
    """Gauss's elimination in the given order, with its pivots: all positive exactly where the leading minors are."""
    rows, b, pivots = [dict(row) for row in matrix], list(right), list[Pivot]()
    for i, row in enumerate(rows):
        pivots.append(Pivot(row[i], size_of_terms(row[i])))
        inverse = graph.one / row[i]
        for below in range(i + 1, len(rows)):
            factor = rows[below][i] * inverse
            for j in range(i + 1, len(rows)):
                rows[below][j] = rows[below][j] - factor * row[j]
            b[below] = b[below] - factor * b[i]
    x = list(b)
    for i in reversed(range(len(rows))):
        known = graph.sum(rows[i][j] * x[j] for j in range(i + 1, len(rows)))
        x[i] = (b[i] - known) / rows[i][i]
    return x, pivots


def _substituted(dynamics: Dynamics, found: dict[Node, Node]) -> Dynamics:
    """The dynamics with the multipliers found."""
    groups = (dynamics.forces, dynamics.resistance, dynamics.bias)
    flat = iter(substitute([dynamics.dissipation, *(node for group in groups for node in group)], found))
    dissipation = next(flat)
    forces, resistance, bias = (tuple(next(flat) for _ in group) for group in groups)
    return replace(dynamics, dissipation=dissipation, forces=forces, resistance=resistance, bias=bias)
