"""The equations as numbers at one state."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.common.nearest import did_you_mean
from holdfast.equations.dynamics.sample import constant_value, start_values
from holdfast.equations.solving.diagnosis import why_undefined
from holdfast.equations.solving.repeats import ZERO_SINGULAR_VALUE, scaled_rows
from holdfast.errors import BadRequest, HoldfastError
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.linear_algebra import Rows
from holdfast.graph.nodes import Node
from holdfast.problem.bodies.rows import require_closed
from holdfast.problem.keep import kept_states
from holdfast.problem.quantities import Coordinate, Parameter, Rate, State
from holdfast.problem.types import StateLike
from holdfast.problem.vocabulary import CONSTANT, by_name, name_of

if TYPE_CHECKING:
    from holdfast.equations.equations import Equations

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Values:
    """Everything in the equations at one state, as read-only arrays; by name through ``values["lambda_rod"]``.

    `mu` are the forces of the holders, reactions first, then controls; `mu_parts` and `held_force_parts` are their
    split into the classical part, the first-order correction, and the terms of second order.
    """

    equations: Equations
    time: float
    state: Array
    accelerations: Array
    mu: Array
    mu_parts: Array
    held_forces: Array
    held_force_parts: Array
    excess_bias: Array
    demand: Array
    deviation: Array
    deviation_rate: Array
    mass_matrix: Array
    bias: Array
    jacobian: Array
    drift_term: Array
    through: Array  # D of dw/dt = J a + γ + D μ, where controls act through first-order states
    holders: Array
    deviation_jacobian: Array  # ∂(y, w)/∂(q, v)
    law_matrix: Array  # [K B] on the program
    friction_answer: Array  # what comes back of a change of each multiplier that forces use
    friction_left: Array  # of the residuals that friction may leave, as a part: 0 where it is not solved
    friction_pivots: Array  # what is watched of both
    observables: dict[str, float]

    def __getitem__(self, name: Any) -> float:
        """A quantity by name or symbol: a state, an acceleration, a multiplier, a control, y_, w_, R_, energy, ..."""
        key = name_of(name)
        known = dict(zip(self.equations.state_names, self.state.tolist(), strict=True)) | self.observables
        accelerations = zip(self.equations.coordinates, self.accelerations.tolist(), strict=True)
        known |= {f"{c}_ddot": value for c, value in accelerations}
        if key not in known:
            raise BadRequest(
                f"there is no quantity {key!r}", fix=did_you_mean(key, known, "known: " + ", ".join(known))
            )
        return float(known[key])

    def __repr__(self) -> str:
        named = zip(self.equations.state_names, self.state.tolist(), strict=True)
        state = ", ".join(f"{name} = {value:.6g}" for name, value in named)
        return f"<Values at t = {self.time:g}, {state}>"

    @property
    def multipliers(self) -> Array:
        """λ of the constraints held by reactions, in their order."""
        return self.mu[: len(self.equations.problem.program.held_by_reaction)]

    @property
    def controls(self) -> Array:
        """The control forces, in their order."""
        return np.array([self.observables[name] for name in self.equations.problem.program.controls])

    @property
    def energy(self) -> float:
        return self.observables["energy"]

    @cached_property
    def authority(self) -> Array:
        """A = J M⁻¹ E (called S where all holders are reactions), and D where controls act through states."""
        try:
            return self.jacobian @ np.linalg.solve(self.mass_matrix, self.holders) + self.through
        except np.linalg.LinAlgError as error:
            raise BadRequest(
                "the mass matrix is singular, so that A = J M⁻¹ E does not exist", fix="use condition and multipliers"
            ) from error

    @property
    def condition(self) -> float:
        """The condition number of A (of the whole system where masses are missing); large where nearly singular."""
        if not self.mu.size:
            return 1.0
        if self.equations.solver.form in ("solved", "inverse"):
            try:
                return _condition(self.authority)
            except BadRequest:
                pass  # without an inverse of M, the whole system is looked at
        if self.equations.solver.form == "redundant":
            return _condition_on_range(self.mass_matrix, self.jacobian)
        return _condition(np.block([[self.mass_matrix, -self.holders], [self.jacobian, self.through]]))

    @cached_property
    def mass_range(self) -> tuple[float, float]:
        """The smallest eigenvalue of the mass matrix, and the largest absolute one; nan where it is not finite."""
        if not np.isfinite(self.mass_matrix).all() or not self.mass_matrix.size:
            return float("nan"), float("nan")
        found = np.linalg.eigvalsh(self.mass_matrix)
        return float(found[0]), float(np.abs(found).max())

    @property
    def defined(self) -> bool:
        """Whether all accelerations, multipliers and controls are finite, and friction goes with its reactions."""
        found = np.isfinite(self.accelerations).all() and np.isfinite(self.mu).all()
        return bool(found and (self.friction_pivots > 0).all())

    def require_defined(self) -> None:
        """Raise, by name, where nothing determines the accelerations or a function is outside its domain."""
        if self.defined:
            return
        reason = why_undefined(self, "this state")
        if reason is not None:
            raise reason
        named = zip(
            (*self.equations.coordinates, *self.equations.holder_names), (*self.accelerations, *self.mu), strict=True
        )
        name, value = next((name, value) for name, value in named if not np.isfinite(value))
        what = f"the acceleration of {name!r}" if name in self.equations.coordinates else repr(name)
        raise BadRequest(
            f"the equations are not defined at this state: {what} is {value}",
            where="state",
            fix="choose another state: a divisor vanishes or a function is outside its domain there",
        )

    @property
    def singularity(self) -> HoldfastError | None:
        """Why nothing determines the accelerations at this state, in the names of the problem; nothing where they are
        determined.
        """
        return why_undefined(self)

    @cached_property
    def deviation_matrix(self) -> Array:
        """H of d(y, w)/dt = H (y, w), at this state."""
        m, r = len(self.deviation), len(self.deviation_rate)
        upper = np.zeros((m, m + r))
        upper[range(m), self.equations.deviations.follows] = 1
        return np.vstack([upper, self.law_matrix])

    # ── along and across the program ──────────────────────────────────────────────────────────────

    @cached_property
    def tangent_basis(self) -> Array:
        """An orthonormal basis of the directions that J leaves free, as columns."""
        r, n = self.jacobian.shape
        if not r:
            return np.eye(n)
        _, sizes, vt = np.linalg.svd(self.jacobian)
        rank = int((sizes > 1e-12 * sizes[0]).sum()) if sizes.size and sizes[0] > 0 else 0
        return vt[rank:].T

    @cached_property
    def pseudo_inverse(self) -> Array:
        """J⁺ = Jᵀ (J Jᵀ)⁻¹."""
        return np.linalg.pinv(self.jacobian)

    def decompose(self, vector: Sequence[float]) -> tuple[Array, Array]:
        """A displacement as its part along the program and its (Euclidean) normal part."""
        given = np.asarray(vector, dtype=float)
        normal = self.pseudo_inverse @ (self.jacobian @ given)
        return given - normal, normal

    def cross_product(self, *rows: Sequence[float]) -> Array:
        """The generalised vector product [J C]: orthogonal to the rows of J and to the further rows C.

            vᵢ = det(eᵢ ; J ; C)

        It needs n − 1 rows in all.
        """
        n = self.jacobian.shape[1]
        matrix = np.vstack([self.jacobian, *(np.asarray(row, dtype=float).reshape(1, -1) for row in rows)])
        if matrix.shape != (n - 1, n):
            lacking = n - 1 - len(self.jacobian)
            raise BadRequest(f"the product needs {lacking} further rows of {n} numbers", fix="give them as C")
        minors = [np.linalg.det(np.delete(matrix, i, axis=1)) for i in range(n)]
        return np.array([(-1) ** i * minor for i, minor in enumerate(minors)])

    def norm(self, weights: Mapping[str, float] | None = None) -> float:
        """‖(y, w)‖ with weights by name (``{"y_rod": 10}``; 1 where not given)."""
        names = self.equations.deviation_names
        given = dict(weights or {})
        unknown = set(given) - set(names)
        if unknown:
            name = unknown.pop()
            raise BadRequest(
                f"there is no deviation {name!r}", fix=did_you_mean(name, names, "known: " + ", ".join(names))
            )
        scale = np.array([given.get(name, 1.0) for name in names])
        return float(np.linalg.norm(scale * np.concatenate([self.deviation, self.deviation_rate])))

    @property
    def geometric_distance(self) -> float:
        """The distance of (q, v) from the program to first order: ‖Z⁺ z‖, Z = ∂(y, w)/∂(q, v)."""
        deviations = np.concatenate([self.deviation, self.deviation_rate])
        return float(np.linalg.norm(np.linalg.pinv(self.deviation_jacobian) @ deviations)) if deviations.size else 0.0


def values_at(
    equations: Equations,
    state: StateLike | None,
    time: float | None,
    parameters: Mapping[Any, Any],
) -> Values:
    """Evaluate the equations at one state; the evaluator is made once per `Equations`."""
    constants = parameter_vector(equations, parameters)
    vector = state_vector(equations, state, dict(zip(equations.parameter_names, constants, strict=True)))
    moment = equations.problem.run.begin if time is None else float(time)
    layout = layout_of(equations)
    numbers = layout.tape([moment, *vector, *constants])
    return Values(equations=equations, time=moment, state=_fixed(vector), **layout.arrays(numbers))


def parameter_vector(equations: Equations, given: Mapping[Any, Any]) -> list[float]:
    """Parameters and gains in the field's order, with some values replaced."""
    values, named = dict(equations.stated_values), by_name(given, where="parameters")
    names = equations.problem.names
    equations.require_numbers(named)
    for name, value in named.items():
        if name not in values:
            names.find(name, (Parameter,), where="parameters")
        values[name] = _number(equations, value, f"parameters.{name}", {})
    if named:
        require_closed(equations.problem.system, values)
    return [values[name] for name in equations.parameter_names]


