"""Programs of any degree: closed forms of an elastic joint, a motor and a crane, and deviations that obey their law."""

import pickle

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose
from scipy.linalg import expm

import holdfast as hf

R, t = sp.Rational, hf.time
CHAIN = sp.symbols("y_path w_path w2_path w3_path")
TIGHT = hf.Run(scheme="dop853", tolerance=1e-12, duration=1)


def elastic_joint(law=None, **more):
    """I q'' + G sin q = K (th - q),  J th'' + K (th - q) = u:  q along sin t."""
    q, th = hf.coordinates("q th")
    kinetic = q.rate**2 / 2 + R(3, 20) * th.rate**2
    system = hf.System(coordinates=(q, th), kinetic=kinetic, potential=-5 * sp.cos(q) + 50 * (th - q) ** 2)
    program = hf.Program(holonomic={"path": q - sp.sin(t)}, controls={"u": {th: 1}}, law=law or hf.critically_damped(5))
    given = {"start": {q.rate: 1, th.rate: R("1.04")}, "run": TIGHT} | more
    return hf.Problem(system, program, **given)


def motor(law):
    """L i' + R i + K w = U,  J w' = K i:  the angle along 1 - cos t, by the voltage."""
    charge, angle = hf.coordinates("charge angle")
    K, J = R(1, 2), R(1, 50)
    system = hf.System(
        coordinates=(charge, angle),
        kinetic=R(1, 200) * charge.rate**2 + J * angle.rate**2 / 2,
        dissipation=charge.rate**2 / 2,
        forces={charge: -K * angle.rate, angle: K * charge.rate},
    )
    program = hf.Program(holonomic={"path": angle - 1 + sp.cos(t)}, controls={"U": {charge: 1}}, law=law)
    return hf.Problem(system, program, start={charge.rate: J / K}, run=TIGHT)


def crane(**start):
    """Trolley and winch carry a load along X = 3p, Z = 5 - p (z down)."""
    x, length, th = hf.coordinates("x l th")
    X, Z, m, g = x + length * sp.sin(th), length * sp.cos(th), 4, R("9.81")
    z = t / 3
    p = 35 * z**4 - 84 * z**5 + 70 * z**6 - 20 * z**7
    system = hf.System(
        coordinates=(x, length, th),
        kinetic=4 * x.rate**2 + length.rate**2 + m * (hf.rate(X) ** 2 + hf.rate(Z) ** 2) / 2,
        potential=-m * g * Z,
    )
    program = hf.Program(
        holonomic={"along": X - 3 * p, "down": Z - 5 + p},
        controls={"F": {x: 1}, "N": {length: -1}},
        law=hf.critically_damped(6),
    )
    run = hf.Run(scheme="dop853", tolerance=1e-12, duration=2)
    return hf.Problem(system, program, start={"l": 5, **start}, run=run)


def test_an_elastic_joint_is_held_through_its_spring():
    equations = hf.derive(elastic_joint())
    assert equations.degrees == {"path": 4}
    assert equations.deviation_names == ("y_path", "w_path", "w2_path", "w3_path")
    run = hf.simulate(equations)
    assert run.success
    assert run["th"][-1] == pytest.approx(0.870337482043, abs=1e-10)
    assert run["u"][-1] == pytest.approx(2.62505690421, abs=1e-9)


def test_a_motor_turns_along_its_path_by_its_voltage():
    equations = hf.derive(motor(hf.from_roots(-3, -4, -5)))
    assert equations.degrees == {"path": 3}
    run = hf.simulate(equations)
    assert run["charge_dot"][-1] == pytest.approx(0.0216120922347, abs=1e-11)
    assert run["U"][-1] == pytest.approx(0.442010996245, abs=1e-10)


def test_a_crane_gives_its_winch_rates_of_its_own():
    equations = hf.derive(crane())
    assert equations.degrees == {"along": 4, "down": 4}
    assert equations.state_names[6:] == ("set_w2_down", "set_w3_down")
    run = hf.simulate(equations, at=[1, 2])
    seen = [[run[name][k] for name in ("x", "l", "th", "F", "N")] for k in range(2)]
    assert_allclose(seen[0], [1.571420050, 4.939916915, -0.2145050639, -16.06951796, 46.76556015], rtol=1e-9)
    assert_allclose(seen[1], [1.416444537, 4.306714462, 0.2495607527, 22.25391112, 38.33560452], rtol=1e-9)
    assert "down is held at once by N" in equations.summary()


@pytest.mark.parametrize(
    ("problem", "start"),
    [
        (elastic_joint(), {"q": 0.3, "th": 0.2, "q_dot": 0.7, "th_dot": 1.3}),
        (motor(hf.from_roots(-3, -2 + sp.I, -2 - sp.I)), {"angle": 0.2, "charge_dot": 0.5}),
        (crane(), {"x": 0.1, "l": 4.9, "th": 0.1, "th_dot": 0.1, "set_w2_down": 0.2}),
    ],
    ids=["joint", "motor", "crane"],
)
def test_deviations_obey_their_law_from_any_start(problem, start):
    equations = hf.derive(problem)
    run = hf.simulate(equations, start=start, duration=1)
    H = equations.evaluate().deviation_matrix
    first = np.array([run[name][0] for name in equations.deviation_names])
    last = np.array([run[name][-1] for name in equations.deviation_names])
    assert np.abs(first).max() > 0.05
    assert_allclose(last, expm(H) @ first, atol=1e-8 * np.abs(first).max())


