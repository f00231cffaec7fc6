"""The UR5 linearised, against Pinocchio 4.1.0 (`computeABADerivatives`, `computeMinverse`; computed once, kept here).

Geometry, masses and centres of mass as Universal Robots publish them (Denavit and Hartenberg), inertias about these
centres as rounded there; gravity 9.81. Carpentier and Mansard (2018), Analytical derivatives of rigid body dynamics
algorithms, RSS.
"""

from functools import cache

import numpy as np
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf

REACH = ("0", "-0.425", "-0.39225", "0", "0", "0")
RISE = ("0.089159", "0", "0", "0.10915", "0.09465", "0.0823")
TWIST = (1, 0, 0, 1, -1, 0)  # right angles
MASS = ("3.7", "8.393", "2.33", "1.219", "1.219", "0.1879")
CENTRE = (
    ("0", "-0.02561", "0.00193"), ("0.2125", "0", "0.11336"), ("0.15", "0", "0.0265"), ("0", "-0.0018", "0.01634"),
    ("0", "0.0018", "0.01634"), ("0", "0", "-0.001159"),
)  # fmt: skip
INERTIA = (
    ("0.0067", "0.0064", "0.0067"), ("0.0149", "0.3564", "0.3553"), ("0.0025", "0.0551", "0.0546"),
    ("0.0012", "0.0012", "0.0012"), ("0.0012", "0.0012", "0.0012"), ("0.0001", "0.0001", "0.0001"),
)  # fmt: skip
ANGLES = ("0.1", "-1.2", "0.9", "-0.4", "0.7", "0.2")
SPEEDS = ("0.5", "-0.3", "0.8", "0.2", "-0.6", "0.4")
TORQUES = (1.0, -20.0, 5.0, 0.5, -0.25, 0.125)


def numbers(text):
    return np.array([[float(x) for x in line.split()] for line in text.strip().splitlines()])


ACCELERATIONS = numbers(
    "-3.094615307297 -19.90766560374 68.06565905325 -89.94673315328 -94.03451759452 1283.295807005"
)[0]
BY_ANGLE = numbers(
    """
    0 9.38256803869 1.58548424692 -0.263589656617 -1.32437629589 0
    0 26.2864599852 19.0126365077 0.217919343704 -0.0654460465586 0
    0 -35.3923664616 -38.1476749184 -3.72653076626 0.350657506757 0
    0 2.26608935497 -53.3275576565 27.1659595165 13.9064123794 0
    0 44.5876069543 16.1772891023 -11.3417072005 -22.5297331716 0
    0 -0.217572421214 53.2094152317 -19.5397770546 -35.9419604305 0
    """
)
BY_SPEED = numbers(
    """
    0.583812932681 -0.940396083371 -0.129664786659 0.0386928987549 -0.0189983014246 -7.95494854898e-05
    0.789498641048 -0.00936882627798 0.303646222475 0.0313573349886 -0.0132913597529 -0.000174742851715
    -0.70192228425 0.708589273238 -0.242071904445 0.0978717474593 -0.00865949093571 0.000578176319008
    -3.25442268676 -2.3745728038 -2.73798483358 -0.258095970649 0.214240989098 -0.00755235982845
    1.3709698348 -0.855948602148 0.752153173713 0.345424846228 0.0451065408987 -0.0130166034934
    2.82038804004 1.53149180517 1.96067650961 -0.0576635358564 0.065402945721 0.0055008148182
    """
)
BY_TORQUE = numbers(
    """
    0.739272296657 0.15821514343 -0.214102138793 0.557850589625 4.64998788706 -0.690733081657
    0.15821514343 0.874275000606 -1.62031344751 3.46381759915 0.629104659975 -2.14433403513
    -0.214102138793 -1.62031344751 4.88968397852 -12.1778084531 -1.37258097183 6.90240505064
    0.557850589625 3.46381759915 -12.1778084531 106.00756802 69.917886984 -74.6457495276
    4.64998788706 0.629104659975 -1.37258097183 69.917886984 436.798318851 -54.8373289283
    -0.690733081657 -2.14433403513 6.90240505064 -74.6457495276 -54.8373289283 10053.7397105
    """
)


