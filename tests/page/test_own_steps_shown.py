"""What is proved along the steps that a run chose stands on its page, and is never called more than it is."""

import json
from dataclasses import replace
from importlib import resources

import pytest
from click.testing import CliRunner

import holdfast as hf
from holdfast.cli.main import main
from holdfast.common.frozen import Frozen
from tests.stability.test_own_steps import WRONG

FILE = str(resources.files("holdfast") / "examples" / "pendulum.toml")
OWN = ["--scheme", "dopri5", "--tolerance", "1e-7", "--duration", "2"]


def adaptive(scheme="dopri5", **other):
    problem = hf.load(FILE)
    return replace(problem, run=replace(problem.run, scheme=scheme, step=None, tolerance=1e-7, duration=2.0, **other))


@pytest.fixture(scope="module")
def study():
    return hf.study(adaptive())


@pytest.fixture(scope="module")
def wrong():
    """Its controls are not what the law asks for, so that no certificate speaks of it."""
    problem = hf.loads(WRONG.format(limits=""))
    return hf.study(replace(problem, run=replace(problem.run, scheme="dopri5", step=None, tolerance=1e-8)))


@pytest.mark.parametrize("scheme", ["dopri5", "dop853"])
def test_a_study_of_an_adaptive_run_proves_bounds_along_its_own_steps(scheme, study):
    found = study if scheme == "dopri5" else hf.study(adaptive(scheme))
    rod = found.certificate["rod"]
    assert found.verdict.word == "proved"
    assert "in a tube along the steps that this run chose" in found.verdict.line
    for name, bound in zip(rod.names, rod.bounds, strict=True):
        assert abs(found.trajectory[name]).max() <= bound
    assert found.verification
    assert "re-checked by the verifier: holds" in found.summary()
    assert "take the steps that it chose" in found.report().html
    assert f"{len(found.trajectory.times) - 1} steps of its own choice" in found.report().html


def test_rows_left_out_do_not_hinder_it():
    thinned = hf.study(adaptive(every=3))
    assert thinned.certificate.label is hf.Label.tube
    assert set(thinned.trajectory.times) < set(thinned.certificate.times)


def test_a_scheme_that_is_no_tableau_promises_nothing():
    found = hf.study(adaptive("radau"))
    assert (found.certificate, found.own_steps) == (None, ())
    assert found.verdict.word == "no promise"
    assert "radau is implicit" in found.summary()


def test_a_certificate_of_other_steps_stands_on_no_other_page(study):
    other = hf.simulate(hf.derive(study.problem), tolerance=2e-8, every=1)
    with pytest.raises(hf.BadRequest, match="another choice of steps"):
        hf.report(other, study.certificate)


def test_where_no_law_is_obeyed_bounds_of_contracting_steps_are_told(wrong):
    (path,) = wrong.own_steps
    assert wrong.certificate is None
    assert wrong.verdict.word == "no promise"  # of the program: it is followed as well as a wrong model can
    assert "proved in a tube along the steps that this run chose" in wrong.verdict.line
    assert "Not re-checked by a verifier" in wrong.summary()
    assert "runs that take other steps" in wrong.report().html
    assert all(abs(wrong.trajectory[name]).max() <= most for name, most in zip(path.names, path.bounds, strict=True))


def test_bounds_of_another_run_or_changed_ones_are_refused(wrong):
    (path,) = wrong.own_steps
    other = hf.simulate(hf.derive(wrong.problem), start={"th": 0.1}, start_policy="keep", every=1)
    with pytest.raises(hf.BadRequest, match="were not just made of this run"):
        hf.report(other, own_steps=[path])
    with pytest.raises(hf.BadRequest, match="were not just made of this run"):
        hf.report(wrong.trajectory, own_steps=[replace(path, bounds=(0.0, 0.0))])


def test_a_block_that_is_not_attracted_leaves_no_promise():
    problem = hf.load(FILE)
    still = replace(problem.program, law=hf.Unstabilised())
    made = hf.study(replace(adaptive(), program=still, start=Frozen(problem.start)))
    assert (made.certificate, made.own_steps) == (None, ())
    assert made.verdict.word != "proved"


def test_the_command_tells_and_writes_them_and_exits_as_they_say(tmp_path):
    kept = str(tmp_path / "own.json")
    done = CliRunner().invoke(main, ["certify", FILE, *OWN, "-o", kept])
    assert done.exit_code == 0, done.output
    assert "every run of dopri5 with this run's own steps" in done.output
    assert json.loads((tmp_path / "own.json").read_text("utf-8"))["step"] is None
    assert "holds in the order of time" in CliRunner().invoke(main, ["verify", kept, FILE]).output
    done = CliRunner().invoke(main, ["certify", FILE, "--scheme", "radau", *OWN[2:]])
    assert done.exit_code == 1
    assert "radau is implicit" in done.output
