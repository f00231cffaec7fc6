"""Files drawn by the grammar: read, or refused in words; what is called good is finite."""

import json
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdfast as hf
from tests.fuzz.strategies import altered, problem_texts, unit_texts
from tests.results.test_damaged import CART


def made(path):
    equations = hf.derive(hf.loads(CART))
    hf.simulate(equations).save(path / "run.npz")
    hf.certify(equations, effort=1.0).save(path / "c.json")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return made(tmp_path_factory.mktemp("whole"))


def result(of):
    """What comes of it; None where it is refused, in words that are ours."""
    try:
        return of()
    except hf.HoldfastError as error:
        refusal = error
    assert not isinstance(refusal, hf.InternalError)
    assert str(refusal)
    return None


def finite_if_good(run):
    return not run.success or all(np.isfinite(column).all() for column in run.columns.values())


def run_of(text):
    equations = hf.derive(hf.loads(text))
    assert equations.summary()
    return hf.simulate(equations, hf.RK4, step=0.01, duration=0.05)


def test_a_problem_is_read_or_refused_in_words():
    ends = []

    @given(problem_texts())
    def tried(text):
        run = result(lambda: run_of(text))
        ends.append(run is not None)
        assert run is None or finite_if_good(run)

    tried()
    assert min(ends.count(True), ends.count(False)) > 10  # a strategy is no better than what it reaches


@given(unit_texts())
def test_a_unit_is_read_or_refused_in_words(unit):
    text = f'schema = 1\n[system]\ncoordinates = ["x"]\nkinetic = "x_dot**2/2"\n[units]\nx = {json.dumps(unit)}\n'
    problem = result(lambda: hf.loads(text))
    assert problem is None or [one.name for one in problem.system.coordinates] == ["x"]


@given(st.data())
def test_an_altered_run_is_refused_or_read_as_what_it_is(folder, data):
    with np.load(folder / "run.npz") as held:
        about, times, table = json.loads(str(held["about"])), held["times"], held["table"]
    told = json.dumps(data.draw(altered(about)))
    np.savez(folder / "altered.npz", about=np.array(told), times=times, table=table)
    run = result(lambda: hf.Trajectory.load(folder / "altered.npz"))
    assert run is None or finite_if_good(run)


@given(st.data())
def test_an_altered_certificate_is_refused_or_read(folder, data):
    whole = json.loads((folder / "c.json").read_text("utf-8"))
    del whole["digest"]
    changed = data.draw(altered(whole))
    changed["digest"] = sha256(json.dumps(changed, sort_keys=True).encode()).hexdigest()
    (folder / "altered.json").write_text(json.dumps(changed), encoding="utf-8")
    certificate = result(lambda: hf.Certificate.load(folder / "altered.json"))
    assert certificate is None or certificate.summary()
