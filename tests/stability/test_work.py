"""Effort is counted: the same call gives the same certificate, whatever the clock says and whatever code is kept."""

import json
import subprocess
import sys
import time

import pytest

import holdfast as hf
from holdfast.stability.promise.assess import Assessment
from holdfast.stability.proof import prove as proving
from holdfast.stability.proof.prove import Interrupted, Trial
from holdfast.stability.proof.work import EFFORT, SearchWork
from tests.stability.held import pendulum

ASK = {"step": 0.01, "duration": 1, "effort": 1.5}
SCRIPT = """
import json, sys
import holdfast as hf
from tests.stability.held import pendulum
print(json.dumps(hf.certify(hf.derive(pendulum(0.05)), hf.Euler, step=0.01, duration=1, effort=0.4).to_dict()))
"""


def test_a_part_of_the_work_is_charged_to_the_whole():
    whole = SearchWork.of(2)
    part = whole.part(0.5 * EFFORT)
    part.charge(0.4 * EFFORT)
    assert (part.left, whole.left, part.effort) == (pytest.approx(0.1 * EFFORT), 1.6 * EFFORT, 0.5)
    whole.charge(1.55 * EFFORT)
    assert part.left == pytest.approx(0.05 * EFFORT)  # no part has more than the whole


def test_a_certificate_does_not_depend_on_the_clock(monkeypatch):
    equations = hf.derive(pendulum(0.05))
    first = hf.certify(equations, hf.Euler, **ASK).to_dict()
    late = iter(range(10**9))
    for name in ("perf_counter", "thread_time", "process_time", "monotonic"):
        monkeypatch.setattr(time, name, lambda: 3600.0 * next(late))
    assert hf.certify(equations, hf.Euler, **ASK).to_dict() == first
    assert first["blocks"][0]["label"] == "proved"


def test_a_certificate_is_the_same_with_an_empty_cache_and_with_a_full_one(tmp_path):
    """In processes of their own, the second of which finds the code that the first has kept."""
    texts = []
    for _ in range(2):
        environment = {"HOLDFAST_CACHE": str(tmp_path), "PYTHONPATH": ":".join(sys.path), "PATH": ""}
        made = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment)
        assert made.returncode == 0, made.stderr
        texts.append(made.stdout)
    assert any(tmp_path.iterdir())
    assert texts[0] == texts[1]
    assert json.loads(texts[0])["blocks"][0]["label"] == "proved"


def narrowed(monkeypatch, failing):
    """The second tube, and any later one, fails by this error."""
    real, tries = Trial.attempt, []

    def attempt(self, tube, *asked):
        tries.append(tube)
        if len(tries) > 1:
            raise failing
        return real(self, tube, *asked)

    monkeypatch.setattr(Trial, "attempt", attempt)
    monkeypatch.setattr(proving, "SHRINK", 1.01)  # never satisfied with the first
    monkeypatch.setattr(proving, "lane_defect", lambda *_: None)  # by balls, whose first tube is far from its radius
    return tries


@pytest.mark.parametrize("failing", [hf.BadRequest("no state"), hf.Undecided("too wide"), hf.SingularSystem("flat")])
def test_a_narrower_tube_that_fails_does_not_discard_a_proof(monkeypatch, failing):
    tries = narrowed(monkeypatch, failing)
    block = hf.certify(hf.derive(pendulum(0.05)), hf.Euler, **ASK)["rod"]
    assert len(tries) == 2
    assert block.label is hf.Label.proved


def test_an_interruption_keeps_the_proof_found_before_it(monkeypatch):
    tries = narrowed(monkeypatch, KeyboardInterrupt)
    made = hf.certify(hf.derive(pendulum(0.05)), hf.Euler, **ASK)
    assert len(tries) == 2
    assert made["rod"].label is hf.Label.proved
    assert made.interrupted
    assert hf.verify(made)


def test_an_interruption_before_any_proof_leaves_what_was_measured(monkeypatch):
    def attempt(self, *asked):
        raise KeyboardInterrupt

    monkeypatch.setattr(Trial, "attempt", attempt)
    made = hf.certify(hf.derive(pendulum(0.05)), hf.Euler, **ASK)
    assert made["rod"].label is hf.Label.checked
    assert made.interrupted


def test_an_interruption_while_a_block_is_proved_again_keeps_the_others(monkeypatch):
    made = [hf.certify(hf.derive(pendulum(0.05)), hf.Euler, **ASK)["rod"]]

    def certified(*_, **__):
        raise Interrupted

    monkeypatch.setattr(Assessment, "_certified", certified)
    equations = hf.derive(pendulum(0.05))
    job = Assessment(equations, equations, hf.Euler, 1, None, None, {}, None)
    assert not job._proved_again(made, [0], [None], 0.01, 1.0, None)
    assert made[0].label is hf.Label.proved
    assert "interrupted" in made[0].reason
