"""The same mechanism in other units of length, mass and time is judged in the same words."""

import itertools

import numpy as np
import pytest
import sympy as sp

import holdfast as hf

x, y, th = hf.coordinates("x y th")
l, m, g, k = hf.parameters("l m g k")
LENGTHS, MASSES, TIMES = (1e-9, 1.0, 1e9), (1e-9, 1.0, 1e9), (1e-3, 1.0, 1e3)
UNITS = [*itertools.product(LENGTHS, MASSES, TIMES)][::2]


def pendulum(length, mass, time, *, gain=5.0, start=None):
    system = hf.System(
        coordinates=(x, y),
        kinetic=m * (x.rate**2 + y.rate**2) / 2,
        potential=m * g * y,
        parameters={l: length, m: mass, g: 9.81 * length / time**2},
    )
    program = hf.Program(holonomic={"rod": (x**2 + y**2 - l**2) / 2}, law=hf.critically_damped(gain / time))
    return hf.derive(hf.Problem(system, program, start=start or {x: 0.6 * length, y: -0.8 * length}))


def skate(length, mass, time, *, gain=5.0):
    inertia = mass * length**2
    system = hf.System(coordinates=(x, y, th), kinetic=(mass * (x.rate**2 + y.rate**2) + inertia * th.rate**2) / 2)
    edge = {"edge": x.rate * sp.sin(th) - y.rate * sp.cos(th)}
    program = hf.Program(nonholonomic=edge, law=hf.SpringDamper(damping=gain / time))
    return hf.derive(hf.Problem(system, program, start={x.rate: length / time, th.rate: 1 / time}))


def slider_crank(length, mass, time):
    """A crank, a rod and a slide: a closed loop in two angles and a length; the slide is left out of the start."""
    a, b, s = hf.coordinates("a b s")
    inertia = mass * length**2
    system = hf.System(
        coordinates=(a, b, s), kinetic=inertia * (a.rate**2 + b.rate**2) / 2 + mass * s.rate**2 / 2,
        forces={a: -0.1 * inertia / time * a.rate},
    )  # fmt: skip
    loop = {
        "across": length * (sp.cos(a) + 3 * sp.cos(b)) - s,
        "up": length * (sp.sin(a) + 3 * sp.sin(b)),
    }
    program = hf.Program(holonomic=loop, law=hf.critically_damped(5 / time))
    return hf.derive(hf.Problem(system, program, start={a: 1, a.rate: 2 / time}))


def cart(length, mass, time):
    """A cart brought home and a rod brought upright by a force and a moment."""
    inertia = mass * length**2
    system = hf.System(
        coordinates=(x, th),
        kinetic=5 * mass * x.rate**2 + inertia * th.rate**2 / 6 + mass * length * x.rate * th.rate * sp.cos(th) / 2,
        potential=mass * length * 9.81 * length / time**2 * sp.sin(th) / 2,
    )
    program = hf.Program(
        holonomic={"home": x, "upright": th - sp.pi / 2},
        controls={"F": {x: 1}, "M": {th: 1}},
        law=hf.SpringDamper(stiffness=1 / time**2, damping=2 / time),
    )
    return hf.derive(hf.Problem(system, program, start={x: 0.1 * length, th: 2}))


RUNS = {
    "pendulum": (pendulum, {}, {"scheme": hf.RK4, "step": 0.01, "duration": 2}, {}),
    "adaptive": (pendulum, {}, {"scheme": hf.DOP853, "tolerance": 1e-8, "duration": 2}, {}),
    "diverging": (pendulum, {"gain": 400.0}, {"scheme": hf.RK4, "step": 0.01, "duration": 1}, {}),
    "pumped": (pendulum, {}, {"scheme": hf.Euler, "step": 0.05, "duration": 5}, {}),
    "off": (pendulum, {"gain": 0.0}, {"scheme": hf.RK4, "step": 0.01, "duration": 1}, {"x": 0.7, "keep": True}),
    "skate": (skate, {}, {"scheme": hf.RK4, "step": 0.01, "duration": 2}, {}),
    "sliding": (skate, {"gain": 250.0}, {"scheme": hf.Euler, "step": 0.01, "duration": 2}, {}),
    "slider": (slider_crank, {}, {"scheme": hf.RK4, "step": 0.01, "duration": 2}, {}),
    "cart": (cart, {}, {"scheme": hf.RK4, "step": 0.01, "duration": 3}, {}),
}


