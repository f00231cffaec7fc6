"""Bodies and joints as they are stated: names, trees, files, errors with their places."""

from dataclasses import replace

import pytest
import sympy as sp

import holdfast as hf

m, l, A, C = hf.parameters("m l A C")

TOP = """schema = 1
[system]
gravity = [0, 0, -9.81]
[bodies.top]
mass = "m"
center = [0, 0, "l"]
inertia = ["A", "A", "C"]
points = { tip = [0, 0, "2*l"] }
[joints.foot]
kind = "spherical"
between = ["ground", "top"]
[parameters]
m = 1
l = 0.5
A = 0.05
C = 0.1
[start]
foot = { axis = "x", angle = "pi/6" }
foot_spin = [0.3, -0.2, 20]
"""


def top(**changed):
    return hf.System(
        bodies={"top": hf.Body(mass=m, center=(0, 0, l), inertia=(A, A, C), points={"tip": (0, 0, 2 * l)})},
        joints={"foot": hf.Spherical("ground", "top")},
        gravity=(0, 0, -9.81),
        parameters={m: 1, l: 0.5, A: 0.05, C: 0.1},
        **changed,
    )


def rods(*names, joints=None, **more):
    bodies = {name: hf.Body(mass=1, center=(0, -0.5), inertia=0.1, points={f"{name}_end": (0, -1)}) for name in names}
    return hf.System(bodies=bodies, joints=joints or {}, gravity=(0, -9.81), **more)


def test_a_ball_joint_gives_three_coordinates_and_a_quaternion():
    system = top()
    assert [c.name for c in system.coordinates] == ["foot_turn_x", "foot_turn_y", "foot_turn_z"]
    assert list(system.states) == ["foot_e0", "foot_e1", "foot_e2", "foot_e3"]
    assert "tip" in system.points
    assert "top_wz" in system.definitions


def test_the_norm_of_a_quaternion_has_a_law_of_its_own():
    """y = (|p|² − 1)/2 obeys y' = −κ y (1 + 2y)."""
    system = top(norm_rate=sp.Rational(3, 2))
    p = [hf.states(name) for name in system.states]
    rate = sum(x * r for x, r in zip(p, system.states.values(), strict=True))
    y = (sum(x**2 for x in p) - 1) / 2
    assert sp.expand(rate + sp.Rational(3, 2) * y * (1 + 2 * y)) == 0


def test_a_file_states_the_same_as_python_and_is_written_back():
    problem = hf.loads(TOP)
    stated = hf.Problem(top(), start={"foot": hf.turned("x", sp.pi / 6), "foot_spin": (0.3, -0.2, 20)})
    assert problem == stated
    assert hf.loads(hf.dumps(stated)) == stated
    assert "[bodies.top]" in hf.dumps(stated)
    assert "top_r11" not in hf.dumps(stated)


def test_other_bodies_in_a_system_leave_nothing_of_the_first():
    system = top()
    other = replace(system, bodies={"disc": hf.Body(mass=1, inertia=(1, 1, 1))}, joints={})
    assert [c.name for c in other.coordinates][:3] == ["disc_x", "disc_y", "disc_z"]
    assert not any(name.startswith(("foot", "top", "tip")) for name in (*other.states, *other.definitions))


def test_loops_are_cut_where_freedoms_are_most():
    joints = {
        "ball": hf.Spherical("b_end", "c_end"),
        "one": hf.Revolute("ground", "a"),
        "two": hf.Revolute("a_end", "b"),
        "three": hf.Revolute("ground", "c"),
    }
    bodies = {n: hf.Body(mass=1, center=(0, 0, 1), inertia=(1, 1, 1), points={f"{n}_end": (0, 0, 2)}) for n in "abc"}
    for name in ("one", "two", "three"):
        joints[name] = replace(joints[name], axis=(0, 1, 0))
    layout = hf.System(bodies=bodies, joints=joints).frames.layout
    assert layout.cut == ("ball",)
    assert layout.coordinates == ("one", "two", "three")
    assert "cut open at ball" in str(layout)


