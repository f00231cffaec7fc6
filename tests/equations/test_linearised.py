"""A, B, C and D, against hand-written matrices and central differences of the field."""

from importlib import resources

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf
from holdfast.equations.forms import linearised

EXAMPLES = resources.files("holdfast") / "examples"


def cart_pole():
    """M x'' + m l (th'' cos th - th'² sin th) = F,  m l² th'' + m l x'' cos th - m g l sin th = 0 (th from upright)."""
    x, th = hf.coordinates("x th")
    M, m, l, g = hf.parameters("M m l g")
    point = (x.rate + l * th.rate * sp.cos(th)) ** 2 + (l * th.rate * sp.sin(th)) ** 2
    system = hf.System(
        coordinates=(x, th),
        kinetic=M * x.rate**2 / 2 + m * point / 2,
        potential=m * g * l * sp.cos(th),
        parameters={M: 2, m: 0.5, l: 0.8, g: 9.81},
    )
    program = hf.Program(holonomic={"home": x}, controls={"F": {x: 1}}, law=hf.critically_damped(3))
    return hf.derive(hf.Problem(system, program))


def test_the_cart_with_a_pole_has_the_textbooks_matrices():
    M, m, length, g = 2, 0.5, 0.8, 9.81
    found = hf.linearise(cart_pole(), inputs=["F"], outputs=["x", "x + l*sin(th)"])
    A = np.zeros((4, 4))
    A[:2, 2:] = np.eye(2)
    A[2, 1], A[3, 1] = -m * g / M, (M + m) * g / (M * length)
    assert_allclose(found.A, A, atol=1e-14)
    assert_allclose(found.B[:, 0], [0, 0, 1 / M, -1 / (M * length)], atol=1e-15)
    assert_allclose(found.C, [[1, 0, 0, 0], [1, length, 0, 0]], atol=1e-15)
    assert_allclose(found.D, 0)
    assert found.roots[0].real == pytest.approx(np.sqrt((M + m) * g / (M * length)))
    assert "an equilibrium" in found.summary()
    assert (found.states, found.inputs) == (("x", "th", "x_dot", "th_dot"), ("F",))


def test_closed_the_program_is_among_the_roots():
    closed = hf.linearise(cart_pole())
    assert closed.B.shape == (4, 0)
    assert_allclose(sorted(closed.roots.real), [-np.sqrt(9.81 / 0.8), -3, -3, np.sqrt(9.81 / 0.8)], atol=1e-7)


@pytest.mark.parametrize("name", ["cart_rod", "four_bar", "mixed_holders", "crane", "rocket_ascent", "quadrotor"])
def test_it_is_the_slope_of_the_field(name):
    equations = hf.derive(hf.load(EXAMPLES / f"{name}.toml"))
    names = list(equations.problem.system.parameters)[:2]
    state = hf.simulate(equations, duration=equations.problem.run.step * 20).y[:, -1]
    found = hf.linearise(equations, state, time=0.1, inputs=names)
    from holdfast.engine.kernel import compiled

    kernel, constants = (
        compiled(equations.field, hf.RK4),
        [equations.parameter_values[n] for n in equations.parameter_names],
    )

    def rates(x, p):
        return kernel.rates(0.1, x, p)

    for j in range(len(state)):
        h = 1e-6 * max(1, abs(state[j]))
        up, down = state.copy(), state.copy()
        up[j] += h
        down[j] -= h
        slope = (rates(up, constants) - rates(down, constants)) / (2 * h)
        assert_allclose(found.A[:, j], slope, rtol=2e-6, atol=2e-6 * max(1, np.abs(found.A).max()))
    for k, name_ in enumerate(names):
        place, h = equations.parameter_names.index(name_), 1e-6 * max(1e-3, abs(equations.parameter_values[name_]))
        up, down = list(constants), list(constants)
        up[place] += h
        down[place] -= h
        slope = (rates(state, up) - rates(state, down)) / (2 * h)
        assert_allclose(found.B[:, k], slope, rtol=2e-6, atol=2e-6 * max(1, np.abs(found.B).max()))
    assert_allclose(found.rates, rates(state, constants), rtol=1e-12, atol=1e-12)


