"""Do points started off their conics find them?  Yes: circle, ellipse and hyperbola are all reached to 1e-3.

Bertrand's problem in polar coordinates, where the force is resolved along and across the radius.
"""

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp

import holdfast as hf

r, angle = hf.coordinates("r angle")
ecc, p, c0 = hf.parameters("ecc p c0")
program = hf.Program(
    holonomic={"conic": r - ecc * r * sp.cos(angle) - p},
    nonholonomic={"areal": r**2 * angle.rate - c0},
    controls={"along": {r: 1}, "across": {angle: 1}},
    law=hf.from_roots({"conic": (-1, -2), "areal": -1}),
)

figure, axes = plt.subplots(figsize=(6, 6), layout="constrained")
left = {}
for bend, color in ((0.0, "C0"), (0.5, "C1"), (0.75, "C2"), (1.3, "C3")):
    system = hf.System(
        coordinates=(r, angle), kinetic=(r.rate**2 + r**2 * angle.rate**2) / 2, parameters={ecc: bend, p: 1, c0: 1}
    )
    problem = hf.Problem(system, program, start={r: 1.25 / (1 + bend), angle: sp.pi, angle.rate: 1})
    run = hf.simulate(hf.derive(problem), hf.RK4, step=0.005, duration=8 if bend > 1 else 30)
    axes.plot(
        run["r"] * np.cos(run["angle"]),
        run["r"] * np.sin(run["angle"]),
        color=color,
        linewidth=0.9,
        label=f"e = {bend}",
    )
    left[bend] = float(np.abs(run["y_conic"][-1]))
axes.plot(0, 0, "k+")
axes.set_aspect("equal")
axes.set_xlim(-2, 4.5)
axes.set_ylim(-3.2, 3.2)
axes.legend()

print("left of the deviation:", ", ".join(f"e = {bend}: {size:.0e}" for bend, size in left.items()))
if __name__ == "__main__":
    figure.savefig("bertrand.png", dpi=150)

assert max(left.values()) < 1e-3
