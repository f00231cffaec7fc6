"""Variable masses (docs/theory, section 1.8): the tests T1 to T4, and the errors they would show."""

from functools import cache

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf

t = hf.time
q, theta = hf.coordinates("q theta")


def run(system, start=None, **options):
    return hf.simulate(hf.derive(hf.Problem(system, start=start or {})), hf.DOP853, tolerance=1e-12, **options)


def one(mass, **more):
    """One point on a line."""
    return hf.System(coordinates=(q,), masses={"point": hf.MovingMass(position=(q,), mass=mass, **more)})


# ---------------------------------------------------------------- T1 to T4


def test_t1_a_rocket_gains_its_exhaust_speed_times_the_logarithm_of_its_masses():
    rocket = one(100 - t, streams=hf.Stream(velocity=(-3000,), relative=True))
    assert run(rocket, duration=50)["q_dot"][-1] == pytest.approx(2079.441541680, abs=2e-9)


LEFT_QUIETLY = [-0.4991571869, 0.4966313494, -0.4790597251, 0.4178618298]
LEFT_AT_REST = [-0.5125191330, 0.5240959158, -0.5496102955, 0.5158490786]


def bob(relative):
    mass = 1 - t / 20
    point = hf.MovingMass(
        position=(sp.sin(theta), -sp.cos(theta)),
        mass=mass,
        force=(0, -mass * sp.Rational(981, 100)),
        streams=hf.Stream(velocity=(0, 0), relative=relative),
    )
    return hf.System(coordinates=(theta,), masses={"bob": point})


@pytest.mark.parametrize(("relative", "expected"), [(True, LEFT_QUIETLY), (False, LEFT_AT_REST)])
def test_t2_a_leaking_bob_swings_by_the_velocity_of_what_leaves(relative, expected):
    found = run(bob(relative), {theta: 0.5}, duration=10, at=[1, 2, 5, 10])["theta"]
    assert_allclose(found, expected, rtol=0, atol=2e-10)


def test_t2_without_the_added_forces_the_bob_swings_as_if_drops_were_stopped():
    """The classical error: Lagrange's equations with T = m(t) θ'²/2 and nothing else."""
    mass = 1 - t / 20
    system = hf.System(
        coordinates=(theta,), kinetic=mass * theta.rate**2 / 2, potential=-mass * sp.Rational(981, 100) * sp.cos(theta)
    )
    found = run(system, {theta: 0.5}, duration=10, at=[1, 2, 5, 10])["theta"]
    assert_allclose(found, LEFT_AT_REST, rtol=0, atol=2e-10)
    assert np.abs(found - LEFT_QUIETLY).min() > 0.01


def speeds(system):
    events = {"one": q - 1, "four": hf.Event(q - 4, terminal=True)}
    found = run(system, duration=10, events=events)
    return [float(found.sol(found.events["one"])[1, 0]), float(found["q_dot"][-1])]


def test_t3_mass_picked_up_at_rest():
    found = speeds(one(1 + q / 2, force=(2,), streams=hf.Stream(velocity=(0,))))
    assert_allclose(found, [1.4907119850, 1.8856180832], rtol=0, atol=2e-8)
    assert_allclose(found, [np.sqrt(2 * 2 * (s + s**2 / 4)) / (1 + s / 2) for s in (1, 4)], rtol=0, atol=2e-8)


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        (0, [1.6329931619, 2.3094010768]),  # without −r'ᵀ Mc_q r'/2, which cancels the same term of T_q
        (-(q.rate**2) / 2, [1.3698697784, 1.6024672335]),  # f^a as printed: half of Mc' r'
    ],
    ids=["without the last term", "as printed"],
)
def test_t3_wrong_added_forces_give_other_speeds(added, expected):
    mass = 1 + q / 2
    system = hf.System(coordinates=(q,), kinetic=mass * q.rate**2 / 2, forces={q: 2 + added})
    assert_allclose(speeds(system), expected, rtol=0, atol=2e-8)


