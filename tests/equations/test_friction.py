"""Friction that uses its own reaction: closed forms, SciPy with an implicit solve of its own, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import holdfast as hf

x, y = hf.coordinates("x y")
mu, v0, e, g, m = hf.parameters("mu v0 e g m")


# ── closed forms ──────────────────────────────────────────────────────────────────────────────────


def hoop(form="abs", size=1.0, weight=1.0, strength=0.3, way="forces"):
    """A bead on a horizontal hoop of radius 2 `size`; the constraint is half the square, so that N = |λ| R."""
    R, N = hf.parameters("R"), hf.multipliers("wire")
    speed = sp.sqrt(x.rate**2 + y.rate**2 + v0**2)
    normal = R * {"abs": sp.Abs(N), "smooth": sp.sqrt(N**2 + e**2), "signed": -N}[form]
    if way == "forces":
        acting = {"forces": {q: -mu * normal * q.rate / speed for q in (x, y)}}
    else:
        acting = {"dissipation": mu * normal * speed}
    values = {mu: strength, R: 2 * size, v0: 1e-6 * size, e: 1e-6 * weight, m: weight}
    system = hf.System(coordinates=(x, y), kinetic=m * (x.rate**2 + y.rate**2) / 2, parameters=values, **acting)
    program = hf.Program(holonomic={"wire": (x**2 + y**2 - R**2) / 2}, law=hf.critically_damped(10))
    return hf.Problem(system, program, start={x: R, y.rate: 3 * size})


@pytest.mark.parametrize("way", ["forces", "dissipation"])
@pytest.mark.parametrize("form", ["abs", "smooth", "signed"])
def test_a_bead_on_a_hoop_slows_down_with_the_angle(form, way):
    equations = hf.derive(hoop(form, way=way))
    assert equations.friction.affine == (form == "signed")
    run = hf.simulate(equations, "dop853", tolerance=1e-11, duration=2)
    angle = np.unwrap(np.arctan2(run["y"], run["x"]))
    speed = np.hypot(run["x_dot"], run["y_dot"])
    assert run.success
    assert_allclose(speed, 3 * np.exp(-0.3 * angle), rtol=1e-10)
    assert_allclose(run["lambda_wire"], -(speed**2) / 4, rtol=1e-10)


@pytest.mark.parametrize("size", [1e-9, 1e9])
@pytest.mark.parametrize("weight", [1e-9, 1e9])
def test_units_do_not_matter(size, weight):
    run = hf.simulate(hf.derive(hoop("smooth", size, weight)), hf.RK4, step=1e-3, duration=1)
    here = hf.simulate(hf.derive(hoop("smooth")), hf.RK4, step=1e-3, duration=1)
    assert run.success
    assert_allclose(run["x"] / size, here["x"], atol=1e-12)
    assert_allclose(run["lambda_wire"] / weight, here["lambda_wire"], rtol=1e-9)


def test_a_hoop_at_rest_without_any_reaction_is_no_singular_state():
    still = hf.derive(hf.Problem(hoop().system, hoop().program, start={x: 2}))
    assert hf.simulate(still, hf.RK4, step=0.01, duration=0.1)["lambda_wire"][-1] == 0


def slope(form):
    alpha, N = hf.parameters("alpha"), hf.multipliers("floor")
    normal = N if form == "signed" else sp.Abs(N)
    system = hf.System(
        coordinates=(x, y),
        kinetic=m * (x.rate**2 + y.rate**2) / 2,
        potential=m * g * (y * sp.cos(alpha) - x * sp.sin(alpha)),
        forces={x: -mu * normal * x.rate / sp.sqrt(x.rate**2 + v0**2)},
        parameters={m: 2, g: 9.81, mu: 0.2, v0: 1e-9, alpha: 0.5},
    )
    return hf.Problem(system, hf.Program(holonomic={"floor": y}, law=hf.critically_damped(10)), start={x.rate: 1})


@pytest.mark.parametrize("form", ["signed", "abs"])
def test_a_block_slides_down_its_slope(form):
    run = hf.simulate(hf.derive(slope(form)), hf.RK4, step=0.01, duration=2)
    a = 9.81 * (np.sin(0.5) - 0.2 * np.cos(0.5))
    assert_allclose(run["x"], run.times + a * run.times**2 / 2, rtol=1e-9)
    assert_allclose(run["lambda_floor"], 2 * 9.81 * np.cos(0.5), rtol=1e-12)
    balance = run["power_forces"] + run["power_held"] + run["power_dissipation"]
    assert_allclose(np.gradient(run["energy"], run.times)[2:-2], balance[2:-2], rtol=1e-6)


# ── against SciPy ─────────────────────────────────────────────────────────────────────────────────


def test_a_slider_crank_moves_as_scipy_says():
    """The slide presses with λ, friction brakes with μ√(λ² + e²), and the rod carries it back to the crank."""
    phi, X, Y = hf.coordinates("phi X Y")
    N = hf.multipliers("slide")
    rod = (X - sp.cos(phi)) ** 2 + (Y - sp.sin(phi)) ** 2 - 9
    drag = -sp.Rational(3, 10) * sp.sqrt(N**2 + sp.Rational(1, 100)) * X.rate / sp.sqrt(X.rate**2 + sp.Rational(1, 100))
    system = hf.System(
        coordinates=(phi, X, Y),
        kinetic=phi.rate**2 / 2 + X.rate**2 + Y.rate**2,
        potential=2 * g * Y,
        forces={phi: 2, X: drag},
        parameters={g: 9.81},
    )
    program = hf.Program(holonomic={"rod": rod, "slide": Y}, law=hf.critically_damped(20))
    start = {phi: 0.5, X: sp.cos(0.5) + sp.sqrt(9 - sp.sin(0.5) ** 2), phi.rate: 4}
    run = hf.simulate(
        hf.derive(hf.Problem(system, program, start=start)), "dop853", tolerance=1e-11, duration=2, at=[0, 1, 2]
    )

    def accelerations(z):
        """M a + h = Jᵀλ with h(λ₂), solved for λ₂ by bisection around two linear solves; law: y'' = -40 y' - 400 y."""
        (p, a, b), (dp, da, db) = z[:3], z[3:]
        c, s = np.cos(p), np.sin(p)
        J = np.array([[2 * (a * s - b * c), 2 * (a - c), 2 * (b - s)], [0, 0, 1.0]])
        f = np.array([(a - c) ** 2 + (b - s) ** 2 - 9, b])
        dx, dy = da + s * dp, db - c * dp
        gamma = np.array([2 * (dx**2 + dy**2) + 2 * (a - c) * c * dp**2 + 2 * (b - s) * s * dp**2, 0])
        want = -400 * f - 40 * (J @ z[3:]) - gamma
        K = np.block([[np.diag([1, 2, 2.0]), -J.T], [J, np.zeros((2, 2))]])

        def solved(N):
            push = -0.3 * np.sqrt(N**2 + 0.01) * da / np.sqrt(da**2 + 0.01)
            return np.linalg.solve(K, [2, push, -2 * 9.81, *want])

        return solved(brentq(lambda N: solved(N)[4] - N, -1e5, 1e5, xtol=1e-13))[:3]

    z0 = run.y[:, 0]
    theirs = solve_ivp(lambda t, z: [*z[3:], *accelerations(z)], (0, 2), z0, rtol=1e-10, atol=1e-11, method="DOP853")
    assert run.success
    assert_allclose(run.y[:, -1], theirs.y[:, -1], atol=2e-8)


