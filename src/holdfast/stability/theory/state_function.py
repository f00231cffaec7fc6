"""Lyapunov functions whose coefficients depend on the motion: V(y, w, q, v, t), differentiated on the graph.

    2V = yᵀu y + 2yᵀv w + wᵀω w                     u, v, ω functions of (q, q̇, t)
    V̇  = yᵀu'y + yᵀv'w + wᵀω'w + V₃                 (the cross term once)

    u' = ½ Du/Dt + v K        v' = u S + Dv/Dt + v B + Kᵀω        ω' = ½ Dω/Dt + Sᵀv + ω B
    V₃ = V'ₖ (a − p)ᵏ + (vᵀy + ωw)·Y₂,   V'ₖ = ∂V/∂q̇ᵏ

D/Dt runs along the classical acceleration p (M p = h + E μ₀), a is the actual one, S = (I 0). For G independent of q̇
and a linear law V₃ = 0, and V̇ = zᵀG'z with G' = ½ DG/Dt + ½(GH + HᵀG). The papers' letters for (u', v', ω') are
(s', p', l') too. What follows over a region is in `form_bounds`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from holdfast.equations.equations import Equations
from holdfast.equations.values import parameter_vector, state_vector
from holdfast.errors import BadRequest
from holdfast.graph.arithmetics.balls import BRANCHES
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.derivatives import directional, gradient, jacobian
from holdfast.graph.nodes import Node, ancestors, substitute
from holdfast.problem.data import Data
from holdfast.problem.vocabulary import LAW
from holdfast.results.trajectory import Trajectory
from holdfast.stability.linear.shape import Array
from holdfast.stability.sampling import Batch
from holdfast.stability.theory.form_bounds import FormNodes
from holdfast.stability.theory.lyapunov import LyapunovSeries, deviations_along, every_step


@dataclass(frozen=True, eq=False)
class Coefficients:
    """The coefficients of V and V̇ at one state."""

    value: float
    derivative: float
    u: Array
    v: Array
    omega: Array
    u_prime: Array
    v_prime: Array
    omega_prime: Array
    third: float  # V₃

    @property
    def matrix(self) -> Array:
        """G = [[u, v], [vᵀ, ω]]."""
        return np.block([[self.u, self.v], [self.v.T, self.omega]])

    @property
    def derivative_matrix(self) -> Array:
        """G' = [[sym u', v'/2], [v'ᵀ/2, sym ω']]."""
        u, w = self.u_prime, self.omega_prime
        return np.block([[(u + u.T) / 2, self.v_prime / 2], [self.v_prime.T / 2, (w + w.T) / 2]])


