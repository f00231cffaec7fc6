"""What a second attack on bodies found false: each case once, against plain numbers."""

import pytest

import holdfast as hf

HANGING = """schema = 1
[system]
gravity = [0, 0, -9.81]
[bodies.arm]
mass = 1
center = [0, 0, -1]
[joints.j]
kind = "revolute"
between = ["hip", "arm"]
axis = "y"
[parameters]
R = 2
[points]
toe = [1e-3, 0, 0]
hip = HIP
"""


@pytest.mark.parametrize(
    ("hip", "expected"),
    [
        ('["R*cos(2*pi/3)", 0, 0]', -1.0),
        ('["1e1*R", 0, 0]', 20.0),
        ('["toe.x + R", 0, 0]', 2.001),
        ('["distance(toe, [0, 0, 0])", 0, 0]', 1e-3),
        ('"toe + [dot([R, 0, 0], [1, 0, 0]), 0, 0]"', 2.001),
    ],
)
def test_a_point_of_the_ground_is_any_constant(hip, expected):
    """Points with pi, powers of ten, components and products of vectors were not taken for points that stand still."""
    run = hf.simulate(hf.derive(hf.loads(HANGING.replace("HIP", hip))), step=0.1, duration=0.1)
    assert run["arm_x"][0] == pytest.approx(expected, abs=1e-15)
