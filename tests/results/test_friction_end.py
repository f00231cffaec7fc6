"""Which divisor was lost where a run with friction broke off: its own, or that of the constraints."""

from types import SimpleNamespace

import numpy as np
import pytest

from holdfast.engine.run.rows import Rows
from holdfast.engine.run.status import Status
from holdfast.graph.linear_algebra import Pivot
from holdfast.graph.nodes import Graph
from holdfast.results.judgement.endings.friction import _size, friction_end
from holdfast.results.judgement.finding import Finding
from holdfast.results.judgement.judgement import _of_the_rest
from holdfast.results.judgement.outcome import Outcome


def ended(own, *lost, answer=0.5, steps=2):
    """A run over t = 0 and 1 with divisors that vanish at the times told, or never; the answer grows with t."""
    graph = Graph()
    t, q, v = (graph.input(name) for name in ("t", "q", "q_dot"))

    def divisor(time):
        value = graph.one if time is None else graph.call("max", time - t, graph.zero)
        return Pivot(value, 2 * graph.one)

    friction = SimpleNamespace(constraints=("rail",), pivots=tuple(map(divisor, lost)), answer=[{0: answer * t}])
    solver = SimpleNamespace(pivots=tuple(map(divisor, own)))
    equations = SimpleNamespace(
        friction=friction, solver=solver, field=SimpleNamespace(inputs=(t, q, v)), coordinates=("q",)
    )
    states = np.array([[3.0, 1.0], [4.0, 1.0]])[:steps]
    rows = Rows(np.arange(float(steps)), states, states[:, :0], np.ones(1), Status.rank_lost, 1, 4)
    return friction_end(equations, rows, [])


def test_where_friction_is_lost_it_is_told():
    found = ended([None], 2, None)
    assert (found.name, found.failing, found.time, found.quantity) == ("friction", True, 1.0, "lambda_rail")
    assert found.text.startswith("Towards t = 1 (q = 4) friction does not determine 'lambda_rail': ")


def test_where_the_constraints_themselves_are_lost_it_is_not_friction():
    assert ended([2], None, None) is None
    assert ended([None, 2], None, None) is None


@pytest.mark.parametrize("lost", [(2, None), (None, 2), (2, 2)])
def test_where_both_are_lost_it_is_told(lost):
    assert ended([2], *lost) is not None


def test_a_divisor_that_is_only_small_is_not_lost():
    """One that falls to 1e-3 of what it was, 2.5 steps ahead of the first row."""
    assert ended([2.501], None, None) is not None
    assert ended([2.5], None, None) is None


def test_without_constraints_of_its_own_it_is_friction():
    assert ended([], None, None) is not None
    assert ended([], None, None, steps=1) is not None


def test_what_comes_back_of_a_reaction_is_told_where_it_is_largest():
    """0.5 t, looked at up to 1.5 steps beyond t = 1: 1.25 of the change."""
    assert "with 1.25 of that change" in ended([None], 2, None).text
    assert "was not found by Newton's steps" in ended([None], None, 2, answer=0.1).text
    assert "comes back as large as it was" in ended([None], 2, None, answer=0.1).text


def test_the_size_of_an_answer_is_its_largest_root():
    assert _size(np.diag([0.3, -2.0])) == pytest.approx(0.3)
    assert _size(np.array([[np.nan]])) == -1


# Runs that broke off, and what speaks of them before that.


@pytest.mark.parametrize("lost", [None, "energy"])
@pytest.mark.parametrize("away", [None, "state"])
def test_a_run_that_broke_off_diverged_where_energy_or_states_say_so(lost, away, monkeypatch):
    """Either is enough; and where neither does, why it broke off is looked for."""
    where = "holdfast.results.judgement.judgement."
    said = {name: Finding(name, name, True) for name in (lost, away) if name}
    monkeypatch.setattr(where + "energy_found", lambda facts: said.get(lost))
    monkeypatch.setattr(where + "_ran_away", lambda facts: said.get(away))
    monkeypatch.setattr(where + "turn_lost", lambda equations, rows: None)
    for name in ("friction_end", "authority_end"):
        monkeypatch.setattr(where + name, lambda *ending: None)
    monkeypatch.setattr(where + "singular_end", lambda *ending: Finding("singular", "why", True))
    facts = SimpleNamespace(equations=None, rows=None, constants=())
    found = _of_the_rest(facts, Outcome.rank_lost)
    if said:
        assert found.outcome is Outcome.diverged
        assert [one.name for one in found.findings] == list(said)
    else:
        assert found.outcome is Outcome.rank_lost
        assert [one.name for one in found.findings] == ["singular"]
    alone = _of_the_rest(facts, Outcome.not_finite)
    assert (alone.outcome is Outcome.diverged) is (lost is not None)  # states that are no numbers say nothing
