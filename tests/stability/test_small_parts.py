"""Small parts of the promises, each by itself: sizes, margins, orders, and what is granted."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from holdfast.stability.certificate.certificate import BlockCertificate, Label, Proof
from holdfast.stability.letters.conditions import _cycles, _written
from holdfast.stability.linear.mean_square import ALIKE, _differ
from holdfast.stability.promise.proved_block import bounded_in_energy
from holdfast.stability.proof.block import blocks_of, motion_of
from holdfast.stability.proof.claim import Claim
from holdfast.stability.proof.omega import state_sizes, unproved_limits
from holdfast.stability.proof.work import EFFORT
from holdfast.stability.theory.estimated_defect import _places, estimated_defect
from holdfast.stability.theory.form_verdicts import SignVerdict, _counted, _states
from holdfast.stability.theory.lyapunov import LyapunovFunction
from holdfast.stability.theory.motion_step import _norm, _order
from holdfast.stability.tuning.trials import MeasuredGains
from holdfast.stability.tuning.tune import _Search
from tests.stability.held import adaptive_optics, pendulum

x, y = hf.coordinates("x y")

# ── the estimated defect ──────────────────────────────────────────────────────────────────────────

STEP, STIFF, DAMPED = 0.125, 4.0, 5.0
LAW = np.array([[0.0, 1.0], [-STIFF, -DAMPED]])
V = LyapunovFunction(np.array([[12.0, 2.0], [2.0, 3.0]]), LAW)


def followed():
    """x on sin t: what an Euler step leaves beside (I + τH)z is known, and does not depend on z."""
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2)
    program = hf.Program(
        holonomic={"path": x - sp.sin(hf.time)}, controls={"F": {x: 1}},
        law=hf.SpringDamper(stiffness=STIFF, damping=DAMPED),
    )  # fmt: skip
    return hf.derive(hf.Problem(system, program, start={x.rate: 1}))


def left(times):
    """d = (−sin(t+τ) + sin t + τ cos t, −cos(t+τ) + cos t − τ sin t)/τ²."""
    after = times + STEP
    rows = [
        -np.sin(after) + np.sin(times) + STEP * np.cos(times),
        -np.cos(after) + np.cos(times) - STEP * np.sin(times),
    ]
    return np.array(rows).T / STEP**2


@pytest.mark.parametrize("euclidean", [True, False])
def test_a_sampled_defect_finds_the_worst_time(euclidean):
    times = np.linspace(0, 3, 30001)
    sizes = V.norm(left(times))
    found = estimated_defect(followed(), V, STEP, 0.01, domain={"t": (0, 3)}, count=20, euclidean=euclidean)
    assert found.defect <= sizes.max() * (1 + 1e-9)
    assert found.defect >= sizes.max() * (1 - 1e-4)  # looking again round the worst of 20 samples
    assert found.worst_time == pytest.approx(times[sizes.argmax()], abs=0.05)
    assert 0 <= found.worst_time <= 3
    assert found.count == 20 + 3 * 20 * 20


def test_a_sampled_curvature_is_that_of_v_over_a_step():
    """W = 2|V(z⁺) − V(z) − τV̇(z)|/τ² at the border of the ball, by a scan of directions and times."""
    tolerance = 0.01
    found = estimated_defect(followed(), V, STEP, tolerance, domain={"t": (0, 3)}, count=2000, euclidean=True)
    angles, times = np.meshgrid(np.linspace(0, 2 * np.pi, 181), np.linspace(0, 3, 301))
    z = tolerance * np.column_stack([np.cos(angles.ravel()), np.sin(angles.ravel())])
    after = z + STEP * z @ LAW.T + STEP**2 * left(times.ravel())
    wanted = (2 * np.abs(V(after) - V(z) - STEP * V.derivative(z)) / STEP**2).max()
    assert found.curvature == pytest.approx(wanted, rel=0.02)


def test_deviations_are_found_among_all():
    z, phi = hf.coordinates("z phi")
    system = hf.System(coordinates=(x, z, phi), kinetic=(x.rate**2 + z.rate**2 + phi.rate**2) / 2)
    program = hf.Program(holonomic={"a": x, "b": z}, nonholonomic={"c": phi.rate}, law=hf.critically_damped(1))
    equations = hf.derive(hf.Problem(system, program))
    assert _places(equations, None) == [0, 1, 2, 3, 4]
    assert _places(equations, ("b",)) == [1, 3]
    assert _places(equations, ("c",)) == [4]
    assert _places(equations, ("b", "c")) == [1, 3, 4]


# ── steps along the motion ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("scheme", [hf.Euler, hf.Heun, hf.Kutta3, hf.RK4], ids=lambda s: s.name)
def test_explicit_schemes_of_order_four_have_taylor_matrices(scheme):
    assert _order(scheme) == scheme.order


@pytest.mark.parametrize("scheme", [hf.ImplicitMidpoint, hf.DOPRI5, hf.Radau5, hf.DOP853], ids=lambda s: s.name)
def test_implicit_adaptive_and_higher_schemes_have_none(scheme):
    with pytest.raises(hf.BadRequest, match="explicit schemes of order 4 at most"):
        _order(scheme)


def test_the_norm_of_a_motion_contracts_all_its_steps():
    """Two matrices that no Euclidean norm contracts, but a common one does; one that nothing contracts."""
    steps = [np.array([[0.5, 4.0], [0.0, 0.5]]), np.array([[0.5, 3.0], [0.0, 0.6]])]
    norm = _norm(None, steps, ("y", "w"))
    assert all(norm.of_matrix(matrix) < 1 for matrix in steps)
    assert _norm(None, steps[:1], ("y", "w")).of_matrix(steps[0]) < 1
    assert (_norm(None, [np.eye(2), steps[0]], ("y", "w")).matrix == np.eye(2)).all()
    with pytest.raises(hf.BadRequest, match="V speaks of 2 deviations, the law of 3"):
        _norm(V, steps, ("a", "b", "c"))


# ── letters ───────────────────────────────────────────────────────────────────────────────────────


def test_rows_that_influence_each_other_one_way_are_apart():
    assert _cycles(sp.Matrix([[1, 1], [0, 1]])) == [[0], [1]]
    assert _cycles(sp.Matrix([[1, 1], [1, 1]])) == [[0, 1]]
    assert _cycles(sp.Matrix([[0, 0, 1], [0, 1, 0], [1, 1, 0]])) == [[0, 2], [1]]


def test_a_polynomial_is_written_by_falling_powers():
    r = sp.Symbol("lambda")
    from holdfast.stability.letters.routh import ROOT

    b, k = sp.symbols("b k")
    word = lambda e: str(e.subs(ROOT, r)).replace("**", "^")  # noqa: E731
    assert _written(ROOT**2 + b * ROOT + k, word, "*") == "lambda^2 + b*lambda + k"
    assert _written(2 * ROOT**2 + (b + k) * ROOT - 1, word, "*") == "2*lambda^2 + (b + k)*lambda - 1"
    assert _written((ROOT + b) * (ROOT - k), word, "*") in {"(lambda + b)*(lambda - k)", "(lambda - k)*(lambda + b)"}


# ── what is granted and measured ──────────────────────────────────────────────────────────────────


def test_the_energy_of_a_run_is_granted_with_a_margin():
    """A twentieth of the largest kinetic energy, and a tenth of the energy's own range, to either side."""
    equations = hf.derive(pendulum(0.5))
    run = hf.simulate(equations, hf.Euler, step=0.01, duration=0.5)
    region = {"t": (0.0, 0.5)} | {name: (run[name].min() - 0.1, run[name].max() + 0.1) for name in run.state_names}
    (block,) = blocks_of(equations, {})
    setting = Claim(equations, block, hf.Euler, 0.01, {}, region, {})
    low, high = bounded_in_energy(setting, run).limits["energy"]
    margin = 0.05 * run["kinetic"].max() + 0.1 * np.ptp(run["energy"])
    assert low == pytest.approx(run["energy"].min() - margin)
    assert high == pytest.approx(run["energy"].max() + margin)


