"""The elementary functions of the kernels against 60 digits: at most 2 ulp, everywhere; in lanes as alone."""

import math

import mpmath as mp
import numpy as np
import pytest

from holdfast.engine.ensemble import run_ensemble
from holdfast.engine.kernel import compiled
from holdfast.graph.field import Field
from holdfast.graph.nodes import Graph
from holdfast.schemes.tableaus.euler import EULER

ONE = "sin cos tan exp log sinh cosh tanh asin acos atan sqrt".split()


def field_of_functions() -> Field:
    g = Graph()
    t, x, y = g.input("t"), g.input("x"), g.input("y")
    values = [*(g.call(name, x) for name in ONE), g.call("pow", x, y), g.call("atan2", x, y)]
    return Field(time=t, state=(x, y), parameters=(), rates=(g.zero, g.zero), observables=tuple(values))


def values_at(x: np.ndarray, y: np.ndarray | None = None) -> np.ndarray:
    states = np.stack([x, np.ones_like(x) if y is None else y], axis=1)
    return compiled(field_of_functions(), EULER).observe(np.zeros(len(x)), states)


def wide_arguments(count: int) -> np.ndarray:
    rng = np.random.default_rng(17)
    return np.concatenate(
        [
            rng.uniform(-10, 10, count),
            rng.uniform(-700, 700, count),
            rng.uniform(-1, 1, count),
            1 + rng.uniform(-1e-4, 1e-4, count),
            np.ldexp(rng.uniform(-1, 1, count), rng.integers(-1073, 1023, count)),
            rng.integers(-(10**6), 10**6, count) * (math.pi / 2),  # near the zeros of sin and cos
            rng.uniform(-(2.0**31), 2.0**31, count),
        ]
    )


def ulps(found: float, exact: mp.mpf) -> float:
    nearest = float(exact)
    if math.isinf(nearest):
        return 0.0 if found == nearest else math.inf
    return float(abs(mp.mpf(found) - exact) / math.ulp(nearest)) if math.isfinite(found) else math.inf


def defined(name: str, x: float) -> bool:
    if name in ("asin", "acos"):
        return abs(x) <= 1
    if name in ("log", "sqrt"):
        return x > 0
    return abs(x) < 709 if name in ("exp", "sinh", "cosh") else True


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_argument_are_within_two_ulp(name):
    x = wide_arguments(250)
    found = values_at(x)[:, ONE.index(name)]
    with mp.workdps(60 if name not in ("sin", "cos", "tan") else 400):
        worst = max(ulps(f, getattr(mp, name)(mp.mpf(a))) for f, a in zip(found, x, strict=True) if defined(name, a))
    assert worst <= 2.0
    outside = np.array([f for f, a in zip(found, x, strict=True) if name in ("log", "asin") and a < -1])
    assert np.isnan(outside).all()


def test_pow_and_atan2_are_within_two_ulp():
    rng = np.random.default_rng(23)
    x = np.concatenate([rng.uniform(0, 3, 300), np.exp(rng.uniform(-300, 300, 300)), 1 + rng.uniform(-1e-6, 1e-6, 100)])
    y = np.concatenate([rng.uniform(-30, 30, 300), rng.uniform(-2, 2, 300), rng.uniform(-1e8, 1e8, 100)])
    found = values_at(x, y)
    with mp.workdps(60):
        for row, a, b in zip(found, x, y, strict=True):
            assert ulps(row[-2], mp.power(mp.mpf(a), mp.mpf(b))) <= 2.0
            assert ulps(row[-1], mp.atan2(mp.mpf(a), mp.mpf(b))) <= 2.0


def test_special_values_follow_the_standard():
    x = np.array([0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, 800.0, -800.0])
    found = dict(zip(ONE, values_at(x).T, strict=False))
    for name in ("sin", "tan", "sinh", "tanh", "asin", "atan", "sqrt"):
        assert found[name][0] == 0 == found[name][1]
        assert not np.signbit(found[name][0])
        assert np.signbit(found[name][1]), name
    for name in ONE:
        assert math.isnan(found[name][4]), name
    for name in ("sin", "cos", "tan"):
        assert np.isnan(found[name][2:4]).all()
    assert found["exp"][[2, 3, 6, 7]].tolist() == [math.inf, 0.0, math.inf, 0.0]
    assert found["log"][[0, 1, 2]].tolist() == [-math.inf, -math.inf, math.inf]
    assert math.isnan(found["log"][3])
    assert found["tanh"][[2, 3]].tolist() == [1.0, -1.0]
    assert found["sinh"][[2, 3]].tolist() == [math.inf, -math.inf]
    assert found["sin"][5] == found["sinh"][5] == 5e-324


def test_pow_follows_the_c_standard():
    cases = [(2.0, 0.5), (-8.0, 1 / 3), (-2.0, 3.0), (0.0, -1.0), (0.0, 0.0), (math.inf, -1.0), (1.0, math.nan)]
    x, y = np.array(cases).T
    found = values_at(x, y)[:, len(ONE)]
    assert found[0] == pytest.approx(math.sqrt(2), rel=3e-16)
    assert math.isnan(found[1])
    assert found[2:].tolist() == [-8.0, math.inf, 1.0, 0.0, 1.0]


def test_the_smaller_and_the_larger_do_not_hide_nan():
    g = Graph()
    t, x, y = g.input("t"), g.input("x"), g.input("y")
    outputs = (g.call("min", x, y), g.call("max", x, y), g.call("sign", x), g.select(x, g.one, y))
    field = Field(time=t, state=(x, y), parameters=(), rates=(g.zero, g.zero), observables=outputs)
    states = np.array([[math.nan, 1.0], [1.0, math.nan], [-2.0, 3.0]])
    found = compiled(field, EULER).observe(np.zeros(3), states)
    assert np.isnan(found[:2, :2]).all()
    assert math.isnan(found[0, 2])
    assert found[2].tolist() == [-2.0, 3.0, -1.0, 3.0]


def test_lanes_compute_what_one_lane_computes():
    """Including lanes that must ask the library beside lanes that need not."""
    g = Graph()
    t, x, y = g.input("t"), g.input("x"), g.input("y")
    values = [g.call(name, x) for name in ONE] + [g.call("pow", x, y)]
    moderate = [g.select(g.call("abs", value) - 10**100, g.one, value) for value in values]
    states = (x, y, *(g.input(f"z{k}") for k in range(len(values))))
    field = Field(time=t, state=states, parameters=(), rates=(g.zero, g.zero, *moderate))
    arguments = np.concatenate([wide_arguments(6), [0.0, -0.0, 1e18, 5e-324]])
    starts = np.zeros((len(arguments), 2 + len(values)))
    starts[:, 0], starts[:, 1] = arguments, 0.37
    kernel = compiled(field, EULER)
    one = run_ensemble(kernel, starts, step=1.0, steps=1, lanes=1, observe=False)
    for lanes in (2, 4, 8):
        many = run_ensemble(kernel, starts, step=1.0, steps=1, lanes=lanes, observe=False)
        assert np.array_equal(one.states, many.states, equal_nan=True)
        assert np.array_equal(one.status, many.status)
