"""Tubes that hold other speeds: what they hold, what they say, where they are refused, and lies about them."""

import copy
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from click.testing import CliRunner

import holdfast as hf
from holdfast.cli.main import main
from holdfast.common.rounded import rounded_up
from holdfast.errors import BadRequest
from holdfast.stability.certificate.tube_attack import misstated_tube
from holdfast.stability.certificate.tube_proof import OrderedProof
from holdfast.stability.promise.speeds import why_no_speeds
from holdfast.stability.tube.cells import Cells
from holdfast.stability.tube.prove import TubeProver
from holdfast.stability.verifier.check import reading
from holdfast.stability.verifier.reading.file import claims, digest
from holdfast.stability.verifier.refusal import Unconfirmed
from holdfast.stability.verifier.tube.cells import TubeCells
from holdfast.stability.verifier.tube.groups import grouped
from holdfast.stability.verifier.tube.space import TubeSpace
from holdfast.stability.verifier.tube.speeds import require_no_time, speeds_of
from tests.stability.tube_truth import most_attained, random_state

EXAMPLES = Path(hf.__file__).parent / "examples"
SPEEDS, EFFORT = 0.05, 0.3


def rotor(speed=8.0, duration=0.4, gravity=9.81, **more):
    """A rod that turns about one end, its tip in Cartesian coordinates."""
    x, y = hf.coordinates("x y")
    system = hf.System(
        coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=gravity * y, **more.pop("system", {})
    )
    program = hf.Program(holonomic={"rod": (x**2 + y**2 - 1) / 2}, law=hf.critically_damped(10))
    run = hf.Run(scheme="rk4", step=0.005, duration=duration)
    start = {x: 0, y: -1, x.rate: speed, y.rate: 0}
    return hf.derive(hf.Problem(system, program, start=start, run=run, **more))


@pytest.fixture(scope="module")
def turning():
    equations = rotor()
    return equations, hf.certify(equations, tube=True, speeds=SPEEDS, effort=EFFORT)


@pytest.fixture(scope="module")
def swinging():
    """With a turning point, at which all speeds vanish."""
    equations = rotor(speed=3.0, duration=1.0)
    return equations, hf.certify(equations, tube=True, speeds=SPEEDS, effort=EFFORT)


# ── what is proved ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("which", ["turning", "swinging"])
def test_random_states_at_other_speeds_and_times_add_no_more_than_is_proved(which, request):
    equations, certificate = request.getfixturevalue(which)
    assert certificate.blocks[0].proof.tube.speeds == SPEEDS
    assert most_attained(equations, certificate, 60) > 0.3  # and it is no idle bound


@pytest.mark.prove
@pytest.mark.parametrize("speeds", [0.01, 0.05, 0.2])
def test_thousands_of_states_of_a_four_bar_add_no_more_than_is_proved(speeds):
    equations = hf.derive(hf.load(EXAMPLES / "four_bar.toml"))
    certificate = hf.certify(equations, tube=True, speeds=speeds)
    assert [block.proof.tube.speeds for block in certificate.blocks] == [speeds] * 2
    assert 0 < most_attained(equations, certificate, 3000, seed=7) < 1


def held_by(tube, state, count=64):
    """Whether a state is shown to be one of the tube: by places along each cell and factors that are tried, exactly."""
    half = len(state) // 2
    for t0, t1, curves, halves in tube.cells:
        assert t1 > t0
        places, curves = np.linspace(0, 1, count), np.array(curves)
        for _ in range(4):  # nearer and nearer
            middle = np.vander(places, 4, increasing=True) @ curves.T
            best = places[np.abs((middle - state)[:, :half] / np.array(halves)[:half]).max(axis=1).argmin()]
            places = np.clip(best + np.linspace(-1, 1, count) * (places[1] - places[0]), 0, 1)
        middle = np.vander([best], 4, increasing=True)[0] @ curves.T
        factor = float(middle[half:] @ state[half:] / (middle[half:] @ middle[half:]))
        if abs(Fraction(factor) - 1) <= Fraction(tube.speeds) and _inside(curves, halves, best, factor, state):
            return True
    return False


