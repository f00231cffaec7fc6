"""One parse, one statement, one derivation: what the main job does is counted for every shipped example."""

from collections import Counter
from pathlib import Path

import pytest

import holdfast as hf
from holdfast.equations import derive
from holdfast.page import study
from holdfast.problem.file import load_dump
from holdfast.problem.system import System
from holdfast.stability.certificate.verify import Verification

EXAMPLES = sorted((Path(hf.__file__).parent / "examples").glob("*.toml"))
COUNTED = ((load_dump, "read_problem"), (System, "__post_init__"), (derive, "stated_motion"))


@pytest.fixture
def counts(monkeypatch):
    """How often each of the counted functions is called."""
    seen = Counter()
    for owner, name in COUNTED:

        def counted(*given, _made=getattr(owner, name), _name=name, **named):  # noqa: B008
            seen[_name] += 1
            return _made(*given, **named)

        monkeypatch.setattr(owner, name, counted)
    return seen


LONG = ("coin", "crane", "pick_and_place", "stewart", "ur5")  # to certify


def example(file):
    return pytest.param(file, id=file.stem, marks=pytest.mark.prove if file.stem in LONG else ())


@pytest.mark.parametrize("file", [example(file) for file in EXAMPLES])
def test_the_main_job_reads_states_and_derives_once(file, counts, monkeypatch):
    """The text that a certificate and a page carry is read back once, to see that it says the same; no more.

    What the verifier reads and derives by itself is not counted: that is its use. A phase with a program of its own is
    read and derived as one more, and a controller's own numbers are added to a system that was stated without. Proofs
    are made of equations that nobody else uses, so that nothing else changes them (docs/decisions/0053). Each try of a
    stretch is a problem of its own, and not counted either.
    """
    problem = hf.load(file)
    phases = sum(phase.program is not None for phase in problem.phases.values())
    parts = 1 + phases
    made_twice = bool(problem.program.model or problem.program.sampling)
    counts.clear()
    monkeypatch.setattr(study, "verify", lambda certificate, **asked: Verification(True, ()))
    monkeypatch.setattr(study, "proved_stretches", lambda certificate, **asked: {})
    made = hf.study(hf.load(file), effort=0.01)
    assert made.report().html
    certified = len(made.by_phase)  # each about a problem of its own, read back where it is made and where it is shown
    proofs = certified or (made.certificate is not None)
    assert counts["stated_motion"] == parts + certified + proofs
    assert counts["read_problem"] <= 2 + 2 * certified
    if certified:
        assert counts["__post_init__"] <= 2 * (1 + made_twice) * parts + 2 * certified
    else:
        assert counts["__post_init__"] == (1 + made_twice) * parts * counts["read_problem"]
