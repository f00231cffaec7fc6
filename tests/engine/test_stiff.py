"""The stiff scheme that chooses its steps: tolerances, work, and what it does where equations are not solved."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

from holdfast.engine.kernel import compiled
from holdfast.engine.run.status import Status
from holdfast.graph.field import Field
from holdfast.graph.nodes import Graph
from holdfast.schemes.tableaus.dop853 import DOP853
from holdfast.schemes.tableaus.radau import RADAU
from tests.engine.fields import blow_up, forced_oscillator, forced_solution, stiff, two_rates, van_der_pol


def run(field, start, parameters=(), *, tolerance, duration, **options):
    return compiled(field, RADAU).run_adaptive(
        start, parameters, duration=duration, relative=tolerance, absolute=tolerance, **options
    )


def test_the_error_falls_with_the_fifth_power_of_the_step_as_the_tolerance_is_tightened():
    errors, steps = [], []
    for tolerance in (1e-5, 1e-7):
        rows = run(forced_oscillator(), [1.0, 0.0], tolerance=tolerance, duration=20.0)
        errors.append(np.abs(rows.states[-1] - forced_solution(20.0)).max())
        steps.append(rows.steps)
    assert math.log(steps[1] / steps[0]) / math.log(100) == pytest.approx(1 / 4, abs=0.02)  # the measured error is h⁴
    assert math.log(errors[0] / errors[1]) / math.log(steps[1] / steps[0]) == pytest.approx(5, abs=0.5)


@pytest.mark.parametrize("stiffness", [1e2, 1e6, 1e10])
@pytest.mark.parametrize("tolerance", [1e-4, 1e-7, 1e-10])
def test_prothero_and_robinsons_solution_is_met_at_the_steps_and_between_them(stiffness, tolerance):
    """x = cos t, however stiff: as many steps as its own smoothness takes, and an interpolant that follows it."""
    rows = run(stiff(), [1.0], [stiffness], tolerance=tolerance, duration=10.0)
    wanted = np.linspace(0, 10, 2001)
    assert rows.status == Status.completed
    assert np.abs(rows.states[:, 0] - np.cos(rows.times)).max() < tolerance
    assert np.abs(rows.dense(wanted)[:, 0] - np.cos(wanted)).max() < 4 * tolerance
    assert rows.steps < 3 * tolerance ** (-1 / 4)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-7, 1e-10])
def test_a_fast_transient_is_resolved_and_then_left_behind(tolerance):
    rows = run(two_rates(), [1.0, 0.0], tolerance=tolerance, duration=20.0)
    slow, fast = np.exp(-rows.times), np.exp(-1000 * rows.times)
    assert_allclose(rows.states, np.transpose([2 * slow - fast, fast - slow]), rtol=0, atol=2 * tolerance)
    assert np.diff(rows.times)[0] < 1e-3 < 0.1 < np.diff(rows.times)[-2]


def test_van_der_pols_equation_ends_at_the_published_values():
    """Mazzia, Magherini, Test Set for IVP Solvers 2.4, VDPOL: ε = 10⁻⁶ and t = 2, that is k = 10³ and t = 2000."""
    for tolerance, bar in ((1e-6, 1e-5), (1e-9, 1e-8), (1e-11, 1e-9)):
        rows = run(van_der_pol(), [2.0, 0.0], [1e3], tolerance=tolerance, duration=2000.0)
        assert_allclose(rows.states[-1], [1.706167732170483, -0.8928097010247975e-3], rtol=bar)


def robertson():
    """x' = -x/25 + 10⁴ y z,  z' = 3·10⁷ y²,  x + y + z = 1."""
    g = Graph()
    t, x, y, z = (g.input(name) for name in "txyz")
    slow, back, fast = x / 25, 10_000 * y * z, 30_000_000 * y**2
    return Field(time=t, state=(x, y, z), parameters=(), rates=(back - slow, slow - back - fast, fast))


def test_robertsons_reaction_agrees_with_scipy():
    def rates(t, state):
        x, y, z = state
        slow, back, fast = x / 25, 1e4 * y * z, 3e7 * y**2
        return [back - slow, slow - back - fast, fast]

    theirs = solve_ivp(rates, (0, 1e4), [1.0, 0, 0], method="Radau", rtol=1e-9, atol=1e-13)
    ours = compiled(robertson(), RADAU).run_adaptive([1.0, 0, 0], duration=1e4, relative=1e-9, absolute=1e-13)
    assert_allclose(ours.states[-1], theirs.y[:, -1], rtol=1e-7)
    assert ours.evaluations < theirs.nfev
    assert ours.states.sum(axis=1) == pytest.approx(1, abs=1e-9)


def test_it_takes_few_steps_where_an_explicit_scheme_takes_many():
    implicit = run(stiff(), [1.0], [1e5], tolerance=1e-6, duration=10.0)
    explicit = compiled(stiff(), DOP853).run_adaptive([1.0], [1e5], duration=10.0, relative=1e-6, absolute=1e-6)
    assert implicit.evaluations < explicit.evaluations / 1000


def test_partials_and_factors_are_used_again_and_single_corrections_suffice():
    """A linear field: the second correction is rounding, and when that is known it is left out."""
    rows = run(forced_oscillator(), [1.0, 0.0], tolerance=1e-8, duration=20.0)
    assert 4 * rows.steps < rows.evaluations < 5 * rows.steps


def test_python_goes_the_same_way_in_other_chunks():
    kernel = compiled(van_der_pol(), RADAU, target="python")
    whole = kernel.run_adaptive([2.0, 0.0], [100.0], duration=100.0, relative=1e-5, absolute=1e-5)
    native = compiled(van_der_pol(), RADAU).run_adaptive(
        [2.0, 0.0], [100.0], duration=100.0, relative=1e-5, absolute=1e-5
    )
    assert whole.steps == native.steps
    assert_allclose(whole.states, native.states, rtol=1e-8, atol=1e-10)


def test_steps_that_fall_on_the_end_and_wanted_times_are_met():
    at = [0.0, 0.5, 1.0, 7.25, 10.0]
    rows = run(stiff(), [1.0], [1e6], tolerance=1e-9, duration=10.0, at=at)
    assert rows.times.tolist() == at
    assert_allclose(rows.states[:, 0], np.cos(at), atol=4e-9)


@pytest.mark.parametrize("target", ["native", "python"])
def test_a_singularity_collapses_the_step(target):
    rows = compiled(blow_up(), RADAU, target=target).run_adaptive([1.0], duration=2.0)
    assert rows.status == Status.step_collapsed
    assert rows.times[-1] == pytest.approx(1, abs=1e-8)
    assert np.isfinite(rows.states).all()


def test_equations_that_no_step_solves_are_a_collapse_too():
    """x' = -1/√x reaches 0 at t = 2/3, beyond which nothing is defined."""
    g = Graph()
    t, x = g.input("t"), g.input("x")
    falls = Field(time=t, state=(x,), parameters=(), rates=(-1 / g.call("sqrt", x),))
    rows = compiled(falls, RADAU).run_adaptive([1.0], duration=2.0, relative=1e-6, absolute=1e-6)
    assert rows.status in (Status.step_collapsed, Status.not_finite)
    assert rows.times[-1] == pytest.approx(2 / 3, abs=1e-6)  # x = (1 - 3t/2)^(2/3)
    assert rows.rejected > 10


