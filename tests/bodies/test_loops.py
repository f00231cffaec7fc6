"""Loops of bodies: where trees are cut, which rows hold them together, and their motion against plain numbers."""

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import holdfast as hf
from tests.bodies.mechanisms import UR5, bennett, stewart, ur5
from tests.bodies.newton_euler import Moving, mass_and_bias
from tests.bodies.random_trees import decimal, inertia, vector

CUT = {
    "revolute": (hf.Revolute, 5), "prismatic": (hf.Prismatic, 5), "cylindrical": (hf.Cylindrical, 4),
    "universal": (hf.Universal, 4), "spherical": (hf.Spherical, 3), "planar": (hf.Planar, 3),
}  # fmt: skip


SHARED = {
    "revolute": ("all", "across"), "prismatic": ("across", "all"), "cylindrical": ("across", "across"),
    "universal": ("all", "two"), "spherical": ("all", ""), "planar": ("along", "across"),
}  # fmt: skip


def random_loop(kind, seed):
    """A chain of seven hinges whose tip is held by one more joint; the ground carries its other half."""
    random = np.random.default_rng(seed)
    bodies, joints, moving, start = {}, {}, [], {}
    for k in range(7):
        axis = [(1, 0, 0), (0, 1, 0), (0, 0, 1)][k % 3]
        inner, m, turn = vector(random), inertia(random), (2, *vector(random))
        out = vector(random)
        bodies[f"b{k}"] = body = hf.Body(
            mass=decimal(random.uniform(0.5, 2)),
            center=vector(random),
            inertia=m,
            points={f"in{k}": inner, f"out{k}": out},
        )
        joints[f"q{k}"] = hf.Revolute(f"out{k - 1}" if k else "ground", f"in{k}", axis=axis, orientation=turn)
        start[f"q{k}"] = q = decimal(random.uniform(-2, 2))
        full = np.array([[m[0], m[3], m[4]], [m[3], m[1], m[5]], [m[4], m[5], m[2]]], float)
        outer = np.array(bodies[f"b{k - 1}"].points[f"out{k - 1}"], float) if k else np.zeros(3)
        steps = [("turn", np.array(axis, float), (k,), float(q))]
        numbers = (outer, np.array(inner, float), np.array(turn, float), steps, float(body.mass))
        moving.append(Moving(k - 1, *numbers, np.array(body.center, float), full))
    return bodies, joints, moving, start, np.array(vector(random), float)


def rows_of(kind, tip, axis, axis2):
    """Rates of the joint's rows by the coordinates, and their rates while nothing accelerates: b sits on the ground."""
    n, w, al = tip["Jv"].shape[1], tip["w"], tip["al"]
    a, b, c = np.eye(3)  # two directions across the axis (z), and along it
    places = {"across": [a, b], "along": [c]}.get(SHARED[kind][0], [a, b, c])
    J = [way @ tip["Jv"] for way in places]
    gamma = [way @ tip["a"] for way in places]
    turns = SHARED[kind][1]
    if turns == "across":
        J += [a @ tip["Jw"], b @ tip["Jw"]]
        gamma += [a @ al, b @ al]
    elif turns == "all":
        J += list(tip["Jw"])
        gamma += list(al)
    elif turns == "two":
        side = np.cross(axis, axis2)
        J += [side @ tip["Jw"]]
        gamma += [side @ al + axis2 @ np.cross(w, np.cross(w, axis))]
    return np.array(J).reshape(-1, n), np.array(gamma)


