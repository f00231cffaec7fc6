"""What a large system shows beside its state is made when somebody asks for it."""

from pathlib import Path

import pytest

import holdfast as hf
from holdfast.equations.equations import Equations
from holdfast.equations.solving.large import LARGE
from holdfast.graph.field import LateNodes
from holdfast.results.start.projection import _tape
from tests.problem.chains import chain

EXAMPLES = sorted((Path(hf.__file__).parent / "examples").glob("[cfr]*.toml"))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_names_are_known_before_the_observables(file):
    equations = hf.derive(hf.load(file))
    assert equations.observable_names == tuple(equations.observables)


def test_a_run_of_a_large_system_makes_none(monkeypatch):
    made = []
    plain = Equations.observables.func
    monkeypatch.setattr(Equations, "observables", property(lambda self: made.append(1) or plain(self)))
    with hf.limits(seconds=60):
        equations = hf.derive(hf.loads(chain(LARGE // 2 + 1)))
        run = hf.simulate(equations, hf.RK4, step=1e-3, duration=1e-2, every=10)
        for x in (0.08, 0.09):  # the second is made again, and judges its start by deviations alone
            other = {"start": {"x1": x}, "start_policy": "keep"}
            moved = hf.simulate(equations, hf.RK4, step=1e-3, duration=1e-2, every=10, **other)
        assert moved.start.deviation["y_rod1"] == pytest.approx(-0.00095)
        assert equations.deviations.memo.kept(_tape) is None  # nor are the squares of M and J written out for it
        assert run["x1"][-1] < 0.1 + 1e-12
    assert isinstance(equations.field.observables, LateNodes)
    assert not made
    assert abs(run["y_rod3"][-1]) < 1e-6
    assert made


def test_two_large_fields_with_one_motion_keep_their_own_observables():
    """The potential of one is higher by a constant: the same code steps both, and each has its own energy."""
    text = chain(LARGE // 2 + 1)
    higher = text.replace("m*g*y{i}", "m*g*(y{i} + 1)")
    runs = [
        hf.simulate(hf.derive(hf.loads(each)), hf.RK4, step=1e-3, duration=2e-3, every=2) for each in (text, higher)
    ]
    energies = [run["energy"][0] for run in runs]
    assert (runs[0]["x1"] == runs[1]["x1"]).all()
    assert energies[1] - energies[0] == pytest.approx((LARGE // 2 + 1) * 9.81)