def state_vector(equations: Equations, given: StateLike | None, parameters: Mapping[str, float]) -> list[float]:
    """The state (q, v, s) from a mapping over the start, or from an array as it is."""
    if given is not None and not isinstance(given, Mapping):
        try:
            vector = [float(x) for x in given]
        except (TypeError, ValueError):
            raise BadRequest(
                f"{given!r} is not a state",
                fix="give values by name, or numbers for " + ", ".join(equations.state_names),
            ) from None
        if len(vector) != len(equations.state_names):
            raise BadRequest(
                f"the state has {len(equations.state_names)} components, not {len(vector)}",
                fix="their order: " + ", ".join(equations.state_names),
            )
        return vector
    values = start_values(equations.problem, parameters)
    names = equations.problem.names
    if equations.problem.program.keep:
        constants = [parameters[name] for name in equations.parameter_names]
        own = [values[name] for name in equations.state_names]
        own = settled(equations, own, constants, equations.problem.run.begin, equations.problem.start)
        values = dict(zip(equations.state_names, own, strict=True))
    values |= {name: 0.0 for name in equations.deviations.states}  # on the program
    for name, value in equations.by_state_name(given or {}, where="state").items():
        known = name if name in values else names.find(name, (Coordinate, Rate, State), where="state").name
        values[known] = _number(equations, value, f"state.{name}", parameters)
    return [values[name] for name in equations.state_names]