def test_t4_a_mass_that_depends_on_the_speed_changes_the_effective_mass():
    system = one(10 - q.rate / 50, force=(-1,), streams=hf.Stream(velocity=(-50,), relative=True))
    equations = hf.derive(hf.Problem(system, start={q.rate: 3}))
    assert equations.evaluate().mass_matrix[0, 0] == pytest.approx(8.94, abs=1e-14)
    found = hf.simulate(equations, hf.DOP853, tolerance=1e-12, duration=5)
    assert found["q_dot"][-1] == pytest.approx(2.4410653333, abs=1e-10)
    plain = hf.System(coordinates=(q,), kinetic=(10 - q.rate / 50) * q.rate**2 / 2, forces={q: -1})
    assert abs(run(plain, {q.rate: 3}, duration=5)["q_dot"][-1] - 2.4410653333) > 1e-3


# ---------------------------------------------------------------- section 8

EULER_TABLE = """
 0 0.5         2              -1             -69.927905276 -196.52258396 1664.47311866  236.02258396 -1604.17311866
 1 0.404853953 41.202866585   61.408617010    -3.540689703  200.27388307 1198.07946399 -160.69649416 -1134.30509846
 2 0.229389443 81.783137071   126.140683045    6.612139287  225.04327119 1274.18455136 -183.40541845 -1208.30918681
 5 0.023195796 212.538194962  337.496165869    1.439224083  122.07573137 1273.83723598  -77.06497710 -1198.81434588
10 0.000283230 449.997049127  749.992509429    0.020611028  131.97588930 1228.87076907  -81.97032861 -1138.85587058
20 0.000000024 999.996250147  1799.992500003   0.000001684  131.43367418 1127.67185754  -71.42867343 -1007.65685754
30 0.000000000 1649.996250000 3149.992500000   0.000000000  124.71930144 1013.95899595  -54.71430144  -863.94399595
"""
EULER = {int(line.split()[0]): [float(x) for x in line.split()[1:]] for line in EULER_TABLE.strip().splitlines()}
ACCURATE = {
    1: [0.404667385, 41.210305457, 61.412317579, -3.77762126, 197.87796101, 1199.84595963],
    2: [0.230069982, 81.797551172, 126.145693286, 6.51952865, 224.03619505, 1273.28760900],
    5: [0.023582814, 212.539514149, 337.502977939, 1.45667399, 122.07528204, 1273.96138084],
    10: [0.000295100, 450.000675642, 750.000016437, 0.02142978, 131.97149250, 1228.84317321],
    20: [0.000000026, 1000.000000015, 1800.000000002, 0.00000184, 131.42335696, 1127.64690481],
    30: [0, 1650, 3150, 0, 124.71015044, 1013.93603671],
}
BETA = {  # on the program: V, β2, β3, u2, u3, |u − v|
    0: [72.11102551, -2.221110255, -21.071110255, -88.8444102, -1264.2666153, 1330.519805],
    10: [102.95630141, -1.643685013, -12.653685013, -82.1842506, -1138.8316512, 1235.920670],
    20: [134.16407865, -1.190390876, -8.397057542, -71.4234525, -1007.6469051, 1135.279554],
    30: [165.52945357, -0.781573578, -5.759573578, -54.7101505, -863.9360367, 1021.576678],
}
COLUMNS = ("x", "y", "z", "lambda_plane", "P2", "P3")
A = np.zeros((6, 6))
A[:3, 3:] = np.eye(3)
A[[3, 4, 5], [0, 1, 2]] = -1, -2, -4
A[[3, 4, 5], [3, 4, 5]] = -2, -1.5, -2


@cache
def ascent():
    from tests.equations.mechanisms import example

    return example("rocket_ascent")


@cache
def euler():
    return hf.simulate(ascent(), hf.Euler, step=0.01, duration=30)


def deviations(found):
    return np.hstack([found.deviation, found.deviation_rate])


def test_the_euler_run_is_tabulated():
    found = euler()
    exhaust = hf.exhaust(found)
    for time, row in EULER.items():
        k = time * 100
        got = [*(found[name][k] for name in COLUMNS), *exhaust.velocity[k, 1:]]
        assert_allclose(got, row, rtol=0, atol=6e-9)


def test_the_accurate_run_is_tabulated():
    found = hf.simulate(ascent(), hf.DOP853, tolerance=1e-12, duration=30, at=list(ACCURATE))
    for k, row in enumerate(ACCURATE.values()):
        # the table's own deviations are good to 4e-11, and P3 is 100 kg times four of them
        assert_allclose([found[name][k] for name in COLUMNS], row, rtol=0, atol=4e-8)


