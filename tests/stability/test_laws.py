"""Laws that vary, or are not linear, over a region: one norm, A = ∂ψ⁺/∂ψ enclosed cell by cell, and re-checked."""

import json
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest
import sympy as sp
from scipy.linalg import solve_continuous_lyapunov

import holdfast as hf
from holdfast.graph.arithmetics.balls import ball, ball_between, precision
from holdfast.graph.nodes import Graph
from holdfast.stability.proof.laws.contraction import StepMatrix, contracts, norm_bound
from holdfast.stability.proof.laws.terms import LawTerms
from holdfast.stability.proof.work import SearchWork
from holdfast.stability.verifier.reading.file import digest

x, y = hf.coordinates("x y")
rod = hf.deviations("rod")
PLANE = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=9.81 * y)
LAWS = {
    "cubic": hf.GeneralLaw({"rod": -4 * rod - 4 * rod.rate - rod**3}),
    "angle": hf.SpringDamper(stiffness=4 + sp.atan2(x, -y) ** 2, damping=4),
    "time": hf.SpringDamper(stiffness=4 + sp.sin(hf.time) / 2, damping=4),
    "rates": hf.GeneralLaw({"rod": -(4 + x.rate**2) * rod - (4 + y) * rod.rate - rod * rod.rate}),
}


def pendulum(law, start=0.3):
    program = hf.Program(holonomic={"rod": (x**2 + y**2 - 1) / 2}, law=law)
    return hf.derive(hf.Problem(PLANE, program, start={x: np.sin(start), y: -np.cos(start)}))


def certified(law, scheme=hf.RK4, **more):
    return hf.certify(pendulum(law), scheme, **({"step": 0.01, "duration": 0.6, "effort": 1} | more))


# ── the interval example: y'' = −k y − 4 y', k in [4, 5], Euler, step 0.05 ──────────────────────────


def interval_law():
    graph = Graph()
    place, rate, k, time = (graph.input(name) for name in ("y", "w", "k", "t"))
    flow = (rate, -(k * place) - graph.const(4) * rate)
    return LawTerms((place, rate), (0, 1), time, (k,), (flow,), (place, rate)), k


def test_the_interval_example_contracts_by_what_theory_says():
    """P from Lyapunov's equation (Q = I) at k = 4.5: γ = 0.9846528 over the whole interval."""
    middle = np.array([[0.0, 1.0], [-4.5, -4.0]])
    factor = np.linalg.cholesky(solve_continuous_lyapunov(middle.T, -np.eye(2)))
    terms, k = interval_law()
    law = StepMatrix(terms, 0.05)
    assert law.variables == (k,)

    def shown(gamma):
        def place(box):
            return [ball(0), ball_between(*box[0])]

        return contracts(law, factor, gamma, [ball(0)] * 2, place, ((4.0, 5.0),), [0], SearchWork(1e6))

    with precision(80):
        assert shown(0.98466)
        assert shown(0.984653)
        assert not shown(0.984652)


def test_the_norm_of_a_ball_matrix_is_not_below_that_of_any_of_its_matrices():
    shake = np.random.default_rng(1)
    factor = np.linalg.cholesky(np.array([[3.0, 1.0], [1.0, 2.0]]))
    with precision(80):
        for _ in range(20):
            middle, reach = shake.normal(size=(2, 2)), shake.uniform(0, 0.3, (2, 2))
            wide = flint.arb_mat([[flint.arb(middle[i, j], reach[i, j]) for j in range(2)] for i in range(2)])
            bound = norm_bound(factor, wide)
            for _ in range(50):
                one = middle + reach * shake.choice([-1, 1], (2, 2))
                assert np.linalg.norm(factor.T @ one @ np.linalg.inv(factor.T), 2) <= bound
            assert bound <= np.linalg.norm(factor.T @ middle @ np.linalg.inv(factor.T), 2) + 10 * reach.max()
        assert norm_bound(factor, flint.arb_mat([[flint.arb("nan"), 0], [0, 0]])) == np.inf


# ── end to end ────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module", params=LAWS)
def proved(request):
    return request.param, certified(LAWS[request.param])


def test_the_pendulum_is_proved_and_verified_under_laws_that_vary(proved):
    _, certificate = proved
    block = certificate["rod"]
    assert block.label is hf.Label.proved, block.reason
    assert 0 < block.gamma < 1
    found = hf.verify(certificate)
    assert found.holds, found.findings


