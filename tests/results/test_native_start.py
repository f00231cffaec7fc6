"""Starts moved onto the program natively: where `Projection` moves them, and left to it where that is not sure."""

import numpy as np
import pytest

import holdfast as hf
from holdfast.engine.code import native
from holdfast.results.start import native_start
from holdfast.results.start.native_start import natively_moved
from holdfast.results.start.projection import Projection

RUN = {"step": 0.01, "duration": 0.1, "start_policy": "project"}


def chain(masses=(1.0, 1.0, 1.0), length=1.0):
    pairs = [hf.coordinates(f"x{i} y{i}") for i in range(len(masses))]
    ends = [(0, 0), *pairs]
    rods = {
        f"rod{i}": ((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2 - length**2) / 2
        for i, (a, b) in enumerate(zip(ends[:-1], pairs, strict=True))
    }
    system = hf.System(
        coordinates=[c for pair in pairs for c in pair],
        kinetic=sum(m * (x.rate**2 + y.rate**2) / 2 for m, (x, y) in zip(masses, pairs, strict=True)),
        potential=sum(m * 9.81 * y for m, (x, y) in zip(masses, pairs, strict=True)),
    )
    start = {x: length * (i + 1) for i, (x, _) in enumerate(pairs)}
    law = hf.SpringDamper(stiffness=400, damping=40)
    return hf.derive(hf.Problem(system, hf.Program(holonomic=rods, law=law), start=start))


@pytest.fixture(scope="module")
def equations():
    return chain()


def near(equations, size, seed=0):
    """Twenty states about the stated start."""
    random = np.random.default_rng(seed)
    stated = np.array([equations.problem.start.get(name, 0.0) for name in equations.state_names], float)
    return stated + size * random.standard_normal((20, len(stated)))


@pytest.mark.parametrize("length", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("masses", [(1.0, 1.0, 1.0), (1e-9, 1e-9, 1e-9), (1e9, 1.0, 1e3)])
def test_native_starts_are_those_of_the_long_way(masses, length):
    equations = chain(masses, length)
    whole = Projection(equations, equations.constraints)
    constants = list(equations.parameter_values.values())
    for state in near(equations, 0.05 * length):
        found, expected = (
            natively_moved(equations, state, 0.0, constants),
            whole.of(state, 0.0, constants),
        )
        assert found is not None or max(masses) > 1e6 * min(masses)
        assert found is None or np.abs(found - expected).max() <= 1e-9 * np.abs(expected - state).max()


def test_constraints_that_nearly_depend_on_each_other_are_left_to_the_long_way():
    (x, y), tilt = hf.coordinates("x y"), hf.parameters("tilt")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, parameters={tilt: 1.0})
    law = hf.SpringDamper(stiffness=1, damping=1)
    program = hf.Program(holonomic={"one": x - 1, "two": x + tilt * y - 1}, law=law)
    equations = hf.derive(hf.Problem(system, program, start={x: 1.0}))
    state = np.array([1.1, 0.5, 0.0, 0.0])
    for tilted, served in ((1.0, True), (1e-5, False)):
        constants = list({**equations.parameter_values, "tilt": tilted}.values())
        assert (natively_moved(equations, state, 0.0, constants) is not None) == served


def test_a_state_that_no_turns_bring_back_is_left_to_the_long_way(equations):
    state = np.full(len(equations.state_names), np.nan)
    assert natively_moved(equations, state, 0.0, list(equations.parameter_values.values())) is None


@pytest.mark.parametrize("reason", ["no native code", "too long"])
def test_without_native_code_the_long_way_finds_the_same_start(equations, monkeypatch, reason):
    given = {"x0": 0.9, "y0": -0.3}
    usual = hf.simulate(equations, hf.RK4, start=given, **RUN).start
    if reason == "too long":
        monkeypatch.setattr(native_start, "MOST_OPERATIONS", 10)
    else:
        monkeypatch.setattr(native, "available", lambda: False)
    other = hf.simulate(chain(), hf.RK4, start=given, **RUN).start
    assert np.allclose(usual.state, other.state, rtol=0, atol=1e-13)
    assert usual.moved.keys() == other.moved.keys()


def test_single_runs_ensembles_and_first_calls_start_alike(equations):
    values = [0.9, 0.95, 1.05]
    cases = hf.ensemble(equations, hf.RK4, cases={"x0": values}, **RUN)
    for number, value in enumerate(values):
        run = hf.simulate(equations, hf.RK4, start={"x0": value}, **RUN)
        first = hf.simulate(hf.derive(equations.problem), hf.RK4, start={"x0": value}, **RUN)
        assert run.start.state == first.start.state
        assert np.array_equal(cases[number].y, run.y)
        assert run.start.on_program
