"""Forces that use their own reactions, proved in a tube: Newton's steps of the code, and no others."""

import json
from dataclasses import replace
from importlib import resources

import numpy as np
import pytest

import holdfast as hf
from holdfast.errors import InternalError
from holdfast.stability.tube.agreement import require_agreement
from holdfast.stability.tube.flow import tube_flow
from holdfast.stability.verifier.reading.file import digest
from tests.stability.tube_truth import most_attained

EXAMPLES = resources.files("holdfast") / "examples"
PLACED = 1e-4  # of a bound: what a neighbour's start deviates by more than the run's own
SLOPE = """schema = 1
[system]
coordinates = ["x", "y"]
kinetic = "(x_dot**2 + y_dot**2)/2"
potential = "9.81*y"
[system.forces]
x = "-0.2*lambda_track*x_dot/sqrt(x_dot**2 + 1/4)"
[program.holonomic]
track = "y + sin(x)/2"
[program.law]
kind = "critically-damped"
rate = 10
[start]
x_dot = 2
[run]
scheme = "rk4"
step = 0.005
duration = 0.6
"""


@pytest.fixture(scope="module")
def slider():
    return hf.derive(hf.load(str(EXAMPLES / "slide_with_friction.toml")))


def test_friction_is_proved_where_a_step_follows_it(slider):
    certificate = hf.certify(slider, duration=0.1, effort=2)
    assert [block.label for block in certificate.blocks] == [hf.Label.tube] * 2
    assert "forces use lambda_slide" in certificate.blocks[0].reason
    assert most_attained(slider, certificate, 4) > 0.3


def test_friction_that_is_affine_in_its_reaction_takes_one_step():
    equations = hf.derive(hf.loads(SLOPE))
    assert tube_flow(equations, {}).friction.steps == 1
    certificate = hf.certify(equations, effort=1)
    assert certificate.label is hf.Label.tube
    assert most_attained(equations, certificate, 6) > 0.3


DRIVEN = """schema = 1
[system]
coordinates = ["x", "y"]
kinetic = "(x_dot**2 + y_dot**2)/2"
potential = "9.81*y"
[system.forces]
x = "-0.1*sqrt(lambda_floor**2 + 0.01)*x_dot/sqrt(x_dot**2 + 1/4)"
[program]
reactions = ["floor"]
[program.holonomic]
floor = "y + sin(x)/3"
go = "x - 2*t - 0.2*sin(3*t)"
[program.controls]
F = { x = "1", y = "0.3" }
[program.law]
kind = "critically-damped"
rate = 10
[start]
x_dot = 2.6
[run]
scheme = "rk4"
step = 0.005
duration = 0.02
start_policy = "project"
"""


def test_friction_beside_a_program_that_fixes_the_whole_motion_is_proved():
    """Its system was that of the program alone, which has no reactions to rub with: an IndexError."""
    equations = hf.derive(hf.loads(DRIVEN))
    certificate = hf.certify(equations, effort=0.3)
    assert [block.label for block in certificate.blocks] == [hf.Label.tube] * 2
    assert most_attained(equations, certificate, 4) > 0.3
    assert hf.verify(certificate).holds


def test_other_steps_of_newton_than_those_that_are_run_are_an_error_of_the_product(slider):
    flow = tube_flow(slider, {})
    place = (0.0, list(hf.simulate(slider, duration=0.01).y[:, -1]))
    require_agreement(flow, [place])
    with pytest.raises(InternalError, match="friction is not run as it is proved"):
        require_agreement(replace(flow, friction=replace(flow.friction, steps=2)), [place])


@pytest.fixture(scope="module")
def reversed_once(slider):
    """The slide turns over at 0.26 s, within a step or two."""
    return hf.certify(slider, duration=0.3, effort=2)


def test_a_reversal_is_proved_by_steps_in_the_order_of_time(reversed_once):
    for block in reversed_once.blocks:
        assert block.label is hf.Label.tube
        assert "followed in the order of time" in block.reason
    rod = reversed_once.blocks[0]
    assert all(most < 5 * seen for most, seen in zip(rod.bounds, rod.observed, strict=True))


