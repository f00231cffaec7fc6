"""Ensembles on disk case by case: every row there, the same bits as in memory, by the rules of Zarr."""

import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import holdfast as hf
from holdfast.results.ensembles import saved

x, y = hf.coordinates("x y")
m = hf.parameters("m")
COUNT = 23
CASES = {"m": np.linspace(1, 2, COUNT), "y_dot": np.linspace(0, 1, COUNT)}
ASKED = {"step": 0.01, "duration": 0.5, "reduce": {"pull": "max(abs(lambda_rod))"}}


@pytest.fixture(scope="module")
def equations():
    system = hf.System(
        coordinates=(x, y), kinetic=m * (x.rate**2 + y.rate**2) / 2, potential=m * 9.81 * y, parameters={m: 1}
    )
    program = hf.Program(holonomic={"rod": (x**2 + y**2 - 1) / 2}, law=hf.critically_damped(10))
    return hf.derive(hf.Problem(system, program, start={x: 1, y: 0}, output={"height": y + 1}))


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(saved, "AT_ONCE", 5000)


def array(path, name):
    """An array of a Zarr zip, by its specification (version 2)."""
    with zipfile.ZipFile(path) as archive:
        about = json.loads(archive.read(f"{name}/.zarray"))
        assert about["zarr_format"] == 2
        assert about["compressor"] is about["filters"] is None
        shape, chunks = about["shape"], about["chunks"]
        found = np.full(shape, np.nan if about["fill_value"] == "NaN" else 0, about["dtype"])
        for first in range(0, shape[0], chunks[0]):
            place = ".".join([str(first // chunks[0]), *("0" for _ in shape[1:])])
            part = np.frombuffer(archive.read(f"{name}/{place}"), about["dtype"]).reshape(chunks)
            found[first : first + chunks[0]] = part[: shape[0] - first]
        told = json.loads(archive.read(".zmetadata"))["metadata"]
        assert told[f"{name}/.zarray"] == about
        return found, json.loads(archive.read(f"{name}/.zattrs"))["_ARRAY_DIMENSIONS"]


def compare(path, whole):
    for name in (*whole.names, "height"):
        found, axes = array(path, name)
        assert axes == ["run", "time"]
        assert np.array_equal(found, whole[name], equal_nan=True), name
    assert np.array_equal(array(path, "time")[0], whole.times)
    assert np.array_equal(array(path, "m")[0], CASES["m"])
    assert np.array_equal(array(path, "start.y_dot")[0], CASES["y_dot"])
    assert list(array(path, "outcome")[0]) == [outcome.name for outcome in whole.outcomes]
    assert np.array_equal(array(path, "steps")[0], whole.counts.steps)


@pytest.mark.parametrize("scheme", ["rk4", "dop853"])
def test_rows_on_disk_are_those_in_memory(equations, tmp_path, scheme):
    asked = dict(ASKED) if scheme == "rk4" else {"tolerance": 1e-8, "duration": 0.5}
    path, done = tmp_path / "runs.zarr.zip", []
    kept = hf.ensemble(equations, scheme, cases=CASES, save=path, progress=done.append, **asked)
    whole = hf.ensemble(equations, scheme, cases=CASES, **asked)
    compare(path, whole)
    assert len(done) > 3  # so many parts
    assert done[-1] == 1
    assert kept.outcomes == whole.outcomes
    assert kept.times.tolist() == [0, 0.5]
    assert np.array_equal(kept["x"], whole["x"][:, [0, -1]])
    assert kept[4]["lambda_rod"][-1] == whole[4]["lambda_rod"][-1]
    for name in whole.gathered:
        assert np.array_equal(kept.reductions[name], whole.reductions[name])
        assert np.array_equal(array(path, f"reduced.{name}")[0], whole.reductions[name])


@pytest.mark.parametrize("at", [[0.2], [0.2, 0.4], None])
def test_what_is_kept_at_the_end_is_the_state_there(equations, tmp_path, at):
    """Also where the rows that were asked for end before, and of a case that breaks off."""
    how = {"scheme": hf.DOP853, "tolerance": 1e-9, "duration": 0.5}
    kept = hf.ensemble(equations, cases=CASES, at=at, save=tmp_path / "runs.zarr.zip", **how)
    whole = hf.ensemble(equations, cases=CASES, at=[0, 0.5], **how)
    assert np.array_equal(kept["x"], whole["x"])
    away = hf.derive(hf.Problem(hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, potential=-(x**4))))
    how = {"scheme": hf.DOP853, "tolerance": 1e-9, "duration": 2, "at": at}
    kept = hf.ensemble(away, cases={x: [1, 0.1]}, save=tmp_path / "away.zarr.zip", **how)
    assert np.isnan(kept["x"]).tolist() == [[False, True], [False, False]]


def test_what_is_kept_is_judged_no_better_than_all_of_it(equations, tmp_path):
    """Two rows tell less of a case than all."""
    how = {"scheme": hf.Euler, "step": 0.05, "duration": 5, "cases": {"m": [1, 2]}}
    kept = hf.ensemble(equations, save=tmp_path / "runs.zarr.zip", **how)
    assert not kept.success.any()
    assert [run.outcome for run in kept] == list(kept.outcomes) == list(hf.ensemble(equations, **how).outcomes)


def test_cases_that_end_early_are_told(tmp_path):
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, forces={x: x**3 * 50})
    falling = hf.derive(hf.Problem(system, start={x: 0.1}))
    path, asked = tmp_path / "runs.zarr.zip", {"step": 0.01, "duration": 2.0, "cases": {"x": [0.01, 5.0, 0.02]}}
    kept, whole = hf.ensemble(falling, "rk4", save=path, **asked), hf.ensemble(falling, "rk4", **asked)
    assert kept.outcomes == whole.outcomes
    assert not kept.success.all()
    assert np.isnan(kept["x"][1, -1])
    found, _ = array(path, "x")
    assert np.array_equal(found, whole["x"], equal_nan=True)


def test_a_whole_ensemble_is_saved_alike(equations, tmp_path):
    whole = hf.ensemble(equations, "rk4", cases=CASES, **ASKED)
    whole.save(tmp_path / "whole.zarr.zip")
    compare(tmp_path / "whole.zarr.zip", whole)
    again = hf.ensemble(equations, "rk4", cases=CASES, **ASKED)
    again.save(tmp_path / "again.zarr.zip")
    assert (tmp_path / "again.zarr.zip").read_bytes() == (tmp_path / "whole.zarr.zip").read_bytes()


@pytest.mark.parametrize("path", ["runs.npz", "runs.zip", 3, "missing/runs.zarr.zip"])
def test_what_cannot_grow_is_refused_before_anything_runs(equations, path):
    with pytest.raises(hf.BadRequest, match=r"zarr\.zip|no folder"):
        hf.ensemble(equations, "rk4", cases=CASES, save=path, **ASKED)


def test_an_interruption_leaves_nothing_behind(equations, tmp_path, monkeypatch):
    monkeypatch.setattr(saved, "_tell", lambda store, runs: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        hf.ensemble(equations, "rk4", cases=CASES, save=tmp_path / "runs.zarr.zip", **ASKED)
    assert list(tmp_path.iterdir()) == []


def test_the_command_writes_one(tmp_path):
    text = (
        'schema = 1\n[system]\ncoordinates = ["x"]\nkinetic = "m*x_dot**2/2"\npotential = "x**2"\n[parameters]\nm = 1\n'
        '[start]\nx = 1\n[run]\nscheme = "rk4"\nstep = 0.01\nduration = 1\n[ensemble]\ngrid = { m = [1, 2, 3] }\n'
    )
    (tmp_path / "many.toml").write_text(text)
    target = tmp_path / "many.zarr.zip"
    command = [sys.executable, "-m", "holdfast", "ensemble", str(tmp_path / "many.toml"), "-o", str(target), "-q"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "3 x the run reached its final time" in told.lower()
    assert "largest" not in told
    found, _ = array(target, "x")
    assert found.shape == (3, 101)
