"""Problems that have no right answer, of many named kinds: each must end in an error by name or a flagged outcome.

`KINDS` maps a name to a function of a random generator; it gives a `Case`: how the problem is made (which may already
be refused) and how it is run. Sizes and units are drawn from 1e-3 to 1e3, so that no threshold can be met by chance.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import sympy as sp

import holdfast as hf

x, y, z, th = hf.coordinates("x y z th")
t = hf.time


@dataclass(frozen=True)
class Case:
    """A statement that cannot be met, and the run that is asked of it."""

    problem: Callable[[], hf.Problem]
    scheme: object = hf.RK4
    how: dict = field(default_factory=lambda: {"step": 0.01, "duration": 1.0})


def size(shake):
    """A number of any size that people use."""
    return float(f"{10.0 ** shake.uniform(-3, 3):.6g}")


def point(shake, *, mass=None, weight=True):
    """A mass point in the plane."""
    m = size(shake) if mass is None else mass
    return {
        "coordinates": (x, y),
        "kinetic": m * (x.rate**2 + y.rate**2) / 2,
        "potential": m * size(shake) * y if weight else 0,
    }


def stated(system, program=None, start=None, **run):
    return lambda: hf.Problem(hf.System(**system), hf.Program(**(program or {})), start=start or {}, run=hf.Run(**run))


def rod(length):
    return (x**2 + y**2 - sp.nsimplify(length) ** 2) / 2


LAW = hf.critically_damped(5)


def repeated_constraint(shake):
    length, factor = size(shake), size(shake)
    kept = {"rod": rod(length), "again": factor * rod(length)}
    program = {"holonomic": kept, "law": LAW, "redundant": "refuse"}  # borne otherwise
    return Case(stated(point(shake), program, {x: length}))


def contradicting_constraints(shake):
    length = size(shake)
    kept = {"rod": rod(length), "longer": rod(length * float(shake.uniform(1.1, 3)))}
    return Case(stated(point(shake), {"holonomic": kept, "law": LAW}, {x: length}))


def contradicting_paths(shake):
    a, b = size(shake), size(shake)
    kept = {"here": x - a, "there": x - a - b}
    return Case(stated(point(shake), {"holonomic": kept, "law": LAW}))


def coordinate_without_inertia(shake):
    system = {"coordinates": (x, y), "kinetic": size(shake) * x.rate**2, "potential": size(shake) * x * y}
    return Case(stated(system, start={x: size(shake)}))


def negative_mass(shake):
    return Case(stated(point(shake, mass=-size(shake)), start={x: size(shake), x.rate: size(shake)}))


def negative_mass_in_a_program(shake):
    length = size(shake)
    program = {"holonomic": {"rod": rod(length)}, "law": LAW}
    return Case(stated(point(shake, mass=-size(shake)), program, {x: length}))


def indefinite_kinetic_energy(shake):
    system = {"coordinates": (x, y), "kinetic": size(shake) * x.rate**2 - size(shake) * y.rate**2}
    return Case(stated(system, start={x.rate: size(shake), y.rate: size(shake)}))


def negative_stiffness(shake):
    length = size(shake)
    law = hf.SpringDamper(stiffness=-float(shake.uniform(20, 200)), damping=1)
    start = {x: length * 1.01}
    program = {"holonomic": {"rod": rod(length)}, "law": law}
    return Case(stated(point(shake), program, start, start_policy="keep"), how={"step": 0.01, "duration": 5.0})


def negative_damping(shake):
    law = hf.SpringDamper(stiffness=25, damping=-float(shake.uniform(2, 9)))
    program = {"holonomic": {"home": x}, "controls": {"F": {x: 1}}, "law": law}
    return Case(stated(point(shake), program, {x: size(shake)}), how={"step": 0.01, "duration": 10.0})


def control_without_authority(shake):
    program = {"holonomic": {"home": x - size(shake)}, "controls": {"F": {y: size(shake)}}, "law": LAW}
    return Case(stated(point(shake), program))


def control_that_loses_authority_at_the_start(shake):
    program = {"holonomic": {"circle": rod(1)}, "controls": {"F": {x: size(shake)}}, "law": LAW}
    return Case(stated(point(shake), program, {x: 0, y: 1}, start_policy="keep"))


def singular_coordinates_at_the_start(shake):
    """Euler's angles of a body that stands upright: two of them turn about one axis."""
    psi, phi = hf.coordinates("psi phi")
    spin = (
        th.rate * sp.cos(psi) + phi.rate * sp.sin(th) * sp.sin(psi),
        th.rate * sp.sin(psi) - phi.rate * sp.sin(th) * sp.cos(psi),
        psi.rate + phi.rate * sp.cos(th),
    )
    kinetic = size(shake) * sum(w**2 for w in spin) / 2
    return Case(stated({"coordinates": (psi, th, phi), "kinetic": kinetic}, start={psi.rate: size(shake)}))


