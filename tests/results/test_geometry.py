"""Where a run meets a singular position, the geometry is told: a short expression that vanishes there."""

import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from holdfast.structure.algebra.minors import factors_of_minors, factors_of_response
from tests.results.test_passages import parallelogram

phi, X = hf.coordinates("phi X")


def crank(drive="M", size=1.0):
    """A slider at a given pace, driven by a moment at its crank, which cannot push it at its dead points."""
    r, l = sp.Rational(size), 3 * sp.Rational(size)
    system = hf.System(coordinates=(phi, X), kinetic=size**2 * phi.rate**2 / 2 + X.rate**2)
    program = hf.Program(
        holonomic={"rod": (X - r * sp.cos(phi)) ** 2 + (r * sp.sin(phi)) ** 2 - l**2, "pace": X - l - r * hf.time / 2},
        controls={drive: {phi: 1}},
        reactions=("rod",),
        law=hf.critically_damped(5),
    )
    return hf.Problem(system, program, start={phi: 1.2, X: r * sp.cos(1.2) + sp.sqrt(l**2 - (r * sp.sin(1.2)) ** 2)})


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e6])  # with others rounding carries a run across, and it diverges
def test_a_control_that_is_lost_is_named_with_the_position(size):
    run = hf.simulate(hf.derive(crank(size=size)), hf.RK4, step=1e-3, duration=5)
    assert run.outcome is hf.Outcome.rank_lost
    (found,) = run.against
    assert found.text.startswith("Towards t = 2 (phi = ")
    assert found.text.endswith("the control 'M' can no longer move 'pace', where sin(phi) = 0.")
    assert found.time == run.times[-1]


def test_controls_of_as_many_constraints_as_coordinates_are_named_with_the_position():
    path = "src/holdfast/examples/adaptive_optics.toml"
    equations = hf.derive(hf.load(hf.__path__[0] + path.removeprefix("src/holdfast")))
    run = hf.simulate(equations, hf.Euler, step=1e-3, duration=20, law=hf.Unstabilised())
    (found,) = run.against
    assert "the controls 'F' and 'M' can no longer move 'ray', where sin(phi) = 0" in found.text


def test_a_passage_is_told_with_what_vanishes_there():
    run = hf.simulate(hf.derive(parallelogram("allow")), hf.RK4, step=0.001, duration=1)
    (found,) = run.findings
    assert found.name == "crossed"
    assert ", where sin(a) = 0. The run was carried across" in found.text


def test_constraints_that_nearly_depend_on_each_other_are_told_with_it():
    run = hf.simulate(hf.derive(parallelogram()), hf.RK4, step=0.002, duration=1)
    (found,) = [finding for finding in run.findings if finding.name in ("condition", "branch_changed")]
    assert ", where sin(a - b) = 0" in found.text or ", where sin(a) = 0" in found.text


def test_what_is_told_vanishes_there_and_not_elsewhere():
    run = hf.simulate(hf.derive(parallelogram("allow")), hf.RK4, step=0.001, duration=1)
    assert abs(np.sin(np.interp(run.findings[0].time, run.times, run["a"]))) < 0.01
    assert np.abs(np.sin(run["a"])).max() > 0.9


def test_a_cusp_without_a_short_condition_keeps_its_words():
    x, y = hf.coordinates("x y")
    program = hf.Program(
        holonomic={"cusp": y**2 - x**3 * (1 + sp.sin(x) / 3 + sp.exp(x) / 9)}, law=hf.critically_damped(5)
    )
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2)
    height = sp.sqrt(sp.Integer(1) * (1 + sp.sin(1) / 3 + sp.exp(1) / 9))
    run = hf.simulate(
        hf.derive(hf.Problem(system, program, start={x: 1, y: height, x.rate: -1})), hf.RK4, step=1e-3, duration=3
    )
    assert not run.success
    for found in run.against:
        assert " = 0 = 0" not in found.text


def test_minors_have_their_factors_by_determinants():
    a, b, c = sp.symbols("a b c")
    rows = [[-sp.sin(a), -3 * sp.sin(b), sp.sin(c)], [sp.cos(a), 3 * sp.cos(b), -sp.cos(c)]]
    found = factors_of_minors(rows, 20)
    assert {str(f) for factors in found for f in factors} == {"sin(a - b)", "sin(a - c)", "sin(b - c)"}
    mass = [[sp.Symbol("m"), 0], [0, 1]]
    assert [str(f) for f in factors_of_response([[sp.cos(a), 1]], mass, [[1], [0]], 20)] == ["cos(a)"]


def test_what_would_take_too_long_is_left_alone():
    symbols = sp.symbols("x0:40")
    rows = [[sp.sin(sum(symbols[: k + j + 1])) ** 3 for k in range(12)] for j in range(3)]
    assert factors_of_minors(rows, 20) is None or factors_of_minors(rows, 20) == []
    assert factors_of_minors([[symbols[0]]], 0) is None


def test_nothing_is_said_to_vanish_where_it_does_not():
    """Two sheets meet in a point; the run goes wrong there, and what is far from 0 at its start is not called 0."""
    x, y, z = hf.coordinates("x y z")
    system = hf.System(coordinates=(x, y, z), kinetic=(x.rate**2 + y.rate**2 + z.rate**2) / 2)
    program = hf.Program(holonomic={"cone": x**2 + y**2 - z**2, "plane": x - y}, law=hf.critically_damped(5))
    start = {x: 1, y: 1, z: sp.sqrt(2), x.rate: -1, y.rate: -1}
    run = hf.simulate(hf.derive(hf.Problem(system, program, start=start)), hf.RK4, step=1e-3, duration=3)
    for found in run.findings:
        if ", where" in found.text:
            row = int(np.abs(run.times - found.time).argmin())
            assert abs(run["x + y"][row]) < 0.1
