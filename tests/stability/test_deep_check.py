"""The deep check: a table of words whose numbers are those of NumPy, and of the parts it is made of."""

import json

import numpy as np
import pytest
import sympy as sp
from click.testing import CliRunner

import holdfast as hf
from holdfast.cli.main import main
from holdfast.stability.deep_check import _combined, _grip

R = sp.Rational
ROWS = ["degrees", "free", "authority", "redundancy", "equilibria", "branches"]


def arm(bend, scale=1):
    """Two links, motors at both joints; the tip is held where it is, in metres or in other units."""
    a, b = hf.coordinates("a b")
    X, Y = sp.cos(a) + sp.cos(a + b), sp.sin(a) + sp.sin(a + b)
    kinetic = (a.rate**2 + b.rate**2) / 2
    tip = {"across": scale * (X - 1 - np.cos(bend)), "up": Y - np.sin(bend)}
    program = hf.Program(holonomic=tip, controls={"M1": {a: 1}, "M2": {b: 1}}, law=hf.critically_damped(3))
    return hf.Problem(hf.System(coordinates=(a, b), kinetic=kinetic), program, start={a: 0, b: bend})


def cosines(bend):
    """The slopes of the tip, rows measured: masses are 1."""
    J = np.array([[-np.sin(bend), -np.sin(bend)], [1 + np.cos(bend), np.cos(bend)]])
    return J / np.linalg.norm(J, axis=1)[:, None]


@pytest.mark.parametrize("scale", [1, 1000])
@pytest.mark.parametrize("bend", [1.0, 0.1])
def test_authority_is_the_condition_of_the_measured_slopes_in_any_units(bend, scale):
    grip = hf.deep_check(arm(bend, scale)).authority
    assert grip.condition == pytest.approx(np.linalg.cond(cosines(bend)), rel=1e-9)
    assert grip.smallest == pytest.approx(np.linalg.svd(cosines(bend))[1][-1], rel=1e-9)


def test_hardly_any_authority_is_told_by_its_direction():
    """One motor pushes almost square to the program 'lift': of what it does a ten-thousandth arrives."""
    x, y, z = hf.coordinates("x y z")
    system = hf.System(coordinates=(x, y, z), kinetic=(x.rate**2 + y.rate**2 + z.rate**2) / 2)
    controls = {"thrust": {x: 1}, "tilt": {y: R(1, 10000), z: 1}}
    program = hf.Program(holonomic={"along": x, "lift": y}, controls=controls, law=hf.critically_damped(3))
    deep = hf.deep_check(hf.Problem(system, program))
    assert deep.authority.condition == pytest.approx(1e4, rel=1e-6)
    (words,) = deep.rows["authority"]
    assert "'lift' is hardly moved" in words
    assert "of 'tilt' 0.0001 of its effort arrives" in words


def test_constraints_that_nearly_repeat_each_other_are_named():
    x, y, z = hf.coordinates("x y z")
    system = hf.System(coordinates=(x, y, z), kinetic=(x.rate**2 + y.rate**2 + z.rate**2) / 2)
    rows = {"wall": x, "floor": z, "again": x + y / 100000}
    deep = hf.deep_check(hf.Problem(system, hf.Program(holonomic=rows, law=hf.critically_damped(3))))
    (words,) = deep.rows["redundancy"]
    assert "'wall' - 'again'" in words or "-'wall' + 'again'" in words
    assert "floor" not in words
    assert deep.redundancy.condition == pytest.approx(2e5, rel=1e-4)


def test_the_table_tells_everything_of_an_arm():
    deep = hf.deep_check(arm(1.0))
    assert list(deep.rows) == ROWS
    assert deep.degrees == {"across": 2, "up": 2}
    assert deep.internal.dimension == 0
    assert len(deep.start.branches) == 2  # elbow up and elbow down
    assert [one.word for one in deep.equilibria] == ["asymptotically stable"] * 2
    assert "2 ways to assemble it were found" in str(deep)


def test_the_command_prints_the_table_and_its_numbers(tmp_path):
    file = tmp_path / "arm.toml"
    hf.dump(arm(1.0), file)
    shown = CliRunner().invoke(main, ["check", str(file), "--deep"])
    assert shown.exit_code == 0
    assert all(f"  {row:<12} " in shown.stdout for row in ROWS)
    data = json.loads(CliRunner().invoke(main, ["check", str(file), "--deep", "--json"]).stdout)["deep"]
    assert set(data) == {"table", *ROWS} - {"free"} | {"internal"}
    assert list(data["table"]) == ROWS
    assert len(data["branches"]) == 2
    assert json.loads(CliRunner().invoke(main, ["check", str(file), "--json"]).stdout)["deep"] is None


def test_what_cannot_be_said_is_said_so():
    x = hf.coordinates("x")
    system = hf.System(coordinates=x, kinetic=x.rate**2 / 2)
    path = hf.Program(holonomic={"path": x - sp.sin(hf.time)}, controls={"F": {x: 1}}, law=hf.critically_damped(3))
    deep = hf.deep_check(hf.Problem(system, path))
    assert deep.rows["equilibria"] == [
        "not known: the equations or the program change with time, so that nothing rests"
    ]
    assert deep.to_dict()["equilibria"] is None
    with pytest.raises(hf.BadRequest, match="takes a Problem"):
        hf.deep_check("arm.toml")


def test_constraints_that_repeat_each_other_are_told_once():
    x, y = hf.coordinates("x y")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=9 * y)
    rods = {"rod": (x**2 + y**2 - 1) / 2, "again": x**2 + y**2 - 1}
    deep = hf.deep_check(hf.Problem(system, hf.Program(holonomic=rods, law=hf.critically_damped(3)), start={x: 1}))
    (words,) = deep.rows["redundancy"]
    assert "rod" in words
    assert "again" in words
    assert deep.rows["authority"] == ["of constraints that repeat each other only the sum of forces is determined"]
    assert deep.internal.directions == 1
    assert "non-minimum phase" not in str(deep)


def test_what_nothing_moves_and_what_moves_nothing_have_no_grip():
    """A control without effect, or a constraint that no mass is behind, is a grip of 0 and no fault of division."""
    one = np.eye(2)
    for J, E in ((one, np.diag([1.0, 0.0])), (np.diag([1.0, 0.0]), one)):
        grip = _grip(J, E, one, ["a", "b"], ["F", "G"])
        assert (grip.smallest, grip.condition) == (0, np.inf)
        assert (grip.wish, grip.answer) == ("'b'", "'G'")
    nothing = _grip(one, np.zeros((2, 2)), one, ["a", "b"], ["F", "G"], np.diag([2.0, 0.0]))
    assert (nothing.smallest, nothing.condition) == (0, np.inf)


@pytest.mark.parametrize(
    ("vector", "words"),
    [([1, 0], "'a'"), ([-2, 1], "'a' - 0.5 'b'"), ([0.1, -1], "-0.1 'a' + 'b'"), ([1, 1], "'a' + 'b'")],
)
def test_a_direction_is_told_in_parts_of_its_largest(vector, words):
    assert _combined(np.array(vector, float), ["a", "b"]) == words


def test_a_grip_that_is_infinite_is_null_as_data():
    assert _grip(np.eye(1), np.zeros((1, 1)), np.eye(1), ["a"], ["F"]).to_dict()["condition"] is None
