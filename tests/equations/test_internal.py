"""Internal dynamics against hand-written linearisations, closed forms and SciPy: what is free, and does it leave?"""

import json

import numpy as np
import pytest
import sympy as sp
from click.testing import CliRunner
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.linalg import eigvals, expm

import holdfast as hf
from holdfast.cli.main import main
from holdfast.equations.internal.along import TICKS
from holdfast.equations.internal.roots import Fate, roots_at_rest
from holdfast.equations.internal.tangent import tangent_of

R, t = sp.Rational, hf.time
LAW = hf.critically_damped(5)


def pvtol(*, law=LAW, **start):
    """x'' = -u1 sin th + eps u2 cos th,  z'' = u1 cos th + eps u2 sin th - g,  th'' = u2: x and z are held."""
    x, z, th = hf.coordinates("x z th")
    g, eps = hf.parameters("g eps")
    system = hf.System(
        coordinates=(x, z, th),
        kinetic=(x.rate**2 + z.rate**2 + th.rate**2) / 2,
        potential=g * z,
        parameters={g: R("9.81"), eps: R(1, 2)},
    )
    controls = {"u1": {x: -sp.sin(th), z: sp.cos(th)}, "u2": {x: eps * sp.cos(th), z: eps * sp.sin(th), th: 1}}
    program = hf.Program(holonomic={"across": x, "up": z}, controls=controls, law=law)
    return hf.Problem(system, program, start=start, run=hf.Run(scheme="rk4", step=0.01, duration=1))


def cart_pole(held, *, damping=0, duration=10, **start):
    """A cart of mass 10 with a pole: mass 1 at its end, length 1, phi from upright."""
    x, phi = hf.coordinates("x phi")
    X, Z = x + sp.sin(phi), sp.cos(phi)
    system = hf.System(
        coordinates=(x, phi),
        kinetic=5 * x.rate**2 + (hf.rate(X) ** 2 + hf.rate(Z) ** 2) / 2,
        potential=R("9.81") * Z,
        dissipation=R(damping) * (x.rate**2 + phi.rate**2) / 2,
    )
    program = hf.Program(holonomic={"held": held(x, phi)}, controls={"F": {x: 1}}, law=LAW)
    run = hf.Run(scheme="rk4", step=0.01, duration=duration)
    return hf.Problem(system, program, start=start, run=run, units={} if damping else {"x": "m"})


def beside(potential, *, dissipation=0, forces=None, coordinates="r", duration=10, **start):
    """A held carriage x, and beside it what moves by itself: the internal dynamics are as stated."""
    x, *free = hf.coordinates(f"x {coordinates}")
    kinetic = sum((c.rate**2 for c in free), x.rate**2) / 2
    loss = dissipation(*free) if callable(dissipation) else dissipation
    system = hf.System(
        coordinates=(x, *free), kinetic=kinetic, potential=potential(*free), dissipation=loss,
        forces=forces(*free) if forces else {},
    )  # fmt: skip
    program = hf.Program(holonomic={"held": x}, controls={"F": {x: 1}}, law=LAW)
    run = hf.Run(scheme="dop853", tolerance=1e-10, duration=duration)
    return hf.Problem(system, program, start=start, run=run)


def acrobot(length, held):
    """Two links of length 1 and `length`, masses 2 and 3 at their ends, hanging at 0; a motor at the elbow."""
    a, b = hf.coordinates("a b")
    X, Z = sp.sin(a), -sp.cos(a)
    U, W = X + length * sp.sin(a + b), Z - length * sp.cos(a + b)
    kinetic = hf.rate(X) ** 2 + hf.rate(Z) ** 2 + R(3, 2) * (hf.rate(U) ** 2 + hf.rate(W) ** 2)
    system = hf.System(coordinates=(a, b), kinetic=kinetic, potential=R("9.81") * (2 * Z + 3 * W))
    return hf.Problem(system, hf.Program(holonomic={"held": held(a, b)}, controls={"M": {b: 1}}, law=LAW))


