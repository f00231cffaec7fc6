"""Certificates: every label where it belongs, bounds that runs keep, and requests that make no sense refused."""

from dataclasses import replace
from importlib import resources

import matplotlib.pyplot as plt
import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from holdfast.problem.file import load_dump
from holdfast.stability.certificate.certificate import Certificate, made_here
from holdfast.stability.promise.assess import Assessment
from holdfast.stability.proof.prove import Trial
from tests.stability.held import LOWER_SWINGS, adaptive_optics, pendulum
from tests.stability.trials import violations_of_checked, violations_of_proved

EXAMPLES = resources.files("holdfast") / "examples"


def example(name):
    return hf.derive(hf.load(str(EXAMPLES / f"{name}.toml")))


@pytest.fixture(scope="module")
def cart():
    return hf.certify(example("cart_rod"))


@pytest.fixture(scope="module")
def small_pendulum():
    """A proof over the small swings of a pendulum: nonlinear, with two free directions."""
    return hf.certify(hf.derive(pendulum(0.05)), hf.Euler, step=0.01, duration=2, effort=3, region={"t": (0, 2)})


# ── labels ────────────────────────────────────────────────────────────────────────────────────────


def test_the_crank_of_the_adaptive_optics_is_neutral():
    equations = hf.derive(adaptive_optics())
    certificate = hf.certify(equations, hf.RK4, step=0.01, duration=2, constraints=["radius"])
    assert certificate["radius"].label is hf.Label.neutral
    assert certificate.label is hf.Label.neutral


def test_a_law_that_drives_deviations_away_is_refused():
    law = hf.SpringDamper(stiffness=-1, damping=2)
    certificate = hf.certify(hf.derive(pendulum(0.2, law)), hf.RK4, step=0.01, duration=1)
    assert certificate.label is hf.Label.refused
    assert "away" in certificate["rod"].reason


def test_a_step_beyond_the_linear_limit_is_refused():
    law = hf.SpringDamper(stiffness=2500, damping=100)
    certificate = hf.certify(hf.derive(pendulum(0.2, law)), hf.Euler, step=0.05, duration=0.1)
    assert certificate.label is hf.Label.refused


def test_a_step_beyond_the_limit_is_told_by_its_factor():
    law = hf.SpringDamper(stiffness={"home": 1, "upright": 1}, damping={"home": 2.5, "upright": 2.5})
    certificate = hf.certify(example("cart_rod"), hf.Euler, step=1.2, duration=2.4, law=law)
    assert certificate.label is hf.Label.refused
    assert "linear limit" in certificate["home"].reason


def test_without_constraints_there_is_nothing_to_hold():
    certificate = hf.certify(example("rlc"))
    assert certificate.label is hf.Label.nothing
    assert certificate.label.positive
    assert "nothing to hold" in certificate.summary()


def test_an_implicit_adaptive_scheme_is_refused():
    certificate = hf.certify(hf.derive(pendulum(0.2)), hf.Radau, tolerance=1e-8, duration=1)
    assert certificate.label is hf.Label.refused
    assert "adaptive" in certificate["rod"].reason


@pytest.mark.parametrize("scheme", [hf.SymplecticEuler, hf.ImplicitMidpoint], ids=lambda scheme: scheme.name)
def test_schemes_without_an_explicit_tableau_are_checked(scheme):
    certificate = hf.certify(hf.derive(pendulum(0.2)), scheme, step=0.01, duration=1)
    assert certificate.label is hf.Label.checked
    assert "No proof" in certificate["rod"].reason


def test_what_noise_drives_has_no_bound():
    x = hf.coordinates("x")
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, noise={"wind": {x: 1}})
    equations = hf.derive(hf.Problem(system, hf.Program(holonomic={"home": x}, law=hf.critically_damped(3))))
    block = hf.certify(equations, hf.RK4, step=0.01, duration=1)["home"]
    assert block.label is hf.Label.mean_square
    assert block.bounds == ()


def test_gains_that_depend_on_the_state_are_proved():
    x = hf.coordinates("x")
    law = hf.SpringDamper(stiffness=25 + x**2, damping=10)
    certificate = hf.certify(hf.derive(pendulum(0.2, law)), hf.RK4, step=0.01, duration=1)
    assert certificate.label is hf.Label.proved
    assert hf.verify(certificate)


