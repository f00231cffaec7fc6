"""Runs that are written while they are made: the same rows, in files, and a bounded part of them in memory."""

import tracemalloc

import numpy as np
import pytest

import holdfast as hf
from holdfast.results.runs import request, saved

RUN = {"step": 0.01, "duration": 10.0}


@pytest.fixture(scope="module")
def equations():
    x, y = hf.coordinates("x y")
    problem = hf.Problem(
        hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=9.81 * y, forces={x: "sin(3*t)"}),
        hf.Program(holonomic={"rod": (x**2 + y**2 - 1) / 2}, law=hf.SpringDamper(stiffness=400, damping=40)),
        start={x: 1},
    )
    return hf.derive(problem)


@pytest.fixture
def small(monkeypatch, equations):
    """Files of 128 rows, 100 rows in memory."""
    width = len(equations.state_names) + len(equations.observables)
    monkeypatch.setattr(saved, "AT_ONCE", 128 * width)
    monkeypatch.setattr(request, "MOST_ROWS", 100)


def loaded(folder, suffix=".npz"):
    files = sorted(folder.glob(f"*{suffix}"), key=lambda path: int(path.stem.split("-")[-1]))
    return [hf.Trajectory.load(path) for path in files]


@pytest.mark.parametrize("every", [None, 1, 3])
def test_the_files_have_the_rows_of_one_run_to_the_last_bit(equations, small, tmp_path, every):
    whole = hf.simulate(equations, hf.RK4, every=every or 1, **RUN)
    kept = hf.simulate(equations, hf.RK4, every=every, save=tmp_path / "run.npz", **RUN)
    parts = loaded(tmp_path)
    assert len(parts) > 2
    times = np.concatenate([parts[0].times, *(part.times[1:] for part in parts[1:])])
    assert np.array_equal(times, whole.times)
    for name in whole.names:
        column = np.concatenate([parts[0][name], *(part[name][1:] for part in parts[1:])])
        assert np.array_equal(column, whole[name])
    assert all(part.success for part in parts)
    assert kept.success
    assert len(kept.times) <= 101 + 1
    assert kept.steps == whole.steps
    assert np.array_equal(kept["x"], whole["x"][np.isin(whole.times, kept.times)])
    assert (kept.times[0], kept.times[-1]) == (whole.times[0], whole.times[-1])
    assert f"{len(parts)} files" in kept.message


def test_one_file_is_told_by_its_name(equations, tmp_path):
    kept = hf.simulate(equations, hf.RK4, save=tmp_path / "run.npz", **RUN)
    assert kept.message.endswith("All rows are in run-1.npz.")
    assert [path.name for path in tmp_path.iterdir()] == ["run-1.npz"]


def test_an_event_ends_the_last_file(equations, small, tmp_path):
    asked = {"events": {"late": hf.Event("t - 4.2345", terminal=True)}, **RUN}
    kept = hf.simulate(equations, hf.RK4, save=tmp_path / "run.npz", **asked)
    whole = hf.simulate(equations, hf.RK4, every=1, **asked)
    assert kept.outcome is hf.Outcome.event
    assert kept.times[-1] == whole.times[-1]
    assert loaded(tmp_path)[-1].times[-1] == whole.times[-1]


def test_a_failure_between_the_rows_that_are_kept_is_not_forgotten(small, tmp_path):
    """Each file is judged on all its rows; what fails there fails as a whole."""
    x = hf.coordinates("x")
    problem = hf.Problem(hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, potential=-(x**4)), start={x: 1})
    run = hf.simulate(hf.derive(problem), hf.RK4, save=tmp_path / "run.npz", **RUN)
    assert not run.success


def test_memory_does_not_grow_with_the_run(equations, monkeypatch, tmp_path):
    width = len(equations.state_names) + len(equations.observables)
    monkeypatch.setattr(saved, "AT_ONCE", 2000 * width)
    monkeypatch.setattr(request, "MOST_ROWS", 500)
    hf.simulate(equations, hf.RK4, save=tmp_path / "first.npz", step=0.01, duration=40.0)
    peaks = []
    for duration in (100.0, 800.0):
        tracemalloc.start()
        hf.simulate(equations, hf.RK4, save=tmp_path / "run.npz", step=0.01, duration=duration)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"save": "run.txt"}, "no form of file"),
        ({"save": "nowhere/run.npz"}, "no folder"),
        ({"save": "run.npz", "scheme": hf.DOP853, "step": None, "tolerance": 1e-6}, "adaptive"),
        ({"save": "run.npz", "at": [0.0, 1.0]}, "times"),
        ({"save": "run.npz", "project": True}, "moved back"),
    ],
)
def test_what_cannot_be_written_while_it_is_made_is_refused_first(equations, tmp_path, monkeypatch, asked, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(hf.HoldfastError, match=words):
        hf.simulate(equations, **{"scheme": hf.RK4, **RUN, **asked})
    assert not list(tmp_path.iterdir())


def test_a_wide_system_keeps_fewer_rows_unless_it_is_told(monkeypatch, equations):
    monkeypatch.setattr(request, "BUDGET", 1000)
    run = hf.simulate(equations, hf.RK4, **RUN)
    assert len(run.times) * len(run.names) <= 1000 + 2 * len(run.names)
    assert len(hf.simulate(equations, hf.RK4, every=1, **RUN).times) == 1001
