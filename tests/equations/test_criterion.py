"""The best member of a family, against a minimum that SciPy finds, and against closed forms."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

import holdfast as hf

x, y, z = hf.coordinates("x y z")
shell = hf.Program(holonomic={"shell": (x**2 + y**2 + z**2 - 1) / 2}, law=hf.SpringDamper(stiffness=4, damping=3))
START = {x: 0.8, y: 0.5, z: -0.3, x.rate: 0.2, y.rate: -0.4, z.rate: 0.7}
WANTED = {x: 1, y: x * z.rate, z: -2}
WISH = np.array([1, 0.8 * 0.7, -2])
W = np.array([[2, 0.5, 0], [0.5, 1, 0.2], [0, 0.2, 3]])


def best(criterion):
    return hf.family(shell, (x, y, z), criterion=criterion, start=START)


def least(cost, at):
    """The minimum of a cost among accelerations with J a = Y - gamma, by another road."""
    held = {"type": "eq", "fun": lambda a: at.jacobian @ a + at.drift_term - at.demand}
    return minimize(cost, np.zeros(3), constraints=[held], method="SLSQP", options={"ftol": 1e-15}).x


def test_nearest_is_the_least_distance_from_what_is_wanted():
    at = best(hf.Nearest(wanted=WANTED, weights=W.tolist())).evaluate()
    assert_allclose(at.accelerations, least(lambda a: (a - WISH) @ W @ (a - WISH), at), atol=1e-6)


def test_least_effort_is_the_least_force():
    mass, weights = np.diag([1, 2, 5.0]), np.diag([1, 4, 2.0])
    at = best(hf.LeastEffort(free=WANTED, mass=[1, 2, 5], weights=[1, 4, 2])).evaluate()

    def effort(a):
        force = mass @ (a - WISH)
        return force @ weights @ force

    assert_allclose(at.accelerations, least(effort, at), atol=1e-6)


def test_least_forces_with_the_inverse_masses_for_weights_are_ideal_reactions():
    """Gauss: the motion of the constrained system itself."""
    system = hf.System(coordinates=(x, y, z), kinetic=x.rate**2 / 2 + y.rate**2 + 2 * z.rate**2, potential=3 * x * y)
    truth = hf.derive(hf.Problem(system, shell, start=START)).evaluate().accelerations
    free = {x: -3 * y, y: -3 * x / 2, z: 0}
    member = best(hf.LeastEffort(free=free, mass=[1, 2, 4], weights=[1, 0.5, 0.25]))
    assert_allclose(member.evaluate().accelerations, truth, atol=1e-13)


def test_the_theory_of_more_controls_than_programs():
    """D = (1, 2, 1/2), R = diag(1, 4, 2), b = 3: u = (24, 12, 6)/17."""
    program = hf.Program(nonholonomic={"sum": x.rate + 2 * y.rate + z.rate / 2}, law=hf.SpringDamper(damping=-3))
    criterion = hf.LeastEffort(free={}, weights=[1, 4, 2])
    at = hf.family(program, (x, y, z), criterion=criterion, start={x.rate: 1}).evaluate()
    assert_allclose(at.accelerations, np.array([24, 12, 6]) / 17, atol=1e-14)


def test_first_order_members_too():
    u, v = hf.states("u v")
    line = hf.Program(holonomic={"line": u + v - 1}, law=hf.SpringDamper(damping=1))
    made = hf.family(line, states=(u, v), criterion=hf.Nearest(wanted={u: v}, weights=[1, 3]), start={u: 2, v: 1})
    # omega' = -2; a = (1, 0) + W^-1 g (g W^-1 g)^-1 (-2 - 1) = (1, 0) - 3 (3/4, 1/4)
    assert_allclose(made.evaluate().accelerations, [-1.25, -0.75], atol=1e-14)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"criterion": "nearest"}, "not a criterion"),
        ({"criterion": hf.Nearest(wanted={}), "c0": 1}, "and so does c0"),
        ({"criterion": hf.Nearest(wanted={}), "metric": np.eye(3)}, "and so does metric"),
        ({"criterion": hf.Nearest(wanted={}, weights=[1, 2])}, "not 3 by 3"),
        ({"criterion": hf.Nearest(wanted={}, weights=5)}, "not a matrix"),
        ({"metric": [[1 + x.rate**2, 0, 0], [0, 1, 0], [0, 0, 1]]}, "depends on the rate"),
    ],
)
def test_what_chooses_no_member_is_refused(given, what):
    with pytest.raises(hf.HoldfastError, match=what):
        hf.family(shell, (x, y, z), start=START, **given)


FILE = """
schema = 1
[system]
coordinates = ["x", "y"]
kinetic = "x_dot**2/2 + y_dot**2/2"
[parameters]
k = 4
[program.holonomic]
ring = "(x**2 + y**2 - 1)/2"
[program.law]
kind = "spring-damper"
stiffness = "k"
damping = 3
[family]
MEMBER
[start]
x = 1
y_dot = 1
"""


@pytest.mark.parametrize(
    ("table", "accelerations"),
    [
        ("", [-1, 0]),
        ('c0 = "-k"', [-1, 4]),  # [g] = (y, -x)
        ('tangential = { x = 5, y = "2*x" }', [-1, 2]),
        ('tangential = { x = 1 }\nmetric = [[2, 1], [1, "x + 1"]]', [-1, 1]),  # P_M u = (0, u_y - M12 (-1 - 1)/M22)
        ('criterion = { kind = "nearest", wanted = { y = 3 }, weights = [1, 2] }', [-1, 3]),
        ('criterion = { kind = "least-effort", free = { y = 7 } }', [-1, 7]),
    ],
)
def test_a_file_chooses_the_member(table, accelerations, tmp_path):
    from click.testing import CliRunner

    from holdfast.cli.main import main

    problem = hf.loads(FILE.replace("MEMBER", table))
    assert hf.loads(hf.dumps(problem)) == problem
    path = tmp_path / "ring.toml"
    path.write_text(FILE.replace("MEMBER", table))
    answer = CliRunner().invoke(main, ["family", str(path)])
    assert answer.exit_code == 0, answer.output
    from holdfast.cli.verbs.family import _family_of

    assert_allclose(_family_of(problem).evaluate().accelerations, accelerations, atol=1e-14)


@pytest.mark.parametrize(
    ("table", "what"),
    [
        ("c1 = 1", "unknown key"),
        ("tangential = { z = 1 }", "'z' is not a coordinate"),
        ('criterion = { kind = "best" }', "a criterion is of the kind"),
        ('criterion = { kind = "nearest" }', "nothing of 'wanted'"),
        ("vectors = 3", "a list of rows"),
        ('metric = [["x_dot", 0], [0, 1]]', "may not occur"),
    ],
)
def test_errors_of_the_table_have_their_place(table, what):
    with pytest.raises(hf.BadFile) as refused:
        hf.loads(FILE.replace("MEMBER", table))
    assert any(what in finding.what and finding.line for finding in refused.value.findings)