def trammel(strength=0.3):
    """A rod whose ends slide on two axes, with friction in both slots: each reaction feeds the other."""
    a, b = hf.coordinates("a b")
    H, V = hf.multipliers("floor wall")
    c, d = hf.coordinates("c d")

    def drag(N, v):
        return -mu * sp.sqrt(N**2 + e**2) * v / sp.sqrt(v**2 + v0**2)

    system = hf.System(
        coordinates=(a, b, c, d),
        kinetic=(a.rate**2 + b.rate**2) / 2 + (c.rate**2 + d.rate**2),
        potential=2 * g * d + g * b,
        forces={a: drag(H, a.rate), d: drag(V, d.rate)},
        parameters={mu: strength, e: 0.1, v0: 0.05, g: 9.81},
    )
    program = hf.Program(
        holonomic={"rod": ((a - c) ** 2 + (b - d) ** 2 - 4) / 2, "floor": b, "wall": c}, law=hf.critically_damped(15)
    )
    return hf.Problem(system, program, start={a: 1, d: sp.sqrt(3), a.rate: 0})


def test_two_slots_with_friction_move_as_scipy_says():
    run = hf.simulate(hf.derive(trammel()), "dop853", tolerance=1e-11, duration=0.8)

    def rates(t, z):
        q, v = z[:4], z[4:]
        J = np.array([[q[0] - q[2], q[1] - q[3], q[2] - q[0], q[3] - q[1]], [0, 1, 0, 0], [0, 0, 1, 0.0]])
        f = np.array([((q[0] - q[2]) ** 2 + (q[1] - q[3]) ** 2 - 4) / 2, q[1], q[2]])
        gamma = np.array([(v[0] - v[2]) ** 2 + (v[1] - v[3]) ** 2, 0, 0])
        K = np.block([[np.diag([1, 1, 2, 2.0]), -J.T], [J, np.zeros((3, 3))]])

        def solved(N):
            fa, fd = (
                -0.3 * np.sqrt(n**2 + 0.01) * w / np.sqrt(w**2 + 0.0025) for n, w in zip(N, v[[0, 3]], strict=True)
            )
            h = [fa, -9.81, 0, fd - 2 * 9.81]
            return np.linalg.solve(K, [*h, *(-225 * f - 30 * (J @ v) - gamma)])

        N = np.zeros(2)
        for _ in range(200):  # what comes back of a change is smaller than the change
            N = solved(N)[5:]
        return [*v, *solved(N)[:4]]

    theirs = solve_ivp(rates, (0, 0.8), run.y[:, 0], rtol=1e-10, atol=1e-11)
    assert run.success
    assert_allclose(run.y[:, -1], theirs.y[:, -1], atol=2e-8)
    assert abs(run["lambda_floor"]).max() > 5