def test_sizes_of_states_are_tied_by_the_duration():
    run = SimpleNamespace(
        y=np.array([[1.0, -2.0], [0.0, 0.5], [3.0, 0.0], [0.0, 0.0], [0.0, 0.0]]), times=np.array([1.0, 5.0]),
        state_names=("x", "y", "x_dot", "y_dot", "m"),
    )  # fmt: skip
    assert state_sizes(run, 2) == {"x": 12.0, "y": 12.0, "x_dot": 3.0, "y_dot": 3.0, "m": 1.0}
    run.times = np.array([1.0, 1.25])
    assert state_sizes(run, 2) == {"x": 2.0, "y": 2.0, "x_dot": 8.0, "y_dot": 8.0, "m": 1.0}
    run.times = np.array([1.0, 1.0])
    assert state_sizes(run, 2) == {"x": 2.0, "y": 2.0, "x_dot": 3.0, "y_dot": 3.0, "m": 1.0}


def test_what_a_proof_takes_for_granted_counts_by_its_nearer_side():
    limits = (("y_a", -1e-3, 2e-3), ("w_a", -5.0, 4.0), ("energy", -1.0, 1.0), ("y_b", -1.0, 1.0))
    proof = Proof(
        factor=((1.0,),), gamma=0.5, tube=1.0, coefficient=0.0, rounding=0.0, radius=0.0, region=(), limits=limits
    )
    block = SimpleNamespace(label=Label.proved, proof=proof)
    assert unproved_limits(block, {"y_a": 1e-3, "w_a": 4.0, "y_b": 1.0}) == {}
    assert unproved_limits(block, {"y_a": 1.5e-3, "w_a": 4.5, "y_b": 1.0}) == {"y_a": 1e-3, "w_a": 4.0}
    assert unproved_limits(block, {}) == {"y_a": 1e-3, "w_a": 4.0, "y_b": 1.0}
    assert unproved_limits(SimpleNamespace(label=Label.checked, proof=None), {}) == {}


