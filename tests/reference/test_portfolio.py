"""A portfolio: weights kept by self-financing trades, against the closed form of its wealth."""

from importlib import resources

import numpy as np
import pytest
from numpy.testing import assert_allclose

import holdfast as hf

EXAMPLE = str(resources.files("holdfast") / "examples" / "portfolio.toml")


def wealth(run):
    t = run.times
    return run["C_dot"] + np.exp(t / 10) * run["X1_dot"] + (1 + t / 5) * run["X2_dot"]


def test_a_portfolio_at_constant_weights_is_worth_what_the_closed_form_says():
    run = hf.simulate(hf.derive(hf.load(EXAMPLE)))
    assert wealth(run)[-1] == pytest.approx(114.216847, abs=5e-7)
    assert_allclose(wealth(run), 100 * np.exp(0.06 * run.times) * (1 + run.times / 5) ** 0.4, rtol=1e-9)
    assert_allclose(run["C_dot"], 0, atol=1e-9)  # weights 0.6 and 0.4 leave no cash


def test_trades_move_money_and_make_none():
    """All in cash at first: weights come in as exp(-5 t), and W' = n.p' all the way."""
    equations = hf.derive(hf.load(EXAMPLE))
    start = {"X1_dot": 0, "X2_dot": 0, "C_dot": 100}
    run = hf.simulate(
        equations, hf.DOP853, tolerance=1e-11, start=start, start_policy="keep", at=np.linspace(0, 1, 201)
    )
    assert_allclose(run["w_first"], -0.6 * np.exp(-5 * run.times), atol=1e-9)
    gain = 0.1 * np.exp(run.times / 10) * run["X1_dot"] + 0.2 * run["X2_dot"]
    gained = np.concatenate([[0], np.cumsum((gain[1:] + gain[:-1]) / 2 * np.diff(run.times))])
    assert_allclose(wealth(run) - 100, gained, atol=2e-4)  # the trapezoidal rule
    at = equations.evaluate(start)
    trade = at.controls
    assert_allclose(at.accelerations, [trade[0], trade[1], -trade[0] - trade[1]], rtol=1e-12)  # prices are 1 at t = 0