def _inside(curves, halves, s, factor, state):
    for i, (curve, half, x) in enumerate(zip(curves, halves, state, strict=True)):
        value = sum(Fraction(float(c)) * Fraction(float(s)) ** k for k, c in enumerate(curve))
        value *= Fraction(factor) if i >= len(state) // 2 else 1
        if abs(Fraction(float(x)) - value) > Fraction(float(half)):
            return False
    return True


def test_a_run_at_another_speed_lies_in_the_tube_and_keeps_the_bounds():
    """Without gravity a faster run passes the same positions, earlier."""
    equations = rotor(gravity=0)
    certificate = hf.certify(equations, tube=True, speeds=SPEEDS, effort=EFFORT)
    (block,) = certificate.blocks
    run = hf.simulate(equations, duration=0.38, start={"x_dot": 8.3})
    assert all(held_by(block.proof.tube, state) for state in run.y.T[::6])
    assert not held_by(block.proof.tube, run.y[:, 40] * [1, 1, 1.05, 1.05])
    for name, bound in zip(block.names, block.bounds, strict=True):
        assert np.abs(run[name]).max() <= bound
    assert np.abs(run["y_rod"]).max() > np.abs(certificate.trajectory["y_rod"]).max()


def test_halved_cells_hold_what_the_whole_ones_hold(turning):
    tube = turning[1].blocks[0].proof.tube
    parts = (np.array([cell[k] if k else cell[:2] for cell in tube.cells[:5]]) for k in (0, 2, 3))
    whole, rng = Cells(*parts, speeds=np.array([0, 0, SPEEDS, SPEEDS])), np.random.default_rng(1)
    half = whole.halved()
    for k in range(5):
        for _ in range(20):
            factor, s = rng.uniform(0.95, 1.05), rng.random()
            x = np.polynomial.polynomial.polyval(s, whole.curves[k].T) * [1, 1, factor, factor]
            x += rng.choice([-1, 1], 4) * whole.halves[k]
            part, u = (k, 2 * s) if s <= 0.5 else (5 + k, 2 * s - 1)
            middle = np.polynomial.polynomial.polyval(u, half.curves[part].T) * [1, 1, factor, factor]
            assert (np.abs(x - middle) <= half.halves[part]).all()
    assert (half.speeds == whole.speeds).all()


def test_parts_by_speed_hold_what_the_whole_cells_hold(turning):
    tube = turning[1].blocks[0].proof.tube
    parts = (np.array([cell[k] if k else cell[:2] for cell in tube.cells]) for k in (0, 2, 3))
    whole, rng = Cells(*parts, speeds=np.array([0, 0, SPEEDS, SPEEDS])), np.random.default_rng(2)
    for count in (1, 2, 3):
        several = whole.by_speed(count)
        assert len(several) == count
        for eta in (*np.linspace(-1, 1, 2 * count + 1), *rng.uniform(-1, 1, 20)):
            k = min(int((eta + 1) / 2 * count), count - 1)
            part, own = several[k], (eta - ((2 * k + 1) / count - 1)) * count
            assert abs(own) <= 1 + 1e-12
            ours = (1 + whole.speeds * eta)[:, None] * whole.curves
            theirs = (1 + part.speeds * np.clip(own, -1, 1))[:, None] * part.curves
            assert (np.abs(ours - theirs).sum(axis=-1) <= part.halves - whole.halves + 1e-18).all()


def test_starts_and_bounds_in_phase_are_found_in_it_too(swinging):
    equations, certificate = swinging
    assert hf.safe_starts(equations, certificate).part > 0
    found = hf.in_phase(equations, certificate)["rod"]
    assert (np.abs(certificate.trajectory["y_rod"]) <= np.abs(found.bounds).max()).all()