def test_a_scheme_whose_order_is_only_claimed_gets_no_proof():
    """The defect of a scheme is bounded by one Taylor coefficient only because those before it vanish."""
    boast = hf.RungeKutta(name="boast", order=6, stages=hf.RK4.stages, weights=hf.RK4.weights)  # unchecked beyond 4
    certificate = hf.certify(hf.derive(pendulum(0.05)), boast, step=0.01, duration=1)
    assert certificate.label is hf.Label.checked
    assert "not of the order that it claims" in certificate["rod"].reason


def test_a_sampled_region_is_called_estimated():
    certificate = hf.certify(hf.derive(pendulum(0.2)), hf.RK4, step=0.01, duration=1, effort=1e-9, sample=True)
    block = certificate["rod"]
    assert block.label is hf.Label.estimated
    assert block.proof is None
    assert "random states" in block.reason
    assert len(block.bounds) == len(block.observed) == 2
    assert all(seen <= bound for bound, seen in zip(block.bounds, block.observed, strict=True))


def test_a_thinned_run_checks_nothing_and_is_estimated():
    equations = hf.derive(pendulum(0.2))
    run = hf.simulate(equations, hf.RK4, step=0.01, duration=1, every=10)
    certificate = hf.certify(equations, hf.RK4, trajectory=run)
    assert certificate["rod"].label is hf.Label.estimated


# ── bounds ────────────────────────────────────────────────────────────────────────────────────────


def test_the_cart_is_held_exactly_up_to_rounding(cart):
    assert cart.label is hf.Label.proved
    for block in cart.blocks:
        assert block.proof.coefficient * cart.step**2 < 0.06 * block.proof.rounding  # the least that is ever stated
        assert block.defect < 1e-12
        assert max(block.bounds) < 1e-9
        assert block.settles  # the run starts off the program
        assert block.stayed


def test_the_rocket_keeps_a_steady_offset_from_the_quadrature_of_its_program():
    """Euler leaves step²/2·e'' a step; the deviation settles at -step·b/(2k)·e'' and its rate at step/2·e''."""
    equations = example("rocket_ascent")
    certificate = hf.certify(equations, hf.Euler, step=0.01, duration=30)
    assert certificate.label is hf.Label.proved
    for name, stiffness, damping, curvature in (("along", 2.0, 1.5, 1.0), ("climb", 4.0, 2.0, 3.0)):
        block = certificate[name]
        offset = 0.01 * damping / (2 * stiffness) * curvature
        assert certificate.trajectory[f"y_{name}"][-1] == pytest.approx(-offset, rel=1e-3)
        assert offset < block.bounds[0] < 3 * offset
        assert 0.01 * curvature / 2 < block.bounds[1] < 3 * 0.01 * curvature / 2
    assert max(certificate["plane"].bounds) < 1e-12


def test_the_small_pendulum_is_proved_near_what_is_observed(small_pendulum):
    block = small_pendulum["rod"]
    assert block.label is hf.Label.proved
    assert block.stayed
    assert all(seen <= bound <= 5 * seen for bound, seen in zip(block.bounds, block.observed, strict=True))


def test_the_energies_of_a_run_bound_the_region_unless_one_is_given(small_pendulum):
    """A pendulum keeps its energy, so the states of other energies need no proof; a region that is given is kept."""
    proof = hf.certify(hf.derive(pendulum(0.05)), hf.Euler, step=0.01, duration=2, effort=3)["rod"].proof
    assert [name for name, _, _ in proof.limits] == ["energy"]
    assert small_pendulum["rod"].proof.limits == ()


@pytest.mark.slow
def test_the_aim_of_the_adaptive_optics_is_proved_under_euler():
    certificate = hf.certify(hf.derive(adaptive_optics()), hf.Euler, step=0.01, duration=20, effort=8)
    block = certificate["aim"]
    assert block.label is hf.Label.proved
    assert all(seen <= bound <= 8 * seen for bound, seen in zip(block.bounds, block.observed, strict=True))


@pytest.mark.slow
def test_the_lower_swings_of_the_cartesian_pendulum_are_proved():
    equations = hf.derive(pendulum(np.pi / 3))
    block = hf.certify(equations, hf.RK4, step=0.01, duration=20, region=LOWER_SWINGS, effort=10)["rod"]
    assert block.label is hf.Label.proved
    seen = hf.certify(equations, hf.RK4, step=0.01, duration=20, effort=1e-9)["rod"].defect
    assert seen <= block.defect <= 100 * seen


