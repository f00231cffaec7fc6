"""Steps in the order of time, re-checked by the verifier's own forms; and lies about them, never confirmed."""

import copy
import json
from functools import cache
from hashlib import sha256
from importlib import resources

import numpy as np
import pytest

import holdfast as hf
from holdfast.stability.verifier.check import reading
from holdfast.stability.verifier.order.check import order_outcomes
from holdfast.stability.verifier.order.steps import StepMaps, largest
from holdfast.stability.verifier.reading.file import claims, digest
from holdfast.stability.verifier.steps.cover import Budget
from tests.stability import test_tampering as tampered

EXAMPLES = resources.files("holdfast") / "examples"

ROD = """schema = 1
[system]
coordinates = ["x", "y"]
kinetic = "(x_dot**2 + y_dot**2)/2"
potential = "g*y"
[program.holonomic]
rod = "(x**2 + y**2 - 1)/2"
[program.law]
kind = "critically-damped"
rate = 5
[start]
x = 1
y = 0
[run]
step = 0.01
duration = 0.1
"""


@cache
def made():
    """A short piece of Kepler's orbit: four integrals, eased."""
    return hf.certify(hf.derive(hf.load(str(EXAMPLES / "kepler.toml"))), duration=0.12).to_dict()


def told(data, tmp_path):
    data["problem_hash"] = sha256(data["problem"].encode()).hexdigest()
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(data | {"digest": digest(data)}))
    return hf.verify(path)


def test_steps_in_the_order_of_time_are_re_checked(tmp_path):
    found = told(copy.deepcopy(made()), tmp_path)
    assert found.words == "re-checked by the verifier: holds"
    assert len(found.findings) == 4
    assert all("in the order of time" in line for line in found.findings)


@pytest.mark.prove
def test_the_whole_of_kepler_is_re_checked():
    certificate = hf.certify(hf.derive(hf.load(str(EXAMPLES / "kepler.toml"))))
    assert hf.verify(certificate).holds


@pytest.mark.prove
def test_steps_of_states_in_boxes_by_an_own_loop_are_as_shown():
    """Kepler's eased motion by hand, in numpy, from corners of boxes: what is left lies within m ± r."""
    read = reading(claims(made()))
    _, shown, _ = order_outcomes(read, Budget(np.inf, 10_000))[0]
    rng, worst = np.random.default_rng(2), 0.0
    for box in range(len(shown.boxes.rows)):
        cell, row = shown.boxes.cells.chosen(np.array([box])), shown.boxes.rows[box]
        s = (cell.low[0, 0] + cell.high[0, 0]) / 2
        corner = rng.choice([-1.0, 1.0], 8)
        state = cell.curves[0] @ s ** np.arange(4) + corner * cell.halves[0]
        left = integrals(stepped(state, 0.01)) - shown.maps.matrices[row] @ integrals(state) - shown.maps.middle[row]
        worst = max(worst, float((np.abs(left) / (shown.maps.radius[row] + 1e-13)).max()))
    assert 0.05 < worst < 1


def integrals(x):
    area, r = x[0] * x[3] - x[1] * x[2], np.hypot(x[0], x[1])
    kept = [(x[2] ** 2 + x[3] ** 2) / 2 - 1 / r, area, x[3] * area - x[0] / r, -x[2] * area - x[1] / r]
    return np.array(kept) - x[4:]


def rates(x):
    px, py, vx, vy = x[:4]
    r = np.hypot(px, py)
    area = px * vy - py * vx
    J = np.array([[vx, vy], [-py, px], [-py * vy, area + px * vy], [-area + py * vx, -px * vx]])
    S = J @ J.T
    mu = np.linalg.solve(S + 0.1 * np.diag(np.diag(S)), -integrals(x))
    return np.array([vx, vy, *(-np.array([px, py]) / r**3 + J.T @ mu), 0, 0, 0, 0])


def stepped(x, h):
    a = rates(x)
    b = rates(x + h / 2 * a)
    c = rates(x + h / 2 * b)
    d = rates(x + h * c)
    return x + h / 6 * (a + 2 * b + 2 * c + d)


def test_the_sum_over_steps_holds_for_every_choice_of_what_steps_add():
    """300 random runs of ψ⁺ = Mψ + d, and the worst of them, which is met."""
    rng = np.random.default_rng(1)
    steps, size = 30, 3
    matrices = np.array([0.9 * np.linalg.qr(rng.normal(size=(size, size)))[0] for _ in range(steps)])
    maps = StepMaps(matrices, rng.normal(size=(steps, size)), rng.uniform(0, 0.1, (steps, size)))
    start = np.array([0.3, 0.0, 0.1])
    bound = largest(maps, start, np.zeros((steps, size)))
    seen = np.abs(start)
    for _ in range(300):
        psi = start * rng.choice([-1, 1], size)
        for M, m, r in zip(matrices, maps.middle, maps.radius, strict=True):
            psi = M @ psi + m + r * rng.choice([-1, 1], size)
            seen = np.maximum(seen, np.abs(psi))
    assert (seen <= bound).all()
    met = np.abs(start)
    for k in range(1, steps + 1):
        for i in range(size):
            row, total = np.eye(size)[i], 0.0
            for j in reversed(range(k)):
                total += np.abs(row) @ maps.radius[j]
                row = row @ matrices[j]
            centre = np.zeros(size)
            for j in range(k):
                centre = matrices[j] @ centre + maps.middle[j]
            met[i] = max(met[i], abs(centre[i]) + total + np.abs(row) @ start)
    assert np.allclose(met, bound, rtol=1e-6)