@pytest.mark.parametrize("kind", CUT)
@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.prove) for k in (1, 2))])
def test_a_random_loop_obeys_newton_and_euler(kind, seed):
    """The last joint in every kind, with its far half fixed where the tip stands."""
    bodies, joints, moving, start, gravity = random_loop(kind, 10 * seed + 3)
    _, _, placed = mass_and_bias(moving, np.zeros(7), gravity)
    end = placed[-1]
    tip_point = end["o"] + end["R"] @ np.array(bodies["b6"].points["out6"], float)
    # the axes of the tip as the ground sees them; the joint is aligned with the ground's axes there
    x, y, z, w = Rotation.from_matrix(end["R"]).inv().as_quat()
    axis, axis2 = np.array([0, 0, 1.0]), np.array([0, 0.6, 0.8]) if kind == "universal" else None
    more = {} if kind == "spherical" else {"axis": "z"}
    if kind == "universal":
        more["axis2"] = (0, 0.6, 0.8)
    joints["last"] = CUT[kind][0]("out6", "ground_point", orientation=(w, x, y, z), **more)
    # rates that keep the joint
    arm = end["R"] @ np.array(bodies["b6"].points["out6"], float)
    tip = {"Jw": end["Jw"], "Jv": end["Jv"] + np.cross(end["Jw"].T, arm).T}
    still = rows_of(kind, tip | {"w": np.zeros(3), "al": np.zeros(3), "a": np.zeros(3)}, axis, axis2)[0]
    free = np.linalg.svd(still)[2][np.linalg.matrix_rank(still) :]
    v = free.T @ np.random.default_rng(5).uniform(-1, 1, len(free))
    mass, bias, placed = mass_and_bias(moving, v, gravity)
    end = placed[-1]
    at = {"Jw": end["Jw"], "w": end["w"], "al": end["al"]}
    at["Jv"] = end["Jv"] + np.cross(end["Jw"].T, arm).T
    at["a"] = end["a"] + np.cross(end["al"], arm) + np.cross(end["w"], np.cross(end["w"], arm))
    J, gamma = rows_of(kind, at, axis, axis2)
    r = len(J)
    whole = np.block([[mass, -J.T], [J, np.zeros((r, r))]])
    exact = np.linalg.solve(whole, np.concatenate([bias, -gamma]))[:7]
    start |= {f"q{k}_dot": float(x) for k, x in enumerate(v)}
    system = hf.System(
        bodies=bodies, joints=joints, gravity=tuple(gravity), points={"ground_point": tuple(map(float, tip_point))}
    )
    values = hf.derive(hf.Problem(system, start=start)).evaluate()
    assert np.abs(values.deviation).max() < 1e-12
    assert np.abs(values.deviation_rate).max() < 1e-12
    assert len(values.deviation) == CUT[kind][1]
    assert np.abs(values.accelerations - exact).max() < 1e-9 * max(1, np.abs(exact).max())


def test_a_loop_of_four_twisted_bars_moves_though_its_rows_repeat_each_other():
    """Bennett's linkage: tan(q1/2) tan(q2/2) = 5, a₁ and q₁(1) by closed form and quadrature."""
    equations = hf.derive(bennett())
    values = equations.evaluate()
    assert equations.problem.system.frames.layout.cut == ("q4",)
    assert values.accelerations[0] == pytest.approx(-10.0755481047, abs=1e-9)
    run = hf.simulate(equations, hf.RK4, step=1e-4, duration=1)
    assert run["q1"][-1] == pytest.approx(-1.73332509, abs=1e-8)
    assert np.abs(np.tan(run["q1"] / 2) * np.tan(run["q2"] / 2) - 5).max() < 1e-6
    assert "not unique" in run.message


def test_a_platform_on_six_legs_of_two_bodies_to_its_figures():
    """13 bodies, five ball joints cut; legs after 1 s as Pinocchio's constraintDynamics has them (2026)."""
    equations = hf.derive(stewart())
    assert equations.problem.system.frames.layout.cut == ("top1", "top2", "top3", "top4", "top5")
    run = hf.simulate(equations, hf.RK4, step=1e-3, duration=1)
    assert run.outcome.name == "completed"
    assert [run["leg0"][-1], run["leg1"][-1]] == pytest.approx((0.79524023, 0.79715708), abs=2e-8)


