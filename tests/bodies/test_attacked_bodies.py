"""What attacks on bodies and joints found false: each case once, against plain numbers."""

import time

import numpy as np
import pytest

import holdfast as hf
from tests.bodies.newton_euler import _move, about, mass_and_bias
from tests.bodies.random_trees import random_tree

PARTS = ("fx", "fy", "fz", "mx", "my", "mz")


def passed_on(equations, joint):
    run = hf.simulate(equations, "rk4", step=1e-5, duration=1e-5)
    return np.array([float(run[f"{joint}_{part}"][0]) for part in PARTS])


def test_a_load_beside_a_slider_is_felt_as_a_moment():
    """The axes of a slider never turn, and a load at its tip pushes on its guide all the same."""
    cart = hf.Body(mass=2, inertia=(0.1, 0.2, 0.3), points={"tip": (0.3, 0.5, 0.7)})
    system = hf.System(
        bodies={"cart": cart},
        joints={"s": hf.Prismatic("ground", "cart", axis="x")},
        gravity=(0, 0, -9.81),
        potential="50*((tip_x - 2)**2 + (tip_y - 1)**2 + (tip_z - 3)**2)",
    )
    force = -100 * np.array([0.5 - 2, 0.5 - 1, 0.7 - 3])
    moment = np.cross([0.3, 0.5, 0.7], force)
    found = passed_on(hf.derive(hf.Problem(system, start={"s": 0.2})), "s")
    assert found == pytest.approx([0, -force[1], 2 * 9.81 - force[2], *-moment], abs=1e-9)


@pytest.mark.parametrize("seed", [2, 5, 6, 9, 21])
def test_joints_of_a_loaded_random_tree_pass_on_what_newton_and_euler_say(seed):
    count = 4
    stated, moving, rates, gravity = random_tree(seed, count)
    force, tip = np.array([1.5, -2.0, 0.5]), f"b{count - 1}_out0"
    offset = np.array(stated.system.bodies[f"b{count - 1}"].points[tip], float)
    potential = f"-1.5*{tip}_x + 2*{tip}_y - 0.5*{tip}_z"
    parts = {"bodies": stated.system.bodies, "joints": stated.system.joints, "gravity": stated.system.gravity}
    equations = hf.derive(hf.Problem(hf.System(**parts, potential=potential), start=stated.start))
    M, h, placed = mass_and_bias(moving, np.array(list(rates.values())), gravity)
    loaded = dict(placed[-1])
    _move(loaded, loaded["R"] @ offset)
    a = np.linalg.solve(M, h + loaded["Jv"].T @ force)
    for i in range(count):
        if f"j{i}_fx" in equations.observables:
            wanted = _wrench(moving, placed, a, gravity, i, (loaded["o"], force))
            assert passed_on(equations, f"j{i}") == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def _wrench(moving, placed, a, gravity, joint, load):
    """Force and moment on all that a joint carries, at the joint, in the axes of its body."""
    R, at = placed[joint]["R"], placed[joint]["o"] + placed[joint]["R"] @ moving[joint].inner
    force, moment = np.zeros(3), np.zeros(3)
    for k, body in enumerate(moving):
        carried = k
        while carried >= 0 and carried != joint:
            carried = moving[carried].carrier
        if carried != joint:
            continue
        now = dict(placed[k])
        _move(now, now["R"] @ body.center)
        inertia, w = now["R"] @ body.inertia @ now["R"].T, now["w"]
        push = body.mass * (now["Jv"] @ a + now["a"] - gravity)
        turning = inertia @ (now["Jw"] @ a + now["al"]) + np.cross(w, inertia @ w)
        force, moment = force + push, moment + turning + np.cross(now["o"] - at, push)
        if k == len(moving) - 1:
            force, moment = force - load[1], moment - np.cross(load[0] - at, load[1])
    return np.concatenate([R.T @ force, R.T @ moment])


def test_all_axes_of_a_body_have_names():
    system = hf.System(
        bodies={"arm": hf.Body(mass=1, inertia=(1, 1, 1))},
        joints={"h": hf.Revolute("ground", "arm", axis="z")},
        potential="arm_r33 + arm_r12",
    )
    assert hf.derive(hf.Problem(system)).evaluate().accelerations == pytest.approx([1])


