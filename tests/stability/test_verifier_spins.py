"""Bodies that turn by quaternions, derived by the verifier's own d'Alembert's principle, and confirmed in tubes."""

from importlib import resources

import pytest

import holdfast as hf

EXAMPLES = resources.files("holdfast") / "examples"
BOB = """schema = 1
[system]
gravity = [0, 0, -9.81]
[bodies.bob]
mass = 1.5
center = [0.1, 0, -0.4]
inertia = [0.02, 0.03, 0.015]
[joints.neck]
kind = "spherical"
between = ["ground", "bob"]
[program.holonomic]
lean = "bob_r31 - 0.3"
[program.law]
kind = "critically-damped"
rate = 8
[start]
neck_turn_z_dot = 1.5
[run]
scheme = "rk4"
step = 0.002
duration = 0.01
start_policy = "project"
"""


def test_a_body_on_a_ball_joint_is_confirmed():
    certificate = hf.certify(hf.derive(hf.loads(BOB)), effort=1)
    (block,) = certificate.blocks
    assert block.label is hf.Label.tube
    assert "Not re-checked" not in block.reason
    found = hf.verify(certificate)
    assert found.holds, found.findings
    heavier = hf.verify(certificate, hf.loads(BOB.replace("[0.02,", "[0.021,")))
    assert "energy" in str(heavier.findings)


@pytest.mark.prove
def test_the_stewart_platform_is_confirmed():
    certificate = hf.certify(hf.derive(hf.load(str(EXAMPLES / "stewart.toml"))))
    found = hf.verify(certificate)
    assert len(certificate.blocks) == 6
    assert found.holds, found.findings