def settled(
    equations: Equations, state: Sequence[float], constants: Sequence[float], time: float, stated: Collection[str]
) -> list[float]:
    """A start at which the first integrals that are kept have the values they have there, but for stated ones."""
    program, names = equations.problem.program, equations.state_names
    kept = {name: row for name, row in kept_states(program).items() if name not in stated}
    if not kept:
        return list(state)
    found = [0.0 if name in kept else x for name, x in zip(names, state, strict=True)]
    place = {name: names.index(name) for name in kept}
    deviations = dict(zip(program.holonomic, equations.deviations.y, strict=False))
    rates = dict(zip(program.constraints, equations.deviations.w, strict=True))
    rows = tuple(deviations.get(row, rates[row]) for row in kept.values())
    tape = equations.deviations.memo.once((settled, tuple(kept)), lambda: Tape(equations.field.inputs, rows))
    for name, value in zip(kept, tape([time, *found, *constants]), strict=True):
        found[place[name]] = value  # I - 0 at the start
    return found


def _number(equations: Equations, value: Any, where: str, parameters: Mapping[str, float]) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    expression = equations.problem.names.admit(value, CONSTANT if parameters else (), where=where)
    return constant_value(expression, parameters, where=where, definitions=equations.problem.system.definitions)


class StateLayout:
    """Where each quantity lies in the list of outputs of the one evaluator."""

    def __init__(self, equations: Equations) -> None:
        parts, inputs = equations.solution, equations.inputs
        n, r, m = len(inputs.q), len(equations.constraints), len(equations.deviations.y)
        total, *by_part = equations.held_forces_nodes
        z = [*equations.deviations.y, *equations.deviations.w]
        from holdfast.graph.derivatives import jacobian

        self._names = tuple(equations.observables)
        zero = inputs.graph.zero
        self._blocks: dict[str, tuple[list[Node], tuple[int, ...]]] = {
            "accelerations": (list(parts.accelerations), (n,)),
            "mu": (list(parts.mu), (r,)),
            "mu_parts": ([node for part in parts.mu_parts for node in part], (3, r)),
            "held_forces": (list(total), (n,)),
            "held_force_parts": ([node for part in by_part for node in part], (3, n)),
            "excess_bias": (list(parts.excess_bias), (n,)),
            "demand": (list(parts.demand), (r,)),
            "deviation": (list(equations.deviations.y), (m,)),
            "deviation_rate": (list(equations.deviations.w), (r,)),
            "mass_matrix": (_dense(equations.dynamics.mass, n, zero), (n, n)),
            "bias": (list(equations.dynamics.bias), (n,)),
            "jacobian": (_dense(equations.deviations.jacobian, n, zero), (r, n)),
            "drift_term": (list(equations.deviations.drift), (r,)),
            "through": (_dense(equations.deviations.through_rows, r, zero), (r, r)),
            "holders": (_dense(equations.holders, r, zero), (n, r)),
            "deviation_jacobian": (_dense(jacobian(z, (*inputs.q, *inputs.v)), 2 * n, zero), (m + r, 2 * n)),
            "law_matrix": (_dense(equations.demand_law.matrix, m + r, zero), (r, m + r)),
            "observables": (list(equations.observables.values()), (len(self._names),)),
        }
        friction = equations.friction
        pivots, k = () if friction is None else friction.pivots, 0 if friction is None else len(friction.constraints)
        answer = [] if friction is None else _dense(friction.answer, k, zero)
        self._blocks |= {
            "friction_answer": (answer, (k, k)),
            "friction_left": ([pivot.value / pivot.scale for pivot in pivots[k:]], (k,)),
            "friction_pivots": ([pivot.value for pivot in pivots], (2 * k,)),
        }
        outputs = [node for nodes, _ in self._blocks.values() for node in nodes]
        self.tape = Tape(equations.field.inputs, tuple(outputs))

    def arrays(self, numbers: Sequence[float]) -> dict[str, Any]:
        """The flat list of outputs, cut into arrays by name."""
        cut, at = {}, 0
        for name, (nodes, shape) in self._blocks.items():
            cut[name] = _fixed(numbers[at : at + len(nodes)]).reshape(shape)
            at += len(nodes)
        observed = dict(zip(self._names, cut.pop("observables").tolist(), strict=True))
        return {**cut, "observables": observed}


