"""What is claimed is true: no proof that the run it was made for, the equations it speaks of or its own Omega belie."""

import json
from dataclasses import replace
from importlib import resources

import flint
import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from holdfast.common.rounded import rounded_down, rounded_up, written_range
from holdfast.equations.values import parameter_vector
from holdfast.errors import Undecided
from holdfast.graph.arithmetics.balls import ball, ball_between, precision
from holdfast.stability.linear.growth import growth
from holdfast.stability.promise.envelope import Promise, reading_errors
from holdfast.stability.proof.block import blocks_of, whole_motion
from holdfast.stability.proof.claim import BITS
from holdfast.stability.proof.contraction import Contraction, propagator
from holdfast.stability.proof.granted.obedience import Obedience, places_in
from holdfast.stability.proof.prove import Trial
from holdfast.stability.proof.rounding import RoundingModel, RoundingTapes
from holdfast.stability.proof.step_series import coefficient
from tests.stability.held import adaptive_optics, pendulum

EXAMPLES = resources.files("holdfast") / "examples"
x, y, z, s, home, rod = (*hf.coordinates("x y z s"), *hf.deviations("home rod"))


def example(name):
    return hf.derive(hf.load(str(EXAMPLES / f"{name}.toml")))


# ── linear means linear ───────────────────────────────────────────────────────────────────────────


def point_at_home(law, start=0.2):
    program = hf.Program(holonomic={"home": s}, controls={"F": {s: 1}}, law=law)
    return hf.derive(hf.Problem(hf.System(coordinates=s, kinetic=s.rate**2 / 2), program, start={s: start}))


@pytest.mark.parametrize(
    "relay",
    [
        sp.sign(home) / 2,
        sp.sign(home.rate) / 100,
        sp.Heaviside(home, 0) / 10**9 * 0 + sp.sign(home + home.rate) / 10**9,
        sp.Piecewise((home / 1000, home > 0), (home / 1000 - sp.Rational(1, 10), True)) * 0 + sp.sign(home) * home.rate,
    ],
    ids=["of y", "of w", "tiny", "in a factor"],
)
def test_a_law_with_a_relay_is_not_linear_and_not_proved(relay):
    """The slope of sign(y) is 0, and the law was once rebuilt from its slopes: proved to 4e-14, settling at 0.125."""
    equations = point_at_home(hf.GeneralLaw({"home": -4 * home - 4 * home.rate + relay}))
    assert not equations.demand_law.is_linear
    block = hf.certify(equations, hf.RK4, step=0.01, duration=2, effort=0.5)["home"]
    assert block.label is not hf.Label.proved
    assert all(seen <= bound for seen, bound in zip(block.observed, block.bounds, strict=True))
    assert hf.spectrum(equations).verdict.value == "unknown"


def test_the_same_law_without_its_relay_is_proved():
    equations = point_at_home(hf.GeneralLaw({"home": -4 * home - 4 * home.rate}))
    assert equations.demand_law.is_linear
    assert hf.certify(equations, hf.RK4, step=0.01, duration=2, effort=0.5)["home"].label is hf.Label.proved


@pytest.mark.parametrize(("relay", "proved"), [(sp.sign(rod) / 10000, False), (0, True)], ids=["relay", "none"])
def test_a_relay_on_a_curved_program_is_not_proved(relay, proved):
    law = hf.GeneralLaw({"rod": -25 * rod - 10 * rod.rate + relay})
    circle = (x**2 + y**2 - 1) / 2 - sp.sin(hf.time / 1000) / 10**12
    program = hf.Program(holonomic={"rod": circle}, controls={"F": {x: x, y: y}}, law=law)
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2)
    equations = hf.derive(hf.Problem(system, program, start={x: sp.sqrt(1 + sp.Rational(1, 10**5))}))
    block = hf.certify(equations, hf.RK4, step=0.01, duration=10, effort=2)["rod"]
    assert (block.label is hf.Label.proved) == proved


