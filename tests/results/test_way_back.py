"""Steps that end on the program: natively, as the long way has them, and the long way where native code gives up."""

import numpy as np
import pytest

import holdfast as hf
from holdfast.engine.drivers import way_back as driver
from holdfast.engine.kernel import compiled
from holdfast.results.runs import simulate as verb
from holdfast.results.start.native_way_back import native_way_back
from holdfast.results.start.projection import Projection

RUN = {"step": 0.02, "duration": 2.0}


def chain(links=3, mass=1.0, length=1.0):
    pairs = [hf.coordinates(f"x{i} y{i}") for i in range(links)]
    ends = [(0, 0), *pairs]
    rods = {
        f"rod{i}": ((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2 - length**2) / 2
        for i, (a, b) in enumerate(zip(ends[:-1], pairs, strict=True))
    }
    start = {x: length * (i + 1) for i, (x, y) in enumerate(pairs)}
    return hf.Problem(
        hf.System(
            coordinates=[c for pair in pairs for c in pair],
            kinetic=sum(mass * (x.rate**2 + y.rate**2) / 2 for x, y in pairs),
            potential=sum(mass * 9.81 * y for x, y in pairs),
        ),
        hf.Program(holonomic=rods, law=hf.SpringDamper(stiffness=0, damping=0)),
        start=start,
    )


def the_long_way(monkeypatch):
    """As if no way back were known natively."""
    monkeypatch.setattr("holdfast.results.runs.prepared.native_way_back", lambda equations: None)


@pytest.mark.parametrize("scheme", ["rk4", "euler", "symplectic_euler", "implicit-midpoint"])
def test_native_steps_end_where_the_long_way_ends(scheme, monkeypatch):
    equations = hf.derive(chain())
    here = hf.simulate(equations, scheme, project=True, **RUN)
    the_long_way(monkeypatch)
    slowly = hf.simulate(hf.derive(chain()), scheme, project=True, **RUN)
    assert here.outcome is slowly.outcome
    assert here.projected
    assert np.abs(here.y - slowly.y).max() < 1e-9 * np.abs(slowly.y).max()
    assert np.abs(here.deviation).max() < 1e-13
    assert np.abs(here.deviation_rate).max() < 1e-12


@pytest.mark.parametrize(("mass", "length"), [(1e-9, 1e-6), (1e9, 1e6), (1e6, 1e-9)])
def test_the_way_back_knows_no_units(mass, length):
    equations = hf.derive(chain(2, mass, length))
    scale = (length / 9.81) ** 0.5
    run = hf.simulate(equations, hf.RK4, project=True, step=0.02 * scale, duration=2 * scale)
    assert np.abs(run.deviation).max() < 1e-13 * length**2


@pytest.mark.parametrize("name", ["four_bar", "skate", "bead_on_hoop", "cart_rod", "mixed_holders"])
def test_examples_are_brought_back_alike(name, monkeypatch):
    problem = hf.example(name) if hasattr(hf, "example") else hf.load(hf.__path__[0] + f"/examples/{name}.toml")
    asked = {"step": 0.01, "duration": 0.5, "project": True}
    here = hf.simulate(hf.derive(problem), hf.RK4, **asked)
    the_long_way(monkeypatch)
    slowly = hf.simulate(hf.derive(problem), hf.RK4, **asked)
    assert here.outcome is slowly.outcome
    assert np.abs(here.y - slowly.y).max() <= 1e-9 * max(1.0, np.abs(slowly.y).max())


def test_where_native_turns_do_not_do_the_long_way_is_asked(monkeypatch):
    """Without a turn of its own every step is left to the caller, and the run is the same."""
    equations, asked = hf.derive(chain(2)), []
    own = Projection.of
    monkeypatch.setattr(
        Projection, "of", lambda self, state, time, constants: asked.append(time) or own(self, state, time, constants)
    )
    usual = hf.simulate(equations, hf.RK4, project=True, every=7, **RUN)
    assert not [time for time in asked if time > 0]
    monkeypatch.setattr(driver, "TURNS", 0)
    monkeypatch.setattr("holdfast.engine.kernel._MADE", {})
    left = hf.simulate(hf.derive(chain(2)), hf.RK4, project=True, every=7, **RUN)
    assert len(asked) > 90
    assert np.array_equal(left.times, usual.times)
    assert np.abs(left.y - usual.y).max() < 1e-9


@pytest.mark.parametrize("turns", [8, 0])
def test_events_are_met_by_steps_that_end_on_the_program(turns, monkeypatch):
    monkeypatch.setattr(driver, "TURNS", turns)
    monkeypatch.setattr("holdfast.engine.kernel._MADE", {})
    equations = hf.derive(chain(1))
    asked = {"events": {"bottom": hf.Event("x0", terminal=True), "left": "y0 + 1/2"}, "step": 0.01, "duration": 2.0}
    run = hf.simulate(equations, hf.RK4, project=True, **asked)
    plain = hf.simulate(equations, hf.RK4, **asked)
    assert run.outcome.name == "event"
    assert abs(run.times[-1] - plain.times[-1]) < 1e-6
    assert abs(run.events["left"][0] - plain.events["left"][0]) < 1e-6


def test_a_state_that_cannot_be_brought_back_ends_the_run():
    """A rod whose attachment runs away faster than any step can follow."""
    x, y = hf.coordinates("x y")
    problem = hf.Problem(
        hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2),
        hf.Program(holonomic={"ring": x**2 + y**2 + hf.time - 1}, law=hf.SpringDamper(stiffness=0, damping=0)),
        start={x: 1, x.rate: -0.5},
    )
    run = hf.simulate(hf.derive(problem), "euler", project=True, step=0.05, duration=2.0)
    assert not run.success
    assert run.times[-1] <= 1.05


def test_the_python_target_takes_the_same_steps():
    equations = hf.derive(chain(2))
    back = native_way_back(equations)
    state, constants = [1.0, 0.0, 2.0, 0.0, 0, 0, 0, 0], list(equations.parameter_values.values())
    here, there = (
        compiled(equations.field, hf.RK4, back=back, target=target).run(state, constants, step=0.01, steps=50)
        for target in ("native", "python")
    )
    assert np.abs(here.states - there.states).max() < 1e-12


def test_constraints_that_repeat_each_other_go_the_long_way():
    x, y = hf.coordinates("x y")
    problem = hf.Problem(
        hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=9.81 * y),
        hf.Program(holonomic={"a": x**2 + y**2 - 1, "b": 2 * x**2 + 2 * y**2 - 2}, redundant="allow"),
        start={x: 1},
    )
    equations = hf.derive(problem)
    assert native_way_back(equations) is None
    assert verb.simulate(equations, hf.RK4, project=True, step=0.01, duration=0.1).success
