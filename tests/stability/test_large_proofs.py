"""Mechanisms that no region covers are proved in a tube with the default effort, not far above what their runs show."""

import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from benchmarks.chains import chain
from tests.reference.benchmark import load

pytestmark = pytest.mark.prove


def ellipsoid():
    """A rolling ellipsoid with skewed axes of inertia, started to spin: it touches, and does not slip."""
    q = hf.coordinates("x y z yaw pitch roll")
    x, y, z, yaw, pitch, roll = q
    turn = sp.rot_axis3(-yaw) * sp.rot_axis2(-pitch) * sp.rot_axis1(-roll)
    rolled = sp.rot_axis1(-roll).T
    spin = (
        sp.Matrix([roll.rate, 0, 0])
        + rolled * sp.Matrix([0, pitch.rate, 0])
        + rolled * sp.rot_axis2(-pitch).T * sp.Matrix([0, 0, yaw.rate])
    )
    inertia = sp.Matrix([[2e-3, -2e-4, 0], [-2e-4, 1.6e-2, 0], [0, 0, 1.7e-2]])
    squares = sp.diag(0.2**2, 0.03**2, 0.02**2)
    up = (sp.rot_axis2(-pitch) * sp.rot_axis1(-roll)).T * sp.Matrix([0, 0, 1])
    height = sp.sqrt((up.T * squares * up)[0])
    slip = sp.Matrix([x.rate, y.rate, 0]) + turn * spin.cross(-squares * up / height)
    kinetic = (x.rate**2 + y.rate**2 + z.rate**2) / 2 + (spin.T * inertia * spin)[0] / 2
    program = hf.Program(
        holonomic={"touch": z - height},
        nonholonomic={"roll_x": slip[0], "roll_y": slip[1]},
        law=hf.critically_damped(10),
    )
    system = hf.System(coordinates=q, kinetic=kinetic, potential=9.81 * z)
    start = {z: 0.02, yaw.rate: -5.0, roll.rate: 0.01, pitch.rate: 0.05}
    return hf.Problem(system, program, start=start, run=hf.Run(scheme="rk4", step=0.002, duration=4.0))


def cartesian(links, step):
    problem = hf.loads(chain(links))
    return hf.Problem(
        problem.system, problem.program, start=problem.start, run=hf.Run(scheme="rk4", step=step, duration=1.0)
    )


def andrews():
    case = load("andrews", hf.critically_damped(300))
    run = hf.Run(scheme="rk4", step=1e-5, duration=0.03, start_policy="keep")
    return hf.Problem(case.problem.system, case.problem.program, start=case.problem.start, run=run)


def most_added(block, run, step):
    """The largest ‖ψ⁺ − R ψ‖ along a run, in the norm of the certificate, R = Σ (τH)ᵏ/k! to the order of RK4."""
    whole = step * np.array(block.matrix)
    passed, term = np.eye(len(whole)), np.eye(len(whole))
    for k in range(1, 5):
        term = term @ whole / k
        passed = passed + term
    psi = np.column_stack([run[name] for name in block.names])
    return np.linalg.norm((psi[1:] - psi[:-1] @ passed.T) @ np.array(block.proof.factor), axis=1).max()


MADE = {
    "andrews": (andrews, 1e-3),
    "ellipsoid": (ellipsoid, 1e-3),
    "chain of 5": (lambda: cartesian(5, 1e-3), 1e-3),
    "chain of 10": (lambda: cartesian(10, 1e-3), 5e-5),
    "chain of 10, short steps": (lambda: cartesian(10, 5e-5), 1e-3),
}


@pytest.mark.parametrize("name", MADE)
def test_every_block_is_proved_within_five_times_what_its_run_shows(name):
    """In a tube no narrower than that: all of the defect, rounding included."""
    make, width = MADE[name]
    certificate = hf.certify(hf.derive(make()))
    for block in certificate.blocks:
        assert block.label is hf.Label.tube
        assert block.proof.tube.width >= width
        seen = most_added(block, certificate.trajectory, certificate.step)
        assert seen <= block.defect <= 5 * seen