def test_matrices_differ_by_their_own_size():
    one = np.array([[1e6, 0.0], [0.0, 1.0]])
    assert not _differ(one, one)
    assert not _differ(one, one * (1 + ALIKE / 2))
    assert _differ(one, one * (1 + 3 * ALIKE))
    assert _differ(one, -one)
    assert not _differ(np.zeros((0, 0)), np.zeros((0, 0)))


# ── words ─────────────────────────────────────────────────────────────────────────────────────────


def test_one_cell_and_one_state_are_told_in_the_singular():
    assert [_counted(n) for n in (0, 1, 2)] == ["0 cells", "1 cell", "2 cells"]
    assert [_states(n) for n in (0, 1, 2)] == ["0 states", "1 state", "2 states"]


@pytest.mark.parametrize(
    ("label", "holds"), [("proved", True), ("sampled", True), ("refuted", False), ("undecided", None)]
)
def test_a_sign_holds_where_it_is_proved_or_sampled(label, holds):
    verdict = SignVerdict("V falls", label, "because")
    assert verdict.holds is holds
    assert bool(verdict) == bool(holds)
    assert str(verdict) == f"V falls: {label}; because."


def test_a_constant_form_is_proved_with_the_constants_it_has():
    """V = 3y² + 4yw + 3w² under w' = −y − 4w/3: l₁ = 1, l₂ = 5, p = 4/3, to a part in 10⁹."""
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2)
    program = hf.Program(holonomic={"home": x}, controls={"F": {x: 1}}, law=hf.gains_from((3, 4, 3)).law("home"))
    home = hf.deviations("home")
    study = hf.lyapunov(hf.derive(hf.Problem(system, program)), 3 * home**2 + 4 * home * home.rate + 3 * home.rate**2)
    positive, falls = study.positive, study.decreasing
    assert (positive.label, falls.label) == ("proved", "proved")
    assert positive.numbers["l1"] == pytest.approx(1, rel=1e-8)
    assert positive.numbers["l2"] == pytest.approx(5, rel=1e-8)
    assert positive.numbers["l1"] < 1 < 5 < positive.numbers["l2"]
    assert falls.numbers["rate"] == pytest.approx(4 / 3, rel=1e-8)
    assert "in 1 cell of balls" in positive.reason