def test_a_loop_in_the_plane_is_the_four_bar_of_its_energies():
    """Bars by bodies, against the same bars by energies in three angles."""
    rod = {n: hf.Body(mass=m, center=(x / 2, 0), inertia=m * x**2 / 12, points={f"{n}_end": (x, 0)})
           for n, x, m in (("crank", 1, 1), ("coupler", 3, 2), ("rocker", 2, 3))}  # fmt: skip
    joints = {
        "a": hf.Revolute("ground", "crank"),
        "b": hf.Revolute("crank_end", "coupler"),
        "c": hf.Revolute("pivot", "rocker"),
        "d": hf.Revolute("coupler_end", "rocker_end"),
    }
    law = hf.critically_damped(5)
    system = hf.System(bodies=rod, joints=joints, points={"pivot": (3, 0)}, gravity=(0, -9.81))
    start = {"a": 1.0, "a_dot": 2.0, "b": -0.7, "c": 1.6}
    bodies = hf.Problem(system, hf.Program(law=law), start=start)
    assert hf.loads(hf.dumps(bodies)) == bodies
    moved = hf.assemble_start(bodies, keep=("a", "a_dot")).problem
    run = hf.simulate(hf.derive(moved), hf.RK4, step=1e-3, duration=1)
    text = """schema = 1
[system]
coordinates = ["p", "q", "r"]
kinetic = "T1 + T2 + T3"
potential = "9.81*(C1.y + 2*C2.y + 3*C3.y)"
[points]
C1 = ["cos(p)/2", "sin(p)/2"]
B = ["cos(p)", "sin(p)"]
C2 = "B + [3*cos(q)/2, 3*sin(q)/2]"
C3 = ["3 + cos(r)", "sin(r)"]
D = ["3 + 2*cos(r)", "2*sin(r)"]
E = "B + [3*cos(q), 3*sin(q)]"
[definitions]
T1 = "(cos(p)**2 + sin(p)**2)*p_dot**2/8 + p_dot**2/24"
T2 = "ddt(cos(p) + 3*cos(q)/2)**2 + ddt(sin(p) + 3*sin(q)/2)**2 + 2*9*q_dot**2/24"
T3 = "3*r_dot**2/2 + 3*4*r_dot**2/24"
[program.holonomic]
across = "E.x - D.x"
up = "E.y - D.y"
[program.law]
kind = "critically-damped"
rate = 5
"""
    other = hf.loads(text)
    begin = {n: float(run[c][0]) for n, c in (("p", "a"), ("r", "c"), ("p_dot", "a_dot"), ("r_dot", "c_dot"))}
    begin |= {"q": float(run["coupler_angle"][0]), "q_dot": float(run["coupler_w"][0])}
    stated = hf.simulate(hf.derive(other), hf.RK4, step=1e-3, duration=1, start=begin)
    assert np.abs(run["a"] - stated["p"]).max() < 1e-9
    assert np.abs(run["coupler_angle"] - stated["q"]).max() < 1e-9
    assert np.abs(run["lambda_d_p1"] - stated["lambda_across"]).max() < 1e-6
    assert np.abs(run["energy"] - stated["energy"]).max() < 1e-8


def test_a_platform_is_put_together_from_rough_places():
    """All legs guessed 0.2 rad and 0.1 m off, the plate turned by 0.3 rad: every one is assembled."""
    rough, random = stewart(), np.random.default_rng(1)
    equations = hf.derive(rough)
    for _ in range(3):
        start = {name: float(value) for name, value in rough.start.items() if not name.endswith("_dot")}
        for name in start:
            start[name] += random.uniform(-0.2, 0.2) if "foot" in name else 0.0
            start[name] += random.uniform(-0.1, 0.1) if "leg" in name else 0.0
        for k in range(4):
            del start[f"top0_e{k}"]
        start["top0"] = (1, *random.uniform(-0.15, 0.15, 3))
        found = hf.assemble_start(hf.Problem(rough.system, rough.program, start=start), places=1)
        assert np.abs(equations.evaluate(dict(found.start)).deviation).max() < 1e-12
        assert sum(found.start[f"top0_e{k}"] ** 2 for k in range(4)) == pytest.approx(1, abs=1e-14)


