"""Runs of one case: orders, tolerances, dense output, events, and how runs end."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from holdfast.engine.drivers import implicit
from holdfast.engine.kernel import compiled
from holdfast.engine.run.status import Status
from holdfast.errors import BadRequest
from holdfast.graph.field import Field
from holdfast.graph.nodes import Graph
from holdfast.schemes.by_name import ALL_SCHEMES
from holdfast.schemes.kinds.symplectic_euler import SYMPLECTIC_EULER
from holdfast.schemes.tableaus.dop853 import DOP853
from holdfast.schemes.tableaus.dopri5 import DOPRI5
from holdfast.schemes.tableaus.euler import EULER
from holdfast.schemes.tableaus.implicit_midpoint import IMPLICIT_MIDPOINT
from holdfast.schemes.tableaus.kutta import RK4
from holdfast.schemes.tableaus.radau import RADAU, RADAU5
from tests.engine.fields import (
    blow_up,
    chain,
    forced_oscillator,
    forced_solution,
    losing_rank,
    pendulum,
    stiff,
)

FIXED = [scheme for scheme in ALL_SCHEMES if not scheme.adaptive]
ADAPTIVE = [scheme for scheme in ALL_SCHEMES if scheme.adaptive]


@pytest.mark.parametrize("target", ["native", "python"])
@pytest.mark.parametrize("scheme", FIXED, ids=lambda s: s.name)
def test_the_observed_order_is_the_claimed_order(scheme, target):
    kernel = compiled(forced_oscillator(), scheme, target=target)
    counts = {1: 2000, 2: 200, 3: 100, 4: 50, 5: 16}[scheme.order] * np.array([1, 2])
    errors = [
        np.abs(kernel.run([1.0, 0.0], step=2.0 / n, steps=n).states[-1] - forced_solution(2.0)).max() for n in counts
    ]
    assert math.log2(errors[0] / errors[1]) == pytest.approx(scheme.order, abs=0.15)


@pytest.mark.parametrize("scheme", ADAPTIVE, ids=lambda s: s.name)
@pytest.mark.parametrize("tolerance", [1e-5, 1e-8, 1e-11])
def test_adaptive_schemes_meet_their_tolerance(scheme, tolerance):
    kernel = compiled(forced_oscillator(), scheme)
    rows = kernel.run_adaptive([1.0, 0.0], duration=20.0, relative=tolerance, absolute=tolerance)
    truth = np.array([forced_solution(t) for t in rows.times])
    assert rows.status == Status.completed
    assert rows.times[-1] == 20.0
    assert np.abs(rows.states - truth).max() < 40 * tolerance


@pytest.mark.parametrize("scheme", ADAPTIVE, ids=lambda s: s.name)
def test_an_adaptive_scheme_with_forced_steps_shows_its_order(scheme):
    """With tolerances that nothing can miss and a longest step, all steps are of that length."""
    kernel = compiled(forced_oscillator(), scheme)

    def error(count: int) -> float:
        rows = kernel.run_adaptive(
            [1.0, 0.0], duration=4.0, relative=1e3, absolute=1e3, longest=4.0 / count * (1 + 1e-9)
        )
        assert rows.steps <= count + 6  # a few shorter ones at the start
        return float(np.abs(rows.states[-1] - forced_solution(4.0)).max())

    assert math.log2(error(8) / error(16)) > scheme.order - 0.6


@pytest.mark.parametrize("scheme", ADAPTIVE, ids=lambda s: s.name)
def test_dense_output_has_its_order(scheme):
    kernel = compiled(forced_oscillator(), scheme)

    def error(count: int) -> float:
        rows = kernel.run_adaptive([1.0, 0.0], duration=4.0, relative=1e3, absolute=1e3, longest=4.0 / count)
        wanted = np.linspace(1.0, 4.0, 301)
        assert rows.dense is not None
        return float(np.abs(rows.dense(wanted) - np.array([forced_solution(t) for t in wanted])).max())

    assert math.log2(error(10) / error(20)) > scheme.dense_order - 0.3


def test_dense_output_meets_the_rows_and_refuses_other_times():
    kernel = compiled(pendulum(), DOPRI5)
    rows = kernel.run_adaptive([1.0, 0.0], [2.0], duration=3.0)
    assert rows.dense is not None
    assert_allclose(rows.dense(rows.times), rows.states, atol=1e-14)
    assert rows.dense(1.0).shape == (2,)
    with pytest.raises(BadRequest, match="outside"):
        rows.dense(3.5)


def test_wanted_times_are_the_rows():
    kernel = compiled(forced_oscillator(), DOP853)
    at = [0.0, 0.5, 1.0, 7.25]
    rows = kernel.run_adaptive([1.0, 0.0], duration=8.0, relative=1e-10, absolute=1e-10, at=at)
    assert rows.times.tolist() == at
    assert_allclose(rows.states, [forced_solution(t) for t in at], atol=1e-9)


def test_cubics_between_the_rows_of_a_fixed_step_run_are_of_fourth_order():
    kernel = compiled(forced_oscillator(), RK4)

    def error(steps: int) -> float:
        dense = kernel.dense(kernel.run([1.0, 0.0], step=2.0 / steps, steps=steps))
        wanted = np.linspace(0, 2, 333)
        return float(np.abs(dense(wanted) - np.array([forced_solution(t) for t in wanted])).max())

    assert math.log2(error(20) / error(40)) == pytest.approx(4, abs=0.2)


def test_times_come_from_the_step_number():
    rows = compiled(pendulum(), EULER).run([1.0, 0.0], [1.0], t0=0.3, step=0.1, steps=1000)
    assert np.array_equal(rows.times, 0.3 + np.arange(1001) * 0.1)


def test_thinning_keeps_each_nth_row_and_the_last():
    kernel = compiled(pendulum(), RK4)
    full = kernel.run([1.0, 0.0], [2.0], step=0.01, steps=100)
    thin = kernel.run([1.0, 0.0], [2.0], step=0.01, steps=100, every=7)
    assert np.array_equal(thin.states, np.vstack([full.states[:100:7], full.states[-1:]]))
    assert thin.times[-1] == full.times[-1]
    only = kernel.run([1.0, 0.0], [2.0], step=0.01, steps=100, every=1000)
    assert np.array_equal(only.states, full.states[[0, 100]])
    none = kernel.run([1.0, 0.0], [2.0], step=0.01, steps=0)
    assert none.states.tolist() == [[1.0, 0.0]]


def test_observables_are_the_nodes_at_the_rows():
    rows = compiled(pendulum(), RK4).run([1.0, 0.0], [2.0], step=0.01, steps=50)
    q, v = rows.states.T
    assert_allclose(rows.observables[:, 0], v**2 / 2 - 2 * np.cos(q), rtol=1e-14)


def test_symplectic_euler_keeps_the_pendulums_energy_bounded():
    rows = compiled(pendulum(), SYMPLECTIC_EULER).run([1.0, 0.0], [2.0], step=0.01, steps=100_000, every=10)
    assert np.ptp(rows.observables) < 0.02
    with pytest.raises(BadRequest, match="coordinates"):
        compiled(blow_up(), SYMPLECTIC_EULER)


def test_implicit_midpoint_keeps_quadratic_integrals():
    """The free oscillator's energy is quadratic: kept to rounding."""
    field = forced_oscillator()
    g = field.time.graph
    q, v = field.state
    free = type(field)(time=field.time, state=(q, v), parameters=(), rates=(v, g.neg(q)), positions=1)
    rows = compiled(free, IMPLICIT_MIDPOINT).run([1.0, 0.0], step=0.1, steps=10_000)
    assert np.ptp((rows.states**2).sum(axis=1)) < 1e-12


