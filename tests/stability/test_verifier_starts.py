"""Starts that stay in a tube, as a certificate states them and the verifier re-checks them a posteriori."""

import json
from functools import cache
from importlib import resources

import numpy as np
import pytest

import holdfast as hf
from holdfast.stability.certificate.attack import NativeRun
from holdfast.stability.verifier.check import reading
from holdfast.stability.verifier.reading.file import claims, digest
from holdfast.stability.verifier.tube.starts import StartModel, StartSpace, _Boxes, _polynomials, _worst, places
from tests.stability.held import pendulum

EXAMPLES = resources.files("holdfast") / "examples"


@cache
def swing():
    equations = hf.derive(pendulum(0.3))
    certificate = hf.certify(equations, hf.RK4, step=0.01, duration=0.2, tube=True, effort=0.3)
    return certificate, dict(hf.safe_starts(equations, certificate).distances)


def stated(change):
    certificate, distances = swing()
    return hf.verify(certificate.with_starts(change(dict(distances))))


def test_starts_of_a_file_are_confirmed(tmp_path):
    certificate, distances = swing()
    path = tmp_path / "certificate.json"
    whole = certificate.with_starts(distances)
    whole.save(path)
    found = hf.verify(path)
    assert found.holds, found.findings
    assert "starts: every run from within the stated distances stays in the tube, 21 rows re-checked" in found.findings
    assert hf.Certificate.load(path).starts == distances
    assert "stated, for hf.verify: every run that starts within x +- " in whole.summary()
    assert certificate.starts is None


@pytest.mark.prove
@pytest.mark.parametrize("name", ["skate", "bead_on_hoop"])
def test_starts_near_the_shipped_ones_are_confirmed_as_far_as_they_are_proved(name):
    equations = hf.derive(hf.load(str(EXAMPLES / f"{name}.toml")))
    certificate = hf.certify(equations, tube=True)
    distances = hf.safe_starts(equations, certificate).distances
    found = hf.verify(certificate.with_starts(distances))
    assert found.holds, found.findings
    found = hf.verify(certificate.with_starts({name: 1.3 * size for name, size in distances.items()}))
    assert "starts: that starts so far off stay in the tube is not confirmed" in found.doubts[0]


# ── parts ─────────────────────────────────────────────────────────────────────────────────────────


def test_polynomials_pass_through_runs():
    rng = np.random.default_rng(3)
    space, linear, square = StartSpace(3), rng.normal(size=(2, 3, 3)), rng.normal(size=(2, 3, 3, 3))
    e = places(3)

    def flow(e):
        return 1 + np.einsum("kij,j->ki", linear, e) + np.einsum("kijl,j,l->ki", square, e, e)

    found = _polynomials(space, np.array([flow(place) for place in e]))
    for place in rng.uniform(-1, 1, (5, 3)):
        terms = np.array([np.prod(place ** np.array(power[:3])) * (not any(power[3:])) for power in space.exponents])
        assert found @ terms == pytest.approx(flow(place))


def test_boxes_hold_what_they_are_said_to():
    side, moved, rest = 2 * np.eye(2)[None], np.eye(2)[None], np.array([[0.5, 1.0]])
    assert _worst(side, moved, rest) == pytest.approx(1.0)
    assert _worst(side, moved, rest + 0.01) > 1
    assert _worst(np.array([[[1.0, 1.0], [1.0, 1.0]]]), moved, rest) == np.inf
    assert _worst(side, moved, np.array([[np.nan, 1.0]])) == np.inf


def test_rows_hold_the_steps_of_runs_that_start_anywhere_between():
    """Native steps from random places of a row end in the next one, as its polynomial and remainder say."""
    certificate, distances = swing()
    made = reading(claims(certificate.with_starts(distances).to_dict()))
    native, rng = NativeRun(made), np.random.default_rng(2)
    names, size = made.equations.inputs[1:], np.array(list(distances.values()))
    times, runs = native.beside(places(4) * size)
    space = StartSpace(4)
    polynomials = _polynomials(space, runs)
    boxes = _Boxes(StartModel(made, space, 1.0), names, times, polynomials, made.claims.tubes)
    sides = np.broadcast_to(np.diag(1e-7 * size), (len(times), 4, 4))
    moved, rest = boxes._stepped(sides)
    for k in range(0, len(times) - 1, 4):
        for _ in range(5):
            e, d = rng.uniform(-1, 1, (2, 4))
            terms = np.array([np.prod(np.append(e, 0 * d) ** np.array(power)) for power in space.exponents])
            after = native.step(float(times[k]), polynomials[k] @ terms + sides[k] @ d)[1]
            off = np.abs(after - polynomials[k + 1] @ terms - moved[k] @ d)
            assert (off <= rest[k] + 4e-16 * np.abs(after)).all()
            assert (rest[k] < 1e-3 * size).all()


def test_starts_a_little_too_far_off_are_not_confirmed():
    found = stated(lambda found: {name: 1.4 * size for name, size in found.items()})
    assert "they may leave it at t = " in found.doubts[0]


