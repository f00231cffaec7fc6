"""What are 100 worth after a year at weights 0.6 and 0.4, kept by self-financing trades?  114.216847."""

import numpy as np
import sympy as sp

import holdfast as hf

# A rate is what is held now (shares, cash), and a trade changes it as a force does. Buying is paid in cash, so that
# W = cash + p·n changes by W' = n·p' alone, whatever the trades.
X1, X2, C = hf.coordinates("X1 X2 C")
p1, p2 = sp.exp(hf.time / 10), 1 + hf.time / 5
wealth = C.rate + p1 * X1.rate + p2 * X2.rate

system = hf.System(coordinates=(X1, X2, C), kinetic=(X1.rate**2 + X2.rate**2 + C.rate**2) / 2)
program = hf.Program(
    nonholonomic={
        "first": p1 * X1.rate / wealth - sp.Rational(3, 5),
        "second": p2 * X2.rate / wealth - sp.Rational(2, 5),
    },
    controls={"trade1": {X1: 1, C: -p1}, "trade2": {X2: 1, C: -p2}},
    law=hf.SpringDamper(damping=5),
)
problem = hf.Problem(system, program, start={X1.rate: 60, X2.rate: 40}, title="Portfolio")

run = hf.simulate(hf.derive(problem), hf.RK4, step=0.01, duration=1)
t = run.times
worth = run["C_dot"] + np.exp(t / 10) * run["X1_dot"] + (1 + t / 5) * run["X2_dot"]
print(f"worth {worth[-1]:.6f}, first trades {run['trade1'][0]:.4f} and {run['trade2'][0]:.4f} shares a year")

assert np.allclose(worth, 100 * np.exp(0.06 * t) * (1 + t / 5) ** 0.4, rtol=1e-9)
