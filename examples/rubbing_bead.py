"""What speed has a bead left after one turn of a wire that rubs?  exp(-2 pi mu) of it, 15.2 %, however fast it was."""

import numpy as np
import sympy as sp

import holdfast as hf

x, y = hf.coordinates("x y")
mu, R, v0 = hf.parameters("mu R v0")
N = hf.multipliers("wire")  # the reaction that holds the bead: |lambda| R is what presses it on the wire
speed = sp.sqrt(x.rate**2 + y.rate**2 + v0**2)

system = hf.System(
    coordinates=(x, y),
    kinetic=(x.rate**2 + y.rate**2) / 2,
    forces={q: -mu * sp.Abs(N) * R * q.rate / speed for q in (x, y)},
    parameters={mu: 0.3, R: 2, v0: 1e-9},
)
program = hf.Program(holonomic={"wire": (x**2 + y**2 - R**2) / 2}, law=hf.critically_damped(10))
equations = hf.derive(hf.Problem(system, program, start={x: R}, title="A bead on a wire that rubs"))

left = []
for fast in (3.0, 30.0):
    turned = {"turn": hf.Event(y, direction="rising", terminal=True)}
    begin = {x: R, y.rate: fast}
    run = hf.simulate(equations, hf.DOP853, tolerance=1e-11, duration=80 / fast, start=begin, events=turned)
    left.append(float(np.hypot(run["x_dot"], run["y_dot"])[-1]) / fast)
    print(f"from {fast:g} m/s: {100 * left[-1]:.1f} % is left after {run.times[-1]:.3f} s")

assert np.allclose(left, np.exp(-2 * np.pi * 0.3), rtol=1e-8, atol=0)
