"""What effort keeps an output growing at 3 % while new capital joins idle?  1.0 at first.  A convention, not a law."""

import sympy as sp

import holdfast as hf

# The papers model an economic object by analogy with a point of variable mass: its size m is capital, its rate v the
# output, and u the productivity with which new capital joins. That is a modelling convention (hf.DOMAINS["economic"]).
output = hf.coordinates("output")
size, inflow, idle, cost, first, growth = hf.parameters("size inflow idle cost first growth")
capital = hf.MovingMass(
    position=(output,),
    mass=size + inflow * hf.time,
    force=(-cost * output.rate,),
    streams=hf.Stream(velocity=(idle,)),
)
system = hf.System(
    coordinates=(output,),
    masses={"capital": capital},
    parameters={size: 10, inflow: 0.5, idle: 0, cost: 0.2, first: 1, growth: 0.03},
)
target = {"target": output.rate - first * sp.exp(growth * hf.time)}
program = hf.Program(nonholonomic=target, controls={"effort": {output: 1}}, law=hf.critically_damped(1))
problem = hf.Problem(system, program, start={output.rate: 1}, title="Capital")

run = hf.simulate(hf.derive(problem), hf.RK4, step=0.05, duration=20)
print(f"effort {run['effort'][0]:.4f} at first, {run['effort'][-1]:.4f} after 20 years; {run.outcome.value}")

assert abs(run["effort"][0] - (10 * 0.03 + 0.5 * 1 + 0.2)) < 1e-12