def exact(texts):
    return sp.Matrix([sp.Rational(text) for text in texts])


@cache
def arm():
    """Velocities by recursion, each in the frame of its own link; six torques that hold six angles."""
    q = hf.coordinates("q1 q2 q3 q4 q5 q6")
    turning = moving = sp.zeros(3, 1)
    up, height, kinetic, potential = sp.Matrix([0, 0, 1]), 0, 0, 0
    for i, angle in enumerate(q):
        c, s = sp.cos(angle), sp.sin(angle)
        ca, sa = (0, TWIST[i]) if TWIST[i] else (1, 0)
        turn = sp.Matrix([[c, -s * ca, s * sa], [s, c * ca, -c * sa], [0, sa, ca]])
        along = sp.Matrix([sp.Rational(REACH[i]) * c, sp.Rational(REACH[i]) * s, sp.Rational(RISE[i])])
        turning = turning + sp.Matrix([0, 0, angle.rate])
        moving, height = turn.T * (moving + turning.cross(along)), height + up.dot(along)
        turning, up = turn.T * turning, turn.T * up
        centre, mass = exact(CENTRE[i]), sp.Rational(MASS[i])
        speed = moving + turning.cross(centre)
        spin = sum(inertia * w**2 for inertia, w in zip(exact(INERTIA[i]), turning, strict=True))
        kinetic += mass * speed.dot(speed) / 2 + spin / 2
        potential += mass * sp.Rational("9.81") * (height + up.dot(centre))
    system = hf.System(coordinates=q, kinetic=kinetic, potential=potential)
    program = hf.Program(
        holonomic={f"hold{i}": angle - sp.Rational(ANGLES[i]) for i, angle in enumerate(q)},
        controls={f"torque{i}": {angle: 1} for i, angle in enumerate(q)},
        law=hf.critically_damped(5),
    )
    start = dict(zip(q, exact(ANGLES), strict=True)) | dict(zip((x.rate for x in q), exact(SPEEDS), strict=True))
    with hf.limits(seconds=60):
        return hf.derive(hf.Problem(system, program, start=start, run=hf.Run(step=0.001, duration=0.1)))


def compared(found, k=None):
    take = (lambda x: x) if k is None else (lambda x: x[k])
    assert_allclose(take(found.rates)[6:], ACCELERATIONS, rtol=1e-11)
    assert_allclose(take(found.A)[6:, :6], BY_ANGLE, rtol=1e-10, atol=1e-10)
    assert_allclose(take(found.A)[6:, 6:], BY_SPEED, rtol=1e-10, atol=1e-10)
    assert_allclose(take(found.B)[6:], BY_TORQUE, rtol=1e-10, atol=1e-10)
    assert_allclose(take(found.A)[:6], np.eye(6, 12, 6))


NAMES = [f"torque{i}" for i in range(6)]


def test_the_arm_is_linearised_as_pinocchio_does():
    torques = dict(zip(NAMES, TORQUES, strict=True))
    compared(hf.linearise(arm(), inputs=NAMES, input_values=torques))


def test_along_a_run_it_begins_as_at_its_start():
    run = hf.simulate(arm())
    found = hf.linearise(
        arm(), run, time=[0.0, 0.05], inputs=NAMES, input_values=dict(zip(NAMES, TORQUES, strict=True))
    )
    compared(found, 0)
    held = hf.linearise(arm(), run, inputs=NAMES)
    assert_allclose(held.input_values[:, 2], run["torque2"], rtol=1e-9)
    assert_allclose(held.rates, np.gradient(run.y, run.times, axis=1).T, atol=0.2)
