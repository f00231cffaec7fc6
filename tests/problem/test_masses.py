"""Points of variable mass: what is refused, what a file says, and the laws they obey."""

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import holdfast as hf
from holdfast.equations.dynamics.masses import added_forces, from_lagrange, projected, work_of
from holdfast.graph.arithmetics.tape import Ledger
from holdfast.graph.nodes import substitute

t = hf.time
x, y = hf.coordinates("x y")
small = st.integers(-4, 4).map(lambda k: sp.Rational(k, 8))

# ---------------------------------------------------------------- laws


@st.composite
def systems(draw):
    """Two points of mass m(q, v, t) at moving positions, with streams, inner motions, jumps and given forces."""
    terms = [sp.sin(x * y.rate + t), x.rate**2, t * y, sp.cos(y), x.rate * y.rate, t**2]
    mass = 3 + sum(draw(small) * term / 4 for term in terms)
    place = (x * sp.cos(y) + draw(small) * t, x * sp.sin(y) + draw(small) * t**2, draw(small) * sp.sin(t * x))
    one = hf.MovingMass(
        position=place,
        mass=mass,
        force=(1, draw(small) * x, y.rate),
        streams=(
            hf.Stream(velocity=(x, draw(small) * t, y.rate)),
            hf.Stream(velocity=(1, 2, x.rate), rate=draw(small) * x + t, relative=True),
        ),
        inner=hf.Inner(mass=1 + x**2 / 4, velocity=(sp.sin(t) * x.rate, y, 1)),
        turning=(x, draw(small), t),
        jumps=hf.Jump(flow=t, change=(1, draw(small) * x, y)),
        reactive=(draw(small) * x.acceleration * y, 1, y.acceleration / 4),
    )
    two = hf.MovingMass(position=(x, y), mass=2 + draw(small) * x**2, streams=hf.Stream(velocity=(0, draw(small))))
    masses = {"one": one, "two": two}
    system = hf.System(coordinates=(x, y), masses=masses, kinetic=x.rate**2 / 2, potential=x**2 * y / 4)
    return hf.derive(hf.Problem(system, start={x: 0.75, y: 0.4, x.rate: 0.5, y.rate: -0.6}, run=hf.Run(begin=0.7)))


STATE = (0.7, 0.75, 0.4, 0.5, -0.6)


def numbers(equations, nodes):
    inputs = equations.inputs
    return np.array(Ledger(dict(zip((inputs.time, *inputs.q, *inputs.v), STATE, strict=True))).of(list(nodes)))


@given(systems())
@settings(max_examples=25, deadline=None)
def test_projection_and_lagrange_with_the_added_forces_agree(equations):
    inputs, points = equations.inputs, equations.dynamics.points
    shares = projected(points, inputs), from_lagrange(points, inputs)
    zero = inputs.graph.zero
    matrices = [numbers(equations, [row.get(j, zero) for row in share.mass for j in range(2)]) for share in shares]
    assert_allclose(matrices[0], matrices[1], rtol=1e-12, atol=1e-12)
    assert_allclose(numbers(equations, shares[0].bias), numbers(equations, shares[1].bias), rtol=1e-12, atol=1e-12)
    assert equations.solver.form == "saddle"  # M is not symmetric here
    m = matrices[0].reshape(2, 2)
    assert abs(m[0, 1] - m[1, 0]) > 1e-12


