"""Gains: measured against scans under the same rule, on the tables of the findings and on published models."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from holdfast.engine import kernel as engine
from holdfast.results.runs.request import request_of
from holdfast.stability.tuning.candidates import largest_stable_rate, zeros
from holdfast.stability.tuning.trials import Trials
from holdfast.stability.tuning.tune import _Search
from tests.reference import benchmark
from tests.stability.held import adaptive_optics, double_pendulum, pendulum

FAST = [
    ("pendulum_a01", 0.01, 10),
    ("pendulum_a01", 0.001, 10),
    ("slider_crank_rigid", 0.002, 1),
    ("bead_on_hoop", 0.01, 5),
    ("rolling_disc_sympy", 0.01, 2),
    ("skate_incline", 0.05, 5),
    ("four_bar_sympy", 0.01, 5),
    ("rolling_penny", 0.01, 5),
]
HEAVY = [("andrews", 1e-5, 0.03), ("slider_crank_flexible", 2e-5, 0.1)]


def scanned(equations, scheme, step, duration, start):
    """The best of 200 laws, and of no law, under the rule that tune itself obeys."""
    plain = equations.with_law(hf.SpringDamper(stiffness=0, damping=0))
    request = request_of(plain, scheme, step=step, tolerance=None, duration=duration, every=None, at=None)
    trials = Trials(plain, request, start, {}, None)
    search, held = _Search(trials), bool(trials.holonomic)
    ratios = np.geomspace(0.2, 3, 10) if held else np.ones(1)
    highest = max(largest_stable_rate(scheme, step, ratio, holonomic=held) for ratio in (0.5, 1, 2))
    rates = np.geomspace(0.1 / duration, highest, 200 // len(ratios))
    measured = trials.measure(np.tile(rates, len(ratios)), np.repeat(ratios, len(rates)))
    assert len(measured) == 200
    return min([search.none.deviation, *measured.deviation[search.allowed(measured)]])


def assert_near_the_best_of_a_scan(equations, scheme, step, duration, start=None):
    tuning = hf.tune(equations, scheme, step=step, duration=duration, start=start)
    assert tuning.numbers.deviation <= 3 * scanned(equations, scheme, step, duration, start)
    assert tuning.numbers.state_error <= tuning.limits["state_error"]
    assert tuning.numbers.energy_error <= tuning.limits["energy_error"]
    run = hf.simulate(equations, scheme, step=step, duration=duration, start=start, law=tuning.law)
    assert run.outcome.ran_out  # a scheme may be too poor for any law, which its outcome then says
    assert np.abs(np.hstack([run.deviation, run.deviation_rate])).max() < np.inf
    return tuning


def published(name):
    case = benchmark.load(name)
    return hf.derive(case.problem), case.state(next(iter(case.data["states"])))


@pytest.mark.parametrize(("name", "step", "duration"), FAST)
@pytest.mark.parametrize("scheme", [hf.RK4, hf.Euler], ids=lambda scheme: scheme.name)
def test_published_models_are_tuned_as_well_as_a_scan_would(name, step, duration, scheme):
    equations, start = published(name)
    assert_near_the_best_of_a_scan(equations, scheme, step, duration, start)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "step", "duration"), HEAVY)
def test_large_published_models_are_tuned_as_well_as_a_scan_would(name, step, duration):
    equations, start = published(name)
    assert_near_the_best_of_a_scan(equations, hf.RK4, step, duration, start)


@pytest.mark.slow
def test_andrews_mechanism_is_tuned_under_euler_too():
    equations, start = published("andrews")
    assert_near_the_best_of_a_scan(equations, hf.Euler, 1e-5, 0.03, start)


@pytest.mark.slow
def test_where_everything_diverges_a_smaller_step_is_asked_for():
    equations, start = published("slider_crank_flexible")  # undamped elastic modes: Euler pumps them at this step
    with pytest.raises(hf.BadRequest, match="diverges"):
        hf.tune(equations, hf.Euler, step=2e-5, duration=0.1, start=start)


@pytest.mark.parametrize(
    ("scheme", "step"), [(hf.Euler, 1e-3), (hf.Midpoint, 1e-3), (hf.Midpoint, 1e-2), (hf.RK4, 1e-3), (hf.RK4, 1e-2)]
)
def test_the_double_pendulum_of_the_findings_is_tuned(scheme, step):
    equations = hf.derive(double_pendulum())
    tuning = assert_near_the_best_of_a_scan(equations, scheme, step, 10)
    if scheme is hf.RK4:
        roots = next(mark for mark in tuning.textbook if mark.name == "alpha = beta = 5")
        assert tuning.numbers.deviation <= roots.numbers.deviation
        assert tuning.numbers.deviation < tuning.unstabilised.deviation / 100
        assert 1 < tuning.rate < 30  # the motion's own rates, not the step's


def test_the_map_reproduces_the_findings_for_euler():
    """Double root -1/step: 1.2e-4 against 1.0e-1 without; but the energy error is what forbids it."""
    tuning = hf.tune(hf.derive(double_pendulum()), hf.Euler, step=1e-3, duration=10)
    marks = {mark.name: mark for mark in tuning.textbook}
    scale = tuning.scales["upper"]
    assert marks["alpha = beta = 1/step"].numbers.deviation <= 1.3e-4 / scale
    assert tuning.unstabilised.deviation == pytest.approx(0.1 / scale, rel=0.5)
    assert not marks["alpha = beta = 1/step"].allowed
    assert tuning.tightest.numbers.deviation <= marks["alpha = beta = 1/step"].numbers.deviation


def test_no_gains_is_a_legal_answer():
    equations, start = published("rolling_penny")
    tuning = hf.tune(equations, hf.RK4, step=0.01, duration=5, start=start)
    assert tuning.law == hf.Unstabilised()
    assert tuning.numbers == tuning.unstabilised
    assert "none" in tuning.summary()
    assert next(iter(tuning.rows)) == "chosen here: no gains"
    assert "no gains" not in tuning.rows


def test_one_compilation_serves_all_runs(monkeypatch):
    made = []
    create = engine.Kernel.__init__
    monkeypatch.setattr(engine, "_MADE", {})
    monkeypatch.setattr(engine.Kernel, "__init__", lambda self, *a, **k: (made.append(1), create(self, *a, **k))[1])
    tuning = hf.tune(hf.derive(pendulum()), hf.RK4, step=0.01, duration=2)
    assert tuning.runs > 200
    assert len(made) <= 4  # the scheme, the reference, the projection of the start, and the penalty


def test_a_pair_for_each_constraint_is_at_least_as_good():
    equations = hf.derive(double_pendulum())
    common = hf.tune(equations, hf.RK4, step=0.01, duration=5)
    each = hf.tune(equations, hf.RK4, step=0.01, duration=5, per_constraint=True)
    assert each.numbers.deviation <= 1.01 * common.numbers.deviation
    assert each.rate is None
    assert set(each.dialects) == {"upper", "lower"}


def test_adaptive_schemes_pay_for_evaluations():
    tuning = hf.tune(hf.derive(pendulum()), hf.DOPRI5, tolerance=1e-7, duration=5)
    assert tuning.numbers.evaluations <= 1.25 * tuning.unstabilised.evaluations
    assert tuning.numbers.deviation < tuning.unstabilised.deviation
    assert tuning.step is None
    assert tuning.tolerance == 1e-7


def test_a_mixed_program_is_tuned():
    x, y, phi = hf.coordinates("x y phi")
    system = hf.System(
        coordinates=(x, y, phi), kinetic=(x.rate**2 + y.rate**2 + phi.rate**2) / 2, potential=x, parameters={}
    )
    program = hf.Program(
        holonomic={"turn": phi - 2 * hf.time},
        nonholonomic={"edge": x.rate * sp.sin(phi) - y.rate * sp.cos(phi)},
        law=hf.Tuned(),
    )
    problem = hf.Problem(system, program, start={phi.rate: 2}, run=hf.Run(scheme="euler", step=0.01, duration=5))
    tuning = hf.tune(hf.derive(problem))
    assert tuning.numbers.deviation <= tuning.unstabilised.deviation
    law = hf.tuned(problem).program.law
    assert law == tuning.law
    assert isinstance(law, hf.SpringDamper)
    assert set(law.stiffness) == {"turn"}
    assert set(law.damping) == {"turn", "edge"}


def test_tuned_leaves_other_laws_alone():
    problem = pendulum()
    assert hf.tuned(problem) is problem
    with pytest.raises(hf.BadRequest):
        hf.tuned(hf.derive(problem))


def test_tuned_takes_the_run_that_the_problem_lacks():
    problem = pendulum(law=hf.Tuned())
    with pytest.raises(hf.BadRequest, match="states no such run") as caught:
        hf.tuned(problem)
    assert "hf.tuned(problem, hf.RK4, step=..., duration=...)" in caught.value.fix
    law = hf.tuned(problem, hf.RK4, step=0.01, duration=1).program.law
    assert law == hf.tune(hf.derive(problem), hf.RK4, step=0.01, duration=1).law


def test_the_problems_own_law_is_measured_beside_the_chosen_one():
    tuning = hf.tune(hf.derive(pendulum(law=hf.Baumgarte(alpha=5))), hf.RK4, step=0.01, duration=2)
    same = next(mark for mark in tuning.textbook if mark.name == "alpha = beta = 5")
    assert tuning.own == same.numbers
    assert list(tuning.rows)[:3] == ["chosen here", "the problem's own law", "no gains"]
    assert tuning.to_dict()["own_law"]["deviation"] == same.numbers.deviation
    assert "the problem's own law" in tuning.summary()


def test_a_law_of_any_form_is_measured_as_the_own_one():
    y = hf.deviations("rod")
    law = hf.GeneralLaw({"rod": -25 * y - 10 * y.rate})
    asked = {"step": 0.01, "duration": 1}
    general = hf.tune(hf.derive(pendulum(law=law)), hf.RK4, **asked).own
    linear = hf.tune(hf.derive(pendulum(law=hf.Baumgarte(alpha=5))), hf.RK4, **asked).own
    assert general.deviation == pytest.approx(linear.deviation, rel=1e-3)


@pytest.mark.parametrize("law", [hf.Tuned(), hf.Unstabilised()])
def test_a_law_without_gains_has_no_row_of_its_own(law):
    tuning = hf.tune(hf.derive(pendulum(law=law)), hf.RK4, step=0.01, duration=1)
    assert tuning.own is None
    assert "the problem's own law" not in tuning.rows


def test_a_start_off_the_program_is_moved_onto_it_and_said():
    tuning = hf.tune(hf.derive(adaptive_optics()), hf.RK4, step=0.01, duration=2, start={"phi": 0.45})
    assert any("moved" in note for note in tuning.notes)


def test_every_dialect_says_the_same():
    words = hf.dialects(hf.derive(pendulum(law=hf.SpringDamper(stiffness=25, damping=8))))["rod"]
    b, k = words["spring and damper"]["b"], words["spring and damper"]["k"]
    assert (b, k) == (8, 25)
    assert 2 * words["Baumgarte"]["alpha"] == b
    assert words["Baumgarte"]["beta"] ** 2 == pytest.approx(k)
    omega, zeta = words["oscillator"]["omega"], words["oscillator"]["zeta"]
    assert (2 * zeta * omega, omega**2) == (pytest.approx(b), pytest.approx(k))
    assert (words["controller"]["Kd"], words["controller"]["Kp"]) == (b, k)
    constant, ratio = words["decay"]["time constant"], words["decay"]["damping ratio"]
    assert (2 / constant, 1 / (constant * ratio) ** 2) == (pytest.approx(b), pytest.approx(k))


def test_dialects_are_for_springs_and_dampers():
    law = hf.SpringDamper(stiffness={"upper": 1, "lower": 1, ("upper", "lower"): 0.5}, damping=2)
    with pytest.raises(hf.BadRequest, match="spring and a damper"):
        hf.dialects(hf.derive(double_pendulum(law)))


@pytest.mark.parametrize("scheme", [hf.Euler, hf.Midpoint, hf.RK4, hf.SymplecticEuler], ids=lambda s: s.name)
def test_zeros_of_the_step_matrix_wipe_a_deviation_out(scheme):
    candidates = zeros(scheme, 0.1)
    assert candidates
    for candidate in candidates:
        k, b = candidate.rate**2, 2 * candidate.ratio * candidate.rate
        matrix = scheme.propagator(np.array([[0.0, 1.0], [-k, -b]]), 0.1)
        smallest = np.abs(np.linalg.eigvals(matrix)).min()
        assert smallest < 1e-6  # a double eigenvalue 0 is found to the root of rounding


def test_the_map_marks_the_textbook_choices():
    tuning = hf.tune(hf.derive(pendulum()), hf.RK4, step=0.01, duration=2)
    assert tuning.map.deviation.shape == (len(tuning.map.ratios), len(tuning.map.rates))
    axes = tuning.plot()
    told = [text.get_text() for text in axes.get_legend().get_texts()]
    assert any(text.startswith("alpha = beta = 1/step") for text in told)
    assert any(text.startswith("chosen: ") for text in told)
    plt.close("all")


def test_the_rate_of_the_motion_is_its_own_unless_the_run_is_shorter():
    """A pendulum of one metre swings at some 3 to 10 rad/s, seen for five seconds or for twenty; not in a blink."""
    equations = hf.derive(pendulum())
    found = {}
    for duration in (0.02, 5.0, 20.0):
        request = request_of(equations, hf.RK4, step=0.01, tolerance=None, duration=duration, every=None, at=None)
        found[duration] = Trials(equations, request, None, {}, None).motion_rate
    assert 1 < found[5.0] < 15
    assert found[20.0] == pytest.approx(found[5.0], rel=0.3)
    assert found[0.02] >= 50


def test_every_mark_within_the_map_is_drawn_and_none_beyond():
    tuning = hf.tune(hf.derive(pendulum()), hf.RK4, step=0.01, duration=1)
    low, high = float(tuning.map.rates[0]), float(tuning.map.rates[-1])
    places = {"first": low, "last": high, "before": low / 3, "beyond": 3 * high}
    marks = tuple(replace(tuning.textbook[0], name=name, rate=rate) for name, rate in places.items())
    axes = replace(tuning, textbook=marks).plot()
    drawn = {line.get_label().split(":")[0]: line.get_xdata()[0] for line in axes.lines if len(line.get_xdata())}
    assert {name: drawn.get(name) for name in places} == {"first": low, "last": high, "before": None, "beyond": None}
    assert drawn["chosen"] == tuning.rate
    assert axes.get_title(loc="left").startswith("Worst scaled deviation over 1: rk4, ")
    plt.close("all")


@pytest.mark.parametrize(
    ("asked", "message"),
    [({"step": 0.01}, "no duration"), ({"duration": 1.0}, "step"), ({"step": 0.3, "duration": 1.0}, "whole number")],
)
def test_incomplete_requests_are_refused(asked, message):
    with pytest.raises(hf.BadRequest, match=message):
        hf.tune(hf.derive(pendulum()), hf.RK4, **asked)


def test_nothing_to_hold_is_nothing_to_tune():
    x = hf.coordinates("x")
    problem = hf.Problem(hf.System(coordinates=(x,), kinetic=x.rate**2 / 2))
    with pytest.raises(hf.BadRequest, match="nothing to hold"):
        hf.tune(hf.derive(problem), hf.RK4, step=0.1, duration=1)


def test_where_nothing_tells_gains_apart_the_answer_says_so():
    """Constraints that are coordinates are held to rounding: gains only decide how soon a start is brought back."""
    x = hf.coordinates("x")
    program = hf.Program(holonomic={"home": x}, controls={"F": {x: 1}}, law=hf.Tuned())
    problem = hf.Problem(hf.System(coordinates=(x,), kinetic=x.rate**2 / 2), program, start={x: 1})
    found = hf.tune(hf.derive(problem), hf.RK4, step=0.01, duration=5)
    assert "held to rounding with any gains" in found.summary().splitlines()[0]


# ── what is said of the choice ────────────────────────────────────────────────────────────────────


def curve(bead, start, potential):
    x, y = hf.coordinates("x y")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=potential(x, y))
    values = dict(zip((x, y), start, strict=True))
    return hf.derive(hf.Problem(system, hf.Program(holonomic={"c": bead(x, y)}, law=hf.Tuned()), start=values))


def test_no_law_is_passed_over_for_the_energy_of_a_motion_off_the_program():
    """Without gains a bead strays, and the energy of where it strays to is no measure: every law was once vetoed."""
    equations = curve(lambda x, y: y - x**2, (1, 1), lambda x, y: y)
    tuning = hf.tune(equations, hf.Euler, step=0.002, duration=2)
    assert tuning.stabilised
    assert tuning.numbers.deviation < tuning.unstabilised.deviation
    assert tuning.numbers.state_error < tuning.unstabilised.state_error
    assert "better" not in tuning.summary()
    assert "times its state error" in tuning.summary()


def test_what_a_tighter_law_would_cost_is_said():
    equations = curve(lambda x, y: x**2 / 4 + y**2 - 1, (2, 0), lambda x, y: 9.81 * y)
    tuning = hf.tune(equations, hf.Euler, step=0.002, duration=2)
    assert not tuning.tightest.allowed
    assert "times the energy error without gains" in tuning.summary()


def test_the_state_error_beside_a_smaller_deviation_is_said():
    """Two integrals of Kepler's motion, whose gradients become parallel at each apsis."""
    x, y = hf.coordinates("x y")
    distance = sp.sqrt(x**2 + y**2)
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=-1 / distance)
    energy = (x.rate**2 + y.rate**2) / 2 - 1 / distance + sp.Rational(1, 2)
    kept = {"energy_kept": energy, "areal": x * y.rate - y * x.rate - sp.Rational(4, 5)}
    program = hf.Program(nonholonomic=kept, law=hf.Tuned())
    beside = {
        y: sp.Rational(16, 25),
        x.rate: sp.Rational(-5, 4),
        y.rate: sp.Rational(3, 4),
    }  # at an apsis they are parallel
    equations = hf.derive(hf.Problem(system, program, start=beside))
    tuning = hf.tune(equations, hf.RK4, step=0.01, duration=30)
    worse = tuning.numbers.state_error / tuning.unstabilised.state_error
    assert f"at {worse:.3g} times its state error" in tuning.summary()


