"""Penalty: the rival of a law, measured beside it.

    M a = h − Jᵀ f,     f = (ω² y + 2ω w)/σ  (holonomic),   ω w/σ  (velocity constraints)

where nothing is held, and springs and dampers push back what has left the program: y'' = −ω² y − 2ω w + what the motion
itself does to y. σ is the diagonal of J M⁻¹ Jᵀ at the start, so that ω is the rate of the penalty for each constraint,
and k = ω²/σ (c = ω/σ) its strength. Unlike a law it keeps a program up to (what the motion does)/ω² only, and the fast
rate ω that makes this small must be resolved by the step. Critical damping; none where controls hold the program.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from holdfast.engine.kernel import compiled
from holdfast.equations.equations import Equations
from holdfast.graph.field import Field
from holdfast.graph.nodes import Node
from holdfast.stability.tuning.trials import MeasuredGains, Trials

DECADES = 3.0  # of rates below 1/step that are tried
STEPS = 10  # of them


def penalty_rates(trials: Trials) -> np.ndarray:
    """Rates up to what a step resolves, 1/step; for an adaptive scheme, up to a thousand times the motion's own."""
    request = trials.request
    fastest = 1 / request.step if request.step is not None else 10**DECADES * trials.motion_rate
    return np.asarray(fastest * 10 ** np.linspace(-DECADES, 0, STEPS))


def measured_penalty(trials: Trials, rates: np.ndarray) -> MeasuredGains | None:
    """The three numbers of penalties of these rates; nothing where there is none to compare with."""
    equations = trials.equations
    sizes = _authority_sizes(trials)
    if equations.friction is not None:
        return None  # a penalty has no reaction that friction could use
    if equations.problem.program.controls or equations.mass_factor is None or sizes is None:
        return None
    field = _field(equations, trials.watched)
    constants = np.hstack([np.tile([*trials.constants, *sizes], (len(rates), 1)), rates[:, None]])
    return trials.measure_field(compiled(field, trials.request.scheme), constants)


def strength(trials: Trials, rate: float) -> dict[str, float]:
    """k = ω²/σ of each holonomic constraint, and c = ω/σ of each velocity constraint."""
    sizes = _authority_sizes(trials)
    assert sizes is not None
    power = [2 if name in trials.holonomic else 1 for name in trials.constraints]
    return {name: rate**p / size for name, p, size in zip(trials.constraints, power, sizes, strict=True)}


def _authority_sizes(trials: Trials) -> list[float] | None:
    equations, begin = trials.equations, trials.request.begin
    parameters = dict(zip(equations.parameter_names, trials.constants.tolist(), strict=True))
    at = equations.evaluate(trials.state.tolist(), begin, parameters=parameters)
    try:
        found = np.einsum("ij,ji->i", at.jacobian, np.linalg.solve(at.mass_matrix, at.jacobian.T))
    except np.linalg.LinAlgError:
        return None
    return found.tolist() if np.isfinite(found).all() and (found > 0).all() else None


def _field(equations: Equations, watched: Field) -> Field:
    """The field of the penalised motion; σ and the rate are parameters, so that one compilation serves all starts."""
    inputs, deviations, mass = equations.inputs, equations.deviations, equations.mass_factor
    assert mass is not None
    rate = inputs.graph.input("penalty.rate")
    sizes = [inputs.graph.input(f"penalty.size.{name}") for name in equations.constraints]
    forces: list[Node] = list(equations.dynamics.bias)
    for k, (row, w, size) in enumerate(zip(deviations.jacobian, deviations.w, sizes, strict=True)):
        push = rate * w
        if k < len(deviations.y):
            push = rate * rate * deviations.y[k] + push + push
        push = push / size
        for j, slope in row.items():
            forces[j] = forces[j] - slope * push
    return replace(
        watched,
        parameters=(*watched.parameters, *sizes, rate),
        rates=(*inputs.v, *mass.solve(forces), *inputs.state_rates),
        pivots=tuple(pivot.value for pivot in mass.pivots),
        scales=tuple(pivot.scale for pivot in mass.pivots),
    )
