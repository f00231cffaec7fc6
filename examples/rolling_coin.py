"""How fast must a disc of half a metre roll to stay upright?  At sqrt(g/(3 R)) = 2.557 rad/s or more: else it falls."""

import numpy as np
import sympy as sp

import holdfast as hf

x, y, heading, lean, turn = hf.coordinates("x y heading lean turn")
m, g, R = hf.parameters("m g R")

ahead = sp.Matrix([sp.cos(heading), sp.sin(heading), 0])
up = sp.Matrix([sp.sin(heading) * sp.sin(lean), -sp.cos(heading) * sp.sin(lean), sp.cos(lean)])  # contact to centre
axle = ahead.cross(up)
spin = heading.rate * sp.Matrix([0, 0, 1]) + lean.rate * ahead + turn.rate * axle
rolling = spin.cross(R * up)  # the velocity of the centre
turning = spin.dot(ahead) ** 2 / 4 + spin.dot(up) ** 2 / 4 + spin.dot(axle) ** 2 / 2
disc = hf.System(
    coordinates=(x, y, heading, lean, turn),
    kinetic=m * (x.rate**2 + y.rate**2 + (R * lean.rate * sp.sin(lean)) ** 2) / 2 + m * R**2 * turning / 2,
    potential=m * g * R * sp.cos(lean),
    parameters={m: 1, g: 9.81, R: 0.5},
)
ground = hf.Program(nonholonomic={"roll_x": x.rate - rolling[0], "roll_y": y.rate - rolling[1]})
equations = hf.derive(hf.Problem(disc, ground, start={lean: 1e-4, turn.rate: 3}))
free = hf.maggi(equations)  # three equations, no multipliers: the disc rolls exactly, at any step
print(free)


def wobble(speed):
    run = hf.simulate(free, hf.RK4, step=0.002, duration=10, start={lean: 1e-4, "nu_turn": speed})
    assert max(np.abs(run["w_roll_x"]).max(), np.abs(run["w_roll_y"]).max()) < 1e-12
    return np.abs(run["lean"]).max()


limit = np.sqrt(9.81 / (3 * 0.5))
fast, slow = wobble(1.1 * limit), wobble(0.9 * limit)
print(f"limit {limit:.3f} rad/s; the largest lean from 0.0001: {fast:.2g} above, {slow:.2g} below")

assert fast < 2e-3 < 0.1 < slow