def four_bar(size, far=None):
    rods = {
        name: hf.Body(mass=1, center=(f"{k}*L/2", 0), inertia=f"({k}*L)**2/12", points={f"{name}_end": (f"{k}*L", 0)})
        for name, k in (("crank", 1), ("coupler", 3), ("rocker", 2))
    }
    if far is not None:
        rods["satellite"] = hf.Body(mass=1, inertia=1, points={"antenna": (far, 0)})
    joints = {
        "a": hf.Revolute("ground", "crank"),
        "b": hf.Revolute("crank_end", "coupler"),
        "c": hf.Revolute("pivot", "rocker"),
        "d": hf.Revolute("coupler_end", "rocker_end"),
    }
    return hf.System(bodies=rods, joints=joints, points={"pivot": ("3*L", 0)}, parameters={"L": size})


@pytest.mark.parametrize(("size", "far"), [(1e-9, None), (1e9, None), (1, 1e12), (1e-3, 1e6)])
def test_a_loop_stays_closed_in_any_unit_and_beside_anything(size, far):
    """Rows of a loop of a nanometre, or beside a satellite, were taken for rows that nothing can change."""
    assert four_bar(size, far).rows.names == ("d_p1", "d_p2")
    assert four_bar(size, far).rows.idle == ()


def test_a_row_that_rests_at_stated_parameters_only_is_kept():
    """A crank of length 0 moves nothing; the same crank in a run with another length does."""
    bodies = {
        "crank": hf.Body(mass=1, inertia=1, points={"pin": ("r", 0)}),
        "block": hf.Body(mass=1, inertia=1),
    }
    joints = {"a": hf.Revolute("ground", "crank"), "b": hf.Prismatic("ground", "block", axis="x")}
    joints |= {"c": hf.Revolute("pin", "block")}
    system = hf.System(bodies=bodies, joints=joints, parameters={"r": 0})
    assert system.rows.names == ("c_p1", "c_p2")


@pytest.mark.parametrize("turn", [(0, 1, 0, 0), {"rpy": (0.5, 0, 0)}, hf.turned("y", 0.1)])
def test_a_turn_out_of_the_plane_is_refused(turn):
    """Places ignored it, and masses did not."""
    body = {"mass": 1, "inertia": 1, "center": (1, 0)}
    with pytest.raises(hf.BadStatement, match="leaves the plane"):
        hf.System(bodies={"b": hf.Body(**body)}, joints={"j": hf.Revolute("ground", "b", orientation=turn)})
    with pytest.raises(hf.BadStatement, match="leaves the plane"):
        hf.System(bodies={"b": hf.Body(**body, orientation=turn)})


def test_the_turn_of_a_ball_joint_that_names_its_carrier_last_is_refused():
    """Hinges keep their meaning when a tree takes them backward; a quaternion became that of the other body."""
    body = hf.Body(mass=1, inertia=(1, 2, 3))
    for joint, name in ((hf.Spherical("b", "ground"), "j"), (hf.Free("b", "ground"), "j_spin")):
        system = hf.System(bodies={"b": body}, joints={"j": joint})
        value = hf.turned("x", 0.3) if name == "j" else (1, 2, 3)
        with pytest.raises(hf.BadStatement, match="names first"):
            hf.Problem(system, start={name: value})
        hf.Problem(system, start={"j_e0": 1})


# ── files of other tools ──────────────────────────────────────────────────────────────────────────

LINK = '<inertial pos="0 0 .5" mass="1" diaginertia="1 1 1"/>'
ARM = f'<body name="b" pos="0 0 1" euler="0.5 0 0"><joint name="j" axis="1 0 0"/>{LINK}</body>'


def mjcf(folder, inside):
    path = folder / "robot.xml"
    path.write_text(f"<mujoco>{inside}</mujoco>")
    return hf.read_mjcf(path)


def test_sections_of_a_robot_may_be_repeated(tmp_path):
    """A second compiler was ignored, so that radians became degrees; a second worldbody was lost without a word."""
    one = mjcf(tmp_path, f'<compiler angle="radian"/><worldbody>{ARM}</worldbody>')
    other = f'<body name="c"><freejoint/>{LINK}</body>'
    compilers = '<compiler eulerseq="xyz"/><compiler angle="radian"/>'
    found = mjcf(tmp_path, f"{compilers}<worldbody>{ARM}</worldbody><worldbody>{other}</worldbody>")
    assert found.joints["j"] == one.joints["j"]
    assert list(found.bodies) == ["b", "c"]
    with pytest.raises(hf.BadFile, match="has an inertia and no mass"):
        mjcf(tmp_path, "<worldbody>" + ARM.replace('mass="1"', 'mass="0"') + "</worldbody>")


