"""Runs go on wherever the system is regular: no choice of pivots can stop them, in no units."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose, assert_array_equal

import holdfast as hf
from tests.reference.shipped import derived


def law_of_the_conic(t, e=0.5):
    a, r = 0.05 * (1 + e), -0.02 * (1 + e)
    return (2 * a + r) * np.exp(-t) - (a + r) * np.exp(-2 * t)


def test_a_point_runs_round_its_conic_though_each_pivot_vanishes_on_the_way():
    run = hf.simulate(derived("bertrand"), hf.RK4, step=0.01, duration=20)
    assert run.outcome is hf.Outcome.completed
    assert run.steps == 2000
    assert_allclose(run.times, np.arange(2001) * 0.01, rtol=0, atol=1e-13)
    assert np.abs(run["y_conic"] - law_of_the_conic(run.times)).max() < 1e-8
    by_hand = run["x"] * run["X"] + run["y"] * run["Y"]
    assert np.isfinite(by_hand).all()


def test_thinned_rows_are_those_of_the_whole_run():
    whole = hf.simulate(derived("bertrand"), hf.RK4, step=0.01, duration=20)
    thin = hf.simulate(derived("bertrand"), hf.RK4, step=0.01, duration=20, every=7)
    kept = [*range(0, 2000, 7), 2000]
    assert thin.steps == 2000
    assert_allclose(thin.times, whole.times[kept], rtol=0, atol=1e-13)
    assert_allclose(thin["x"], whole["x"][kept], rtol=0, atol=1e-12)


def test_adaptive_runs_go_on_with_their_interpolant():
    run = hf.simulate(
        derived("bertrand"), hf.DOP853, tolerance=1e-12, duration=20, events={"axis": hf.coordinates("y")}
    )
    assert run.success
    t = np.linspace(0, 20, 401)
    x, y = run.sol(t)[:2]
    assert np.abs(np.hypot(x, y) - x / 2 - 1 - law_of_the_conic(t)).max() < 1e-9
    assert len(run.events["axis"]) >= 2
    assert_allclose(run.sol(run.events["axis"])[1], 0, atol=1e-9)


def test_cases_of_an_ensemble_go_on_too():
    cases = {"ecc": [0.0, 0.3, 0.5], "c0": [1, 1.05, 1.1]}
    runs = hf.ensemble(derived("bertrand"), hf.RK4, step=0.01, duration=10, cases=cases, every=10)
    assert runs.success.all()
    for number in range(3):
        given = {name: values[number] for name, values in cases.items()}
        alone = hf.simulate(derived("bertrand"), hf.RK4, step=0.01, duration=10, every=10, parameters=given)
        assert_array_equal(runs["x"][number], alone["x"])
        assert runs[number].steps == alone.steps


def test_a_system_that_is_singular_still_ends_there():
    run = hf.simulate(derived("adaptive_optics"), hf.Euler, step=1e-3, duration=20, law=hf.Unstabilised())
    assert run.outcome is hf.Outcome.rank_lost
    assert run.times[-1] == pytest.approx(15.2, abs=0.1)


def test_controls_are_right_where_a_pivot_nearly_vanishes():
    """With as many constraints as coordinates J a = Y − γ gives the forces of a unit mass, in whatever order."""
    run = hf.simulate(derived("bertrand"), hf.RK4, step=1e-4, duration=8)
    x, y, u, v = run.y
    r, turning = np.hypot(x, y), x * u + y * v
    jacobian = np.array([[x / r - 0.5, y / r], [-y, x]]).transpose(2, 0, 1)
    assert np.abs(jacobian[:, 0, 0]).min() < 1e-4  # the pivot of one order vanishes on the way
    conic = -2 * (r - x / 2 - 1) - 3 * (turning / r - u / 2) - (u**2 + v**2) / r + turning**2 / r**3
    forces = np.linalg.solve(jacobian, np.array([conic, 1 - (x * v - y * u)]).T[..., None])[..., 0]
    assert_allclose(run["X"], forces[:, 0], rtol=0, atol=1e-8)
    assert_allclose(run["Y"], forces[:, 1], rtol=0, atol=1e-8)


# ---------------------------------------------------------------- bodies by quaternions: M has rank 3 in 4 rates

q = hf.coordinates("q0 q1 q2 q3")


def spin():
    """The angular velocity in body axes."""
    a, b, c, d = q
    return (
        2 * (a * b.rate - b * a.rate - c * d.rate + d * c.rate),
        2 * (a * c.rate - c * a.rate - d * b.rate + b * d.rate),
        2 * (a * d.rate - d * a.rate - b * c.rate + c * b.rate),
    )


def body(inertia, weight=0, place=0.1):
    """A body that turns about a fixed point, its weight above it along the third axis."""
    a, b, c, d = q
    kinetic = sum(i * w**2 for i, w in zip(inertia, spin(), strict=True)) / 2
    unit = (sum(x**2 for x in q) - 1) / 2
    return hf.derive(
        hf.Problem(
            hf.System(coordinates=q, kinetic=kinetic, potential=weight * place * (a**2 - b**2 - c**2 + d**2)),
            hf.Program(holonomic={"unit": unit}, law=hf.critically_damped(10)),
            start={a: 1},
        )
    )


def turned(shake, rate):
    """A random orientation with a random spin, as a start."""
    place = shake.normal(size=4)
    place /= np.linalg.norm(place)
    w = rate * shake.normal(size=3)
    a, b, c, d = place
    rates = np.array([[-b, -c, -d], [a, -d, c], [d, a, -b], [-c, b, a]]) @ w / 2
    return {**dict(zip(q, place, strict=True)), **{x.rate: v for x, v in zip(q, rates, strict=True)}}


def momentum(run, inertia):
    """The angular momentum in the axes of space, row by row."""
    names = {x: run[x] for x in q} | {x.rate: run[x.rate] for x in q}
    w = np.array(sp.lambdify(list(names), spin())(*names.values()))
    a, b, c, d = (run[x] for x in q)
    turn = np.array([
        [a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
        [2 * (b * c + a * d), a * a - b * b + c * c - d * d, 2 * (c * d - a * b)],
        [2 * (b * d - a * c), 2 * (c * d + a * b), a * a - b * b - c * c + d * d],
    ])  # fmt: skip
    return np.einsum("ijt,jt->it", turn, np.array(inertia)[:, None] * w)


@pytest.mark.parametrize("scheme", [hf.RK4, hf.DOP853], ids=lambda scheme: scheme.name)
@pytest.mark.parametrize("weight", [0.0, 4.905], ids=["free", "heavy"])
def test_bodies_in_quaternions_run_from_any_start_and_keep_energy_and_momentum(scheme, weight):
    inertia = (10, 12, 8) if not weight else (0.01, 0.01, 0.005)
    equations, shake = body(inertia, weight), np.random.default_rng(11)
    how = {"step": 0.001} if scheme is hf.RK4 else {"tolerance": 1e-11}
    for _ in range(6):
        start = turned(shake, 1.0 if not weight else 20.0)
        run = hf.simulate(equations, scheme, duration=20, start=start, start_policy="keep", **how)
        assert run.outcome is hf.Outcome.completed
        assert np.abs(run["y_unit"]).max() < 1e-8
        assert np.ptp(run.energy) < 1e-6 * np.abs(run.energy).max()
        moment = momentum(run, inertia)
        kept = moment if not weight else moment[2]  # a weight leaves the vertical one
        assert np.ptp(kept, axis=-1).max() < 1e-6 * np.abs(moment).max()


def test_a_half_turned_body_is_evaluated_like_any_other():
    """M is singular in another direction there; the whole system has a condition number of 4."""
    at = body((0.01, 0.01, 0.005), 4.905).evaluate({"q0": 0, "q1": 1, "q3_dot": 0.5})
    assert np.isfinite(at.accelerations).all()
    assert_allclose(at.jacobian @ at.accelerations + at.drift_term, at.demand, atol=1e-12)


# ---------------------------------------------------------------- units and sizes


@pytest.mark.parametrize("unit", [1.0, 1e-11, 1e-30, 1e11])
def test_a_control_in_any_unit_holds_its_program(unit):
    x, y, z = hf.coordinates("x y z")
    program = hf.Program(
        holonomic={"a": x + y - sp.sin(hf.time), "b": x + 2 * y},
        controls={"F": {x: 1}, "G": {y: unit}},
        law=hf.SpringDamper(stiffness=25, damping=10),
    )
    system = hf.System(coordinates=(x, y, z), kinetic=(x.rate**2 + y.rate**2 + z.rate**2) / 2)
    run = hf.simulate(
        hf.derive(hf.Problem(system, program, start={x.rate: 2, y.rate: -1, z: 1e6})), hf.RK4, step=0.01, duration=5
    )
    assert run.outcome is hf.Outcome.completed
    assert np.abs(run["y_b"]).max() < 1e-9
    assert_allclose(run["G"] * unit, np.sin(run.times), atol=1e-6)  # y = −sin t, of mass 1


@pytest.mark.parametrize("mass", [1.0, 1e-11, 1e-40, 1e40])
def test_a_massless_joint_carries_a_mass_of_any_size(mass):
    x, y = hf.coordinates("x y")
    m, k = hf.parameters("m k")
    system = hf.System(
        coordinates=(x, y), kinetic=m * x.rate**2 / 2, potential=k * y**2 / 2, parameters={m: mass, k: mass}
    )
    program = hf.Program(holonomic={"joint": y - x}, law=hf.critically_damped(5))
    run = hf.simulate(hf.derive(hf.Problem(system, program, start={x: 1, y: 1})), hf.RK4, step=0.01, duration=5)
    assert run.success
    assert run["x"][-1] == pytest.approx(np.cos(5), abs=1e-7)


def test_a_mass_that_fades_is_not_a_loss_of_rank():
    """exp(−2t)(x'² − x²)/2 gives x'' − 2x' + x = 0, regular at all times: x = (1 − t) exp(t) from rest at 1."""
    x = hf.coordinates("x")
    factor = sp.exp(-2 * hf.time)
    system = hf.System(coordinates=x, kinetic=factor * x.rate**2 / 2, potential=factor * x**2 / 2)
    equations = hf.derive(hf.Problem(system, start={x: 1}))
    for scheme, how in ((hf.RK4, {"step": 0.01}), (hf.DOP853, {"tolerance": 1e-9})):
        run = hf.simulate(equations, scheme, duration=20, **how)
        assert run.times[-1] == 20
        assert run["x"][-1] == pytest.approx((1 - 20) * np.exp(20), rel=1e-6)


def test_an_arm_on_its_paths_is_never_singular():
    """Every joint of a long arm on a path of its own: accelerations are the paths', whatever the mass matrix is."""
    n = 14
    angles = hf.coordinates(" ".join(f"a{i}" for i in range(n)))
    kinetic, place, weight = sp.Integer(0), sp.zeros(2, 1), sp.Integer(0)
    for i in range(n):
        total = sum(angles[: i + 1])
        place += sp.Matrix([sp.cos(total), sp.sin(total)])
        rate = sp.Matrix([hf.rate(component) for component in place])
        kinetic += rate.dot(rate) * sp.Rational(1, (i + 1) ** 4) / 2
        weight += place[1]
    paths = {f"p{i}": a - sp.sin((i + 1) * hf.time) for i, a in enumerate(angles)}
    motors = {f"tau{i}": {a: 1} for i, a in enumerate(angles)}
    program = hf.Program(holonomic=paths, controls=motors, law=hf.critically_damped(10))
    equations = hf.derive(hf.Problem(hf.System(coordinates=angles, kinetic=kinetic, potential=weight), program))
    run = hf.simulate(equations, hf.RK4, step=0.001, duration=0.5, start={a.rate: i + 1 for i, a in enumerate(angles)})
    assert run.outcome is hf.Outcome.completed
    at = equations.evaluate(run.y[:, -1], time=run.times[-1])
    wanted = [-((i + 1) ** 2) * np.sin((i + 1) * run.times[-1]) for i in range(n)]
    assert_allclose(at.accelerations, wanted, rtol=0, atol=1e-6)
    assert_allclose(at.mass_matrix @ at.accelerations - at.bias, at.held_forces, rtol=1e-9, atol=1e-9)


def test_thrusters_fixed_to_a_spinning_craft_need_no_other_order():
    x, y, a = hf.coordinates("x y a")
    system = hf.System(coordinates=(x, y, a), kinetic=5 * (x.rate**2 + y.rate**2) + a.rate**2)
    program = hf.Program(
        holonomic={"px": x - sp.sin(hf.time), "py": y - sp.cos(hf.time), "spin": a - hf.time},
        controls={"Fu": {x: sp.cos(a), y: sp.sin(a)}, "Fv": {x: -sp.sin(a), y: sp.cos(a)}, "Tq": {a: 1}},
        law=hf.critically_damped(2),
    )
    equations = hf.derive(hf.Problem(system, program, start={x.rate: 1, y: 1, a.rate: 1}))
    run = hf.simulate(equations, hf.DOP853, tolerance=1e-10, duration=20)
    assert run.success
    assert np.diff(run.times).min() > 1e-3  # no rows crowded where a pivot vanishes
    t = run.times
    assert_allclose(run["Fu"], 10 * (-np.sin(t) * np.cos(t) - np.cos(t) * np.sin(t)), atol=1e-6)
