"""Runs that choose their own steps: what is proved along these, held against steps in 300 bits."""

import flint
import numpy as np
import pytest

import holdfast as hf
from holdfast.engine.kernel import compiled
from holdfast.equations.values import parameter_vector
from holdfast.graph.arithmetics.balls import ball, precision
from holdfast.stability.own_steps import _as_run
from holdfast.stability.tube.cells import scales_of
from holdfast.stability.tube.flow import tube_flow
from holdfast.stability.tube.varying_steps import StepForms, StepNorm, candidate_factors
from tests.stability.tube_truth import Truth, constant

MAIN = hf.DOPRI5.main


def links():
    a, b, c, d = hf.coordinates("a b c d")
    rates = (a.rate, b.rate, c.rate, d.rate)
    system = hf.System(coordinates=(a, b, c, d), kinetic=sum(v**2 for v in rates) / 2, potential=9.81 * (b + d))
    held = {"upper": (a**2 + b**2 - 1) / 2, "lower": ((c - a) ** 2 + (d - b) ** 2 - 1) / 2}
    program = hf.Program(holonomic=held, law=hf.critically_damped(10))
    return hf.derive(hf.Problem(system, program, start={a: 0.6, b: -0.8, c: 1.4, d: -1.4}))


@pytest.fixture(scope="module")
def made():
    equations = links()
    return equations, hf.simulate(equations, hf.DOPRI5, tolerance=1e-9, duration=0.6, every=1)


@pytest.mark.prove
def test_an_adaptive_run_is_proved_along_its_own_steps(made):
    equations, run = made
    found = hf.own_step_bounds(equations, run)
    assert set(found) == {"upper", "lower"}
    for bounds in found.values():
        psi = np.array([run[name] for name in bounds.names]).T
        assert (np.abs(psi - bounds.middle) <= bounds.radius + 1e-15).all()
        assert all(bound <= 12 * size for bound, size in zip(bounds.bounds, np.abs(psi).max(axis=0), strict=True))
        assert bounds.steps[1] > 1.3 * bounds.steps[0]
        assert "this run's own steps" in str(bounds)
        assert "Not re-checked" in str(bounds)


@pytest.mark.prove
def test_random_states_of_the_boxes_add_what_the_forms_say(made):
    equations, run = made
    flow, rng = tube_flow(equations, {}), np.random.default_rng(6)
    forms = StepForms(flow, MAIN, run, scales_of(run, 4, flow.angles))
    middle, radius = forms.defects(1e-4)
    rounding, near, lost_most = forms.rounding(1e-4), 0.0, 0.0
    law = _law(equations)
    kernel, numbers = compiled(equations.field, MAIN), parameter_vector(equations, {})
    with precision(300):
        truth = Truth(equations, MAIN)
        for k in rng.integers(0, len(run.times) - 1, 25):
            t, h = float(run.times[k]), float(run.times[k + 1] - run.times[k])
            x = run.y[:, k] + 1e-4 * forms.scales * np.sign(rng.uniform(-1, 1, len(run.y))) * (1 - 1e-9)
            before, after = truth.deviation(t, x), [constant(v) for v in truth.after(t, x, flint.arb(h))]
            for i, asked in enumerate(_taken(law, before, h)):
                d = float((after[i] - asked).mid())
                assert abs(d - middle[k, i]) <= radius[k, i]
                near = max(near, abs(d) / (abs(middle[k, i]) + radius[k, i]))
            computed = truth.deviation(t + h, kernel.run(x, numbers, t0=t, step=h, steps=1).states[-1])
            lost = np.array([float((a - b).mid()) for a, b in zip(computed, after, strict=True)])
            assert (np.abs(lost) <= rounding[k]).all()
            lost_most = max(lost_most, float((np.abs(lost) / rounding[k]).max()))
    assert near > 0.5
    assert lost_most > 1e-4


def test_each_row_is_one_step_from_the_row_before(made):
    equations, run = made
    with precision(300):
        truth = Truth(equations, MAIN)
        for k in (0, 3, 10, len(run.times) - 2):
            t, h = float(run.times[k]), float(run.times[k + 1] - run.times[k])
            exact = truth.after(t, run.y[:, k], flint.arb(h))
            read = truth.deviation(float(run.times[k + 1]), run.y[:, k + 1])
            assert max(abs(float((constant(a) - b).mid())) for a, b in zip(exact, read, strict=True)) < 1e-13


def _law(equations):
    """H of (y_upper, y_lower, w_upper, w_lower) under critical damping of rate 10."""
    return np.block([[np.zeros((2, 2)), np.eye(2)], [-100 * np.eye(2), -20 * np.eye(2)]])


def _taken(law, psi, h, order=MAIN.order):
    """R(hH)ψ up to the scheme's order."""
    total, term, size = list(psi), list(psi), flint.arb(h)
    for k in range(1, order + 1):
        term = [sum((ball(float(e)) * x for e, x in zip(row, term, strict=True)), ball(0)) * size / k for row in law]
        total = [a + b for a, b in zip(total, term, strict=True)]
    return total


