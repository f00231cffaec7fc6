"""Where a whole run is not proved, a study proves the stretches of it that can be, and says how much of it they are."""

import json
from dataclasses import replace
from importlib import resources

import pytest
from click.testing import CliRunner

import holdfast as hf
from holdfast.cli.main import main

EXAMPLES = resources.files("holdfast") / "examples"


@pytest.fixture(scope="module")
def study():
    return hf.study(hf.load(str(EXAMPLES / "weak_motor.toml")))


def test_a_study_proves_stretches_without_being_asked(study):
    assert study.certificate.attracted is hf.Label.checked
    assert len(study.stretches) == 3
    assert all(block.label is hf.Label.tube for one in study.stretches.values() for block in one.blocks)
    assert study.verification.holds
    limit = study.problem.program.limits["tau"]
    for one in study.stretches.values():
        inside = (study.trajectory.times >= one.begin) & (study.trajectory.times <= one.begin + one.duration)
        assert abs(study.trajectory["tau"][inside]).max() < float(limit[1])


def test_the_page_tells_them_apart_from_what_holds_for_the_whole_run(study):
    page = study.report()
    assert "in a tube along 3 stretches of it (49 % of its time)" in page.verdict
    assert "By stretches" in page.html
    assert page.word != "proved"
    assert "by 3 stretches: path: proved in a tube along this run (once settled" in study.summary()
    (line,) = (line for line in study.summary().splitlines() if "by 3 stretches" in line)
    assert "from the start on" not in line  # each starts as far off as this run entered it, by up to 0.08


def test_the_files_of_a_study_hold_every_stretch(study, tmp_path):
    names = {path.name for path in study.save(tmp_path)}
    assert {"certificate.json", "certificate.0-to-0.117.json"} <= names
    assert hf.verify(str(tmp_path / "certificate.0-to-0.117.json")).holds


def test_stretches_of_another_run_are_refused(study):
    other = hf.simulate(hf.derive(study.problem), start={"th": 0.01}, every=1)
    with pytest.raises(hf.BadRequest, match="made for another run"):
        hf.report(other, stretches=study.stretches)
    name, one = next(iter(study.stretches.items()))
    with pytest.raises(hf.BadRequest, match="was not just made"):
        hf.report(study.trajectory, stretches={name: replace(one, title="mine")})


def test_what_is_proved_as_a_whole_has_no_stretches():
    pendulum = hf.derive(hf.load(str(EXAMPLES / "pendulum.toml")))
    assert hf.proved_stretches(hf.certify(pendulum)) == {}
    checked = hf.certify(pendulum, "implicit midpoint", step=0.01, duration=1.0)
    assert checked.attracted is hf.Label.checked
    assert hf.proved_stretches(checked) == {}


def test_the_command_writes_whole_and_stretches(tmp_path):
    target, file = tmp_path / "motor.json", str(EXAMPLES / "weak_motor.toml")
    done = CliRunner().invoke(main, ["certify", file, "-o", str(target)])
    assert done.exit_code == 0, done.output
    assert "Proved in the stretch 0 to 0.117" in done.output
    assert {path.name for path in tmp_path.iterdir()} == {
        "motor.json", "motor.0-to-0.117.json", "motor.0.519-to-1.167.json", "motor.2.027-to-2.738.json",
    }  # fmt: skip
    made = CliRunner().invoke(main, ["run", file, "-o", str(tmp_path / "motor.html"), "--json"])
    assert list(json.loads(made.stdout)["stretches"]) == ["0 to 0.117", "0.519 to 1.167", "2.027 to 2.738"]


def test_an_effort_that_does_not_reach_for_every_step_is_said_or_spared():
    slide = hf.derive(hf.load(str(EXAMPLES / "slide_with_friction.toml")))
    run = hf.simulate(slide, every=1)
    with pytest.raises(hf.BadRequest, match=r"an effort of 0\.1 does not reach for looking at every step"):
        hf.certify_stretches(slide, trajectory=run, effort=0.1)
    assert hf.proved_stretches(hf.certify(slide, trajectory=run, effort=0.1), effort=0.1) == {}
