"""Affine blocks above degree 2: moved by themselves where their further deviations are states, and only there."""

from fractions import Fraction
from importlib import resources

import flint
import numpy as np
import pytest

import holdfast as hf
from holdfast.stability.proof.block import blocks_of, motion_of
from holdfast.stability.verifier.check import check_block, reading
from holdfast.stability.verifier.reading.file import claims, digest
from holdfast.stability.verifier.refusal import Refused, Unconfirmed
from holdfast.stability.verifier.steps.cover import Budget

EXAMPLES = resources.files("holdfast") / "examples"
WITHIN = 5  # times what is seen: the aim
TURNED = """schema = 1
title = "A thrust that is turned"
[system]
coordinates = ["x", "z"]
kinetic = "(x_dot**2 + z_dot**2)/2"
potential = "9.81*z"
[system.states]
th = "0"
[program.holonomic]
across = "x - sin(t)/4"
height = "z - 1 - cos(t)/4 - t/8"
[program.controls]
T = { x = "-sin(th)", z = "cos(th)" }
turn = { th = "1" }
[program.law]
kind = "critically-damped"
rate = 4
[run]
scheme = "rk4"
step = 0.005
duration = 1
"""


def example(name):
    return hf.derive(hf.load(str(EXAMPLES / f"{name}.toml")))


@pytest.fixture(scope="module")
def turned():
    return hf.certify(hf.derive(hf.loads(TURNED)), effort=0.3)


def checked(data):
    """The block `height` of a certificate, re-checked alone."""
    stated = claims({**data, "digest": digest(data)})
    (block,) = [one for one in stated.blocks if one.constraints == ["height"]]
    return check_block(reading(stated), block, Budget(20.0, 400))


# ── steps in 300 bits, of motions derived by hand ─────────────────────────────────────────────────


def turned_rates(t, state):
    """x'' = −T sin θ, z'' = T cos θ − g, with T and θ' such that s = (z − …)'' and both third rates are the law's."""
    x, z, u, v, th, s = state
    sin, cos, g = t.sin(), t.cos(), flint.arb(981) / 100
    up = s - cos / 4  # z''
    tan = th.tan()
    along = -tan * (g + up)  # x''
    third = -64 * (z - 1 - cos / 4 - t / 8) - 48 * (v + sin / 4 - flint.arb(1) / 8) - 12 * s
    asked = -64 * (x - sin / 4) - 48 * (u - cos / 4) - 12 * (along + sin / 4)
    jerk = asked - cos / 4  # x''' = −θ'(1 + tan²)(g + z'') − tan z'''
    turn = -(jerk + tan * (third + sin / 4)) / ((1 + tan * tan) * (g + up))
    return [u, v, along, up, turn, third]


def turned_psi(t, state):
    _, z, _, v, _, s = state
    return [z - 1 - t.cos() / 4 - t / 8, v + t.sin() / 4 - flint.arb(1) / 8, s]


def quadrotor_rates(t, state):
    """The height alone, which nothing else moves."""
    z, v, s, r = state
    y, w = z - 1 - t.cos() / 4, v + t.sin() / 4
    return [v, s - t.cos() / 4, r, -625 * y - 500 * w - 150 * s - 20 * r]


def quadrotor_psi(t, state):
    z, v, s, r = state
    return [z - 1 - t.cos() / 4, v + t.sin() / 4, s, r]


def largest_defect(certificate, rates, psi, names, count=60):
    """‖Lᵀ(ψ(Φ(x)) − R ψ(x))‖ at states anywhere in Omega, far off the program too."""
    block = certificate["height"]
    ends = dict((name, (low, high)) for name, low, high in block.proof.region)
    shake, h = np.random.default_rng(3), flint.arb(certificate.step)
    law = flint.arb_mat([[flint.arb(x) for x in row] for row in block.matrix])
    power = whole = flint.arb_mat([[flint.arb(i == j) for j in range(len(law.tolist()))] for i in range(law.nrows())])
    for k in range(1, 5):
        power = power * law * (h / k)
        whole = whole + power
    turn = flint.arb_mat([[flint.arb(x) for x in row] for row in block.proof.factor]).transpose()
    worst = 0.0
    for moment in np.linspace(*ends["t"], count):
        t, state = flint.arb(moment), [flint.arb(shake.uniform(*ends[name])) for name in names]

        def moved(share, slope, state=state):
            return [x + share * h * k for x, k in zip(state, slope, strict=True)]

        half = flint.arb(1) / 2
        k1 = rates(t, state)
        k2 = rates(t + h / 2, moved(half, k1))
        k3 = rates(t + h / 2, moved(half, k2))
        k4 = rates(t + h, moved(flint.arb(1), k3))
        total = [(a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(k1, k2, k3, k4, strict=True)]
        after = flint.arb_mat([[x] for x in psi(t + h, moved(flint.arb(1), total))])
        defect = turn * (after - whole * flint.arb_mat([[x] for x in psi(t, state)]))
        size = sum((x[0] * x[0] for x in defect.tolist()), flint.arb(0))
        assert float(size.rad()) < 1e-60
        worst = max(worst, float(size.upper()) ** 0.5)
    return worst


@pytest.fixture
def bits():
    before, flint.ctx.prec = flint.ctx.prec, 300
    yield
    flint.ctx.prec = before


def test_the_bound_of_the_quadrotors_height_is_near_its_largest_defect(bits):
    """2.7e-9 was proved of 4e-15, over cells of the whole state."""
    certificate = hf.certify(example("quadrotor"), constraints=["height"], effort=0.2)
    names = ("z", "z_dot", "set_w2_height", "set_w3_height")
    seen = largest_defect(certificate, quadrotor_rates, quadrotor_psi, names)
    block = certificate["height"]
    assert block.label is hf.Label.proved
    assert seen <= block.proof.coefficient * certificate.step**5 <= 1.2 * seen
    assert block.defect <= WITHIN * seen


def test_a_block_of_degree_3_is_bounded_near_its_exact_steps_wherever_they_begin(turned, bits):
    names = ("x", "z", "x_dot", "z_dot", "th", "set_w2_height")
    seen = largest_defect(turned, turned_rates, turned_psi, names)
    block = turned["height"]
    assert block.label is hf.Label.proved
    assert seen <= block.proof.coefficient * turned.step**5 <= 1.2 * seen


def test_hand_and_product_move_alike(turned, bits):
    """The steps above are of the same equations."""
    equations = hf.derive(hf.loads(TURNED))
    state = [0.1, 1.2, 0.3, -0.2, 0.15, 0.4]
    own = equations.evaluate(state, 0.3)
    by_hand = turned_rates(flint.arb(0.3), [flint.arb(x) for x in state])
    assert own.accelerations == pytest.approx([float(x) for x in by_hand[2:4]], rel=1e-12)
    code = reading(claims(turned.to_dict())).code
    values = dict(zip(code.inputs, map(flint.arb, (0.3, *state)), strict=False))
    values |= {name: flint.arb(value) for name, value in turned.to_dict()["parameters"].items()}
    assert [float(x) for x in code.balls(values)] == pytest.approx([float(x) for x in by_hand], rel=1e-12)


# ── what is not reduced ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("name", "block", "reduced"), [
    ("quadrotor", "height", True),
    ("quadrotor", "across", False),  # its further rates are functions of the state
    ("servo_arm", "path", False),
])  # fmt: skip
def test_a_block_is_reduced_only_where_its_further_deviations_are_states(name, block, reduced):
    equations = example(name)
    (found,) = [one for one in blocks_of(equations, {}) if block in one.constraints]
    assert motion_of(equations, found, {}).affine is reduced


