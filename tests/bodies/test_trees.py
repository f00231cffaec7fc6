"""Equations of trees of bodies against Kane's equations in plain numbers, and against published figures."""

import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from tests.bodies.mechanisms import chain, ur5
from tests.bodies.newton_euler import mass_and_bias, of_quaternion
from tests.bodies.random_trees import random_tree


@pytest.mark.parametrize("seed", [*range(10), *(pytest.param(k, marks=pytest.mark.prove) for k in range(10, 40))])
def test_a_random_tree_obeys_newton_and_euler(seed):
    problem, bodies, rates, gravity = random_tree(seed, 2 + seed % 4)
    values = hf.derive(problem).evaluate()
    mass, bias, _ = mass_and_bias(bodies, np.array([*rates.values()]), gravity)
    order = [list(rates).index(c.name) for c in problem.system.coordinates]
    mass, bias = mass[np.ix_(order, order)], bias[order]
    assert np.abs(values.mass_matrix - mass).max() < 1e-12 * np.abs(mass).max()
    assert np.abs(values.bias - bias).max() < 1e-11 * max(1.0, np.abs(bias).max())
    exact = np.linalg.solve(mass, bias)
    assert np.abs(values.accelerations - exact).max() < 1e-10 * max(1.0, np.abs(exact).max())


@pytest.mark.parametrize("seed", range(30, 32))
def test_energies_and_places_of_a_random_tree_are_those_of_its_bodies(seed):
    problem, bodies, rates, gravity = random_tree(seed, 4)
    values = hf.derive(problem).evaluate()
    v = np.array([*rates.values()])
    mass, _, placed = mass_and_bias(bodies, v, gravity)
    height = sum(-b.mass * gravity @ (now["o"] + now["R"] @ b.center) for b, now in zip(bodies, placed, strict=True))
    assert values["kinetic"] == pytest.approx(v @ mass @ v / 2, rel=1e-12)
    assert values["potential"] == pytest.approx(height, rel=1e-12)


def test_an_arm_of_six_hinges_to_its_figures():
    """Pinocchio's ABA under DOP853 at 1e-12, and MuJoCo to the same digits (2026)."""
    equations = hf.derive(ur5())
    values = equations.evaluate()
    figures = (1.680761280852, 8.561194870216, 13.870756600178, -22.024703321632, 1.491884354899, -1.559695534935)
    assert values.accelerations == pytest.approx(figures, abs=2e-11)
    assert values["energy"] == pytest.approx(52.5929185289, abs=1e-9)
    run = hf.simulate(equations, hf.RK4, step=2e-4, duration=1)
    end = [run[name][-1] for name in equations.coordinates]
    figures = (0.2138083004, 2.9189511648, 2.7459925987, -5.5140821557, -0.2646391312, 1.1254031393)
    assert end == pytest.approx(figures, abs=1e-8)


@pytest.mark.parametrize(
    ("n", "figures"),
    [
        (10, (-9.066273825514, -31.535134215404, -32.490161337898)),
        (50, (-39.756235856, -160.536000127, -187.906546048)),
    ],
)
def test_chains_of_hinges_to_their_figures(n, figures):
    accelerations = hf.derive(chain(n)).evaluate().accelerations
    assert accelerations[:3] == pytest.approx(figures, rel=2e-11 if n == 10 else 2e-10)


def test_a_free_body_turns_as_elliptic_functions_say():
    """I = (1, 2, 3), ω(0) = (1, 0, 1): ω(5) by cn, sn, dn with k² = 1/3; nothing else moves it."""
    body = hf.Body(mass=2, inertia=(1, 2, 3), spin=(1, 0, 1), velocity=(1, -1, 0.5))
    problem = hf.Problem(hf.System(bodies={"b": body}))
    run = hf.simulate(hf.derive(problem), hf.RK4, step=1e-3, duration=5)
    spin = [run[f"b_turn_{c}_dot"][-1] for c in "xyz"]
    assert spin == pytest.approx((-0.164350429765, -0.986402015527, 0.821991699829), abs=1e-11)
    assert [run[f"b_{c}"][-1] for c in "xyz"] == pytest.approx((5, -5, 2.5), abs=1e-12)
    norm = sum(run[f"b_e{k}"] ** 2 for k in range(4))
    assert np.abs(norm - 1).max() < 1e-9  # what a step loses, times the steps
    momentum = [run.at(f"b_r{i}1*b_wx + 2*b_r{i}2*b_wy + 3*b_r{i}3*b_wz") for i in (1, 2, 3)]
    assert np.ptp(momentum, axis=1).max() < 1e-10


TOP = dict(
    bodies={"top": hf.Body(mass=1, center=(0, 0, 0.5), inertia=(0.05, 0.05, 0.1), points={"tip": (0, 0, 1)})},
    joints={"foot": hf.Spherical("ground", "top")},
    gravity=(0, 0, -9.81),
)


