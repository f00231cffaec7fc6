"""Columns worked out on demand: the parts of forces along a run, and the norm of the deviation."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf
from tests.equations.mechanisms import example

NAMES = ("pendulum", "cart_rod", "mixed_holders", "rocket_ascent")


def run_of(name, **asked):
    return hf.simulate(example(name), hf.RK4, **{"step": 0.01, "duration": 0.5, "start_policy": "keep", **asked})


@pytest.mark.parametrize("name", NAMES)
def test_parts_along_a_run_are_those_at_each_state(name):
    run = run_of(name)
    equations = run.equations
    rows = range(0, len(run.times), 10)
    for k, holder in enumerate(equations.holder_names):
        columns = np.array([run[f"{holder}[{degree}]"] for degree in range(3)])
        assert_allclose(columns.sum(axis=0), run[holder], rtol=1e-11, atol=1e-11)
        for row in rows:
            at = equations.evaluate(run.y[:, row].tolist(), float(run.times[row]))
            assert_allclose(columns[:, row], at.mu_parts[:, k], rtol=1e-12, atol=1e-12)


def test_a_law_of_second_order_has_a_second_part_along_the_run():
    x, z = hf.coordinates("x z")
    system = hf.System(coordinates=(x, z), kinetic=(x.rate**2 + z.rate**2) / 2, potential=9.81 * z)
    law = hf.ExcessEnergies(inertia=[[1 + x**2]], damping=[[2 + z.rate**2]], stiffness=[[3 + z**2]])
    program = hf.Program(holonomic={"rod": (x**2 + z**2 - 1) / 2}, law=law)
    start = {x: 0.8, z: -0.55, x.rate: 0.5, z.rate: 0.7}
    equations = hf.derive(hf.Problem(system, program, start=start))
    run = hf.simulate(equations, hf.RK4, step=0.01, duration=0.2, start_policy="keep")
    at = equations.evaluate()
    assert abs(at.mu_parts[2, 0]) > 1e-6
    assert run["lambda_rod[2]"][0] == pytest.approx(at.mu_parts[2, 0], rel=1e-12)


def test_parts_are_not_kept_with_the_run_and_are_computed_once():
    run = run_of("pendulum")
    assert not any("[" in name for name in run.names)
    assert run["lambda_rod[1]"] is run["lambda_rod[1]"]
    assert "lambda_rod[1]" in run
    for name in ("lambda_rod[3]", "lambda_road[1]", "x[0]", "lambda_rod["):
        assert name not in run
        with pytest.raises(hf.BadRequest, match="no quantity"):
            run[name]


def test_a_loaded_run_has_them_too(tmp_path):
    run = run_of("pendulum")
    run.save(tmp_path / "run.npz")
    again = hf.Trajectory.load(tmp_path / "run.npz")
    assert_allclose(again["lambda_rod[0]"], run["lambda_rod[0]"], rtol=1e-14)
    assert_allclose(again.deviation_norm, run.deviation_norm, rtol=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_parts_as_formulas_are_those_of_the_numbers(name):
    equations = example(name)
    found = hf.multiplier_parts(equations)
    state = {symbol: 0.3 + 0.11 * k for k, symbol in enumerate(equations.state_names)}
    at = equations.evaluate(state, time=0.2)
    numbers = dict(zip(equations.state_names, at.state, strict=True)) | equations.parameter_values | {"t": 0.2}
    numbers |= {name: at[name] for name in equations.deviation_names}
    assert set(found.formulas) == set(equations.holder_names)
    for k, parts in enumerate(found.formulas.values()):
        for degree, part in enumerate(parts):
            value = sp.sympify(part).subs({symbol: numbers[symbol.name] for symbol in part.free_symbols})
            assert float(value) == pytest.approx(at.mu_parts[degree, k], rel=1e-11, abs=1e-11)


def test_the_pendulums_parts_read_like_a_textbook():
    found = hf.multiplier_parts(example("pendulum"))
    assert "lambda_rod[0] = m*(g*z - x'^2 - z'^2)/(x^2 + z^2)" in found.summary()
    assert "lambda_rod[1] = -m*(b_rod*w_rod + k_rod*y_rod)/(x^2 + z^2)" in found.summary()
    assert r"\lambda_{\mathrm{rod}}^{(1)}" in found.latex()


def test_long_parts_are_statements():
    found = hf.multiplier_parts(example("four_bar"))
    assert found.formulas == {}
    names = [line.name.name for line in found.statements]
    holders = example("four_bar").holder_names
    assert names[-3 * len(holders) :] == [f"{name}[{k}]" for name in holders for k in range(3)]


def test_the_norm_of_adaptive_optics_starts_at_the_theorys_number():
    """‖z₀‖ = 0.024836 for the listed data; the largest |y| alone is less than half of it."""
    run = hf.simulate(example("adaptive_optics"), hf.RK4, step=0.001, duration=0.5)
    assert run.deviation_norm[0] == pytest.approx(0.024836, abs=5e-7)
    assert abs(run.deviation).max() < 0.5 * run.deviation_norm.max()
    assert_allclose(
        run.deviation_norm, np.sqrt((run.deviation**2).sum(axis=1) + (run.deviation_rate**2).sum(axis=1)), rtol=1e-14
    )


def test_the_norm_neither_overflows_nor_exists_without_a_program():
    from dataclasses import replace

    run = run_of("pendulum")
    large = replace(run, columns={**run.columns, "y_rod": np.full(len(run.times), 1e200)})
    assert np.isfinite(large.deviation_norm).all()
    with pytest.raises(hf.BadRequest, match="no quantity 'deviation_norm'"):
        _ = hf.simulate(example("rlc"), hf.RK4, step=0.01, duration=0.1).deviation_norm
