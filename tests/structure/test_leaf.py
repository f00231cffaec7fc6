"""L and D on the leaf that a program keeps: Bertrand's problem from its file, docs/theory, section 4.7."""

import json
from functools import cache
from pathlib import Path

import pytest
import sympy as sp
from click.testing import CliRunner

import holdfast as hf
from holdfast.cli.main import main
from tests.equations.mechanisms import example
from tests.structure import systems as S

x, y, r = S.x, S.y, S.distance
ecc, p, c0 = hf.parameters("ecc p c0")
BERTRAND = Path(hf.__file__).parent / "examples" / "bertrand.toml"


@cache
def bertrand():
    return hf.lagrangian(example("bertrand"))


def gain(form, name):
    return next(s for s in sp.Tuple(*form.leaf.f).free_symbols if s.name == name)


def test_the_leaf_has_the_L_and_D_of_the_theory():
    form = bertrand()
    assert not form.wide
    leaf = form.leaf
    assert leaf.constraint == "areal"
    assert sp.expand(leaf.function - (x * y.rate - y * x.rate)) == 0
    assert leaf.value == c0
    a0, a1 = gain(form, "law.stiffness.conic"), gain(form, "law.damping.conic")
    L = (x.rate**2 + y.rate**2) / 2 + a1 * ecc * (r + ecc * x * sp.log(r - ecc * x)) * x.rate / 2
    assert sp.simplify(leaf.form.L - L) == 0
    alpha = r - ecc * x - p
    along = x * x.rate + y * y.rate
    D = (a1 * along * hf.rate(alpha) / 2 + (c0**2 / r**3 + a0 * alpha) * along) / (r - ecc * x)
    assert all(sp.simplify(sp.diff(leaf.form.D - D, u.rate)) == 0 for u in (x, y))
    assert leaf.form.residual.size == 0


def test_on_the_leaf_the_motion_is_the_problems_and_off_it_another():
    equations, leaf = example("bertrand"), bertrand().leaf
    numbers = equations.parameter_values

    def accelerations(state):
        known = {symbol: state.get(symbol.name, numbers.get(symbol.name)) for f in leaf.f for symbol in f.free_symbols}
        a = [x.acceleration, y.acceleration]
        rest = [f.subs({s: value for s, value in known.items() if value is not None}) for f in leaf.f]
        found = sp.solve(rest, a)
        return [float(found[u]) for u in a]

    on = {"x": 0.9, "y": 0.4, "x_dot": -0.3}
    on["y_dot"] = (1 + on["y"] * on["x_dot"]) / on["x"]  # c = 1
    assert accelerations(on) == pytest.approx(equations.evaluate(on).accelerations.tolist(), rel=1e-12)
    off = {**on, "y_dot": on["y_dot"] + 0.1}
    assert accelerations(off) != pytest.approx(equations.evaluate(off).accelerations.tolist(), rel=1e-3)


@pytest.mark.prove
def test_the_command_tells_it():
    done = CliRunner().invoke(main, ["lagrangian", str(BERTRAND)])
    assert done.exit_code == 1  # the equations as they stand have none
    assert "hint: on the leaf x*y' - y*x' = c0 = const, which areal keeps, there are L and D:" in done.output
    assert "off this leaf the two systems differ" in done.output
    data = json.loads(CliRunner().invoke(main, ["lagrangian", str(BERTRAND), "--json"]).output)
    assert data["L"] is None
    assert data["leaf"]["value"] == "c0"
    assert "log" in data["leaf"]["L"]


@pytest.mark.parametrize("name", ["pendulum", "skate", "rlc"])
def test_what_keeps_no_such_function_has_no_leaf(name):
    assert hf.lagrangian(example(name)).leaf is None


def test_a_function_whose_square_is_not_all_of_the_second_degree_is_no_leaf():
    """A second square, of the radial rate, is left over."""
    system = hf.System(
        coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, forces={x: y * (x * x.rate + y * y.rate) ** 2}
    )
    program = hf.Program(
        nonholonomic={"areal": x * y.rate - y * x.rate - 1}, controls={"F": {y: 1}}, law=hf.critically_damped(1)
    )
    equations = hf.derive(hf.Problem(system, program, start={x: 1, y.rate: 1}))
    assert hf.lagrangian(equations).leaf is None