def test_checked_bounds_hold_along_the_run_and_cover_both_halves_of_the_theorem():
    block = hf.certify(hf.derive(pendulum(1.0)), hf.RK4, step=0.01, duration=2, effort=1e-9)["rod"]
    assert block.label is hf.Label.checked
    assert 0 < block.gamma < 1
    assert block.defect <= (1 - block.gamma) * block.epsilon * (1 + 1e-12)
    assert block.slack >= -1e-12
    assert all(seen <= bound for bound, seen in zip(block.bounds, block.observed, strict=True))


def test_a_wanted_drift_finds_a_step():
    equations = example("rocket_ascent")
    asked = {"duration": 4, "effort": 0.5, "constraints": ["climb"]}
    found = hf.certify(equations, hf.Euler, drift=0.05, **asked)
    assert found["climb"].bounds[0] <= 0.05
    larger = hf.certify(equations, hf.Euler, step=4 / round(4 / (1.3 * found.step)), **asked)
    assert larger["climb"].bounds[0] > 0.05


def test_a_step_for_a_wanted_drift_says_on_what_grounds():
    """The label is that of the grounds, the bound is within the drift, and the run of that step keeps it."""
    equations = hf.derive(pendulum(0.2))
    found = hf.certify(equations, hf.RK4, drift=1e-6, duration=1, effort=1e-9)
    block = found["rod"]
    assert block.label is hf.Label.checked
    assert "its share of an effort of 1e-09;" in block.reason  # of what was asked, not of what this step had
    assert block.bounds[0] <= 1e-6
    run = hf.simulate(equations, hf.RK4, step=found.step, duration=1, every=1)
    assert np.abs(run["y_rod"]).max() <= block.bounds[0]
    assert found.duration == pytest.approx(1)


def test_a_drift_that_no_step_keeps_is_said_to_be_one():
    with pytest.raises(hf.BadRequest, match="no step was found"):
        hf.certify(hf.derive(pendulum(0.2)), hf.Euler, drift=1e-15, duration=1, effort=1e-9)


def test_a_proved_drift_is_kept_by_its_step_and_verified():
    equations = example("rocket_ascent")
    found = hf.certify(equations, hf.Euler, drift=0.05, duration=1, effort=0.1, constraints=["climb"])
    assert found.label is hf.Label.proved
    assert found["climb"].bounds[0] <= 0.05
    assert hf.verify(found)


def test_where_nothing_is_attracted_a_wanted_drift_does_not_shrink_the_step(monkeypatch):
    monkeypatch.setattr("holdfast.stability.promise.certify.TRIES", 3)
    found = hf.certify(hf.derive(pendulum(0.2)), hf.RK4, drift=1e-6, step=0.01, duration=1, law=hf.Unstabilised())
    assert found.step >= 0.01


def test_the_step_for_a_wanted_drift_is_the_largest_that_was_found(monkeypatch):
    tried, certificate = [], Assessment.certificate

    def noted(self, step, *further):
        made = certificate(self, step, *further)
        tried.append((step, max(made["rod"].bounds[:1], default=np.inf)))  # too coarse a run gets no bound
        return made

    monkeypatch.setattr(Assessment, "certificate", noted)
    found = hf.certify(hf.derive(pendulum(0.2)), hf.Euler, drift=0.01, duration=1, effort=1e-9)
    assert found.step == max(step for step, bound in tried if bound <= 0.01)


def test_a_run_that_leaves_the_region_is_said_to():
    equations = example("rocket_ascent")
    region = {"z": (-5.0, 100.0)}
    certificate = hf.certify(equations, hf.Euler, step=0.01, duration=10, region=region, effort=1)
    block = certificate["climb"]
    assert block.label is hf.Label.proved
    assert block.stayed is False
    assert "LEFT" in certificate.summary()
    found = hf.verify(certificate)
    assert found.holds
    assert "its run, made again, leaves the region, as stated" in str(found.findings)
    assert "every row of its run" not in next(line for line in found.findings if line.startswith("climb"))


# ── trials ────────────────────────────────────────────────────────────────────────────────────────


def test_no_start_inside_the_hypotheses_breaks_a_proof(cart, small_pendulum):
    for certificate, equations in ((cart, example("cart_rod")), (small_pendulum, hf.derive(pendulum(0.05)))):
        for block in certificate.blocks:
            starts, broken = violations_of_proved(certificate, block, equations, count=2000)
            assert starts > 500
            assert broken == 0