def pressed(c, smooth):
    """λ = -(b + c √(λ² + e²)), and nothing else: the friction equation in its simplest form."""
    b, k = hf.parameters("b c")
    N = hf.multipliers("floor")
    size = sp.sqrt(N**2 + e**2) if smooth else sp.Abs(N)
    system = hf.System(
        coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, forces={y: b + k * size}, parameters={b: 1, k: c, e: 1}
    )
    return hf.derive(hf.Problem(system, hf.Program(holonomic={"floor": y})))


@pytest.mark.parametrize("smooth", [True, False])
@pytest.mark.parametrize("c", [0.999, 0.9, 0.3, -0.3, -0.9, -0.999])
def test_newtons_steps_suffice_wherever_the_reaction_is_determined(c, smooth):
    equations = pressed(c, smooth)
    for b in (*np.geomspace(1e-9, 1e9, 37), 0.0):
        for sign in (1, -1):
            at = equations.evaluate(parameters={"b": sign * b})  # raises where the residual is not small
            N = at["lambda_floor"]
            left = N + sign * b + c * (np.hypot(N, 1) if smooth else abs(N))
            assert abs(left) <= 1e-9 * (abs(N) + b + 1)


# ── where friction does not determine its reaction ────────────────────────────────────────────────


def rod(strength, angle=1.2, speed=1.0, form="abs", **more):
    """Painlevé's rod: its foot slides on the floor, friction tries to turn it under."""
    X, Y, th = hf.coordinates("X Y th")
    l, J = hf.parameters("l J")
    N = hf.multipliers("floor")
    foot = X.rate + l * sp.sin(th) * th.rate
    push = -mu * (sp.Abs(N) if form == "abs" else N) * foot / sp.sqrt(foot**2 + v0**2)
    system = hf.System(
        coordinates=(X, Y, th),
        kinetic=m * (X.rate**2 + Y.rate**2) / 2 + J * th.rate**2 / 2,
        potential=m * g * Y,
        forces={X: push, th: push * l * sp.sin(th)},
        parameters={m: 1, l: 1, g: 9.81, mu: strength, v0: 1e-3, J: m * l**2 / 3},
    )
    program = hf.Program(holonomic={"floor": Y - l * sp.sin(th)}, law=hf.critically_damped(20))
    return hf.Problem(system, program, start={th: angle, X.rate: speed}, **more)


