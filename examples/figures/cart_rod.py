"""Does the cart come home with its rod upright?  Yes: x is within 2 mm after 30 s, phi within 0.03 rad after 60 s."""

from importlib import resources

import matplotlib.pyplot as plt
import numpy as np

import holdfast as hf

problem = hf.load(resources.files("holdfast") / "examples" / "cart_rod.toml")
run = hf.simulate(hf.derive(problem))

figure, (top, middle, bottom) = plt.subplots(3, figsize=(6, 8), layout="constrained")
top.plot(run.times, run["x"])
top.set_ylabel("$x$")
middle.plot(run.times, run["phi"], color="C1")
middle.axhline(np.pi / 2, color="0.6", linewidth=0.8)
middle.set_ylabel(r"$\varphi$")
middle.set_xlabel("$t$")
bottom.plot(run["x"], run["phi"], color="C2")
bottom.plot(run["x"][:1], run["phi"][:1], "o", color="C2")
bottom.set_xlabel("$x$")
bottom.set_ylabel(r"$\varphi$")

home, upright = np.abs(run["x"]), np.abs(run["phi"] - np.pi / 2)
print(f"after 60 s: |x| = {home[-1]:.1e} m, |phi - pi/2| = {upright[-1]:.2g} rad")
if __name__ == "__main__":
    figure.savefig("cart_rod.png", dpi=150)

assert home[run.times >= 30].max() < 2e-3 and upright[-1] < 0.03