# ── slopes ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("problem", [pvtol(), cart_pole(lambda x, phi: x - phi), acrobot(R(3, 4), lambda a, b: a)])
def test_slopes_are_those_of_differences(problem):
    equations = hf.derive(problem)
    tangent, size = tangent_of(equations), len(equations.state_names)
    constants = list(equations.parameter_values.values())
    states = np.random.default_rng(1).uniform(-1, 1, (3, size))
    found = tangent.along(np.zeros(3), states, constants)
    for k, state in enumerate(states):
        for j in range(size):
            step = 1e-6 * np.eye(size)[j]
            above, below = (tangent.at(0.0, state + sign * step, constants) for sign in (1, -1))
            assert_allclose(found.motion[k, :, j], (above.rates - below.rates) / 2e-6, rtol=1e-6, atol=1e-6)
            assert_allclose(found.program[k, :, j], (above.deviations - below.deviations) / 2e-6, rtol=1e-6, atol=1e-6)


def test_what_is_free_stays_free_under_the_linearised_motion():
    """ψ' = H ψ gives Z A = H Z at rest, so that the null space of Z is kept."""
    equations = hf.derive(pvtol())
    slopes = tangent_of(equations).at(0.0, np.zeros(6), list(equations.parameter_values.values()))
    values = equations.evaluate([0.0] * 6)
    assert_allclose(slopes.program @ slopes.motion, values.deviation_matrix @ slopes.program, atol=1e-12)


# ── at rest ───────────────────────────────────────────────────────────────────────────────────────


def test_an_aircraft_held_on_a_path_tumbles():
    inner = hf.internal(hf.derive(pvtol()))
    assert (inner.directions, inner.dimension, inner.carriers) == (1, 2, ("th",))
    assert_allclose(inner.roots, [4.42944691807, -4.42944691807], rtol=1e-11)
    assert inner.non_minimum_phase
    assert inner.grows
    assert inner.warning is not None
    assert "1 direction stays free (th)" in inner.warning
    assert "+4.4294" in inner.warning
    assert "non-minimum phase" in inner.summary()


@pytest.mark.parametrize("rate", [0.5, 50, 5000])
def test_internal_roots_do_not_depend_on_the_law(rate):
    inner = hf.internal(hf.derive(pvtol(law=hf.critically_damped(rate))))
    assert_allclose(inner.roots.real, [4.42944691807, -4.42944691807], rtol=1e-9)


def test_parameters_move_the_root():
    inner = hf.internal(hf.derive(pvtol()), parameters={"eps": 2, "g": 8})
    assert_allclose(inner.roots.real, [2, -2], rtol=1e-12)


def test_an_acrobot_held_by_its_elbow_leaves_the_elbow_free():
    """With the first link held upright, (l² + l) b'' = g l b to first order: the root √(g/(1 + l))."""
    inner = hf.internal(hf.derive(acrobot(R(3, 4), lambda a, b: a - sp.pi)), state={"a": np.pi})
    assert inner.carriers == ("b",)
    assert_allclose(inner.roots.real, np.sqrt(9.81 / 1.75) * np.array([1, -1]), rtol=1e-9)
    assert "at rest b runs away" in inner.warning


def test_an_acrobot_held_straight_swings_or_falls_as_one_pendulum():
    """With b = 0 the links are one: (2 + 3 L²) a'' = -g (2 + 3 L) sin a, L = 7/4."""
    equations = hf.derive(acrobot(R(3, 4), lambda a, b: b))
    pace = np.sqrt(9.81 * (2 + 3 * 1.75) / (2 + 3 * 1.75**2))
    hanging, upright = hf.internal(equations, state={"a": 0.1}), hf.internal(equations, state={"a": 3.1})
    assert_allclose(hanging.roots.imag, pace * np.array([1, -1]), rtol=1e-9)
    assert hanging.rest.fate is Fate.swings
    assert hanging.warning is None
    assert_allclose(upright.roots.real, pace * np.array([1, -1]), rtol=1e-9)
    assert "a runs away" in upright.warning


def test_a_cart_under_a_held_pole_has_a_double_root_without_a_second_direction():
    inner = hf.internal(hf.derive(cart_pole(lambda x, phi: phi)))
    assert_allclose(inner.roots, 0, atol=1e-7)
    assert inner.rest.fate is Fate.leaves
    assert inner.carriers == ("x",)
    assert "nothing brings x back" in inner.warning
    assert not inner.non_minimum_phase


