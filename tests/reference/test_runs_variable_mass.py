"""A point of variable mass held on a climb; docs/theory, section 1.8."""

from functools import cache

import numpy as np
import sympy as sp
from numpy.testing import assert_allclose
from scipy.linalg import expm

import holdfast as hf

TIMES = [0, 1, 2, 5, 10, 20, 30]
A = np.zeros((6, 6))
A[:3, 3:] = np.eye(3)
A[3:, :3], A[3:, 3:] = np.diag([-1, -2, -4]), np.diag([-2, -1.5, -2])
START = np.array([0.5, 2, -1, 0.1, -0.5, 0.3])

EULER = """
0 0.5 2 -1 -69.927905276 -196.52258396 1664.47311866 236.02258396 -1604.17311866
1 0.404853953 41.202866585 61.408617010 -3.540689703 200.27388307 1198.07946399 -160.69649416 -1134.30509846
2 0.229389443 81.783137071 126.140683045 6.612139287 225.04327119 1274.18455136 -183.40541845 -1208.30918681
5 0.023195796 212.538194962 337.496165869 1.439224083 122.07573137 1273.83723598 -77.06497710 -1198.81434588
10 0.000283230 449.997049127 749.992509429 0.020611028 131.97588930 1228.87076907 -81.97032861 -1138.85587058
20 0.000000024 999.996250147 1799.992500003 0.000001684 131.43367418 1127.67185754 -71.42867343 -1007.65685754
30 0.000000000 1649.996250000 3149.992500000 0.000000000 124.71930144 1013.95899595 -54.71430144 -863.94399595
"""
ACCURATE = """
1 0.404667385 41.210305457 61.412317579 -3.77762126 197.87796101 1199.84595963
2 0.230069982 81.797551172 126.145693286 6.51952865 224.03619505 1273.28760900
5 0.023582814 212.539514149 337.502977939 1.45667399 122.07528204 1273.96138084
10 0.000295100 450.000675642 750.000016437 0.02142978 131.97149250 1228.84317321
20 0.000000026 1000.000000015 1800.000000002 0.00000184 131.42335696 1127.64690481
30 0.000000000 1650.000000000 3150.000000000 0.00000000 124.71015044 1013.93603671
"""


@cache
def point():
    """m = 100 − t; the plane is held by a reaction, the climb by the thrusts P2 and P3."""
    x, y, z = hf.coordinates("x y z")
    t = hf.time
    m = 100 - t
    speed = sp.sqrt(x.rate**2 + y.rate**2 + z.rate**2)
    drag = m * sp.Rational(1, 10**4) * sp.exp(-z / 8000) * speed
    carried = sp.diff(m, t)  # the leaving mass takes its momentum along
    system = hf.System(
        coordinates=(x, y, z),
        kinetic=m * speed**2 / 2,
        potential=m * 9.81 * z,
        forces={c: (carried - drag) * c.rate for c in (x, y, z)},
    )
    program = hf.Program(
        holonomic={"plane": x, "along": y - 40 * t - t**2 / 2, "climb": z - 60 * t - 1.5 * t**2},
        controls={"P2": {y: 1}, "P3": {z: 1}},
        reactions=("plane",),
        law=hf.SpringDamper(
            stiffness={"plane": 1, "along": 2, "climb": 4}, damping={"plane": 2, "along": 1.5, "climb": 2}
        ),
    )
    start = {x: 0.5, y: 2, z: -1, x.rate: 0.1, y.rate: 39.5, z.rate: 60.3}
    return hf.derive(hf.Problem(system, program, start=start, run=hf.Run(start_policy="keep")))


def table(text):
    return np.array([[float(word) for word in line.split()] for line in text.strip().splitlines()])


def deviations(run):
    names = "plane along climb".split()
    return np.array([run[f"{letter}_{name}"] for letter in "yw" for name in names]).T


def test_the_table_of_the_euler_run():
    run = hf.simulate(point(), hf.Euler, step=0.01, duration=30, at=TIMES)
    expected = table(EULER)
    exhaust = [run["y_dot"] - run["P2"], run["z_dot"] - run["P3"]]  # u = v + P/mdot, mdot = −1
    ours = np.array([run["x"], run["y"], run["z"], run["lambda_plane"], run["P2"], run["P3"], *exhaust]).T
    assert_allclose(ours, expected[:, 1:], rtol=0, atol=6e-9)


def test_the_table_of_the_accurate_run():
    run = hf.simulate(point(), hf.DOP853, tolerance=1e-12, duration=30, at=TIMES[1:])
    expected = table(ACCURATE)
    ours = np.array([run["x"], run["y"], run["z"], run["lambda_plane"], run["P2"], run["P3"]]).T
    assert_allclose(ours[:, :3], expected[:, 1:4], rtol=0, atol=2e-9)
    assert_allclose(ours[:, 3:], expected[:, 4:], rtol=0, atol=4e-8)  # 100 kg times 4/s² times 4e-11 m and the like


def test_the_deviations_of_the_accurate_run_follow_the_law():
    run = hf.simulate(point(), hf.DOP853, tolerance=1e-13, duration=30, at=list(range(31)))
    exact = np.array([expm(A * t) @ START for t in run.times])
    assert np.abs(deviations(run) - exact).max() < 4e-11 * 10  # positions reach 3e3, so that 1e-13 of them is 3e-10


def test_the_euler_run_obeys_its_recurrence_exactly():
    """α⁺ = (I + τA) α − τ²/2 (0, η'', ζ'', 0, 0, 0)."""
    step = 0.01
    run = hf.simulate(point(), hf.Euler, step=step, duration=30)
    u = -(step**2) / 2 * np.array([0, 1, 3, 0, 0, 0])
    expected = [START]
    for _ in range(3000):
        expected.append(expected[-1] + step * (A @ expected[-1]) + u)
    assert np.abs(deviations(run) - np.array(expected)).max() < 8e-12  # rounding of positions up to 3e3


def test_euler_settles_beside_the_program():
    """At (τ/2) A⁻¹ (0, η'', ζ'', 0, 0, 0), in proportion to the step."""
    for step in (0.01, 0.02):
        run = hf.simulate(point(), hf.Euler, step=step, duration=30, at=[30])
        offset = step / 0.01 * np.array([0, -0.00375, -0.0075, 0, 0.005, 0.015])
        assert_allclose(deviations(run)[0], offset, rtol=0, atol=2e-9)
        assert run.success