def test_radau_takes_long_steps_where_explicit_schemes_fail():
    field = stiff()
    long_steps = compiled(field, RADAU5).run([1.0], [1e6], step=0.1, steps=50)
    assert np.abs(long_steps.states[:, 0] - np.cos(long_steps.times)).max() < 1e-6
    assert compiled(field, RK4).run([1.0], [1e6], step=0.1, steps=50).status == Status.not_finite


# ── how runs end ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("target", ["native", "python"])
def test_an_infinite_state_ends_the_run_and_the_last_good_row_is_kept(target):
    rows = compiled(blow_up(), RK4, target=target).run([1.0], step=0.01, steps=300, every=50)
    assert rows.status == Status.not_finite
    assert not rows.success
    assert np.isfinite(rows.states).all()
    assert 1.0 <= rows.times[-1] < 1.2
    assert rows.steps == round(rows.times[-1] / 0.01)


@pytest.mark.parametrize("target", ["native", "python"])
def test_a_vanishing_pivot_ends_the_run(target):
    rows = compiled(losing_rank(), RK4, target=target).run([1.0], step=0.03, steps=100)
    assert rows.status == Status.rank_lost
    assert rows.times[-1] == pytest.approx(0.99)
    assert rows.pivots[0] == pytest.approx(0.01, rel=1e-9)
    adaptive = compiled(losing_rank(), DOPRI5, target=target).run_adaptive([1.0], duration=3.0)
    assert adaptive.status == Status.rank_lost
    assert adaptive.times[-1] == pytest.approx(1.0, abs=1e-6)


