"""Gains of laws above order two: one rate for scheme and step, by the measurements that order two is chosen by."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import sympy as sp

import holdfast as hf

EXAMPLES = hf.__path__[0] + "/examples/"


def example(name):
    return hf.derive(hf.load(f"{EXAMPLES}{name}.toml"))


def elastic(start=0, law=None):
    """A link turned through a spring (order 4), a slider that a reaction ties to it (order 2)."""
    link, rotor, z = hf.coordinates("link rotor z")
    kinetic = (link.rate**2 + sp.Rational(3, 10) * rotor.rate**2 + z.rate**2) / 2
    potential = 50 * (link - rotor) ** 2 - 5 * sp.cos(link) + z**2
    system = hf.System(coordinates=(link, rotor, z), kinetic=kinetic, potential=potential)
    program = hf.Program(
        holonomic={"rail": z - link, "path": link - (hf.time / 2) ** 4},
        controls={"u": {rotor: 1}},
        reactions=("rail",),
        law=law or hf.Tuned(),
    )
    return hf.Problem(system, program, start={link: start})


def measured(equations, rate, step, duration):
    """The largest deviations of the two constraints, from a start on the program, by a run of its own."""
    run = hf.simulate(
        equations, hf.RK4, step=step, duration=duration, law=hf.critically_damped(rate), start_policy="project"
    )
    return max(np.abs(run[f"y_{name}"]).max() for name in equations.constraints)


def test_no_rate_of_a_scan_is_better_and_allowed():
    equations = example("crane")
    found = hf.tune(equations, hf.RK4, step=0.05, duration=3)
    assert isinstance(found.law, type(hf.critically_damped(1)))
    assert found.ratio == 1
    assert found.gain > 3
    assert found.numbers.state_error <= found.limits["state_error"]
    ours = measured(equations, found.rate, 0.05, 3)
    for rate in np.geomspace(0.1, 0.9 * found.rate, 12):
        assert measured(equations, float(rate), 0.05, 3) > 0.98 * ours
    tight = found.tightest
    assert tight.numbers.deviation < found.numbers.deviation  # faster rates hold better, at errors that are not allowed
    assert not tight.allowed


def test_a_start_off_the_program_is_brought_back_within_half_the_run():
    equations = example("quadrotor")
    found = hf.tune(equations, hf.RK4, step=0.01, duration=2)
    run = hf.simulate(equations, hf.RK4, step=0.01, duration=2, law=found.law)
    assert found.feedback
    assert "back within half the run" in found.criterion
    begin = max(abs(run[f"y_{name}"][0]) for name in equations.constraints)
    for name in equations.constraints:
        assert abs(run[f"y_{name}"][run.times >= 1]).max() < 0.02 * begin


def test_a_rate_for_constraints_of_different_orders():
    equations = hf.derive(elastic())
    assert equations.degrees == {"rail": 2, "path": 4}
    found = hf.tune(equations, hf.RK4, step=0.01, duration=2)
    assert found.numbers.deviation <= found.unstabilised.deviation
    assert hf.spectrum(hf.derive(elastic(law=found.law))).verdict.value == "asymptotically stable"


@pytest.mark.prove
def test_tuned_problems_and_studies_know_it():
    problem = hf.tuned(elastic(0.2), hf.RK4, step=0.01, duration=4)
    run = hf.simulate(hf.derive(problem), hf.RK4, step=0.01, duration=4)
    assert run.success
    assert abs(run["y_path"][-1]) < 1e-3 * abs(run["y_path"]).max()
    stated = elastic(0.2)
    study = hf.study(
        hf.Problem(stated.system, stated.program, start=stated.start, run=hf.Run(scheme="rk4", step=0.01, duration=4))
    )
    assert study.law == problem.program.law
    assert "rate" in study.tuning.summary()
    assert study.report().html


def test_an_adaptive_scheme_and_rates_by_constraint():
    equations = example("crane")
    found = hf.tune(equations, hf.DOP853, tolerance=1e-6, duration=3)
    assert found.numbers.evaluations <= found.limits["evaluations"]
    assert found.gain > 2
    each = hf.tune(equations, hf.RK4, step=0.05, duration=3, per_constraint=True)
    assert each.numbers.deviation <= 1.001 * hf.tune(equations, hf.RK4, step=0.05, duration=3).numbers.deviation


def test_it_is_said_and_drawn_without_a_damping_ratio():
    found = hf.tune(example("crane"), hf.RK4, step=0.05, duration=3)
    assert "damping ratio" not in found.summary()
    assert "alpha" not in found.summary()
    assert found.to_dict()["dialects"] == {}
    found.plot()
    plt.close("all")


@pytest.mark.parametrize("step", [0.5, 1.0])
def test_steps_that_are_far_too_long_find_no_law_that_diverges(step):
    try:
        found = hf.tune(example("crane"), hf.RK4, step=step, duration=3)
    except hf.BadRequest:
        return
    assert np.isfinite(found.numbers.deviation)