def start_that_contradicts_the_program(shake):
    length = size(shake)
    start = {x: length * float(shake.uniform(1.2, 3)), y: 0, x.rate: 0, y.rate: 0}
    return Case(stated(point(shake), {"holonomic": {"rod": rod(length)}, "law": LAW}, start))


def rates_that_contradict_the_program(shake):
    length = size(shake)
    start = {x: length, y: 0, x.rate: size(shake) * length, y.rate: 0}
    return Case(stated(point(shake), {"holonomic": {"rod": rod(length)}, "law": LAW}, start))


def start_outside_the_domain(shake):
    system = {"coordinates": x, "kinetic": size(shake) * x.rate**2, "potential": size(shake) * sp.log(x)}
    return Case(stated(system, start={x: -size(shake)}))


def start_at_a_pole(shake):
    system = {"coordinates": x, "kinetic": size(shake) * x.rate**2, "potential": size(shake) / x}
    return Case(stated(system, start={x: 0}))


def direction_undefined_at_the_start(shake):
    kept = {"rod": sp.sqrt(x**2 + y**2) - size(shake)}
    return Case(stated(point(shake), {"holonomic": kept, "law": LAW}))


def pole_on_the_way(shake):
    """Falls into an attracting centre: the energy has no lower bound there."""
    strength, distance = size(shake), size(shake)
    system = {"coordinates": x, "kinetic": x.rate**2 / 2, "potential": -strength / sp.sqrt(x**2)}
    fall = np.pi / 2 * np.sqrt(distance**3 / (2 * strength))
    step = float(f"{fall / 200:.3g}")
    return Case(stated(system, start={x: distance}), how={"step": step, "duration": 400 * step})


def escape_in_finite_time(shake):
    """x'' = k x³ from rest is at infinity after a finite time."""
    k, begin = size(shake), size(shake)
    system = {"coordinates": x, "kinetic": x.rate**2 / 2, "potential": -k * x**4 / 4}
    step = float(f"{2 / (begin * np.sqrt(k)) / 100:.3g}")
    return Case(stated(system, start={x: begin}), how={"step": step, "duration": 1000 * step})


def step_beyond_the_limit(shake):
    length, step = size(shake), size(shake) * 1e-3
    program = {"holonomic": {"rod": rod(length)}, "law": hf.critically_damped(float(f"{5 / step:.3g}"))}
    start = {x: length, y.rate: length}
    return Case(stated(point(shake), program, start), how={"step": step, "duration": 2000 * step})


def skate_beyond_the_limit(shake):
    step = size(shake) * 1e-3
    system = {"coordinates": (x, y, th), "kinetic": size(shake) * (x.rate**2 + y.rate**2) + size(shake) * th.rate**2}
    edge = {"edge": x.rate * sp.sin(th) - y.rate * sp.cos(th)}
    law = hf.SpringDamper(damping=float(f"{shake.uniform(2.3, 4) / step:.4g}"))
    start = {x.rate: size(shake), th.rate: 1 / (100 * step)}
    program = {"nonholonomic": edge, "law": law}
    return Case(stated(system, program, start), hf.Euler, {"step": step, "duration": 500 * step})


def force_that_is_undefined(shake):
    system = point(shake) | {"forces": {x: sp.sqrt(-size(shake) - t)}}
    return Case(stated(system))


def energy_that_is_undefined(shake):
    """The motion is defined, its potential energy is not."""
    system = {"coordinates": x, "kinetic": x.rate**2 / 2, "potential": sp.log(-size(shake) - t**2)}
    return Case(stated(system, start={x: size(shake)}))