def test_neighbours_in_the_tube_keep_the_bounds_over_a_reversal(slider, reversed_once):
    """Starts on the program as far off as the tube is wide: they obey the bounds as long as they stay in it."""
    tube = reversed_once.blocks[0].proof.tube
    scales, shake = dict(tube.scales), np.random.default_rng(5)
    run, turned = hf.simulate(slider, duration=0.3, every=1), 0
    for _ in range(12):
        off = {name: float(shake.uniform(-1, 1)) * tube.width * scales[name] for name in ("phi", "phi_dot")}
        start = {name: run[name][0] + change for name, change in off.items()}
        other = hf.simulate(slider, start=start, start_policy="project", duration=0.3, every=1)
        far = np.abs(other.y - run.y) / (tube.width * np.array([scales[name] for name in run.state_names])[:, None])
        inside = int(np.argmax((far > 1).any(axis=0))) or len(run.times)
        turned += inside > 265
        rod = reversed_once.blocks[0]  # the slide's own bound is below what a start is placed by
        for name, most in zip(rod.names, rod.bounds, strict=True):
            assert np.abs(other[name][:inside]).max(initial=0.0) <= most * (1 + PLACED)
    assert turned > 0  # some stay until they have turned over


@pytest.mark.prove
def test_the_other_path_confirms_a_reversal_and_no_smaller_bounds(reversed_once, tmp_path):
    assert hf.verify(reversed_once).holds
    data = reversed_once.to_dict()
    for block in data["blocks"]:
        block["bounds"] = [0.9 * most for most in block["bounds"]]
        block["proof"]["bounds"] = [0.9 * most for most in block["proof"]["bounds"]]
    path = tmp_path / "smaller.json"
    path.write_text(json.dumps(data | {"digest": digest(data)}))
    assert not hf.verify(path).holds


@pytest.mark.prove
def test_the_whole_run_of_the_slider_crank_is_proved_with_the_default_effort_and_confirmed(slider):
    certificate = hf.certify(slider)
    assert [block.label for block in certificate.blocks] == [hf.Label.tube] * 2
    assert hf.verify(certificate).holds


@pytest.mark.prove
def test_stretches_between_reversals_are_proved_and_the_steps_between_are_in_none(slider):
    run = hf.simulate(slider, duration=0.4, every=1)
    found = hf.certify_stretches(slider, trajectory=run, effort=2)
    assert len(found) == 2
    assert all(certificate.attracted is hf.Label.tube for certificate in found.values())
    first, second = found.values()
    reversal = float(run.times[1:][run["x_dot"][:-1] * run["x_dot"][1:] < 0][0])
    assert first.begin == 0
    assert first.begin + first.duration < reversal < second.begin
    assert second.begin - (first.begin + first.duration) < 20 * run.step
    row = round(second.begin / run.step)
    assert second.start == tuple(run.y[:, row])
    assert second.begin + second.duration == pytest.approx(0.4)


@pytest.mark.prove
def test_all_stretches_of_the_slider_crank_are_proved(slider):
    found = hf.certify_stretches(slider)
    assert len(found) == 11
    assert all(block.label is hf.Label.tube for certificate in found.values() for block in certificate.blocks)
    assert sum(certificate.duration for certificate in found.values()) > 0.97 * 6
    for certificate in found.values():
        assert most_attained(slider, certificate, 5) > 0.1


def test_stretches_are_refused_by_name_where_there_are_none():
    slope = hf.derive(hf.loads(SLOPE))
    (whole,) = hf.certify_stretches(slope, effort=1).items()
    assert whole[0] == "0 to 0.6"
    with pytest.raises(hf.BadRequest, match="takes Equations"):
        hf.certify_stretches("slope")
    with pytest.raises(hf.BadRequest, match="has phases"):
        hf.certify_stretches(hf.derive(hf.load(str(EXAMPLES / "slack_rope.toml"))))
    with pytest.raises(hf.BadRequest, match="one step, all of them kept"):
        hf.certify_stretches(slope, trajectory=hf.simulate(slope, every=2))