@pytest.mark.parametrize("problem", [elastic_joint(start={"q_dot": 1}), crane(x=0.2, th=0.1)], ids=["joint", "crane"])
def test_a_start_is_moved_onto_the_program_with_all_its_rates(problem):
    equations = hf.derive(problem)
    run = hf.simulate(equations, start_policy="project", duration=1)
    assert max(abs(run[name]).max() for name in equations.deviation_names) < 1e-9
    assert run.start.on_program


def test_reactions_and_late_controls_share_a_program():
    """The elastic joint with its link as a point on a rod: the rod is held by its reaction, the path by the motor."""
    x, y, th = hf.coordinates("x y th")
    angle = sp.atan2(x, y)  # from the downward vertical, y down
    system = hf.System(
        coordinates=(x, y, th),
        kinetic=(x.rate**2 + y.rate**2) / 2 + R(3, 20) * th.rate**2,
        potential=-5 * y + 50 * (th - angle) ** 2,
    )
    program = hf.Program(
        holonomic={"rod": x**2 + y**2 - 1, "path": angle - sp.sin(t)},
        controls={"u": {th: 1}},
        reactions=("rod",),
        law=hf.critically_damped(5),
    )
    start = {x: 0, y: 1, x.rate: 1, y.rate: 0, th: 0, th.rate: R("1.04")}
    equations = hf.derive(hf.Problem(system, program, start=start, run=TIGHT))
    assert equations.degrees == {"rod": 2, "path": 4}
    run = hf.simulate(equations)
    assert run["th"][-1] == pytest.approx(0.870337482043, abs=1e-9)
    assert run["u"][-1] == pytest.approx(2.62505690421, abs=1e-8)


@pytest.mark.parametrize(
    "law",
    [
        hf.LinearLaw({"path": (24, 50, 35, 10)}),
        hf.LinearLaw((24, 50, 35, 10)),
        hf.from_roots({"path": (-1, -2, -3, -4)}),
        hf.GeneralLaw({"path": -sp.Matrix([24, 50, 35, 10]).dot(sp.Matrix(CHAIN))}),
    ],
)  # fmt: skip
def test_laws_of_fourth_order_say_the_same(law):
    numbers = hf.derive(elastic_joint(law)).evaluate().deviation_matrix[-1]
    assert_allclose(numbers, [-24, -50, -35, -10])


def test_a_change_of_gains_derives_nothing():
    equations = hf.derive(elastic_joint())
    other = equations.with_law(hf.from_roots(-1, -2, -3, -4))
    assert other.field is equations.field or other.fingerprint == equations.fingerprint
    assert other.solution is equations.solution


@pytest.mark.parametrize(
    ("law", "what"),
    [
        (hf.SpringDamper(stiffness=1, damping=2), "of second order, and 'path' needs a law of order 4"),
        (hf.Baumgarte(alpha=2), "Baumgarte's law is of second order"),
        (hf.Quadratic(a0=1, a1=2), "a quadratic law is of second order"),
        (hf.from_roots(-1, -2, -3), "'path' needs 4 roots, not 3"),
        (hf.from_roots(-1, -2), "'path' needs 4 roots, not 2"),
        (hf.from_roots(-1, -2, -3, sp.I), "are not conjugate"),
        (hf.LinearLaw((1, 2, 3)), "'path' needs 4 coefficients, not 3"),
        (hf.ExcessEnergies(inertia=1, damping=2, stiffness=3), "a law of excess energies is of second order"),
    ],
)
def test_a_law_of_another_order_is_refused(law, what):
    with pytest.raises(hf.BadStatement) as refused:
        hf.derive(elastic_joint(law))
    assert what in refused.value.what


def test_too_many_roots_are_refused_where_two_will_do():
    x = hf.coordinates("x")
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2)
    for program in (
        hf.Program(holonomic={"p": x}, controls={"F": {x: 1}}, law=hf.from_roots(-1, -2, -3)),
        hf.Program(holonomic={"p": x}, law=hf.from_roots(-1, -2, -3)),
    ):
        with pytest.raises(hf.BadStatement, match="needs two roots"):
            hf.derive(hf.Problem(system, program))


def ball_and_beam(**start):
    r, th = hf.coordinates("r th")
    system = hf.System(
        coordinates=(r, th),
        kinetic=R(7, 100) * r.rate**2 + R(1, 20) * r**2 * th.rate**2 + R(1, 100) * th.rate**2,
        potential=R("0.981") * r * sp.sin(th),
    )
    program = hf.Program(holonomic={"ball": r - R(1, 5)}, controls={"tau": {th: 1}}, law=hf.critically_damped(2))
    return hf.Problem(system, program, start={"r": R(1, 10), **start}, run=hf.Run(step=0.001, duration=1))


