"""Where a run starts: on the program as far as reactions hold it, and never with a deviation left unsaid."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.engine.kernel import Kernel, compiled
from holdfast.equations.equations import Equations
from holdfast.equations.values import parameter_vector, state_vector, values_at
from holdfast.errors import BadRequest
from holdfast.graph.nodes import Node
from holdfast.problem.frozen import Frozen
from holdfast.results.projection import Projection
from holdfast.results.rounding import CLOSE, OFF, deviation_units
from holdfast.schemes.euler import EULER

SAME = 1e-13  # a change this small, relative to the value, is rounding


@dataclass(frozen=True, slots=True)
class Start:
    """The state a run starts from, what was changed to get there, and the deviations that remain."""

    policy: str
    state: tuple[float, ...]
    changes: Frozen[tuple[float, float]]  # name -> (stated, used)
    deviation: Frozen[float]  # y_ and w_ by name, at the state used
    units: Frozen[float] = Frozen()  # of the deviations whose terms are so large that rounding counts (see `rounding`)

    @property
    def off(self) -> dict[str, float]:
        """The deviations that count."""
        return {name: value for name, value in self.deviation.items() if abs(value) > OFF * self.units.get(name, 1.0)}

    @property
    def on_program(self) -> bool:
        return not self.off

    def __str__(self) -> str:
        moved = ", ".join(f"{name}: {old:.10g} -> {new:.10g}" for name, (old, new) in self.changes.items())
        off = ", ".join(f"{name} = {value:.6g}" for name, value in self.off.items())
        if moved:
            return f"the start was moved onto the program: {moved}" + (f"; it deviates: {off}" if off else "")
        return f"the start deviates: {off}" if off else "the start keeps the program"


def consistent_start(
    equations: Equations,
    given: Mapping[Any, Any] | Sequence[float] | None,
    policy: str | None,
    parameters: Mapping[Any, Any],
    begin: float,
    kernel: Kernel | None = None,
) -> Start:
    """The start that is stated, with `given` values in place of some, under a policy (see `started`)."""
    constants = parameter_vector(equations, parameters)
    stated = state_vector(equations, given, dict(zip(equations.parameter_names, constants, strict=True)))
    kernel = kernel or compiled(equations.field, EULER)
    return started(equations, kernel, np.array(stated), constants, policy, begin)


def started(
    equations: Equations,
    kernel: Kernel,
    stated: np.ndarray,
    constants: Sequence[float],
    policy: str | None,
    begin: float,
) -> Start:
    """A start under a policy: ``project`` moves it onto the program, ``keep`` takes it as it is, ``raise`` refuses it.

    Without a policy, constraints held by reactions are projected and those held by controls keep their deviation.
    """
    policy, projected = chosen_policy(equations, policy)
    _refuse_infinite(equations, stated)
    refuse_undefined(equations, kernel, stated, begin, constants)
    deviation, used = deviations_at(equations, kernel, stated, constants, begin), stated
    if any(abs(deviation[name]) > CLOSE for name in deviation_names(equations, projected)):
        used = Projection(equations, projected).of(stated, begin, constants)
        refuse_undefined(equations, kernel, used, begin, constants)
        deviation = deviations_at(equations, kernel, used, constants, begin)
    start = start_from(equations, policy, stated, used, deviation, begin, constants)
    if policy == "raise":
        refuse_deviation(start.off)
    return start


def deviation_names(equations: Equations, constraints: Sequence[str] | None = None) -> tuple[str, ...]:
    """The names y_ and w_ of some constraints (of all, if none are given), in the order of the observables."""
    chosen = equations.constraints if constraints is None else constraints
    known = {f"{letter}_{name}" for name in chosen for letter in "yw"}
    return tuple(name for name in equations.observables if name in known)


def deviations_at(
    equations: Equations, kernel: Kernel, state: np.ndarray, constants: Sequence[float], time: float
) -> dict[str, float]:
    """y_ and w_ by name at one state."""
    values = kernel.observe(np.array([time]), np.array([state]), constants)[0].tolist()
    found = dict(zip(equations.observables, values, strict=True))
    return {name: found[name] for name in deviation_names(equations)}


def chosen_policy(equations: Equations, policy: str | None) -> tuple[str, tuple[str, ...]]:
    """The policy by name, the problem's own where none is given, and the constraints it projects onto."""
    program = equations.problem.program
    name = policy or equations.problem.run.start_policy or "default"
    projected: dict[str, tuple[str, ...]] = {
        "keep": (), "raise": (), "project": program.constraints, "default": program.held_by_reaction,
    }  # fmt: skip
    if name not in projected:
        raise BadRequest(f"start_policy = {policy!r} is not known", fix='"project", "keep" or "raise"')
    return name, tuple(projected[name])