@given(systems())
@settings(max_examples=10, deadline=None)
def test_the_work_of_the_additional_forces_splits_by_what_moves(equations):
    """f^d · r' = f0·v + f1·a + ft, with f^d = f^p + m' r'/2."""
    inputs, points, found = equations.inputs, equations.dynamics.points, equations.solved_inputs
    work = work_of(points, inputs)
    f0, f1, (ft,) = (numbers(equations, nodes) for nodes in (work.by_position, work.by_rate, [work.by_time]))
    power = 0.0
    for point in points:
        nodes = substitute([*point.reactive, point.mass_rate, point.square, *point.velocity], found)
        values = numbers(equations, nodes)
        size = len(point.velocity)
        power += np.dot(values[:size], values[size + 2 :]) + values[size] * values[size + 1] / 2
    accelerations = equations.evaluate().accelerations
    assert f0 @ np.array(STATE[3:]) + f1 @ accelerations + ft == pytest.approx(power, rel=1e-10, abs=1e-11)
    assert equations.evaluate()["power_added"] == pytest.approx(power, rel=1e-10, abs=1e-11)


@given(systems())
@settings(max_examples=5, deadline=None)
def test_the_energy_balance_closes(equations):
    run = hf.simulate(equations, hf.RK4, step=0.001, duration=0.2)
    assert run.success
    scale = 1 + np.abs(run.energy).max()
    assert np.abs(run.energy_balance.residual).max() < 1e-9 * scale
    assert np.abs(run["power_added"]).max() > 0


def test_momentum_of_the_point_and_of_what_it_exchanged_is_kept():
    """m v − ∫ Σ rate u dt stays where it was when no force acts."""
    a, b = hf.states("a b")
    mass = 2 + sp.sin(t) / 2
    caught, thrown = sp.Rational(1, 3), sp.cos(t) / 2 - sp.Rational(1, 3)  # rates, as stated
    u, w = (1, sp.cos(t)), (x.rate - 2, 3 * y.rate)
    point = hf.MovingMass(
        position=(x, y),
        mass=mass,
        streams=(hf.Stream(velocity=u, rate=caught), hf.Stream(velocity=w, rate=thrown)),
    )
    exchanged = {s: caught * u[k] + thrown * w[k] for k, s in enumerate((a, b))}
    system = hf.System(coordinates=(x, y), masses={"point": point}, states=exchanged)
    run = hf.simulate(
        hf.derive(hf.Problem(system, start={x.rate: 1, y.rate: -1})), hf.DOP853, tolerance=1e-12, duration=3
    )
    m = 2 + np.sin(run.times) / 2
    assert_allclose(m * run["x_dot"] - run["a"], 2, rtol=0, atol=1e-10)
    assert_allclose(m * run["y_dot"] - run["b"], -2, rtol=0, atol=1e-10)
    assert np.abs(run["a"]).max() > 0.5


def test_a_jump_is_a_stream_seen_from_inside():
    """Ejection: flow −m', jump from rest to u − v; capture: flow m', jump from u − v to rest. Both are m'(u − v)."""
    for rate, jump in ((-1, hf.Jump(flow=1, change=(-3, 2))), (1, hf.Jump(flow=1, change=(3, -2)))):
        ways = []
        for way in ({"jumps": jump}, {"streams": hf.Stream(velocity=(-3, 2), relative=True)}):
            point = hf.MovingMass(position=(x, y), mass=5 + rate * t, **way)
            system = hf.System(coordinates=(x, y), masses={"point": point})
            ways.append(hf.derive(hf.Problem(system)).evaluate().accelerations)
        assert_allclose(ways[0], ways[1], rtol=1e-14)
        assert_allclose(ways[0], np.array([-3, 2]) * rate / 5, rtol=1e-14)


def test_inner_motion_pushes_by_relative_and_coriolis_acceleration():
    point = hf.MovingMass(
        position=(x, y), mass=4, inner=hf.Inner(mass=1, velocity=(2, 3), acceleration=(5, 7)), turning=x.rate
    )
    at = hf.derive(hf.Problem(hf.System(coordinates=(x, y), masses={"point": point}))).evaluate({x.rate: 0.5})
    assert_allclose(at.accelerations, [(-5 + 2 * 0.5 * 3) / 4, (-7 - 2 * 0.5 * 2) / 4], rtol=1e-14)