def test_gains_of_a_feedback_are_not_chosen_by_rounding():
    """An arm whose tip runs round a circle: those that drift least by rounding left it 0.1 m off after 1 s."""
    q1, q2 = hf.coordinates("q1 q2")
    tip = (sp.cos(q1) + sp.cos(q1 + q2), sp.sin(q1) + sp.sin(q1 + q2))
    kinetic = (2 * q1.rate**2 + (q1.rate + q2.rate) ** 2) / 2 + q1.rate * (q1.rate + q2.rate) * sp.cos(q2) / 3
    held = {"px": tip[0] - 1 - sp.cos(2 * hf.time) / 5, "py": tip[1] - sp.Rational(2, 5) - sp.sin(2 * hf.time) / 5}
    program = hf.Program(holonomic=held, controls={"a": {q1: 1}, "b": {q2: 1}}, law=hf.Tuned())
    system = hf.System(coordinates=(q1, q2), kinetic=kinetic, potential=9.81 * tip[1])
    equations = hf.derive(hf.Problem(system, program, start={q1: -0.4, q2: 1.4}))
    tuning = hf.tune(equations, hf.RK4, step=0.001, duration=3)
    assert tuning.feedback
    assert "feedback" in tuning.summary()
    assert "times less" not in tuning.summary()
    run = hf.simulate(equations, hf.RK4, step=0.001, duration=3, law=tuning.law, start_policy="keep")
    assert np.abs(run.deviation[0]).max() > 0.1
    assert np.abs(run.deviation[-1]).max() < 1e-6