def off_program(
    equations: Equations, deviation: np.ndarray, states: np.ndarray, time: float, constants: np.ndarray
) -> np.ndarray:
    """Which deviations of (cases, deviations) count, at the states and constants of their cases."""
    off: np.ndarray = np.abs(deviation) > OFF
    cases = np.nonzero(off.any(axis=1))[0]
    if len(cases):
        units = deviation_units(equations, _deviation_nodes(equations), states[cases], time, constants[cases])
        off[cases] = np.abs(deviation[cases]) > OFF * units
    return off


def _deviation_nodes(equations: Equations) -> list[Node]:
    return [equations.observables[name] for name in deviation_names(equations)]


def start_from(
    equations: Equations,
    policy: str,
    stated: np.ndarray,
    used: np.ndarray,
    deviation: Mapping[str, float],
    begin: float,
    constants: Sequence[float],
) -> Start:
    """The report of a start: what was stated, what is used, and what deviates there."""
    units: dict[str, float] = {}
    if any(abs(value) > OFF for value in deviation.values()):
        found = deviation_units(equations, _deviation_nodes(equations), used[None], begin, np.array([constants]))[0]
        units = {name: float(unit) for name, unit in zip(deviation, found, strict=True) if unit > 1}
    changed = {
        name: (float(old), float(new))
        for name, old, new in zip(equations.state_names, stated, used, strict=True)
        if abs(new - old) > SAME * (1 + abs(old))
    }
    return Start(policy, tuple(used.tolist()), Frozen(changed), Frozen(deviation), Frozen(units))


def _refuse_infinite(equations: Equations, stated: np.ndarray) -> None:
    for name, value in zip(equations.state_names, stated.tolist(), strict=True):
        if not math.isfinite(value):
            raise BadRequest(f"the start value of {name!r} is {value}", where="start", fix="give a finite number")


def refuse_undefined(
    equations: Equations, kernel: Kernel, state: np.ndarray, begin: float, constants: Sequence[float]
) -> None:
    """Refuse a start at which the equations are not defined, and say what is missing there if that is known."""
    rates = kernel.rates(begin, state, constants)
    if np.isfinite(rates).all():
        return
    parameters = dict(zip(equations.parameter_names, constants, strict=True))
    reason = values_at(equations, state.tolist(), begin, parameters).singularity
    if reason is not None:
        raise reason
    n = len(equations.coordinates)
    for k, (name, value) in enumerate(zip(equations.state_names, rates.tolist(), strict=True)):
        if not np.isfinite(value):
            what = (
                f"the acceleration of {equations.coordinates[k - n]!r}" if n <= k < 2 * n else f"the rate of {name!r}"
            )
            raise BadRequest(
                f"the equations are not defined at the start: {what} is {value}",
                where="start",
                fix="start elsewhere: a divisor vanishes or a function is outside its domain there",
            )


def refuse_deviation(off: Mapping[str, float], where: str = "start") -> None:
    """What the policy "raise" does: name the constraint that is violated most, if one is."""
    if off:
        name, value = max(off.items(), key=lambda item: abs(item[1]))
        raise BadRequest(
            f"the start violates the program: {name} = {value:.6g}",
            where=where,
            fix='correct it, or let start_policy="project" move it',
        )
