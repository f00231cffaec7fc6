"""A wheel that rolls, held to a wall by a spring and a damper and pushed by a control: every body of [animation]."""

import holdfast as hf

ROLLING = """
schema = 1
title = "A wheel between spring and damper"
[system]
coordinates = ["x", "phi"]
kinetic = "m*x_dot**2/2 + m*R**2*phi_dot**2/4"
potential = "k*(x - 1)**2/2"
dissipation = "c*x_dot**2/2"
[system.forces]
x = "push*sin(3*t)"
[parameters]
m = 1
R = 0.25
k = 20
c = 0.4
push = 3
[definitions]
pushed = "push*sin(3*t)"
[points]
wall = ["-0.5", "R"]
post = ["2.6", "R"]
hub = ["x", "R"]
[program.holonomic]
rolls = "x + R*phi"
[program.law]
kind = "spring-damper"
stiffness = 400
damping = 40
[start]
x = 1.4
[animation]
links = []
wheel = [{ at = "hub", radius = "R", angle = "phi" }]
spring = [["wall", "hub"]]
damper = [["post", "hub"]]
box = [{ at = "wall", width = 0.06, height = 0.5 }, { at = "post", width = 0.06, height = 0.5 }]
ground = [{ y = 0 }]
arrow = [{ at = "hub", x = "lambda_rolls" }]
follow = "hub"
[run]
scheme = "rk4"
step = 0.005
duration = 4
"""


def rolling():
    return hf.derive(hf.loads(ROLLING))