def test_a_heavy_top_to_its_figures():
    start = {"foot": hf.turned("x", sp.pi / 6), "foot_spin": (0.3, -0.2, 20)}
    equations = hf.derive(hf.Problem(hf.System(**TOP), start=start))
    assert equations.evaluate().accelerations == pytest.approx((5.5083333333, -4, 0), abs=1e-10)
    run = hf.simulate(equations, hf.RK4, step=2e-4, duration=2)
    p = [run[f"foot_e{k}"][-1] for k in range(4)]
    assert p == pytest.approx((-0.72347711, -0.47175484, 0.46452412, 0.19556479), abs=6e-9)
    assert [run[f"top_w{c}"][-1] for c in "xyz"] == pytest.approx((1.7756447, 4.6112086, 20), abs=6e-8)
    assert np.ptp(run["energy"]) < 1e-9


def test_a_fast_top_precesses_steadily():
    """I₁ W² cos θ − I₃ ω₃ W + m g l = 0 at θ = 30°, ω₃ = 100: W = 0.49691529 rad/s."""
    W, tilt = 0.49691529, np.pi / 6
    spin = (0, W * np.sin(tilt), 100)  # in the body's axes, tilted about x
    start = {"foot": hf.turned("x", sp.pi / 6), "foot_spin": spin}
    run = hf.simulate(hf.derive(hf.Problem(hf.System(**TOP), start=start)), hf.RK4, step=2e-4, duration=2)
    assert np.abs(run["tip_z"] - np.cos(tilt)).max() < 1e-7
    angle = np.unwrap(np.arctan2(run["tip_y"], run["tip_x"]))
    assert (angle[-1] - angle[0]) / 2 == pytest.approx(W, abs=1e-6)


def test_energies_that_users_write_push_bodies_along_their_spins():
    """A spring from the ground to a point of a free body: the force R' = −k (r − r₀) at the point, and its moment."""
    body = hf.Body(
        mass=2, center=(0.1, 0, -0.2), inertia=(1, 2, 3), position=(0.3, 0.2, 0.1), orientation=(1, 0.2, -0.3, 0.4),
        spin=(0.3, 1, -0.5), points={"hook": (0.4, -0.2, 0.6)},
    )  # fmt: skip
    problem = hf.Problem(hf.System(bodies={"b": body}, potential="7*(hook.x**2 + hook.y**2 + (hook.z - 1)**2)/2"))
    values = hf.derive(problem).evaluate()
    R = of_quaternion((1, 0.2, -0.3, 0.4))
    o, arm, c = np.array([0.3, 0.2, 0.1]), np.array([0.4, -0.2, 0.6]), np.array([0.1, 0, -0.2])
    force = -7 * (o + R @ arm - [0, 0, 1])
    moment = np.cross(arm, R.T @ force)
    inertia = np.diag([1.0, 2, 3]) + 2 * ((c @ c) * np.eye(3) - np.outer(c, c))
    free = hf.derive(hf.Problem(hf.System(bodies={"b": body}))).evaluate().bias
    assert values.bias - free == pytest.approx([*force, *moment], abs=1e-12)
    assert values.mass_matrix[3:, 3:] == pytest.approx(inertia, abs=1e-12)


def test_kinetic_energies_that_users_write_carry_the_terms_of_boltzmann_and_hamel():
    """A point mass on a spinning body, by its own T: as if the body were heavier there."""
    spun = dict(orientation=(1, 0.2, -0.3, 0.4), spin=(0.3, 1, -0.5), velocity=(1, 2, 3))
    bare = hf.Body(mass=2, inertia=(1, 2, 3), points={"lump": (0.4, -0.2, 0.6)}, **spun)
    speed = " + ".join(f"ddt(lump.{c})**2" for c in "xyz")
    stated = hf.System(bodies={"b": bare}, kinetic=f"3*({speed})/2")
    lump = hf.Body(mass=3)
    welded = hf.System(bodies={"b": bare, "l": lump}, joints={"w": hf.Weld("lump", "l")})
    ours, theirs = (hf.derive(hf.Problem(s)).evaluate() for s in (stated, welded))
    assert ours.mass_matrix == pytest.approx(theirs.mass_matrix, abs=1e-12)
    assert ours.bias == pytest.approx(theirs.bias, abs=1e-11)


@pytest.mark.parametrize("size", [1e-9, 1e-3, 1.0, 1e9])
def test_a_spherical_pendulum_moves_alike_in_all_units(size):
    """Steps of a five-hundredth of the period: the same motion, whatever the metre."""
    body = hf.Body(mass=size**3, center=(0, 0, -size), inertia=(size**5 / 10,) * 3)
    system = hf.System(bodies={"b": body}, joints={"foot": hf.Spherical("ground", "b")}, gravity=(0, 0, -9.81))
    start = {"foot": hf.turned("x", 1), "foot_spin": (0, 0.1 * (9.81 / size) ** 0.5, 0)}
    step = 2 * np.pi * (size / 9.81) ** 0.5 / 500
    run = hf.simulate(hf.derive(hf.Problem(system, start=start)), hf.RK4, step=step, duration=500 * step)
    assert run.outcome.name == "completed"
    assert np.ptp(run["energy"]) < 1e-9 * abs(run["energy"][0])
    assert run["b_r33"][-1] == pytest.approx(0.7004798309, abs=1e-9)
