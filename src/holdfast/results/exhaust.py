"""Which exhaust gives the thrust that the program asked for: u, β, |u − v| along a run, and where there is none.

    P = m' (u − v)      ⇒      u = v + P/m',      β_i = u_i/v_i,      |u − v| = |P|/|m'|

where P is the thrust that the controls supply to a point of mass m and velocity v, and m' the rate of its mass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holdfast.equations.derive import derive
from holdfast.equations.dynamics.masses import Point
from holdfast.equations.equations import Equations
from holdfast.equations.forms.exhaust_formulas import driven_mass
from holdfast.errors import BadRequest
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.nodes import substitute
from holdfast.results.trajectory import Trajectory

STILL = 1e-12  # a rate this small, relative to the largest of the run, counts as zero


@dataclass(frozen=True, eq=False)
class Exhaust:
    """One row per time of the run, one column per component of the point's position.

    `velocity` is undefined (nan) where `burning` is false: no mass leaves, and no exhaust can give a thrust. `ratio`
    is undefined where a component of the point's velocity vanishes (`ratio_defined`).
    """

    times: np.ndarray
    mass: np.ndarray
    mass_rate: np.ndarray
    point_velocity: np.ndarray  # v
    thrust: np.ndarray  # P
    velocity: np.ndarray  # u, absolute
    ratio: np.ndarray  # β = u/v
    speed: np.ndarray  # |u − v|
    burning: np.ndarray  # m' < 0
    ratio_defined: np.ndarray  # v_i ≠ 0 (and mass is exchanged)

    @property
    def feasible(self) -> bool:
        """Whether an exhaust gives the thrust throughout: mass leaves wherever thrust is asked for."""
        asked = np.linalg.norm(self.thrust, axis=1) > STILL * max(1.0, float(np.abs(self.thrust).max(initial=0.0)))
        return bool((self.burning | ~asked).all())

    def __str__(self) -> str:
        if self.feasible:
            low, high = np.nanmin(self.speed), np.nanmax(self.speed)
            return f"the exhaust leaves with {low:.6g} to {high:.6g}, relative to the point"
        when = self.times[~self.burning][0]
        return f"no exhaust gives the thrust: no mass leaves at t = {when:.6g}"


def exhaust(trajectory: Trajectory, mass: str | None = None) -> Exhaust:
    """The exhaust that gives the thrust of a point along a run (the only one with a `thrust`, if none is named)."""
    if not isinstance(trajectory, Trajectory) or trajectory.problem is None:
        raise BadRequest("exhaust() takes a run with its problem", fix="hf.exhaust(hf.simulate(equations, ...))")
    name = driven_mass(trajectory.problem, mass)
    equations = trajectory.equations or derive(trajectory.problem)
    point = next(point for point in equations.dynamics.points if point.name == name)
    m, m_rate, v = _along(trajectory, equations, point)
    thrust = np.zeros_like(v)
    for k, control in enumerate(trajectory.problem.system.masses[name].thrust):
        if control:
            thrust[:, k] = trajectory[control]
    exchanged = np.abs(m_rate) > STILL * max(1e-300, float(np.abs(m_rate).max()))
    moving = np.abs(v) > STILL * np.maximum(1e-300, np.abs(v).max())
    with np.errstate(divide="ignore", invalid="ignore"):
        velocity = np.where(exchanged[:, None], v + thrust / m_rate[:, None], np.nan)
        ratio = np.where(moving, velocity / v, np.nan)
        speed = np.where(exchanged, np.linalg.norm(thrust, axis=1) / np.abs(m_rate), np.nan)
    return Exhaust(
        times=trajectory.times,
        mass=m,
        mass_rate=m_rate,
        point_velocity=v,
        thrust=thrust,
        velocity=velocity,
        ratio=ratio,
        speed=speed,
        burning=exchanged & (m_rate < 0),
        ratio_defined=moving & exchanged[:, None],
    )


def _along(trajectory: Trajectory, equations: Equations, point: Point) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """m, m' and v of a point at the rows of a run."""
    nodes = substitute([point.mass, point.mass_rate, *point.velocity], equations.solved_inputs)
    tape = Tape(equations.field.inputs, tuple(nodes))
    constants = [trajectory.parameters[name] for name in equations.parameter_names]
    states = np.array([trajectory[name] for name in equations.state_names]).T
    rows = np.array([tape([t, *x, *constants]) for t, x in zip(trajectory.times, states.tolist(), strict=True)])
    return rows[:, 0], rows[:, 1], rows[:, 2:]
