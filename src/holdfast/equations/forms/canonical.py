"""Hamilton's form of the same problem: momenta instead of rates, and the same multipliers.

    p = ∂T/∂v,    Ham(q, p, t) = p·v − T + P

    dq/dt = Ham_p,    dp/dt = −Ham_q − D_v + Q − m₂ + E μ
    ŵ(q, p, t) = w(q, Ham_p, t),    ŵ_p E μ = Y − ŵ_q Ham_p − ŵ_p (−Ham_q − D_v + Q − m₂) − ŵ_t

ŵ_p = J M⁻¹, so that the matrix on the left is the A of Lagrange's form; nothing else is taken over from there: the
derivatives are those of Ham and ŵ. The resisting force is D_v(q, Ham_p), not ∂D/∂p.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from holdfast.equations.dynamics.bodies.spins import refuse_spins
from holdfast.equations.dynamics.masses import added_forces
from holdfast.equations.dynamics.sample import Sample, samples_of
from holdfast.equations.equations import Equations
from holdfast.equations.forms.canonical_shown import ShownCanonical
from holdfast.equations.forms.rates_from_momenta import kinetic_of, momenta_of, rates_of_momenta
from holdfast.equations.forms.real_branch import RealBranch
from holdfast.errors import BadRequest, BadStatement
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.derivatives import directional, gradient, jacobian
from holdfast.graph.display import Display
from holdfast.graph.field import Field
from holdfast.graph.general_solver import factor_general
from holdfast.graph.linear_algebra import Pivot, Rows, product, times, transposed
from holdfast.graph.nodes import Node, ancestors, substitute
from holdfast.problem.quantities import Momentum

Nodes = tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class Canonical:
    """The equations in (q, p, s). Formulas are SymPy (`hamiltonian`, `momenta`, `momentum_rates`); numbers come from
    `evaluate`, at a state stated in q and v; `field` is what is run.
    """

    equations: Equations
    p: Nodes  # the momenta, as inputs
    rates: Nodes  # Ham_p
    energy: Node  # Ham
    free_rates: Nodes  # dp/dt without the holders
    holders: Rows
    mu: Nodes
    pivots: tuple[Pivot, ...]
    given: Nodes  # Q − D_v − m₂, at the rates of the momenta
    branch: RealBranch | None = None  # where T is not quadratic and p = ∂T/∂v has no simple solution

    def __repr__(self) -> str:
        return f"<Canonical equations of {', '.join(self.equations.coordinates)}; summary() writes them out>"

    @property
    def momentum_names(self) -> tuple[str, ...]:
        return tuple(node.data for node in self.p)

    @cached_property
    def p_rates(self) -> Nodes:
        """dp/dt, with the holders."""
        held = times(self.holders, self.mu, self.p[0].graph)
        return tuple(free + push for free, push in zip(self.free_rates, held, strict=True))

    @cached_property
    def _at_momenta(self) -> dict[Node, Node]:
        return dict(zip(self.equations.inputs.v, self.rates, strict=True))

    @cached_property
    def state_rates(self) -> Nodes:
        return tuple(substitute(self.equations.inputs.state_rates, self._at_momenta))

    @cached_property
    def accelerations(self) -> Nodes:
        """d/dt Ham_p along the motion: what Lagrange's form calls a."""
        if self.branch is not None:
            return tuple(substitute(list(self.equations.solution.accelerations), self._at_momenta))
        return tuple(directional(self.rates, _motion(self.equations, self.rates, self.p, self.p_rates)))

    @cached_property
    def observables(self) -> dict[str, Node]:
        """Rates by name, then what Lagrange's form shows, with the multipliers found here."""
        equations, graph = self.equations, self.p[0].graph
        shown = substitute(list(equations.observables.values()), self._at_momenta)
        named = dict(zip(equations.observables, shown, strict=True))
        held = times(self.holders, self.mu, graph)
        named |= dict(zip(equations.holder_names, self.mu, strict=True))
        named |= {f"R_{name}": node for name, node in zip(equations.coordinates, held, strict=True)}
        rates = {f"{name}_dot": node for name, node in zip(equations.coordinates, self.rates, strict=True)}
        return rates | named

    @cached_property
    def field(self) -> Field:
        """d(q, p, s)/dt; the first components are not followed by their rates, so it has no `positions`."""
        inputs = self.equations.inputs
        return Field(
            time=inputs.time,
            state=(*inputs.q, *self.p, *inputs.s),
            parameters=(*inputs.parameters.values(), *inputs.gains.values()),
            rates=(*self.rates, *self.p_rates, *self.state_rates),
            pivots=tuple(pivot.value for pivot in self.pivots),
            scales=tuple(pivot.scale for pivot in self.pivots),
            observables=tuple(self.observables.values()),
        )

    # ── numbers ───────────────────────────────────────────────────────────────────────────────────

    def evaluate(
        self, state: Any = None, time: float | None = None, *, parameters: Mapping[Any, Any] | None = None
    ) -> CanonicalValues:
        """The canonical form as numbers at a state given by coordinates and rates, as `Equations.evaluate` takes it."""
        from holdfast.equations.values import parameter_vector

        at = self.equations.evaluate(state, time, parameters=parameters)
        constants = parameter_vector(self.equations, parameters or {})
        x = self.state_of(at.state, at.time, constants)
        blocks = (self.rates, self.p_rates, self.accelerations, self.mu, (self.energy,))
        tape = Tape(self.field.inputs, tuple(node for block in blocks for node in block))
        numbers = tape([at.time, *x.tolist(), *constants])
        cut = np.cumsum([len(block) for block in blocks])
        rates, p_rates, accelerations, mu, energy = np.split(np.array(numbers), cut[:-1])
        n = len(self.p)
        return CanonicalValues(x[n : 2 * n], rates, p_rates, accelerations, mu, float(energy[0]))

    def state_of(self, state: Sequence[float] | np.ndarray, time: float, constants: Sequence[float]) -> np.ndarray:
        """(q, p, s) from (q, v, s)."""
        n = len(self.p)
        momenta = self._momentum_tape([time, *map(float, state), *constants])
        return np.array([*state[:n], *momenta, *state[2 * n :]], dtype=float)

    @cached_property
    def _momentum_tape(self) -> Tape:
        return Tape(self.equations.field.inputs, momenta_of(self.equations))

    # ── formulas ──────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def display(self) -> Display:
        symbols = dict(self.equations.display.symbols)
        symbols |= {name: Momentum(name) for name in self.momentum_names}
        return Display(self.equations.inputs.graph, symbols)

    @cached_property
    def _shown(self) -> ShownCanonical:
        return ShownCanonical(self)

    @cached_property
    def hamiltonian(self) -> sp.Expr:
        """Ham(q, p, t); where the rates have no closed form, in p and in the rates that solve p = ∂T/∂v."""
        return self._shown.hamiltonian

    @cached_property
    def momenta(self) -> dict[str, sp.Expr]:
        """p = ∂T/∂v, by name."""
        nodes = momenta_of(self.equations)
        return {name: self.display.tidy(node) for name, node in zip(self.momentum_names, nodes, strict=True)}

    @cached_property
    def coordinate_rates(self) -> dict[str, sp.Expr]:
        """dq/dt = Ham_p, by coordinate."""
        return dict(zip(self.equations.coordinates, self._shown.rates, strict=True))

    @cached_property
    def momentum_rates(self) -> dict[str, sp.Expr]:
        """dp/dt without the holders, by momentum."""
        return dict(zip(self.momentum_names, self._shown.momentum_rates, strict=True))

    @property
    def closed(self) -> bool:
        """Whether the rates are formulas in the momenta; else they are solved for, by Newton's method."""
        return self.branch is None or self.branch.formulas is not None

    @property
    def energy_in_rates(self) -> Node:
        """p·v − T + P, in p and v."""
        return _energy_in_rates(self.equations, self.p)

    @property
    def free_in_rates(self) -> Nodes:
        """dp/dt without the holders, in q and v."""
        equations = self.equations
        return _free_in_rates(equations, _given_forces(equations), self.p)

    def latex(self) -> str:
        from holdfast.equations.forms.canonical_text import latex

        return latex(self)

    def summary(self) -> str:
        from holdfast.equations.forms.canonical_text import summary

        return summary(self)