def test_a_pivot_that_vanishes_at_the_start_is_seen_at_once():
    rows = compiled(losing_rank(), RK4).run([0.0], step=0.03, steps=100)
    assert (rows.status, rows.steps, len(rows.times)) == (Status.rank_lost, 0, 1)


def test_a_start_that_is_not_finite_is_seen_at_once():
    rows = compiled(blow_up(), RK4).run([math.inf], step=0.03, steps=100)
    assert (rows.status, rows.steps) == (Status.not_finite, 0)


@pytest.mark.parametrize("scheme", ADAPTIVE, ids=lambda s: s.name)
def test_steps_collapse_at_a_singularity(scheme):
    rows = compiled(blow_up(), scheme).run_adaptive([1.0], duration=2.0)
    assert rows.status in (Status.step_collapsed, Status.not_finite)
    assert rows.times[-1] == pytest.approx(1.0, abs=1e-6)


def test_newton_that_finds_nothing_is_an_outcome():
    rows = compiled(blow_up(), IMPLICIT_MIDPOINT).run([1.0], step=0.5, steps=10)
    assert rows.status == Status.not_converged
    assert np.isfinite(rows.states).all()


def test_requests_that_do_not_fit_are_refused():
    kernel, adaptive = compiled(pendulum(), RK4), compiled(pendulum(), DOPRI5)
    with pytest.raises(BadRequest, match="3 values where 2"):
        kernel.run([1.0, 0.0, 0.0], [1.0], step=0.1, steps=1)
    with pytest.raises(BadRequest, match="step of 0"):
        kernel.run([1.0, 0.0], [1.0], step=0.0, steps=1)
    with pytest.raises(BadRequest, match="own steps"):
        adaptive.run([1.0, 0.0], [1.0], step=0.1, steps=1)
    with pytest.raises(BadRequest, match="fixed step"):
        kernel.run_adaptive([1.0, 0.0], [1.0], duration=1.0)
    with pytest.raises(BadRequest, match="tolerances"):
        adaptive.run_adaptive([1.0, 0.0], [1.0], duration=1.0, absolute=0.0)
    with pytest.raises(BadRequest, match="rise"):
        adaptive.run_adaptive([1.0, 0.0], [1.0], duration=1.0, at=[0.5, 0.2])
    with pytest.raises(BadRequest, match="memory"):
        kernel.run([1.0, 0.0], [1.0], step=1e-9, steps=10**13)


# ── events ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("scheme", [RK4, DOPRI5, DOP853, RADAU5, RADAU], ids=lambda s: s.name)
def test_an_event_is_found_where_it_happens(scheme):
    """q = cos t + (cos t - cos 2t)/3 changes its sign where 4 cos t = cos 2t: cos t = 1 - √(3/2)."""
    field = forced_oscillator()
    kernel = compiled(field, scheme, events=(field.state[0],))
    when = math.acos(1 - math.sqrt(1.5))
    if scheme.adaptive:
        rows = kernel.run_adaptive([1.0, 0.0], duration=5.0, relative=1e-12, absolute=1e-12)
        assert rows.dense is not None
        assert_allclose(rows.dense(rows.times[-1]), rows.states[-1], atol=1e-14)
    else:
        rows = kernel.run([1.0, 0.0], step=0.002, steps=2500)
    assert (rows.status, rows.event) == (Status.event, 0)
    assert rows.times[-1] == pytest.approx(when, abs=1e-10)
    assert abs(rows.states[-1, 0]) < 1e-12


def test_a_run_that_goes_on_from_an_event_does_not_meet_it_again():
    field = forced_oscillator()
    kernel = compiled(field, RK4, events=(field.state[0],))
    first = kernel.run([1.0, 0.0], step=0.01, steps=1000)
    second = kernel.run(first.states[-1], t0=float(first.times[-1]), step=0.01, steps=1000)
    assert second.times[-1] - first.times[-1] > 1.0


def test_directions_choose_among_crossings():
    field = forced_oscillator()
    kernel = compiled(field, RK4, events=(field.state[0], field.state[1]))
    falling = kernel.run([1.0, 0.0], step=0.01, steps=1000, directions=[-1, 1])
    assert falling.event == 0
    rising = kernel.run([1.0, 0.0], step=0.01, steps=1000, directions=[1, 1])
    assert rising.event == 1
    assert rising.states[-1, 0] < 0
    with pytest.raises(BadRequest, match="directions"):
        kernel.run([1.0, 0.0], step=0.01, steps=1000, directions=[1])


