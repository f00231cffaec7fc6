"""Mutated problem files: nothing runs, nothing breaks, nothing takes long; a sample here, the whole in `make prove`."""

import pytest

import holdfast as hf
from tests.fuzz.attack import Found, _one, attack
from tests.fuzz.coverage import Coverage
from tests.fuzz.mutants import Mutants, corpus


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def nothing_broke(found):
    assert found.faults == []
    assert not set(found.ends) & {"given up", "refused without a word"}


def test_mutants_are_many_and_the_same_for_the_same_seed():
    first, again = Mutants(3), Mutants(3)
    texts = [first.mutant() for _ in range(50)]
    assert texts == [again.mutant() for _ in range(50)]
    assert len(set(texts)) > 45
    assert len(set(texts) & set(corpus())) < 5  # a change may change nothing


@pytest.mark.parametrize(("stage", "count"), [("load", 400), ("derive", 100), ("page", 12)])
def test_a_sample_of_mutants_breaks_nothing(stage, count):
    nothing_broke(attack(stage, count, seed=2026))


@pytest.mark.prove
def test_a_guided_attack_breeds_from_what_reaches_new_lines():
    found = attack("load", 60, seed=2027, guided=True)
    nothing_broke(found)
    assert 0 < len(found.bred) < 60


def test_a_line_is_new_once():
    coverage = Coverage()
    assert coverage.grows(lambda: hf.loads(corpus()[0]))
    assert not coverage.grows(lambda: hf.loads(corpus()[0]))
    assert not coverage.grows(lambda: sorted(corpus()))


def test_a_text_that_holds_much_memory_is_found():
    found = Found()
    _one(lambda text: str(len(bytearray(600_000_000))), "heavy", found, limit=10.0)
    _one(lambda text: "light", "light", found, limit=10.0)
    assert [text for _, text in found.faults] == ["heavy"]


@pytest.mark.prove
@pytest.mark.parametrize(("stage", "count"), [("load", 100_000), ("derive", 10_000), ("page", 500)])
def test_mutants_break_nothing(stage, count):
    found = attack(stage, count, seed=1)
    nothing_broke(found)  # nor took longer than a second