@pytest.mark.parametrize(("slowest", "proved"), [(0.2, True), (-0.2, False)], ids=["decided", "across"])
def test_a_force_that_jumps_is_proved_only_where_its_branch_is_decided(slowest, proved):
    """Dry friction on a curve: the region with one sign of the speed is proved, the one with both is not."""
    system = hf.System(
        coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, forces={x: -sp.sign(x.rate) / 10}, potential=y / 10
    )
    program = hf.Program(holonomic={"curve": y - x**2 / 4}, law=hf.SpringDamper(stiffness=25, damping=10))
    equations = hf.derive(hf.Problem(system, program, start={x: 0.1, x.rate: 0.5}))
    region = {"x": (0, 0.4), "y": (-0.01, 0.05), "x_dot": (slowest, 0.6), "y_dot": (-0.2, 0.2)}
    block = hf.certify(equations, hf.RK4, step=0.01, duration=0.3, region=region, effort=3)["curve"]
    assert (block.label is hf.Label.proved) == proved


# ── the equations that are run ────────────────────────────────────────────────────────────────────


def tampered(equations, change):
    """Equations whose rates are run otherwise than they were derived."""
    field = equations.field
    rates = list(field.rates)
    rates[field.positions] = change(equations.inputs.graph, rates[field.positions])
    vars(equations)["field"] = replace(field, rates=tuple(rates))
    return equations


CHANGES = {
    "dropped": lambda graph, rate: graph.zero,
    "off by a millionth": lambda graph, rate: rate * graph.const(1) * graph.const(sp.Rational(1000001, 1000000)),
    "pushed": lambda graph, rate: rate + graph.const(1) / 10**9,
}


TAMPERED = [("cart", "dropped"), *((name, word) for name in ("cart", "rod") for word in [*CHANGES][1:])]


@pytest.mark.parametrize(("name", "change"), TAMPERED)
def test_rates_that_do_not_obey_the_law_are_an_internal_error(name, change):
    """An elimination that left a row out was once proved to 2e-13, and drifted by 0.02."""
    equations = example("cart_rod") if name == "cart" else hf.derive(pendulum(0.05))
    equations = tampered(equations, CHANGES[change])
    assert hf.simulate(equations, hf.RK4, step=0.01, duration=0.3).outcome.holds_program  # nothing shows in the run
    with pytest.raises(hf.InternalError, match="do not obey the law"):
        hf.certify(equations, hf.RK4, step=0.01, duration=0.3, effort=0.5)


def test_a_state_tells_of_all_only_where_no_operation_has_another_side():
    """x'' + √(x²)/1000 − x/1000 is what the law asks for at positive x alone; the rods' own rates are rational."""
    equations = hf.derive(pendulum(0.05))
    (block,) = blocks_of(equations, {})
    assert Obedience(whole_motion(equations, block, {}), hf.RK4).meromorphic
    position = equations.field.state[0]
    changed = tampered(
        equations, lambda graph, rate: rate + (graph.call("sqrt", position * position) - position) / 1000
    )
    obedience = Obedience(whole_motion(changed, block, {}), hf.RK4)
    assert not obedience.meromorphic
    assert obedience.shown((0.0, [0.6, -0.8, 0.1, 0.2]))
    with pytest.raises(hf.InternalError, match="do not obey the law"):
        obedience.require((0.0, [-0.6, -0.8, 0.1, 0.2]))


def test_a_run_that_left_its_program_is_refused_before_its_rates_are_looked_at():
    equations = tampered(hf.derive(pendulum(0.05)), CHANGES["dropped"])
    assert not hf.simulate(equations, hf.RK4, step=0.01, duration=0.3).outcome.holds_program
    assert hf.certify(equations, hf.RK4, step=0.01, duration=0.3, effort=0.5).label is hf.Label.refused


