"""`step_condition`: the papers' condition on a step, with H', H'', ... taken along the motion.

    u̇ = H(x(t), t) u,   u⁽ˢ⁾ = H_s u,   H₁ = H,   H_{s+1} = dH_s/dt + H_s H
    ‖I + Σ_{s ≤ order} τˢ/s! H_s‖_P ≤ γ < 1   and   defect ≤ (1 − γ) ε

dH/dt = ∂H/∂t + H_q v + H_v a on the graph, with the accelerations that are run. A constant H is judged by the scheme's
own propagator, for all states at once; one that varies at the states of a run, or at one state, and the answer is
*checked* there and says nothing of others. P is that of V where one is given, else one norm for all the states.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.common.arguments import clear_arguments
from holdfast.equations.equations import Equations
from holdfast.equations.values import parameter_vector, state_vector
from holdfast.errors import BadRequest
from holdfast.graph.derivatives import directional
from holdfast.graph.nodes import Node, ancestors
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.by_name import scheme_named
from holdfast.schemes.kinds.scheme import Scheme
from holdfast.stability.linear.common_norm import common_norm
from holdfast.stability.linear.norms import Norm, stein
from holdfast.stability.linear.shape import Array
from holdfast.stability.linear.step_limit import (
    StepCondition,
    judged_step,
    taylor_condition,
    taylor_matrices,
    taylor_propagator,
)
from holdfast.stability.sampling import Batch
from holdfast.stability.theory.lyapunov import LyapunovFunction
from holdfast.stability.theory.lyapunov_study import LyapunovStudy
from holdfast.stability.theory.region import require_equations

MOST_ORDER = 4  # of the Taylor matrices of a varying H: the papers' schemes
MATRICES = 60  # states, spread over the run, from which one norm is sought; it is judged at all of them


@dataclass(frozen=True, eq=False)
class MotionStepCondition:
    """γ = max ‖I + Σ τˢ/s! H_s‖_P over the states looked at, with the worst of them."""

    scheme: str
    step: float
    condition: StepCondition
    norm: Norm
    constant: bool  # whether H is, so that the answer holds for all states
    count: int  # states looked at
    worst_time: float
    matrices: tuple[Array, ...]  # H_1 … H_order at the worst state

    @property
    def contraction(self) -> float:
        return self.condition.contraction

    @property
    def contracts(self) -> bool:
        return self.condition.contracts

    @property
    def holds(self) -> bool | None:
        """Whether the step contracts and the defect is small enough; None while the defect is not known."""
        return self.condition.holds

    @property
    def label(self) -> str:
        return "for all states" if self.constant else f"checked at {self.count} state" + "s" * (self.count != 1)

    def __str__(self) -> str:
        return f"{self.scheme}, step {self.step:g}: {self.condition.reason} ({self.label})."

    def to_dict(self) -> dict[str, Any]:
        return {
            "scheme": self.scheme,
            "step": self.step,
            "contraction": self.contraction,
            "holds": self.holds,
            "reason": self.condition.reason,
            "label": self.label,
            "worst_time": self.worst_time,
            "matrices": [matrix.tolist() for matrix in self.matrices],
        }


@clear_arguments
def step_condition(
    equations: Equations,
    scheme: Scheme | str,
    step: float,
    *,
    V: LyapunovStudy | LyapunovFunction | Norm | None = None,
    run: Trajectory | None = None,
    constraints: tuple[str, ...] | None = None,
    epsilon: float = 1.0,
    defect: float | None = None,
    parameters: Mapping[Any, Any] | None = None,
) -> MotionStepCondition:
    """Whether one step of a scheme contracts the deviations, in the norm of V or in one that is sought.

    `run` gives the states at which an H that varies is looked at (the start alone without one); `constraints` are those
    of V, or all. `epsilon` and `defect` are measured in the same norm.
    """
    require_equations(equations)
    equations.require_unlimited("step_condition")
    chosen, size = scheme_named(scheme), float(step)
    if not size > 0:
        raise BadRequest(f"a step of {size:g}", where="step", fix="give a positive step")
    if run is not None:
        _require_own(equations, run)
    wanted = V.constraints if isinstance(V, LyapunovStudy) else constraints
    law = _VaryingLaw(equations, wanted, dict(run.parameters) if run is not None else parameters or {})
    if law.constant:
        order, jets = 1, law.jets(1, run)[:, :1]
    else:
        order = _order(chosen)
        jets = law.jets(order, run)
    steps = _propagators(chosen, jets, size, order, law.constant)
    norm = _norm(V, steps, law.names)
    sizes = np.array([norm.of_matrix(matrix) for matrix in steps])
    worst = int(sizes.argmax())
    if law.constant and chosen.name != "euler":
        found = judged_step(float(sizes[worst]), epsilon, defect)
    else:
        found = taylor_condition(list(jets[worst]), size, order, norm, tolerance=epsilon, defect=defect)
    times = equations.problem.run.begin if run is None else run.times[worst]
    shown = tuple(taylor_matrices(list(jets[worst]), min(chosen.order, MOST_ORDER)))
    return MotionStepCondition(chosen.name, size, found, norm, law.constant, len(steps), float(times), shown)


def _require_own(equations: Equations, run: Trajectory) -> None:
    """H' is taken along the motion of these equations, so the run must be one of theirs."""
    asked, made = equations.problem, run.problem
    if made is None or (asked.system, asked.program) != (made.system, made.program):
        raise BadRequest("the run was made by another system, program or law", where="run", fix="give a run of these")


