"""What a run knows: quantities by name and symbol, deviations, energy, outcomes."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose, assert_array_equal

import holdfast as hf
from tests.results.problems import pendulum, steered, x, z


def swing(scheme=hf.RK4, step=0.01, **changes):
    return hf.simulate(pendulum(), scheme, step=step, duration=1, **changes)


def test_quantities_answer_to_name_and_symbol():
    run = swing()
    assert_array_equal(run["x"], run[x])
    assert_array_equal(run["x_dot"], run[x.rate])
    assert "lambda_rod" in run
    assert x in run
    assert "q" not in run
    with pytest.raises(hf.BadRequest, match="no quantity 'lambda_rot'") as caught:
        run["lambda_rot"]
    assert "lambda_rod" in caught.value.fix


def test_it_has_the_fields_of_a_scipy_result():
    run = swing()
    assert_array_equal(run.t, run.times)
    assert run.y.shape == (4, 101)
    assert run.success is True
    assert run.message.startswith("The run reached its final time.")
    assert run.nfev == 401
    assert not run.times.flags.writeable
    assert not run.y.flags.writeable


def test_columns_are_what_the_equations_say_at_each_row():
    run = hf.simulate(steered(), hf.RK4, step=0.01, duration=0.5)
    for row in (0, 20, 50):
        values = steered().evaluate(run.y[:, row].tolist(), run.times[row])
        for name in ("F", "lambda_rail", "R_x", "R_z", "y_rail", "w_timetable", "energy", "power_held"):
            assert run[name][row] == pytest.approx(values[name], rel=1e-12, abs=1e-13)


def test_deviations_are_arrays_with_a_column_for_each_constraint():
    run = hf.simulate(steered(), hf.RK4, step=0.01, duration=0.5)
    assert_array_equal(run.deviation[:, 1], run["y_timetable"])
    assert run.deviation_rate.shape == (51, 2)


# ── energy ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("scheme", [hf.Euler, hf.Heun, hf.RK4], ids=lambda scheme: scheme.name)
def test_the_energy_balance_closes_at_the_rate_of_the_scheme(scheme):
    """The residual falls with the step as the error of the scheme, or of the quadrature (third order), does."""
    residuals = []
    for step in (0.02, 0.01):
        run = hf.simulate(steered(), scheme, step=step, duration=2)
        residuals.append(np.abs(run.energy_balance.residual).max())
    assert residuals[0] / residuals[1] > 0.85 * 2 ** min(scheme.order, 3)


def test_the_energy_balance_names_every_cause():
    """A damped, driven mass on a moving base, with nothing held."""
    q = hf.coordinates("q")
    system = hf.System(
        coordinates=(q,),
        kinetic=q.rate**2 / 2,
        potential=(q - sp.sin(hf.time)) ** 2 / 2,
        dissipation=q.rate**2 / 20,
        forces={q: sp.cos(2 * hf.time)},
    )
    run = hf.simulate(hf.derive(hf.Problem(system, start={q: 1})), hf.RK4, step=0.001, duration=5)
    balance = run.energy_balance
    assert np.abs(balance.residual).max() < 1e-8
    assert_allclose(balance.held, 0, atol=0)
    assert balance.dissipation[-1] < 0
    assert abs(balance.explicit[-1]) > 0.1
    assert abs(balance.forces[-1]) > 0.01


def test_an_ideal_constraint_does_no_work_on_the_program():
    run = hf.simulate(pendulum(), hf.DOP853, tolerance=1e-13, duration=2, law=hf.Unstabilised())
    assert np.abs(run["power_held"]).max() < 1e-9
    assert np.abs(run.energy).max() < 1e-10


def test_the_correction_is_the_part_of_the_held_work_that_the_law_asks_for():
    off = hf.simulate(pendulum(), hf.RK4, step=0.001, duration=1, start={x: 1.05}, start_policy="keep")
    assert abs(off.energy_balance.correction[-1]) > 1e-4
    assert np.abs(off.energy_balance.residual).max() < 1e-6
    on = hf.simulate(pendulum(), hf.RK4, step=0.001, duration=1)
    assert np.abs(on.energy_balance.correction).max() < 1e-9


# ── outcomes ──────────────────────────────────────────────────────────────────────────────────────


def test_a_growing_deviation_is_no_success():
    run = hf.simulate(
        pendulum(), hf.RK4, step=0.01, duration=2, law=hf.SpringDamper(stiffness=-25, damping=-10), start={x: 1.001},
        start_policy="keep",
    )  # fmt: skip
    assert run.outcome in (hf.Outcome.deviation_grew, hf.Outcome.diverged)


def test_values_that_become_infinite_end_the_run_and_keep_its_rows():
    q = hf.coordinates("q")
    system = hf.System(coordinates=(q,), kinetic=q.rate**2 / 2, forces={q: 3 * q.rate * q**2})  # q' = q³ from 1
    run = hf.simulate(hf.derive(hf.Problem(system, start={q: 1, q.rate: 1})), hf.RK4, step=0.001, duration=2)
    assert run.outcome is hf.Outcome.not_finite
    assert run.times[-1] == pytest.approx(0.5, abs=0.02)
    assert np.isfinite(run["q"]).all()


def test_an_adaptive_run_into_a_singularity_collapses_its_step():
    q = hf.coordinates("q")
    system = hf.System(coordinates=(q,), kinetic=q.rate**2 / 2, forces={q: 3 * q.rate * q**2})
    run = hf.simulate(hf.derive(hf.Problem(system, start={q: 1, q.rate: 1})), hf.DOP853, tolerance=1e-10, duration=2)
    assert run.outcome in (hf.Outcome.step_collapsed, hf.Outcome.not_finite)
    assert run.times[-1] == pytest.approx(0.5, abs=1e-3)


def test_a_plot_shows_coordinates_and_deviations():
    import matplotlib.pyplot as plt

    run = swing()
    upper, lower = run.plot()
    assert len(upper.lines) == 2
    assert lower.get_yscale() == "log"
    axes = run.plot("lambda_rod", z)
    assert len(axes.lines) == 2
    plt.close("all")


def test_a_run_says_in_one_line_what_it_is():
    assert repr(swing()) == "<Trajectory rk4, 101 rows to t = 1: The run reached its final time.>"


def test_a_plot_shows_coordinates_and_states_and_no_rates():
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    s = hf.coordinates("s")
    system = hf.System(coordinates=s, kinetic=s.rate**2 / 2, states={"heat": s.rate**2}, potential=s**2 / 2)
    run = hf.simulate(hf.derive(hf.Problem(system, start={s: 1, "heat": 0})), hf.RK4, step=0.1, duration=1)
    (axes,) = run.plot()
    assert len(axes.lines) == 2
    assert np.array_equal(axes.lines[0].get_ydata(), run["s"])
    assert np.array_equal(axes.lines[1].get_ydata(), run["heat"])
    pyplot.close("all")


def test_energies_are_columns_of_their_own():
    run = swing()
    assert run["potential"] == pytest.approx(9.81 * run["z"])
    assert_array_equal(run["energy"], run["kinetic"] + run["potential"])