@pytest.mark.parametrize("name", ["cart_rod", "rocket_ascent", "four_bar", "mixed_holders", "capital", "skate"])
@pytest.mark.parametrize("scheme", [hf.Euler, hf.Kutta3, hf.RK4], ids=lambda scheme: scheme.name)
def test_the_coefficients_that_a_proof_takes_for_zero_vanish(name, scheme):
    equations = example(name)
    run = hf.simulate(equations, duration=equations.problem.run.step * 50)
    rows = [(float(run.times[k]), run.y[:, k].tolist()) for k in (0, 20, 50)]
    box = {"t": (0.0, 1.0)} | {name: (run[name].min() - 0.1, run[name].max() + 0.1) for name in run.state_names}
    blocks = blocks_of(equations, {})
    assert sum(len(block.constraints) for block in blocks) == len(equations.constraints)
    for block in blocks:
        assert block.constant
        obedience = Obedience(whole_motion(equations, block, {}), scheme)
        assert all([obedience.shown(place) for place in (*rows, *places_in(box, run.state_names, 4))])


def test_a_badly_scaled_elimination_is_shown_to_obey():
    """Masses of 1e9 and 1e-9: 80 bits would leave too few."""
    system = hf.System(coordinates=(x, y), kinetic=(10**9 * x.rate**2 + y.rate**2 / 10**9) / 2, potential=y)
    program = hf.Program(holonomic={"rod": (x**2 + y**2 - 1) / 2}, law=hf.SpringDamper(stiffness=25, damping=10))
    equations = hf.derive(hf.Problem(system, program, start={x: 1, y.rate: 1}))
    (block,) = blocks_of(equations, {})
    assert Obedience(whole_motion(equations, block, {}), hf.RK4).shown((0.0, [0.9, 0.4, 0.1, 1.0]))


# ── bounds that say something ─────────────────────────────────────────────────────────────────────


def nearly_parallel(near):
    system = hf.System(coordinates=(x, y, z), kinetic=(x.rate**2 + y.rate**2 + z.rate**2) / 2, potential=z)
    held = {"a": x + y + z, "b": x + y + (1 + sp.Rational(1, near)) * z}
    program = hf.Program(holonomic=held, law=hf.SpringDamper(stiffness=30, damping=11))
    return hf.derive(hf.Problem(system, program, start={x.rate: 1, y.rate: -1}))


def test_a_bound_that_says_no_more_than_omega_is_not_called_proved():
    """|y| <= 1.8e35 was once proved, where Omega itself says 1.2 and the run shows 2e-12."""
    block = hf.certify(nearly_parallel(10**6), hf.RK4, step=0.01, duration=0.5, effort=1)["a"]
    assert block.label is hf.Label.checked
    assert "says no more than Omega" in block.reason
    assert max(block.bounds) < 1e-9


def test_constraints_that_are_not_parallel_are_proved():
    certificate = hf.certify(nearly_parallel(1), hf.RK4, step=0.01, duration=0.5, effort=1)
    assert sorted(name for block in certificate.blocks for name in block.constraints) == ["a", "b"]
    assert all(block.label is hf.Label.proved and max(block.bounds) < 1e-9 for block in certificate.blocks)


def test_no_bound_is_infinite(tmp_path):
    """A spherical pendulum whose Omega holds sin(th) = 0, where the azimuth has no inertia: once proved to inf."""
    th, ph = hf.coordinates("th ph")
    kinetic = (th.rate**2 + sp.sin(th) ** 2 * ph.rate**2) / 2
    system = hf.System(coordinates=(th, ph), kinetic=kinetic, potential=-sp.Rational(981, 100) * sp.cos(th))
    program = hf.Program(holonomic={"azimuth": ph - 5 * hf.time}, controls={"M": {ph: 1}}, law=hf.critically_damped(10))
    equations = hf.derive(hf.Problem(system, program, start={th: 0.4, ph.rate: 5}))
    certificate = hf.certify(equations, hf.RK4, step=0.01, duration=5, effort=1)
    assert certificate["azimuth"].label is hf.Label.tube  # which holds no such state
    assert "singular" in certificate["azimuth"].reason
    assert np.isfinite(certificate["azimuth"].bounds).all()
    certificate.save(tmp_path / "c.json")
    json.loads((tmp_path / "c.json").read_text(), parse_constant=lambda word: pytest.fail(f"{word} is no number"))
    away = hf.certify(equations, hf.RK4, step=0.01, duration=0.2, effort=1)["azimuth"]
    assert away.label is hf.Label.proved
    assert max(away.bounds) < 1e-9


