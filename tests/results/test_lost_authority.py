"""Where controls lose their programs: by which share, in which units, and what vanishes there."""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf
from holdfast.engine.run.rows import Rows
from holdfast.engine.run.status import Status
from holdfast.equations.dynamics.through import together
from holdfast.equations.solving.left_over import MOST_CHOICES, _choices
from holdfast.equations.values import parameter_vector
from holdfast.graph.nodes import Graph
from holdfast.results.judgement.endings.authority import _answer, _in_own_units, authority_end
from holdfast.results.judgement.geometry import _Rows, condition_at

x, y, z = hf.coordinates("x y z")
LAW = hf.critically_damped(3)


@cache
def steered(unit=1.0):
    """A thruster that pushes along x by cos z and along y by 1: at z = 90° it no longer moves 'along'."""
    system = hf.System(coordinates=(x, y, z), kinetic=(x.rate**2 + 2 * y.rate**2 + z.rate**2) / 2)
    controls = {"F": {x: unit * sp.cos(z)}, "G": {y: 1}}
    program = hf.Program(holonomic={"along": x / unit, "up": y}, controls=controls, law=LAW)
    return hf.derive(hf.Problem(system, program))


def lost(equations, angles):
    return authority_end(equations, rows_at(equations, angles), parameter_vector(equations, {}))


def rows_at(equations, angles):
    states = np.zeros((len(angles), len(equations.state_names)))
    states[:, 2] = angles
    return Rows(np.arange(len(angles)) * 0.1, states, states[:, :0], np.ones(0), Status.rank_lost, len(angles), 1)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_the_program_that_is_lost_is_named_in_any_units(unit):
    equations = steered(unit)
    found = lost(equations, np.linspace(0, np.pi / 2 - 0.01, 30))
    assert (found.name, found.failing, found.quantity) == ("singular", True, "along")
    assert found.time == pytest.approx(2.9)
    assert "the controls 'F' and 'G' can no longer move 'along', where cos(z) = 0." in found.text
    assert "x = 0, y = 0, z = 1.561" in found.text


@pytest.mark.parametrize(("left", "told"), [(0.04, True), (0.06, False)])
def test_a_twentieth_of_what_it_was_is_about_to_be_lost(left, told):
    assert (lost(steered(), np.linspace(0, np.arccos(left), 30)) is not None) is told


def test_without_controls_or_rows_nothing_is_lost():
    equations = steered()
    assert lost(equations, [np.pi / 2]) is None
    held = hf.derive(hf.Problem(equations.problem.system, hf.Program(holonomic={"along": x}, law=LAW)))
    assert lost(held, [0, np.pi / 2]) is None


def values(jacobian, mass, holders, reactions=(), through=0.0):
    names = tuple("abcd"[: len(jacobian)])
    program = SimpleNamespace(held_by_reaction=reactions)
    equations = SimpleNamespace(problem=SimpleNamespace(program=program), constraints=names)
    parts = (np.array(part, float) for part in (jacobian, mass, holders))
    jacobian, mass, holders = parts
    through = np.zeros((len(names),) * 2) + through
    return SimpleNamespace(equations=equations, jacobian=jacobian, mass_matrix=mass, holders=holders, through=through)


def test_what_controls_do_while_reactions_hold():
    """On x − y = 0 a force on x moves both masses: 1/(m₁ + m₂)."""
    found = _answer(values([[1, -1], [1, 0]], np.diag([2.0, 3.0]), [[1, 1], [-1, 0]], ("a",)))
    assert_allclose(found, [[1 / 5]])
    free = _answer(values([[1, 0], [0, 1]], np.diag([2.0, 4.0]), np.eye(2)))
    assert_allclose(free, np.diag([0.5, 0.25]))
    through = _answer(values([[1, 0], [0, 1]], np.diag([2.0, 4.0]), np.eye(2), through=np.diag([3.0, 0])))
    assert_allclose(through, np.diag([3.5, 0.25]))


def test_where_it_is_not_defined_there_is_none():
    assert _answer(values([[1, 0], [0, 1]], np.diag([2.0, 0.0]), np.eye(2))) is None
    assert _answer(values([[1, 0], [0, 1]], np.diag([2.0, np.nan]), np.eye(2))) is None