def test_the_plant_with_its_own_controls_moves_as_the_held_one():
    """With the controls that hold the program put in, the plant has the same rates; reactions hold on."""
    for name in ("mixed_holders", "crane", "cart_rod"):
        equations = hf.derive(hf.load(EXAMPLES / f"{name}.toml"))
        plant = hf.linearise(equations, inputs=equations.problem.program.controls)
        closed = hf.linearise(equations)
        count = len(plant.states)
        assert_allclose(plant.rates, closed.rates[:count], atol=1e-11 * (1 + np.abs(closed.rates).max()))
        assert_allclose(plant.input_values, equations.evaluate().controls)


def test_wrong_requests_are_refused_by_name():
    equations = cart_pole()
    for given, what in (
        ({"inputs": ["G"]}, "'G' is no input"),
        ({"outputs": ["lambda_x"]}, "is no output"),
        ({"inputs": ["F"], "input_values": {"G": 1}}, "'G' is no control"),
        ({"outputs": [object()]}, "is no output"),
    ):
        with pytest.raises(hf.BadRequest, match=what):
            hf.linearise(equations, **given)
    with pytest.raises(hf.BadRequest, match="takes Equations"):
        hf.linearise(equations.problem)


def test_python_control_takes_it_where_it_is_installed():
    found = hf.linearise(cart_pole(), inputs=["F"])
    try:
        import control
    except ImportError:
        with pytest.raises(hf.BadRequest, match="python-control is not installed"):
            found.to_control()
        return
    assert_allclose(np.sort(control.poles(found.to_control()).real), np.sort(found.roots.real), atol=1e-9)


def test_it_is_what_python_control_finds_by_differences():
    """python-control 0.10.2, `linearize(nlsys, x0, u0, eps=1e-7)` on the cart by hand; one-sided there."""
    state = {"x": 0.3, "th": 0.4, "x_dot": -0.2, "th_dot": 0.9}
    found = hf.linearise(cart_pole(), state, inputs=["F"], input_values={"F": 1.5}, outputs=["x", "x + l*sin(th)"])
    A = [[0, 0, 1, 0], [0, 0, 0, 1], [0, -1.491416168897, 0, 0.135069887636], [0, 12.980394856754, 0, -0.155509507493]]
    assert_allclose(found.A, A, atol=2e-6)
    assert_allclose(found.B[:, 0], [0, 0, 0.481736565916, -0.55463594606], atol=2e-8)
    assert_allclose(found.C, [[1, 0, 0, 0], [1, 0.73684877977, 0, 0]], atol=2e-8)


def test_python_control_finds_the_same_regulator():
    """`control.lqr` of A, B with unit weights, by python-control 0.10.2 from its own linearisation at rest."""
    control = pytest.importorskip("control", reason="python-control is not installed")
    found = hf.linearise(cart_pole(), inputs=["F"])
    gain, _, _ = control.lqr(found.to_control(), np.eye(4), 1)
    assert_allclose(gain, [[-1, -62.908314919408, -2.970748143137, -16.532396186916]], rtol=1e-6)


# ── along a run ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["cart_rod", "four_bar", "mixed_holders", "rocket_ascent"])
def test_along_a_run_it_is_the_linearisation_at_each_row(name):
    equations = hf.derive(hf.load(EXAMPLES / f"{name}.toml"))
    inputs = list(equations.problem.program.controls) or list(equations.problem.system.parameters)[:2]
    run = hf.simulate(equations, duration=equations.problem.run.step * 20, every=10)
    found = hf.linearise(equations, run, inputs=inputs, outputs=[equations.coordinates[0]])
    assert len(found) == len(run.times)
    for k, time in enumerate(run.times):
        one = hf.linearise(equations, run.y[:, k], time=time, inputs=inputs, outputs=[equations.coordinates[0]])
        for part in ("A", "B", "C", "D", "rates", "values", "state", "input_values"):
            wanted = getattr(one, part)
            size = 1 + np.abs(wanted).max(initial=0.0)
            assert_allclose(getattr(found[k], part), wanted, rtol=1e-9, atol=1e-9 * size, err_msg=part)


