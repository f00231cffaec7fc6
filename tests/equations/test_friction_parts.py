"""Parts of friction: its words, what bends, what jumps, and what is checked of the reactions it was given."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from holdfast.equations.dynamics.sample import Sample
from holdfast.equations.solving.friction import _bends, _uses, friction_words
from holdfast.graph.derivatives import jacobian
from holdfast.graph.nodes import Graph

x, y = hf.coordinates("x y")


def slope(force, **more):
    """A block on a floor, rubbed by what its reaction makes of it."""
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=10 * y, forces={x: force})
    program = hf.Program(holonomic={"floor": y}, law=hf.critically_damped(5))
    return hf.derive(hf.Problem(system, program, start={x.rate: 1}, **more))


LAMBDA = sp.Symbol("lambda_floor")


def test_forces_that_use_their_reaction_are_found_with_it():
    equations = slope(-LAMBDA / 4)
    friction = equations.friction
    assert friction.affine
    assert friction.constraints == ("floor",)
    assert "by one linear solve" in friction.note
    values = equations.evaluate()
    assert values["lambda_floor"] == pytest.approx(10)
    assert values.accelerations[0] == pytest.approx(-2.5)
    bent = slope(-sp.sqrt(LAMBDA**2 + 1) / 4)
    assert not bent.friction.affine
    assert "8 of Newton's steps" in bent.friction.note
    assert bent.evaluate().accelerations[0] == pytest.approx(-np.sqrt(101) / 4)


def test_forces_without_a_reaction_are_no_friction():
    assert slope(-x.rate).friction is None


@pytest.mark.parametrize("force", [sp.sign(LAMBDA), sp.Heaviside(LAMBDA - 3), 2 * sp.sign(3 * LAMBDA + 1) * x.rate])
def test_forces_that_jump_with_their_reaction_are_refused(force):
    with pytest.raises(hf.BadStatement, match="jumps where lambda_floor"):
        slope(force)


def test_forces_that_jump_with_the_motion_are_not():
    assert slope(-LAMBDA * sp.sign(x.rate) / 4).evaluate().accelerations[0] == pytest.approx(-2.5)


def test_reactions_that_the_motion_does_not_have_are_found_out():
    """Whatever is wrong within: friction is held against the reactions of the whole system."""
    equations = slope(-LAMBDA / 4)
    friction, inputs = equations.friction, equations.inputs
    names = equations.field.inputs
    (node,) = friction.multipliers.values()
    values = {name: 0.5 for name in names}
    sample = Sample(values)
    friction.require_consistent([0], [node], [sample])
    with pytest.raises(hf.InternalError, match="does not use the reactions"):
        friction.require_consistent([0], [node + 1], [sample])
    lost = replace(friction, pivots=tuple(replace(p, value=inputs.graph.zero) for p in friction.pivots))
    lost.require_consistent([0], [node + 1], [sample])  # not determined there, which a run will say


@pytest.mark.parametrize(
    ("answer", "share", "told"),
    [
        ([[1.5]], [1.0], "the reaction of 'a' with 1.5 of that change"),
        ([[1.0]], [1.0], "with 1 of that change"),
        ([[0.5]], [0.0], "the reaction of 'a' was not found by Newton's steps"),
        ([[0.5]], [0.5], "comes back as large as it was"),
        ([[np.nan]], [0.5], "comes back as large as it was"),
    ],
)
def test_what_is_wrong_with_friction_is_told(answer, share, told):
    assert told in friction_words(["a"], np.array(answer), np.array(share))


def test_the_reaction_that_answers_most_is_named():
    assert "of 'b' with 2 of" in friction_words(["a", "b"], np.diag([0.5, 2.0]), np.ones(2))
    assert "'b' was not found" in friction_words(["a", "b"], np.diag([0.5, 0.2]), np.array([0.5, -1.0]))


def test_what_bends_is_not_affine():
    graph = Graph()
    a, b = graph.input("a"), graph.input("b")
    assert not _bends([3 * a + b**2], [a])
    assert _bends([a * a], [a])
    assert _bends([graph.call("abs", a)], [a])
    assert _bends([a * b], [a, b])
    assert not _bends([graph.call("abs", b) * a], [a])
    assert _uses(3 * a + b, [a])
    assert not _uses(3 * b, [a])
    assert jacobian([3 * a + b], [a])[0][0].data == 3