def test_a_bound_that_is_too_small_is_broken_by_some_start(small_pendulum):
    block = small_pendulum["rod"]
    liar = replace(block, defect=block.defect / 20)
    _, broken = violations_of_proved(small_pendulum, liar, hf.derive(pendulum(0.05)), count=2000)
    assert broken > 0


CHECKED = [hf.Euler, hf.RK4, hf.SymplecticEuler]


@pytest.mark.parametrize("scheme", CHECKED, ids=lambda scheme: scheme.name)
def test_no_checked_run_breaks_its_bound(scheme):
    checked, broken = violations_of_checked(hf.derive(pendulum(0.2)), scheme, 0.01, steps=50, count=12)
    assert (checked, broken) == (12, 0)


@pytest.mark.parametrize("scheme", CHECKED, ids=lambda scheme: scheme.name)
def test_a_tenth_of_a_checked_bound_is_broken(scheme):
    """The trial itself can fail: bounds that are too small by a factor are noticed in most runs."""
    _, broken = violations_of_checked(hf.derive(pendulum(0.2)), scheme, 0.01, steps=50, count=12, share=0.1)
    assert broken >= 6


# ── requests ──────────────────────────────────────────────────────────────────────────────────────


def test_a_run_made_otherwise_does_not_speak_for_a_certificate():
    equations = hf.derive(pendulum(0.2))
    run = hf.simulate(equations, hf.RK4, step=0.01, duration=1)
    with pytest.raises(hf.BadRequest, match="made with"):
        hf.certify(equations, hf.Euler, step=0.01, trajectory=run)
    with pytest.raises(hf.BadRequest, match="made with g"):
        hf.certify(equations, hf.RK4, trajectory=run, parameters={"g": 1.0})
    with pytest.raises(hf.BadRequest, match="another system, program or law"):
        hf.certify(equations, hf.RK4, trajectory=run, law=hf.SpringDamper(stiffness=1, damping=1))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"drft": 1}, "unknown key"),
        ({"drift": -1}, "not positive"),
        ({"region": {"z": [0, 1]}}, "unknown quantity"),
        ({"region": {"x": [1, 0]}}, "empty"),
        ({"region": {"x": 1}}, "not a range"),
        ({"effort": "long"}, "not a number"),
        ({"effort": "5"}, "not a number"),
        ({"effort": True}, "not a number"),
        ({"region": {"x": ["-1", 1]}}, "not a number"),
        ({"weights": {"rope": 1}}, "no constraint"),
    ],
)
def test_a_senseless_certificate_table_is_refused(table, message):
    problem = replace(pendulum(0.2), certificate=table)
    with pytest.raises(hf.BadRequest, match=message):
        hf.certify(hf.derive(problem), hf.RK4, step=0.01, duration=1)


def test_the_certificate_table_is_used():
    table = {"region": {"t": [0, 50]}, "effort": 1}
    problem = replace(hf.load(str(EXAMPLES / "rocket_ascent.toml")), certificate=table)
    certificate = hf.certify(hf.derive(problem), hf.Euler, step=0.01, duration=2)
    assert ("t", 0.0, 50.0) in certificate["climb"].proof.region


def test_a_certificate_is_drawn_with_its_bounds(cart, tmp_path):
    panels = cart.plot()
    assert len(panels) == 2
    assert all(panel.get_yscale() == "log" for panel in panels)
    drawn = [line.get_ydata()[-1] for line in panels[0].lines if "proved" in str(line.get_label())]
    steps = len(cart.trajectory.times) - 1
    assert drawn == cart.blocks[0].envelope(steps)[:, 0].tolist()
    plt.close("all")
    cart.save(tmp_path / "c.json")
    with pytest.raises(hf.BadRequest, match="loaded"):
        Certificate.load(tmp_path / "c.json").plot()


def test_nothing_proved_was_sampled(cart, small_pendulum):
    for block in (*cart.blocks, *small_pendulum.blocks):
        assert (block.label is hf.Label.proved) == (block.proof is not None)
        assert np.isfinite(block.proof.radius)
        assert "random" not in block.reason


# ── what a proof must not be built on ─────────────────────────────────────────────────────────────


def free_point(law):
    u = hf.coordinates("u")
    system = hf.System(coordinates=(u,), kinetic=u.rate**2 / 2)
    return hf.derive(hf.Problem(system, hf.Program(holonomic={"home": u}, law=law)))