def exact_step(name, place, t, step):
    """RK4 on x'' = −λ x, y'' = −g − λ y with w' = Y: derived by hand, in 40 digits."""

    def demand(q, v, t):
        deviation, rate = (q[0] ** 2 + q[1] ** 2 - 1) / 2, q[0] * v[0] + q[1] * v[1]
        return {
            "cubic": -4 * deviation - 4 * rate - deviation**3,
            "angle": -(4 + mpmath.atan2(q[0], -q[1]) ** 2) * deviation - 4 * rate,
            "time": -(4 + mpmath.sin(t) / 2) * deviation - 4 * rate,
            "rates": -(4 + v[0] ** 2) * deviation - (4 + q[1]) * rate - deviation * rate,
        }[name]

    def rates(z, t):
        q, v = z[:2], z[2:]
        gravity = mpmath.mpf(9.81)
        push = (demand(q, v, t) - v[0] ** 2 - v[1] ** 2 + gravity * q[1]) / (q[0] ** 2 + q[1] ** 2)
        return [v[0], v[1], q[0] * push, q[1] * push - gravity]

    def moved(z, k, share):
        return [a + share * b for a, b in zip(z, k, strict=True)]

    h = mpmath.mpf(step)
    k1 = rates(place, t)
    k2 = rates(moved(place, k1, h / 2), t + h / 2)
    k3 = rates(moved(place, k2, h / 2), t + h / 2)
    k4 = rates(moved(place, k3, h), t + h)
    return [a + h * (p + 2 * q + 2 * r + s) / 6 for a, p, q, r, s in zip(place, k1, k2, k3, k4, strict=True)]


def deviation(z):
    return [(z[0] ** 2 + z[1] ** 2 - 1) / 2, z[0] * z[2] + z[1] * z[3]]


def attacked(name, certificate, count, seed):
    """The largest share of the promised ‖ψ⁺‖ ≤ γ‖ψ‖ + δ over random states of Omega in the tube."""
    block = certificate["rod"]
    proof = block.proof
    region = {key: (low, high) for key, low, high in proof.region}
    factor = mpmath.matrix([[mpmath.mpf(v) for v in row] for row in proof.factor])
    shake, worst, made = np.random.default_rng(seed), 0.0, 0
    while made < count:
        t = shake.uniform(*region["t"])
        psi = np.linalg.solve(np.array(proof.factor).T, shake.normal(size=2))
        psi *= shake.uniform(0, 1) ** 0.3 * proof.tube / np.linalg.norm(np.array(proof.factor).T @ psi)
        a = shake.uniform(*region["x"])
        below = -np.sqrt(max(1 + 2 * psi[0] - a**2, 0.0))
        speed = shake.uniform(*region["x_dot"])
        state = [a, below, speed, (psi[1] - a * speed) / below]
        if not all(
            low <= value <= high
            for value, (low, high) in zip(state, [region[k] for k in ("x", "y", "x_dot", "y_dot")], strict=True)
        ):
            continue
        with mpmath.workdps(40):
            z = [mpmath.mpf(v) for v in state]
            before, after = deviation(z), deviation(exact_step(name, z, mpmath.mpf(t), certificate.step))
            sizes = [mpmath.norm(factor.T * mpmath.matrix(v)) for v in (before, after)]
            if sizes[0] > proof.tube:
                continue
            energy = (z[2] ** 2 + z[3] ** 2) / 2 + mpmath.mpf(9.81) * z[1]
            limits = {key: (low, high) for key, low, high in proof.limits}
            if "energy" in limits and not limits["energy"][0] <= energy <= limits["energy"][1]:
                continue
            worst = max(worst, float(sizes[1] / (proof.gamma * sizes[0] + block.defect)))
        made += 1
    return worst


def test_no_attack_of_another_derivation_breaks_the_promise(proved):
    name, certificate = proved
    assert 0.1 < attacked(name, certificate, 60, 3) <= 1


@pytest.mark.prove
def test_many_attacks_of_another_derivation_break_no_promise(proved):
    name, certificate = proved
    assert attacked(name, certificate, 2500, 5) <= 1


