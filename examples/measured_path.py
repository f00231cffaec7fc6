"""Which force drives a cart on a spring along nine measured points?  At most 14.2 N, where the spring is longest."""

import numpy as np

import holdfast as hf

x = hf.coordinates("x")
m, k, c = hf.parameters("m k c")
track = hf.functions("track")  # a function of time, given by data below
times = np.arange(9) / 2
places = [0, 0.021, 0.104, 0.228, 0.3, 0.272, 0.196, 0.124, 0.1]

system = hf.System(
    coordinates=x,
    kinetic=m * x.rate**2 / 2,
    potential=k * x**2 / 2,
    dissipation=c * x.rate**2 / 2,
    parameters={m: 2, k: 50, c: 3},
    functions={track: hf.data(times, places)},
)
program = hf.Program(holonomic={"follow": x - track}, controls={"F": {x: 1}}, law=hf.critically_damped(5))
problem = hf.Problem(system, program)

run = hf.simulate(hf.derive(problem), hf.RK4, step=0.01, duration=4)
print(f"at most {np.abs(run['F']).max():.2f} N, {np.abs(run['x'][::50] - places).max():.1e} m off the points")

assert abs(np.abs(run["F"]).max() - 14.24) < 0.01