def test_the_region_of_a_proof_is_told_range_by_range():
    proof = Proof(
        factor=((1.0,),), gamma=0.5, tube=1.0, coefficient=1.0, rounding=0.0, radius=0.5,
        region=(("t", 0.0, 2.0), ("x", -1.0, 1.0)), limits=(("y_a", -0.25, 0.25), ("energy", -3.0, 1.0)),
    )  # fmt: skip
    block = BlockCertificate(("rod",), Label.proved, "", names=("y_rod",), bounds=(0.5,), proof=proof)
    assert block.omega() == "t in [0, 2], |x| <= 1, |y_a| <= 0.25, energy in [-3, 1]"
    assert block.line() == "rod: proved while in Omega (|y_rod| <= 0.5)"
    assert replace(block, settles=True).line() == "rod: proved while in Omega (once settled |y_rod| <= 0.5)"
    assert replace(block, proof=None).omega() == ""


@pytest.mark.parametrize("entry", [(1, 0), (1, 1)])
def test_a_matrix_that_is_not_exactly_the_law_is_no_ground_for_a_proof(entry):
    equations = hf.derive(pendulum(0.5))
    (block,) = blocks_of(equations, {})
    assert motion_of(equations, block, {}) is not None
    bent = block.matrix.copy()
    bent[entry] *= 1 + 1e-15
    with pytest.raises(hf.BadRequest, match="not exact in double precision"):
        motion_of(equations, replace(block, matrix=bent), {})


def test_the_search_counts_errors_beyond_their_limits():
    """The deviation times the third power of each excess: 2 beyond a limit of 0.5 is 4 times, so 64."""
    search = object.__new__(_Search)
    search.limits = {"state_error": 0.5, "energy_error": 10.0}
    measured = MeasuredGains(
        np.array([1e-3, 1e-3, 1e-3, 1e-3]), np.array([0.4, 2.0, 0.5, 2.0]), np.array([1.0, 1.0, 20.0, 20.0]),
        np.ones(4), np.array([True, True, True, False]),
    )  # fmt: skip
    assert search._penalised(measured).tolist() == pytest.approx([1e-3, 64e-3, 8e-3, np.inf])
    search.limits = {"state_error": 0.0}
    assert np.isinf(search._penalised(measured)).all()


class Seen(Exception):
    """Carries what was seen out of a certificate that is not finished."""


def test_effort_is_shared_among_the_blocks_that_may_be_proved(monkeypatch):
    """Of two blocks one is only neutral: the other gets all of it; of two that attract each gets half."""

    def each(self, seen, step, share, granted):
        raise Seen(share)

    monkeypatch.setattr("holdfast.stability.promise.assess.Assessment._each_certified", each)
    with pytest.raises(Seen) as seen:
        hf.certify(hf.derive(adaptive_optics()), hf.Euler, step=0.01, duration=0.1, effort=8)
    assert seen.value.args == (8 * EFFORT,)
    both = adaptive_optics().with_law(hf.SpringDamper(stiffness=25, damping=10))
    with pytest.raises(Seen) as seen:
        hf.certify(hf.derive(both), hf.Euler, step=0.01, duration=0.1, effort=8)
    assert seen.value.args == (4 * EFFORT,)