def test_a_pole_that_falls_leaves_its_cart_with_a_bound():
    """The pole turns right round, so that its region is wide; the bound of the cart was once called proved and inf."""
    x, th = hf.coordinates("x th")
    kinetic = x.rate**2 / 2 + ((x.rate + sp.cos(th) * th.rate / 2) ** 2 + (sp.sin(th) * th.rate / 2) ** 2) / 20
    system = hf.System(coordinates=(x, th), kinetic=kinetic, potential=sp.Rational(981, 2000) * sp.cos(th))
    program = hf.Program(holonomic={"home": x}, controls={"F": {x: 1}}, law=hf.critically_damped(5))
    equations = hf.derive(hf.Problem(system, program, start={th: 0.01}))
    block = hf.certify(equations, hf.RK4, step=0.001, duration=3, effort=2)["home"]
    assert block.label in (hf.Label.proved, hf.Label.checked)
    assert len(block.bounds) == 2
    assert max(block.bounds) < 1e-9
    assert block.label is hf.Label.proved or "No proof:" in block.reason


@pytest.mark.parametrize("length", [1e5, 1.0, 1e-5])
def test_a_pendulum_of_any_size_gets_the_same_words(length):
    moment = np.sqrt(length)
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=y)
    program = hf.Program(holonomic={"rod": (x**2 + y**2 - length**2) / 2}, law=hf.critically_damped(5 / moment))
    start = {x: length * np.sin(0.05), y: -length * np.cos(0.05)}
    equations = hf.derive(hf.Problem(system, program, start=start))
    block = hf.certify(equations, hf.RK4, step=0.01 * moment, duration=moment, effort=4)["rod"]
    assert block.label is hf.Label.proved
    assert block.stayed
    assert block.bounds[0] < 4 * block.observed[0]
    assert 1e-12 < block.bounds[0] / length**2 < 1e-10


# ── blocks and each other ─────────────────────────────────────────────────────────────────────────


def two_blocks():
    system = hf.System(coordinates=(x, y, z), kinetic=(x.rate**2 + y.rate**2 + z.rate**2) / 2, potential=z)
    law = hf.SpringDamper(stiffness={"a": 100, "b": 40}, damping={"a": 0.5, "b": 13})
    program = hf.Program(holonomic={"a": y - x**2 / 2, "b": z - x * y}, law=law)
    return hf.derive(hf.Problem(system, program, start={x: 0.1, x.rate: 0.5}))


def test_proofs_grant_each_other_no_less_than_is_proved():
    """b once took |y_a| <= 2e-8 for granted, of which 1.2e-7 was proved."""
    certificate = hf.certify(two_blocks(), hf.RK4, step=0.01, duration=0.3, effort=8)
    proved = {n: b for block in certificate.blocks for n, b in zip(block.names, block.bounds, strict=True)}
    assert all(block.label is hf.Label.proved for block in certificate.blocks)
    for block in certificate.blocks:
        granted = {name: high for name, _, high in block.proof.limits if name in proved}
        assert granted
        assert all(proved[name] <= high for name, high in granted.items())


def test_proofs_that_do_not_close_are_not_called_proofs(monkeypatch):
    monkeypatch.setattr("holdfast.stability.promise.assess.ROUNDS", 0)
    monkeypatch.setattr("holdfast.stability.proof.omega.TIMES_CHECKED", 0)
    block = hf.certify(two_blocks(), hf.RK4, step=0.01, duration=0.3, effort=8)["b"]
    assert block.label is hf.Label.tube  # a tube takes nothing for granted
    assert "|y_a| <= " in block.reason
    assert "not proved" in block.reason


def test_what_is_granted_of_a_neutral_block_is_said():
    certificate = hf.certify(hf.derive(adaptive_optics()), hf.Euler, step=0.01, duration=1, effort=4)
    assert certificate["aim"].label is hf.Label.proved
    assert "|y_radius| <= " in certificate["aim"].reason
    assert "not proved" in certificate["aim"].reason
    assert certificate.label is hf.Label.neutral  # a proof of one block does not cover another


