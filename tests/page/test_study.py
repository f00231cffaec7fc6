"""The main job as a verb: one derivation, a verdict in a word, and everything saved in one folder."""

import json
from dataclasses import replace
from importlib import import_module, resources

import pytest

import holdfast as hf
from holdfast.common.frozen import Frozen

QUICK = {"pendulum": 1.0, "cart_rod": 1.0, "rlc": 1.0, "mixed_holders": 1.0}


def shipped(name):
    return hf.load(resources.files("holdfast") / "examples" / f"{name}.toml")


@pytest.mark.parametrize("name", [*list(QUICK)[:3], pytest.param("mixed_holders", marks=pytest.mark.prove)])
def test_a_study_has_everything_that_follows_from_a_problem(name):
    study = hf.study(shipped(name), effort=QUICK[name])
    assert study.verdict.word in ("proved", "checked", "no promise", "failed")
    assert study.trajectory.equations is study.equations
    assert study.law == study.problem.program.law
    assert set(study.seconds) <= {"derive", "tune", "simulate", "certify", "verify"}
    assert (study.verification is not None) == (study.verdict.word == "proved")
    assert study.verdict.line in study.summary()
    assert study.report() is study.report()
    assert (study.certificate is None) == (not study.equations.constraints)


def test_equations_are_derived_once_and_once_more_for_proofs(monkeypatch):
    derivation = import_module("holdfast.equations.solving.degree")
    counted = []
    original = derivation.dynamics_of
    monkeypatch.setattr(derivation, "dynamics_of", lambda *given: counted.append(1) or original(*given))
    monkeypatch.setattr(import_module("holdfast.page.study"), "RECHECK_TUBES", 0)  # the verifier derives for itself
    study = hf.study(shipped("four_bar"), effort=0.2)
    assert study.report().html
    assert len(counted) == 2
    assert "Proved; not re-checked here" in study.summary()
    assert "are needed; `holdfast verify` has a larger one." in study.summary()


def test_a_study_saves_what_others_need_to_check_it(tmp_path):
    study = hf.study(shipped("cart_rod"), effort=1)
    page, run, problem, certificate = study.save(tmp_path / "new" / "folder")
    assert 'class="verdict' in page.read_text("utf-8")
    assert hf.Trajectory.load(run).outcome is study.trajectory.outcome
    assert hf.load(problem).program.law == study.law
    assert hf.verify(certificate, problem=problem)
    assert json.loads(certificate.read_text("utf-8"))["scheme"] == study.trajectory.scheme


def test_the_effort_of_the_file_is_used_where_none_is_given(monkeypatch):
    certification = import_module("holdfast.stability.promise.certify")
    seen = []
    original = certification.certificate_request
    monkeypatch.setattr(certification, "certificate_request", lambda *given: seen.append(original(*given)) or seen[-1])
    problem = replace(shipped("cart_rod"), certificate=Frozen({"effort": 0.125}))
    hf.study(problem)
    hf.study(problem, effort=0.5)
    assert [asked.effort for asked in seen] == [0.125, 0.5]


def test_a_thinned_run_is_certified_at_its_own_step():
    problem = shipped("cart_rod")
    thinned = replace(problem, run=replace(problem.run, every=2, duration=1), certificate=Frozen({"drift": 1e-3}))
    study = hf.study(thinned, effort=0.5)
    assert study.certificate is not None
    assert study.certificate.step == study.trajectory.step == problem.run.step
    assert study.verdict.word in ("proved", "checked")


def test_open_gains_are_chosen_first():
    problem = shipped("pendulum").with_law(hf.Tuned())
    study = hf.study(replace(problem, run=replace(problem.run, duration=1)), effort=0.2)
    assert study.tuning is not None
    assert not isinstance(study.law, hf.Tuned)


def test_what_is_no_problem_is_refused():
    with pytest.raises(hf.BadRequest, match=r"study\(\) takes a Problem, not str"):
        hf.study("pendulum.toml")


def test_a_proof_that_the_verifier_contradicts_is_a_fault_of_our_own(monkeypatch):
    certify = hf.certify

    def overstated(*given, **asked):
        made = certify(*given, **asked)
        blocks = tuple(replace(block, bounds=tuple(b / 1e6 for b in block.bounds)) for block in made.blocks)
        return replace(made, blocks=blocks)

    monkeypatch.setattr("holdfast.page.study.certify", overstated)
    with pytest.raises(hf.InternalError, match="the verifier contradicts a proof"):
        hf.study(shipped("cart_rod"), effort=1)