@dataclass(frozen=True, eq=False)
class CanonicalValues:
    """Numbers of the canonical form at one state."""

    momenta: np.ndarray
    rates: np.ndarray
    momentum_rates: np.ndarray
    accelerations: np.ndarray
    mu: np.ndarray
    hamiltonian: float


def canonical(equations: Equations) -> Canonical:
    """Hamilton's form of the equations, with the same program, law and multipliers."""
    if not isinstance(equations, Equations):
        raise BadRequest(f"canonical() takes Equations, not {type(equations).__name__}", fix="hf.derive(problem) first")
    equations.require_unlimited("canonical")
    equations.require_given_forces("canonical")
    refuse_spins(equations.inputs, "the canonical form")
    for name, degree in equations.deviations.degrees.items():
        raise BadRequest(
            f"{name!r} is of degree {degree}, and canonical forms are written up to degree 2",
            where="canonical",
            fix="run the equations with rates",
        )
    equations.require_forces("canonical")
    inputs, graph = equations.inputs, equations.inputs.graph
    p = tuple(graph.input(_momentum_name(equations, name)) for name in equations.coordinates)
    rates, branch = rates_of_momenta(equations, p, momenta_of(equations))
    at = dict(zip(inputs.v, rates, strict=True))
    holders = _substituted(equations.holders, at)
    forces = _given_forces(equations)
    given = substitute(forces, at)
    if branch is not None:  # nothing is differentiated through Newton's method: the derivatives are those at fixed v
        free = substitute(list(_free_in_rates(equations, forces, p)), at)
        mu, pivots = _lagranges_multipliers(equations, at)
        (energy,) = substitute([_energy_in_rates(equations, p)], at)
        return Canonical(equations, p, tuple(rates), energy, tuple(free), holders, mu, pivots, tuple(given), branch)
    (kinetic, potential) = substitute([kinetic_of(equations), equations.dynamics.potential], at)
    energy = graph.dot(p, rates) - kinetic + potential
    by_position = gradient(energy, inputs.q)
    free = [force - by_position.get(q, graph.zero) for force, q in zip(given, inputs.q, strict=True)]
    mu, pivots = _multipliers(equations, p, rates, free, holders, at)
    return Canonical(equations, p, tuple(rates), energy, tuple(free), holders, mu, pivots, tuple(given))