# ── rows against promises ─────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module", params=["settling", "on the program"])
def promise(request):
    """A proof, its run and what it promises of it."""
    z_far = {z: 1e6}  # a coordinate far away, and of no concern
    system = hf.System(coordinates=(x, z), kinetic=(x.rate**2 + z.rate**2) / 2)
    law = hf.SpringDamper(stiffness=25, damping=10)
    program = hf.Program(holonomic={"home": x - sp.sin(hf.time)}, controls={"F": {x: 1}}, law=law)
    start = {x: 0.1} if request.param == "settling" else {x.rate: 1}
    equations = hf.derive(hf.Problem(system, program, start=start | z_far))
    certificate = hf.certify(equations, hf.RK4, step=0.01, duration=3, effort=1)
    block, run = certificate["home"], certificate.trajectory
    assert block.label is hf.Label.proved
    errors = reading_errors(equations, run, parameter_vector(equations, {}))
    psi, read = (np.array([table[name] for name in block.names]).T for table in (run, errors))
    with precision(BITS):
        contraction = Contraction(
            np.array(block.proof.factor), block.gamma, propagator(hf.RK4, np.array(block.matrix), 0.01)
        )
        settled, widths = contraction.settled(block.defect), contraction.widths()
    matrix = hf.RK4.propagator(np.array(block.matrix), 0.01)
    return Promise(block.names, block.proof, block.defect, settled, widths, matrix), run, psi, read


def test_a_run_keeps_its_promise(promise):
    said, run, psi, read = promise
    said.require(run, psi, read)
    assert read.max() < 1e-14


def test_a_row_beyond_its_promise_is_an_internal_error(promise):
    said, run, psi, read = promise
    small = replace(said, defect=1.0, settled=[0.0, 0.0], widths=[size * 1e-6 for size in said.widths])
    with pytest.raises(hf.InternalError, match=r"\|y_home\| is .* at most .* is proved"):
        small.require(run, psi, read)


def test_a_defect_beyond_the_proved_one_is_an_internal_error(promise):
    said, run, psi, read = promise
    bent = psi.copy()
    bent[200:] += 1e-7  # as a relay would
    with pytest.raises(hf.InternalError, match="defect of a step"):
        said.require(run, bent, read)


def test_a_contradicted_proof_is_no_silent_label(monkeypatch):
    """A bound of the defect that is too small by far is found out by the run itself."""
    monkeypatch.setattr("holdfast.stability.promise.proved_block.total_defect", lambda *_: 1e-30)
    with pytest.raises(hf.InternalError, match="contradicts its proof"):
        hf.certify(hf.derive(pendulum(0.05)), hf.Euler, step=0.01, duration=1, effort=2)


# ── neutral blocks ────────────────────────────────────────────────────────────────────────────────


def test_a_slow_growth_is_not_called_kept():
    """|R| = 1 + 8e-8: 0.1 grows to 298 in 1e8 steps, and was once called neutral."""
    equations = point_at_home(hf.SpringDamper(stiffness=1, damping=0), start=0.1)
    block = hf.certify(equations, hf.Euler, step=4e-4, duration=0.4)["home"]
    assert block.label is hf.Label.refused
    assert "grows by 8e-08" in block.reason


@pytest.mark.parametrize("scheme", [hf.RK4, hf.ImplicitMidpoint, hf.SymplecticEuler], ids=lambda scheme: scheme.name)
def test_what_a_scheme_keeps_is_neutral(scheme):
    equations = point_at_home(hf.SpringDamper(stiffness=1, damping=0), start=0.1)
    assert hf.certify(equations, scheme, step=4e-3, duration=0.4)["home"].label is hf.Label.neutral


def test_a_double_root_at_zero_does_not_grow():
    for scheme in (hf.Euler, hf.RK4, hf.SymplecticEuler, hf.ImplicitMidpoint):
        assert growth(scheme, np.kron(np.eye(3), [[0.0, 1.0], [0.0, 0.0]]), 0.1) == 0
    assert growth(hf.SymplecticEuler, np.array([[0.0, 1.0], [-100.0, 0.0]]), 0.3) > 1  # beyond its limit of 2/10


# ── runs of every kind ────────────────────────────────────────────────────────────────────────────


