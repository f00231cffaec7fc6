"""First-order systems with given integrals: x' = K(Φ − ω_t) + P u, against closed forms and SciPy."""

import pickle

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import holdfast as hf

x, y, z = hf.states("x y z")
CIRCLE = (x**2 + y**2 - 1) / 2
ring = hf.Program(holonomic={"circle": CIRCLE}, law=hf.SpringDamper(damping=1.5))
START = {x: 1.4, y: 0.3}


def spiral(**changed):
    return hf.family(**({"program": ring, "states": (x, y), "c0": -1, "start": START} | changed))


def test_the_circle_is_approached_as_theory_says():
    run = hf.simulate(spiral(), hf.DOP853, tolerance=1e-12, duration=2)
    assert_allclose([run["x"][-1], run["y"][-1]], [-0.61285057, 0.82261206], atol=5e-9)
    square = run["x"] ** 2 + run["y"] ** 2
    assert_allclose(square - 1, (1.4**2 + 0.3**2 - 1) * np.exp(-1.5 * run.times), atol=1e-11)


def test_the_formula_is_the_one_that_theory_prints():
    X = spiral().rates
    a, b = sp.symbols("x y", real=True)
    r, k = a**2 + b**2, sp.Symbol("k")
    gain = next(s for s in X.free_symbols if s.name == "law.damping.circle")
    wanted = sp.Matrix([a, b]) * (-k * (r - 1) / 2) / r + sp.Matrix([-b, a])
    assert (X.subs(gain, k) - wanted).applyfunc(sp.simplify).is_zero_matrix


def test_a_sphere_and_a_plane_together():
    """x' = G⁺(Φ − ω_t) + c₀ g¹ × g², integrated by SciPy from its own formula."""
    sphere, plane, c0 = (x**2 + y**2 + z**2 - 1) / 2, z - sp.sin(hf.time) / 4, 2 + x
    law = hf.SpringDamper(damping={"sphere": 2, "plane": 3})
    both = hf.Program(holonomic={"sphere": sphere, "plane": plane}, law=law)
    start = {x: 0.9, y: 0.5, z: 0.3}
    made = hf.family(both, states=(x, y, z), c0=c0, start=start)
    assert made.freedom == 1

    def field(t, p):
        G = np.array([p, [0, 0, 1.0]])
        omega = np.array([(p @ p - 1) / 2, p[2] - np.sin(t) / 4])
        wanted = -np.array([2, 3]) * omega - np.array([0, -np.cos(t) / 4])
        return np.linalg.pinv(G) @ wanted + (2 + p[0]) * np.cross(G[0], G[1])

    truth = solve_ivp(field, (0, 3), [0.9, 0.5, 0.3], rtol=1e-12, atol=1e-13).y[:, -1]
    run = hf.simulate(made, hf.DOP853, tolerance=1e-12, duration=3)
    assert_allclose([run[s][-1] for s in (x, y, z)], truth, atol=1e-9)
    assert_allclose(run["w_sphere"], run["w_sphere"][0] * np.exp(-2 * run.times), atol=1e-10)
    assert_allclose(run["w_plane"], 0.3 * np.exp(-3 * run.times), atol=1e-10)


def test_without_a_law_they_are_first_integrals():
    free = hf.family(hf.Program(holonomic={"circle": CIRCLE}), states=(x, y), tangential={x: -y, y: x}, start=START)
    run = hf.simulate(free, hf.DOP853, tolerance=1e-12, duration=3)
    assert_allclose(run["w_circle"], 0.525, atol=1e-11)


def test_as_many_integrals_as_states_leave_nothing_free():
    point = hf.Program(holonomic={"one": x - 1, "other": y + x}, law=hf.SpringDamper(damping=1))
    made = hf.family(point, states=(x, y), start=START)
    assert made.freedom == 0
    assert "Nothing is left free" in made.explain()
    run = hf.simulate(made, hf.DOP853, tolerance=1e-12, duration=2)
    assert_allclose(run["x"], 1 + 0.4 * np.exp(-run.times), atol=1e-11)


def test_a_general_law_may_call_the_integral_y_or_w():
    dev = hf.deviations("circle")
    ends = []
    for w in (dev, dev.rate):
        law = hf.GeneralLaw({"circle": -w - w**3})
        made = spiral(program=hf.Program(holonomic={"circle": CIRCLE}, law=law))
        run = hf.simulate(made, hf.DOP853, tolerance=1e-12, duration=1)
        ends.append(run["w_circle"][-1])
    inverse = (1 / 0.525**2 + 1) * np.exp(2) - 1  # Bernoulli: (w⁻²)' = 2 w⁻² + 2
    assert_allclose(ends, inverse**-0.5, atol=1e-11)


