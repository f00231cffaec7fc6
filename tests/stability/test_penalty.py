"""The penalty that tuning measures beside its laws, against SciPy and against what is known of penalties."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import holdfast as hf
from holdfast.results.runs.request import request_of
from holdfast.stability.tuning.penalty import measured_penalty, strength
from holdfast.stability.tuning.trials import Trials

x, y = hf.coordinates("x y")
MASS, LENGTH, GRAVITY = 2.0, 0.5, 9.81


def pendulum():
    kinetic = MASS * (x.rate**2 + y.rate**2) / 2
    system = hf.System(coordinates=(x, y), kinetic=kinetic, potential=MASS * GRAVITY * y)
    rod = hf.Program(holonomic={"rod": (x**2 + y**2 - LENGTH**2) / 2}, law=hf.critically_damped(5))
    return hf.derive(hf.Problem(system, rod, start={x: LENGTH}))


def trials(step=0.001):
    equations = pendulum()
    request = request_of(equations, hf.RK4, step=step, duration=1)
    return Trials(equations, request, None, {}, 1)


def penalised(rate, times):
    """M a = h - J^T (k y + c w) with k = rate^2/sigma, c = 2 rate/sigma, sigma = L^2/M."""
    sigma = LENGTH**2 / MASS

    def field(t, s):
        q, v = s[:2], s[2:]
        push = (rate**2 * (q @ q - LENGTH**2) / 2 + 2 * rate * (q @ v)) / sigma
        return np.concatenate([v, np.array([0, -GRAVITY]) - q * push / MASS])

    return solve_ivp(field, (0, times[-1]), [LENGTH, 0, 0, 0], t_eval=times, rtol=1e-11, atol=1e-12, method="Radau").y


@pytest.mark.parametrize("rate", [10.0, 100.0])
def test_its_deviation_is_that_of_springs_and_dampers(rate):
    made = trials()
    found = measured_penalty(made, np.array([rate]))
    states = penalised(rate, made.reference.times)
    deviation = np.abs((states[:2] ** 2).sum(axis=0) - LENGTH**2).max() / 2
    assert_allclose(found.deviation[0] * made.scales["rod"], deviation, rtol=1e-5)
    assert_allclose(strength(made, rate)["rod"], rate**2 * MASS / LENGTH**2)


def test_its_deviation_falls_with_the_square_of_its_rate():
    found = measured_penalty(trials(), np.array([50.0, 100.0, 200.0])).deviation
    assert_allclose(found[:-1] / found[1:], 4, rtol=0.1)


def test_tuning_shows_it_as_a_rival_and_says_what_it_is():
    tuning = hf.tune(pendulum(), hf.RK4, step=0.01, duration=2)
    name = next(name for name in tuning.rows if name.startswith("penalty k = "))
    assert tuning.rows[name].deviation > 100 * tuning.numbers.deviation
    assert "nothing is held" in tuning.summary()
    assert tuning.to_dict()["penalty"]["strength"].keys() == {"rod"}


def test_there_is_none_where_controls_hold_the_program():
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2)
    program = hf.Program(holonomic={"home": x}, controls={"F": {x: 1}}, law=hf.critically_damped(1))
    tuning = hf.tune(hf.derive(hf.Problem(system, program, start={x: 0.1})), hf.RK4, step=0.01, duration=2)
    assert tuning.penalty is None
    assert tuning.to_dict()["penalty"] is None