def test_a_body_without_a_joint_is_free():
    system = rods("a")
    assert [c.name for c in system.coordinates] == ["a_x", "a_y", "a_angle"]


def test_a_free_body_starts_where_it_says():
    body = hf.Body(mass=1, inertia=(1, 2, 3), position=(1, 2, 3), orientation=(2, 0, 0, 0), spin=(0, 0, 4))
    start = hf.Problem(hf.System(bodies={"b": body})).start
    assert (start["b_y"], start["b_e0"], start["b_turn_z_dot"]) == (2, 1, 4)


def test_quarter_turns_cut_at_many_digits_are_quarter_turns():
    assert hf.turned("y", 1.57079632679) == hf.turned("y", sp.pi / 2)
    assert hf.turned(rpy=(0, 0, 1.5)) == hf.turned("z", 1.5)
    assert hf.turned("x", 1.5707) != hf.turned("x", sp.pi / 2)


BAD = [
    ('kind = "spherical"', 'kind = "sphericle"', "sphericle", 10),
    ('between = ["ground", "top"]', 'between = ["ground", "tap"]', "tap", 11),
    ('between = ["ground", "top"]', 'between = ["ground"]', "between two", 11),
    ('mass = "m"', 'mas = "m"', "mas", 5),
    ('mass = "m"', "mass = -1", "-1", 5),
    ('center = [0, 0, "l"]', 'center = [0, "l"]', "plane", 0),
    ('center = [0, 0, "l"]', 'center = [0, 0, "ll"]', "ll", 6),
    ("foot_spin = [0.3, -0.2, 20]", "foot_spin = [0.3, -0.2]", "3 components", 19),
    ("gravity = [0, 0, -9.81]", "gravity = 9.81", "list of numbers", 3),
]


@pytest.mark.parametrize(("old", "new", "word", "line"), BAD)
def test_what_is_wrong_is_said_with_its_line(old, new, word, line):
    assert old in TOP
    with pytest.raises(hf.BadFile) as caught:
        hf.loads(TOP.replace(old, new))
    found = caught.value.findings[0]
    assert word in str(caught.value)
    assert found.line == line or not line


def test_slips_in_python_are_said_by_name():
    with pytest.raises(hf.BadStatement, match="no body and no point"):
        rods("a", joints={"pin": hf.Revolute("ground", "b")})
    with pytest.raises(hf.BadStatement, match="needs an axis"):
        hf.System(bodies={"b": hf.Body(mass=1, inertia=(1, 1, 1))}, joints={"pin": hf.Revolute("ground", "b")})
    with pytest.raises(hf.BadStatement, match="both ends"):
        rods("a", joints={"pin": hf.Revolute("a", "a_end")})
    with pytest.raises(hf.BadStatement, match="length 5"):
        hf.Problem(top(), start={"foot_e0": 5})
    body = hf.Body(mass=1, inertia=1, position=(0, 1))
    with pytest.raises(hf.BadStatement, match="carried by the joint"):
        hf.Problem(hf.System(bodies={"b": body}, joints={"pin": hf.Revolute("ground", "b")}))
    twice = {n: hf.Body(mass=1, inertia=(1, 1, 1), points={"p": (0, 0, 1)}) for n in "ab"}
    with pytest.raises(hf.BadStatement, match="'p' is given twice"):
        hf.System(bodies=twice)
    with pytest.raises(hf.BadStatement, match="no body has this inertia"):
        hf.System(bodies={"b": hf.Body(mass=1, inertia=(1, 1, 1, 5, 0, 0))})
    with pytest.raises(hf.BadStatement, match="the ground is no body"):
        hf.System(bodies={"ground": hf.Body(mass=1, inertia=(1, 1, 1))})
    with pytest.raises(hf.BadStatement, match="no vector"):
        hf.System(bodies={"b": hf.Body(mass=1, inertia=(1, 1, 1))}, gravity=9.81)
    with pytest.raises(hf.BadStatement, match="given twice"):
        top(coordinates=hf.coordinates("tip x"))