def judged(name, length, mass, time):
    """The words a run gets: outcome, findings, how its start was treated, whether its states are a result."""
    made, options, how, off = RUNS[name]
    how = dict(how)
    scheme = how.pop("scheme")
    scaled = {word: value * time if word in ("step", "duration") else value for word, value in how.items()}
    asked = {"start": {"x": off["x"] * length}, "start_policy": "keep"} if off else {}
    run = hf.simulate(made(length, mass, time, **options), scheme, **scaled, **asked)
    names = tuple(found.name for found in run.against)
    return run.outcome.name, names, run.start.on_program, sorted(run.start.changes), run.steps


@pytest.mark.parametrize("name", RUNS)
def test_units_change_no_word(name):
    natural = judged(name, 1.0, 1.0, 1.0)
    ends = {"diverging": "diverged", "sliding": "diverged", "off": "off_program", "pumped": "deviation_grew"}
    assert natural[0] == ends.get(name, "completed")
    for units in UNITS:
        *words, steps = judged(name, *units)
        assert tuple(words) == natural[:-1], units
        if natural[0] == "completed":
            assert abs(steps - natural[-1]) <= 0.05 * natural[-1], units  # a first step is guessed


@pytest.mark.parametrize("masses", [(1e9, 1e-9), (1e-9, 1e9), (1.0, 1.0)], ids=str)
def test_masses_of_all_sizes_start_and_run_alike(masses):
    """Two bobs in a row; the rates that are left out follow from those that are stated."""
    a, b, c, d = hf.coordinates("a b c d")
    one, two = masses
    kinetic = one * (a.rate**2 + b.rate**2) / 2 + two * (c.rate**2 + d.rate**2) / 2
    rods = {"one": (a**2 + b**2 - 1) / 2, "two": ((c - a) ** 2 + (d - b) ** 2 - 1) / 2}
    program = hf.Program(holonomic=rods, law=hf.critically_damped(5))
    system = hf.System(coordinates=(a, b, c, d), kinetic=kinetic)
    start = {a: 0.6, b: -0.8, c: 1.6, d: -0.8, a.rate: 0.8}
    run = hf.simulate(hf.derive(hf.Problem(system, program, start=start)), hf.RK4, step=0.001, duration=0.1)
    assert run.start.on_program
    assert run["a_dot"][0] == 0.8
    assert run["b_dot"][0] == pytest.approx(0.6)
    assert np.isfinite(run.y).all()


HONEST = ("pendulum", "adaptive", "skate", "slider", "cart")


def word(name, length, mass, time, shake):
    """The word of the verdict, of a mechanism with a start and gains of its own."""
    made, _, how, _ = RUNS[name]
    how = dict(how)
    scheme = how.pop("scheme")
    scaled = {key: value * time if key in ("step", "duration") else value for key, value in how.items()}
    equations = made(length, mass, time)
    shaken = {c: shake.uniform(0.8, 1.2) for c in equations.parameter_names if c.startswith("law.")}
    values = {c: float(equations.parameter_values[c]) * factor for c, factor in shaken.items()}
    run = hf.simulate(equations, scheme, parameters=values, **scaled)
    certificate = None
    if run.step is not None:
        certificate = hf.certify(equations, scheme, trajectory=run, parameters=values, effort=0.3, **scaled)
    return hf.report(run, certificate, state_error=True).word


@pytest.mark.prove
def test_two_hundred_honest_problems_get_the_same_verdict_in_random_units():
    shake = np.random.default_rng(200)
    weaker = {"proved": ("proved", "checked"), "checked": ("proved", "checked")}  # as far as the seconds reach
    for number in range(200):
        name = HONEST[number % len(HONEST)]
        length, mass, time = 10.0 ** shake.uniform(-9, 9), 10.0 ** shake.uniform(-9, 9), 10.0 ** shake.uniform(-3, 3)
        natural = word(name, 1.0, 1.0, 1.0, np.random.default_rng(number))
        scaled = word(name, float(length), float(mass), float(time), np.random.default_rng(number))
        assert natural != "failed"
        assert scaled in weaker.get(natural, (natural,)), (name, length, mass, time)