def test_a_late_run_is_not_called_thinned():
    problem = replace(pendulum(0.05), run=hf.Run(begin=1e9))
    block = hf.certify(hf.derive(problem), hf.RK4, step=0.01, duration=0.5, effort=1e-9)["rod"]
    assert block.label is hf.Label.checked


def test_a_run_too_short_to_settle_is_proved_from_its_start_on_and_not_called_left():
    far = replace(pendulum(0.05), run=hf.Run(start_policy="keep"))
    far = replace(far, start={x: 0.3, y: -0.999})
    certificate = hf.certify(hf.derive(far), hf.RK4, step=0.01, duration=0.03, effort=2)
    assert certificate["rod"].label is hf.Label.proved
    assert certificate["rod"].from_step == 0
    assert "LEFT" not in certificate.summary()
    assert hf.verify(certificate)


def test_a_narrower_tube_without_states_does_not_cost_the_proof(monkeypatch):
    attempt, made = Trial.attempt, []

    def once(self, tube, *asked):
        if made:
            raise hf.BadRequest("no state of the region lies near the program")
        proof = attempt(self, tube, *asked)
        made.append(proof)
        return replace(proof, radius=proof.tube / 10)  # so that a narrower tube is tried

    monkeypatch.setattr(Trial, "attempt", once)
    monkeypatch.setattr("holdfast.stability.proof.prove.Trial.is_thin", lambda *_: False)
    certificate = hf.certify(hf.derive(pendulum(0.05)), hf.Euler, step=0.01, duration=1, effort=2)
    assert made
    assert certificate["rod"].label is hf.Label.proved


def test_a_series_is_not_read_beyond_what_it_knows():
    with precision(80, 6):
        known = flint.arb_series([0, 0, 1, 2]) / flint.arb_series([0, 1])
        assert known.prec == 5
        assert coefficient(known, 4) == 0
        with pytest.raises(Undecided):
            coefficient(known, 5)


def test_a_deviation_that_jumps_between_the_exact_and_the_rounded_state_has_no_bound():
    turn = hf.coordinates("turn")
    system = hf.System(coordinates=(x, y, turn), kinetic=(x.rate**2 + y.rate**2 + turn.rate**2) / 2)
    program = hf.Program(holonomic={"aim": sp.atan2(y, x) - turn}, law=hf.SpringDamper(stiffness=25, damping=10))
    equations = hf.derive(hf.Problem(system, program, start={x: -1, y: 0.03, turn: 3.1}))
    (block,), constants = blocks_of(equations, {}), parameter_vector(equations, {})
    with precision(80):
        model = RoundingModel(RoundingTapes(equations, block.places), hf.Euler, 0.01, np.eye(2), constants, 1e-15)
        near, across = (
            model.bound(ball(0), [ball(-1.0), ball_between(low, 0.03), ball(3.1), ball(0), ball(0), ball(0)])
            for low in (0.02, -1e-18)
        )
    assert near < 1e-12
    assert across == np.inf


# ── words ─────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_proved_and_of_which_omega_is_printed():
    certificate = hf.certify(hf.derive(pendulum(0.05)), hf.Euler, step=0.01, duration=1, effort=2)
    text = certificate.summary()
    assert (
        "Proved: from any start in Omega that deviates no more than this one in the norm of the proof, every step of "
        "euler with" in text
    )
    assert "Omega: t in [0, 1], x in [" in text
    assert "energy in [" in text
    for bound in certificate["rod"].bounds:
        assert f"<= {rounded_up(bound)}" in text
        assert float(rounded_up(bound)) >= bound


def test_bounds_are_rounded_up_and_ranges_inward():
    random = np.random.default_rng(3)
    for value in random.choice([-1, 1], 500) * 10 ** random.uniform(-30, 30, 500):
        assert float(rounded_down(value)) <= value <= float(rounded_up(value))
        assert abs(float(rounded_up(value)) - value) <= 0.01 * abs(value)
    assert rounded_up(0.5236) == "0.524"
    assert written_range(-1.00006, 0.30004) == "[-1, 0.3]"
    assert written_range(100.0, 100.00123) == "[100, 100.0012]"