def test_added_forces_of_a_mass_in_time_are_the_momentum_that_streams_bring():
    """Meshchersky, m(t): f^a = m' u."""
    point = hf.MovingMass(position=(x, y), mass=1 + t, streams=hf.Stream(velocity=(3, -2)))
    equations = hf.derive(hf.Problem(hf.System(coordinates=(x, y), masses={"point": point})))
    assert_allclose(numbers(equations, added_forces(equations.dynamics.points, equations.inputs)), [3, -2])


def test_the_formulas_of_added_forces_and_of_their_work():
    """m(q): f^a = m'(u) − m_q v²/2, f0 = m_q v (u − v) + m_q v²/2; m(v): f1 carries what m_v does."""
    mass = hf.MovingMass(position=(x,), mass=1 + x / 2, streams=hf.Stream(velocity=(3,)))
    found = hf.added_forces(hf.derive(hf.Problem(hf.System(coordinates=(x,), masses={"p": mass}))))
    v = x.rate
    assert sp.expand(found.lagrange[0] - (3 * v / 2 - v**2 / 4)) == 0
    assert sp.expand(found.by_position[0] - (v / 2 * (3 - v) + v**2 / 4)) == 0
    assert (found.by_rate[0], found.by_time) == (0, 0)
    mass = hf.MovingMass(position=(x,), mass=5 - v / 2, streams=hf.Stream(velocity=(-4,), relative=True))
    found = hf.added_forces(hf.derive(hf.Problem(hf.System(coordinates=(x,), masses={"p": mass}))))
    assert sp.expand(found.by_rate[0] - (2 * v - v**2 / 4)) == 0
    assert sp.expand(found.lagrange[0] - x.acceleration * (2 - v)) == 0
    with pytest.raises(hf.BadRequest, match="no point of variable mass"):
        hf.added_forces(hf.derive(hf.Problem(hf.System(coordinates=(x,), kinetic=v**2))))


# ---------------------------------------------------------------- drag


def test_drag_models_agree_with_their_formula_and_vanish_at_rest():
    air = hf.exponential_atmosphere(1e-4, 8000)
    assert float(air.per_mass(100, 8000)) == pytest.approx(1e-4 * 1e4 / np.e)
    for model in (hf.constant_drag(2), hf.quadratic_drag(0.5), air, hf.Drag(coefficient=3, power=1)):
        force = model.force((x.rate, y.rate), mass=2, height=1000)
        moving, still = ({x.rate: a, y.rate: b} for a, b in ((3, 4), (0, 0)))
        size = float(model.per_mass(5, 1000)) * 2
        assert_allclose([float(part.subs(moving)) for part in force], [-size * 3 / 5, -size * 4 / 5], rtol=1e-14)
        assert [part.subs(still) for part in force] == [0, 0]


# ---------------------------------------------------------------- the two roles


def engine(**more):
    """A point whose thrust burns mass at a fixed exhaust speed."""
    P, m, c = hf.controls("P2 P3"), hf.states("m"), hf.parameters("c")
    rocket = hf.MovingMass(position=(x, y), mass=m, force=(0, -m * 10), thrust=P)
    system = hf.System(
        coordinates=(x, y),
        masses={"rocket": rocket},
        states={m: -sp.sqrt(P[0] ** 2 + P[1] ** 2) / c},
        parameters={c: 3000},
    )
    program = hf.Program(
        holonomic={"along": x - 40 * t, "climb": y - 60 * t - t**2},
        controls={"P2": {x: 1}, "P3": {y: 1}},
        law=hf.critically_damped(1),
    )
    return hf.Problem(system, program, start={x.rate: 40, y.rate: 60, m: 100}, **more)