# ── lies ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.prove
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda found: found | {"x_dot": 30 * found["x_dot"]}, "they may leave it at t = "),
        (lambda found: {name: found[name] for name in list(found)[1:]}, "does not hold: the distances of starts"),
        (lambda found: {**found, "z": 1e-9}, "does not hold: the distances of starts"),
    ],
)
def test_starts_too_far_off_are_not_confirmed(change, why):
    found = stated(change)
    assert not found.holds
    assert why in found.doubts[0]


@pytest.mark.parametrize("value", [0, -1e-9, "1", None, True, 10**400, 1e200])
def test_what_is_no_distance_is_refused(value, tmp_path):
    certificate, distances = swing()
    data = certificate.with_starts(distances).to_dict()
    data["starts"]["x"] = value
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(data | {"digest": digest(data)}))
    found = hf.verify(path)
    assert not found.holds
    assert found.findings[0].startswith("starts")


def test_starts_in_a_tube_that_is_not_confirmed_are_not_looked_at(tmp_path):
    certificate, distances = swing()
    data = certificate.with_starts(distances).to_dict()
    data["blocks"][0]["proof"]["coefficient"] /= 1e6
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(data | {"digest": digest(data)}))
    found = hf.verify(path, cells=400)
    assert not found.holds
    assert "starts: not looked at" in found.doubts[-1]


@pytest.mark.prove
def test_starts_without_a_tube_are_refused():
    certificate = hf.certify(hf.derive(pendulum(0.05)), hf.Euler, step=0.01, duration=1, effort=2)
    names = certificate.trajectory.state_names
    found = hf.verify(certificate.with_starts(dict.fromkeys(names, 1e-9)))
    assert "starts: does not hold: starts are said to stay in a tube, and there is none" in found.doubts


INTEGRALS = """schema = 1
[system]
coordinates = ["x", "z"]
kinetic = "(x_dot**2 + z_dot**2)/2"
potential = "(x**2 + z**2)/2"
[program.keep]
ex = "(x_dot**2 + x**2)/2"
ez = "(z_dot**2 + z**2)/2"
l = "x*z_dot - z*x_dot"
[program.law]
kind = "critically-damped"
rate = 2
[start]
x = 0.8
z = 0.2
x_dot = 0.6
z_dot = 0.5
[run]
scheme = "rk4"
step = 0.02
duration = 0.1
"""


def test_starts_are_looked_at_where_all_is_proved_in_the_order_of_time():
    equations = hf.derive(hf.loads(INTEGRALS))
    certificate = hf.certify(equations)
    distances = dict(hf.safe_starts(equations, certificate).distances)
    found = hf.verify(certificate.with_starts(distances))
    assert found.holds, found.findings
    assert found.findings[-1].startswith("starts: every run from within the stated distances stays in the tube")
    far = hf.verify(certificate.with_starts({name: 10 * size for name, size in distances.items()}))
    assert "starts: that starts so far off stay in the tube is not confirmed" in far.doubts[-1]


def test_there_are_no_starts_without_a_tube():
    certificate = hf.certify(hf.derive(hf.load(str(EXAMPLES / "gusts.toml"))))
    found = hf.verify(certificate.with_starts({"x": 1e-9, "x_dot": 1e-9}))
    assert found.contradicts
    assert found.doubts == ("starts: does not hold: starts are said to stay in a tube, and there is none",)


def test_runs_that_an_event_ends_are_made_again_and_their_whole_steps_alone_are_claimed(tmp_path):
    event = '[events.reach]\nwhen = "x - 0.845"\nterminal = true\n[start]'
    text = INTEGRALS.replace("[start]", event).replace("duration = 0.1", "duration = 1.0")
    certificate = hf.certify(hf.derive(hf.loads(text)))
    assert certificate.trajectory.outcome.name == "event"
    assert len(certificate.trajectory.times) == 5  # the last by a step that is shorter
    assert certificate["ex"].proof.steps == 3
    found = hf.verify(certificate)
    assert found.holds, found.findings
    lie = certificate.to_dict()
    lie["duration"] -= 0.005
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(lie | {"digest": digest(lie)}))
    assert "does not finish" in hf.verify(path).doubts[0]


SWINGING = """schema = 1
[system]
coordinates = ["x", "y"]
kinetic = "(x_dot**2 + y_dot**2)/2"
potential = "9.81*y"
[program.holonomic]
rod = "(x**2 + y**2 - 1)/2"
[program.law]
kind = "critically-damped"
rate = 10
[events.reach]
when = "x - 0.55"
terminal = true
[start]
x = 0.6
y = -0.8
[run]
scheme = "rk4"
step = 0.01
duration = 0.5
"""


def test_a_tube_along_a_run_that_an_event_ends_is_confirmed():
    certificate = hf.certify(hf.derive(hf.loads(SWINGING)), tube=True, effort=0.3)
    assert certificate.trajectory.outcome.name == "event"
    found = hf.verify(certificate)
    assert found.holds, found.findings