def _order(scheme: Scheme) -> int:
    if scheme.order > MOST_ORDER or not scheme.explicit or scheme.adaptive:
        raise BadRequest(
            f"H varies along the motion: its Taylor matrices are for explicit schemes of order {MOST_ORDER} at most",
            where="scheme",
            fix="euler, midpoint, heun, hf.two_stage(alpha), kutta3 or rk4",
        )
    return scheme.order


def _propagators(scheme: Scheme, jets: Array, step: float, order: int, constant: bool) -> list[Array]:
    if constant:
        return [np.asarray(scheme.propagator(jets[0, 0], step))]
    return [taylor_propagator(list(jet), step, order) for jet in jets]


def _norm(V: Any, steps: list[Array], names: tuple[str, ...]) -> Norm:
    """P of V; else Stein's for one matrix, or one for many; the Euclidean one where no norm makes them contract."""
    if V is not None:
        norm = V if isinstance(V, Norm) else (V if isinstance(V, LyapunovFunction) else V.function).norm
        if len(norm.matrix) != len(names):
            raise BadRequest(
                f"V speaks of {len(norm.matrix)} deviations, the law of {len(names)}: {', '.join(names)}",
                where="V",
                fix="name the constraints of V: constraints=(...)",
            )
        return norm
    radius = max(float(np.abs(np.linalg.eigvals(matrix)).max()) for matrix in steps)
    if radius >= 1:
        return Norm(np.eye(len(names)), "Euclidean")
    if len(steps) == 1:
        return stein(steps[0])
    spread = np.unique(np.linspace(0, len(steps) - 1, MATRICES).astype(int))
    return common_norm([steps[k] for k in spread], discrete=True).norm


class _VaryingLaw:
    """H of some constraints on the graph, and its derivatives along the motion."""

    def __init__(
        self, equations: Equations, constraints: tuple[str, ...] | None, parameters: Mapping[Any, Any]
    ) -> None:
        self._equations, self._parameters = equations, parameters
        program = equations.problem.program
        wanted = program.constraints if constraints is None else tuple(constraints)
        unknown = [name for name in wanted if name not in program.constraints]
        if unknown or not wanted:
            what = f"there is no constraint {unknown[0]!r}" if unknown else "there is nothing to hold"
            raise BadRequest(what, where="constraints", fix="constraints: " + ", ".join(program.constraints))
        self.names = equations.deviations.names_of(wanted)
        self._entries = self._matrix()
        moving = {equations.inputs.time, *equations.inputs.q, *equations.inputs.v, *equations.inputs.s}
        self.constant = not moving & set(ancestors(self._entries))

    def _matrix(self) -> list[Node]:
        """H, dense: rows dy/dt = w, then dw/dt = K y + B w."""
        equations, graph, deviations = self._equations, self._equations.inputs.graph, self._equations.deviations
        names, rows = equations.deviation_names, equations.demand_law.matrix
        columns, m = [names.index(name) for name in self.names], len(deviations.y)
        entries = []
        for place in columns:
            row = {deviations.follows[place]: graph.one} if place < m else rows[place - m]
            outside = [names[j] for j in row if j not in columns]
            if outside:
                raise BadRequest(
                    f"the law of {deviations.owners[place]!r} depends on {outside[0]}, which is left out",
                    where="constraints",
                    fix="name all constraints of the block, or none",
                )
            entries += [row.get(j, graph.zero) for j in columns]
        return entries

    def jets(self, order: int, run: Trajectory | None) -> Array:
        """H, H', H'', ... up to order − 1 derivatives, at each state: (states, order, size, size)."""
        equations, inputs, size = self._equations, self._equations.inputs, len(self.names)
        nodes, current = list(self._entries), list(self._entries)
        if not self.constant:
            along = inputs.direction | dict(zip(inputs.v, equations.solution.accelerations, strict=True))
            for _ in range(order - 1):
                current = directional(current, along)
                nodes += current
        if run is None or self.constant:
            constants = dict(zip(equations.parameter_names, parameter_vector(equations, self._parameters), strict=True))
            times = np.array([equations.problem.run.begin])
            states = np.array([state_vector(equations, None, constants)])
        else:
            times, states = run.times, run.y.T
        rows = Batch.of(equations, nodes, self._parameters)(times, states)
        if not np.isfinite(rows).all():
            raise BadRequest(
                "H or a rate of it is not defined at a state looked at", fix="look at another state or run"
            )
        return rows.reshape(len(times), -1, size, size)