def test_between_rows_and_in_words():
    equations = cart_pole()
    run = hf.simulate(equations, "rk4", step=0.01, duration=0.5, start={"th": 0.1})
    found = hf.linearise(equations, run, time=[0.105, 0.3], inputs=["F"])
    assert found.A.shape == (2, 4, 4)
    assert found[0].state == pytest.approx(run.sol(0.105))
    assert len(list(found)) == 2
    assert "2 times from 0.105 to 0.3" in found.summary()
    assert found.roots.shape == (2, 4)
    assert found.to_dict()["times"] == [0.105, 0.3]
    one = hf.linearise(equations, run, time=0.3, inputs=["F"], input_values={"F": 2.0})
    assert one.input_values.tolist() == [[2.0]]


def test_a_change_moves_along_the_run_as_its_linearisation_says():
    """δx(t) by A(t), stepped by the trapezoidal rule, is the sensitivity of the run to its start."""
    equations = cart_pole()
    run = hf.simulate(equations, "rk4", step=0.001, duration=0.5, start={"th": 0.1})
    found = hf.linearise(equations, run)
    change = np.array([0.0, 1.0, 0.0, 0.0])
    for before, after in zip(found.A[:-1], found.A[1:], strict=True):
        left, right = np.eye(4) - 0.0005 * after, np.eye(4) + 0.0005 * before
        change = np.linalg.solve(left, right @ change)
    slopes = hf.sensitivities(run, to=["th(0)"])
    assert_allclose(change, slopes.values[-1, :, 0], rtol=1e-5, atol=1e-12)


def test_what_cannot_be_asked_along_a_run_is_said():
    equations = cart_pole()
    run = hf.simulate(equations, "rk4", step=0.01, duration=0.1)
    other = hf.derive(hf.load(EXAMPLES / "four_bar.toml"))
    for asked, what in (
        ({"at": run, "parameters": {"m": 1}}, "the parameters it was made with"),
        ({"at": run, "time": [0.05, 9.0]}, "covers"),
        ({"at": run, "inputs": ["F"], "input_values": {"G": 1}}, "'G' is no control"),
        ({"at": run, "input_values": {"F": 1}}, "'F' is no control"),
        ({"time": [0.1, 0.2]}, "several times need a run"),
    ):
        with pytest.raises(hf.BadRequest, match=what):
            hf.linearise(equations, **asked)
    with pytest.raises(hf.BadRequest, match="other equations"):
        hf.linearise(other, run)
    with pytest.raises(hf.BadRequest, match="joined of several"):
        hf.linearise(equations, run.continued(0.1))


def rods(links):
    pairs = [hf.coordinates(f"x{i} y{i}") for i in range(links)]
    length = hf.parameters("l")
    held = {
        f"rod{i}": ((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2 - length**2) / 2
        for i, (a, b) in enumerate(zip([(0, 0), *pairs[:-1]], pairs, strict=True))
    }
    system = hf.System(
        coordinates=[c for pair in pairs for c in pair],
        kinetic=sum((x.rate**2 + y.rate**2) / 2 for x, y in pairs),
        potential=sum(9.81 * y for _, y in pairs),
        parameters={length: 1},
    )
    program = hf.Program(holonomic=held, law=hf.critically_damped(5.0))
    return hf.derive(hf.Problem(system, program, start={x: i + 1 for i, (x, _) in enumerate(pairs)}))


def test_slopes_of_many_states_are_taken_in_numbers(monkeypatch):
    """They are those of the graph and of central differences, and no jacobian of nodes is made for them."""
    equations = rods(6)
    asked = {"inputs": ["l"], "outputs": ["x5**2 + y5*x1", "x5_dot"]}
    usual = hf.linearise(equations, **asked)
    monkeypatch.setattr(linearised, "SWEPT", 10)
    monkeypatch.setattr(linearised, "jacobian", None)
    found = hf.linearise(equations, **asked)
    for name in "ABCD":
        assert_allclose(getattr(found, name), getattr(usual, name), rtol=1e-12, atol=1e-10)
    assert_allclose(found.rates, usual.rates, rtol=1e-14, atol=1e-14)

    def rates(state):
        return np.concatenate([state[12:], equations.evaluate(state).accelerations])

    shifts = 1e-5 * np.eye(24)
    differences = [(rates(found.state + shift) - rates(found.state - shift)) / 2e-5 for shift in shifts]
    assert_allclose(found.A, np.array(differences).T, rtol=1e-6, atol=1e-5)