# ── words ─────────────────────────────────────────────────────────────────────────────────────────


def test_it_says_its_width_and_its_speeds_with_every_bound(turning):
    _, certificate = turning
    near = (
        "within 0.1 % of each state's range of this run at some time or other, with all its speeds there multiplied by "
        "some factor from 0.95 to 1.05"
    )
    (block,) = certificate.blocks
    told = block.promise("rk4", 0.005)
    assert near in told
    assert near in block.reason
    assert near in block.omega()
    assert "Where this run rests, the factor changes nothing" in told
    assert "nor that a neighbour stays in it" in told
    for text in (certificate.summary(), certificate.statement()):
        assert "at the same time" not in text
        assert "energy" not in text
    assert block.label is hf.Label.tube


def test_a_plain_tube_says_that_speeds_may_be_asked_for_and_is_the_same_without():
    equations = rotor()
    plain, none = (hf.certify(equations, tube=True, effort=EFFORT, **more) for more in ({}, {"speeds": 0}))
    assert "speeds=0.05 would ask for runs at other speeds, too" in plain.summary()
    assert "speeds" not in none.summary()
    assert json.dumps(plain.to_dict()) == json.dumps(none.to_dict())
    assert "speeds" not in plain.to_dict()["tubes"][0]


def test_where_speeds_are_not_proved_the_plain_tube_stays(monkeypatch):
    own = TubeProver.proofs
    monkeypatch.setattr(TubeProver, "proofs", lambda self, rows: ["it was not"] if self.speeds else own(self, rows))
    (block,) = hf.certify(rotor(), tube=True, speeds=SPEEDS, effort=EFFORT).blocks
    assert block.label is hf.Label.tube
    assert block.proof.tube.speeds == 0
    assert "speeds = 0.05: it was not" in block.reason
    assert "The speeds that were asked for are not proved" in block.reason


def test_bounds_in_phase_do_not_speak_of_other_speeds_that_the_tube_holds():
    """A faster run lies in the tube and keeps its bounds, but not those of this run's own phase: they say for whom."""
    equations = rotor(gravity=0)
    certificate = hf.certify(equations, tube=True, speeds=SPEEDS, effort=EFFORT)
    found, (block,) = hf.in_phase(equations, certificate)["rod"], certificate.blocks
    run = hf.simulate(equations, start={"x": 0, "y": -1, "x_dot": 8 * (1 + 0.9 * SPEEDS), "y_dot": 0})
    largest = np.abs([run[name] for name in block.names]).max(axis=1)
    assert (largest <= block.bounds).all()
    assert not (largest <= found.bounds).all()
    assert "at this run's own times and speeds" in str(found)
    assert f"|y_rod| <= {rounded_up(found.bounds[0])}" in str(found)


def test_steps_in_the_order_of_time_say_that_speeds_which_were_asked_for_are_not_proved():
    """Under a law that varies no tube of one norm is tried, and what is proved is at this run's own speeds."""
    d = hf.deviations("rod")
    law = hf.GeneralLaw({"rod": -100 * d - 20 * d.rate - 30 * d**3})
    (block,) = hf.certify(rotor(), tube=True, speeds=SPEEDS, law=law, duration=0.1).blocks
    assert isinstance(block.proof, OrderedProof)
    assert "The speeds that were asked for are not proved: steps are followed at this run's own." in block.reason


def test_a_proof_in_omega_says_of_which_speeds_it_is():
    (block,) = hf.certify(rotor(speed=0.5), speeds=SPEEDS).blocks
    assert block.label is hf.Label.proved
    assert "of speeds, those that lie in Omega are proved" in block.reason


# ── where it is refused ───────────────────────────────────────────────────────────────────────────


def with_time():
    t = hf.time
    return rotor(system={"forces": {"x": sp.sin(t)}})


