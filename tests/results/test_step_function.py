"""One step at a time, and the right-hand side, for loops of one's own: the same bits as a run."""

import threading
from importlib import resources

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import solve_ivp

import holdfast as hf

EXAMPLES = resources.files("holdfast") / "examples"


def derived(name):
    return hf.derive(hf.load(EXAMPLES / f"{name}.toml"))


@pytest.mark.parametrize("scheme", ["euler", "rk4", "heun"])
@pytest.mark.parametrize("name", ["cart_rod", "four_bar", "rlc", "crane", "rocket_ascent"])
def test_a_loop_of_steps_is_the_run_to_the_last_bit(name, scheme):
    equations = derived(name)
    run = hf.simulate(equations, scheme, step=0.001, duration=0.05, start_policy="keep")
    step = hf.step_function(equations, scheme, 0.001)
    assert step.state_names == equations.state_names
    x = run.y[:, 0]
    for k in range(50):
        x = step(run.times[0] + k * 0.001, x)
    assert_allclose(x, run.y[:, -1], rtol=1e-14)  # the time k·0.001 is rounded once more than the run's
    first = step(run.times[0], run.y[:, 0])
    assert_array_equal(first, run.y[:, 1])


def test_parameters_are_inputs():
    equations = derived("rlc")
    name = next(iter(equations.problem.system.parameters))
    step = hf.step_function(equations, "rk4", 0.001, inputs=[name])
    value = 2 * equations.parameter_values[name]
    run = hf.simulate(equations, "rk4", step=0.001, duration=0.01, parameters={name: value})
    x = run.y[:, 0]
    for k in range(10):
        x = step(k * 0.001, x, [value])
    assert_allclose(x, run.y[:, -1], rtol=1e-14)


@pytest.mark.parametrize("name", ["cart_rod", "mixed_holders", "crane"])
def test_controls_are_inputs_of_the_plant(name):
    """A loop that puts in what holds the program, held over each small step, stays near the held run."""
    equations = derived(name)
    controls = list(equations.problem.program.controls)
    step = hf.step_function(equations, "rk4", 1e-4, inputs=controls)
    run = hf.simulate(equations, "rk4", step=1e-4, duration=0.05, start_policy="keep")
    count = len(step.state_names)
    x = run.y[:count, 0]
    for k in range(500):
        x = step(run.times[k], x, [run[c][k] for c in controls])
    scale = 1 + np.abs(run.y[:count]).max()
    assert_allclose(x, run.y[:count, -1], atol=5e-3 * scale)
    pushed = step(run.times[0], run.y[:count, 0], [run[c][0] + 100 for c in controls])
    assert np.abs(pushed - run.y[:count, 1]).max() > 1e-4


def test_scipy_takes_the_right_hand_side():
    equations = derived("cart_rod")
    start = hf.simulate(equations, duration=0.01).y[:, 0]
    theirs = solve_ivp(hf.right_hand_side(equations), (0, 2), start, method="DOP853", rtol=1e-11, atol=1e-12)
    ours = hf.simulate(equations, "dop853", tolerance=1e-11, duration=2)
    assert_allclose(theirs.y[:, -1], ours.y[:, -1], atol=1e-8)


def test_threads_have_functions_of_their_own():
    equations = derived("cart_rod")
    first = hf.step_function(equations, "rk4", 0.001)
    expected, found = [], [None] * 4

    def loop(step, slot, out):
        x = step.start() + 0.01 * slot
        for k in range(300):
            x = step(k * 0.001, x)
        out[slot] = x

    expected = [None] * 4
    for slot in range(4):
        loop(first, slot, expected)
    threads = [threading.Thread(target=loop, args=(first.copy(), slot, found)) for slot in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for ours, theirs in zip(found, expected, strict=True):
        assert_array_equal(ours, theirs)


def test_what_cannot_be_stepped_is_refused():
    equations = derived("cart_rod")
    for given, what in (
        ({"inputs": ["G"]}, "'G' is no input"),
        ({"inputs": ["F"]}, "M are not among the inputs"),
        ({"scheme": "dop853"}, "no steps of one size"),
        ({"step": -1}, "not positive"),
    ):
        with pytest.raises(hf.BadRequest, match=what):
            hf.step_function(equations, **({"scheme": "rk4", "step": 0.01} | given))
    step = hf.step_function(equations, "rk4", 0.01)
    with pytest.raises(hf.BadRequest, match="inputs are given"):
        step(0.0, step.start(), [1])
    with pytest.raises(hf.BadRequest, match="no step from t = 0: A value became infinite"):
        step(0.0, step.start() * np.nan)
    with pytest.raises(hf.BadRequest, match="takes Equations"):
        hf.step_function(equations.problem)
    assert np.isfinite(step(0.0, step.start())).all()
