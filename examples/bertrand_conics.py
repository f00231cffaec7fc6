"""Does a point knocked off its conic find back under a central force?  Yes, on any conic; under Newton's alone, never.

The exact law (5.10) is the one system with these integrals; the truncated law (5.12) is its first approximation, with c
the angular momentum of the start. Both have a Lagrangian and a (wide) dissipation function. `python bertrand_conics.py
orbits.png` draws the orbits.
"""

import sys

import numpy as np
import sympy as sp

import holdfast as hf

x, y = hf.coordinates("x y")
ecc, p, c, a0, a1 = hf.parameters("ecc p c a0 a1")
r, turning = sp.sqrt(x**2 + y**2), x * y.rate - y * x.rate
alpha = r - ecc * x - p
CONICS = {"circle": 0, "ellipse": 0.5, "parabola": 1, "hyperbola": 1.5}
numbers = {ecc: 0.5, p: 1, c: 1, a0: 2, a1: 3}


def start(e):
    """At the pericentre, a little too far out and moving outwards."""
    return {x: -1 / (1 + e) - 0.05, y: 0, x.rate: 0.02, y.rate: -(1 + e)}


def exact(b1=0):
    """(5.10): alpha'' = -a0 alpha - a1 alpha', (areal velocity)' = -b1 (its error): two integrals, nothing is free."""
    law = hf.SpringDamper(stiffness={"conic": a0}, damping={"conic": a1, "areal": b1})
    program = hf.Program(holonomic={"conic": alpha}, nonholonomic={"areal": turning - c}, law=law)
    return hf.family(program, (x, y), parameters=numbers, start=start(0.5))


def central(strength):
    """A point pulled to the focus by r times this strength."""
    forces = {x: -x * strength, y: -y * strength}
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, forces=forces, parameters=numbers)
    return hf.derive(hf.Problem(system, start=start(0.5)))


def orbit(equations, e, **options):
    begin = start(e)
    found = hf.simulate(
        equations, hf.DOP853, tolerance=1e-12, duration=20, at=np.linspace(0, 20, 801), start=begin,
        start_policy="keep", parameters={"ecc": e, "c": begin[x] * begin[y.rate]}, **options,
    )  # fmt: skip
    return found, np.hypot(found["x"], found["y"]) - e * found["x"] - 1


truncated = (c**2 / r**3 + (a0 - c**2 / (p * r**3)) * alpha + a1 * hf.rate(alpha)) / p  # (5.12)
laws = {"exact": exact(), "truncated": central(truncated), "Newton": central(c**2 / (p * r**3))}
orbits = {(name, law): orbit(equations, e) for name, e in CONICS.items() for law, equations in laws.items()}
for name in CONICS:
    print(f"{name:<10}" + "".join(f"{law:>12} {orbits[name, law][1][-1]:10.1e}" for law in laws))

solved = (c**2 / r**3 + a0 * alpha + a1 * hf.rate(alpha)) / (r - ecc * x)  # (5.10) with c constant
form = hf.lagrangian([u.acceleration + u * solved for u in (x, y)], (x, y))
print(form.summary())

if len(sys.argv) > 1 and sys.argv[1].endswith(".png"):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(9, 8), layout="constrained")
    for axis, (name, e) in zip(axes.flat, CONICS.items(), strict=True):
        angles = np.linspace(0.02, 2 * np.pi - 0.02, 4000)
        size = 1 / (1 - e * np.cos(angles))
        seen = (size > 0) & (size < 8)
        axis.plot(
            np.where(seen, size * np.cos(angles), np.nan), np.where(seen, size * np.sin(angles), np.nan), "0.7", lw=5
        )
        for law, colour, width in zip(laws, ("C0", "C1", "C3"), (2.5, 0.8, 1), strict=True):
            found, _ = orbits[name, law]
            axis.plot(found["x"], found["y"], colour, lw=width, label=law)
        reach = {"circle": 1.3, "ellipse": 2.4}.get(name, 5)
        axis.set(
            title=f"{name}, e = {e}", aspect="equal", xlim=(-1.6, reach), ylim=(-reach, reach), xlabel="x", ylabel="y"
        )
        axis.plot(0, 0, "k.")
    axes[0, 0].legend(loc="center")
    figure.savefig(sys.argv[1], dpi=110)

held = max(abs(orbits[name, law][1][-1]) for name in CONICS for law in ("exact", "truncated"))
lost = min(np.abs(orbits[name, "Newton"][1][600:]).max() for name in CONICS)
assert held < 1e-8 and lost > 0.04 and form.wide and not form.strict and form.residual.size == 0