def test_a_degree_that_is_not_defined_at_the_start_is_told():
    equations = hf.derive(ball_and_beam())
    assert equations.degrees == {"ball": 3}
    with pytest.raises(hf.NoAuthority) as refused:
        hf.simulate(equations)
    assert "cannot move 'ball' at the start" in refused.value.what
    assert "its degree is not defined" in refused.value.what


def test_controls_that_never_reach_a_program_are_refused_by_name():
    x, z = hf.coordinates("x z")
    system = hf.System(coordinates=(x, z), kinetic=(x.rate**2 + z.rate**2) / 2)
    program = hf.Program(holonomic={"a": x, "b": z}, controls={"F": {x: 1}, "G": {x: 2}}, law=hf.critically_damped(1))
    with pytest.raises(hf.NoAuthority, match="'F', 'G' cannot move 'b': not at once, and not through any derivative"):
        hf.derive(hf.Problem(system, program))


@pytest.mark.prove
def test_everything_else_knows_higher_orders(tmp_path):
    equations = hf.derive(crane())
    again = pickle.loads(pickle.dumps(equations))
    assert again.fingerprint == equations.fingerprint
    run = hf.simulate(equations, hf.RK4, step=0.01, duration=1)
    assert run.success, run.message
    run.save(tmp_path / "run.npz")
    loaded = hf.Trajectory.load(tmp_path / "run.npz")
    assert_allclose(loaded["set_w2_down"], run["set_w2_down"])
    certificate = hf.certify(equations, hf.RK4, step=0.01, duration=1)
    assert {block.label for block in certificate.blocks} == {hf.Label.tube}
    assert "the region was not covered" in certificate.blocks[0].reason
    assert hf.spectrum(equations).verdict.value == "asymptotically stable"
    assert [len(block.names) for block in hf.conditions(equations).blocks] == [4, 4]
    assert "^{(4)}" not in equations.latex()  # rates are written by name
    assert "w_{3, down}" in equations.latex() or "w3" in equations.latex()
    with pytest.raises(hf.BadRequest, match="up to degree 2"):
        hf.canonical(equations)


def test_a_file_states_it(tmp_path):
    problem = elastic_joint(hf.LinearLaw({"path": (24, 50, 35, 10)}))
    assert hf.loads(hf.dumps(problem)) == problem
    text = hf.dumps(problem)
    assert 'kind = "linear"' in text


def test_a_quadrotor_in_space_follows_a_path_and_turns():
    x, y, z, roll, pitch, yaw = hf.coordinates("x y z roll pitch yaw")
    sin, cos = sp.sin, sp.cos
    p = roll.rate - yaw.rate * sin(pitch)
    q = pitch.rate * cos(roll) + yaw.rate * cos(pitch) * sin(roll)
    r = -pitch.rate * sin(roll) + yaw.rate * cos(pitch) * cos(roll)
    up = (
        cos(roll) * sin(pitch) * cos(yaw) + sin(roll) * sin(yaw),
        cos(roll) * sin(pitch) * sin(yaw) - sin(roll) * cos(yaw),
        cos(roll) * cos(pitch),
    )
    kinetic = (x.rate**2 + y.rate**2 + z.rate**2) / 2 + R(1, 100) * p**2 + R(1, 80) * q**2 + R(1, 50) * r**2
    system = hf.System(coordinates=(x, y, z, roll, pitch, yaw), kinetic=kinetic, potential=R("9.81") * z)
    torque = {
        name: {a: sp.diff(w, a.rate) for a in (roll, pitch, yaw)} for name, w in (("tp", p), ("tq", q), ("tr", r))
    }
    program = hf.Program(
        holonomic={"px": x - sin(t), "py": y - cos(t) / 2, "pz": z - 1 - t / 10, "turn": yaw - t / 5},
        controls={"F": dict(zip((x, y, z), up, strict=True)), **torque},
        law=hf.critically_damped(5),
    )
    start = {"y": R(1, 2), "z": 1, "x_dot": 1}
    equations = hf.derive(hf.Problem(system, program, start=start, run=hf.Run(step=0.005, duration=10)))
    assert equations.degrees == {"px": 4, "py": 4, "pz": 4, "turn": 2}
    run = hf.simulate(equations)
    assert run.success
    thrust = np.linalg.norm([-np.sin(10), -np.cos(10) / 2, 9.81])  # of a unit mass: what its path and its weight ask
    assert run["F"][-1] == pytest.approx(thrust, abs=1e-8)
    assert max(abs(run[f"y_{name}"][-1]) for name in program.constraints) < 1e-9


def test_a_massless_coordinate_that_only_a_control_moves_is_refused_by_name():
    x, z = hf.coordinates("x z")
    system = hf.System(coordinates=(x, z), kinetic=x.rate**2 / 2)
    program = hf.Program(holonomic={"a": x}, controls={"F": {z: 1}}, law=hf.critically_damped(1))
    with pytest.raises(hf.HoldfastError) as refused:
        hf.derive(hf.Problem(system, program))
    assert not isinstance(refused.value, hf.InternalError)
    assert "'z'" in refused.value.what or "'a'" in refused.value.what