class StateFunction:
    """V as an expression in deviations (`hf.deviations`), coordinates, rates, time and parameters."""

    def __init__(self, equations: Equations, expression: Any) -> None:
        self.equations = equations
        program = equations.problem.program
        vocabulary = equations.problem.names.with_deviations(
            program.holonomic, program.nonholonomic, equations.deviations.degrees
        )
        self.expression: sp.Expr = vocabulary.admit(expression, LAW, where="V")
        inputs = equations.inputs
        self._y, self._w = list(inputs.y.values()), list(inputs.w.values())
        self.node = inputs.walk(self.expression)
        self._check_vanishes()

    def _check_vanishes(self) -> None:
        zeros = {node: self.equations.inputs.graph.zero for node in (*self._y, *self._w)}
        if not substitute([self.node], zeros)[0].is_zero:
            raise BadRequest("V does not vanish on the program", where="V", fix="every term must contain a deviation")
        slopes = gradient(self.node, (*self._y, *self._w))
        for node, slope in zip(slopes, substitute(list(slopes.values()), zeros), strict=True):
            if not slope.is_zero:
                raise BadRequest(
                    f"V has a term of first degree in {node.data}, so that it has no sign near the program",
                    where="V",
                    fix="every term must be of second degree, at least, in the deviations",
                )

    @cached_property
    def constraints(self) -> tuple[str, ...]:
        """The constraints whose deviations V contains."""
        used = set(ancestors([self.node]))
        named = zip(self.equations.deviations.owners, (*self._y, *self._w), strict=True)
        found = {name for name, node in named if node in used}
        return tuple(name for name in self.equations.constraints if name in found)

    @property
    def names(self) -> tuple[str, ...]:
        """z of V: y and w of its constraints, as the observables have them."""
        return self.equations.deviations.names_of(self.constraints)

    @cached_property
    def deviations(self) -> tuple[Node, ...]:
        """z of V as inputs of their own."""
        known = {node.data: node for node in (*self._y, *self._w)}
        return tuple(known[name] for name in self.names)

    # ── nodes ─────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def _actual(self) -> dict[Node, Node]:
        deviations = self.equations.deviations
        return dict(zip((*self._y, *self._w), (*deviations.y, *deviations.w), strict=True))

    def _at_actual(self, nodes: Sequence[Node]) -> list[Node]:
        return substitute(list(nodes), self._actual)

    @cached_property
    def _classical(self) -> list[Node]:
        """p: the accelerations that hold the exact program, M p = h + E μ₀, J p = −γ."""
        equations = self.equations
        equations.require_given_forces("a function of the state off the program")
        accelerations, _ = equations.solver(equations.dynamics.bias, [-d for d in equations.deviations.drift])
        return accelerations

    def carried(self, nodes: Sequence[Node], accelerations: Sequence[Node]) -> list[Node]:
        """The rates of some nodes along the motion, the deviations in them held."""
        return directional(
            nodes, self.equations.inputs.direction | dict(zip(self.equations.inputs.v, accelerations, strict=True))
        )

    @cached_property
    def demand(self) -> tuple[Node, ...]:
        """dw/dt in y and w, as it is run."""
        law = self.equations.demand_law
        return law.value if self.equations.second_order else law.linear

    @cached_property
    def rates(self) -> dict[Node, Node]:
        """The rate of each deviation, in the deviations: the next one, or what the law demands."""
        z = (*self._y, *self._w)
        found = {y: z[place] for y, place in zip(self._y, self.equations.deviations.follows, strict=True)}
        return found | dict(zip(self._w, self.demand, strict=True))

    def hessian(self) -> list[Node]:
        """∂²V/∂z² by the deviations of V, dense."""
        zero, z = self.equations.inputs.graph.zero, self.deviations
        slopes = gradient(self.node, z)
        rows = jacobian([slopes.get(node, zero) for node in z], z)
        return [row.get(j, zero) for row in rows for j in range(len(z))]

    def law_slopes(self) -> list[Node]:
        """∂ż/∂z by the deviations of V, dense: dy/dt = w, dw/dt = Y."""
        graph, z = self.equations.inputs.graph, self.deviations
        rates = self.rates
        moved = [rates[node] for node in z]
        return [row.get(j, graph.zero) for row in jacobian(moved, z) for j in range(len(z))]

    def coupled(self) -> str:
        """A constraint that V leaves out and the law of its own ones depends on; empty where there is none."""
        inputs = self.equations.inputs
        demand = dict(zip(inputs.w, self.demand, strict=True))
        used = set(ancestors([demand[name] for name in self.constraints]))
        named = zip(self.equations.deviations.owners, (*self._y, *self._w), strict=True)
        return next((name for name, node in named if node in used and name not in self.constraints), "")

    def forms(self) -> FormNodes:
        """What bounds V and V̇ over a region."""
        equations, inputs, deviations = self.equations, self.equations.inputs, self.equations.deviations
        hessian, field = self.hessian(), self.equations.field
        actual = dict(zip(equations.deviation_names, (*deviations.y, *deviations.w), strict=True))
        rates = set(inputs.v) & set(ancestors([self.node]))
        moving = equations.solution.accelerations if rates else [inputs.graph.zero] * len(inputs.v)
        return FormNodes(
            inputs=(field.time, *field.state),
            names=("t", *equations.state_names),
            parameters=field.parameters,
            deviations=self.deviations,
            actual=tuple(actual[name] for name in self.names),
            hessian=tuple(hessian),
            drift=tuple(self.carried(hessian, moving)),
            law=tuple(self.law_slopes()),
            along_rates=bool(rates),
        )

    def obstacle(self) -> str:
        """Why no sign of V is proved; empty where one may be."""
        if any(node.op in BRANCHES for node in ancestors([self.node])):
            return "V branches (abs, sign, min, max, ...)"
        if any(node.op in BRANCHES for node in ancestors(self.demand)):
            return "the law branches (abs, sign, min, max, ...)"
        if any(isinstance(stated.value, Data) for stated in self.equations.problem.system.functions.values()):
            return "a function is given by data, which balls do not enclose"
        if self.equations.solver.form == "eased":
            return "the law is eased where kept integrals cannot be told apart"
        if self.equations.solver.form == "redundant":
            return (
                "constraints may depend on each other, and the law of what repeats others holds only where they agree"
            )
        return ""

    @cached_property
    def _derivative(self) -> Node:
        """V̇ along the actual motion, with the deviations as quantities of their own."""
        equations, inputs = self.equations, self.equations.inputs
        along = inputs.direction | dict(zip(inputs.v, equations.solution.accelerations, strict=True))
        along |= dict(zip(self._y, self._w, strict=False))  # dy/dt = w
        along |= dict(zip(self._w, equations.solution.demand, strict=True))
        return self._at_actual(directional([self.node], along))[0]

    @cached_property
    def _forms(self) -> tuple[list[Node], list[Node]]:
        """∂²V/∂z², dense, and its derivative along p."""
        inputs, z = self.equations.inputs, [*self._y, *self._w]
        slopes = gradient(self.node, z)
        rows = jacobian([slopes.get(node, inputs.graph.zero) for node in z], z)
        entries = [row.get(j, inputs.graph.zero) for row in rows for j in range(len(z))]
        if any(node in self._actual for node in ancestors(entries)):
            raise BadRequest("V is not quadratic in the deviations", where="V", fix="it has no coefficients u, v, ω")
        along = inputs.direction | dict(zip(inputs.v, self._classical, strict=True))
        return entries, directional(entries, along)

    @cached_property
    def _third(self) -> Node:
        """V₃ = Σ ∂V/∂q̇ᵏ (a − p)ᵏ + ∂V/∂w · Y₂."""
        equations, inputs, graph = self.equations, self.equations.inputs, self.equations.inputs.graph
        slopes = gradient(self.node, (*inputs.v, *self._w))
        extra = [a - p for a, p in zip(equations.solution.accelerations, self._classical, strict=True)]
        total = graph.dot([slopes.get(node, graph.zero) for node in inputs.v], extra)
        rest = equations.demand_law.rest
        if rest is not None and equations.second_order:
            total = total + graph.dot([slopes.get(node, graph.zero) for node in self._w], rest)
        return self._at_actual([total])[0]

    # ── numbers ───────────────────────────────────────────────────────────────────────────────────

    def at(
        self,
        state: Mapping[Any, Any] | Sequence[float] | None = None,
        time: float | None = None,
        parameters: Mapping[Any, Any] | None = None,
    ) -> Coefficients:
        """V, V̇ and their coefficients at one state."""
        equations = self.equations
        constants = parameter_vector(equations, parameters or {})
        vector = state_vector(equations, state, dict(zip(equations.parameter_names, constants, strict=True)))
        moment = equations.problem.run.begin if time is None else float(time)
        forms, carried = self._forms
        nodes = (*self._at_actual([self.node]), self._derivative, self._third, *forms, *carried)
        value, derivative, third, *rest = Tape(equations.field.inputs, nodes)([moment, *vector, *constants])
        m, r = len(self._y), len(self._w)
        G, DG = np.array(rest).reshape(2, m + r, m + r)
        law = equations.evaluate(vector, moment, parameters=parameters).law_matrix
        K, B, S = law[:, :m], law[:, m:], np.eye(m, r)
        u, v, omega = G[:m, :m], G[:m, m:], G[m:, m:]
        return Coefficients(
            value=value,
            derivative=derivative,
            u=u,
            v=v,
            omega=omega,
            u_prime=DG[:m, :m] / 2 + v @ K,
            v_prime=u @ S + DG[:m, m:] + v @ B + K.T @ omega,
            omega_prime=DG[m:, m:] / 2 + S.T @ v + omega @ B,
            third=third,
        )

    def along(self, trajectory: Trajectory) -> LyapunovSeries:
        """V, V̇ and Ṽ along a run of fixed step."""
        step = every_step(trajectory)
        batch = Batch.of(self.equations, (*self._at_actual([self.node]), self._derivative), trajectory.parameters)
        values = batch(trajectory.times, trajectory.y.T)
        z = deviations_along(trajectory, self.constraints)
        return LyapunovSeries(trajectory.times, step, z, values[:, 0], values[:, 1])

    def forms_along(self, trajectory: Trajectory) -> tuple[Array, Array]:
        """G and G' of V̇ = zᵀG'z + V₃ at each row of a run, by the deviations of V."""
        nodes, size = self.forms(), len(self.deviations)
        entries = self._at_actual(nodes.entries)
        rows = Batch.of(self.equations, entries, trajectory.parameters)(trajectory.times, trajectory.y.T)
        G, drift, law = np.moveaxis(rows.reshape(-1, 3, size, size), 1, 0)
        slope = drift / 2 + G @ law
        return G, (slope + np.swapaxes(slope, 1, 2)) / 2
