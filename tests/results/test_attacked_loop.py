"""What an attack on the engineer's loop found false, and that it is true now."""

import numpy as np
import pytest

import holdfast as hf

x, y = hf.coordinates("x y")
m, k, c = hf.parameters("m k c")

PATH = """
schema = 1
[system]
coordinates = ["x"]
kinetic = "x_dot**2/2"
[program.holonomic]
path = "x"
[program.controls]
F = { x = "1" }
[program.law]
kind = "spring-damper"
stiffness = 1
damping = 0.1
[start]
x_dot = 1
[run]
scheme = "rk4"
step = 0.01
duration = 6.28
"""


def test_rows_at_stated_times_are_no_part_of_a_promise():
    problem = hf.loads(PATH + "at = [6.27, 6.28]\n")
    equations = hf.derive(problem)
    run = hf.simulate(equations)
    assert run.times.tolist() == [6.27, 6.28]
    certificate = hf.certify(equations)
    assert certificate.begin == 0
    assert certificate.start == (0.0, 1.0)
    assert not any(block.label is hf.Label.proved for block in certificate.blocks) or hf.verify(certificate).holds
    with pytest.raises(hf.HoldfastError, match="is not its start"):
        hf.certify(equations, "rk4", trajectory=run)
    study = hf.study(problem, effort=0.5)
    assert len(study.trajectory.times) == 629


def test_a_verdict_over_some_rows_says_so():
    line = hf.study(hf.loads(PATH + "every = 314\n"), effort=0.2).verdict.line
    assert "never" not in line
    assert "at the rows that were kept" in line


def test_a_run_with_stated_rows_still_lasts_as_long_as_it_says():
    run = hf.simulate(hf.derive(hf.loads(PATH + "at = [0, 3.14]\n")))
    assert run.steps == 628
    with pytest.raises(hf.HoldfastError, match="beyond the run"):
        hf.simulate(hf.derive(hf.loads(PATH + "at = [0, 7]\n")))


def test_a_step_takes_a_whole_state_and_begins_where_a_run_does():
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=9.81 * y)
    rod = hf.Program(holonomic={"rod": (x**2 + y**2 - 1) / 2}, law=hf.critically_damped(5))
    problem = hf.Problem(
        system, rod, start={x: 0.6, y: -0.8, x.rate: 1}, run=hf.Run(scheme="rk4", step=0.01, duration=1)
    )
    equations = hf.derive(problem)
    step = hf.step_function(equations)
    assert step.start() == pytest.approx([0.6, -0.8, 1, 0.75])
    assert np.array_equal(step(0.0, step.start()), hf.simulate(equations).y[:, 1])
    for wrong in ([1.0], 1.0, [1.0] * 5, "abc"):
        with pytest.raises(hf.HoldfastError, match="for a state of 4"):
            step(0.0, wrong)


def test_what_is_undefined_on_the_way_is_not_reduced():
    system = hf.System(coordinates=x, kinetic=x.rate**2 / 2, potential=x**2 / 2)
    equations = hf.derive(hf.Problem(system, start={x: 1}, run=hf.Run(scheme="rk4", step=0.01, duration=3)))
    run = hf.simulate(equations)
    for how in ("final", "mean", "rms", "max"):
        assert np.isnan(run.reduce(f"{how}(sqrt(x))"))
    assert run.reduce("final(x)") == run["x"][-1]
    many = hf.ensemble(equations, cases={"x": [1.0, 0.5]})
    assert np.isnan(many.reduce("mean(sqrt(x))")).all()


def test_numbers_are_no_quantities_and_runs_list_their_columns():
    system = hf.System(coordinates=x, kinetic=x.rate**2 / 2)
    run = hf.simulate(hf.derive(hf.Problem(system, start={x.rate: 1})), hf.RK4, step=0.1, duration=1)
    for asked in (0, -1, 0.5):
        with pytest.raises(hf.HoldfastError, match="no quantity"):
            run[asked]
        with pytest.raises(hf.HoldfastError, match="no quantity"):
            run.at(asked)
    assert list(run) == list(run.names)
    assert "x" in run


def test_output_that_no_run_knows_is_told_before_the_run():
    with pytest.raises(hf.HoldfastError) as error:
        hf.simulate(hf.derive(hf.loads(PATH + '[output]\nload = "zz"\n')))
    assert error.value.where == "output.load"
    for name in ("energy", "time", "outcome", "power_held"):
        with pytest.raises(hf.HoldfastError, match="results"):
            hf.loads(PATH + f'[output]\n{name} = "x"\n').output


@pytest.mark.parametrize("length", [1e-9, 1.0, 1e9])
def test_no_rest_is_invented_in_other_units(length):
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=9.81 * y)
    rod = hf.Program(holonomic={"rod": (x**2 + y**2 - length**2) / 2})
    for rest in hf.equilibria(hf.Problem(system, rod, start={x: 0.6 * length, y: -0.8 * length})):
        assert abs(rest.state["x"]) < 1e-3 * length


def test_residuals_that_are_not_what_sigma_says_are_told():
    system = hf.System(coordinates=x, kinetic=x.rate**2 / 2, potential=k * x**2 / 2, parameters={k: 4})
    equations = hf.derive(hf.Problem(system, start={x: 1}, run=hf.Run(scheme="rk4", step=0.01, duration=3)))
    times = np.arange(0, 3.001, 0.05)
    seen = np.cos(2 * times) + np.random.default_rng(3).normal(0, 0.01, len(times))
    told = hf.fit(equations, {"t": times, "x": seen}, ["k"], sigma=1e-4)
    assert any("times what its sigma says" in warning for warning in told.warnings)
    right = hf.fit(equations, {"t": times, "x": seen}, ["k"], sigma=1e-2)
    assert not right.warnings
