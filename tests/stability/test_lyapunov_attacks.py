"""Proofs of V attacked: random laws, functions and regions, and V̇ of an independent derivation at random states."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf
from holdfast.graph.arithmetics.balls import ball
from holdfast.stability.sampling import Batch
from holdfast.stability.theory.form_verdicts import between, falling
from holdfast.stability.theory.lyapunov_study import region_forms
from holdfast.stability.theory.state_function import StateFunction

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


def region_of_trial(random):
    middle, width = random.uniform(-0.4, 0.4, 4) + np.eye(4)[0], random.uniform(0.1, 0.4, 4)
    ends = zip(NAMES, middle - width, middle + width, strict=True)
    return {name: (float(low), float(high)) for name, low, high in ends} | {"t": (0.0, 1.0)}


def overclaims(problem, V, region):
    """Which claims beyond what the samples attain the balls let through; none, if they enclose."""
    function = StateFunction(hf.derive(problem), V)
    forms, _ = region_forms(function, region, {})
    low, high = forms.sampled.sizes
    rate = float(forms.sampled.rates.min()) if low > 0 else 0.0
    beyond = 1.001  # times a value that is attained
    claims = {
        "l1": between(2 * ball(low * beyond), 2 * ball(1e9)),
        "l2": between(2 * ball(-1e9), 2 * ball(high / beyond)),
        "rate": falling(ball(rate + (beyond - 1) * abs(rate))),
    }
    return [name for name, claim in claims.items() if forms.covered(claim, 0.05)]


@pytest.mark.parametrize(
    ("V", "law"),
    [
        (6 * d**2 + d * d.rate + d.rate**2, -(6 + 4 * sp.sin(x)) * d - 4 * d.rate),  # A over the region
        ((9 + 3 * sp.sin(3 * x)) * d**2 + d * d.rate + d.rate**2, -6 * d - 9 * d.rate),  # the rate of G along v
        ((9 + 3 * sp.sin(4 * t)) * d**2 + d * d.rate + d.rate**2, -6 * d - 9 * d.rate),  # and along t
        ((9 + y.rate) * d**2 + d * d.rate + d.rate**2, -6 * d - 9 * d.rate),  # and along the accelerations
        (6 * d**2 + d * d.rate + d.rate**2 - 8 * d**4, -6 * d - 9 * d.rate),  # what V has beyond degree 2
        (6 * d**2 + d * d.rate + d.rate**2, -6 * d - 4 * d.rate + 3 * d * d.rate),  # and the law
    ],
    ids=["law", "along v", "along t", "along a", "fourth degree", "nonlinear law"],
)
def test_what_the_region_attains_is_never_excluded(V, law):
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=9.81 * y)
    problem = hf.Problem(system, hf.Program(holonomic={"rod": ROD}, law=hf.GeneralLaw({"rod": law})), start={x: 1})
    wide = {"x": (0.5, 1.2), "y": (-0.5, 0.5), "x_dot": (-2.0, 2.0), "y_dot": (-2.0, 2.0), "t": (0.0, 1.0)}
    assert overclaims(problem, V, wide) == []


@pytest.mark.parametrize("trial", [1, 2, 5, 7, 10])
def test_the_forms_are_those_of_an_independent_derivation(trial):
    """V = ½zᵀGz and V̇ = ½zᵀΓz + zᵀGAz at random states, for quadratic V with rates in them and linear laws."""
    random = np.random.default_rng(3000 + trial)
    problem, V = stated(random, trial)
    V = V + y.rate * d**2 / 2
    function = StateFunction(hf.derive(problem), V)
    states, times = random.uniform(-1, 1, (50, 4)) + np.eye(4)[0], random.uniform(0, 1, 50)
    entries = Batch.of(function.equations, function.forms().entries)(times, states).reshape(50, 3, 2, 2)
    value, rate, size, slope = rates(problem, V)(times, *states.T)
    z = np.array([size, slope]).T
    G, drift, law = np.moveaxis(entries, 1, 0)
    assert_allclose(np.einsum("ki,kij,kj->k", z, G / 2, z), value, rtol=1e-9, atol=1e-12)
    assert_allclose(np.einsum("ki,kij,kj->k", z, drift / 2 + G @ law, z), rate, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("trial", range(8))
def test_random_regions_exclude_nothing_that_they_attain(trial):
    random = np.random.default_rng(2000 + trial)
    problem, V = stated(random, trial)
    assert overclaims(problem, V, region_of_trial(random)) == []


def test_no_attack_beats_a_proof():
    labels = [attacked(trial) for trial in range(12)]
    assert labels.count("proved") >= 8


@pytest.mark.prove
def test_many_attacks_beat_no_proof():
    assert [attacked(trial) for trial in range(12, 300)].count("proved") >= 200