def roughly(seed):
    """An arm of six joints, every body by itself and 0.4 off in each coordinate."""
    arm = ur5().system
    run = hf.simulate(hf.derive(ur5()), hf.RK4, step=1e-9, duration=1e-9)
    chance, start = np.random.default_rng(seed), {}
    for body in arm.bodies:
        axes = np.array([[run.at(f"{body}_r{i}{j}")[0] for j in (1, 2, 3)] for i in (1, 2, 3)])
        x, y, z, w = Rotation.from_matrix(axes).as_quat() + 0.4 * chance.standard_normal(4)
        start[body] = (w, x, y, z)
        start |= {f"{body}_{c}": run.at(f"{body}_{c}")[0] + 0.4 * chance.standard_normal() for c in "xyz"}
    system = hf.System(
        bodies=arm.bodies, joints=arm.joints, gravity=(0, 0, -9.81), points={"base": UR5[0][1]}, placing="absolute"
    )
    return hf.Problem(system, hf.Program(law=hf.critically_damped(10)), start=start)


@pytest.mark.prove
@pytest.mark.parametrize("seed", range(20))
def test_an_arm_is_put_together_from_bodies_thrown_about(seed):
    """All of 20: Newton's iteration alone put 7 together. A quaternion is rounded by its length, not by a part."""
    found = hf.assemble_start(roughly(seed), places=0)
    equations = hf.derive(found.problem)
    assert np.abs(equations.evaluate().deviation).max() < 1e-12
    assert hf.simulate(equations, hf.RK4, step=1e-3, duration=2e-3).outcome.name == "completed"


def test_a_hinge_is_put_together_from_a_body_thrown_about():
    """Free, with its hinge cut: parts of its quaternion that the hinge holds at 0 are judged beside its length."""
    rod = hf.Body(mass=1, center=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01), points={"top": (0, 0, 0.5)})
    system = hf.System(bodies={"rod": rod}, joints={"pin": hf.Revolute("ground", "top", axis="x")}, placing="absolute")
    start = {"rod": (0.9, 0.4, 0.3, -0.2), "rod_x": 0.4, "rod_z": 0.1}
    rough = hf.Problem(system, hf.Program(law=hf.critically_damped(10)), start=start)
    found = hf.assemble_start(rough, places=1)
    assert np.abs(hf.derive(found.problem).evaluate().deviation).max() < 1e-13


def test_joints_that_cannot_close_are_named():
    """Bars of 1, 1 and 1 m do not span 4 m."""
    bars = {n: hf.Body(mass=1, center=(0.5, 0), inertia=0.1, points={f"{n}_end": (1, 0)}) for n in ("p", "q", "r")}
    joints = {"a": hf.Revolute("ground", "p"), "b": hf.Revolute("p_end", "q"), "c": hf.Revolute("q_end", "r")}
    joints["last"] = hf.Revolute("r_end", "far")
    system = hf.System(bodies=bars, joints=joints, points={"far": (4, 0)}, gravity=(0, -9.81))
    with pytest.raises(hf.BadRequest, match=r"'last_p1', so that the joint 'last' cannot close: it stays off by -"):
        hf.assemble_start(hf.Problem(system, hf.Program(law=hf.critically_damped(5)), start={"a": 0.3}), places=4)


def test_what_a_start_leaves_out_turns_quaternions_onto_the_program():
    """A body on a ball joint with its tip held at a height: only the turn is open, and it is found."""
    body = hf.Body(mass=1, center=(0, 0, 0.5), inertia=(1, 1, 1), points={"tip": (0, 0, 1)})
    system = hf.System(bodies={"b": body}, joints={"foot": hf.Spherical("ground", "b")}, gravity=(0, 0, -9.81))
    program = hf.Program(holonomic={"high": "tip.z - 0.8"}, law=hf.critically_damped(5))
    tilted = {"foot": hf.turned("x", 0.3)}
    run = hf.simulate(
        hf.derive(hf.Problem(system, program, start=tilted)), hf.RK4, step=1e-3, duration=1, start_policy="project"
    )
    assert np.abs(run["tip_z"] - 0.8).max() < 1e-9
    assert run.outcome.name == "completed"
    with pytest.raises(hf.HoldfastError, match="high"):
        hf.simulate(hf.derive(hf.Problem(system, program, start=tilted)), hf.RK4, step=1e-3, duration=1)


