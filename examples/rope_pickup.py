"""How fast is a hook that drags a rope from its heap, after 4 m?  1.886 m/s: a third of the work is lost on the way."""

import holdfast as hf

q = hf.coordinates("q")
m0, rho, F = hf.parameters("m0 rho F")

hook = hf.MovingMass(position=(q,), mass=m0 + rho * q, force=(F,), streams=hf.Stream(velocity=(0,)))
system = hf.System(coordinates=(q,), masses={"hook": hook}, parameters={m0: 1, rho: 0.5, F: 2})
problem = hf.Problem(system, title="Rope picked up")

there = {"there": hf.Event(q - 4, terminal=True)}
run = hf.simulate(hf.derive(problem), hf.DOP853, tolerance=1e-12, duration=10, events=there)
speed, work = run["q_dot"][-1], 2 * 4
print(f"{speed:.6f} m/s; of {work} J, {run.energy[-1]:.3f} J are left in the motion")

assert abs(speed - 1.8856180832) < 1e-9 and abs(run.energy[-1] / work - 2 / 3) < 1e-9