def layout_of(equations: Equations) -> StateLayout:
    """The layout of these equations, made once and shared by all laws of the same form."""
    key = (layout_of, equations.second_order)  # laws of the same form share the inputs, hence the graph
    return equations.inputs.memo.once(key, lambda: StateLayout(equations))


def _dense(rows: Rows, columns: int, zero: Node) -> list[Node]:
    return [row.get(j, zero) for row in rows for j in range(columns)]


def _fixed(numbers: Sequence[float]) -> Array:
    array = np.array(numbers, dtype=float)
    array.flags.writeable = False
    return array


def _condition_on_range(mass: Array, jacobian: Array) -> float:
    """The condition number of J in units of the masses, on the directions that it has: repeats do not count."""
    if not (np.isfinite(mass).all() and np.isfinite(jacobian).all()):
        return float("inf")
    inertia = np.sqrt(np.abs(np.diag(mass)))
    sizes = np.linalg.svd(scaled_rows(jacobian / np.where(inertia > 0, inertia, 1.0)), compute_uv=False)
    counted = sizes[sizes > ZERO_SINGULAR_VALUE * sizes[0]]
    return float((counted[0] / counted[-1]) ** 2) if counted.size else float("inf")


def _condition(matrix: Array) -> float:
    """The condition number; infinite where an entry is not a number, for which there is no decomposition."""
    return float(np.linalg.cond(matrix)) if np.isfinite(matrix).all() else float("inf")