def test_starts_states_and_ensembles_speak_of_the_states_by_name():
    made = spiral()
    assert_allclose(made.evaluate({x: 1, y: 2}).accelerations, [-2.6, -0.2], atol=1e-14)
    run = hf.simulate(made, hf.RK4, step=0.01, duration=1, start={x: 1, y: 0})
    assert_allclose(run["x"][-1], np.cos(1), atol=1e-9)
    many = hf.ensemble(made, hf.RK4, cases={"x": [1.0, 1.4]}, start={y: 0}, step=0.01, duration=1)
    assert many[0]["x"][-1] == run["x"][-1]


def test_it_is_certified_and_pickled_and_reread():
    made = spiral(start={x: 1, y: 0})
    certificate = hf.certify(made, hf.RK4, step=0.01, duration=2, effort=1)
    assert certificate.label in (hf.Label.checked, hf.Label.proved)
    again = pickle.loads(pickle.dumps(made))
    assert isinstance(again, hf.StateFamily)
    assert again.fingerprint == made.fingerprint
    assert "x' =" in again.summary()
    assert r"\dot{x}" in again.latex()
    assert again.to_dict()["first_order"]["rates"].keys() == {"x", "y"}


def test_a_run_of_it_is_saved_and_loaded(tmp_path):
    run = hf.simulate(spiral(), hf.RK4, step=0.1, duration=1)
    run.save(tmp_path / "run.npz")
    assert_allclose(hf.Trajectory.load(tmp_path / "run.npz")["x"], run["x"], rtol=0)


@pytest.mark.parametrize(
    ("changed", "what", "fix"),
    [
        ({"coordinates": (x, y), "states": None}, "first-order state", "states="),
        ({"coordinates": (x, y)}, "either coordinates or states", ""),
        ({"states": None}, "needs coordinates, or states", "coordinates="),
        ({"states": (x, x)}, "given twice", ""),
        ({"c0": None, "tangential": {"u": 1}}, "'u' is not a state", "by state"),
        ({"metric": [[1 + x**2, 0], [0, 1]]}, "does not depend on the states", "tangential"),
        ({"program": hf.Program(holonomic={"c": CIRCLE}, law=hf.SpringDamper(stiffness=1))}, "stiffness", "damping"),
        (
            {"program": hf.Program(nonholonomic={"c": hf.coordinates("x").rate - y})},
            "rate of the first-order",
            "coordi",
        ),
        ({"program": hf.Program(holonomic={"c": CIRCLE}, controls={"F": {x: 1}})}, "no controls", "leave"),
    ],
)
def test_what_is_no_first_order_family_is_refused(changed, what, fix):
    with pytest.raises(hf.HoldfastError) as refused:
        spiral(**changed)
    assert what in refused.value.what
    assert fix in refused.value.fix


FILE = """
schema = 1
[system]
coordinates = ["x", "y"]
[program.holonomic]
circle = "(x**2 + y**2 - 1)/2"
[program.law]
kind = "spring-damper"
damping = 1.5
[family]
ORDER
c0 = -1
[start]
x = 1.4
y = 0.3
[run]
scheme = "dop853"
tolerance = 1e-12
duration = 2
"""


def test_a_file_states_it_by_its_order(tmp_path):
    from click.testing import CliRunner

    from holdfast.cli.main import main
    from holdfast.cli.verbs.family import _family_of

    problem = hf.loads(FILE.replace("ORDER", "order = 1"))
    assert hf.loads(hf.dumps(problem)) == problem
    run = hf.simulate(_family_of(problem))
    assert_allclose([run["x"][-1], run["y"][-1]], [-0.61285057, 0.82261206], atol=5e-9)
    path = tmp_path / "circle.toml"
    path.write_text(FILE.replace("ORDER", "order = 1"))
    answer = CliRunner().invoke(main, ["family", str(path)])
    assert answer.exit_code == 0
    assert "The member by c0:" in answer.output
    assert "First-order system" in answer.output
    assert "1 given integral" in answer.output


@pytest.mark.parametrize("order", ["3", "true", '"1"', "1.0", "[1]"])
def test_an_order_that_is_neither_1_nor_2_is_refused_at_its_line(order):
    with pytest.raises(hf.BadFile, match="order 1 or 2") as refused:
        hf.loads(FILE.replace("ORDER", f"order = {order}"))
    assert "family.order" in str(refused.value)
