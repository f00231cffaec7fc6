"""How fast must the exhaust leave to hold the climb?  1330.5 m/s at lift-off and 1021.6 m/s after half a minute."""

import holdfast as hf

x, y, z = hf.coordinates("x y z")
t = hf.time
mass = 100 - t
air = hf.exponential_atmosphere(1e-4, scale=8000)

rocket = hf.MovingMass(
    position=(x, y, z),
    mass=mass,
    force=air.force((x.rate, y.rate, z.rate), mass=mass, height=z),
    thrust=(0, "P2", "P3"),  # the exhaust is what the program asks for
)
system = hf.System(coordinates=(x, y, z), masses={"rocket": rocket}, potential=mass * 9.81 * z)
program = hf.Program(
    holonomic={"plane": x, "along": y - 40 * t - t**2 / 2, "climb": z - 60 * t - 1.5 * t**2},
    reactions=("plane",),
    controls={"P2": {y: 1}, "P3": {z: 1}},
    law=hf.SpringDamper(stiffness={"plane": 1, "along": 2, "climb": 4}, damping={"plane": 2, "along": 1.5, "climb": 2}),
)
start = {x: 0.5, y: 2, z: -1, x.rate: 0.1, y.rate: 39.5, z.rate: 60.3}
problem = hf.Problem(system, program, start=start, title="Rocket ascent")

on_program = {x: 0, y: 0, z: 0, x.rate: 0, y.rate: 40, z.rate: 60}
run = hf.simulate(hf.derive(problem), hf.DOP853, tolerance=1e-12, duration=30, at=[0, 10, 20, 30], start=on_program)
exhaust = hf.exhaust(run)
print(f"{exhaust.speed[0]:.1f} m/s at lift-off, {exhaust.speed[-1]:.1f} m/s after 30 s: {exhaust}")

assert abs(exhaust.speed[0] - 1330.519805) < 1e-6 and abs(exhaust.speed[-1] - 1021.576678) < 1e-6
