"""Deviations are judged in units of their own rounding, and a projection gives the best state it has seen."""

import math

import mpmath
import numpy as np
import pytest

import holdfast as hf
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.nodes import Graph
from holdfast.results.start.projection import Projection
from holdfast.results.start.term_sizes import ARRAYS, EPSILON, ROUNDINGS, size_nodes
from tests.results.problems import pendulum

x, y = hf.coordinates("x y")
mass, length, gravity = hf.parameters("mass length gravity")
EARTH = 7e6  # metres: the square of such a length is rounded to hundredths of a square metre
ANGLES = np.linspace(0.1, 3.0, 30)


def long_pendulum(law=None):
    system = hf.System(
        coordinates=(x, y),
        kinetic=mass * (x.rate**2 + y.rate**2) / 2,
        potential=mass * gravity * y,
        parameters={mass: 1.0, length: EARTH, gravity: 9.81},
    )
    rod = hf.Program(holonomic={"rod": (x**2 + y**2 - length**2) / 2}, law=law or hf.Unstabilised())
    return hf.derive(hf.Problem(system, rod, start={x: EARTH}))


def at_angle(angle):
    return {x: EARTH * math.cos(angle), y: -EARTH * math.sin(angle)}


@pytest.mark.parametrize("policy", ["keep", "raise", "project", None])
def test_a_rod_of_7000_km_is_on_its_program(policy):
    equations, off = long_pendulum(), 0
    for angle in ANGLES:
        run = hf.simulate(equations, hf.RK4, step=1.0, duration=5, start=at_angle(angle), start_policy=policy)
        assert run.outcome is hf.Outcome.completed, run.message
        assert run.start.on_program
        assert not run.start.changes
        assert "deviates" not in run.message
        off += any(abs(value) > 1e-9 for value in run.start.deviation.values())
    assert off or policy in ("project", None)  # such deviations were once refused


def test_a_metre_off_a_rod_of_7000_km_is_off():
    equations = long_pendulum()
    start = {x: EARTH + 1.0, y: 0.0}
    kept = hf.simulate(equations, hf.RK4, step=1.0, duration=5, start=start, start_policy="keep")
    assert kept.outcome is hf.Outcome.off_program
    assert kept.start.off.keys() == {"y_rod"}
    with pytest.raises(hf.BadRequest, match="y_rod"):
        hf.simulate(equations, hf.RK4, step=1.0, duration=5, start=start, start_policy="raise")
    moved = hf.simulate(equations, hf.RK4, step=1.0, duration=5, start=start, start_policy="project")
    assert moved.start.on_program
    assert moved["x"][0] == pytest.approx(EARTH, rel=1e-15)


def test_a_long_rod_is_projected_after_each_step():
    run = hf.simulate(long_pendulum(), hf.RK4, step=5.0, duration=500, start=at_angle(0.3), project=True)
    assert run.outcome is hf.Outcome.completed
    assert np.abs(np.hypot(run["x"], run["y"]) - EARTH).max() < 4 * math.ulp(EARTH)


def test_many_cases_are_judged_as_each():
    equations = long_pendulum()
    columns = {"x": EARTH * np.cos(ANGLES), "y": -EARTH * np.sin(ANGLES)}
    columns["x"][3] += 1.0
    runs = hf.ensemble(equations, hf.RK4, step=1.0, duration=5, cases=columns, start_policy="keep")
    assert [k for k, outcome in enumerate(runs.outcomes) if outcome is not hf.Outcome.completed] == [3]
    assert runs.outcomes[3] is hf.Outcome.off_program
    with pytest.raises(hf.BadRequest, match="y_rod"):
        hf.ensemble(equations, hf.RK4, step=1.0, duration=5, cases=columns, start_policy="raise")


def test_the_units_of_a_start_are_saved_with_it(tmp_path):
    angle = next(a for a in ANGLES if abs(math.hypot(*at_angle(a).values()) - EARTH) > 0)
    run = hf.simulate(long_pendulum(), hf.RK4, step=1.0, duration=5, start=at_angle(angle), start_policy="keep")
    run.save(tmp_path / "run.npz")
    assert hf.Trajectory.load(tmp_path / "run.npz").start == run.start


