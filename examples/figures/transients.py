"""Do equal roots make a deviation unstable?  No: it peaks once, at most 19 times its start here, and then dies away.

Responses y = (y0 + (v0 + mu y0) t) exp(-mu t) of a double root -mu: Fig. 1 of Mukharlyamov (2024), which fears more.
"""

import matplotlib.pyplot as plt
import numpy as np

import holdfast as hf

x = hf.coordinates("x")
mass = hf.parameters("mass")
point = hf.System(coordinates=(x,), kinetic=mass * x.rate**2 / 2, parameters={mass: 1})
cases = [(2, 0.01, 1.0), (2, 0.5, 0.0), (2, 0.5, -2.0), (10, 0.2, 5.0)]  # mu, y0, v0

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
worst = 0.0
for rate, start, speed in cases:
    program = hf.Program(holonomic={"rest": x}, controls={"F": {x: 1}}, law=hf.critically_damped(rate))
    problem = hf.Problem(point, program, start={x: start, x.rate: speed})
    run = hf.simulate(hf.derive(problem), hf.DOP853, tolerance=1e-12, duration=4, at=np.linspace(0, 4, 1601))
    exact = (start + (speed + rate * start) * run.times) * np.exp(-rate * run.times)
    worst = max(worst, float(np.abs(run["y_rest"] - exact).max()))
    axes.plot(run.times, run["y_rest"], label=rf"$\mu = {rate},\ y_0 = {start},\ v_0 = {speed}$")
    if (rate, start, speed) == (2, 0.01, 1.0):
        peak, moment = float(run["y_rest"].max()), float(run.times[run["y_rest"].argmax()])
axes.axhline(0, color="0.6", linewidth=0.8)
axes.set_xlabel("$t$")
axes.set_ylabel("$y$")
axes.legend()

print(f"peak {peak:.6f} at t = {moment:.4f}; the runs differ from the formula by {worst:.0e}")
if __name__ == "__main__":
    figure.savefig("transients.png", dpi=150)

assert abs(peak - 0.19133361) < 1e-5 and abs(moment - 0.4902) < 2.5e-3 and worst < 1e-9
