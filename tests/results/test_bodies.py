"""Bodies of the moving picture: stated by points, numbers, parameters and columns; what cannot be drawn is said."""

import numpy as np
import pytest

import holdfast as hf
from holdfast.results.bodies import plain_bodies
from holdfast.results.motion import motion_of

TEXT = """schema = 1
[system]
coordinates = ["x"]
kinetic = "m*x_dot**2/2"
[points]
O = ["0", "0"]
cart = ["x", "0"]
[parameters]
m = 1
size = 0.3
[program.holonomic]
path = "x - sin(t)"
[program.controls]
F = { x = "1" }
[start]
x_dot = 1
[run]
scheme = "rk4"
step = 0.05
duration = 2
[animation]
"""


def drawn(table):
    run = hf.simulate(hf.derive(hf.loads(TEXT + table)))
    return run, motion_of(run)


def test_every_kind_of_body_is_drawn():
    table = """
circle = [{ at = "O", radius = "size" }]
box = [{ at = "cart", width = 0.4, height = 0.2 }]
wheel = [{ at = "cart", radius = 0.1, angle = "x" }]
ground = [{ y = -0.1 }]
spring = [["O", "cart"]]
damper = [["O", "cart"]]
arrow = [{ at = "cart", x = "F" }]
follow = "cart"
"""
    _, motion = drawn(table)
    assert not motion.complaints
    assert [body["kind"] for body in motion.bodies] == "ground circle box wheel spring damper arrow".split()
    assert motion.follow == 1
    assert next(body for body in motion.bodies if body["kind"] == "circle")["radius"] == 0.3
    left, bottom, right, top = motion.box
    assert left <= -0.3
    assert right >= 1.19
    assert bottom <= -0.3
    assert top >= 0.3


def test_arrows_have_one_scale_the_largest_force_of_the_run():
    run, motion = drawn('arrow = [{ at = "cart", x = "F" }, { at = "O", y = 0.25 }]')
    first, second = (body for body in motion.bodies if body["kind"] == "arrow")
    longest = float(np.abs(run["F"]).max())
    assert first["longest"] == second["longest"] == pytest.approx(longest)
    assert np.abs(first["x"]).max() == pytest.approx(1.0)
    assert second["y"][0] == pytest.approx(0.25 / longest)


@pytest.mark.parametrize(
    "table",
    ['circle = [{ at = "nobody", radius = 1 }]', 'circle = [{ at = "O", radius = "nothing" }]', 'circle = ["O"]',
     'circle = [{ at = "O" }]', 'spring = [["O"]]', "spring = [1]", 'arrow = [{ at = "O" }]',
     'arrow = [{ at = "O", x = "nobody" }]', 'follow = "nobody"', "cube = 1",
     "ground = [{ y = true }]"],
)  # fmt: skip
def test_what_cannot_be_drawn_is_said_and_the_rest_is_drawn(table):
    _, motion = drawn(table)
    assert motion.complaints
    assert all("[animation]" in text for text in motion.complaints)
    assert plain_bodies(motion.bodies) == []
    assert len(motion.frames) > 2


def test_many_moving_points_leave_one_trace():
    points = "".join(f'P{k} = ["x + {k}", "0"]\n' for k in range(9))
    text = TEXT.replace("[parameters]", points + "[parameters]")
    motion = motion_of(hf.simulate(hf.derive(hf.loads(text))))
    assert motion.traces == (len(motion.names) - 1,)
