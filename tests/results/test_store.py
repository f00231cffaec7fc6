"""Saving: the identity there and back, and nothing half-written."""

import csv

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_array_equal

import holdfast as hf
from holdfast.common import files
from holdfast.results.store import runs as store
from tests.results.problems import burning, pendulum, x


def runs():
    yield hf.simulate(
        pendulum(), hf.RK4, step=0.01, duration=1, start={x: 1.1}, start_policy="project", events={"bottom": x}
    )
    yield hf.simulate(pendulum(), hf.RK4, step=0.01, duration=1, start={x: 1.1}, start_policy="keep", every=7)
    yield hf.simulate(burning(), hf.DOP853, tolerance=1e-9, duration=1, parameters={"b": 0.25}, at=[0.1, 0.7])


@pytest.mark.parametrize("form", ["npz", "nc"])
@pytest.mark.parametrize("run", list(runs()), ids=["events", "thinned", "states"])
def test_load_undoes_save(tmp_path, run, form):
    path = tmp_path / f"run.{form}"
    run.save(path)
    again = hf.Trajectory.load(path)
    assert again.names == run.names
    assert_array_equal(again.times, run.times)
    for name in run.names:
        assert_array_equal(again[name], run[name])
    for field in "state_names outcome start scheme step tolerance parameters steps nfev rejected every note".split():
        assert getattr(again, field) == getattr(run, field), field
    assert {name: list(times) for name, times in again.events.items()} == {n: list(t) for n, t in run.events.items()}
    assert hf.dumps(again.problem) == hf.dumps(run.problem)
    assert not again["x"].flags.writeable
    assert_array_equal(again.sol(again.times[1]), run.y[:, 1])
    assert [path] == list(tmp_path.iterdir())