def urdf(folder, body, joint):
    inertia = '<inertia ixx="1" iyy="1.5" izz="2" ixy="0.1" ixz="-0.05" iyz="0.02"/>'
    link = f'<inertial><origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/><mass value="2"/>{inertia}</inertial>'
    ends = f'<parent link="base"/><child link="{body}"/><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="0 1 1"/>'
    path = folder / "robot.urdf"
    path.write_text(
        f'<robot name="r"><link name="base"/><link name="{body}">{link}</link>'
        f'<joint name="{joint}" type="revolute">{ends}</joint></robot>'
    )
    return hf.read_urdf(path)


def test_an_inertia_in_turned_axes_is_read_at_once(tmp_path):
    """Products of sines were expanded: seconds a link. Its three angles are no fractions of a circle."""
    began = time.perf_counter()
    moments = [float(part) for part in urdf(tmp_path, "b", "j").bodies["b"].inertia]
    assert time.perf_counter() - began < 3
    turn = about((0, 0, 1), 0.6) @ about((0, 1, 0), 0.5) @ about((1, 0, 0), 0.4)
    whole = turn @ np.array([[1, 0.1, -0.05], [0.1, 1.5, 0.02], [-0.05, 0.02, 2]]) @ turn.T
    wanted = [whole[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    assert moments == pytest.approx(wanted, abs=1e-14)


@pytest.mark.parametrize("name", ["dot", "lambda", "class", "sin", "x_dot", "R", "deviation_norm"])
def test_any_name_of_a_robot_becomes_one_of_a_problem(tmp_path, name):
    assert len(urdf(tmp_path, name, "j").bodies) == len(urdf(tmp_path, "b", name).joints) == 1


def test_a_point_that_is_nowhere_is_refused():
    with pytest.raises(hf.BadStatement, match="None is not a vector"):
        hf.System(bodies={"a": hf.Body(mass=1, inertia=(1, 1, 1), points={"p": None})})


@pytest.mark.parametrize(("spin", "step", "duration"), [(2.0, 1.0, 20_000.0), (2.0, 0.01, 10.0), (1000.0, 0.01, 10.0)])
def test_a_turn_that_steps_do_not_follow_is_told(spin, step, duration):
    """The quaternion shrinks or grows with steps that are too long for the spin: its turns are wrong by then."""
    body = hf.Body(mass=1, inertia=(1, 1, 1), spin=(0, 0, spin))
    run = hf.simulate(hf.derive(hf.Problem(hf.System(bodies={"b": body}))), hf.RK4, step=step, duration=duration)
    followed = spin * step < 0.1
    assert run.success == followed
    assert followed or "the turn is wrong" in run.message


def test_a_weld_is_closed_by_its_own_turn_and_no_other():
    """Entries of C vanish at turns of 120 degrees, too, and C − Cᵀ at half a turn; 2 tan(θ/2) n at none."""
    system = hf.System(
        bodies={"a": hf.Body(mass=1, inertia=(1, 2, 3))}, joints={"foot": hf.Weld("ground", "a")}, placing="absolute"
    )
    start = {"a_e0": 1.0, "a_e1": 1.0, "a_e2": 1.0, "a_e3": 0.9}
    length = np.sqrt(sum(part**2 for part in start.values()))
    found = hf.assemble_start(hf.Problem(system, start={name: part / length for name, part in start.items()}))
    assert abs(found.start["a_e0"]) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("along", [0, 1], ids=["beside", "above"])
def test_a_door_whose_hinges_do_not_line_up_is_refused_at_its_run(along):
    """At `off` = 0 one of two hinges holds nothing; at others it cannot close, whether its row was left out or not."""
    off = hf.parameters("off")
    high = (0, 0, 2 + off) if along else (off, 0, 2)
    door = hf.Body(mass=1, center=(0.5, 0, 0), inertia=(1, 1, 1), points={"low": (0, 0, 0), "high": high})
    joints = {"a": hf.Revolute("ground", "low", axis="z"), "b": hf.Revolute("top", "high", axis="z")}
    system = hf.System(bodies={"door": door}, joints=joints, points={"top": (0, 0, 2)}, parameters={off: 0})
    equations = hf.derive(hf.Problem(system, start={"a_dot": 1.0}))
    assert hf.simulate(equations, hf.RK4, step=0.01, duration=0.1, parameters={"off": 0}).success
    with pytest.raises(hf.HoldfastError, match="cannot close" if along else "deviates from 'b_p1'"):
        hf.simulate(equations, hf.RK4, step=0.01, duration=0.1, parameters={"off": 0.1})