def proofs(data):
    return [block["proof"] for block in data["blocks"]]


def all_bounds(data, by):
    for block in data["blocks"]:
        block["bounds"] = [x * by for x in block["bounds"]]
        block["proof"]["bounds"] = [x * by for x in block["proof"]["bounds"]]


def smaller_bounds(data):
    all_bounds(data, 0.9)


def much_smaller_bounds(data):
    all_bounds(data, 1e-3)


def smaller_bound_of_a_block(data):
    data["blocks"][2]["bounds"] = [x / 2 for x in data["blocks"][2]["bounds"]]


def smaller_rounding(data):
    for proof in proofs(data):
        proof["rounding"] = [x / 1e3 for x in proof["rounding"]]


def no_start(data):
    for proof in proofs(data):
        proof["start"] = [0.0 for _ in proof["start"]]


def fewer_steps(data):
    for proof in proofs(data):
        proof["steps"] -= 3


def more_steps(data):
    for proof in proofs(data):
        proof["steps"] += 3


def fewer_deviations(data):
    for proof in proofs(data):
        for name in ("names", "start", "bounds", "rounding"):
            proof[name] = proof[name][:1]


def longer(data):
    data["duration"] *= 2
    for proof in proofs(data):
        proof["steps"] *= 2


def another_tube(data):
    for proof in proofs(data):
        proof["tube"] = 1


def called_proved(data):
    for block in data["blocks"]:
        block["label"] = "proved"


def a_contraction(data):
    data["blocks"][0]["gamma"] = 0.5


def a_law(data):
    data["blocks"][0]["matrix"] = [[-1.0]]


def left_tube(data):
    data["blocks"][0]["stayed"] = False


def eased_otherwise(data):
    constants = [entry for entry in data["code"]["operations"] if entry == ["const", "1/10"]]
    assert constants
    constants[0][1] = "1/5"


def swapped_names(data):
    for proof in proofs(data):
        proof["names"] = proof["names"][::-1]


def other_speeds(data):
    data["tubes"][0]["speeds"] = 0.01


QUICK = [fewer_steps, called_proved, no_start, other_speeds, tampered.other_gain, tampered.a_cell_less]  # by numbers
LIES = [
    smaller_bounds, much_smaller_bounds, smaller_bound_of_a_block, smaller_rounding, no_start, fewer_steps, more_steps,
    fewer_deviations, longer, another_tube, called_proved, a_contraction, a_law, left_tube, eased_otherwise,
    swapped_names, other_speeds, tampered.wide, tampered.a_cell_less, tampered.a_cell_twice,
    tampered.cells_that_overlap, tampered.a_cell_elsewhere, tampered.longer_step, tampered.shorter_step,
    tampered.other_scheme, tampered.other_gain, tampered.other_gain_overridden, tampered.other_text,
    tampered.other_start, tampered.longer_run, tampered.left, tampered.later, tampered.settled, tampered.other_code,
]  # fmt: skip


@pytest.mark.parametrize(
    "lie", [lie if lie in QUICK else pytest.param(lie, marks=pytest.mark.prove) for lie in LIES],
    ids=[lie.__name__ for lie in LIES],
)  # fmt: skip
def test_no_lie_about_steps_in_order_is_ever_confirmed(lie, tmp_path):
    data = copy.deepcopy(made())
    before = json.dumps(data)
    lie(data)
    assert json.dumps(data) != before
    found = told(data, tmp_path)
    assert not found.holds, found.findings


def test_a_parameter_that_is_a_state_of_a_tube_has_the_value_of_its_run(tmp_path):
    """Nothing but its own run bounds it there: another value is another problem."""
    text = ROD + "[parameters]\ng = 9.81\n"
    as_state = (ROD + "[system.states]\ng = 0\n").replace("[start]", "[start]\ng = 9.81")
    data = hf.certify(hf.derive(hf.loads(as_state)), duration=0.1, tube=True).to_dict() | {"widened": ["g"]}
    assert told(copy.deepcopy(data), tmp_path).holds
    for value, same in ((9.81, True), (3.0, False)):
        (tmp_path / "problem.toml").write_text(text.replace("9.81", str(value)))
        found = hf.verify(tmp_path / "certificate.json", tmp_path / "problem.toml")
        assert found.holds is same, found.findings
