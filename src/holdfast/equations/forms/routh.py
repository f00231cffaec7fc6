"""`hf.routh`: cyclic coordinates left out, their momenta constants.

    p_c = ∂T/∂v_c = const,     Routhian  R(q, v, t; p_c) = T − P − p_c·v_c
    d/dt ∂R/∂v − ∂R/∂q = Q − ∂D/∂v + E μ

in the other coordinates, with v_c solved from p_c. For T = ½ vᵀMv + b·v + T₀ the Routhian is R₂ + R₁ − V:

    R₂ + R₁ = ½ vᵀ(M − M_c M_cc⁻¹ M_cᵀ) v + (b + M_c M_cc⁻¹ (p_c − b_c))·v
    V = P − T₀ + ½ (p_c − b_c)ᵀ M_cc⁻¹ (p_c − b_c)          the effective potential

That is a system like any other, with fewer coordinates: it is stated as such, the momenta as parameters and the cyclic
coordinates as first-order states, so that a run still shows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy as sp

from holdfast.common.arguments import clear_arguments
from holdfast.common.frozen import Frozen
from holdfast.equations.derive import derive
from holdfast.equations.equations import Equations
from holdfast.equations.forms.cyclic import chosen_cyclic, require_reducible, why_not_cyclic
from holdfast.equations.quasi.simplified import shortest, simplified
from holdfast.equations.values import parameter_vector, state_vector
from holdfast.equations.writing.text import formula, text
from holdfast.errors import BadRequest, BadStatement
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.derivatives import jacobian
from holdfast.graph.general_solver import abs_node
from holdfast.graph.nodes import Node, ancestors, substitute
from holdfast.problem.problem import Problem
from holdfast.problem.program import Program
from holdfast.problem.quantities import Coordinate, Parameter, latex_name
from holdfast.problem.system import System
from holdfast.problem.types import Key
from holdfast.problem.vocabulary import by_name

FEW = 3  # coordinates whose reasons are listed
ON_PROGRAM = 1e-9  # of the terms of a constraint: what is left of them at a start that keeps it


@dataclass(frozen=True, eq=False)
class Routh:
    """The reduced system: `problem` states it, `equations` are its equations, run like any others."""

    whole: Equations
    cyclic: tuple[str, ...]
    momenta: dict[str, sp.Expr]  # p_c in the coordinates and rates of the whole system, by name
    rates: dict[str, sp.Expr]  # v_c in the rest and p_c, by coordinate
    kinetic: sp.Expr  # R₂ + R₁
    effective_potential: sp.Expr
    problem: Problem

    def __repr__(self) -> str:
        rest = ", ".join(c.name for c in self.problem.system.coordinates)
        return f"<Routh's equations of {rest}, cyclic: {', '.join(self.cyclic)}; summary() writes them out>"

    @property
    def routhian(self) -> sp.Expr:
        """R = R₂ + R₁ − V."""
        return self.kinetic - self.effective_potential

    @cached_property
    def equations(self) -> Equations:
        """The equations of the coordinates that are left; the momenta are parameters, cyclic coordinates states."""
        return derive(self.problem, second_order=self.whole.second_order)

    def summary(self) -> str:
        """Momenta, Routhian, effective potential and the reduced equations as text."""
        lines = ["Constant momenta", *(f"  {name} = {text(value)}" for name, value in self.momenta.items()), ""]
        lines += ["Routhian", f"  {text(self.routhian)}", ""]
        lines += ["Effective potential", f"  {text(self.effective_potential)}", ""]
        return "\n".join(lines) + "\n" + self.equations.summary()

    def latex(self) -> str:
        """The same as LaTeX."""
        parts = [f"{latex_name(name)} = {formula(value)}" for name, value in self.momenta.items()]
        parts += [f"R = {formula(self.routhian)}", f"V = {formula(self.effective_potential)}"]
        return "\n".join(f"\\[ {part} \\]" for part in parts) + "\n" + self.equations.latex()

    def to_dict(self) -> dict[str, Any]:
        """The form as plain data, formulas as text."""
        return {
            "schema": 1,
            "cyclic": list(self.cyclic),
            "momenta": {name: str(value) for name, value in self.momenta.items()},
            "routhian": str(self.routhian),
            "effective_potential": str(self.effective_potential),
            "equations": self.equations.to_dict(),
        }


@clear_arguments
def routh(given: System | Problem | Equations, cyclic: Iterable[Key] | Key | None = None) -> Routh:
    """Routh's form: the cyclic coordinates of a system found and left out, or those named in `cyclic` alone.

    A coordinate is cyclic where nothing depends on it and no force, resistance or holder acts along it. Momenta have
    the values of the start, and are parameters (``p_phi``) that a run may change.
    """
    whole = _derived(given)
    require_reducible(whole)
    whole.require_unlimited("routh")
    whole.require_given_forces("routh")
    found = tuple(name for i, name in enumerate(whole.coordinates) if not why_not_cyclic(whole, i))
    chosen = found if cyclic is None else chosen_cyclic(whole, cyclic)
    if not chosen:
        listed = [f"of {name!r}, {why_not_cyclic(whole, i)}" for i, name in enumerate(whole.coordinates[:FEW])]
        raise BadStatement(f"no coordinate is cyclic: {'; '.join(listed)}", where="system", fix="use hf.derive")
    if len(chosen) == len(whole.coordinates):
        raise BadStatement(
            "all coordinates are cyclic: every momentum is constant, and no equation is left",
            where="system",
            fix="name some of them: hf.routh(system, cyclic=...)",
        )
    return _Reduction(whole, chosen).form()


def _derived(given: Any) -> Equations:
    if isinstance(given, System):
        given = Problem(given)
    if isinstance(given, Problem):
        return derive(given)
    if isinstance(given, Equations):
        return given
    raise BadRequest(f"routh() takes a System, a Problem or Equations, not {type(given).__name__}")


@dataclass(frozen=True, eq=False)
class _Reduction:
    """The algebra of one reduction."""

    whole: Equations
    cyclic: tuple[str, ...]

    @cached_property
    def _places(self) -> list[int]:
        return [self.whole.coordinates.index(name) for name in self.cyclic]

    @cached_property
    def _rest(self) -> list[int]:
        return [i for i in range(len(self.whole.coordinates)) if i not in self._places]

    def _expressions(self, nodes: Sequence[Node]) -> list[sp.Expr]:
        """Nodes as formulas without the cyclic coordinates, which they do not depend on."""
        inputs, display = self.whole.inputs, self.whole.display
        at = {inputs.q[i]: inputs.graph.zero for i in self._places}
        found = []
        for node, free in zip(nodes, substitute(list(nodes), at), strict=True):
            if not display.same(free, node):
                raise BadStatement(
                    f"a formula is not defined where {', '.join(self.cyclic)} is 0", where="routh", fix="use hf.derive"
                )
            found.append(display.raw(simplified(free, display)))
        return found

    @cached_property
    def _momenta(self) -> list[Parameter]:
        taken = {*self.whole.problem.names.names, *self.whole.parameter_names}
        names = [f"p_{c}" if f"p_{c}" not in taken else f"momentum_{c}" for c in self.cyclic]
        return [Parameter(name) for name in names]

    @cached_property
    def _quadratic(self) -> tuple[sp.Matrix, sp.Matrix, sp.Expr]:
        """M, b and T₀ of the kinetic energy."""
        inputs, zero = self.whole.inputs, self.whole.inputs.graph.zero
        n = len(inputs.v)
        at_rest = {v: zero for v in inputs.v}
        momenta = list(self.whole.dynamics.momenta)
        mass = jacobian(momenta, inputs.v)
        entries = self._expressions([mass[i].get(j, zero) for i in range(n) for j in range(n)])
        level, *linear = self._expressions(substitute([self.whole.dynamics.kinetic, *momenta], at_rest))
        return sp.Matrix(n, n, entries), sp.Matrix(linear), level

    def form(self) -> Routh:
        M, b, level = self._quadratic
        rest, places = self._rest, self._places
        v = sp.Matrix([self.whole.problem.system.coordinates[i].rate for i in rest])
        own, cross = M.extract(places, places), M.extract(places, rest)
        inverse = own.inv().applyfunc(shortest)
        lacking = sp.Matrix(self._momenta) - b.extract(places, [0])
        rates = (inverse * (lacking - cross * v)).applyfunc(shortest)
        matrix = (M.extract(rest, rest) - cross.T * inverse * cross).applyfunc(shortest)
        gyroscopic = (b.extract(rest, [0]) + cross.T * inverse * lacking).applyfunc(shortest)
        kinetic = (v.T * matrix * v)[0] / 2 + (gyroscopic.T * v)[0]
        (potential,) = self._expressions([self.whole.dynamics.potential])
        effective = potential - level + sp.Add(*(part**2 / (2 * mass) for part, mass in _squares(own, lacking)))
        momenta = dict(zip((p.name for p in self._momenta), self._whole_momenta(), strict=True))
        by_coordinate = dict(zip(self.cyclic, rates, strict=True))
        return Routh(
            self.whole, self.cyclic, momenta, by_coordinate, kinetic, effective,
            self._problem(kinetic, effective, by_coordinate),
        )  # fmt: skip

    def _whole_momenta(self) -> list[sp.Expr]:
        nodes = [self.whole.dynamics.momenta[i] for i in self._places]
        return self._expressions(nodes)

    def _problem(self, kinetic: sp.Expr, effective: sp.Expr, rates: Mapping[str, sp.Expr]) -> Problem:
        problem, dynamics = self.whole.problem, self.whole.dynamics
        system = problem.system
        coordinates = [system.coordinates[i] for i in self._rest]
        known = {Coordinate(name).rate: rate for name, rate in rates.items()}
        forces = [e.subs(known) for e in self._expressions([dynamics.forces[i] for i in self._rest])]
        (dissipation,) = self._expressions([dynamics.dissipation])
        states = [e.subs(known) for e in self._expressions(self.whole.inputs.state_rates)]
        values = self._momentum_values()
        reduced = System(
            coordinates=tuple(coordinates),
            kinetic=kinetic,
            potential=effective,
            dissipation=dissipation.subs(known),
            forces=Frozen({c.name: f for c, f in zip(coordinates, forces, strict=True) if f != 0}),
            parameters=Frozen({**system.parameters, **values}),
            states=Frozen({**rates, **dict(zip(system.states, states, strict=True))}),
            points=Frozen({name: at for name, at in system.points.items() if self._speaks_plainly(at)}),
            functions=system.functions,
        )
        gone = {Coordinate(name).rate.name for name in self.cyclic}
        start = {name: value for name, value in problem.start.items() if name not in gone}
        return Problem(reduced, self._program(known), start=Frozen(start), run=problem.run, title=problem.title)

    def _speaks_plainly(self, point: tuple[sp.Expr, ...]) -> bool:
        return not any(s.name in self.whole.problem.system.definitions for e in point for s in e.free_symbols)

    def _program(self, known: Mapping[sp.Expr, sp.Expr]) -> Program:
        program, deviations = self.whole.problem.program, self.whole.deviations
        m = len(deviations.y)
        holonomic = dict(zip(program.holonomic, self._expressions(deviations.y), strict=True))
        rates = [e.subs(known) for e in self._expressions(deviations.w[m:])]
        walk = self.whole.inputs.walk
        controls = {
            name: {c: self._expressions([walk(e)])[0].subs(known) for c, e in by_name(direction, where=name).items()}
            for name, direction in program.controls.items()
        }
        return Program(
            holonomic=Frozen(holonomic),
            nonholonomic=Frozen(dict(zip(program.nonholonomic, rates, strict=True))),
            controls=Frozen(controls),  # type: ignore[arg-type]
            reactions=program.reactions,
            law=program.law,
            redundant=program.redundant,
        )

    def _momentum_values(self) -> dict[str, sp.Expr]:
        """The momenta at the start; letters where the start has some."""
        whole = self.whole
        if whole.letters:
            return {}
        constants = parameter_vector(whole, {})
        state = state_vector(whole, None, dict(zip(whole.parameter_names, constants, strict=True)))
        nodes = tuple(whole.dynamics.momenta[i] for i in self._places)
        inputs = [whole.problem.run.begin, *state, *constants]
        deviations = [*whole.deviations.y, *whole.deviations.w]
        sizes = [_size(node) for node in deviations]
        numbers = Tape(whole.field.inputs, (*nodes, *deviations, *sizes))(inputs)
        off = numbers[len(nodes) : len(nodes) + len(sizes)], numbers[len(nodes) + len(sizes) :]
        kept = whole.problem.program.controls or whole.problem.run.start_policy == "keep"
        if not kept and any(not abs(d) <= ON_PROGRAM * size for d, size in zip(*off, strict=True)):
            raise BadStatement(
                "the start is not on the program, so that the momenta of the motion are not known yet",
                where="start",
                fix="give all start values, rates too, so that they keep the program",
            )
        return {p.name: sp.Rational(repr(float(x))) for p, x in zip(self._momenta, numbers, strict=False)}


def _size(node: Node) -> Node:
    """What a node would be if nothing in its sums and products cancelled: what its rounding is measured by."""
    sizes: dict[int, Node] = {}
    for part in ancestors((node,)):
        args = [sizes[arg.index] for arg in part.args]
        if part.op in ("add", "sub"):
            sizes[part.index] = args[0] + args[1]
        elif part.op == "mul":
            sizes[part.index] = args[0] * args[1]
        else:
            sizes[part.index] = args[0] if part.op == "neg" else abs_node(part)
    return sizes[node.index]


def _squares(matrix: sp.Matrix, vector: sp.Matrix) -> list[tuple[sp.Expr, sp.Expr]]:
    """vᵀ A⁻¹ v = Σ eᵢ²/dᵢ by elimination, the shortest pivot first: (p_ψ − p_φ cos θ)²/(A sin² θ) + p_φ²/C of a top."""
    left, parts, found = matrix.copy(), list(vector), []
    waiting = set(range(len(parts)))
    while waiting:
        i = min(waiting, key=lambda k: (sp.count_ops(left[k, k]), k))
        waiting.discard(i)
        found.append((shortest(parts[i]), left[i, i]))
        row = left.row(i)
        for j in waiting:
            factor = shortest(row[j] / left[i, i])
            parts[j] = parts[j] - factor * parts[i]
            for k in waiting:
                left[j, k] = shortest(left[j, k] - factor * row[k])
    return found
