"""A rigid body of variable mass is the system of its points: against Newton's and Euler's equations of the body.

    P' = F + Σ μ_k u_k,     H' = torque + Σ μ_k (r_k − c) × (u_k − P/m)         P = m v_c,  H = I ω about the centre c

with the centre moving in the body by what has left, and inertia and mass as functions of time.
"""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import holdfast as hf

x, y, th = hf.coordinates("x y th")
t = hf.time
GRAVITY = 9.81
FIRST = {x: 0, y: 0, th: 0.3, x.rate: 1, y.rate: -0.5, th.rate: 2}


def placed(along, across):
    """A point of the body, in space."""
    return (x + along * sp.cos(th) - across * sp.sin(th), y + along * sp.sin(th) + across * sp.cos(th))


def cross(a, b):
    return a[0] * b[1] - a[1] * b[0]


def body_motion(moments, leaving, duration):
    """Newton and Euler for the body: `moments(t)` gives m, the centre in the body and I about it; `leaving(t)` gives
    rows (μ, place in the body, velocity), the velocity absolute, or None for the velocity of that place.
    """

    def rates(now, state):
        angle, px, py, H = state[2:]
        m, centre, inertia = moments(now)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        momentum, omega = np.array([px, py]), H / inertia
        arm, speed = turn @ centre, momentum / m
        origin = speed - omega * np.array([-arm[1], arm[0]])
        dP, dH = np.array([0, -m * GRAVITY]), 0.0
        for mu, place, u in leaving(now):
            r = turn @ np.array(place) - arm
            if u is None:
                u = speed + omega * np.array([-r[1], r[0]])
            dP = dP + mu * np.asarray(u)
            dH += mu * cross(r, np.asarray(u) - speed)
        return [*origin, omega, *dP, dH]

    m, centre, inertia = moments(0.0)
    angle, omega, v = 0.3, 2.0, np.array([1, -0.5])
    arm = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) @ centre
    P = m * (v + omega * np.array([-arm[1], arm[0]]))
    start = [0, 0, angle, *P, inertia * omega]
    return solve_ivp(rates, (0, duration), start, method="DOP853", rtol=1e-12, atol=1e-12).y[:3, -1]


def library_motion(points, duration):
    problem = hf.Problem(hf.System(coordinates=(x, y, th), masses=points), start=FIRST)
    run = hf.simulate(hf.derive(problem), hf.DOP853, tolerance=1e-12, duration=duration, at=[0, duration])
    return np.array([run[name][-1] for name in ("x", "y", "th")])


@pytest.mark.parametrize("absolute", [True, False])
def test_eight_points_are_the_body_they_make_up(absolute):
    shake = np.random.default_rng(3)
    places = shake.uniform(-1, 1, (8, 2)).round(3)
    masses, rates = shake.uniform(0.5, 2, 8).round(3), shake.uniform(-0.4, 0.3, 8).round(3)
    speeds = shake.uniform(-3, 3, (8, 2)).round(3)

    def moments(now):
        m = masses + rates * now
        centre = m @ places / m.sum()
        return m.sum(), centre, m @ ((places - centre) ** 2).sum(axis=1)

    def leaving(now):
        return [(rates[k], places[k], speeds[k] if absolute else None) for k in range(8)]

    points = {}
    for k in range(8):
        mass = float(masses[k]) + float(rates[k]) * t
        velocity = [float(u) for u in speeds[k]] if absolute else (0, 0)
        points[f"p{k}"] = hf.MovingMass(
            position=placed(*(float(a) for a in places[k])),
            mass=mass,
            force=(0, -mass * sp.Rational(str(GRAVITY))),
            streams=hf.Stream(velocity=velocity, relative=not absolute),
        )
    assert_allclose(library_motion(points, 1.0), body_motion(moments, leaving, 1.0), rtol=1e-9, atol=1e-9)


def test_a_burning_rod_is_three_points_with_its_moments():
    """A uniform rod that burns off at its far end: mass l, centre l/2, inertia l^3/12, l = 2 - t/5.

    Points at 0, 1 and 2 with the rod's mass and first two moments have its motion: what leaves them at rest beside them
    carries off the same momentum and the same angular momentum as what leaves the tip at rest beside it.
    """
    length = 2 - t / 5
    whole, first, second = length, length**2 / 2, length**3 / 3
    far = (second - first) / 2
    middle = first - 2 * far
    places = {0: whole - middle - far, 1: middle, 2: far}
    points = {
        f"p{place}": hf.MovingMass(
            position=placed(place, 0),
            mass=mass,
            force=(0, -mass * sp.Rational(str(GRAVITY))),
            streams=hf.Stream(velocity=(0, 0), relative=True),
        )
        for place, mass in places.items()
    }

    def moments(now):
        size = 2 - now / 5
        return size, np.array([size / 2, 0]), size**3 / 12

    wanted = body_motion(moments, lambda now: [(-0.2, (2 - now / 5, 0), None)], 1.0)
    assert_allclose(library_motion(points, 1.0), wanted, rtol=1e-9, atol=1e-9)