def test_steps_too_long_for_the_law_have_no_norm():
    law = np.array([[0.0, 1.0], [-400.0, -40.0]])
    run = _Times(np.array([0.0, 0.01, 0.3]))
    assert all(
        StepNorm.proved(MAIN, law, factor, run) is None for factor in candidate_factors(law, np.array([[1e-9, 1e-8]]))
    )
    fine = _Times(np.array([0.0, 0.001, 0.02]))
    found = [StepNorm.proved(MAIN, law, factor, fine) for factor in candidate_factors(law, np.array([[1e-9, 1e-8]]))]
    assert any(norm is not None for norm in found)


class _Times:
    def __init__(self, times):
        self.times = times


def test_what_cannot_be_proved_is_refused_by_name(made):
    equations, run = made
    with pytest.raises(hf.BadRequest, match="takes Equations"):
        hf.own_step_bounds(run, equations)
    with pytest.raises(hf.BadRequest, match="order of dop853 is not shown"):
        hf.own_step_bounds(equations, hf.simulate(equations, hf.DOP853, tolerance=1e-8, duration=0.2, every=1))
    with pytest.raises(hf.BadRequest, match="are not its steps"):
        hf.own_step_bounds(equations, hf.simulate(equations, hf.DOPRI5, tolerance=1e-8, duration=1.0, at=[0, 0.5, 1]))
    other = links().with_law(hf.critically_damped(5))
    with pytest.raises(hf.BadRequest, match="other equations"):
        hf.own_step_bounds(other, run)
    free = equations.with_law(hf.SpringDamper(stiffness=0, damping=0))
    plain = hf.own_step_bounds(free, hf.simulate(free, hf.DOPRI5, tolerance=1e-8, duration=0.1, every=1))
    assert all(isinstance(why, str) and "does not attract" in why for why in plain.values())


WRONG = """schema = 1
[system]
coordinates = ["th"]
kinetic = "m*th_dot**2/2"
potential = "-5*m*cos(th)"
[parameters]
m = 2
[program.holonomic]
path = "th - 1 + cos(2*t)"
[program.controls]
tau = {{ th = "1 + th**2/20" }}
[program.model]
m = 1.7
{limits}
[program.law]
kind = "critically-damped"
rate = 15
[run]
scheme = "rk4"
step = 0.005
duration = 1
"""


def test_a_wrong_model_is_bounded_as_one_more_defect():
    equations = hf.derive(hf.loads(WRONG.format(limits="")))
    run = hf.simulate(equations, every=1)
    bounds = hf.own_step_bounds(equations, run)["path"]
    psi = np.array([run[name] for name in bounds.names]).T
    assert not bounds.obeyed
    assert "the law is not obeyed" in str(bounds)
    assert (np.abs(psi - bounds.middle) <= bounds.radius + 1e-15).all()
    assert np.abs(psi).max(axis=0)[0] <= bounds.bounds[0] < 1.5 * np.abs(psi).max(axis=0)[0]


def test_random_states_under_a_wrong_model_add_what_the_forms_say():
    equations = hf.derive(hf.loads(WRONG.format(limits="")))
    run, rng = hf.simulate(equations, every=1, duration=0.3), np.random.default_rng(3)
    flow, _ = _as_run(equations, tube_flow(equations, {}), {})
    forms = StepForms(flow, hf.RK4, run, scales_of(run, 1, flow.angles))
    law = np.array([[0.0, 1.0], [-225.0, -30.0]])
    norm = next(
        norm for f in candidate_factors(law, np.array([[1e-6, 1e-5]]))
        if (norm := StepNorm.proved(hf.RK4, law, f, run)) is not None
    )  # fmt: skip
    middle, radius = forms.direct(1e-3, norm, [0, 1])
    near = 0.0
    with precision(300):
        truth = Truth(equations, hf.RK4)
        for k in rng.integers(0, len(run.times) - 1, 20):
            t, h = float(run.times[k]), float(run.times[k + 1] - run.times[k])
            x = run.y[:, k] + 1e-3 * forms.scales * np.sign(rng.uniform(-1, 1, 2)) * (1 - 1e-9)
            before, after = truth.deviation(t, x), [constant(v) for v in truth.after(t, x, flint.arb(h))]
            for i, asked in enumerate(_taken(law, before, h, hf.RK4.order)):
                d = float((after[i] - asked).mid())
                assert abs(d - middle[k, i]) <= radius[k, i]
                near = max(near, abs(d - middle[k, i]) / radius[k, i])
    assert near > 0.3


@pytest.mark.prove
def test_a_wrong_model_at_its_limit_is_not_bounded():
    equations = hf.derive(hf.loads(WRONG.format(limits="[program.limits]\ntau = 12")))
    run = hf.simulate(equations, every=1)
    peak = float(np.abs(run["tau"]).max())
    if peak < 12:
        assert not isinstance(hf.own_step_bounds(equations, run)["path"], str)
    low = hf.derive(hf.loads(WRONG.format(limits=f"[program.limits]\ntau = {0.999 * peak}")))
    why = hf.own_step_bounds(low, hf.simulate(low, every=1))["path"]
    assert isinstance(why, str)
