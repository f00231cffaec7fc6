"""Runs of the adaptive optical element, Mukharlyamov 2006, section 6; docs/theory, section 7.1."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

import holdfast as hf
from tests.reference.shipped import derived

B, K = 4 / 3, 1.0
PHI = {"phi": 0.4684522344, "phi_dot": 0.0}


@cache
def by_reactions():
    problem = derived("adaptive_optics").problem
    program = replace(problem.program, controls={})
    run = replace(problem.run, start_policy="keep")
    return hf.derive(replace(problem, program=program, run=run))


def consistent():
    """The start that keeps the program, to the last bit."""
    R, c, x0 = 3.4641, 3.0, 5.5
    return {"phi": float(np.arccos(R * (1 / c + 1 / x0) / 2)), "phi_dot": 0.0}


def size(run):
    return np.hypot(run["y_ray"], run["w_ray"])


@cache
def paper_run():
    """10^7 steps."""
    return hf.simulate(by_reactions(), hf.Euler, step=2e-6, duration=20, every=500)


def at(run, *times):
    return [int(np.argmin(np.abs(run.times - t))) for t in times]


def test_euler_at_one_thousandth_gives_the_tabulated_angles():
    run = hf.simulate(derived("adaptive_optics"), hf.Euler, step=1e-3, duration=20, at=[1, 2, 3, 5, 10, 20])
    phi = [0.434509133739, 0.349043419307, 0.275697834570, 0.417412001863, 0.299356039545, 0.427145181454]
    rate = [-0.062937298623, -0.098976129974, -0.020389827495, 0.077588536024, 0.076206829563, -0.070512950331]
    y = [1.1320036e-2, 8.6119964e-3, 3.7209588e-3, -6.5343605e-4, 3.4873028e-4, -2.6807348e-4]
    assert_allclose(run["phi"], phi, rtol=0, atol=1e-10)
    assert_allclose(run["phi_dot"], rate, rtol=0, atol=1e-10)
    assert_allclose(run["y_ray"], y, rtol=0, atol=6e-10)
    assert run.success
    assert run.steps == 20000


def test_the_papers_run_of_ten_million_steps():
    run = paper_run()
    assert run.success
    assert run.steps == 10**7
    rows = at(run, 1, 2, 3, 5, 10, 20)
    phi = [0.434482345, 0.349018415, 0.275769441, 0.417410060, 0.299470553, 0.427083120]
    assert_allclose(run["phi"][rows], phi, rtol=0, atol=6e-10)


def test_its_deviation_decays_as_tabulated():
    run = paper_run()
    expected = [2.483630e-2, 1.157135e-2, 1.014527e-2, 5.655081e-3, 7.148619e-4, 4.159013e-5, 2.219607e-6, 6.1485e-7]
    assert_allclose(size(run)[at(run, 0, 1, 2, 3, 5, 10, 15, 20)], expected, rtol=1e-6, atol=1e-11)
    assert size(run).max() == pytest.approx(0.02483630, abs=5e-9)
    assert size(run).argmax() == 0
    assert run.initial_deviation["y_ray"] == pytest.approx(-2.372421e-4, abs=1e-10)


def test_the_angle_follows_the_closed_form():
    """ÿ + b ẏ + k y = 0;  cos φ = (R/c + (R + y)/x)/2."""
    run = paper_run()
    R, c, t = 3.4641, 3.0, run.times
    y0, w0 = run["y_ray"][0], run["w_ray"][0]
    decay, turn = B / 2, np.sqrt(K - B**2 / 4)
    y = np.exp(-decay * t) * (y0 * np.cos(turn * t) + (w0 + decay * y0) / turn * np.sin(turn * t))
    phi = np.arccos((R / c + (R + y) / (5 + 0.5 * np.cos(t))) / 2)
    assert np.abs(run["phi"] - phi).max() == pytest.approx(2.3e-7, abs=1e-8)


def test_multipliers_and_moment_along_the_run():
    run = paper_run()
    rows = at(run, 1, 5, 20)
    assert_allclose(run["lambda_crank"][rows], [4.115712, 3.956089, 4.046268], rtol=0, atol=1e-6)
    assert_allclose(run["lambda_ray"][rows], [-6.797131, -7.304226, -7.021926], rtol=0, atol=1e-6)
    assert_allclose(run["R_phi"][rows], [30.157814, 30.450862, 30.273008], rtol=0, atol=1e-6)
    assert run["lambda_crank"][0] == pytest.approx(4.429603436, abs=6e-10)
    assert run["R_phi"][0] == pytest.approx(29.639124, abs=6e-7)


def test_without_stabilisation_it_ends_where_the_constraint_turns_singular():
    run = hf.simulate(by_reactions(), hf.Euler, step=2e-6, duration=20, law=hf.Unstabilised(), every=500)
    assert run.outcome is hf.Outcome.rank_lost
    assert not run.success
    assert run.times[-1] == pytest.approx(15.27318, abs=3e-5)
    rows = at(run, 5, 10)
    assert_allclose(size(run)[rows], [0.126404, 0.249356], rtol=0, atol=1e-6)
    assert run["phi"][rows[1]] == pytest.approx(0.186966, abs=1e-6)
    assert size(run)[at(run, 15.27)] == pytest.approx(0.38, abs=0.005)  # the last steps are those of the singularity


def test_without_stabilisation_at_one_thousandth():
    run = hf.simulate(by_reactions(), hf.Euler, step=1e-3, duration=10, law=hf.Unstabilised(), at=[5, 10])
    assert_allclose(size(run), [0.127122, 0.250354], rtol=0, atol=1e-6)
    assert run.outcome is hf.Outcome.off_program  # it started off the program, and nothing attracts it


@pytest.mark.parametrize(
    ("step", "expected"),
    [(1e-2, [7.7562e-3, 1.23632e-2, 1.71208e-2]), (1e-3, [7.7362e-4, 1.22936e-3, 1.67848e-3])],
)
def test_drift_from_a_consistent_start_is_of_first_order(step, expected):
    run = hf.simulate(
        by_reactions(), hf.Euler, step=step, duration=20, law=hf.Unstabilised(), start=consistent(), at=[5, 10, 20]
    )
    assert_allclose(size(run), expected, rtol=1e-5)
    assert run.success


def test_the_long_unstabilised_run_drifts_until_it_breaks():
    run = hf.simulate(by_reactions(), hf.Euler, step=1e-2, duration=300, law=hf.Unstabilised(), start=consistent())
    assert_allclose(size(run)[at(run, 100, 200)], [0.108, 0.234], rtol=0, atol=6e-4)
    assert run.outcome is hf.Outcome.rank_lost
    assert run.times[-1] == pytest.approx(279.6, abs=0.1)


def test_the_signs_as_printed_break_down_at_once():
    law = hf.SpringDamper(stiffness={"ray": -1}, damping={"ray": -B})
    run = hf.simulate(by_reactions(), hf.Euler, step=2e-6, duration=20, law=law, every=1000)
    assert run.outcome is hf.Outcome.diverged  # the deviations ran away before anything became singular
    assert run.times[-1] == pytest.approx(2.12, abs=0.005)


@pytest.mark.parametrize(("step", "largest"), [(1e-2, 3.592598e-3), (1e-3, 3.565221e-4), (1e-4, 3.562505e-5)])
def test_held_from_a_consistent_start_it_settles_in_proportion_to_the_step(step, largest):
    run = hf.simulate(by_reactions(), hf.Euler, step=step, duration=20, start=consistent())
    assert size(run).max() == pytest.approx(largest, rel=2e-6)


@pytest.mark.parametrize(("step", "late"), [(1e-2, 3.5888e-3), (1e-3, 3.5581e-4)])
def test_the_steady_error_of_the_listed_start(step, late):
    run = hf.simulate(by_reactions(), hf.Euler, step=step, duration=20)
    assert size(run)[run.times >= 15].max() == pytest.approx(late, rel=2e-5)


@pytest.mark.parametrize(("step", "late"), [(0.05, 0.01858), (0.1, 0.03889)])
def test_larger_steps_settle_further_off(step, late):
    run = hf.simulate(by_reactions(), hf.Euler, step=step, duration=200)
    assert size(run)[run.times >= 100].max() == pytest.approx(late, rel=1e-3)


def test_the_lyapunov_function_does_not_fall_in_each_step():
    """Remark 4: V(s+1) > V(s) in 5734 of 20000 steps, though it stays below V(0)."""
    run = hf.simulate(by_reactions(), hf.Euler, step=1e-3, duration=20)
    y, w = run["y_ray"], run["w_ray"]
    v = 3 * y**2 + 4 * y * w + 3 * w**2
    assert int((np.diff(v) > 0).sum()) == pytest.approx(5734, abs=2)
    assert v.max() == v[0]