def with_two_links():
    a, b, c, d = hf.coordinates("a b c d")
    system = hf.System(coordinates=(a, b, c, d), kinetic=(a.rate**2 + b.rate**2 + c.rate**2 + d.rate**2) / 2)
    held = {"upper": (a**2 + b**2 - 1) / 2, "lower": ((c - a) ** 2 + (d - b) ** 2 - 1) / 2}
    program = hf.Program(holonomic=held, law=hf.critically_damped(10))
    start = {a: 0.6, b: -0.8, c: 1.4, d: -1.4}
    return hf.derive(hf.Problem(system, program, start=start, run=hf.Run(scheme="rk4", step=0.005, duration=1.0)))


def example(name):
    return hf.derive(hf.load(EXAMPLES / f"{name}.toml"))


REFUSED = {
    "two degrees of freedom": (with_two_links, "there are 2 degrees of freedom"),
    "time": (with_time, "the equations depend on time"),
    "friction": (lambda: example("slide_with_friction"), "friction uses its reactions"),
    "no freedom": (lambda: example("cart_rod"), "leaves no freedom"),
    "steps in order": (lambda: example("kepler"), "in the order of time"),
    "further states": (lambda: example("servo_arm"), "is a state beside positions"),
    "rates alone": (lambda: example("skate"), "asks for more than positions"),
    "noise": (lambda: example("gusts"), "there is noise"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_by_name(name):
    make, words = REFUSED[name]
    with pytest.raises(BadRequest, match=f"other speeds is not possible: .*{words}"):
        hf.certify(make(), "rk4", step=0.005, speeds=SPEEDS)


def test_steps_that_change_ranges_and_phases_are_refused():
    with pytest.raises(BadRequest, match="changes its own"):
        hf.certify(rotor(), hf.DOPRI5, tolerance=1e-8, speeds=SPEEDS)
    with pytest.raises(BadRequest, match="no explicit Runge-Kutta scheme"):
        hf.certify(rotor(), "implicit_midpoint", step=0.005, speeds=SPEEDS)
    with pytest.raises(BadRequest, match="has phases"):
        hf.certify(example("slack_rope"), speeds=SPEEDS)
    with pytest.raises(BadRequest, match="has a range"):
        hf.certify(example("pendulum"), "rk4", step=0.01, region={"m": (1, 2)}, speeds=SPEEDS)


@pytest.mark.parametrize("speeds", [-0.1, 1.0, float("nan"), "fast"])
def test_speeds_are_a_part_of_a_speed(speeds):
    with pytest.raises(BadRequest, match=r"no part of a speed|not finite|not a number"):
        hf.certify(rotor(), speeds=speeds)


def test_a_problem_may_ask_for_it_and_so_may_the_command_line(tmp_path):
    stated = rotor(duration=0.1, certificate={"speeds": 0.02, "effort": 0.1})
    assert hf.certify(stated, tube=True).blocks[0].proof.tube.speeds == 0.02
    (tmp_path / "rotor.toml").write_text(hf.dumps(stated.problem))
    done = CliRunner().invoke(main, ["certify", str(tmp_path / "rotor.toml"), "--speeds", "-1"])
    assert done.exit_code != 0
    assert "no part of a speed" in done.output
    done = CliRunner().invoke(main, ["certify", str(EXAMPLES / "slack_rope.toml"), "--speeds", "0.05"])
    assert "--speeds is for one program" in done.output


def test_time_is_found_wherever_it_enters():
    assert why_no_speeds(rotor()) == ""
    x, y = hf.coordinates("x y")
    moving = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2)
    held = {"rod": x**2 + y**2 - 1 - sp.sin(hf.time)}
    program = hf.Program(holonomic=held, law=hf.critically_damped(10))
    assert "depend on time" in why_no_speeds(hf.derive(hf.Problem(moving, program, start={x: 1})))


# ── re-checked ────────────────────────────────────────────────────────────────────────────────────


def verified(data, tmp_path, **more):
    (tmp_path / "c.json").write_text(json.dumps({**data, "digest": digest(data)}))
    return hf.verify(tmp_path / "c.json", **more)


@pytest.mark.parametrize("which", ["turning", "swinging"])
def test_it_is_re_checked(which, request, tmp_path):
    certificate = request.getfixturevalue(which)[1]
    found = verified(certificate.to_dict(), tmp_path)
    assert found.holds, found.findings
    again = hf.Certificate.load(tmp_path / "c.json")
    assert again.blocks[0].proof.tube == certificate.blocks[0].proof.tube


@pytest.mark.prove
def test_a_four_bar_at_other_speeds_is_re_checked(tmp_path):
    certificate = hf.certify(hf.derive(hf.load(EXAMPLES / "four_bar.toml")), tube=True, speeds=SPEEDS)
    assert verified(certificate.to_dict(), tmp_path).holds


@pytest.mark.prove
@pytest.mark.parametrize("speeds", [2 * SPEEDS, 10 * SPEEDS])
def test_more_speeds_than_were_proved_are_found_out_by_the_defect_and_not_by_the_budget(turning, tmp_path, speeds):
    data = copy.deepcopy(turning[1].to_dict())
    data["tubes"][0]["speeds"] = speeds
    found = verified(data, tmp_path)
    assert not found.holds
    assert "its defect is not confirmed" in found.findings[0]


LIES = {
    "twice the speeds": (lambda d: d["tubes"][0].__setitem__("speeds", 2 * SPEEDS), "not confirmed"),
    "ten times the speeds": (lambda d: d["tubes"][0].__setitem__("speeds", 0.5), "not confirmed"),
    "speeds that turn round": (lambda d: d["tubes"][0].__setitem__("speeds", 1.5), "turn round"),
    "negative speeds": (lambda d: d["tubes"][0].__setitem__("speeds", -0.1), "no number"),
    "speeds in words": (lambda d: d["tubes"][0].__setitem__("speeds", "all"), "no number"),
    "a smaller coefficient": (lambda d: d["blocks"][0]["proof"].__setitem__("coefficient", 1.0), "smaller"),
}


@pytest.mark.parametrize("name", LIES)
def test_a_lie_about_speeds_is_refused(turning, tmp_path, name):
    data = copy.deepcopy(turning[1].to_dict())
    change, words = LIES[name]
    change(data)
    found = verified(data, tmp_path, cells=400)
    assert not found.holds
    told = found.findings[0]
    assert words in told or (words in ("not confirmed", "smaller") and ("budget" in told or "confirmed" in told)), told


def test_cubics_may_not_leave_the_run_between_its_rows(turning):
    """Other speeds pass between the rows; a file moved its cubics there by nearly a half-width, and was confirmed."""
    _, certificate = turning
    run, data = certificate.trajectory, copy.deepcopy(certificate.to_dict())
    assert misstated(data, run) is None
    for first, last, curves, halves in data["tubes"][0]["cells"]:
        rows = [(t - first) / (last - first) for t in run.times if first <= t <= last]
        if len(rows) <= 3:
            bent = np.zeros(4)
            bent[: len(rows) + 1] = np.polynomial.polynomial.polyfromroots(rows)  # nothing at the rows
            size = np.abs(np.polynomial.polynomial.polyval(np.linspace(0, 1, 50), bent)).max()
            curves[0][:] = (np.array(curves[0]) + 0.9 * halves[0] / size * bent).tolist()
    with pytest.raises(Unconfirmed, match="between two rows"):
        misstated(data, run)


def misstated(data, run):
    read = reading(claims(data | {"digest": digest(data)}))
    return misstated_tube(read, read.claims.tubes[0], run.times, run.y.T)


def test_speeds_are_not_put_into_a_tube_where_time_enters(tmp_path):
    data = hf.certify(with_time(), tube=True, effort=EFFORT).to_dict()
    assert data["blocks"][0]["label"] == "tube"
    data["tubes"][0]["speeds"] = 1e-9
    found = verified(data, tmp_path)
    assert not found.holds
    assert "the equations depend on time" in found.findings[0]


def test_code_that_uses_the_time_is_refused_whatever_the_equations_say(turning):
    data = turning[1].to_dict()
    read = reading(claims(data))
    require_no_time(read)
    operations = copy.deepcopy(data["code"]["operations"])
    known = len(data["code"]["inputs"]) + len(operations)
    operations += [["sub", 0, 0], ["add", data["code"]["rates"][3], known]]  # t − t, to a rate
    code = {**data["code"], "operations": operations, "rates": [*data["code"]["rates"][:3], known + 1]}
    altered = {**data, "code": code}
    other = reading(claims({**altered, "digest": digest(altered)}))
    with pytest.raises(Exception, match="the code that is run uses the time"):
        require_no_time(other)


def test_forms_of_parts_and_groups_of_cells_hold_random_states(turning):
    """States as forms at random places of random parts, halved along all variables, speeds too."""
    tube = turning[1].blocks[0].proof.tube
    read = reading(claims(turning[1].to_dict()))
    (stated,) = read.claims.tubes
    rng, names = np.random.default_rng(4), list(stated.scales)
    speeds = speeds_of(read, stated)
    assert speeds.tolist() == [0, 0, SPEEDS, SPEEDS]
    whole = TubeCells.whole(names, stated.spans, stated.curves, stated.halves, speeds)
    parts = whole
    for _ in range(4):
        parts = parts.halved(rng.integers(parts.low.shape[1], size=len(parts)))
        parts = parts.chosen(rng.permutation(len(parts))[: len(whole)])
    for cells in (whole, parts):
        e = rng.uniform(-1, 1, (len(cells), cells.low.shape[1]))
        e = np.where(rng.random(e.shape) < 0.5, np.sign(e), e)
        place = (cells.low + cells.high) / 2 + e * (cells.high - cells.low) / 2
        powers = np.stack([place[:, 0] ** k for k in range(4)], axis=1)
        states = np.einsum("nik,nk->ni", cells.curves, powers) * (1 + speeds * place[:, -1:])
        states += place[:, 2:-1] * cells.halves
        space = TubeSpace(len(names) + 1, 0, 1)
        values = cells.values(space)
        for i, name in enumerate(names):
            assert (
                np.abs(_at(values[name], space, e, len(names)) - states[:, i]) <= values[name].r[:, 0] + 1e-15
            ).all()
    three = grouped(whole.chosen(np.arange(3)))
    for _ in range(200):
        k = int(rng.integers(3))
        t, x = random_state(rng, tube.cells[k], SPEEDS)
        assert _held(three, t, x)


def _at(form, space, e, states):
    """The polynomial of a form at places of its cells: along it, across it, and both."""
    total = form.c[:, 0, 0].copy()
    for power in (1, 2, 3):
        total += form.c[:, space.long(power), 0] * e[:, 0] ** power
    for k in range(states + 1):
        total += (form.c[:, space.across(k), 0] + form.c[:, space.across(k, 0), 0] * e[:, 0]) * e[:, 2 + k]
    return total


def _held(cells, t, x):
    """Whether a state lies in a cell at the place of a time, with some factor."""
    s = (t - cells.spans[0, 0]) / (cells.spans[0, 1] - cells.spans[0, 0])
    middle = np.polynomial.polynomial.polyval(s, cells.curves[0].T)
    factors = np.linspace(1 - SPEEDS, 1 + SPEEDS, 4001)[:, None]
    away = np.abs(x - np.where(cells.speeds > 0, factors, 1) * middle)
    return bool((away <= cells.halves[0] + 2e-5 * np.abs(middle)).all(axis=1).any())
