"""hf.tune and hf.verify on a cluster: what its workers find is what one process finds."""

import json

import pytest

import holdfast as hf
from holdfast.stability.certificate.certificate import digest
from holdfast.stability.tuning import spread
from holdfast.stability.verifier.tube import cores, worker
from tests.results.problems import pendulum

distributed = pytest.importorskip("distributed", reason="dask is not installed")
HOW = {"scheme": hf.RK4, "step": 0.02, "duration": 0.5}


@pytest.fixture(scope="module")
def client():
    """A cluster within this process: quick to start, and the same code."""
    with distributed.Client(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as made:
        yield made


def test_the_map_of_gains_does_not_depend_on_who_measured_it(client, monkeypatch):
    monkeypatch.setattr(spread, "FEWEST", 3)
    asked = []
    submit = client.submit
    monkeypatch.setattr(client, "submit", lambda *given, **more: asked.append(len(given[2])) or submit(*given, **more))
    here, there = (hf.tune(pendulum(), on=on, **HOW) for on in (None, client))
    assert json.dumps(here.to_dict()) == json.dumps(there.to_dict())
    assert len(asked) > 10
    assert max(asked) < sum(asked) / 2


def test_laws_above_order_two_are_measured_there_too(client):
    x, y = hf.coordinates("x y")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=(y - x) ** 2 / 2)
    program = hf.Program(holonomic={"place": x}, controls={"u": {y: 1}}, law=hf.critically_damped(2))
    equations = hf.derive(hf.Problem(system, program, start={x: 0.1}))
    here, there = (hf.tune(equations, hf.RK4, step=0.02, duration=2, on=on) for on in (None, client))
    assert here.to_dict() == there.to_dict()


def proved():
    return hf.certify(pendulum(), hf.RK4, step=0.01, duration=0.3, tube=True)


def test_cells_of_a_tube_are_looked_at_there(client, monkeypatch):
    certificate = proved()
    monkeypatch.setattr(cores, "WORTH", 8)
    monkeypatch.setattr(cores, "FEWEST", 4)
    told = []
    found = hf.verify(certificate, on=client, progress=told.append)
    assert found, found.findings
    assert found.findings == hf.verify(certificate).findings
    assert len(told) > 1
    assert told == sorted(told)
    assert told[-1] == 1


@pytest.mark.prove
def test_a_lie_is_refused_there(client, monkeypatch, tmp_path):
    """A defect at half of what the verifier itself would find: it is cut and cut, and not confirmed."""
    monkeypatch.setattr(cores, "WORTH", 8)
    monkeypatch.setattr(cores, "FEWEST", 4)
    data = proved().to_dict()
    (block,) = data["blocks"]
    for place, name in ((block["proof"], "coefficient"), (block["proof"], "rounding")):
        place[name] /= 8
    path = tmp_path / "lie.json"
    path.write_text(json.dumps({**data, "digest": digest(data)}))
    for on in (None, client):
        found = hf.verify(path, on=on)
        assert not found.holds
        assert "rod: its rounding is not confirmed" in found.findings[0]


def test_a_worker_that_fails_confirms_nothing(client, monkeypatch):
    def failed(*_):
        raise MemoryError

    certificate = proved()
    monkeypatch.setattr(cores, "WORTH", 8)
    with monkeypatch.context() as then:
        then.setattr(worker, "_looked", failed)
        found = hf.verify(certificate, on=client)
    assert not found.holds
    assert "a worker of the cluster failed (MemoryError)" in found.findings[0]
    assert hf.verify(certificate, on=client).holds


def test_an_error_of_the_caller_s_own_progress_is_the_caller_s(client, monkeypatch):
    def broken(_):
        raise RuntimeError("of the caller")

    monkeypatch.setattr(cores, "WORTH", 8)
    with pytest.raises(RuntimeError, match="of the caller"):
        hf.verify(proved(), on=client, progress=broken)


def test_a_closed_client_is_refused(client):
    with distributed.Client(client.scheduler.address) as made:
        pass
    with pytest.raises(hf.BadRequest, match="is closed"):
        hf.tune(pendulum(), on=made, **HOW)


def test_a_budget_ends_it_there_too(client, monkeypatch):
    monkeypatch.setattr(cores, "WORTH", 8)
    monkeypatch.setattr(cores, "FEWEST", 4)
    certificate = proved()
    cells = len(certificate["rod"].proof.tube.cells)
    found = hf.verify(certificate, on=client, cells=cells + 4)
    assert "not verified within the budget" in found.findings[0]


@pytest.mark.parametrize("verb", [lambda: hf.tune(pendulum(), on=7, **HOW), lambda: hf.verify(proved(), on=7)])
def test_what_is_no_cluster_is_refused(verb):
    with pytest.raises(hf.BadRequest, match="on = 7"):
        verb()
