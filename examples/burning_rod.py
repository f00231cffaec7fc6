"""What spin does a jet at its burning end give a rod in 4 s?  6 u (1/l - 1/L) = 2 rad/s: a body of variable mass."""

import sympy as sp

import holdfast as hf

# A rigid body of variable mass is the system of its points. Three of them, h apart, have the rod's mass and first two
# moments; what leaves them at rest beside them carries off the momenta of what leaves the tip at rest beside it.
x, y, th = hf.coordinates("x y th")
length, burn, speed, h = hf.parameters("length burn speed h")
left = length - burn * hf.time
far = (left**3 / 3 - h * left**2 / 2) / (2 * h**2)
middle = (left**2 / 2 - 2 * h * far) / h
ash = hf.Stream(velocity=(0, 0), relative=True)


def point(along, mass):
    place = (x + along * sp.cos(th), y + along * sp.sin(th))
    return hf.MovingMass(position=place, mass=mass, streams=ash)


jet = burn * speed  # across the rod, at its tip
system = hf.System(
    coordinates=(x, y, th),
    masses={"near": point(0, left - middle - far), "middle": point(h, middle), "far": point(2 * h, far)},
    forces={x: -jet * sp.sin(th), y: jet * sp.cos(th), th: jet * left},
    parameters={length: 2, burn: 0.2, speed: 1, h: 0.7},
)
problem = hf.Problem(system, title="Burning rod")

run = hf.simulate(hf.derive(problem), hf.RK4, step=0.01, duration=4)
print(f"spin {run['th_dot'][-1]:.9f} rad/s with {2 - 0.2 * 4:.1f} m of 2 m left")

assert abs(run["th_dot"][-1] - 6 * (1 / 1.2 - 1 / 2)) < 1e-9
