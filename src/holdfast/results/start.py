"""Where a run starts: on the program as far as reactions hold it, and never with a deviation left unsaid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.equations.values import Values, parameter_vector, state_vector
from holdfast.errors import BadRequest
from holdfast.problem.frozen import Frozen

ITERATIONS = 50
CLOSE = 1e-13  # a deviation this small, relative to what it is made of, counts as none


@dataclass(frozen=True, slots=True)
class Start:
    """The state a run starts from, what was changed to get there, and the deviations that remain."""

    policy: str
    state: tuple[float, ...]
    changes: Frozen[tuple[float, float]]  # name -> (stated, used)
    deviation: Frozen[float]  # y_ and w_ by name, at the state used

    @property
    def on_program(self) -> bool:
        return not any(abs(value) > 1e-9 for value in self.deviation.values())

    def __str__(self) -> str:
        if self.changes:
            moved = ", ".join(f"{name}: {old:.6g} -> {new:.6g}" for name, (old, new) in self.changes.items())
            return f"the start was moved onto the program: {moved}"
        off = {name: value for name, value in self.deviation.items() if abs(value) > 1e-9}
        if off:
            return "the start deviates: " + ", ".join(f"{name} = {value:.6g}" for name, value in off.items())
        return "the start keeps the program"


def consistent_start(
    equations: Equations,
    given: Mapping[Any, Any] | Sequence[float] | None,
    policy: str | None,
    parameters: Mapping[Any, Any],
    begin: float,
) -> Start:
    """The start under a policy: ``project`` moves it onto the program, ``keep`` takes it as it is, ``raise`` refuses it.

    Without a policy, constraints held by reactions are projected and those held by controls keep their deviation.
    """
    program = equations.problem.program
    policy = policy or equations.problem.run.start_policy
    if policy not in (None, "project", "keep", "raise"):
        raise BadRequest(f"start_policy = {policy!r} is not known", fix='"project", "keep" or "raise"')
    constants = dict(zip(equations.parameter_names, parameter_vector(equations, parameters), strict=True))
    stated = np.array(state_vector(equations, given, constants))
    projected = {"keep": (), "raise": (), "project": program.constraints, None: program.held_by_reaction}[policy]
    values = equations.evaluate(stated, begin, parameters=parameters)
    _refuse_undefined(values)
    if policy == "raise":
        _refuse_deviation(values)
    used = Projection(equations, begin, parameters, tuple(projected)).of(stated)
    values = equations.evaluate(used, begin, parameters=parameters)
    changed = {
        name: (float(old), float(new))
        for name, old, new in zip(equations.state_names, stated, used, strict=True)
        if abs(new - old) > CLOSE * (1 + abs(old))
    }
    return Start(policy or "default", tuple(used.tolist()), Frozen(changed), Frozen(deviations(values)))


def deviations(values: Values) -> dict[str, float]:
    """y_ and w_ by name."""
    return {name: value for name, value in values.observables.items() if name.startswith(("y_", "w_"))}


def _refuse_undefined(values: Values) -> None:
    for name, value in zip(values.equations.coordinates, values.accelerations, strict=True):
        if not np.isfinite(value):
            raise BadRequest(
                f"the equations are not defined at the start: the acceleration of {name!r} is {value}",
                where="start",
                fix="start elsewhere: a divisor vanishes or a function is outside its domain there",
            )


def _refuse_deviation(values: Values) -> None:
    off = {name: value for name, value in deviations(values).items() if abs(value) > 1e-9}
    if off:
        name, value = max(off.items(), key=lambda item: abs(item[1]))
        raise BadRequest(
            f"the start violates the program: {name} = {value:.6g}",
            where="start",
            fix='correct it, or let start_policy="project" move it',
        )


class Projection:
    """The nearest state, by kinetic energy, at which some constraints hold.

        min Δqᵀ M Δq  with  y(q + Δq) = 0,     then     min Δvᵀ M Δv  with  w(q, v + Δv) = 0

    Each by Newton's iteration Δ = −M⁻¹Fᵀ (F M⁻¹ Fᵀ)⁻¹ · deviation; where M is singular, plain length takes its place.
    """

    def __init__(
        self, equations: Equations, time: float, parameters: Mapping[Any, Any], constraints: tuple[str, ...]
    ) -> None:
        self._equations, self._time, self._parameters = equations, time, parameters
        program = equations.problem.program
        self._position_rows = [k for k, name in enumerate(program.holonomic) if name in constraints]
        self._rate_rows = [k for k, name in enumerate(program.constraints) if name in constraints]

    def of(self, state: np.ndarray) -> np.ndarray:
        """The state moved onto the constraints: positions first, then rates."""
        n = len(self._equations.coordinates)
        used = self._solved(state, self._position_rows, slice(0, n), positions=True)
        return self._solved(used, self._rate_rows, slice(n, 2 * n), positions=False)

    def _solved(self, state: np.ndarray, rows: list[int], part: slice, *, positions: bool) -> np.ndarray:
        if not rows:
            return state
        used, smallest = state.copy(), np.inf
        for _ in range(ITERATIONS):
            values = self._values(used)
            deviation = (values.deviation if positions else values.deviation_rate)[rows]
            size = np.abs(deviation).max()
            if size == 0 or (size < 1e-12 and size >= smallest / 2):
                return used  # as close as rounding allows
            smallest = min(size, smallest)
            used = used.copy()
            used[part] += _correction(values, rows, deviation, positions=positions)
        if smallest < 1e-9:
            return used
        names = self._equations.constraints
        worst = names[rows[int(np.abs(deviation).argmax())]]
        raise BadRequest(
            f"no state near the start keeps constraint {worst!r}",
            where="start",
            fix='correct the start values, or keep them with start_policy="keep"',
        )

    def _values(self, state: np.ndarray) -> Values:
        return self._equations.evaluate(state, self._time, parameters=self._parameters)


def _correction(values: Values, rows: list[int], deviation: np.ndarray, *, positions: bool) -> np.ndarray:
    n = values.mass_matrix.shape[0]
    if positions:
        slope = values.deviation_jacobian[rows, :n]
    else:
        slope = values.jacobian[rows]
    try:
        np.linalg.cholesky(values.mass_matrix)
        response = np.linalg.solve(values.mass_matrix, slope.T)
    except np.linalg.LinAlgError:
        response = slope.T
    return -response @ np.linalg.lstsq(slope @ response, deviation, rcond=None)[0]