def test_an_engine_of_fixed_exhaust_speed_burns_out_when_the_rocket_equation_says():
    """On the program |P| = 12 m, hence m' = −12 m/c and burnout after (c/12) ln(100/40)."""
    m = hf.states("m")
    events = {"burnout": hf.Event(m - 40, terminal=True)}
    run = hf.simulate(hf.derive(engine()), hf.DOP853, tolerance=1e-11, duration=400, events=events)
    assert run.events["burnout"] == pytest.approx(3000 / 12 * np.log(100 / 40), abs=1e-6)
    found = hf.exhaust(run)
    assert_allclose(found.speed, 3000, rtol=1e-12)
    assert found.feasible
    assert abs(run.energy_balance.residual[-1]) < 1e-6 * run.energy[-1]


def test_such_an_engine_reads_back_from_its_file():
    assert hf.loads(hf.dumps(engine(title="Engine"))) == engine(title="Engine")


def test_without_a_changing_mass_no_exhaust_gives_the_thrust():
    point = hf.MovingMass(position=(x, y), mass=sp.Max(10 - t, 9), thrust=("P2", "P3"))
    program = hf.Program(holonomic={"a": x - t**2, "b": y - t}, controls={"P2": {x: 1}, "P3": {y: 1}})
    problem = hf.Problem(hf.System(coordinates=(x, y), masses={"p": point}), program, start={y.rate: 1})
    found = hf.exhaust(hf.simulate(hf.derive(problem), hf.RK4, step=0.25, duration=2))
    assert found.burning.tolist() == [True] * 4 + [found.burning[4]] + [False] * 4
    assert not found.feasible
    assert "no mass leaves" in str(found)
    assert np.isnan(found.velocity[-1]).all()
    assert not found.ratio_defined[0, 0]  # x starts at rest


def test_a_control_is_not_asked_for_before_it_is_known():
    P, m = hf.controls("P"), hf.states("m")
    program = hf.Program(holonomic={"home": x}, controls={"P": {x: 1}})
    heavy = hf.System(coordinates=(x,), kinetic=m * x.rate**2 / 2, states={m: -P})
    with pytest.raises(hf.BadStatement, match="before that control is known"):
        hf.derive(hf.Problem(heavy, program, start={m: 1}))
    light = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, states={m: -P})
    with pytest.raises(hf.BadStatement, match="rate of the constraint 'home' contains the control 'P'"):
        hf.derive(hf.Problem(light, hf.Program(holonomic={"home": x - m}, controls={"P": {x: 1}})))
    with pytest.raises(hf.BadStatement, match="'P' is not a control of the program"):
        hf.Problem(light, hf.Program(holonomic={"home": x}))


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("scheme", [hf.RK4, hf.Euler])
def test_a_mass_that_runs_out_is_an_outcome_and_the_run_is_kept(scheme):
    point = hf.MovingMass(position=(x,), mass=1 - t / 2, streams=hf.Stream(velocity=(-3,), relative=True))
    run = hf.simulate(
        hf.derive(hf.Problem(hf.System(coordinates=(x,), masses={"p": point}))), scheme, step=0.01, duration=5
    )
    assert run.outcome is hf.Outcome.mass_gone
    assert not run.success
    assert "A mass reached zero" in run.message
    assert run.times[-1] == pytest.approx(2, abs=0.02)
    assert len(run.times) > 190


def point(**more):
    return {"p": hf.MovingMass(**({"position": (x, y), "mass": 2 - t} | more))}


