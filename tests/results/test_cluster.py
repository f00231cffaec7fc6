"""hf.ensemble(on=...): cases divided among workers are, bit for bit, those of one process."""

import os
import signal
import zipfile

import numpy as np
import pytest

import holdfast as hf
from holdfast.common import cluster as clients
from holdfast.results.ensembles import cluster, saved
from tests.results.problems import l, m, pendulum

distributed = pytest.importorskip("distributed", reason="dask is not installed")
HOW = {"scheme": hf.RK4, "step": 0.01, "duration": 0.5, "every": 10}


@pytest.fixture(scope="module")
def client():
    """A cluster within this process: quick to start, and the same code."""
    with distributed.Client(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as made:
        yield made


def columns(count):
    return {l: np.linspace(0.5, 2.0, count), m: np.linspace(1.0, 3.0, count)}


@pytest.mark.parametrize("part", [1, 7, 1000])
def test_the_partition_is_not_seen(client, monkeypatch, part):
    monkeypatch.setattr(cluster, "FEWEST", part)
    monkeypatch.setattr(cluster, "PARTS_EACH", 10**6)
    asked = {"pull": "max(abs(lambda_rod))"}
    told = []
    there = hf.ensemble(pendulum(), cases=columns(20), on=client, reduce=asked, progress=told.append, **HOW)
    here = hf.ensemble(pendulum(), cases=columns(20), reduce=asked, **HOW)
    assert np.array_equal(here.states, there.states)
    assert np.array_equal(here.times, there.times)
    assert here.outcomes == there.outcomes
    assert np.array_equal(here.reductions["pull"], there.reductions["pull"])
    assert np.array_equal(here.counts.pivots, there.counts.pivots)
    assert np.array_equal(here[13].y, there[13].y)
    assert told == sorted(told)
    assert told[-1] == 1


def test_workers_that_do_not_start_are_told_with_the_cure(monkeypatch):
    """As in a script that calls it at once: what each worker reads starts workers of its own."""

    def failing(**_):
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr(distributed, "LocalCluster", failing)
    with pytest.raises(hf.BadRequest, match="no workers start") as told:
        hf.ensemble(pendulum(), cases=columns(3), on="local", **HOW)
    assert "__main__" in told.value.fix


def test_tolerances_of_each_case_come_back(client):
    how = {"scheme": "dop853", "tolerance": 1e-7, "duration": 0.5}
    here, there = (hf.ensemble(pendulum(), cases=columns(5), on=on, **how) for on in (None, client))
    assert np.array_equal(here.states, there.states)
    assert np.array_equal(here[3].y, there[3].y)


def test_what_is_written_case_by_case_is_the_same_file(client, monkeypatch, tmp_path):
    monkeypatch.setattr(saved, "AT_ONCE", 500)
    for name, on in (("here", None), ("there", client)):
        hf.ensemble(pendulum(), cases=columns(20), on=on, save=tmp_path / f"{name}.zarr.zip", **HOW)
    here, there = (zipfile.ZipFile(tmp_path / f"{name}.zarr.zip") for name in ("here", "there"))
    with here, there:
        assert sorted(here.namelist()) == sorted(there.namelist())  # parts come in any order
        assert len([name for name in here.namelist() if name.startswith("x/")]) > 4
        assert all(here.read(name) == there.read(name) for name in here.namelist())


def test_an_error_is_that_of_one_process(client, monkeypatch):
    monkeypatch.setattr(cluster, "FEWEST", 2)
    cases = {"x": [1.0, 1.0, 1.0, 1.0, 1.3]}
    for on in (None, client):
        with pytest.raises(hf.HoldfastError) as told:
            hf.ensemble(pendulum(), cases=cases, on=on, start_policy="raise", **HOW)
        assert "case 4" in told.value.where


@pytest.mark.parametrize(("on", "told"), [(7, "on = 7"), ("tcp://127.0.0.1:1", "no cluster answers")])
def test_what_is_no_cluster_is_refused(monkeypatch, on, told):
    monkeypatch.setattr(clients, "TIMEOUT", "1s")
    with pytest.raises(hf.BadRequest, match=told):
        hf.ensemble(pendulum(), cases=columns(2), on=on, **HOW)


@pytest.mark.prove
def test_cases_of_a_lost_worker_are_run_again():
    """Four processes, one of them killed while all are at work."""
    cases = columns(10_000)
    here = hf.ensemble(pendulum(), cases=cases, **HOW)
    with (
        distributed.LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address="127.0.0.1:0") as four,
        distributed.Client(four) as made,
    ):
        killed = []

        def kill(done):
            if not killed and done > 0.1:
                killed.append(made.run(os.getpid))
                os.kill(next(iter(killed[0].values())), signal.SIGKILL)

        there = hf.ensemble(pendulum(), cases=cases, on=made, progress=kill, **HOW)
    assert killed
    assert np.array_equal(here.states, there.states)
    assert here.outcomes == there.outcomes
