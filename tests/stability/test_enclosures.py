"""Cells and their coefficients on varied systems, against the step itself in 300 bits at single states.

d(τ)/τ^(p+1) of the step is taken directly, with no power series and no Taylor form, so nothing is shared with the proof
but the graph.
"""

import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from holdfast.errors import Undecided
from holdfast.graph.arithmetics.balls import ball, balls, precision, symmetric
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.arithmetics.taylor import range_of
from holdfast.schemes.tableaus.dopri5 import DOPRI5
from holdfast.schemes.tableaus.euler import EULER
from holdfast.schemes.tableaus.kutta import KUTTA3
from holdfast.stability.proof.block import blocks_of, motion_of, whole_motion
from holdfast.stability.proof.cells import plain_cell
from holdfast.stability.proof.contraction import propagator
from holdfast.stability.proof.defect import DefectModel, terms_of
from holdfast.stability.proof.enclosure import ball_matrix, column, entries, norm
from holdfast.stability.sampling import Deviator
from tests.stability.test_rounding_model import exact_step

t = hf.time
SCHEMES = [EULER, KUTTA3, DOPRI5.main]  # the last has more stages than its order


def rods():
    x1, y1, x2, y2 = places = hf.coordinates("x1 y1 x2 y2")
    system = hf.System(coordinates=places, kinetic=sum(q.rate**2 for q in places) / 2, potential=9 * (y1 + 2 * y2))
    held = {"a": (x1**2 + y1**2 - 1) / 2, "b": sp.sqrt((x2 - x1) ** 2 + (y2 - y1) ** 2) - 1}
    law = hf.SpringDamper(stiffness={"a": 25, "b": 36, "a.b": 2}, damping={"a": 10, "b": 12, "b.a": 1})
    return hf.Problem(system, hf.Program(holonomic=held, law=law), start={x1: 0.6, y1: -0.8, x2: 1.2, y2: -1.6})


def skate():
    x, y, turn = places = hf.coordinates("x y turn")
    system = hf.System(coordinates=places, kinetic=sum(q.rate**2 for q in places) / 2, potential=2 * y)
    edge = {"edge": x.rate * sp.sin(turn) - y.rate * sp.cos(turn)}
    program = hf.Program(nonholonomic=edge, law=hf.SpringDamper(damping=5))
    return hf.Problem(system, program, start={turn: 0.3, x.rate: 0.9, turn.rate: 1})


def moving_rod():
    x, y = places = hf.coordinates("x y")
    system = hf.System(coordinates=places, kinetic=(x.rate**2 + y.rate**2) / 2, potential=9 * y)
    rod = (x - sp.sin(2 * t) / 5) ** 2 + (y + t**2 / 10) ** 2 - (1 + sp.cos(3 * t) / 10) ** 2
    program = hf.Program(holonomic={"rod": rod}, law=hf.SpringDamper(stiffness=9, damping=6))
    return hf.Problem(system, program, start={x: 0.5, y: -0.97})


def pointer():
    x, y, z = places = hf.coordinates("x y z")
    kinetic = (x.rate**2 + y.rate**2 * (1 + x**2) + z.rate**2) / 2
    system = hf.System(coordinates=places, kinetic=kinetic, potential=sp.exp(x / 2) + 2 * abs(y + 3))
    mixed = sp.exp(x / 3) * x.rate - sp.sqrt(2 + y) * z.rate * sp.Max(z, -5) + sp.log(3 + z) * y.rate
    law = hf.SpringDamper(stiffness=4, damping={"aim": 5, "mixed": 3, "mixed.aim": 1})
    program = hf.Program(holonomic={"aim": sp.atan2(y, x) - z}, nonholonomic={"mixed": mixed}, law=law)
    return hf.Problem(system, program, start={x: 1, y: 0.5, z: 0.46, x.rate: 0.3})


def filling():
    x, y = places = hf.coordinates("x y")
    m = hf.states("m")
    kinetic = (1 + m) * (x.rate**2 + y.rate**2) / 2
    rates = {m: -m * x / 5 - sp.cos(t) / 20}
    system = hf.System(coordinates=places, kinetic=kinetic, potential=9 * (1 + m) * y, states=rates)
    rod = {"rod": (x**2 + y**2 - 1 - m**2 / 4) / 2}
    program = hf.Program(holonomic=rod, law=hf.SpringDamper(stiffness=16, damping=8))
    return hf.Problem(system, program, start={x: 0.6, y: -0.9, m: 0.5})