@pytest.mark.parametrize("angle", [0.4, 1.0, 1.3])
def test_what_comes_back_of_a_reaction_is_painleves_number(angle):
    at = hf.derive(rod(0.5)).evaluate({"th": angle, "Y": np.sin(angle)})
    c, s = np.cos(angle), np.sin(angle)
    assert_allclose(at.friction_answer, [[3 * 0.5 * s * c / (1 + 3 * c**2)]], rtol=1e-6)


@pytest.mark.parametrize("strength", [1.6, 5, 1e6])
def test_too_much_friction_is_refused_at_the_start(strength):
    equations = hf.derive(rod(strength))
    for verb in (equations.evaluate, lambda: hf.simulate(equations, hf.RK4, step=1e-3, duration=1)):
        with pytest.raises(hf.SingularSystem, match=r"friction does not determine 'lambda_floor'.*Painlevé"):
            verb()


@pytest.mark.parametrize("how", [{"scheme": hf.RK4, "step": 1e-3}, {"scheme": "dop853", "tolerance": 1e-8}])
def test_a_run_into_painleves_state_ends_and_is_told_with_its_time(how):
    how = dict(how)
    run = hf.simulate(hf.derive(rod(1.4, angle=1.3, speed=8.0)), how.pop("scheme"), duration=2, **how)
    assert run.outcome.name == "rank_lost"
    assert not run.success
    (found,) = run.findings
    assert found.name == "friction"
    assert found.time == run.times[-1] > 0.01
    assert "'lambda_floor'" in found.text
    assert "Painlevé" in found.text
    th = run["th"][-1]
    assert 3 * 1.4 * np.sin(th) * np.cos(th) / (1 + 3 * np.cos(th) ** 2) == pytest.approx(1, abs=0.02)


def test_linear_friction_that_turns_round_ends_by_name():
    run = hf.simulate(hf.derive(rod(1.6, form="signed")), hf.RK4, step=1e-3, duration=1.5)
    assert not run.success
    assert "friction does not determine 'lambda_floor'" in run.findings[0].text


def test_cases_of_an_ensemble_end_as_their_runs_do():
    equations = hf.derive(rod(0.3))
    runs = hf.ensemble(
        equations, hf.RK4, step=1e-3, duration=0.5, cases={"mu": [0.2, 1.0, 1.4], "th": [1.2, 1.2, 1.35]}
    )
    for k, (strength, angle) in enumerate([(0.2, 1.2), (1.0, 1.2), (1.4, 1.35)]):
        alone = hf.simulate(
            equations, hf.RK4, step=1e-3, duration=0.5, parameters={"mu": strength}, start={"th": angle, "X_dot": 1}
        )
        assert runs[k].outcome == alone.outcome
        assert runs[k].times[-1] == alone.times[-1]
        assert_allclose(runs[k]["th"], alone["th"], rtol=1e-12)


# ── what stands beside it ─────────────────────────────────────────────────────────────────────────