def test_a_law_that_leaves_the_program_later_is_not_proved():
    d = hf.deviations("home")
    pushed = hf.GeneralLaw({"home": -4 * d - 4 * d.rate + sp.Max(0, hf.time - 50) / 1000})
    certificate = hf.certify(free_point(pushed), hf.RK4, step=0.01, duration=60)
    assert certificate["home"].label is not hf.Label.proved


def test_a_scheme_that_makes_a_neutral_block_grow_is_refused():
    certificate = hf.certify(free_point(hf.SpringDamper(stiffness=100)), hf.Euler, step=0.01, duration=1)
    assert certificate["home"].label is hf.Label.refused


def test_rows_between_which_steps_are_missing_are_not_called_checked():
    equations = hf.derive(pendulum(0.2))
    run = hf.simulate(equations, hf.RK4, step=0.01, duration=2, at=[0, 0.01, 1, 2])
    assert hf.certify(equations, hf.RK4, trajectory=run)["rod"].label is not hf.Label.checked


def test_the_shortened_step_to_an_event_does_not_count_as_a_defect():
    equations = hf.derive(pendulum(0.2))
    x = equations.problem.system.coordinates[0]
    ended = hf.simulate(equations, hf.RK4, step=0.01, duration=2, events={"low": hf.Event(x - 0.1, terminal=True)})
    whole = hf.simulate(equations, hf.RK4, step=0.01, duration=round(float(ended.times[-2]), 2))
    assert ended.outcome is hf.Outcome.event
    defects = [hf.certify(equations, hf.RK4, trajectory=run, effort=1e-9)["rod"].defect for run in (ended, whole)]
    assert defects[0] == pytest.approx(defects[1], rel=1e-6)


def test_a_projected_run_does_not_speak_for_the_scheme():
    equations = hf.derive(pendulum(0.2))
    run = hf.simulate(equations, hf.RK4, step=0.01, duration=0.2, project=True)
    with pytest.raises(hf.BadRequest, match="moved back"):
        hf.certify(equations, hf.RK4, trajectory=run)


@pytest.mark.parametrize(("given", "told"), [({"progress": 5}, "progress = 5"), ({"trajectory": 5}, "int is no run")])
def test_what_is_no_run_or_no_function_is_refused(given, told):
    with pytest.raises(hf.BadRequest, match=told):
        hf.certify(example("pendulum"), **given)