def test_a_program_that_bends_is_not_reduced_though_its_further_deviation_is_a_state():
    bent = hf.derive(hf.loads(TURNED.replace("z - 1 - cos(t)/4 - t/8", "z + z**2/20 - 1 - cos(t)/4")))
    blocks = {one.constraints: one for one in blocks_of(bent, {})}
    assert bent.deviations.own_states
    assert not any(motion_of(bent, block, {}).affine for block in blocks.values())


# ── the verifier ──────────────────────────────────────────────────────────────────────────────────


def test_the_reduced_block_is_confirmed(turned):
    read = reading(claims(turned.to_dict()))
    assert read.equations.affine(["height"])
    assert not read.equations.affine(["across"])
    found = hf.verify(turned)
    assert found.holds, found.findings


def test_a_smaller_coefficient_is_not_confirmed(turned):
    data = turned.to_dict()
    proof = next(block for block in data["blocks"] if block["constraints"] == ["height"])["proof"]
    proof["coefficient"] *= 0.85
    with pytest.raises((Refused, Unconfirmed), match="defect"):
        checked(data)


def test_a_changed_rate_of_an_added_state_is_not_confirmed(turned):
    data = turned.to_dict()
    names = data["code"]["inputs"]
    data["code"]["rates"][names.index("set_w2_height") - 1] = names.index("z_dot")
    with pytest.raises((Refused, Unconfirmed)):
        checked(data)
    run = turned.trajectory
    with pytest.raises(Refused, match="law asks"):
        reading(claims({**data, "digest": digest(data)})).agreement.check([run.times[9], *run.y[:, 9]])


def test_a_changed_rate_between_two_added_states_is_not_confirmed():
    certificate = hf.certify(example("quadrotor"), effort=0.01, duration=0.02)
    data = certificate.to_dict()
    names = data["code"]["inputs"]
    data["code"]["rates"][names.index("set_w2_height") - 1] = names.index("z_dot")
    stated = claims({**data, "digest": digest(data)})
    run = certificate.trajectory
    with pytest.raises(Refused, match="set_w3_height is not w3_height"):
        reading(stated).agreement.check([run.times[3], *run.y[:, 3]])


def bent_code(code):
    """The same motion with s + s³ in the place of the added state s: a curved one, of which no step is linear."""
    names, first = code["inputs"], len(code["inputs"])
    s, place = names.index("set_w2_height"), names.index("set_w2_height") - 1

    def at(k):
        return first + 2 if k == s else k if k < first else k + 3

    def read(op, *args):
        return [op, *(args if op == "const" else map(at, args))]

    new = [["mul", s, s], ["mul", s, first], ["add", s, first + 1], *(read(*line) for line in code["operations"])]
    end = first + len(new)
    new += [["const", "3"], ["mul", end, first], ["const", "1"], ["add", end + 2, end + 1]]
    rates = [at(k) if k != s else first + 2 for k in code["rates"]]
    new += [["div", rates[place], end + 3]]
    rates[place] = end + 4
    return {**code, "operations": new, "rates": rates}


def test_a_state_that_is_not_the_deviation_of_its_name_is_not_confirmed(turned):
    """The law is obeyed and the motion is the problem's, but a step is not the one of the reduced block."""
    data = turned.to_dict()
    data["code"] = bent_code(data["code"])
    with pytest.raises(Refused, match="set_w2_height is not w2_height"):
        reading(claims({**data, "digest": digest(data)})).agreement.check([0.4, 0.1, 1.3, 0.3, -0.1, 0.2, 0.35])


def test_exact_fractions_of_the_law_are_the_claimed_matrix(turned):
    read = reading(claims(turned.to_dict()))
    names = [*turned["height"].names]
    assert read.equations.matrix(names)[-1] == [Fraction(-64), Fraction(-48), Fraction(-12)]
