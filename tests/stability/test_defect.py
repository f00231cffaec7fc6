"""Cells of a proof: a chart gives every state of its cell back, and what does not matter is not covered.

The defect itself is held against 300-bit steps in test_enclosures.
"""

from importlib import resources
from itertools import product

import flint
import numpy as np
import pytest

import holdfast as hf
from holdfast.errors import Undecided
from holdfast.graph.arithmetics.balls import ball, ball_between, precision, symmetric
from holdfast.graph.arithmetics.taylor import range_of
from holdfast.stability.proof.block import blocks_of, motion_of
from holdfast.stability.proof.cells import plain_cell
from holdfast.stability.proof.chart import Charts
from holdfast.stability.proof.defect import DefectModel, terms_of
from holdfast.stability.proof.enclosure import column, entries
from tests.graph.test_taylor import at
from tests.stability.held import pendulum


def model_of(scheme, step):
    equations = hf.derive(pendulum(law=hf.SpringDamper(stiffness=25, damping=10)))
    (block,) = blocks_of(equations, {})
    return DefectModel(motion_of(equations, block, {}), scheme, step, np.eye(2))


def states_on_the_program(random, count):
    angle, speed = random.uniform(0, 2 * np.pi, count), random.uniform(-4, 4, count)
    return np.array([np.cos(angle), np.sin(angle), -speed * np.sin(angle), speed * np.cos(angle)]).T


def states_near(random, centre, size, tube, count):
    """Random states of a box within a tube around the program."""
    for _ in range(count):
        x = centre + size * random.uniform(-1, 1, 4)
        x[:2] *= np.sqrt(1 + 2 * random.uniform(-tube, tube)) / np.linalg.norm(x[:2])
        x[2:] -= x[:2] * (x[:2] @ x[2:] - random.uniform(-tube, tube)) / (x[:2] @ x[:2])
        if (np.abs(x - centre) <= size).all():
            yield x


def test_a_chart_holds_every_state_of_its_cell():
    """x = c + T u + N v(u, z): with u and z read off a state of the cell, the form must give that state back."""
    random, seen = np.random.default_rng(0), 0
    with precision(80, terms_of(hf.RK4)):
        model = model_of(hf.RK4, 0.05)
        charts = Charts(model._cutter)
        for centre in states_on_the_program(random, 60):
            size, tube = 10 ** random.uniform(-2.5, -1, 4), 10 ** random.uniform(-6, -1.5)
            cell = model.cell(tuple(zip(centre - size, centre + size, strict=True)), [symmetric(tube)] * 2)
            if cell is None:
                continue
            try:
                places = charts.places(cell)[1:]
            except Undecided:
                continue
            for x in states_near(random, centre, size, tube, 10):
                offset = column([ball(float(value)) - middle for value, middle in zip(x, cell.centre, strict=True)])
                along = entries(cell.inverse * offset)[: cell.along]
                psi = (x[0] ** 2 + x[1] ** 2 - 1) / 2, x[0] * x[2] + x[1] * x[3]
                chosen = [(u - o.mid()) / o.rad() for u, o in zip(along, cell.offset, strict=False)]
                chosen += [(ball(psi[j]) - cell.limits[j].mid()) / cell.limits[j].rad() for j in cell.wide]
                for form, value in zip(places, x, strict=True):
                    there = at(form, chosen)
                    assert there.overlaps(flint.arb(float(value), 1e-13))
                    assert range_of(form).overlaps(flint.arb(float(value), 1e-13))
                seen += 1
    assert seen > 100


def test_a_plain_cell_is_its_box_about_its_centre():
    with precision(80):
        cell = plain_cell([ball_between(1.0, 2.0), ball_between(-7.0, -3.0), ball(5)])
        for state in product((1.0, 1.25, 2.0), (-7.0, -4.5, -3.0), (5.0,)):
            offset = column([ball(x) - middle for x, middle in zip(state, cell.centre, strict=True)])
            assert all(u.contains(v) for u, v in zip(cell.offset, entries(cell.inverse * offset), strict=True))
    assert [float(u.rad()) for u in cell.offset] == pytest.approx([0.5, 2.0, 0.0])
    assert (cell.along, len(cell.limits)) == (3, 0)


def test_what_the_deviations_do_not_depend_on_is_not_covered():
    """The edge of a skate is held alike wherever on the plane it is."""
    equations = hf.derive(hf.load(str(resources.files("holdfast") / "examples" / "skate.toml")))
    (block,) = blocks_of(equations, {})
    motion = motion_of(equations, block, {})
    assert set(motion.names) - set(motion.variable_names) == {"x", "y"}
    assert motion.placed([1, 2, 3, 4], [0] * 7) == [0, 0, 0, 1, 2, 3, 4]
    assert not motion.covers(equations.observables["energy"])
    assert motion.covers(equations.observables["kinetic"])


@pytest.mark.parametrize(("constraint", "variable"), [(lambda x, y: y - x**2, "x"), (lambda x, y: x - y**3, "y")])
def test_a_program_bends_along_the_variable_that_turns_it(constraint, variable):
    x, y = hf.coordinates("x y")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2)
    program = hf.Program(holonomic={"wire": constraint(x, y)}, law=hf.SpringDamper(stiffness=25, damping=10))
    equations = hf.derive(hf.Problem(system, program))
    (block,) = blocks_of(equations, {})
    motion = motion_of(equations, block, {})
    model = DefectModel(motion, hf.RK4, 0.01, np.eye(2))
    with precision(80, terms_of(hf.RK4)):
        cell = plain_cell([ball_between(0.5, 0.7) for _ in motion.variable_names])
        assert motion.variable_names[model.bending(cell)] == variable
