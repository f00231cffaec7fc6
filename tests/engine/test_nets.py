"""Square nets: solved by tables, with the motion that straight code gives."""

import numpy as np
import pytest

import holdfast as hf
from benchmarks.scale import Net
from holdfast.engine.kernel import compiled
from holdfast.graph.elimination import saddle

LARGE = 800  # bars: solved by tables without being asked


@pytest.fixture
def tables(monkeypatch):
    """Every system by tables."""
    monkeypatch.setattr(saddle, "MANY_ROWS", 1)
    monkeypatch.setattr(saddle, "FILLED", 0)


def net(bars):
    return hf.loads(Net("net", bars).text)


def constants(equations):
    return [equations.parameter_values[name] for name in equations.parameter_names]


@pytest.fixture
def both(request):
    """A net of four points, solved by statements and by tables."""
    straight = hf.derive(net(6))
    request.getfixturevalue("tables")
    return straight, hf.derive(net(6))


def test_tables_give_the_motion_of_straight_code(both):
    straight, by_tables = both
    assert straight.solver.form == by_tables.solver.form == "solved"
    assert isinstance(by_tables.solver, saddle.TableSolver)
    runs = [hf.simulate(each, hf.RK4, step=1e-3, duration=0.3, every=100) for each in both]
    for name in ("x2_2", "z2_1_dot", "lambda_down2_2", "R_x1_1", "energy", "y_right2_2", "power_correction"):
        assert np.allclose(runs[0][name], runs[1][name], rtol=1e-9, atol=1e-12), name
    values = [each.evaluate() for each in both]
    for name in ("mu_parts", "authority", "accelerations"):
        assert np.allclose(getattr(values[0], name), getattr(values[1], name), rtol=1e-12, atol=1e-12), name


def test_pivots_are_judged_as_those_of_straight_code(both):
    """By the same sizes; the order is another one, so the smallest is only about as small."""
    state, margins = np.random.default_rng(1).normal(size=24), []
    for each in both:
        margins.append(compiled(each.field, hf.RK4).rates_and_margin(0.0, state, constants(each))[1])
    assert 0.1 < margins[0] / margins[1] < 10


def test_tiers_lanes_and_python_take_the_same_steps(tables):
    equations = hf.derive(net(6))
    start, given = hf.simulate(equations, hf.RK4, step=1e-3, duration=1e-3).start.state, constants(equations)
    ends = [
        compiled(equations.field, hf.RK4, **chosen).run(start, given, step=1e-3, steps=20).states[-1]
        for chosen in ({"tier": "quick"}, {"tier": "optimised"}, {"target": "python"})
    ]
    assert np.array_equal(ends[0], ends[1])
    assert np.allclose(ends[0], ends[2], rtol=1e-12, atol=1e-13)  # Python rounds products
    cases = hf.ensemble(equations, hf.RK4, step=1e-3, duration=0.02, cases={"g": [9.81, 9.0, 1.0]})
    assert np.array_equal(cases.states[0, -1], ends[0])


def test_a_start_off_the_program_is_brought_back(tables, monkeypatch):
    monkeypatch.setattr("holdfast.results.start.projection.LARGE", 10)
    monkeypatch.setattr("holdfast.results.start.start.natively_moved", lambda *a: None)
    problem = net(15)
    start = {"x2_2": 0.6, "y3_1_dot": 0.2}
    found = hf.simulate(hf.derive(problem), hf.RK4, step=1e-3, duration=1e-3, start=start, start_policy="project")
    assert max(map(abs, found.start.deviation.values())) < 1e-15
    monkeypatch.undo()
    usual = hf.simulate(hf.derive(problem), hf.RK4, step=1e-3, duration=1e-3, start=start, start_policy="project")
    assert np.allclose(found.start.state, usual.start.state, atol=1e-9)
    with pytest.raises(hf.BadRequest, match="deviates from"):
        hf.simulate(hf.derive(problem), hf.RK4, step=1e-3, duration=1e-3, start=start)


def test_what_tables_do_not_serve_is_refused_by_name(tables):
    equations = hf.derive(net(6))
    with pytest.raises(hf.BadRequest, match="by tables") as told:
        hf.simulate(equations, hf.ImplicitMidpoint, step=1e-3, duration=1e-3)
    assert told.value.where
    assert told.value.fix
    for target in ("c", "js", "numpy"):
        with pytest.raises(hf.BadRequest, match="by tables"):
            hf.export(equations, target)
    with pytest.raises(hf.BadRequest, match="by tables"):
        hf.linearise(equations)


@pytest.mark.prove
def test_nothing_is_called_proved_whose_rounding_is_not_bounded(tables):
    x, y = hf.coordinates("x y")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=9.81 * y)
    law = hf.SpringDamper(stiffness=400, damping=40)
    problem = hf.Problem(system, hf.Program(holonomic={"rod": (x**2 + y**2 - 1) / 2}, law=law), start={x: 1.0})
    certificate = hf.certify(hf.derive(problem), hf.RK4, step=2e-3, duration=0.1)
    assert "checked" in str(certificate)
    assert "proved while" not in str(certificate)
    assert not hf.verify(certificate).holds


def test_a_net_that_lies_flat_is_singular(tables):
    """Three bars in one line between two fixed points: their reactions are not determined."""
    points = hf.coordinates("x y"), hf.coordinates("u v")
    (x, y), (u, v) = points
    bars = {"left": x**2 + y**2 - 1, "middle": (u - x) ** 2 + (v - y) ** 2 - 1, "right": (3 - u) ** 2 + v**2 - 1}
    system = hf.System(coordinates=(x, y, u, v), kinetic=x.rate**2 + y.rate**2 + u.rate**2 + v.rate**2)
    with pytest.raises(hf.HoldfastError, match=r"left|middle|right"):
        hf.simulate(
            hf.derive(hf.Problem(system, hf.Program(holonomic=bars), start={x: 1, u: 2})),
            hf.RK4,
            step=1e-3,
            duration=0.01,
        )


@pytest.fixture(scope="module")
def large():
    """A net large enough to be solved by tables by itself."""
    with hf.limits(seconds=60):
        return hf.derive(net(LARGE))


def test_a_large_net_runs_for_a_plain_user(large):
    """And is judged without dense matrices."""
    assert isinstance(large.solver, saddle.TableSolver)
    stated = Net("net", LARGE)
    places, velocities = stated.state()
    state = np.concatenate([places.ravel(), velocities.ravel()])
    found, margin = compiled(large.field, hf.DOP853).rates_and_margin(0.0, state, constants(large))
    exact = stated.accelerations(places, velocities)
    assert np.abs(found[places.size :] - exact).max() < 1e-12 * np.abs(exact).max()
    assert margin > 1e-3
    run = hf.simulate(large, hf.DOP853, tolerance=1e-8, duration=0.02)
    assert run.success
    assert np.abs(run.deviation).max() < 1e-9


@pytest.mark.prove
def test_deviations_of_a_large_net_obey_their_law(large):
    """y = (y₀ (1 + k t) + w₀ t) exp(−k t) of a critically damped law."""
    places, velocities = Net("net", LARGE).state()
    start = np.concatenate([places.ravel(), velocities.ravel()])
    run = hf.simulate(large, hf.RK4, step=1e-3, duration=0.02, every=10, start=start, start_policy="keep")
    begin, rates = run.deviation[0], run.deviation_rate[0]
    expected = (begin * (1 + 20 * 0.02) + rates * 0.02) * np.exp(-20 * 0.02)
    assert np.allclose(run.deviation[-1], expected, atol=1e-6 * np.abs(begin).max())
