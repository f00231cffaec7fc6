"""The equations in quasi-velocities: readable as formulas, evaluable as numbers, run in (q, u, s)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from holdfast.equations.equations import Equations
from holdfast.equations.quasi.kinematics import Kinematics
from holdfast.equations.quasi.simplified import simplified
from holdfast.equations.quasi.symbols import QuasiVelocity
from holdfast.errors import BadRequest
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.display import Display
from holdfast.graph.field import Field
from holdfast.graph.linear_algebra import Pivot, Rows, transposed
from holdfast.graph.nodes import Node
from holdfast.problem.vocabulary import by_name

Nodes = tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class QuasiValues:
    """Numbers of a form in quasi-velocities at one state."""

    velocities: np.ndarray  # u
    velocity_rates: np.ndarray  # u'
    rates: np.ndarray  # v = S u + s₀
    accelerations: np.ndarray  # S u' + σ
    mu: np.ndarray
    mass_matrix: np.ndarray
    bias: np.ndarray


@dataclass(frozen=True, eq=False)
class QuasiForm:
    """M_u u' = h_u + E_u μ,   q' = S u + s₀: what all forms in quasi-velocities share.

    Formulas are SymPy (`quasi_velocities`, `coordinate_rates`, `mass_matrix`, `bias`, `holder_matrix`); numbers come
    from `evaluate`, at a state stated in q and v; `field` is what is run, by `hf.simulate`.
    """

    kinematics: Kinematics
    mass: Rows
    forces: Nodes  # h_u
    u_rates: Nodes
    held: Equations  # the equations with the accelerations and multipliers of this form
    pivots: tuple[Pivot, ...]

    title = "Equations in quasi-velocities"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} equations in {', '.join(self.velocity_names)}; summary() writes them out>"

    @property
    def equations(self) -> Equations:
        return self.kinematics.equations

    @property
    def velocity_names(self) -> tuple[str, ...]:
        return self.kinematics.names

    @property
    def holders(self) -> Rows:
        """Sᵀ E: by quasi-velocity, what the holders do on it."""
        kinematics, r = self.kinematics, len(self.equations.constraints)
        columns = transposed(kinematics.rows_in_u(self.equations.holders), r)
        n, zero = len(self.equations.coordinates), self.equations.inputs.graph.zero
        along = [kinematics.along([column.get(i, zero) for i in range(n)]) for column in columns]
        return [
            {k: column[i] for k, column in enumerate(along) if not column[i].is_zero} for i in range(len(self.mass))
        ]

    @cached_property
    def accelerations(self) -> Nodes:
        """a = S u' + σ."""
        return self.kinematics.accelerations(self.u_rates)

    @cached_property
    def mu(self) -> Nodes:
        """The multipliers, in u."""
        return tuple(self.kinematics.in_u(self.held.solution.mu))

    @cached_property
    def observables(self) -> dict[str, Node]:
        """Rates by name, then what every run shows, with the multipliers of this form."""
        shown = self.kinematics.in_u(list(self.held.observables.values()))
        rates = zip(self.equations.coordinates, self.kinematics.rates, strict=True)
        return {f"{name}_dot": node for name, node in rates} | dict(zip(self.held.observables, shown, strict=True))

    @cached_property
    def field(self) -> Field:
        """d(q, u, s)/dt; the first components are not followed by their rates, so it has no `positions`."""
        inputs, kinematics = self.equations.inputs, self.kinematics
        return Field(
            time=inputs.time,
            state=(*inputs.q, *kinematics.u, *inputs.s),
            parameters=(*inputs.parameters.values(), *inputs.gains.values()),
            rates=(*kinematics.rates, *self.u_rates, *kinematics.state_rates),
            pivots=tuple(pivot.value for pivot in self.pivots),
            scales=tuple(pivot.scale for pivot in self.pivots),
            observables=tuple(self.observables.values()),
        )

    # ── numbers ───────────────────────────────────────────────────────────────────────────────────

    def evaluate(
        self, state: Any = None, time: float | None = None, *, parameters: Mapping[Any, Any] | None = None
    ) -> QuasiValues:
        """This form as numbers at a state given by coordinates and rates, as `Equations.evaluate` takes it.

        A mapping may have quasi-velocities in the place of the rates.
        """
        from holdfast.equations.values import parameter_vector

        constants = parameter_vector(self.equations, parameters or {})
        moment = self.equations.problem.run.begin if time is None else time
        at = self.equations.evaluate(self.with_rates(state, moment, constants), time, parameters=parameters)
        x = self.state_of(at.state, at.time, constants)
        k, n, zero = len(self.velocity_names), len(self.equations.coordinates), self.equations.inputs.graph.zero
        mass = tuple(row.get(j, zero) for row in self.mass for j in range(k))
        blocks = (self.u_rates, self.kinematics.rates, self.accelerations, self.mu, mass, self.forces)
        numbers = Tape(self.field.inputs, tuple(node for block in blocks for node in block))([at.time, *x, *constants])
        cut = np.cumsum([len(block) for block in blocks])
        u_rates, rates, accelerations, mu, matrix, forces = np.split(np.array(numbers), cut[:-1])
        return QuasiValues(x[n : n + k], u_rates, rates, accelerations, mu, matrix.reshape(k, k), forces)

    def with_rates(self, given: Any, time: float, constants: Sequence[float]) -> Any:
        """A state or start with rates in the place of quasi-velocities; of these, what is not given is 0."""
        from holdfast.equations.values import state_vector

        if not isinstance(given, Mapping):
            return given
        named, equations = by_name(given, where="start"), self.equations
        u = {name: named.pop(name) for name in self.velocity_names if name in named}
        if not u:
            return given
        rates = [f"{name}_dot" for name in equations.coordinates]
        both = [name for name in rates if name in named]
        if both:
            raise BadRequest(
                f"the start has both the rate {both[0]!r} and the quasi-velocity {next(iter(u))!r}",
                where="start",
                fix="give either rates or quasi-velocities",
            )
        values = dict(zip(equations.parameter_names, constants, strict=True))
        n, state = len(rates), state_vector(equations, named, values)
        own = [float(u.get(name, 0)) for name in self.velocity_names]
        v = Tape(self.field.inputs, self.kinematics.rates)([time, *state[:n], *own, *state[2 * n :], *constants])
        if not np.isfinite(v).all():
            raise BadRequest(
                "the quasi-velocities do not give the rates at this state", where="start", fix="give other coordinates"
            )
        return {**named, **dict(zip(rates, v, strict=True))}

    def state_of(self, state: Sequence[float] | np.ndarray, time: float, constants: Sequence[float]) -> np.ndarray:
        """(q, u, s) from (q, v, s)."""
        n = len(self.equations.coordinates)
        u = self._velocity_tape([time, *map(float, state), *constants])
        return np.array([*state[:n], *u, *state[2 * n :]], dtype=float)

    @cached_property
    def _velocity_tape(self) -> Tape:
        return Tape(self.equations.field.inputs, self.kinematics.definitions)

    # ── formulas ──────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def display(self) -> Display:
        symbols: dict[str, sp.Symbol] = dict(self.equations.display.symbols)
        symbols |= {name: QuasiVelocity(name) for name in self.velocity_names}
        return Display(self.equations.inputs.graph, symbols)

    @property
    def on_program(self) -> QuasiForm:
        """The form that formulas are written of."""
        return self

    def shown(self, node: Node) -> sp.Expr:
        """A node as it is read."""
        return self.display.tidy(simplified(node, self.display))

    @cached_property
    def quasi_velocities(self) -> dict[str, sp.Expr]:
        """What each quasi-velocity is in coordinates and rates, by name."""
        meanings = self.on_program.kinematics.meanings
        return {name: self.shown(u) for name, u in zip(self.velocity_names, meanings, strict=True)}

    @cached_property
    def coordinate_rates(self) -> dict[str, sp.Expr]:
        """q' = S u + s₀, by coordinate."""
        rates = self.on_program.kinematics.rates
        return {c: self.shown(v) for c, v in zip(self.equations.coordinates, rates, strict=True)}

    @cached_property
    def mass_matrix(self) -> sp.Matrix:
        """M_u = Sᵀ M S."""
        k, mass = len(self.mass), self.on_program.mass
        return sp.Matrix(k, k, lambda i, j: self.shown(mass[i][j]) if j in mass[i] else sp.S.Zero)

    @cached_property
    def bias(self) -> sp.Matrix:
        """h_u of M_u u' = h_u + held forces."""
        return sp.Matrix([self.shown(node) for node in self.on_program.forces])

    @cached_property
    def holder_matrix(self) -> sp.Matrix:
        """E_u = Sᵀ E."""
        rows, r = self.holders, len(self.equations.constraints)
        return sp.Matrix(len(rows), r, lambda i, k: self.shown(rows[i][k]) if k in rows[i] else sp.S.Zero)

    def more_lines(self) -> list[str]:
        """What the summary says after the equations."""
        return []

    def more_latex(self) -> list[str]:
        """What LaTeX shows after the equations."""
        return []

    def latex(self) -> str:
        """The equations as LaTeX, ready for a paper."""
        from holdfast.equations.quasi.text import latex

        return latex(self)

    def summary(self) -> str:
        """The equations as text for a terminal."""
        from holdfast.equations.quasi.text import summary

        return summary(self)

    def to_dict(self) -> dict[str, Any]:
        """The equations as plain data, formulas as text."""
        return {
            "schema": 1,
            "quasi_velocities": {name: str(value) for name, value in self.quasi_velocities.items()},
            "coordinate_rates": {name: str(value) for name, value in self.coordinate_rates.items()},
            "mass_matrix": [[str(entry) for entry in row] for row in self.mass_matrix.tolist()],
            "bias": [str(entry) for entry in self.bias],
            "holder_matrix": [[str(entry) for entry in row] for row in self.holder_matrix.tolist()],
            "holders": list(self.equations.holder_names),
        }
