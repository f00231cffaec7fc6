"""The energy of a run: whether anything may change it, and how much it changed where nothing may."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holdfast.common.memo import remembered
from holdfast.engine.run.rows import Rows
from holdfast.equations.equations import Equations
from holdfast.equations.values import values_at
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.nodes import ancestors, substitute
from holdfast.problem.bodies.joints import Step
from holdfast.problem.quantities import time
from holdfast.problem.system import System
from holdfast.results.judgement.few_steps import kept_energy, made_by_few_steps
from holdfast.results.start.term_sizes import EPSILON, energy_size

ROUNDINGS = 64 * EPSILON  # of the terms of the energy, in each step


def conservative(equations: Equations) -> bool:
    """Whether nothing does work: no forces, losses, controls, noise, states, changing masses or time."""
    system = equations.problem.system
    return undriven(equations) and bool(system.dissipation == 0) and not system.forces


@remembered
def undriven(equations: Equations) -> bool:
    """Whether nothing but forces can raise the energy: as `conservative`, with losses and forces allowed.

    Quaternions of bodies are states that only tell how these are turned. Ideal reactions of rows that are homogeneous
    in the rates, w = J v, do the power λ w, which is nothing on the program.
    """
    system, program = equations.problem.system, equations.problem.program
    states = set(system.states) - {name for step in _balls(system) for name in step.states}
    others = (states, system.noise, system.masses, program.controls)
    bodies = [part for body in system.bodies.values() for part in (body.mass, *(body.center or ()), *body.inertia)]
    stated = (system.kinetic, system.potential, *program.holonomic.values(), *bodies)
    timely = any(time in equations.problem.names.dependence(expression) for expression in stated)
    return not any(others) and not timely and all(_homogeneous(equations, name) for name in program.nonholonomic)


def _homogeneous(equations: Equations, constraint: str) -> bool:
    """Whether a constraint is linear in the rates, and asks for none."""
    deviations, inputs = equations.deviations, equations.inputs
    place = equations.constraints.index(constraint)
    if not set(inputs.v).isdisjoint(ancestors(deviations.jacobian[place].values())):
        return False
    (at_rest,) = substitute([deviations.w[place]], dict.fromkeys(inputs.v, inputs.graph.zero))
    return at_rest is inputs.graph.zero


def _balls(system: System) -> tuple[Step, ...]:
    return () if system.frames is None else system.frames.layout.balls


def energy_lost(equations: Equations, rows: Rows, constants: Sequence[float]) -> tuple[float, float]:
    """The largest change of energy as a part of the energy in motion, and when; rounding of its terms is no change.

    Where there are losses or forces, only a rise counts, and only if at no row they feed the motion.
    """
    energy = rows.observables[:, energy_places(equations)[1]]
    change = energy - energy[0]
    if not conservative(equations):
        names = list(equations.observables)
        power = rows.observables[:, [names.index("power_dissipation"), names.index("power_forces")]].sum(axis=1)
        if not power.max() <= 0:
            return 0.0, float(rows.times[0])
        change = np.maximum(change, 0.0)
    return _part_of(equations, rows, constants, np.abs(change))


def correction_work(equations: Equations, rows: Rows, constants: Sequence[float]) -> tuple[float, float]:
    """The largest work of the corrections as a part of the energy in motion, and when; quadrature errors left out."""
    place = list(equations.observables).index("power_correction")
    power, steps = rows.observables[:, place], np.diff(rows.times)
    work = np.concatenate([[0.0], np.cumsum((power[1:] + power[:-1]) / 2 * steps)])
    coarse = np.concatenate(
        [[0.0], np.cumsum((power[2::2] + power[:-2:2]) / 2 * (rows.times[2::2] - rows.times[:-2:2]))]
    )
    unsure = np.abs(work[::2][: len(coarse)] - coarse).max(initial=0.0)
    return _part_of(equations, rows, constants, np.maximum(np.abs(work) - unsure, 0.0))


def _part_of(equations: Equations, rows: Rows, constants: Sequence[float], change: np.ndarray) -> tuple[float, float]:
    """The largest of some energies as a part of the energy in motion, and when; 0 where it is rounding noise."""
    kinetic, energy = (rows.observables[:, place] for place in energy_places(equations))
    worst = int(np.nan_to_num(change, nan=-1.0).argmax())
    lost, moving = float(change[worst]), max(float(np.abs(kinetic).max()), float(np.ptp(energy)))
    if not lost > 0.01 * moving:
        return (lost / moving if moving else 0.0), float(rows.times[worst])
    sizes = energy_size(equations)
    terms = [
        sizes.rounding(float(rows.times[k]), rows.states[k].tolist(), constants) for k in (0, len(rows.times) // 2)
    ]
    floor = ROUNDINGS * (rows.steps + 1) * float(np.nanmax(terms)) + _rounding_energy(equations, rows, constants)
    floor += _rounding_work(equations, rows, constants)
    floor += float(made_by_few_steps(kept_energy(equations), equations, rows, np.array([worst]), constants)[0, 0])
    return (lost / moving if lost > floor else 0.0), float(rows.times[worst])


def _rounding_energy(equations: Equations, rows: Rows, constants: Sequence[float]) -> float:
    """The kinetic energy of rates that are nothing but rounding of the coordinates, once in each step."""
    n, span = len(equations.coordinates), float(rows.times[-1] - rows.times[0])
    if not span > 0:
        return 0.0
    largest = np.abs(rows.states[:, :n]).max()
    rates = rows.states[0].copy()
    rates[n : 2 * n] = ROUNDINGS * largest * (rows.steps + 1) / span
    place = energy_places(equations)[0]
    node = list(equations.observables.values())[place]
    (value,) = Tape(equations.field.inputs, (node,))([float(rows.times[0]), *rates.tolist(), *constants])
    return abs(float(value)) if np.isfinite(value) else 0.0


def _rounding_work(equations: Equations, rows: Rows, constants: Sequence[float]) -> float:
    """What forces would do along the way that rounding of them alone makes: of something held at rest at the origin,
    neither coordinates nor rates have a size.
    """
    span = float(rows.times[-1] - rows.times[0])
    parameters = dict(zip(equations.parameter_names, constants, strict=True))
    values = values_at(equations, rows.states[0].tolist(), float(rows.times[0]), parameters)
    inertia = np.abs(np.diag(values.mass_matrix))
    forces = np.abs(values.bias) + np.abs(values.holders) @ np.abs(values.mu)
    with np.errstate(all="ignore"):
        away = ROUNDINGS * np.where(inertia > 0, forces / inertia, 0.0) * span**2
        found = float((forces * away).sum())
    return found if np.isfinite(found) else 0.0


@remembered
def energy_places(equations: Equations) -> tuple[int, int]:
    """Which observables are the kinetic and the whole energy."""
    names = list(equations.observables)
    return names.index("kinetic"), names.index("energy")
