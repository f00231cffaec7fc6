"""Bodies that turn by quaternions, derived by the verifier's own d'Alembert's principle, and confirmed in tubes."""

import random
from importlib import resources

import pytest

import holdfast as hf
from holdfast.stability.certificate.run_code import run_code
from holdfast.stability.verifier.comparison import doubles
from holdfast.stability.verifier.reading.code import Code
from holdfast.stability.verifier.reading.equations import equations
from holdfast.stability.verifier.reading.file import _operation
from holdfast.stability.verifier.reading.law import Law
from holdfast.stability.verifier.reading.statement import statement
from holdfast.stability.verifier.refusal import Refused
from holdfast.stability.verifier.steps.rounding import Agreement

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


@pytest.mark.prove
def test_a_body_on_a_ball_joint_is_confirmed():
    certificate = hf.certify(hf.derive(hf.loads(BOB)), effort=1)
    (block,) = certificate.blocks
    assert block.label is hf.Label.tube
    assert "Not re-checked" not in block.reason
    found = hf.verify(certificate)
    assert found.holds, found.findings
    heavier = hf.verify(certificate, hf.loads(BOB.replace("[0.02,", "[0.021,")))
    assert "energy" in str(heavier.findings)


ROLL = """schema = 1
[system]
gravity = {gravity}
[bodies.wheel]
mass = 0.7
{center}inertia = {inertia}
[joints.floor]
kind = "rolling-on-plane"
between = ["wheel", "ground"]
radius = 0.3
{more}[program.law]
kind = "critically-damped"
rate = 5
"""
MECHANISMS = {
    "ball joint": BOB,
    "ball that rolls": ROLL.format(gravity="[0.1, 0, -9.81]", center="", inertia="[0.02, 0.03, 0.025]", more=""),
    "wheel that rolls on a slope": ROLL.format(
        gravity="[0, 0, -9.81]", center="center = [0.01, 0, 0.02]\n", inertia="[0.01, 0.01, 0.02]",
        more='axis = "y"\nnormal = [0.6, 0, 0.8]\n',
    ),
    "wheel in the plane": ROLL.format(
        gravity="[0, -9.81]", center="center = [0.02, 0]\n", inertia="0.03", more="normal = [0.6, 0.8]\n"
    ),
    "two on a string": BOB.replace(
        "[joints.neck]",
        "[bodies.hand]\nmass = 0.4\ncenter = [0, 0.1, -0.2]\ninertia = [0.01, 0.008, 0.005]\n"
        '[joints.wrist]\nkind = "spherical"\nbetween = ["bob", "hand"]\n[joints.neck]',
    ).replace("gravity = [0, 0, -9.81]", "gravity = [0, 0, -9.81]\nnorm_rate = 0.7"),
}  # fmt: skip


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_code_moves_as_d_alembert_says(name):
    """Two derivations that share nothing, at random states far from any program, in 200 bits."""
    product = hf.derive(hf.loads(MECHANISMS[name]))
    stated = statement(hf.dumps(product.problem))
    law = Law(stated)
    numbers = doubles({**stated.parameters, **law.gains}, stated)
    own = equations(stated, law, numbers)
    assert own.inputs == ["t", *product.state_names]
    code, draw = run_code(product), random.Random(5)
    operations = []
    for entry in code["operations"]:
        operations.append(_operation(entry, len(code["inputs"]) + len(operations), {}))
    agreement = Agreement(own, Code(tuple(code["inputs"]), tuple(operations), tuple(code["rates"])), numbers)
    assert sum(agreement.check([draw.uniform(-1, 1) for _ in own.inputs]) for _ in range(6)) == 6
    place = len(operations) - 1
    while operations[place][0] != "add":
        place -= 1
    operations[place] = ("sub", *operations[place][1:])
    other = Agreement(own, Code(tuple(code["inputs"]), tuple(operations), tuple(code["rates"])), numbers)
    with pytest.raises(Refused):
        other.check([draw.uniform(-1, 1) for _ in own.inputs])


def test_a_ball_joint_that_is_led_backwards_says_that_nobody_re_checks_it():
    from holdfast.stability.promise.bodies import unverified_bodies

    backwards = BOB.replace('between = ["ground", "bob"]', 'between = ["bob", "ground"]')
    assert "led backwards" in unverified_bodies(hf.loads(backwards).system)
    assert not unverified_bodies(hf.loads(BOB).system)
    with pytest.raises(Refused, match="backwards"):
        statement(hf.dumps(hf.loads(backwards)))


@pytest.mark.prove
def test_the_stewart_platform_is_confirmed():
    certificate = hf.certify(hf.derive(hf.load(str(EXAMPLES / "stewart.toml"))))
    found = hf.verify(certificate)
    assert len(certificate.blocks) == 6
    assert found.holds, found.findings


@pytest.mark.prove
def test_the_coin_is_confirmed():
    found = hf.verify(hf.certify(hf.derive(hf.load(str(EXAMPLES / "coin.toml")))))
    assert found.holds, found.findings


def test_a_state_that_follows_the_motion_is_no_place():
    made = statement("""schema = 1
[system]
coordinates = ["x"]
kinetic = "x_dot**2/2"
[system.states]
s = "3*x_dot"
[definitions]
reach = "2*x + 5*s"
[program.holonomic]
stay = "x"
[program.controls]
F = { reach = 1 }
""")
    assert made.controls["F"]["x"] is made.dag.const(2)