@pytest.mark.parametrize("tolerance", [1e-1, 1e-14, 1e-15])
def test_coarse_and_finest_tolerances_come_to_the_end(tolerance):
    rows = run(forced_oscillator(), [1.0, 0.0], tolerance=tolerance, duration=2.0)
    assert rows.status == Status.completed
    assert np.abs(rows.states[-1] - forced_solution(2.0)).max() < max(tolerance, 1e-13)


def test_an_event_of_a_stiff_run_is_located_and_the_part_before_it_interpolated():
    """x = cos t vanishes at π/2. F at the rows would be of no use for a cubic: it magnifies their errors by 10⁸."""
    field = stiff()
    kernel = compiled(field, RADAU, events=(field.state[0],))
    rows = kernel.run_adaptive([1.0], [1e8], duration=5.0, relative=1e-7, absolute=1e-7)
    assert (rows.status, rows.event) == (Status.event, 0)
    assert rows.times[-1] == pytest.approx(math.pi / 2, abs=1e-7)
    last = np.linspace(rows.times[-2], rows.times[-1], 21)
    assert_allclose(rows.dense(last)[:, 0], np.cos(last), rtol=0, atol=4e-7)
    assert rows.dense(rows.times[-1]) == pytest.approx(rows.states[-1], abs=1e-14)
