"""Certificates of phases: each is a problem of its own, and is verified as one."""

from importlib import resources

import pytest
from click.testing import CliRunner

import holdfast as hf
from holdfast.cli.main import main

EXAMPLES = resources.files("holdfast") / "examples"


@pytest.fixture(scope="module")
def rope():
    return hf.derive(hf.load(str(EXAMPLES / "slack_rope.toml")))


@pytest.mark.parametrize("name", ["slack_rope", "pick_and_place"])
def test_every_phase_that_holds_something_is_proved_and_verified(name):
    found = hf.certify_phases(hf.derive(hf.load(str(EXAMPLES / f"{name}.toml"))))
    held = {phase: certificate for phase, certificate in found.items() if certificate.blocks}
    assert {block.label.name for certificate in held.values() for block in certificate.blocks} == {"proved"}
    for phase, certificate in held.items():
        verified = hf.verify(certificate)
        assert verified.holds, (phase, verified.findings)


def test_a_certificate_begins_where_the_run_entered_its_phase(rope):
    run = hf.simulate(rope, every=1)
    found = hf.certify_phases(rope, trajectory=run)
    assert list(found) == ["1 swing", "2 fly", "3 swing"]
    assert not found["2 fly"].blocks
    for certificate, part in zip(found.values(), run.parts, strict=True):
        assert certificate.begin == part.times[0]
        assert certificate.start == (tuple(part.y[:, 0]) if certificate.blocks else ())
        assert certificate.begin + certificate.duration <= part.times[-1] + 1e-9
        assert part.times[-1] - (certificate.begin + certificate.duration) < part.step


def test_what_has_no_phases_or_no_step_is_refused(rope):
    pendulum = hf.derive(hf.load(str(EXAMPLES / "pendulum.toml")))
    with pytest.raises(hf.BadRequest, match="no phases"):
        hf.certify_phases(pendulum)
    with pytest.raises(hf.BadRequest, match="takes Equations"):
        hf.certify_phases("slack_rope")
    with pytest.raises(hf.BadRequest, match="did not go through phases"):
        hf.certify_phases(rope, trajectory=hf.simulate(pendulum, hf.RK4, step=0.01, duration=0.1))
    with pytest.raises(hf.BadRequest, match="adaptive"):
        hf.certify_phases(rope, hf.DOPRI5, tolerance=1e-8, duration=0.3)
    with pytest.raises(hf.BadRequest, match="has phases") as refused:
        hf.certify(rope)
    assert "certify_phases" in refused.value.fix


def test_the_command_writes_one_certificate_a_phase(tmp_path):
    target = tmp_path / "rope.json"
    done = CliRunner().invoke(main, ["certify", str(EXAMPLES / "slack_rope.toml"), "-o", str(target)])
    assert done.exit_code == 0, done.output
    assert "Phase 1 swing" in done.output
    assert {file.name for file in tmp_path.iterdir()} == {f"rope.{k}.json" for k in ("1-swing", "2-fly", "3-swing")}
    again = CliRunner().invoke(main, ["verify", str(tmp_path / "rope.3-swing.json")])
    assert again.exit_code == 0, again.output
    assert CliRunner().invoke(main, ["certify", str(EXAMPLES / "slack_rope.toml"), "--drift", "1e-6"]).exit_code != 0
