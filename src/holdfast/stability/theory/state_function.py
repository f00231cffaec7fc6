"""Lyapunov functions whose coefficients depend on the motion: V(y, w, q, v, t), differentiated on the graph.

    2V = yᵀu y + 2yᵀv w + wᵀω w                     u, v, ω functions of (q, q̇, t)
    V̇  = yᵀu'y + yᵀv'w + wᵀω'w + V₃                 (the cross term once)

    u' = ½ Du/Dt + v K        v' = u S + Dv/Dt + v B + Kᵀω        ω' = ½ Dω/Dt + Sᵀv + ω B
    V₃ = V'ₖ (a − p)ᵏ + (vᵀy + ωw)·Y₂,   V'ₖ = ∂V/∂q̇ᵏ

D/Dt runs along the classical acceleration p (M p = h + E μ₀), a is the actual one, S = (I 0). For G independent of q̇
and a linear law V₃ = 0, and V̇ = zᵀG'z with G' = ½ DG/Dt + ½(GH + HᵀG).
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
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.derivatives import directional, gradient, jacobian
from holdfast.graph.nodes import Node, ancestors, substitute
from holdfast.problem.vocabulary import LAW
from holdfast.results.trajectory import Trajectory
from holdfast.stability.linear.shape import Array
from holdfast.stability.sampling import Batch, box_samples
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


@dataclass(frozen=True, eq=False)
class Signs:
    """V and V̇ over samples of a domain: sampled, so not a proof."""

    count: int
    undefined: int
    smallest_value: float  # min V/‖z‖²
    largest_value: float  # max V/‖z‖²
    largest_derivative: float  # max V̇/‖z‖²
    worst_time: float
    worst_state: Array
    label: str = "sampled"

    @property
    def positive(self) -> bool:
        return self.smallest_value > 0

    @property
    def negative(self) -> bool:
        return self.largest_derivative < 0

    def __str__(self) -> str:
        value = "positive" if self.positive else "not positive"
        slope = "negative" if self.negative else "not negative"
        return (
            f"At {self.count} states ({self.label}, not proved): V is {value}, V/‖z‖² from {self.smallest_value:.4g} "
            f"to {self.largest_value:.4g}; its derivative is {slope}, at most {self.largest_derivative:.4g} ‖z‖²."
        )


class StateFunction:
    """V as an expression in deviations (`hf.deviations`), coordinates, rates, time and parameters."""

    def __init__(self, equations: Equations, expression: Any) -> None:
        self.equations = equations
        program = equations.problem.program
        vocabulary = equations.problem.names.with_deviations(program.holonomic, program.nonholonomic)
        self.expression: sp.Expr = vocabulary.admit(expression, LAW, where="V")
        inputs = equations.inputs
        self._y, self._w = list(inputs.y.values()), list(inputs.w.values())
        self._node = inputs.walk(self.expression)
        self._check_vanishes()

    def _check_vanishes(self) -> None:
        zeros = {node: self.equations.inputs.graph.zero for node in (*self._y, *self._w)}
        if not substitute([self._node], zeros)[0].is_zero:
            raise BadRequest("V does not vanish on the program", where="V", fix="every term must contain a deviation")

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
        accelerations, _ = equations.solver(equations.dynamics.bias, [-d for d in equations.deviations.drift])
        return accelerations

    @cached_property
    def _derivative(self) -> Node:
        """V̇ along the actual motion, with the deviations as quantities of their own."""
        equations, inputs = self.equations, self.equations.inputs
        along = inputs.direction | dict(zip(inputs.v, equations.solution.accelerations, strict=True))
        along |= dict(zip(self._y, self._w, strict=False))  # dy/dt = w
        along |= dict(zip(self._w, equations.solution.demand, strict=True))
        return self._at_actual(directional([self._node], along))[0]

    @cached_property
    def _forms(self) -> tuple[list[Node], list[Node]]:
        """∂²V/∂z², dense, and its derivative along p."""
        inputs, z = self.equations.inputs, [*self._y, *self._w]
        slopes = gradient(self._node, z)
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
        slopes = gradient(self._node, (*inputs.v, *self._w))
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
        nodes = (*self._at_actual([self._node]), self._derivative, self._third, *forms, *carried)
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
        batch = Batch.of(self.equations, (*self._at_actual([self._node]), self._derivative), trajectory.parameters)
        values = batch(trajectory.times, trajectory.y.T)
        return LyapunovSeries(trajectory.times, step, deviations_along(trajectory), values[:, 0], values[:, 1])

    def signs(
        self, domain: Mapping[Any, Any], count: int = 2000, seed: int = 0, parameters: Mapping[Any, Any] | None = None
    ) -> Signs:
        """The signs of V and V̇ at random states of a box ``{name: (low, high), "t": (low, high)}``: sampled."""
        times, states = box_samples(self.equations, domain, count, seed, parameters)
        deviations = self.equations.deviations
        nodes = (*self._at_actual([self._node]), self._derivative, *deviations.y, *deviations.w)
        rows = Batch.of(self.equations, nodes, parameters)(times, states)
        squares = (rows[:, 2:] ** 2).sum(axis=1)
        good = np.isfinite(rows).all(axis=1) & (squares > 0)
        if not good.any():
            raise BadRequest("V is undefined, or no deviation occurs, in the whole domain", fix="choose another domain")
        with np.errstate(all="ignore"):
            value, slope = rows[:, 0] / squares, np.where(good, rows[:, 1] / squares, -np.inf)
        worst = int(slope.argmax())
        return Signs(
            count=int(good.sum()),
            undefined=int((~good).sum()),
            smallest_value=float(value[good].min()),
            largest_value=float(value[good].max()),
            largest_derivative=float(slope[worst]),
            worst_time=float(times[worst]),
            worst_state=states[worst],
        )