def test_csv_has_a_column_for_each_quantity(tmp_path):
    run = next(runs())
    run.save(tmp_path / "run.csv")
    with open(tmp_path / "run.csv", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["time", *run.names]
    assert_array_equal(np.array(rows, dtype=float)[:, header.index("lambda_rod")], run["lambda_rod"])


def test_other_libraries_get_the_same_columns():
    run = next(runs())
    assert_array_equal(run.to_xarray()["lambda_rod"].values, run["lambda_rod"])
    assert run.to_xarray()["x"].dims == ("time",)
    assert_array_equal(run.to_pandas()["lambda_rod"].to_numpy(), run["lambda_rod"])


@pytest.mark.parametrize("form", ["npz", "nc", "csv"])
def test_a_failing_writer_leaves_nothing_behind(tmp_path, monkeypatch, form):
    """The disk is full: words, and what was there before."""

    def full(*arguments, **more):
        raise OSError(28, "No space left on device")

    run = next(runs())
    monkeypatch.setattr(files.CALLS, "write", full, raising=False)
    target = tmp_path / f"run.{form}"
    with pytest.raises(hf.BadRequest, match="the disk is full"):
        run.save(target)
    assert list(tmp_path.iterdir()) == []
    target.write_bytes(b"what was there before")
    with pytest.raises(hf.BadRequest):
        run.save(target)
    assert target.read_bytes() == b"what was there before"
    assert list(tmp_path.iterdir()) == [target]


def test_an_interrupted_writer_leaves_nothing_behind(tmp_path, monkeypatch):
    def pressed(handle, content):
        raise KeyboardInterrupt

    monkeypatch.setattr(files.CALLS, "write", pressed, raising=False)
    with pytest.raises(KeyboardInterrupt):
        next(runs()).save(tmp_path / "run.npz")
    assert list(tmp_path.iterdir()) == []


def failing_runs():
    """Runs that end badly, each in its own way."""
    start = {"start": {x: 1.01}, "start_policy": "keep"}
    yield hf.simulate(pendulum(), hf.RK4, step=0.01, duration=0.3, law=hf.Unstabilised(), **start)
    yield hf.simulate(pendulum(), hf.Euler, step=0.05, duration=5, law=hf.SpringDamper(stiffness=1e4, damping=2))
    yield hf.simulate(pendulum(), hf.Euler, step=0.05, duration=5, law=hf.Unstabilised())


def test_a_run_that_ended_badly_is_read_back_with_the_same_words(tmp_path):
    outcomes = set()
    for run in failing_runs():
        run.save(tmp_path / "run.npz")
        again = hf.Trajectory.load(tmp_path / "run.npz")
        assert not again.success
        assert (again.outcome, again.against) == (run.outcome, run.against)
        outcomes.add(again.outcome)
    assert len(outcomes) == 3


def test_a_run_whose_problem_has_no_form_as_a_file_is_read_back_without_it(tmp_path):
    q = hf.coordinates("q")
    system = hf.System(coordinates=(q,), kinetic=q.rate**2 / 2, potential=sp.Piecewise((q**2, q > 0), (0, True)))
    run = hf.simulate(hf.derive(hf.Problem(system, start={q: 1})), hf.RK4, step=0.01, duration=0.1)
    run.save(tmp_path / "run.npz")
    again = hf.Trajectory.load(tmp_path / "run.npz")
    assert again.problem is None
    assert again.outcome is run.outcome is hf.Outcome.completed
    assert_array_equal(again["q"], run["q"])


def test_files_that_hold_no_run_are_refused(tmp_path):
    with pytest.raises(hf.BadRequest, match="no form of file"):
        next(runs()).save(tmp_path / "run.mat")
    with pytest.raises(hf.BadRequest, match=r"^there is no file"):
        hf.Trajectory.load(tmp_path / "none.npz")
    for form in ("npz", "nc"):
        broken = tmp_path / f"broken.{form}"
        broken.write_bytes(b"not a run")
        with pytest.raises(hf.BadRequest, match="does not hold a run"):
            hf.Trajectory.load(broken)
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(hf.BadRequest, match="does not hold a run"):
        hf.Trajectory.load(tmp_path / "other.npz")
    np.savez(tmp_path / "pickled.npz", about=np.array([{}], dtype=object), times=np.zeros(1), table=np.zeros(1))
    with pytest.raises(hf.BadRequest, match="does not hold a run"):
        hf.Trajectory.load(tmp_path / "pickled.npz")


def refused(path):
    with pytest.raises(hf.BadRequest) as caught:
        hf.Trajectory.load(path)
    assert "does not hold a run" in caught.value.what
    assert (caught.value.where, caught.value.fix) == (str(path), "make the run again")
    assert caught.value.__suppress_context__  # what a library says of its bytes helps nobody
    return caught.value


@pytest.mark.parametrize("form", ["npz", "nc"])
def test_a_damaged_run_is_refused_in_our_own_words(tmp_path, form):
    whole, damaged = tmp_path / f"run.{form}", tmp_path / f"damaged.{form}"
    next(runs()).save(whole)
    content = whole.read_bytes()
    for length in (0, 100, len(content) // 2):
        damaged.write_bytes(content[:length])
        refused(damaged)


def test_flipped_bytes_of_a_run_are_noticed(tmp_path):
    next(runs()).save(tmp_path / "run.npz")
    content = bytearray((tmp_path / "run.npz").read_bytes())
    for place in range(200, len(content) // 2, len(content) // 20):
        flipped = content.copy()
        flipped[place] ^= 0xFF
        (tmp_path / "flipped.npz").write_bytes(flipped)
        refused(tmp_path / "flipped.npz")


@pytest.mark.parametrize("about", ["[]", "{}", "3", "no JSON", '{"columns": []}', '{"columns": 1}'])
def test_a_run_about_nothing_is_refused(tmp_path, about):
    np.savez(tmp_path / "run.npz", about=np.array(about), times=np.zeros(1), table=np.zeros((0, 1)))
    refused(tmp_path / "run.npz")


def test_columns_shorter_than_the_times_are_refused(tmp_path):
    run = next(runs())
    table = np.array(list(run.columns.values()))
    about = np.array(store._about(run))
    np.savez(tmp_path / "run.npz", about=about, times=run.times, table=table[:, 1:])
    refused(tmp_path / "run.npz")
