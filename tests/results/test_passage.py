"""Orders of elimination change where a pivot vanishes and the system does not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import holdfast as hf
from tests.reference.shipped import derived


def law_of_the_conic(t, e=0.5):
    a, r = 0.05 * (1 + e), -0.02 * (1 + e)
    return (2 * a + r) * np.exp(-t) - (a + r) * np.exp(-2 * t)


def test_a_point_runs_round_its_conic_though_each_pivot_vanishes_on_the_way():
    run = hf.simulate(derived("bertrand"), hf.RK4, step=0.01, duration=20)
    assert run.outcome is hf.Outcome.completed
    assert run.steps == 2000
    assert_allclose(run.times, np.arange(2001) * 0.01, rtol=0, atol=1e-13)
    assert np.abs(run["y_conic"] - law_of_the_conic(run.times)).max() < 1e-8
    by_hand = run["x"] * run["X"] + run["y"] * run["Y"]
    assert np.isfinite(by_hand).all()


def test_thinned_rows_are_those_of_the_whole_run():
    whole = hf.simulate(derived("bertrand"), hf.RK4, step=0.01, duration=20)
    thin = hf.simulate(derived("bertrand"), hf.RK4, step=0.01, duration=20, every=7)
    kept = [*range(0, 2000, 7), 2000]
    assert thin.steps == 2000
    assert_allclose(thin.times, whole.times[kept], rtol=0, atol=1e-13)
    assert_allclose(thin["x"], whole["x"][kept], rtol=0, atol=1e-12)


def test_adaptive_runs_go_on_with_their_interpolant():
    run = hf.simulate(
        derived("bertrand"), hf.DOP853, tolerance=1e-12, duration=20, events={"axis": hf.coordinates("y")}
    )
    assert run.success
    t = np.linspace(0, 20, 401)
    x, y = run.sol(t)[:2]
    assert np.abs(np.hypot(x, y) - x / 2 - 1 - law_of_the_conic(t)).max() < 1e-9
    assert len(run.events["axis"]) >= 2
    assert_allclose(run.sol(run.events["axis"])[1], 0, atol=1e-9)


def test_cases_of_an_ensemble_go_on_too():
    cases = {"ecc": [0.0, 0.3, 0.5], "c0": [1, 1.05, 1.1]}
    runs = hf.ensemble(derived("bertrand"), hf.RK4, step=0.01, duration=10, cases=cases, every=10)
    assert runs.success.all()
    for number in range(3):
        given = {name: values[number] for name, values in cases.items()}
        alone = hf.simulate(derived("bertrand"), hf.RK4, step=0.01, duration=10, every=10, parameters=given)
        assert_array_equal(runs["x"][number], alone["x"])
        assert runs[number].steps == alone.steps


def test_a_system_that_is_singular_in_every_order_still_ends_there():
    run = hf.simulate(derived("adaptive_optics"), hf.Euler, step=1e-3, duration=20, law=hf.Unstabilised())
    assert run.outcome is hf.Outcome.rank_lost
    assert run.times[-1] == pytest.approx(15.2, abs=0.1)


def test_controls_are_right_where_a_pivot_nearly_vanishes():
    """With as many constraints as coordinates J a = Y − γ gives the forces of a unit mass, in whatever order."""
    run = hf.simulate(derived("bertrand"), hf.DOP853, tolerance=1e-12, duration=20)
    x, y, u, v = run.y
    r, turning = np.hypot(x, y), x * u + y * v
    jacobian = np.array([[x / r - 0.5, y / r], [-y, x]]).transpose(2, 0, 1)
    assert np.abs(jacobian[:, 0, 0]).min() < 1e-6  # the pivot of one order vanishes on the way
    conic = -2 * (r - x / 2 - 1) - 3 * (turning / r - u / 2) - (u**2 + v**2) / r + turning**2 / r**3
    forces = np.linalg.solve(jacobian, np.array([conic, 1 - (x * v - y * u)]).T[..., None])[..., 0]
    assert_allclose(run["X"], forces[:, 0], rtol=0, atol=1e-8)
    assert_allclose(run["Y"], forces[:, 1], rtol=0, atol=1e-8)