def test_the_euler_run_obeys_its_recurrence_and_keeps_a_steady_offset():
    """α+ = (I + τA) α − (τ²/2)(0, η'', ζ'', 0, 0, 0): it settles at (τ/2) A⁻¹ (0, η'', ζ'', 0, 0, 0)."""
    found, step = deviations(euler()), 0.01
    program = np.array([0, 1, 3, 0, 0, 0])
    alpha, worst = found[0], 0.0
    for row in found:
        worst = max(worst, np.abs(alpha - row).max())
        alpha = alpha + step * A @ alpha - step**2 / 2 * program
    assert worst < 1e-11
    assert_allclose(found[-1], [0, -0.00375, -0.0075, 0, 0.005, 0.015], rtol=0, atol=2e-8)
    assert_allclose(step / 2 * np.linalg.solve(A, program), [0, -0.00375, -0.0075, 0, 0.005, 0.015], atol=1e-15)


@cache
def on_program():
    start = dict(zip(("x", "y", "z", "x_dot", "y_dot", "z_dot"), (0, 0, 0, 0, 40, 60), strict=True))
    found = hf.simulate(ascent(), hf.DOP853, tolerance=1e-13, duration=30, at=list(BETA), start=start)
    return hf.exhaust(found)


def test_the_exhaust_on_the_program_is_tabulated():
    found = on_program()
    for k, (speed, *beta_and_u, relative) in enumerate(BETA.values()):
        assert np.linalg.norm(found.point_velocity[k]) == pytest.approx(speed, abs=6e-9)
        assert_allclose([*found.ratio[k, 1:], *found.velocity[k, 1:]], beta_and_u, rtol=0, atol=6e-7)
        assert found.speed[k] == pytest.approx(relative, abs=6e-7)
    assert found.feasible
    assert not found.ratio_defined[:, 0].any()  # x stands still: there is no ratio
    assert np.isnan(found.ratio[:, 0]).all()


def test_misread_formulas_of_beta_would_show():
    """β3 without g, and β2 with the drag at the height η."""
    drag, eta = hf.exponential_atmosphere(1e-4, 8000), {0: 0, 10: 450}
    for k, time in ((0, 0), (1, 10)):
        mass, speed = 100 - time, BETA[time][0]
        f = float(drag.per_mass(speed, 60 * time + 1.5 * time**2)) / speed
        at_eta = float(drag.per_mass(speed, eta[time])) / speed
        assert on_program().ratio[k, 2] == pytest.approx(1 - mass * ((3 + 9.81) / (60 + 3 * time) + f), abs=1e-8)
        without = 1 - mass * (3 / (60 + 3 * time) + f)
        assert without == pytest.approx({0: -4.721110255, 10: -2.843685013}[time], abs=1e-9)
        if time:
            assert 1 - mass * (1 / (40 + time) + at_eta) == pytest.approx(-1.675923902, abs=1e-9)


def test_a_thrust_without_the_weight_settles_below_the_climb():
    """P3 of (30) without g: alpha_3 → g/a33 = −2.4525."""
    y, z = hf.coordinates("y z")
    mass, air = 100 - t, hf.exponential_atmosphere(1e-4, 8000)
    speed = sp.sqrt(y.rate**2 + z.rate**2)
    f = air.per_mass(speed, z) / speed
    eta, zeta = 40 * t + t**2 / 2, 60 * t + sp.Rational(3, 2) * t**2
    thrust = (
        mass * (1 + f * y.rate - 2 * (y - eta) - sp.Rational(3, 2) * (y.rate - sp.diff(eta, t))),
        mass * (3 + f * z.rate - 4 * (z - zeta) - 2 * (z.rate - sp.diff(zeta, t))),
    )
    drag = air.force((y.rate, z.rate), mass=mass, height=z)
    rocket = hf.MovingMass(
        position=(y, z), mass=mass, force=(drag[0], drag[1] - mass * sp.Rational(981, 100)), reactive=thrust
    )
    system = hf.System(coordinates=(y, z), masses={"rocket": rocket})
    found = run(system, {y: 2, z: -1, y.rate: 39.5, z.rate: 60.3}, duration=30)
    assert found["z"][-1] - 3150 == pytest.approx(-2.4525, abs=1e-8)
