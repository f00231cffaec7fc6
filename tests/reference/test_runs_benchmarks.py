"""Runs of published mechanisms against their reference states, relative to each component's largest value."""

from functools import cache

import numpy as np
import pytest

import holdfast as hf
from tests.reference.benchmark import load

# name: scheme with its step or tolerance, and what the multipliers are good to
RUNS = {
    "pendulum_a01": (hf.DOP853, {"tolerance": 1e-13}, 1e-8),
    "andrews": (hf.DOP853, {"tolerance": 1e-13}, 1e-8),
    "slider_crank_rigid": (hf.DOP853, {"tolerance": 1e-13}, 1e-8),
    "slider_crank_flexible": (hf.DOP853, {"tolerance": 1e-14}, 1e-8),  # its elastic coordinates are of the size 1e-5
    "skate_incline": (hf.DOP853, {"tolerance": 1e-13}, 1e-9),
    "rolling_penny": (hf.DOP853, {"tolerance": 1e-13}, 1e-9),
    "rolling_disc_sympy": (hf.DOP853, {"tolerance": 1e-13}, 1e-9),
    "bead_on_hoop": (hf.DOP853, {"tolerance": 1e-13}, 1e-8),
    "four_bar_sympy": (hf.DOP853, {"tolerance": 1e-13}, 1e-8),
    "rlc_series": (hf.DOP853, {"tolerance": 1e-14}, 1e-9),
    "dc_motor": (hf.DOP853, {"tolerance": 1e-13}, 1e-9),
}


@cache
def run_of(name):
    case = load(name)
    scheme, how, _ = RUNS[name]
    times = sorted(map(float, case.data["states"]))
    equations = hf.derive(case.problem)
    run = hf.simulate(equations, scheme, duration=times[-1], start=case.state("0"), start_policy="keep", **how)
    return case, equations, run, times


@pytest.mark.parametrize("name", RUNS)
def test_states_and_multipliers_agree_with_the_reference(name):
    case, equations, run, times = run_of(name)
    assert run.outcome in (hf.Outcome.completed, hf.Outcome.off_program)
    assert not run.start.changes
    largest = np.abs(run.y).max(axis=1)
    multipliers = [f"lambda_{constraint}" for constraint in equations.constraints]
    largest_multiplier = np.array([np.abs(run[name]).max() for name in multipliers])
    labels = {float(label): label for label in case.data["states"]}
    for time in times:
        error = np.abs(run.sol(time) - case.state(labels[time]))
        assert (error <= 1e-8 * largest + 1e-15).all(), (time, error / largest)
        if multipliers:
            values = equations.evaluate(run.sol(time).tolist(), time)
            error = np.abs(values.multipliers - case.multipliers(labels[time]))
            assert (error <= RUNS[name][2] * largest_multiplier + 1e-12).all(), (time, error / largest_multiplier)


PRINTED = {  # the test set's own end values of Andrews' mechanism at t = 0.03
    "q": "15.81077119629904 -15.75637105984298 0.04082224013073101 -0.5347301163226948 0.5244099658805304 "
    "0.5347301163226948 1.048080741042263",
    "v": "1139.920302151208 -1424.379294994111 11.03291221937134 19.29337464421385 0.5735699284790808 "
    "-19.29337464421385 0.3231791658026955",
    "a": "-24631.76316945196 51850.37701610329 324102.5686413781 566749.3645176213 16743.62929479361 "
    "-566749.3645176222 9826.520791458422",
    "lam": "199.1753333731910 -29.75531228015052 23.06654119098399 31.45271365475927 22.64249232082739 "
    "11.61740700019673",
}


def test_andrews_mechanism_agrees_with_the_printed_end_values():
    """To 1e-9 / 1e-7 / 1e-5 in positions / rates / accelerations and multipliers: the printed digits end there."""
    _, equations, run, _ = run_of("andrews")
    end = equations.evaluate(run.sol(0.03).tolist(), 0.03)
    ours = {"q": end.state[:7], "v": end.state[7:], "a": end.accelerations, "lam": -end.multipliers}
    for key, bar in {"q": 1e-9, "v": 1e-7, "a": 1e-5, "lam": 1e-5}.items():
        printed = np.array([float(word) for word in PRINTED[key].split()])
        assert np.abs(ours[key] - printed).max() <= bar * np.abs(printed).max(), key


@pytest.mark.parametrize("name", ["pendulum_a01", "skate_incline", "bead_on_hoop", "four_bar_sympy"])
def test_the_energy_of_the_reference_is_kept(name):
    _, _, run, _ = run_of(name)
    scale = max(1.0, np.abs(run["kinetic"]).max())
    drift = np.abs(run.energy - run.energy[0] - run.energy_balance.explicit - run.energy_balance.held)
    assert drift.max() < 1e-4 * scale  # the quadrature over the rows of an eighth-order run is the coarser of the two
    if name != "bead_on_hoop":
        assert np.abs(run.energy - run.energy[0]).max() < 1e-9 * scale


def test_the_flexible_slider_crank_under_the_stiff_scheme():
    case = load("slider_crank_flexible")
    equations = hf.derive(case.problem)
    run = hf.simulate(
        equations, hf.Radau5, step=1e-5, duration=0.1, start=case.state("0"), start_policy="keep", every=10
    )
    end = np.array([run[name][-1] for name in run.state_names])
    largest = np.abs(run.y).max(axis=1)
    assert (
        np.abs(end - case.state("0.1")) <= 1e-5 * largest
    ).all()  # the step spans a third of the fastest mode's radian
    steered = hf.simulate(
        equations, hf.Radau, tolerance=1e-12, duration=0.1, start=case.state("0"), start_policy="keep"
    )
    assert (np.abs(steered.y[:, -1] - case.state("0.1")) <= 1e-8 * largest).all()
