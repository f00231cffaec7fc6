"""Controls with limits: proved in a tube that reaches none of them, and in the stretches between."""

from dataclasses import replace
from importlib import resources

import numpy as np
import pytest
from click.testing import CliRunner

import holdfast as hf
from holdfast.cli.main import main
from holdfast.stability.promise.assess import Assessment
from holdfast.stability.tube.limits import rows_at_limits
from tests.stability.held import pendulum
from tests.stability.tube_truth import most_attained, random_state

EXAMPLES = resources.files("holdfast") / "examples"
ARM = """schema = 1
[system]
coordinates = ["th"]
kinetic = "th_dot**2/8"
potential = "-5*cos(th)"
[program.holonomic]
path = "th - 1 + cos(2*t)"
[program.controls]
tau = {{ th = "1 + th**2/20" }}
[program.limits]
tau = {limit}
[program.law]
kind = "critically-damped"
rate = 15
[run]
scheme = "rk4"
step = 0.002
duration = 1.5
"""


def arm(limit):
    return hf.derive(hf.loads(ARM.format(limit=limit)))


@pytest.fixture(scope="module")
def peak():
    return float(np.abs(hf.simulate(arm(20), every=1)["tau"]).max())


def test_a_run_that_reaches_no_limit_is_proved_in_a_tube(peak):
    certificate = hf.certify(arm(1.01 * peak), effort=1)
    (block,) = certificate.blocks
    assert block.label is hf.Label.tube
    assert "the law holds only within the limits of tau" in block.reason
    assert most_attained(arm(1.01 * peak), certificate, 6) > 0.3


@pytest.mark.prove
def test_no_state_of_the_tube_asks_for_more_than_the_limit(peak):
    limit, rng, worst = 1.002 * peak, np.random.default_rng(2), 0.0
    (block,) = hf.certify(arm(limit), effort=1).blocks
    assert block.label is hf.Label.tube
    assert block.proof.tube.width < 1e-3  # the first tube would reach it
    wide = arm(1e9)
    for cell in block.proof.tube.cells:
        t, x = random_state(rng, cell)
        worst = max(worst, abs(float(wide.evaluate(list(x), t).controls[0])))
    assert 0.99 * peak < worst < limit


def test_a_run_that_is_at_a_limit_says_since_when():
    limited = hf.derive(hf.load(str(EXAMPLES / "weak_motor.toml")))
    (block,) = hf.certify(limited, effort=0.5, duration=0.3).blocks
    assert block.label is hf.Label.checked
    run = hf.simulate(limited, every=1, duration=0.3)
    first = float(run.times[rows_at_limits(limited, run)[0]])
    assert f"this run is at them, first at t = {first:.6g}" in block.reason


@pytest.mark.prove
def test_stretches_of_the_weak_motor_between_its_limits_are_proved():
    equations = hf.derive(hf.load(str(EXAMPLES / "weak_motor.toml")))
    run = hf.simulate(equations, every=1, duration=1.3)
    found = hf.certify_stretches(equations, trajectory=run, effort=2)
    assert [certificate.label for certificate in found.values()] == [hf.Label.tube] * 2
    at = run.times[rows_at_limits(equations, run)]
    for certificate in found.values():
        inside = (at >= certificate.begin) & (at <= certificate.begin + certificate.duration)
        assert not inside.any()
    assert sum(certificate.duration for certificate in found.values()) > 0.7


@pytest.mark.parametrize("begin", [0.0, 1e7])
def test_each_stretch_has_a_name_of_its_own_however_late_it_is(begin, monkeypatch):
    monkeypatch.setattr(Assessment, "gaps", lambda self, step, run: [(begin + 0.2, begin + 0.21)])
    problem = replace(pendulum(), run=hf.Run(scheme="rk4", step=0.01, duration=0.4, begin=begin))
    found = hf.certify_stretches(hf.derive(problem), effort=0.1)
    assert len(found) == 2
    for name, certificate in found.items():
        ends = certificate.begin, certificate.begin + certificate.duration
        assert [float(text) for text in name.split(" to ")] == pytest.approx(ends, rel=0, abs=1e-3)


def test_the_command_certifies_stretches(tmp_path):
    target = tmp_path / "motor.json"
    asked = ["certify", str(EXAMPLES / "weak_motor.toml"), "--stretches", "--duration", "0.2", "-o", str(target)]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 0, done.output
    assert "Stretch 0 to 0.1" in done.output
    assert list(tmp_path.glob("motor.0-to-0.1*.json"))
    refused = CliRunner().invoke(main, [*asked, "--drift", "1e-6"])
    assert refused.exit_code == 2
    assert "--drift is for a whole run" in refused.output