def test_slopes_at_a_state_are_those_of_the_motion():
    equations = hf.derive(trammel())
    at = np.array([1.1, 0.02, -0.03, 1.6, 0.7, 0.01, 0.02, -0.4])
    model = hf.linearise(equations, at)
    rates = hf.right_hand_side(equations)
    step = 1e-6
    for j in range(8):
        push = step * np.eye(8)[j]
        slope = (np.array(rates(0, at + push)) - np.array(rates(0, at - push))) / (2 * step)
        assert_allclose(model.A[:, j], slope, rtol=1e-5, atol=1e-5)


def noisy():
    stated = hoop()
    more = replace(stated.system, noise={"wind": {x: 0.1}})
    return hf.derive(hf.Problem(more, stated.program, start=stated.start))


REFUSED = {
    "canonical": hf.canonical, "maggi": hf.maggi, "appell": hf.appell, "coefficients": hf.coefficients,
    "quasi": lambda found: hf.quasi(found, {"u": x.rate}), "routh": hf.routh, "parts": hf.multiplier_parts,
    "lagrangian": hf.lagrangian, "helmholtz": hf.helmholtz,
    "paths": lambda found: hf.sample_paths(noisy(), step=0.01, duration=1, paths=2),
}  # fmt: skip


@pytest.mark.parametrize("verb", REFUSED.values(), ids=REFUSED)
def test_what_needs_forces_before_their_reactions_says_so(verb):
    with pytest.raises(hf.BadRequest, match="forces use lambda_wire"):
        verb(hf.derive(hoop()))


def test_controls_as_inputs_are_refused_beside_friction():
    N = hf.multipliers("wire")
    system = hf.System(coordinates=(x, y), kinetic=x.rate**2 + y.rate**2, forces={x: -sp.Abs(N) * x.rate / 9})
    program = hf.Program(
        holonomic={"wire": y, "pace": x - hf.time},
        controls={"F": {x: 1}},
        reactions=("wire",),
        law=hf.critically_damped(5),
    )
    equations = hf.derive(hf.Problem(system, program))
    with pytest.raises(hf.BadRequest, match="forces use lambda_wire"):
        hf.linearise(equations, inputs=("F",))


def test_drift_is_checked_and_never_proved():
    found = hf.certify(hf.derive(hoop()), hf.RK4, step=0.01, duration=0.5)
    assert found.label.value == "checked"
    assert "forces use lambda_wire" in str(found)


def test_a_control_feels_the_friction_of_a_joint_beside_it():
    """A bead drawn along a wire at a given pace: the force is what friction and the slope take."""
    N = hf.multipliers("wire")
    system = hf.System(
        coordinates=(x, y),
        kinetic=(x.rate**2 + y.rate**2) / 2,
        potential=g * y,
        forces={x: -mu * sp.Abs(N) * x.rate / sp.sqrt(x.rate**2 + v0**2)},
        parameters={g: 9.81, mu: 0.4, v0: 1e-9},
    )
    program = hf.Program(
        holonomic={"wire": y, "pace": x - 3 * hf.time},
        controls={"F": {x: 1}},
        reactions=("wire",),
        law=hf.critically_damped(5),
    )
    run = hf.simulate(hf.derive(hf.Problem(system, program, start={x.rate: 3})), hf.RK4, step=0.01, duration=1)
    assert_allclose(run["F"], 0.4 * 9.81, rtol=1e-9)


# ── statements ────────────────────────────────────────────────────────────────────────────────────

FILE = """
schema = 1
title = "Bead"
[system]
coordinates = ["x", "y"]
kinetic = "(x_dot**2 + y_dot**2)/2"
[system.forces]
x = "-mu*N*x_dot/speed"
y = "-mu*N*y_dot/speed"
[definitions]
N = "2*sqrt(lambda_wire**2 + 1e-12)"
speed = "sqrt(x_dot**2 + y_dot**2 + 1e-12)"
[parameters]
mu = 0.3
[program.holonomic]
wire = "(x**2 + y**2 - 4)/2"
[program.law]
kind = "critically-damped"
rate = 10
[start]
x = 2
y_dot = 3
"""


