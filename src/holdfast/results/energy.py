"""The energy of a run: whether anything may change it, and how much it changed where nothing may."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holdfast.engine.rows import Rows
from holdfast.equations.equations import Equations
from holdfast.problem.quantities import time
from holdfast.results.rounding import EPSILON, energy_size

ROUNDINGS = 64 * EPSILON  # of the terms of the energy, in each step


def conservative(equations: Equations) -> bool:
    """Whether nothing does work: no forces, losses, controls, noise, states, changing masses or time."""
    kept = equations.__dict__
    if "_conservative" not in kept:
        system, program = equations.problem.system, equations.problem.program
        others = (system.forces, system.states, system.noise, system.masses, program.controls, program.nonholonomic)
        stated = (system.kinetic, system.potential, *program.holonomic.values())
        kept["_conservative"] = (
            not any(others)
            and system.dissipation == 0
            and not any(time in system.vocabulary.dependence(expression) for expression in stated)
        )
    return bool(kept["_conservative"])


def energy_lost(equations: Equations, rows: Rows, constants: Sequence[float]) -> tuple[float, float]:
    """The largest change of energy as a part of the energy in motion, and when; rounding of its terms is no change."""
    kinetic, energy = (rows.observables[:, place] for place in energy_places(equations))
    change = np.abs(energy - energy[0])
    worst = int(np.nan_to_num(change, nan=-1.0).argmax())
    lost, moving = float(change[worst]), max(float(np.abs(kinetic).max()), float(np.ptp(energy)))
    if not lost > 0.01 * moving:
        return (lost / moving if moving else 0.0), float(rows.times[worst])
    ends = [0, len(rows.times) // 2]
    terms = energy_size(equations).natural(
        rows.times[ends], rows.states[ends], np.array(constants), np.zeros(rows.states.shape[1])
    )
    floor = ROUNDINGS * (rows.steps + 1) * float(np.nanmax(terms))
    return (lost / moving if lost > floor else 0.0), float(rows.times[worst])


def energy_places(equations: Equations) -> tuple[int, int]:
    """Which observables are the kinetic and the whole energy."""
    kept = equations.__dict__
    if "_energy_places" not in kept:
        names = list(equations.observables)
        kept["_energy_places"] = (names.index("kinetic"), names.index("energy"))
    found: tuple[int, int] = kept["_energy_places"]
    return found
