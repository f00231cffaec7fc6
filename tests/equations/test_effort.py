"""More controls than programs: the least effort, against closed forms, NumPy and what reactions leave."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf

x, y, z = hf.coordinates("x y z")
R = sp.Rational


def test_three_controls_share_one_program_as_theory_says():
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2)
    program = hf.Program(
        holonomic={"p": x},
        controls={"a": {x: 1}, "b": {x: 2}, "c": {x: R(1, 2)}},
        effort={"a": 1, "b": 4, "c": 2},
        law=hf.SpringDamper(stiffness=3, damping=1),
    )
    equations = hf.derive(hf.Problem(system, program, start={x: -1}))
    assert equations.holder_names == ("effort_p",)
    assert "b = 1/2*effort_p" in equations.summary()
    assert "least effort a^2 + 4*b^2 + 2*c^2" in equations.summary()
    assert_allclose(equations.evaluate().controls, [24 / 17, 12 / 17, 6 / 17], rtol=1e-14)
    run = hf.simulate(equations, hf.RK4, step=0.01, duration=1)
    assert_allclose([run[name][0] for name in "abc"], [24 / 17, 12 / 17, 6 / 17], rtol=1e-14)


def arm():
    """Three motors, a tip on a path in the plane: one more motor than needed; the first joint slides on a rail."""
    a, b, c = hf.coordinates("a b c")
    X = sp.cos(a) + sp.cos(a + b) + sp.cos(a + b + c) / 2
    Y = sp.sin(a) + sp.sin(a + b) + sp.sin(a + b + c) / 2
    T = (a.rate**2 + (a.rate + b.rate) ** 2 + (a.rate + b.rate + c.rate) ** 2) / 2 + sp.cos(b) * a.rate * b.rate / 5
    system = hf.System(coordinates=(a, b, c), kinetic=T, potential=3 * sp.sin(a))
    program = hf.Program(
        holonomic={"px": X - 1 - sp.sin(hf.time) / 5, "py": Y - R(3, 2)},
        controls={"t1": {a: 1}, "t2": {b: 1}, "t3": {c: 1}},
        effort={"t1": 1, "t2": 3, "t3": R(1, 2)},
        law=hf.critically_damped(5),
    )
    return hf.derive(hf.Problem(system, program, start={a: 1, b: R(1, 2), c: R(-2, 5), "b_dot": R(1, 10)}))


def test_a_redundant_arm_takes_the_least_torques():
    values = arm().evaluate()
    M, J, h = values.mass_matrix, values.jacobian, values.bias
    weights = np.diag([1, 3, 0.5])
    D = J @ np.linalg.inv(M)
    wanted = values.demand - values.drift_term - D @ h
    inverse = np.linalg.inv(weights)
    expected = inverse @ D.T @ np.linalg.solve(D @ inverse @ D.T, wanted)
    assert_allclose(values.controls, expected, rtol=1e-12)
    assert_allclose(M @ values.accelerations, h + values.controls, atol=1e-12)


def test_reactions_hold_their_own_while_controls_share_the_rest():
    """A bead on a rail (by reaction) is pushed by two forces at once: effort is counted after what the rail answers."""
    system = hf.System(coordinates=(x, y, z), kinetic=(x.rate**2 + 2 * y.rate**2 + 3 * z.rate**2) / 2, potential=5 * y)
    program = hf.Program(
        holonomic={"rail": y - x / 2, "pace": x - hf.time},
        controls={"F": {x: 1}, "G": {y: 1, z: 1}},
        reactions=("rail",),
        law=hf.critically_damped(2),
    )
    values = hf.derive(hf.Problem(system, program, start={x: R(1, 10)})).evaluate()
    M, h = values.mass_matrix, values.bias
    jr, jp = values.jacobian
    E = np.array([[1, 0], [0, 1], [0, 1.0]])
    demand = values.demand - values.drift_term

    def motion(u):
        saddle = np.block([[M, -jr[:, None]], [jr[None], np.zeros((1, 1))]])
        return np.linalg.solve(saddle, [*(h + E @ u), demand[0]])[:3]

    rest = jp @ motion(np.zeros(2))
    D = np.array([jp @ motion(e) - rest for e in np.eye(2)])
    assert_allclose(values.controls, D * (demand[1] - rest) / (D @ D), rtol=1e-12)
    assert_allclose(values.accelerations, motion(values.controls), atol=1e-12)


def test_late_controls_share_too():
    """Two motors turn one rotor of an elastic joint: both of degree 4, sharing by their weights."""
    q, th = hf.coordinates("q th")
    kinetic = q.rate**2 / 2 + R(3, 20) * th.rate**2
    system = hf.System(coordinates=(q, th), kinetic=kinetic, potential=-5 * sp.cos(q) + 50 * (th - q) ** 2)
    program = hf.Program(
        holonomic={"path": q - sp.sin(hf.time)},
        controls={"u": {th: 1}, "v": {th: 1}},
        effort={"u": 1, "v": 3},
        law=hf.critically_damped(5),
    )
    start = {q.rate: 1, th.rate: R("1.04")}
    run = hf.simulate(hf.derive(hf.Problem(system, program, start=start)), "dop853", tolerance=1e-12, duration=1)
    assert run["u"][-1] == pytest.approx(2.62505690421 * 3 / 4, abs=1e-8)
    assert run["v"][-1] == pytest.approx(2.62505690421 / 4, abs=1e-8)


def test_files_state_weights_and_wrong_ones_are_refused():
    problem = arm().problem
    assert hf.loads(hf.dumps(problem)) == problem
    for effort, what in (
        ({"t9": 1}, "'t9' is not a control"),
        ({"t1": -1}, "the weight of 't1' is not positive"),
        ({"t1": 0}, "is not positive"),
        ({"t1": x}, "may not occur here"),
    ):
        program = hf.Program(holonomic={"p": x}, controls={"t1": {x: 1}, "t2": {x: 2}}, effort=effort)
        with pytest.raises(hf.BadStatement, match=what):
            hf.Problem(hf.System(coordinates=(x,), kinetic=x.rate**2 / 2), program)


s = hf.coordinates("s")
LEFT_OVER = {
    "one it cannot move": ({"p": x, "q": y}, {"F": {x: 1}}, "'F' can hold 'p', and 'q' is left over"),
    "either": ({"p": x + y, "q": x - y}, {"F": {x: 1}}, "'F' can hold 'p' or 'q', and one is left over"),
    "two of three": (
        {"p": x, "q": y, "r": s + x},
        {"F": {x: 1}, "G": {y: 1}},
        "'F' and 'G' can together hold 'p' and 'q' or 'q' and 'r', and one is left over",
    ),
    "a repeat among them": (
        {"p": x, "again": 2 * x, "q": y},
        {"F": {x: 1}, "G": {y: 1}},
        "constraint 'again' repeats what 'p' already fixes",
    ),
    "a contradiction": ({"p": x, "no": x - 1}, {"F": {x: 1}}, "constraint 'no' contradicts 'p'"),
    "none": ({"p": y, "q": s}, {"F": {x: 1}}, "the controls can hold no 1 of 'p' and 'q'"),
}


@pytest.mark.parametrize(("programs", "controls", "told"), LEFT_OVER.values(), ids=LEFT_OVER)
def test_fewer_controls_than_programs_name_what_is_left_over(programs, controls, told):
    system = hf.System(coordinates=(x, y, s), kinetic=x.rate**2 + y.rate**2 + s.rate**2)
    law = hf.SpringDamper(stiffness=dict.fromkeys(programs, 4), damping=dict.fromkeys(programs, 4))
    with pytest.raises(hf.BadStatement, match="cannot be held by") as error:
        hf.derive(hf.Problem(system, hf.Program(holonomic=programs, controls=controls, law=law)))
    assert told in error.value.what
    assert error.value.where.startswith("program.")


def test_what_reactions_hold_and_what_moves_later_count_when_a_program_is_left_over():
    """A motor turns a link through a spring: it holds the link, four derivatives later, or the rotor, not both."""
    link, rotor, z = hf.coordinates("link rotor z")
    system = hf.System(
        coordinates=(link, rotor, z),
        kinetic=(link.rate**2 + rotor.rate**2 + z.rate**2) / 2,
        potential=(link - rotor) ** 2 / 2,
    )
    program = hf.Program(
        holonomic={"rail": z, "tip": link, "hub": rotor}, controls={"u": {rotor: 1}}, reactions=("rail",)
    )
    with pytest.raises(hf.BadStatement, match="'u' can hold 'tip' or 'hub', and one is left over"):
        hf.derive(hf.Problem(system, program))