def coefficients(motion, scheme, factor, moment, state, step):
    """Lᵀ (ψ(Φ(x)) − R ψ(x)) / step^(p+1), and all deviations at the state."""
    inputs = (motion.time, *motion.state)
    rates, psi, others = (Tape(inputs, nodes).compiled(balls()) for nodes in (motion.rates, motion.psi, motion.others))
    moment, state = ball(float(moment)), [ball(float(x)) for x in state]
    before = psi([moment, *state])
    after = psi([moment + ball(step), *exact_step(rates, scheme, moment, state, ball(step))])
    kept = entries(propagator(scheme, motion.matrix, step) * column(before))
    scaled = [(a - b) / ball(step) ** (scheme.order + 1) for a, b in zip(after, kept, strict=True)]
    return entries(ball_matrix(factor.T) * column(scaled)), [*before, *others([moment, *state])]


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
@pytest.mark.parametrize("problem", [rods, skate, moving_rod, pointer, filling])
def test_every_state_lies_in_its_cell_and_its_coefficient_in_the_enclosure(problem, scheme):
    equations, random, seen, compared = hf.derive(problem()), np.random.default_rng(11), 0, 0
    (block,) = blocks_of(equations, {})
    motion, whole, mover = motion_of(equations, block, {}), whole_motion(equations, block, {}), Deviator(equations, {})
    base, count = np.array(equations.evaluate().state), len(equations.deviation_names)
    for _ in range(8):
        step, tube = float(10 ** random.uniform(-5, -1)), float(10 ** random.uniform(-6, -2))
        factor = np.tril(random.normal(size=(len(block.places),) * 2)) + 2 * np.eye(len(block.places))
        moment, later = random.uniform(0, 2), 0.01
        aside = base + 0.05 * random.normal(size=len(base))
        middle = mover.moved(np.array([moment]), aside[None], np.zeros((1, count)))[0][0]
        half = 10 ** random.uniform(-3, -0.5) * random.uniform(0.2, 1, len(base))
        ends = {name: (float(a - b), float(a + b)) for name, a, b in zip(motion.names, middle, half, strict=True)}
        ends["t"] = (moment - later, moment + later)
        box = tuple(ends[name] for name in motion.variable_names)
        with precision(80, terms_of(scheme)):
            model = DefectModel(motion, scheme, step, factor)
            cell = model.cell(box, [symmetric(tube)] * count)
            try:
                total = None if cell is None else [range_of(form) for form in model.enclosed(cell)]
            except Undecided:
                total = None
        times = moment + later * random.uniform(-1, 1, 12)
        near = middle + half * np.sin(2 * random.uniform(-1, 1, (12, len(base))))  # more of them near the ends
        states, _ = mover.moved(times, near, tube * random.uniform(-1, 1, (12, count)))
        inside = np.isfinite(states).all(axis=1) & (np.abs(states - middle) <= half).all(axis=1)
        with precision(300):
            for when, state in zip(times[inside], states[inside], strict=True):
                found, deviations = coefficients(whole, scheme, factor, when, state, step)
                if not all(abs(value) <= tube for value in deviations):
                    continue
                seen += 1
                values = {"t": when, **dict(zip(motion.names, state, strict=True))}
                assert cell is not None
                for part, name in zip(cell.box, motion.variable_names, strict=True):
                    assert part.contains(ball(float(values[name])))
                if total is not None:
                    compared += 1
                    assert all(wide.overlaps(value) for wide, value in zip(total, found, strict=True))
    assert seen > 10
    assert compared > 5  # where a cell is too wide nothing is enclosed


def test_what_stages_beyond_the_order_add_to_R_counts_as_defect():
    """w = x' obeys w' = −5 w; R of the main scheme of DOPRI5 has z⁶/600 beyond its order 5: 5⁶/600 of w = 1/2."""
    x = hf.coordinates("x")
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2)
    program = hf.Program(nonholonomic={"rest": x.rate}, law=hf.SpringDamper(damping=5))
    equations = hf.derive(hf.Problem(system, program))
    (block,) = blocks_of(equations, {})
    with precision(80, terms_of(DOPRI5.main)):
        model = DefectModel(motion_of(equations, block, {}), DOPRI5.main, 0.1, np.eye(1))
        cell = plain_cell([ball(0.5)])  # of w: x does not matter
        assert norm([range_of(form) for form in model.enclosed(cell)]) == pytest.approx(5**6 / 600 / 2)