def test_rows_and_columns_are_brought_to_one_size():
    """Units of programs and controls leave no trace; what is nothing stays nothing."""
    table = np.array([[[1.0, 2.0], [3.0, 1.0]], [[0.5, 1.0], [1.0, 2.0]]])
    other = table * np.array([1e-6, 1e3])[:, None] * np.array([1e9, 1e-2])
    assert_allclose(_in_own_units(table), _in_own_units(other), rtol=1e-5)
    assert_allclose(np.linalg.norm(_in_own_units(table), axis=1).max(axis=0), 1, rtol=1e-6)
    empty = _in_own_units(np.array([[[1.0, 0.0], [0.0, 0.0]]]))
    assert np.isfinite(empty).all()


# What vanishes there.


def looked_at(angles, at=-1):
    equations = steered()
    rows = rows_at(equations, angles)
    return _Rows(equations, at % len(angles), rows.times, rows.states, [])


def test_a_factor_that_vanishes_at_the_state_is_its_condition():
    rows = looked_at(np.linspace(0, np.pi / 2, 20))
    assert rows.conditions([(sp.cos(z), 2 + sp.sin(z))]) == [sp.cos(z)]
    assert rows.conditions([(2 + sp.sin(z),)]) == []  # a minor that does not vanish
    assert rows.conditions([(sp.cos(z),), (2 + sp.sin(z),)]) == []
    assert rows.conditions([(sp.cos(z),), (-sp.cos(z),)]) == [sp.cos(z)]  # the same condition
    assert rows.conditions([(sp.cos(z),), (sp.cos(z) ** 2,)]) == [sp.cos(z), sp.cos(z) ** 2]
    assert rows.conditions([()]) == []


def test_a_factor_that_always_vanishes_says_nothing_of_the_state():
    rows = looked_at(np.linspace(0, np.pi / 2, 20))
    assert rows.conditions([(x - y,), (sp.cos(z),)]) == [sp.cos(z)]
    assert rows._always(x - y)
    assert rows._always(1e-9 * z + 1 - 1)  # by itself, in its own unit
    assert not rows._always(z - 2)


@pytest.mark.parametrize(
    ("before", "there", "told"),
    [(0.5, 0.09, True), (0.5, 0.11, False), (0.05, 0.01, True), (0.05, 0.02, False), (0.05, -0.01, True)],
)
def test_a_factor_vanishes_where_it_falls_to_little(before, there, told):
    """To a tenth of its usual size, here 1, and to three tenths of what it was a tenth of the run before."""
    assert (looked_at([1.0] * 18 + [before, there]).conditions([(z,)]) == [z]) is told


def test_what_cannot_be_told_shortly_is_not_told():
    equations = steered()
    rows = rows_at(equations, np.linspace(0, np.pi / 2, 20))
    names = equations.constraints
    assert condition_at(equations, names, 19, rows.times, rows.states, []) == "cos(z) = 0"
    assert condition_at(equations, names, 0, rows.times, rows.states, []) == ""


# Fewer controls than programs, and controls through states.


def test_every_choice_is_tried_while_there_are_few():
    tried = []
    found = list(_choices("abc", 2, lambda chosen: tried.append(tuple(chosen)) or "a" in chosen))
    assert found == [["a", "b"], ["a", "c"]]
    assert tried == [("a", "b"), ("a", "c"), ("b", "c")]


def test_of_many_choices_one_is_found_program_by_program():
    names = [f"p{k}" for k in range(7)]  # 35 choices of three
    assert MOST_CHOICES < 35
    assert list(_choices(names, 3, lambda chosen: "p0" not in chosen)) == [["p1", "p2", "p3"]]
    assert list(_choices(names, 3, lambda chosen: False)) == []
    assert len(list(_choices([f"p{k}" for k in range(6)], 3, lambda chosen: True))) == 20


def test_what_acts_through_states_stands_beside_what_acts_at_once():
    graph = Graph()
    a, b, c = (graph.input(name) for name in "abc")
    assert together([{0: a}], []) == [{0: a}]
    found = together([{0: a}, {1: b}], [{0: c, 1: b}, {}])
    assert found[0][0] is a + c
    assert found[0][1] is b
    assert found[1] == {1: b}
