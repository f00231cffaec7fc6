"""Joints that hold more than they need: all rows are kept, the motion is that of the whole, and repeats are named."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import holdfast as hf


def cranks(redundant=None):
    """A plate on three parallel cranks: two would do. It translates; all cranks have one angle."""
    tops = {f"t{i}": (i, 0, 0.3 * i) for i in range(3)}
    bodies = {"plate": hf.Body(mass=2, center=(1, 0, 0.3), inertia=(0.1, 0.7, 0.7), points=tops)}
    joints, points, start = {}, {}, {"h0_dot": 1.5, "k0": -0.4}
    for i in range(3):
        points[f"g{i}"] = (i, 0, 0.3 * i)
        bodies[f"c{i}"] = hf.Body(mass=1, center=(0, 0.5, 0), inertia=(0.1, 0.01, 0.1), points={f"e{i}": (0, 1, 0)})
        joints |= {f"h{i}": hf.Revolute(f"g{i}", f"c{i}", axis="z"), f"k{i}": hf.Revolute(f"e{i}", f"t{i}", axis="z")}
        start[f"h{i}"] = 0.4
    system = hf.System(bodies=bodies, joints=joints, points=points, gravity=(0, -9.81, 0))
    return hf.Problem(system, hf.Program(law=hf.critically_damped(10), redundant=redundant), start=start)


def test_a_plate_on_three_cranks_moves_as_on_one_pendulum():
    """h'' = 3.5 g sin(h)/I with I = 3 (0.1 + 0.25) + 2, through three turns of all cranks."""
    equations = hf.derive(cranks())
    run = hf.simulate(equations, hf.RK4, step=1e-3, duration=3)
    inertia = 3 * (0.1 + 0.25) + 2
    law = lambda t, y: [y[1], 9.81 * 3.5 * np.sin(y[0]) / inertia]  # noqa: E731
    exact = solve_ivp(law, (0, 3), [0.4, 1.5], rtol=1e-11, atol=1e-12).y[0, -1]
    assert run.outcome.name == "completed"
    assert [run[f"h{i}"][-1] for i in range(3)] == pytest.approx([exact] * 3, abs=1e-6)
    assert "'k2_p2' repeats what 'k1_p1', 'k1_p2' and 'k2_p1' already fix" in run.message
    assert "not unique" in run.message
    assert equations.constraints == ("k1_p1", "k1_p2", "k2_p1", "k2_p2")  # rows along z and of turns rest, and are said
    assert "kept by the rest already: k1_p3, k1_r1, k1_r2" in equations.summary()


def test_promises_about_repeats_are_proved_step_by_step_and_not_re_checked():
    certificate = hf.certify(hf.derive(cranks()), hf.RK4, step=1e-3, duration=0.1)
    assert {block.label for block in certificate.blocks} == {hf.Label.tube}
    text = str(certificate)
    assert "no step is shown to contract by itself" in text
    assert "Not re-checked by a verifier" in text
    assert not hf.verify(certificate)


def test_nobody_is_told_to_drop_a_row_of_a_joint():
    with pytest.raises(hf.ConstraintsDependent, match="'k2_p2' repeats") as told:
        hf.derive(cranks("refuse"))
    assert "remove" not in told.value.fix
    assert "'k2'" in told.value.fix
    with pytest.raises(hf.HoldfastError, match="independent constraints") as told:
        hf.maggi(hf.derive(cranks()))
    assert "remove" not in told.value.fix