def test_a_hanging_pole_under_a_held_cart_is_not_warned_of():
    inner = hf.internal(hf.derive(cart_pole(lambda x, phi: x, damping=1, phi=3)))
    expected = np.roots([1, 1, 9.81])  # phi'' + phi' + 9.81 phi = 0
    assert_allclose(sorted(inner.roots, key=lambda z: z.imag), sorted(expected, key=lambda z: z.imag), rtol=1e-8)
    assert inner.rest.fate is Fate.returns
    assert inner.warning is None


def test_a_mass_held_through_its_spring_and_damper_is_minimum_phase():
    """x2'' = -k (x2 - x1) - c (x2' - x1') with F on x1: held x2 leaves x1' = -(k/c) x1, the zero of the transfer."""
    x1, x2 = hf.coordinates("x1 x2")
    system = hf.System(
        coordinates=(x1, x2),
        kinetic=(x1.rate**2 + x2.rate**2) / 2,
        potential=3 * (x1 - x2) ** 2,
        dissipation=(x1.rate - x2.rate) ** 2,
    )
    program = hf.Program(holonomic={"far": x2}, controls={"F": {x1: 1}}, law=LAW)
    inner = hf.internal(hf.derive(hf.Problem(system, program)))
    assert inner.dimension == 1
    assert_allclose(inner.roots, [-3], rtol=1e-10)
    assert inner.warning is None


def test_a_program_of_full_degree_leaves_nothing_free():
    q, th = hf.coordinates("q th")
    kinetic = q.rate**2 / 2 + R(3, 20) * th.rate**2
    system = hf.System(coordinates=(q, th), kinetic=kinetic, potential=-5 * sp.cos(q) + 50 * (th - q) ** 2)
    program = hf.Program(holonomic={"path": q - sp.sin(t)}, controls={"u": {th: 1}}, law=LAW)
    inner = hf.internal(hf.derive(hf.Problem(system, program)))
    assert (inner.directions, inner.dimension) == (0, 0)
    assert inner.warning is None
    assert "Nothing stays free" in str(inner)


def test_reactions_are_not_warned_of():
    """A pendulum on its rod may fall over: that is its motion, not a fault of a controller."""
    x, z = hf.coordinates("x z")
    system = hf.System(coordinates=(x, z), kinetic=(x.rate**2 + z.rate**2) / 2, potential=R("9.81") * z)
    program = hf.Program(holonomic={"rod": (x**2 + z**2 - 1) / 2}, law=LAW)
    inner = hf.internal(hf.derive(hf.Problem(system, program, start={x: 0, z: 1})))
    assert_allclose(inner.roots.real, np.sqrt(9.81) * np.array([1, -1]), rtol=1e-9)
    assert inner.non_minimum_phase
    assert inner.warning is None


@pytest.mark.parametrize(
    ("matrix", "fate"),
    [
        ([[0, 1], [0, 0]], Fate.leaves),
        ([[0, 0], [0, 0]], Fate.stays),
        ([[0, 1], [0, -1]], Fate.stays),
        ([[0, 1], [-4, 0]], Fate.swings),
        ([[0, 1], [-4, -1e-3]], Fate.returns),
        ([[0, 1], [-4, 1e-3]], Fate.runs_away),
        ([[0, 1], [1e-4, 0]], Fate.runs_away),
        (np.kron(np.eye(2), [[0, 1], [-4, 0]]), Fate.swings),  # twice the same root, and a direction for each
        (np.array([[0, 1, 0, 0], [-4, 0, 0, 0], [0, 0, 0, 1], [1, 0, -4, 0]]), Fate.leaves),  # resonance
    ],
)
def test_roots_say_what_becomes_of_a_push(matrix, fate):
    """Judged as the growth of exp(A t) is: bounded or not."""
    matrix = np.array(matrix, dtype=float)
    assert roots_at_rest(matrix, pace=2.0).fate is fate
    early, late = (np.linalg.norm(expm(matrix * time), 2) for time in (2e4, 4e4)) if fate.bounded else (1, 2)
    assert late < 1.2 * early or not fate.bounded


# ── along a run ───────────────────────────────────────────────────────────────────────────────────


def in_ticks(flow, duration):
    """The norm of a transition matrix in (q, v · duration/TICKS)."""
    size = len(flow) // 2
    scale = np.array([1.0] * size + [duration / TICKS] * size)
    return np.linalg.norm(scale[:, None] * flow / scale, 2)