def door(high=(0, 0, 1)):
    body = hf.Body(mass=1, center=(0.5, 0, 0), inertia=(1, 1, 1), points={"low": (0, 0, -1), "top": (0, 0, 1)})
    joints = {"a": hf.Revolute("l", "low", axis="z"), "b": hf.Revolute("h", "top", axis="z")}
    points = {"l": (0, 0, -1), "h": high}
    return hf.System(bodies={"door": body}, joints=joints, points=points, gravity=(0, -1, 0))


def test_a_door_hangs_on_two_hinges():
    """What the first hinge keeps already gives no row, and that is said; a hinge elsewhere cannot close."""
    problem = hf.Problem(door(), start={"a": 0.3})
    assert hf.loads(hf.dumps(problem)) == problem
    equations = hf.derive(problem)
    assert equations.constraints == ()
    assert equations.evaluate().accelerations[0] == pytest.approx(-0.5 * np.cos(0.3) / 1.25, rel=1e-12)
    assert "kept by the rest already: b_p1, b_p2, b_p3, b_r1, b_r2" in equations.summary()
    with pytest.raises(hf.BadStatement, match="'b' cannot close: 'b_p3' stays at"):
        door(high=(0, 0, 1.1))


def test_six_legs_by_their_lengths_find_their_forces():
    """The Stewart platform of the examples, a plate alone: forces by closed form at the start and after 1 s."""
    problem = hf.load(Path(hf.__file__).parent / "examples" / "stewart.toml")
    equations = hf.derive(problem)
    figures = (22.15039196, 22.15039196, 14.22221077, 19.6470486, 19.6470486, 14.22221077)
    assert equations.evaluate().controls == pytest.approx(figures, abs=1e-8)
    run = hf.simulate(equations, hf.RK4, step=1e-3, duration=1)
    assert run["F1"][-1] == pytest.approx(23.07690575, abs=1e-7)


def test_places_and_spins_stand_in_expressions():
    """distance, angle and omega, in the plane and in space; names of quantities come before them."""
    body = hf.Body(mass=1, center=(0, 0, 1), inertia=(1, 1, 1), points={"tip": (0, 0, 2)}, spin=(0.1, 0.2, 0.3))
    system = hf.System(bodies={"b": body}, points={"p": (3, 0, 2)})
    run = hf.simulate(hf.derive(hf.Problem(system)), hf.RK4, step=1, duration=1)
    assert run["distance(p, tip)"][0] == 3
    assert run["angle(tip, p)"][0] == pytest.approx(np.arctan2(3, 2), rel=1e-12)
    assert run["dot(omega(b), omega(b))"][0] == pytest.approx(0.14, rel=1e-12)
    flat = hf.Body(mass=1, inertia=1, points={"tip": (0, 2)}, spin=0.5)
    system = hf.System(bodies={"b": flat}, points={"p": (3, 0)})
    run = hf.simulate(hf.derive(hf.Problem(system)), hf.RK4, step=1, duration=1)
    assert run["angle(p, tip)"][0] == pytest.approx(np.pi / 2, rel=1e-12)
    assert run["omega(b)"][0] == 0.5
    omega, x = hf.parameters("omega"), hf.coordinates("x")
    named = hf.System(coordinates=x, kinetic=x.rate**2 / 2, potential="omega**2*x**2/2", parameters={omega: 2})
    assert hf.derive(hf.Problem(named, start={x: 1})).evaluate().accelerations[0] == -4
