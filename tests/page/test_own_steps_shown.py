"""What is proved along the steps that a run chose stands on its page, and is never called more than it is."""

from dataclasses import replace
from importlib import resources

import pytest
from click.testing import CliRunner

import holdfast as hf
from holdfast.cli.main import main
from holdfast.common.frozen import Frozen

FILE = str(resources.files("holdfast") / "examples" / "pendulum.toml")
OWN = ["--scheme", "dopri5", "--tolerance", "1e-7", "--duration", "2"]


def adaptive(scheme="dopri5", **other):
    problem = hf.load(FILE)
    return replace(problem, run=replace(problem.run, scheme=scheme, step=None, tolerance=1e-7, duration=2.0, **other))


@pytest.fixture(scope="module")
def study():
    return hf.study(adaptive())


def test_a_study_of_an_adaptive_run_proves_bounds_along_its_own_steps(study):
    (rod,) = study.own_steps
    assert study.verdict.word == "proved"
    assert "in a tube along the steps that this run chose" in study.verdict.line
    for name, bound in zip(rod.names, rod.bounds, strict=True):
        assert abs(study.trajectory[name]).max() <= bound
    assert "Not re-checked by a verifier" in study.summary()
    assert "runs that take other steps" in study.report().html


def test_rows_left_out_do_not_hinder_it():
    thinned = hf.study(adaptive(every=3))
    assert len(thinned.own_steps) == 1


def test_a_scheme_whose_order_is_not_shown_promises_nothing():
    found = hf.study(adaptive("dop853"))
    assert found.own_steps == ()
    assert found.verdict.word == "no promise"
    assert "the order of dop853 is not shown" in found.summary()


def test_bounds_of_another_run_or_changed_ones_are_refused(study):
    (rod,) = study.own_steps
    other = hf.simulate(hf.derive(study.problem), start={"x": 0.6, "z": -0.8}, every=1)
    with pytest.raises(hf.BadRequest, match="were not just made of this run"):
        hf.report(other, own_steps=[rod])
    with pytest.raises(hf.BadRequest, match="were not just made of this run"):
        hf.report(study.trajectory, own_steps=[replace(rod, bounds=(0.0, 0.0))])


def test_a_block_that_is_not_attracted_leaves_no_promise():
    problem = hf.load(FILE)
    still = replace(problem.program, law=hf.Unstabilised())
    made = hf.study(replace(adaptive(), program=still, start=Frozen(problem.start)))
    assert made.own_steps == ()
    assert made.verdict.word != "proved"


def test_the_command_tells_them_and_exits_as_they_say():
    done = CliRunner().invoke(main, ["certify", FILE, *OWN])
    assert done.exit_code == 0, done.output
    assert "rod: proved in a tube along this run's own steps" in done.output
    done = CliRunner().invoke(main, ["certify", FILE, "--scheme", "dop853", *OWN[2:]])
    assert done.exit_code == 1
    assert "the order of dop853 is not shown" in done.output