def test_a_cart_that_leaves_is_told_with_its_speed():
    equations = hf.derive(cart_pole(lambda x, phi: phi, x_dot=R("0.8")))
    inner = hf.internal(equations, hf.simulate(equations))
    assert inner.along.leaving == {"x": pytest.approx(0.8, rel=1e-9)}
    assert inner.along.label == "estimated"
    assert inner.warning.startswith("1 direction stays free (x); along this run it goes on leaving (x, +0.8 m/s)")
    assert not inner.along.exponential
    assert inner.along.growth == pytest.approx(in_ticks(np.array([[1, 10], [0, 1]]), 10), rel=1e-6)


def test_growth_along_a_run_is_that_of_the_exponential():
    """r'' = r/4: Φ = exp(A t), and its exponent 1/2."""
    equations = hf.derive(beside(lambda r: -(r**2) / 8, duration=20, r=R(1, 1000)))
    along = hf.internal(equations, hf.simulate(equations)).along
    assert along.exponential
    assert along.growth == pytest.approx(in_ticks(expm(20 * np.array([[0, 1], [0.25, 0]])), 20), rel=1e-6)
    assert along.exponent == pytest.approx(0.5, rel=1e-3)


def test_growth_along_a_motion_that_changes_is_that_of_the_variational_equation():
    """r'' = -(1 + 4/5 cos 2t) r, a parametric resonance that no frozen root shows; against SciPy."""
    equations = hf.derive(beside(lambda r: (1 + R(4, 5) * sp.cos(2 * t)) * r**2 / 2, duration=30, r=R(1, 100)))
    inner = hf.internal(equations, hf.simulate(equations))
    assert inner.rest is None
    assert "change with time" in inner.reason

    def rate(moment, flow):
        return (np.array([[0, 1], [-(1 + 0.8 * np.cos(2 * moment)), 0]]) @ flow.reshape(2, 2)).ravel()

    flow = solve_ivp(rate, (0, 30), np.eye(2).ravel(), rtol=1e-10, atol=1e-12).y[:, -1].reshape(2, 2)
    assert inner.along.growth == pytest.approx(in_ticks(flow, 30), rel=5e-3)
    assert inner.along.exponential
    assert "small changes of it grow" in inner.warning


@pytest.mark.parametrize(
    "problem",
    [
        cart_pole(lambda x, phi: x, duration=40, phi=2),  # a pole that swings far under its cart
        beside(lambda r: r**4 / 4, duration=60, r=1),  # its period depends on its swing
        beside(lambda r: 0, dissipation=lambda r: r.rate**2 / 2, duration=30, r_dot=1),  # comes to rest elsewhere
        beside(lambda r: r**2 / 2, dissipation=lambda r: r.rate**2, duration=30, r=1),
    ],
)
def test_what_stays_bounded_is_not_said_to_grow(problem):
    equations = hf.derive(problem)
    inner = hf.internal(equations, hf.simulate(equations))
    assert not inner.along.grows
    assert inner.warning is None
    assert "stays bounded (estimated)" in inner.summary()


def test_what_the_program_itself_moves_is_not_said_to_leave():
    x, y = hf.coordinates("x y")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2)
    program = hf.Program(nonholonomic={"pace": x.rate - 3}, controls={"F": {x: 1}}, law=LAW)
    run = hf.Run(scheme="rk4", step=0.01, duration=5)
    equations = hf.derive(hf.Problem(system, program, start={x.rate: 3}, run=run))
    assert not hf.internal(equations, hf.simulate(equations)).along.leaving


def test_a_run_that_blew_up_is_looked_at_as_far_as_it_is_finite():
    equations = hf.derive(cart_pole(lambda x, phi: x - phi, duration=30, phi=R(1, 10)))
    inner = hf.internal(equations, hf.simulate(equations))
    assert inner.along.grows
    assert json.dumps(inner.to_dict(), allow_nan=False)


# ── where it is said ──────────────────────────────────────────────────────────────────────────────


def written(problem, tmp_path):
    path = tmp_path / "problem.toml"
    hf.dump(problem, path)
    return str(path)


def test_check_and_derive_warn_before_the_run(tmp_path):
    file = written(pvtol(th=R(1, 100)), tmp_path)
    for verb in ("check", "derive"):
        shown = CliRunner().invoke(main, [verb, file])
        assert shown.exit_code == 0
        assert "warning" in shown.stdout
        assert "the root +4.4294 has Re > 0 (non-minimum phase)" in shown.stdout
    data = json.loads(CliRunner().invoke(main, ["check", file, "--json"]).stdout)["internal"]
    assert data["roots"][0] == [pytest.approx(4.42944691807), 0]
    assert data["carriers"] == ["th"]
    assert data["fate"] == "runs_away"