def _energy_in_rates(equations: Equations, p: Nodes) -> Node:
    return equations.inputs.graph.dot(p, equations.inputs.v) - kinetic_of(equations) + equations.dynamics.potential


def _free_in_rates(equations: Equations, forces: Sequence[Node], p: Nodes) -> Nodes:
    """Forces − Ham_q at fixed p, which is forces + T_q − P_q at fixed v: p − T_v is zero."""
    inputs, graph = equations.inputs, equations.inputs.graph
    slopes = gradient(_energy_in_rates(equations, p), inputs.q)
    return tuple(force - slopes.get(q, graph.zero) for force, q in zip(forces, inputs.q, strict=True))


def _momentum_name(equations: Equations, coordinate: str) -> str:
    name = f"p_{coordinate}"
    taken = {*equations.problem.names.names, *equations.parameter_names}
    return f"momentum_{coordinate}" if name in taken else name


def _given_forces(equations: Equations) -> list[Node]:
    """Q − D_v − m₂, and of points of variable mass the forces and added forces on the coordinates."""
    inputs, dynamics, graph = equations.inputs, equations.dynamics, equations.inputs.graph
    total = [
        force - resist - excess
        for force, resist, excess in zip(
            dynamics.forces, dynamics.resistance, equations.solution.excess_bias, strict=True
        )
    ]
    if not dynamics.points:
        return total
    controls = {node: equations.solved_inputs[node] for node in inputs.controls.values()}
    added = substitute(list(added_forces(dynamics.points, inputs)), controls)
    if any(part in inputs.a for part in ancestors(added)):
        raise BadStatement(
            "there is no canonical form: a mass or a reactive force depends on rates or accelerations",
            where="system.masses",
            fix="use Lagrange's form (the equations themselves)",
        )
    for point in dynamics.points:
        for i, column in enumerate(transposed(point.slopes, len(total))):
            total[i] = total[i] + graph.sum(slope * point.force[k] for k, slope in column.items())
    return [own + extra for own, extra in zip(total, added, strict=True)]


def _motion(equations: Equations, rates: Sequence[Node], p: Nodes, p_rates: Sequence[Node]) -> dict[Node, Node]:
    """How time, coordinates, momenta and states move."""
    inputs = equations.inputs
    states = substitute(inputs.state_rates, dict(zip(inputs.v, rates, strict=True)))
    moving = {inputs.time: inputs.graph.one}
    moving |= dict(zip(inputs.q, rates, strict=True))
    moving |= dict(zip(p, p_rates, strict=True))
    return moving | dict(zip(inputs.s, states, strict=True))


def _substituted(rows: Rows, at: dict[Node, Node]) -> Rows:
    return [dict(zip(row, substitute(list(row.values()), at), strict=True)) for row in rows]


def _multipliers(
    equations: Equations, p: Nodes, rates: Sequence[Node], free: Sequence[Node], holders: Rows, at: dict[Node, Node]
) -> tuple[Nodes, tuple[Pivot, ...]]:
    if not equations.constraints:
        return (), ()
    if equations.solver.form in ("eased", "redundant"):  # not told apart: solved alike, or the forms would differ
        return _lagranges_multipliers(equations, at)
    graph = equations.inputs.graph
    deviating = substitute(list(equations.deviations.w), at)
    drift = directional(deviating, _motion(equations, rates, p, free))
    demand = substitute(list(equations.solution.demand), at)
    matrix = product(jacobian(deviating, p), holders)
    factor = factor_general(matrix, graph, _sizes(equations, p, matrix))
    mu = factor.solve([want - have for want, have in zip(demand, drift, strict=True)])
    return tuple(mu), factor.pivots


def _lagranges_multipliers(equations: Equations, at: dict[Node, Node]) -> tuple[Nodes, tuple[Pivot, ...]]:
    """Those of Lagrange's form, at the rates of the momenta."""
    pivots = equations.solver.pivots
    values, scales = (substitute([getattr(x, part) for x in pivots], at) for part in ("value", "scale"))
    moved = tuple(replace(x, value=v, scale=s) for x, v, s in zip(pivots, values, scales, strict=True))
    return tuple(substitute(list(equations.solution.mu), at)), moved


def _sizes(equations: Equations, p: Nodes, matrix: Rows) -> list[dict[int, float]] | None:
    """The matrix as numbers at the start, or beside it where it is not defined there."""
    deviations = (*equations.deviations.y, *equations.deviations.w)
    for sample in samples_of(equations.problem, equations.form, equations.inputs, deviations):
        values = Sample(sample.values | dict(zip(p, sample.of(momenta_of(equations)), strict=True))).rows(matrix)
        if all(np.isfinite(list(row.values())).all() for row in values):
            return values
    return None