@pytest.mark.parametrize(
    ("masses", "what"),
    [
        (point(), "nothing says with which velocity"),
        (point(streams=hf.Stream(rate=-1)), "a stream has no velocity"),
        (point(streams=hf.Stream(velocity=(1,))), "has 1 components, and the position has 2"),
        (point(streams=(hf.Stream(velocity=(0, 0)), hf.Stream(velocity=(1, 1)))), "not said how the change"),
        (point(mass=-1), "the mass is -1"),
        (point(mass=2, turning=1), "without anything that moves in it"),
        (point(mass=2, position=()), "one to three components"),
        (point(thrust=("P",)), "does not name a control for each component"),
        (point(streams="fast"), "is not a Stream"),
        ({"p": 3}, "is not a MovingMass"),
        (point(force=(1, 2, 3), mass=2), "has 3 components"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(masses, what):
    with pytest.raises(hf.BadStatement) as caught:
        hf.System(coordinates=(x, y), masses=masses)
    assert what in str(caught.value)
    assert caught.value.fix or caught.value.where


def test_streams_that_do_not_add_up_are_refused():
    masses = point(streams=hf.Stream(velocity=(0, 0), rate=-2))
    with pytest.raises(hf.BadStatement, match="do not add up"):
        hf.derive(hf.Problem(hf.System(coordinates=(x, y), masses=masses)))


def test_a_mass_that_is_not_there_at_the_start_is_refused():
    masses = point(mass=t, streams=hf.Stream(velocity=(0, 0)))
    with pytest.raises(hf.BadStatement, match="mass of 'p' is 0 at the start"):
        hf.derive(hf.Problem(hf.System(coordinates=(x, y), masses=masses)))


def test_a_thrust_that_pushes_elsewhere_is_refused():
    system = hf.System(coordinates=(x, y), masses=point(thrust=("P", 0)))
    program = hf.Program(holonomic={"a": y}, controls={"P": {y: 1}})
    with pytest.raises(hf.BadStatement, match="does not push the coordinates as a force"):
        hf.derive(hf.Problem(system, program))


def test_a_reactive_force_must_be_linear_in_accelerations():
    masses = point(reactive=(x.acceleration**2, 0))
    with pytest.raises(hf.BadStatement, match="not linear in the accelerations"):
        hf.derive(hf.Problem(hf.System(coordinates=(x, y), masses=masses)))


FILE = """
schema = 1
[system]
coordinates = ["x", "y"]
[points]
P = ["x", "y + l"]
[parameters]
l = 1
[system.masses.ship]
position = "P"
mass = "4 - x/8 + y_dot/100"
force = [0, "-l"]
streams = [{ velocity = [1, "y_dot"], relative = true }, { velocity = ["x", 0], rate = "sin(t)/4" }]
inner = [{ mass = 0.5, velocity = ["t", 1], acceleration = [1, 0] }]
turning = "x_dot"
jumps = [{ flow = "t", change = [1, 2] }]
reactive = ["x_ddot/9", 0]
"""


def test_masses_of_a_file_read_back_and_derive():
    problem = hf.loads(FILE)
    ship = problem.system.masses["ship"]
    assert [stream.relative for stream in ship.streams] == [True, False]
    assert ship.turning == (x.rate,)
    assert hf.loads(hf.dumps(problem)) == problem
    assert np.isfinite(hf.derive(problem).evaluate().accelerations).all()


@pytest.mark.parametrize(
    ("old", "new", "what", "line"),
    [
        ('velocity = [1, "y_dot"], ', "", "a stream has no velocity", 13),
        ("relative = true", "relative = 1", "true or false belongs here", 13),
        ("jumps", "jump", "unknown key 'jump'", 16),
        ('flow = "t", ', "", "flow is missing here", 16),
        ('mass = "4 - x/8 + y_dot/100"\n', "", "has no mass", 9),
        ("4 - x/8", "4 - z/8", "unknown name 'z'", 11),
        ('"P"', '"l"', "a vector belongs here", 10),
        ('[0, "-l"]', "[0]", "has 1 components", 12),
        ('[0, "-l"]', "3", "a vector belongs here", 12),
        ("sin(t)/4", "x_ddot", "may not occur here", 13),
    ],
)
def test_a_bad_mass_of_a_file_is_shown_in_its_line(old, new, what, line):
    assert old in FILE
    with pytest.raises(hf.BadFile) as caught:
        hf.loads(FILE.replace(old, new))
    found = caught.value.findings[0]
    assert what in found.what
    assert found.line == line