def test_ctrl_c_ends_the_search_for_proofs_and_keeps_what_was_measured(monkeypatch):
    from holdfast.stability.promise import assess

    def interrupted(*given, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr(assess, "prove", interrupted)
    told = []
    made = hf.certify(example("pendulum"), progress=told.append)
    assert made.interrupted
    assert made.label is hf.Label.checked
    assert "interrupted" in made.blocks[0].reason
    assert told == [0.0]


def stopped_at(number):
    """A progress that Ctrl-C meets when it is told something for that time."""
    told = []

    def progress(share):
        told.append(share)
        if len(told) == number:
            raise KeyboardInterrupt

    return progress


def test_ctrl_c_between_two_blocks_keeps_the_proof_of_the_first():
    equations = hf.derive(hf.load(EXAMPLES / "cart_rod.toml"))
    made = hf.certify(equations, hf.Euler, step=0.01, duration=1, effort=0.5, progress=stopped_at(2))
    assert made.interrupted
    assert [block.label for block in made.blocks] == [hf.Label.proved, hf.Label.checked]
    assert hf.verify(made).holds


def test_ctrl_c_before_chosen_steps_are_followed_is_said():
    made = hf.certify(example("pendulum"), hf.DOPRI5, tolerance=1e-6, duration=0.2, progress=stopped_at(1))
    assert made.interrupted
    assert not made.label.is_proof


@pytest.mark.parametrize("number", [1, 2, 4])
def test_ctrl_c_ends_the_search_for_a_longer_step_and_keeps_the_longest_so_far(number):
    asked = {"drift": 1e-5, "duration": 0.2, "step": 0.002, "effort": 0.1}
    equations, whole = hf.derive(pendulum(0.2)), []
    cold = hf.certify(hf.derive(pendulum(0.2)), hf.RK4, **asked, progress=whole.append)
    assert len(whole) >= 2
    try:
        made = hf.certify(equations, hf.RK4, **asked, progress=stopped_at(number))
    except KeyboardInterrupt:
        assert number == 1
    else:
        assert made.interrupted == (number <= len(whole))
        assert made.step <= cold.step
        assert made["rod"].bounds[0] <= 1e-5
    assert hf.certify(equations, hf.RK4, **asked).to_dict() == cold.to_dict()


def stopped_after_one(attempts):
    def some(prover, best):
        yield next(attempts(prover, best))
        raise KeyboardInterrupt

    return some


def stopped_at_once(_):
    def none(*given):
        raise KeyboardInterrupt

    return none


def stopped_the_first_time(method):
    """While rounding is bounded, without which covers prove nothing."""
    asked = []

    def then_none(*given):
        asked.append(given)
        if len(asked) == 1:
            raise KeyboardInterrupt
        return method(*given)

    return then_none


@pytest.mark.parametrize(
    ("method", "stop", "label"),
    [
        ("_attempts", stopped_after_one, hf.Label.tube),
        ("_widened", stopped_at_once, hf.Label.tube),
        ("_of_covers", stopped_the_first_time, hf.Label.tube),
        ("_attempts", stopped_at_once, hf.Label.checked),
    ],
)
def test_ctrl_c_keeps_the_best_tube_so_far(monkeypatch, method, stop, label):
    from holdfast.stability.tube.prove import TubeProver

    monkeypatch.setattr(TubeProver, method, stop(getattr(TubeProver, method)))
    made = hf.certify(example("hanging_chain"))
    assert made.interrupted
    assert {block.label for block in made.blocks} == {label}
    assert all("interrupted" in block.reason for block in made.blocks)
    assert label is hf.Label.checked or hf.verify(made).holds


def test_the_tries_for_a_drift_share_the_effort(monkeypatch):
    """As if every try took all that it was given."""
    from holdfast.stability.promise.assess import Assessment
    from holdfast.stability.proof.work import EFFORT

    given, real = [], Assessment.certificate

    def tried(job, *asked):
        given.append(job.asked.effort)
        job.ledger.charge(EFFORT * job.asked.effort)
        return real(replace(job, asked=replace(job.asked, effort=1e-9)), *asked)

    monkeypatch.setattr(Assessment, "certificate", tried)
    hf.certify(hf.derive(pendulum(0.2)), hf.Euler, drift=0.02, duration=1, effort=8.0)
    assert len(given) > 2
    assert sum(given) < 1.3 * 8.0


def test_an_affine_block_is_tried_in_one_tube_that_holds_its_start(monkeypatch):
    tubes, attempt = [], Trial.attempt

    def counted(self, tube, *asked):
        tubes.append(tube)
        return attempt(self, tube, *asked)

    monkeypatch.setattr(Trial, "attempt", counted)
    certificate = hf.certify(example("cart_rod"))
    assert len(tubes) == len(certificate.blocks) == 2
    assert all(block.from_step == 0 for block in certificate.blocks)


def test_a_tube_from_the_start_on_that_is_near_what_was_measured_is_the_only_one(monkeypatch):
    tubes, attempt = [], Trial.attempt

    def counted(self, tube, *asked):
        tubes.append(tube)
        return attempt(self, tube, *asked)

    monkeypatch.setattr(Trial, "attempt", counted)
    ray = hf.certify(example("adaptive_optics"))["ray"]
    assert len(tubes) == 1
    assert ray.from_step == 0
    assert ray.bounds[0] < 6e-4


def test_the_text_of_a_problem_is_written_when_it_is_asked_for(monkeypatch):
    written = []
    write = load_dump.written
    monkeypatch.setattr(load_dump, "written", lambda problem: written.append(1) or write(problem))
    certificate = hf.certify(example("cart_rod"))
    assert made_here(certificate)
    assert not written
    assert hf.loads(certificate.problem) == hf.load(str(EXAMPLES / "cart_rod.toml"))
    assert len(written) == 1
    assert made_here(certificate)
    assert not made_here(replace(certificate))


@pytest.mark.parametrize("flag", ["sample", "tube", "in_order"])
def test_what_is_asked_for_by_a_word_of_yes_or_no_takes_no_number(flag):
    """A tube of 0.01 was taken for a tube of whatever width."""
    for value in (0.01, "yes", None):
        with pytest.raises(hf.BadRequest, match=f"{flag} = .* is neither True nor False"):
            hf.certify(hf.derive(pendulum(0.05)), hf.RK4, step=0.01, duration=0.1, **{flag: value})