def control_force_that_is_undefined(shake):
    """Held by a torque on an idle wheel whose inertia is finite, with a force that is not a number."""
    system = {"coordinates": (x, y), "kinetic": x.rate**2 + y.rate**2, "forces": {y: sp.log(-size(shake) - x**2)}}
    program = {"holonomic": {"home": y}, "controls": {"M": {y: 1}}, "law": LAW}
    return Case(stated(system, program, {x: 1}))


def more_constraints_than_coordinates(shake):
    kept = {"a": x - size(shake), "b": y - size(shake), "c": x + y - size(shake)}
    return Case(stated(point(shake), {"holonomic": kept, "law": LAW}))


def constraint_that_holds_nothing(shake):
    kept = {"clock": sp.sin(t) * size(shake)}
    return Case(stated(point(shake), {"holonomic": kept, "law": LAW}))


def constraint_that_nothing_can_meet(shake):
    kept = {"never": x**2 + y**2 + size(shake) ** 2}
    return Case(stated(point(shake), {"holonomic": kept, "law": LAW}, {x: size(shake)}))


def constraints_dependent_where_they_hold(shake):
    """A point and the same point squared: independent everywhere but on the program."""
    a = size(shake)
    kept = {"place": x - a, "square": (x - a) * y}
    program = {"holonomic": kept, "law": LAW, "redundant": "refuse"}  # borne otherwise
    return Case(stated(point(shake, weight=False), program, {x: a, y: 0}))


def law_that_moves_the_program(shake):
    d = hf.deviations("rod")
    law = hf.GeneralLaw({"rod": -25 * d - 10 * d.rate + size(shake)})
    return Case(stated(point(shake), {"holonomic": {"rod": rod(1)}, "law": law}, {x: 1}))


def law_without_attraction_off_the_program(shake):
    length = size(shake)
    program = {"holonomic": {"rod": rod(length)}, "law": hf.Unstabilised()}
    return Case(stated(point(shake), program, {x: length * 1.1}, start_policy="keep"))


def time_that_does_not_advance(shake):
    return Case(stated(point(shake), start={x: 1}, begin=1e17), how={"step": 0.01, "duration": 1.0})


def mass_that_burns_up(shake):
    end = float(shake.uniform(0.2, 0.8))
    system = {"coordinates": x, "kinetic": (1 - t / end) * x.rate**2 / 2, "potential": x**2 / 2}
    return Case(stated(system, start={x: size(shake)}))


KINDS: dict[str, Callable[[np.random.Generator], Case]] = {
    made.__name__: made
    for made in (
        repeated_constraint, contradicting_constraints, contradicting_paths, coordinate_without_inertia, negative_mass,
        negative_mass_in_a_program, indefinite_kinetic_energy, negative_stiffness, negative_damping,
        control_without_authority, control_that_loses_authority_at_the_start, singular_coordinates_at_the_start,
        start_that_contradicts_the_program, rates_that_contradict_the_program, start_outside_the_domain,
        start_at_a_pole, direction_undefined_at_the_start, pole_on_the_way, escape_in_finite_time,
        step_beyond_the_limit, skate_beyond_the_limit, force_that_is_undefined, energy_that_is_undefined,
        control_force_that_is_undefined, more_constraints_than_coordinates, constraint_that_holds_nothing,
        constraint_that_nothing_can_meet, constraints_dependent_where_they_hold, law_that_moves_the_program,
        law_without_attraction_off_the_program, time_that_does_not_advance, mass_that_burns_up,
    )
}  # fmt: skip


def answer(case: Case) -> str:
    """What the product says of a case: the name of an error or of an outcome; ``success`` where it is content.

    A NaN among the rows of a run that is called good is told as ``nan``.
    """
    try:
        problem = case.problem()
        run = hf.simulate(hf.derive(problem), case.scheme, **case.how)
    except hf.HoldfastError as error:
        return type(error).__name__
    if not run.success:
        return run.outcome.name
    columns = np.array([run[name] for name in run.columns])
    return "success" if np.isfinite(columns).all() else "nan"