def test_a_contraction_that_is_stated_too_good_is_refused(proved, tmp_path):
    name, certificate = proved
    data = certificate.to_dict()
    block = data["blocks"][0]
    block["gamma"] = block["proof"]["gamma"] = 1 - 2 * (1 - block["gamma"])
    data["digest"] = digest(data)
    (tmp_path / "c.json").write_text(json.dumps(data))
    found = hf.verify(tmp_path / "c.json", cells=1500)
    assert not found.holds, name
    assert "contraction is larger than stated" in found.findings[0] or "budget" in found.findings[0]


def test_a_matrix_is_not_stated_of_a_law_that_has_more_than_one(proved, tmp_path):
    """The one of its start was written, which nobody looked at: any other was verified, too."""
    _, certificate = proved
    data = certificate.to_dict()
    assert data["blocks"][0]["matrix"] == []
    data["blocks"][0]["matrix"] = [[7.0, 8.0], [9.0, 10.0]]
    data["digest"] = digest(data)
    (tmp_path / "c.json").write_text(json.dumps(data))
    found = hf.verify(tmp_path / "c.json", cells=1500)
    assert "the law is not the one of the problem" in found.findings[0]


@pytest.mark.parametrize("scheme", [hf.Euler, hf.Midpoint, hf.Kutta3])
def test_every_order_is_proved_under_a_law_that_varies(scheme):
    certificate = certified(hf.GeneralLaw({"rod": -(9 + x**2) * rod - 6 * rod.rate - rod**3}), scheme, duration=0.5)
    assert certificate["rod"].label is hf.Label.proved, certificate["rod"].reason
    assert hf.verify(certificate)


def test_a_law_that_drives_away_somewhere_in_the_region_is_not_proved():
    """Along the run the stiffness is positive; a wider region holds states where it is not."""
    law = hf.SpringDamper(stiffness=4 - 40 * x**2, damping=4)
    certificate = certified(law, region={"x": (-0.9, 0.9), "y": (-1.1, -0.4)}, effort=1)
    assert certificate["rod"].label is hf.Label.tube  # along the run, and not in the region
    assert "no norm was found" in certificate["rod"].reason


@pytest.mark.parametrize("size", [Fraction(1, 10**9), Fraction(10**9)])
def test_a_law_that_is_not_linear_is_proved_in_any_unit(size):
    """Lengths in nanometres and in gigametres: the start deviates by rounding alone, which doubles do not read."""
    length = sp.Rational(size.numerator, size.denominator)
    system = hf.System(
        coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=length * sp.Rational(981, 100) * y
    )
    law = hf.GeneralLaw({"rod": -4 * rod - 4 * rod.rate - rod**3 / length**4})
    program = hf.Program(holonomic={"rod": (x**2 + y**2 - length**2) / 2}, law=law)
    start = {x: float(size) * np.sin(0.3), y: -float(size) * np.cos(0.3)}
    equations = hf.derive(hf.Problem(system, program, start=start))
    certificate = hf.certify(equations, hf.RK4, step=0.01, duration=0.3, effort=0.5)
    assert certificate["rod"].label is hf.Label.proved, certificate["rod"].reason
    found = hf.verify(certificate)
    assert found, found.findings


# ── programs above degree 2 ───────────────────────────────────────────────────────────────────────


def test_a_program_of_degree_four_is_proved_and_verified():
    """An elastic joint: the motor's torque reaches the arm through a spring."""
    q, motor = hf.coordinates("q motor")
    spring = 50 * (motor - q) ** 2
    system = hf.System(coordinates=(q, motor), kinetic=q.rate**2 / 2 + 0.15 * motor.rate**2, potential=spring)
    program = hf.Program(
        holonomic={"joint": q - sp.sin(hf.time) / 5}, controls={"u": {motor: 1}}, law=hf.critically_damped(5)
    )
    equations = hf.derive(hf.Problem(system, program))
    certificate = hf.certify(equations, hf.Euler, step=0.005, duration=1, effort=1)
    block = certificate["joint"]
    assert block.names == ("y_joint", "w_joint", "w2_joint", "w3_joint")
    assert block.label is hf.Label.proved, block.reason
    run = hf.simulate(equations, hf.Euler, step=0.005, duration=1)
    seen = np.abs(np.array([run[name] for name in block.names]))
    assert (seen <= block.envelope(np.arange(len(run.times)))).all()
    found = hf.verify(certificate)
    assert found.holds, found.findings