def test_the_verdict_tells_of_a_cart_that_leaves(tmp_path):
    problem = cart_pole(lambda x, phi: phi, x_dot=R("0.8"), phi=R(1, 20))
    study = hf.study(problem, effort=0.5)
    assert "But 1 direction stays free (x); along this run it goes on leaving (x, +0.9" in study.verdict.line
    assert any("1 direction stays free (x)" in text for text in study.report().warnings)
    assert study.verdict.word in ("proved", "checked")


def test_a_program_that_is_not_of_minimum_phase_has_no_promise():
    study = hf.study(pvtol(th=R(1, 100), x=R(1, 10), z=R(1, 10)), effort=0.5)
    assert study.verdict.word == "no promise"
    assert any("non-minimum phase" in fault for fault in study.verdict.faults)
    assert "non-minimum phase" in study.verdict.line


def test_simulate_never_looks_at_it(monkeypatch):
    """A warm path: only who asks pays."""
    import holdfast.equations.internal.tangent as module

    def refuse(*_):
        raise AssertionError("simulate asked for slopes")

    monkeypatch.setattr(module.Tangent, "__init__", refuse)
    run = hf.simulate(hf.derive(pvtol(th=R(1, 100))))
    assert len(run.times) > 1
    assert run.message


def test_a_start_without_slopes_is_checked_all_the_same(tmp_path):
    """|x| has no curvature at its corner and √ none at 0: what stays free is then not known, and nothing is refused."""
    x, r = hf.coordinates("x r")
    system = hf.System(coordinates=(x, r), kinetic=(x.rate**2 + r.rate**2) / 2, forces={r: -sp.sqrt(r)})
    program = hf.Program(holonomic={"held": x}, controls={"F": {x: 1}}, law=LAW)
    problem = hf.Problem(system, program)
    assert CliRunner().invoke(main, ["check", written(problem, tmp_path)]).exit_code == 0
    with pytest.raises(hf.BadRequest, match="slopes, are not defined at this state"):
        hf.internal(hf.derive(problem))


def test_equations_are_asked_for():
    with pytest.raises(hf.BadRequest, match="takes Equations"):
        hf.internal("problem.toml")


@pytest.mark.parametrize("seed", range(12))
def test_internal_roots_are_the_zeros_of_the_transfer(seed):
    """Random linear systems q'' = -K q - C q' + b u with c·q held: finite roots of Rosenbrock's pencil, by SciPy."""
    random = np.random.default_rng(seed)
    n = 3
    K, C = (random.integers(-9, 10, (n, n)) for _ in range(2))
    b, c = random.integers(1, 6, n), random.integers(1, 6, n)
    q = hf.coordinates("q1 q2 q3")
    forces = {
        one: -sum(int(k) * other for k, other in zip(row, q, strict=True))
        - sum(int(k) * other.rate for k, other in zip(loss, q, strict=True))
        for one, row, loss in zip(q, K, C, strict=True)
    }
    system = hf.System(coordinates=q, kinetic=sum(one.rate**2 for one in q) / 2, forces=forces)
    line = sum(int(k) * one for k, one in zip(c, q, strict=True))
    push = {one: int(k) for one, k in zip(q, b, strict=True)}
    inner = hf.internal(
        hf.derive(hf.Problem(system, hf.Program(holonomic={"line": line}, controls={"u": push}, law=LAW)))
    )
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-K, -C]])
    B, H = np.concatenate([np.zeros(n), b]), np.concatenate([c, np.zeros(n)])
    pencil = np.block([[A, B[:, None]], [H[None], np.zeros((1, 1))]])
    zeros = eigvals(pencil, np.diag([1.0] * 2 * n + [0.0]))
    zeros = sorted(zeros[np.abs(zeros) < 1e4], key=lambda z: (round(z.real, 6), z.imag))
    assert len(zeros) == inner.dimension == 4
    assert_allclose(sorted(inner.roots, key=lambda z: (round(z.real, 6), z.imag)), zeros, rtol=1e-6, atol=1e-6)
    assert inner.non_minimum_phase == (max(zero.real for zero in zeros) > 0)
