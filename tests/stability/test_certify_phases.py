"""Certificates of phases: each is a problem of its own, and is verified as one."""

import json
from dataclasses import replace
from hashlib import sha256
from importlib import resources

import pytest
from click.testing import CliRunner

import holdfast as hf
from holdfast.cli.main import main
from holdfast.stability.verifier.reading.file import digest

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
    asked = CliRunner().invoke(main, ["verify", str(target)])
    assert asked.exit_code == 2
    assert "is not there" in asked.output
    assert "rope.1-swing.json" in asked.output
    assert CliRunner().invoke(main, ["certify", str(EXAMPLES / "slack_rope.toml"), "--drift", "1e-6"]).exit_code != 0


@pytest.fixture(scope="module")
def studied():
    return hf.study(hf.load(str(EXAMPLES / "slack_rope.toml")))


def test_a_study_certifies_each_phase_and_says_what_is_left_out(studied, tmp_path):
    assert list(studied.by_phase) == ["1 swing", "2 fly", "3 swing"]
    assert studied.certificate is None
    assert studied.verification.holds
    assert studied.verdict.word == "checked"  # the steps that meet an event are in no proof
    assert "1 swing proved while in Omega" in studied.verdict.line
    assert "of the shorter steps that meet an event nothing is said" in studied.verdict.line
    assert "phase 3 swing: rope: proved while in Omega" in studied.summary()
    assert "No certificate" not in studied.summary()
    names = {path.name for path in studied.save(tmp_path)}
    assert {"certificate.1-swing.json", "certificate.3-swing.json"} <= names
    assert hf.verify(tmp_path / "certificate.1-swing.json").holds


def test_a_page_shows_certificates_of_phases_for_their_own_run_only(studied, rope):
    html = studied.report().html
    assert html.count("Phase 1 swing") == 1
    assert "nor of what happens between phases" in html
    run, found = studied.trajectory, studied.by_phase
    with pytest.raises(hf.BadRequest, match="made for another run"):
        hf.report(run, {"3 swing": found["1 swing"]}, state_error=False)
    with pytest.raises(hf.BadRequest, match="was not just made"):
        hf.report(run, {"1 swing": replace(found["1 swing"], title="other")}, state_error=False)
    pendulum = hf.derive(hf.load(str(EXAMPLES / "pendulum.toml")))
    with pytest.raises(hf.BadRequest, match="did not go through phases"):
        hf.report(hf.simulate(pendulum, duration=0.1), found, state_error=False)


def test_a_phase_that_is_refused_leaves_no_promise(studied, rope):
    run, found = studied.trajectory, dict(studied.by_phase)
    adaptive = hf.study(replace(rope.problem, run=hf.Run(scheme="dopri5", tolerance=1e-8, duration=0.3)))
    assert not adaptive.by_phase
    assert any("an adaptive scheme changes its step" in remark for remark in adaptive.remarks)
    lacking = hf.report(run, {"1 swing": found["1 swing"]}, state_error=False)
    assert lacking.word == "no promise"
    assert "3 swing not certified" in lacking.verdict


def test_a_certificate_of_one_program_is_not_said_to_be_of_all_phases(rope):
    """The rope is let go at 0.48 s; one that never is, is another motion."""
    first = next(iter(hf.certify_phases(rope).values()))
    alone = hf.derive(hf.loads(first.to_dict()["problem"]))
    held = hf.certify(alone, hf.RK4, step=0.001, duration=1.0, effort=5)
    found = hf.verify(held, problem=EXAMPLES / "slack_rope.toml")
    assert found.holds
    assert "this is of one program, held from t = 0 for 1" in str(found.findings)
    assert "phases" not in str(hf.verify(first).findings)


def test_a_text_with_phases_is_not_confirmed(rope, tmp_path):
    data = next(iter(hf.certify_phases(rope).values())).to_dict()
    data["problem"] += '\n[phases.swing]\nuntil = "lambda_rope"\nthen = "fly"\n[phases.fly]\nwithout = ["rope"]\n'
    data["problem_hash"] = sha256(data["problem"].encode()).hexdigest()
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(data | {"digest": digest(data)}))
    found = hf.verify(path)
    assert not found.holds
    assert found.unconfirmed
