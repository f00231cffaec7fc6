"""Runs that repeat: what is prepared once gives what was given before, and costs little beside the run itself."""

import sys

import numpy as np
import pytest

import holdfast as hf

RUN = {"step": 0.01, "duration": 1.0}


@pytest.fixture(scope="module")
def equations():
    x, y = hf.coordinates("x y")
    mass, length, gravity = hf.parameters("mass length gravity")
    system = hf.System(
        coordinates=(x, y),
        kinetic=mass * (x.rate**2 + y.rate**2) / 2,
        potential=mass * gravity * y,
        parameters={mass: 1.0, length: 1.25, gravity: 9.81},
    )
    rod = hf.Program(holonomic={"rod": (x**2 + y**2 - length**2) / 2}, law=hf.SpringDamper(stiffness=400, damping=40))
    return hf.derive(hf.Problem(system, rod, start={x: length, x.rate: 0}))


def calls_of(function):
    """How many functions, of Python and of C, are called on the way: a measure that no load of the machine changes."""
    count = 0

    def seen(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


def test_a_warm_run_calls_little_beside_its_kernel(equations):
    for _ in range(3):
        hf.simulate(equations, hf.RK4, **RUN)
    assert calls_of(lambda: hf.simulate(equations, hf.RK4, **RUN)) < 60  # 300 before whole ways of asking were kept


def test_other_values_cost_a_new_start_and_no_more(equations):
    hf.simulate(equations, hf.RK4, parameters={"gravity": 9.0}, **RUN)
    for changed in ({"parameters": {"gravity": 8.0}}, {"start": {"x": 1.2, "y": -0.35}}):
        assert calls_of(lambda changed=changed: hf.simulate(equations, hf.RK4, **changed, **RUN)) < 600


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"parameters": {"gravity": 3.0}},
        {"parameters": {"length": 2.0}},  # the start depends on it
        {"parameters": {"law.stiffness.rod": 100.0}},
        {"parameters": {hf.parameters("gravity"): 3}},
        {"start": {"x": 0.75, "y": -1.0}},
        {"start": [0.75, -1.0, 0.0, 0.0]},
        {"start": {"x": "0", "y": "-length"}},
        {"start": {"y": 0.1}, "start_policy": "keep"},
        {"start": {"y": 0.1}, "start_policy": "project"},
    ],
)
def test_what_is_prepared_is_what_a_fresh_derivation_gives(equations, changed):
    """Whatever ran before, the same numbers to the last bit."""
    hf.simulate(equations, hf.RK4, parameters={"gravity": 5.0, "length": 3.0}, **RUN)
    hf.simulate(equations, hf.RK4, start={"x": 1.2, "y": -0.35}, **RUN)
    again = hf.derive(equations.problem)
    here, fresh = (hf.simulate(each, hf.RK4, **changed, **RUN) for each in (equations, again))
    assert here.start == fresh.start
    assert here.parameters == fresh.parameters
    assert all(np.array_equal(here[name], fresh[name], equal_nan=True) for name in fresh.names)
    assert here.message == fresh.message


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"parameters": {"gravitas": 3.0}}, "gravity"),
        ({"parameters": {"gravity": 1.0, hf.parameters("gravity"): 2.0}}, "twice"),
        ({"parameters": {"gravity": True}}, "True"),
        ({"parameters": {"gravity": 10**400}}, "beyond any double"),
        ({"parameters": [1.0]}, "mapping"),
        ({"start_policy": ["keep"]}, "not known"),
        ({"save": True}, "no name of a file"),
        ({"start": {"x": float("nan")}}, "nan"),
        ({"start": {"z": 1.0}}, "z"),
        ({"start": [1.0]}, "components"),
        ({"step": True}, "step"),
        ({"step": 0.3}, "whole number"),
        ({"duration": -1.0}, "positive"),
    ],
)
def test_what_was_refused_is_refused_after_good_runs(equations, changed, words):
    for _ in range(2):
        hf.simulate(equations, hf.RK4, **RUN)
        with pytest.raises(hf.HoldfastError, match=words):
            hf.simulate(equations, hf.RK4, **{**RUN, **changed})


def test_a_scheme_that_is_none_is_refused_in_words(equations):
    for scheme in (["rk4"], 4, "rk5"):
        with pytest.raises(hf.HoldfastError, match="no scheme"):
            hf.simulate(equations, scheme, **RUN)


def test_one_and_true_are_different_requests(equations):
    """Equal as keys of a mapping, and yet only one of them is a number of rows."""
    hf.simulate(equations, hf.RK4, every=1, **RUN)
    with pytest.raises(hf.HoldfastError, match="every"):
        hf.simulate(equations, hf.RK4, every=True, **RUN)


def test_columns_are_those_of_the_rows_however_late_they_are_asked_for(equations):
    run = hf.simulate(equations, hf.RK4, parameters={"gravity": 4.0}, **RUN)
    hf.simulate(equations, hf.RK4, parameters={"gravity": 2.0}, **RUN)
    energy = (run["x_dot"] ** 2 + run["y_dot"] ** 2) / 2 + 4.0 * run["y"]
    assert np.allclose(run["energy"], energy, rtol=1e-13)
    assert list(run.columns) == [*equations.state_names, *equations.observables]
    assert "nothing" not in run.columns
    with pytest.raises(ValueError, match="read-only"):
        run["energy"][0] = 0


def test_the_cheap_look_for_passages_knows_the_orientation_of_the_exact_one():
    """det(J Jᵀ₊) < 0 exactly where the orientation of (J; N), with N carried along, changes."""
    from holdfast.results.judgement.passages import _flips, _plainly_regular

    random = np.random.default_rng(5)
    for rows, columns in ((1, 3), (2, 3), (3, 4), (2, 6), (5, 7)):
        jacobians = random.normal(size=(400, rows, columns))
        free = np.linalg.svd(jacobians)[2][:, rows:]
        flips = _flips(jacobians, free, rows)
        signs = np.linalg.slogdet(jacobians[:-1] @ jacobians[1:].transpose(0, 2, 1))[0]
        assert flips.any()
        assert np.array_equal(flips, signs < 0)
        assert not _plainly_regular(np.arange(400.0), jacobians, rows)
        still = np.repeat(jacobians[:1], 400, axis=0)
        assert _plainly_regular(np.arange(400.0), still, rows)