def test_a_file_states_friction_and_comes_back_the_same():
    problem = hf.loads(FILE)
    again = hf.loads(hf.dumps(problem))
    equations = hf.derive(problem)
    assert hf.derive(again).fingerprint == equations.fingerprint
    run = hf.simulate(equations, hf.RK4, step=1e-3, duration=1)
    assert_allclose(run["N"], 2 * abs(run["lambda_wire"]), rtol=1e-8)
    assert_allclose(run["ddt(N)"][5:-5], np.gradient(run["N"], run.times)[5:-5], rtol=1e-4)
    assert "lambda_wire" in str(equations.bias)


BAD = {
    "unknown": ('"-mu*N*x_dot/speed"', '"-mu*lambda_wier*x_dot"', "lambda_wier"),
    "kinetic": ('"(x_dot**2 + y_dot**2)/2"', '"(x_dot**2 + y_dot**2)/2*(1 + N)"', "'lambda_wire' is a multiplier"),
    "rate": ('"-mu*N*x_dot/speed"', '"-mu*ddt(N)"', "rate of a multiplier"),
    "program": ('"(x**2 + y**2 - 4)/2"', '"(x**2 + y**2 - 4)/2 + N"', "'lambda_wire' is a multiplier"),
}


@pytest.mark.parametrize(("old", "new", "told"), BAD.values(), ids=BAD)
def test_multipliers_elsewhere_are_refused_by_name(old, new, told):
    with pytest.raises(hf.BadFile, match=told):
        hf.loads(FILE.replace(old, new))


def stated(force, **program):
    program = {"holonomic": {"wire": y - x**2}, "law": hf.critically_damped(3)} | program
    system = hf.System(coordinates=(x, y), kinetic=x.rate**2 + y.rate**2, forces={x: force}, parameters={m: 1})
    return hf.derive(hf.Problem(system, hf.Program(**program)))


PACED = {"holonomic": {"wire": y - x**2, "pace": x - hf.time}, "controls": {"F": {x: 1}}, "reactions": ("wire",)}


@pytest.mark.parametrize(
    ("force", "program", "told"),
    [
        (sp.sign(hf.multipliers("wire")), {}, "jumps where lambda_wire"),
        (sp.Piecewise((1, hf.multipliers("wire") > 0), (2, True)), {}, "jumps where lambda_wire"),
        (hf.multipliers("wier"), {}, "'lambda_wier' is the multiplier of no constraint"),
        (hf.multipliers("wire"), {"controls": {"F": {x: 1}}}, "controls hold its constraint"),
        (hf.multipliers("wire"), {"redundant": "allow"}, "may repeat each other"),
        (hf.multipliers("wire"), {"holonomic": {"wire": y - x**2, "twice": 2 * y - 2 * x**2}}, "repeat each other"),
        (
            hf.multipliers("wire"),
            {"law": hf.ExcessEnergies(kinetic=hf.deviations("wire").rate ** 2)},
            "excess energies",
        ),
        (hf.multipliers("wire"), PACED | {"limits": {"F": 1}}, "limits"),
        (m * hf.multipliers("wire"), PACED | {"model": {m: 2}}, "a model of its own"),
        (hf.multipliers("wire"), PACED | {"sampling": hf.Sampling(step=0.01)}, "measures and waits"),
        (hf.multipliers("wire"), PACED | {"controls": {"F": {x: 1}, "G": {x: 2, y: 1}}}, "more controls"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(force, program, told):
    with pytest.raises(hf.BadStatement, match=told):
        stated(force, **program)


def test_a_symbol_of_the_same_name_is_the_multiplier():
    assert stated(sp.Symbol("lambda_wire") / 5).fingerprint == stated(hf.multipliers("wire") / 5).fingerprint
