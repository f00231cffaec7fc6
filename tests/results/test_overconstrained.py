"""Loops that close more than once run for a hundred periods as their minimal coordinates say."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

import holdfast as hf
from tests.equations.loops import (
    BARS,
    INERTIAS,
    bennett,
    bennett_angles,
    box_of_bars,
    four_bar_points,
    planar_four_bar_in_space,
    three_cranks,
)


def one_coordinate(inertia, potential, start, duration, cells=4000, reach=np.pi):
    """q at the end from rest: M(q) q'' + M'(q) q'²/2 + V'(q) = 0, with M and V as splines."""
    grid = np.linspace(start - reach, start + reach, cells)
    mass = CubicSpline(grid, [inertia(q) for q in grid])
    slope, pull = mass.derivative(), CubicSpline(grid, [potential(q) for q in grid]).derivative()

    def rates(_, state):
        q, v = state
        return [v, -(slope(q) * v * v / 2 + pull(q)) / mass(q)]

    return solve_ivp(rates, (0, duration), [start, 0.0], method="DOP853", rtol=1e-11, atol=1e-11).y[0, -1]


def without_drift(run, size=1e-7):
    tail = np.abs(run.deviation[len(run.times) // 2 :] if run.deviation.shape[0] == len(run.times) else run.deviation)
    assert run.success, run.message
    assert tail.max() < size
    assert np.ptp(run["energy"]) < 1e-4 * (np.abs(run["kinetic"]).max() + 1e-300)


def test_three_cranks_swing_a_hundred_times():
    start = dict.fromkeys("acd", -1) | {"b": 0}
    equations = hf.derive(three_cranks(start=start))
    run = hf.simulate(equations, hf.RK4, step=0.005, duration=190)
    crossings = np.sum(np.diff(np.sign(run["a"] + np.pi / 2)) != 0)
    assert crossings >= 200  # two in each period
    without_drift(run)
    exact = one_coordinate(lambda q: 2.0, lambda q: 9.81 * 2.5 * np.sin(q), -1, 190)
    assert run["a"][-1] == pytest.approx(exact, abs=1e-4)
    assert run["d"][-1] == pytest.approx(exact, abs=1e-4)


def test_a_bennett_linkage_swings_a_hundred_times():
    equations = hf.derive(bennett())
    assert equations.solver.dependence.rank == 3
    assert len(equations.constraints) == 6 > len(equations.coordinates)

    def inertia(q, h=1e-3):
        ends = np.array([bennett_angles(q + k * h) for k in (-2, -1, 1, 2)])
        slopes = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * h)
        return float(np.array(INERTIAS, float) @ slopes**2)

    duration = 400
    run = hf.simulate(equations, hf.DOP853, tolerance=1e-10, duration=duration)
    assert np.sum(np.diff(np.sign(run["t1"] - 2)) != 0) >= 200
    without_drift(run)
    exact = one_coordinate(inertia, lambda q: -30 * np.cos(q - 2), 1.3, duration, reach=1.2 + 0.8)
    assert run["t1"][-1] == pytest.approx(exact, abs=1e-4)
    assert [run[name][-1] for name in ("t1", "t2", "t3", "t4")] == pytest.approx(
        bennett_angles(run["t1"][-1]), abs=1e-7
    )


def test_a_box_of_bars_swings_a_hundred_times():
    """Its corners move as one spherical pendulum."""
    equations = hf.derive(box_of_bars())
    assert equations.solver.dependence.rank == 10
    assert len(equations.constraints) == 13 > len(equations.coordinates)
    run = hf.simulate(equations, hf.RK4, step=0.005, duration=210)
    assert np.sum(np.diff(np.sign(run["x0"])) != 0) >= 200
    without_drift(run)

    def rates(_, state):
        n, v = state[:3], state[3:]
        pull = np.array([0, 0, -9.81])
        return np.concatenate([v, pull - n * (n @ pull + v @ v) / (n @ n)])

    start = [0.6, 0, -0.8, 0, 0.7, 0]
    exact = solve_ivp(rates, (0, 210), start, method="DOP853", rtol=1e-11, atol=1e-11).y[:3, -1]
    assert [run[name][-1] for name in ("x0", "y0", "z0")] == pytest.approx(exact, abs=2e-4)
    assert run["x2"][-1] - run["x0"][-1] == pytest.approx(2, abs=1e-9)


@pytest.mark.prove
def test_a_planar_four_bar_in_space_stays_in_its_plane_a_hundred_times():
    begin = -1.2

    def bars(angle, h=1e-3):
        ends = np.array([four_bar_points(angle + k * h) for k in (-2, -1, 1, 2)])  # (looks, bars, ends, axes)
        middle, along = ends.mean(axis=2), ends[:, :, 1] - ends[:, :, 0]
        turn = np.unwrap(np.arctan2(along[..., 1], along[..., 0]), axis=0)
        slope = lambda x: (x[0] - 8 * x[1] + 8 * x[2] - x[3]) / (12 * h)  # noqa: E731
        speed, spin, mass = slope(middle), slope(turn), np.array(BARS)
        return float((mass * (speed**2).sum(axis=1) + mass**3 / 12 * spin**2).sum())

    def height(angle):
        points = np.array(four_bar_points(angle)).mean(axis=1)
        return 9.81 * float(np.array(BARS) @ points[:, 1])

    duration = 300
    equations = hf.derive(planar_four_bar_in_space(angle=begin))
    run = hf.simulate(equations, hf.RK4, step=0.005, duration=duration)
    without_drift(run)
    turning = np.sign(np.diff(run["x2"]))
    assert np.sum(turning[1:] != turning[:-1]) >= 200
    assert max(np.abs(run[f"z{i}"]).max() for i in range(3)) < 1e-9
    exact = one_coordinate(bars, height, begin, duration)
    assert [run["x0"][-1], run["y0"][-1]] == pytest.approx([np.cos(exact) / 2, np.sin(exact) / 2], abs=1e-3)