def test_a_deviation_of_rounding_is_judged_by_the_size_of_its_terms():
    run = hf.simulate(pendulum(), hf.RK4, step=0.01, duration=0.1, start={"x": 1.1}, start_policy="keep")
    terms = 1.1**2 + 1.0  # s((x² − l²)/2) = x² + l² by the rule of products; one half counts as a factor
    assert run.start.units["y_rod"] == pytest.approx(64 * EPSILON * 1.5 * terms)
    assert not hf.simulate(pendulum(), hf.RK4, step=0.01, duration=0.1).start.units


# ── sizes ─────────────────────────────────────────────────────────────────────────────────────────

UNARY = "sqrt exp log sin cos tan asin acos atan sinh cosh tanh".split()


@pytest.mark.parametrize("name", [*UNARY, "pow", "atan2", "div", "power", "abs", "min", "max", "select"])
def test_errors_of_rounding_stay_below_the_size_of_the_terms(name):
    """A function of a sum that cancels, against the same with fifty digits."""
    random = np.random.default_rng(3)
    a, b = random.uniform(1e3, 1e4, 200), random.uniform(0.1, 0.9, 200)
    g = Graph()
    big, small = g.input("a"), g.input("b")
    inner = (big + small) - big  # small, with the rounding of big
    node = {
        "pow": lambda: g.call("pow", inner, small), "atan2": lambda: g.call("atan2", inner, small),
        "div": lambda: small / inner, "power": lambda: g.power(inner, 5),
        "select": lambda: g.select(inner, inner, small), "min": lambda: g.call("min", inner, big),
        "max": lambda: g.call("max", inner, small - big),
    }.get(name, lambda: g.call(name, inner))()  # fmt: skip
    value, size = Tape((big, small), (node, *size_nodes([node], {big: big, small: small}))).compiled(ARRAYS)([a, b])
    exact = {
        "pow": lambda s: s**s, "atan2": lambda s: mpmath.atan2(s, s), "div": lambda s: 1, "power": lambda s: s**5,
        "abs": abs, "min": lambda s: s, "max": lambda s: s, "select": lambda s: s,
    }.get(name) or getattr(mpmath, name)  # fmt: skip
    with mpmath.workdps(50):
        errors = [
            abs(float(exact(mpmath.mpf(s)) - mpmath.mpf(v)))
            for s, v in zip(b, np.broadcast_to(value, 200), strict=True)
        ]
    assert max(errors) > 0
    assert (np.array(errors) <= ROUNDINGS * size).all()


# ── the best of an iteration ──────────────────────────────────────────────────────────────────────


class Spoiled(Projection):
    """A projection whose deviation stops shrinking at a given size, and is then worse or not even finite."""

    floor, after = 1e-10, math.nan
    seen: list[np.ndarray]

    def _values(self, state, time, constants, *, positions):
        deviation, slope, matrix = super()._values(state, time, constants, positions=positions)
        if positions:
            self.seen.append(state)
            reached = any(abs(state[0] - 1) < 1e-8 for state in self.seen[:-1])
            deviation = np.full_like(deviation, self.after) if reached else np.maximum(deviation, self.floor)
        return deviation, slope, matrix


@pytest.mark.parametrize("after", [math.nan, math.inf, 1e-10, 3e-10])
def test_a_projection_that_hardly_succeeds_gives_its_best_state(after):
    projection = Spoiled(pendulum(), ("rod",))
    projection.after, projection.seen = after, []
    found = projection.of(np.array([1.3, 0.0, 0.0, 0.0]), 0.0, list(pendulum().parameter_values.values()))
    assert np.isfinite(found).all()
    best = next(state for state in projection.seen if abs(state[0] - 1) < 1e-8)
    assert np.array_equal(found[:2], best[:2])


def test_a_projection_without_a_near_state_is_refused():
    projection = Spoiled(pendulum(), ("rod",))
    projection.floor, projection.seen = 1e-3, []
    with pytest.raises(hf.BadRequest, match="no state near the start keeps constraint 'rod'"):
        projection.of(np.array([1.3, 0.0, 0.0, 0.0]), 0.0, list(pendulum().parameter_values.values()))