# ── more ──────────────────────────────────────────────────────────────────────────────────────────


def test_a_state_can_be_amended_after_each_step():
    """Euler spirals outwards on the circle; brought back after each step it stays."""
    field = forced_oscillator()
    g, (q, v) = field.time.graph, field.state
    circle = type(field)(time=field.time, state=(q, v), parameters=(), rates=(v, g.neg(q)), positions=1)
    seen = []

    def back(t, state):
        seen.append(t)
        return state / np.hypot(*state)

    kernel = compiled(circle, EULER)
    rows = kernel.run([1.0, 0.0], step=0.1, steps=40, every=4, after=back)
    assert np.array_equal(seen, np.arange(1, 41) * 0.1)
    assert_allclose(np.hypot(*rows.states.T), 1.0, rtol=1e-15)
    by_hand = np.array([1.0, 0.0])
    for _ in range(40):
        by_hand = back(0, kernel.run(by_hand, step=0.1, steps=1).states[-1])
    assert np.array_equal(rows.states[-1], by_hand)


def test_more_operations_than_can_be_compiled_are_refused(monkeypatch):
    monkeypatch.setattr("holdfast.engine.emit.body.HARD_CEILING", 100)
    field, _, _ = chain(30)
    with pytest.raises(BadRequest, match="operations"):
        compiled(field, RK4)


def test_observables_of_many_rows_are_those_of_each():
    field = pendulum()
    kernel = compiled(field, RK4)
    states = np.random.default_rng(2).normal(size=(50_000, 2))
    values = kernel.observe(np.zeros(len(states)), states, [2.0])[:, 0]
    assert_allclose(values, states[:, 1] ** 2 / 2 - 2 * np.cos(states[:, 0]), rtol=1e-12, atol=1e-14)


def test_a_long_chain_runs_in_pieces():
    """Above the ceiling the body is cut into functions that pass values through memory."""
    field, start, parameters = chain(80)
    kernel = compiled(field, RK4, tier="quick")
    rows = kernel.run(start, parameters, step=1e-4, steps=20, every=20)
    assert rows.status == Status.completed
    reference = compiled(field, RK4, target="python").run(start, parameters, step=1e-4, steps=20, every=20)
    assert_allclose(rows.states, reference.states, atol=1e-13)


def test_implicit_steps_count_their_evaluations():
    """A linear field: two corrections a step, the second of them rounding; one more evaluation at its end."""
    rows = compiled(forced_oscillator(), IMPLICIT_MIDPOINT).run([1.0, 0.0], step=0.01, steps=100)
    assert 1 + 100 * 2 <= rows.evaluations <= 1 + 100 * 4


def test_corrections_of_what_begins_at_rest_are_measured_by_its_change(monkeypatch):
    """A place of 0 at rest beside one of 8, as in a long chain: rounding of its change is no failure to converge."""
    monkeypatch.setattr(implicit, "N", 2)
    x, f, h = [8.0, 0.0], [0.0, 0.0], 0.01
    change, last = [0.0, 2.5e-4], [0.0, 1e-16]
    assert implicit.correction_size(x, f, h, last, 1) > implicit.NEWTON_ENOUGH
    assert implicit.correction_beside(x, f, h, change, last, 1) < implicit.NEWTON_ENOUGH
    assert implicit.correction_beside(x, f, h, change, [0.0, 1e-6], 1) > implicit.NEWTON_ENOUGH
    assert "correction_beside" in implicit.implicit_step(IMPLICIT_MIDPOINT)


@pytest.mark.parametrize("target", ["native", "python"])
def test_equal_fields_on_two_graphs_share_code_but_not_nodes(target):
    """The second graph numbers its inputs otherwise: read by the first one's numbers, x² would be something else."""
    fields = []
    for names in (("t", "x", "v"), ("v", "x", "t")):
        graph = Graph()
        for name in names:
            graph.input(name)
        t, x, v = (graph.input(name) for name in "txv")
        fields.append(Field(t, (x, v), (), (v, -x), positions=1))
    for field in (*fields, *fields):
        kernel = compiled(field, RK4, target=target)
        t, (x, v) = field.time, field.state
        found = kernel.values_at((x * x + v, t), np.array([5.0]), np.array([[2.0, 3.0]]))
        assert found.tolist() == [[7.0, 5.0]]
        assert kernel.field is field
    assert compiled(fields[0], RK4, target=target).machine is compiled(fields[1], RK4, target=target).machine
