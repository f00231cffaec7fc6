"""Proofs of V attacked: random laws, functions and regions, and V̇ of an independent derivation at random states."""

import numpy as np
import pytest
import sympy as sp

import holdfast as hf

x, y = hf.coordinates("x y")
t, d = hf.time, hf.deviations("rod")
TERMS = (sp.sin(x), sp.cos(y), x * y, y.rate / 3, x.rate * y.rate / 10, t / 3, sp.exp(-(x**2)))
ROD = (x**2 + y**2 - 1) / 2 - t / 20
NAMES = ("x", "y", "x_dot", "y_dot")


def small(random):
    """Two random terms in the state and time, with small coefficients."""
    chosen = random.choice(len(TERMS), 2, replace=False)
    return sum(round(float(random.normal()) * 0.3, 3) * TERMS[k] for k in chosen)


def stated(random, trial):
    """A pendulum under a random law, linear with coefficients of the state or quadratic in the deviations, and V."""
    k, b = (round(float(value), 3) for value in random.uniform((2, 2), (9, 6)))
    law = hf.SpringDamper(stiffness=k + small(random), damping=b + small(random))
    if trial % 3 == 0:
        law = hf.GeneralLaw({"rod": -k * d - b * d.rate + round(random.normal(), 3) * d**2 + small(random) * d.rate**2})
    kinetic = (x.rate**2 + (1 + x**2 / 4) * y.rate**2) / 2
    system = hf.System(coordinates=(x, y), kinetic=kinetic, potential=9.81 * y + x**2 * y)
    problem = hf.Problem(system, hf.Program(holonomic={"rod": ROD}, law=law), start={x: 1})
    V = (k + b * b / 4 + small(random) / 2) * d**2 + b / 1.5 * d * d.rate + (1 + 0.3 * small(random)) * d.rate**2
    return problem, V + (round(random.normal(), 3) * d**3 if trial % 4 == 0 else 0)


def rates(problem, V):
    """V and V̇ as functions of (t, x, y, x', y'), by SymPy alone: accelerations from M a = h + Jᵀλ, J a = Y − γ."""
    system, q, v = problem.system, sp.Matrix([x, y]), sp.Matrix([x.rate, y.rate])
    T, P = system.kinetic, system.potential
    w = ROD.diff(t) + ROD.diff(x) * x.rate + ROD.diff(y) * y.rate
    Y = problem.law_form.demand["rod"]
    Y = Y.subs(
        {symbol: problem.law_form.gains[symbol.name] for symbol in Y.free_symbols if symbol.name.startswith("law.")}
    )
    M = sp.hessian(T, list(v))
    momenta = sp.Matrix([T.diff(rate) for rate in v])
    h = sp.Matrix([T.diff(c) - P.diff(c) for c in q]) - momenta.jacobian(list(q)) * v
    J = sp.Matrix([[w.diff(rate) for rate in v]])
    drift = w.diff(t) + (sp.Matrix([w]).jacobian(list(q)) * v)[0]
    free = M.LUsolve(h)
    push = M.LUsolve(J.T)
    a = free + push * (Y.subs({d: ROD, d.rate: w}) - drift - (J * free)[0]) / (J * push)[0]
    actual = V.subs({d: ROD, d.rate: w}, simultaneous=True)
    rate = actual.diff(t) + sum(actual.diff(c) * s for c, s in zip((*q, *v), (*v, *a), strict=True))
    return sp.lambdify((t, x, y, x.rate, y.rate), (actual, rate, ROD, w))


def attacked(trial):
    random = np.random.default_rng(1000 + trial)
    problem, V = stated(random, trial)
    middle, width = random.uniform(-0.4, 0.4, 4) + np.eye(4)[0], random.uniform(0.02, 0.3, 4)
    low, high = middle - width, middle + width
    region = {name: (float(a), float(b)) for name, a, b in zip(NAMES, low, high, strict=True)} | {"t": (0, 1)}
    found = hf.lyapunov(hf.derive(problem), V, region, effort=1)
    states = random.uniform(low, high, (400, 4))
    states[:100] = np.where(random.random((100, 4)) < 0.5, low, high)  # corners
    value, rate, size, slope = rates(problem, V)(random.uniform(0, 1, 400), *states.T)
    square = size**2 + slope**2
    if found.positive.label == "proved":
        assert (value >= found.positive.numbers["l1"] * square * (1 - 1e-9)).all()
        assert (value <= found.positive.numbers["l2"] * square * (1 + 1e-9)).all()
    if found.decreasing.label == "proved":
        assert (rate <= -found.decreasing.numbers["rate"] * value + 1e-12).all()
    return found.decreasing.label


def test_no_attack_beats_a_proof():
    labels = [attacked(trial) for trial in range(12)]
    assert labels.count("proved") >= 8


@pytest.mark.prove
def test_many_attacks_beat_no_proof():
    assert [attacked(trial) for trial in range(12, 300)].count("proved") >= 200
