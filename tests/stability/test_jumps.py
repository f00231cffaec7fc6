"""Where a constraint, or what bounds a region, jumps, nothing may be shown by slopes across the jump.

Each of these makes a proof that is wrong, or claims a part of a region to be empty where it is not.
"""

import math

import numpy as np
import sympy as sp

import holdfast as hf
from holdfast.graph.arithmetics.balls import ball_between, precision, symmetric
from holdfast.stability.proof.block import blocks_of, motion_of, whole_motion
from holdfast.stability.proof.cells import Cutter

LAW = hf.SpringDamper(stiffness=25, damping=10)
x, y, turn = hf.coordinates("x y turn")


def pointer(height):
    """A pointer aimed at a point beside the negative axis, where atan2 jumps from π to −π."""
    system = hf.System(
        coordinates=(x, y, turn), kinetic=(x.rate**2 + y.rate**2 + turn.rate**2) / 2, potential=sp.exp(-turn)
    )
    program = hf.Program(holonomic={"aim": sp.atan2(y, x) - turn}, law=LAW)
    return hf.derive(hf.Problem(system, program, start={x: -1, y: height, turn: math.atan2(height, -1), y.rate: 0.02}))


def test_nothing_is_proved_over_a_region_in_which_the_program_jumps():
    """States beyond the jump were once cut away as empty, and the rest proved with a defect five times too small."""
    region = {"x": (-1.01, -0.99), "y": (-0.05, 0.051), "turn": (-3.135, 3.13)}
    region |= {"x_dot": (-0.01, 0.01), "y_dot": (-0.02, 0.02), "turn_dot": (-0.3, 0.3)}
    certificate = hf.certify(pointer(0.03), hf.Euler, step=1e-3, duration=0.1, region=region, effort=0.5)
    assert certificate["aim"].label is hf.Label.checked


def test_states_beyond_the_jump_of_an_angle_are_not_cut_away():
    equations = pointer(0.03)
    (block,) = blocks_of(equations, {})
    box = ((-1.01, -0.99), (-0.05, 0.051), (-3.135, 3.13), (-0.01, 0.01), (-0.02, 0.02), (-0.3, 0.3))
    with precision(80):
        cell = Cutter(whole_motion(equations, block, {})).cell(box, [symmetric(1e-4)] * 2)
        assert cell is not None
        beyond = [-1.0, -0.04, math.atan2(-0.04, -1), 0.0, 0.0, 0.0]
        assert all(part.contains(value) for part, value in zip(cell.box, beyond, strict=True))


def cell_of(program, box, *, extras=(), potential=0, limits=()):
    """What the cutter leaves of a box of (x, y, x', y')."""
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=potential)
    height = math.sqrt(1 - 0.3**2)
    equations = hf.derive(hf.Problem(system, program, start={x: -0.3, y: -height}))
    (block,) = blocks_of(equations, {})
    with precision(80):
        motion = whole_motion(equations, block, {}, [equations.observables[name] for name in extras])
        cell = Cutter(motion).cell(box, [symmetric(1e-4)] * 2 + [ball_between(*limit) for limit in limits])
        return None if cell is None else [(float(ball.lower()), float(ball.upper())) for ball in cell.box]


def test_a_region_bounded_by_an_energy_that_jumps_keeps_its_states():
    rod = hf.Program(holonomic={"rod": (x**2 + y**2 - 1) / 2}, law=LAW)
    box = ((-0.5, 0.4), (-1.01, -0.9), (-0.1, 0.1), (-0.1, 0.1))
    step = sp.Rational(981, 100) * y + 5 * sp.Heaviside(x, 0)
    left = cell_of(rod, box, extras=["energy"], potential=step, limits=[(-5.0, -4.0)])
    assert left is not None  # x = 0.3 at rest has the energy −4.36
    assert left[0][0] <= 0.3 <= left[0][1]


def test_a_program_that_jumps_is_not_affine():
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2)
    program = hf.Program(holonomic={"wall": x - sp.sign(y - 1) / 10}, law=LAW)
    equations = hf.derive(hf.Problem(system, program, start={x: -0.1, y: 0, y.rate: 1}))
    certificate = hf.certify(equations, hf.RK4, step=0.01, duration=0.9, region={"y": (0, 2), "x": (-1, 1)}, effort=0.5)
    assert certificate["wall"].label is not hf.Label.proved


def test_a_program_that_follows_a_state_is_not_reduced_to_its_coordinates():
    """Midpoint leaves step³/8·f'' in y where s' = f(t); without s the reduced motion has none of it."""
    s = hf.states("s")
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, states={s: hf.time**2 / 2})
    program = hf.Program(holonomic={"follow": x - s}, law=hf.SpringDamper(stiffness=1, damping=0.01))
    equations = hf.derive(hf.Problem(system, program))
    certificate = hf.certify(equations, hf.Midpoint, step=0.05, duration=3, effort=1)
    block = certificate["follow"]
    assert block.label is hf.Label.proved
    run = certificate.trajectory
    sizes = np.linalg.norm(np.array([run[name] for name in block.names]).T @ np.array(block.proof.factor), axis=1)
    assert (sizes[1:] <= block.gamma * sizes[:-1] + block.defect).all()


def test_a_motion_that_is_affine_without_jumps_and_states_is_reduced():
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2)
    program = hf.Program(holonomic={"lead": 2 * x - y - sp.sin(hf.time)}, law=LAW)
    equations = hf.derive(hf.Problem(system, program))
    (block,) = blocks_of(equations, {})
    assert motion_of(equations, block, {}).affine


def test_nothing_is_proved_over_no_cells():
    rod = hf.Program(holonomic={"rod": (x**2 + y**2 - 1) / 2}, law=LAW)
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2)
    equations = hf.derive(hf.Problem(system, rod, start={x: 1, y.rate: 1}))
    certificate = hf.certify(equations, hf.Euler, step=0.01, duration=1, region={"x": (5, 6)}, effort=0.5)
    assert certificate["rod"].label is not hf.Label.proved


def test_a_region_with_fixed_states_fails_no_certificate():
    a, b, c, d = coordinates = hf.coordinates("a b c d")
    system = hf.System(coordinates=coordinates, kinetic=sum(q.rate**2 for q in coordinates) / 2, potential=9 * (b + d))
    rods = {"upper": (a**2 + b**2 - 1) / 2, "lower": ((c - a) ** 2 + (d - b) ** 2 - 1) / 2}
    equations = hf.derive(hf.Problem(system, hf.Program(holonomic=rods, law=LAW), start={b: -1, d: -2}))
    still = {"a": (0, 0), "b": (-1, -1), "c": (0, 0)}
    certificate = hf.certify(equations, hf.Euler, step=0.01, duration=0.1, effort=0.05, region=still)
    assert sorted(name for block in certificate.blocks for name in block.constraints) == ["lower", "upper"]
    assert all(block.label in (hf.Label.checked, hf.Label.proved, hf.Label.tube) for block in certificate.blocks)
