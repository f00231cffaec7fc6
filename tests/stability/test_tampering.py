"""Certificates changed by hand, of every kind there is: none of them is ever confirmed.

Each lie is a whole one: checksums are made anew, and what follows from a changed number is changed with it where a
liar could do so.
"""

import copy
import json
import re
from hashlib import sha256
from importlib import resources

import pytest

import holdfast as hf
from holdfast.stability.verifier.reading.file import digest
from tests.stability.held import pendulum
from tests.stability.test_bodies_verified import rod
from tests.stability.test_verifier_friction import BENT, SLOPE
from tests.stability.test_verifier_spins import BOB

EXAMPLES = resources.files("holdfast") / "examples"
CELLS = 600  # of a verification of a lie: what is not found out by then is not confirmed either


def example(name):
    return hf.derive(hf.load(str(EXAMPLES / f"{name}.toml")))


def kept():
    x, y = hf.coordinates("x y")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=(x**2 + y**2) / 2)
    program = hf.Program(keep={"kept": hf.keep(x * y.rate - y * x.rate)}, law=hf.critically_damped(5))
    return hf.derive(hf.Problem(system, program, start={x: 1.0, y.rate: 1.2}))


def beside():
    """A pendulum that starts a little off its rod: its deviation dies away, within an envelope from the start on."""
    x, y = hf.coordinates("x y")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=9.81 * y)
    program = hf.Program(holonomic={"rod": (x**2 + y**2 - 1) / 2}, law=hf.critically_damped(5))
    equations = hf.derive(hf.Problem(system, program, start={x: 0.05, y: -0.9989}))
    run = hf.simulate(equations, hf.RK4, step=0.01, duration=1.0, start_policy="keep")
    return hf.certify(equations, hf.RK4, step=0.01, trajectory=run)


KINDS = {
    "region": lambda: hf.certify(hf.derive(pendulum(0.05)), hf.Euler, step=0.01, duration=1, effort=2),
    "tube": lambda: hf.certify(hf.derive(pendulum(0.3)), hf.RK4, step=0.01, duration=0.3, tube=True),
    "kept": lambda: hf.certify(kept(), hf.RK4, step=0.01, duration=0.3, tube=True),
    "degree 3": lambda: hf.certify(example("servo_arm"), effort=0.5, duration=0.4),
    "added states": lambda: hf.certify(example("quadrotor"), duration=0.1, tube=True, effort=1),
    "bodies": lambda: hf.certify(hf.derive(rod()), hf.RK4, step=1e-3, duration=0.2),
    "from the start": beside,
    "quaternions": lambda: hf.certify(hf.derive(hf.loads(BOB)), effort=1),
    "limits": lambda: next(iter(hf.certify_stretches(example("weak_motor")).values())),
    "data": lambda: hf.certify(example("measured_path")),
    "friction": lambda: hf.certify(hf.derive(hf.loads(SLOPE.format(normal=BENT, smooth="0.1"))), effort=0.3),
    "phase": lambda: next(iter(hf.certify_phases(example("slack_rope")).values())),
}
QUICK = ("region", "tube")


def block(data):
    return next(block for block in data["blocks"] if block["label"] in ("proved", "tube"))


def every(data, change):
    """Change each number that a bound follows from, and the bounds."""
    one = block(data)
    for table, names in ((one["proof"], ("coefficient", "rounding", "radius")), (one, ("defect", "epsilon"))):
        for name in names:
            table[name] = change(table[name])
    one["bounds"] = [change(x) for x in one["bounds"]]


def in_tube(data):
    return "tubes" in data and data["tubes"]


def lower_bounds(data):
    block(data)["bounds"] = [x / 2 for x in block(data)["bounds"]]


def all_smaller(data):
    every(data, lambda x: x / 20)


def smaller_gamma(data):
    one = block(data)
    one["gamma"] = one["proof"]["gamma"] = 1 - 2 * (1 - one["gamma"])
    every(data, lambda x: x / 1.5)


def other_norm(data):
    block(data)["proof"]["factor"] = [[x * (2.0 if i else 1.0) for x in row] for i, row in enumerate(factor(data))]


def smaller_norm(data):
    block(data)["proof"]["factor"] = [[x / 2 for x in row] for row in factor(data)]


def larger_norm(data):
    block(data)["proof"]["factor"] = [[x * 30 for x in row] for row in factor(data)]


def factor(data):
    return block(data)["proof"]["factor"]


def wide(data):
    """The region or the tube said to be much wider, in every way."""
    one = block(data)
    if one["label"] == "tube":
        for tube in data["tubes"]:
            tube["width"] *= 300
            for cell in tube["cells"]:
                cell[3] = [300 * x for x in cell[3]]
        return
    one["proof"]["tube"] *= 1e12
    one["proof"]["region"] = [
        [n, a, b] if n == "t" else [n, a - 20 * (b - a) - 2, b + 20 * (b - a) + 2] for n, a, b in one["proof"]["region"]
    ]
    one["proof"]["limits"] = []


def a_cell_less(data):
    data["tubes"][0]["cells"].pop(len(data["tubes"][0]["cells"]) // 2)


def a_cell_twice(data):
    cells = data["tubes"][0]["cells"]
    cells.insert(1, copy.deepcopy(cells[0]))


def cells_that_overlap(data):
    cells = data["tubes"][0]["cells"]
    cells[1][0] = (cells[0][0] + cells[0][1]) / 2


def a_cell_elsewhere(data):
    cell = data["tubes"][0]["cells"][-1]
    cell[2] = [[p[0] + 5 * half, *p[1:]] for p, half in zip(cell[2], cell[3], strict=True)]


def longer_step(data):
    data["step"] *= 2


def shorter_step(data):
    data["step"] /= 2


def other_scheme(data):
    data["scheme"] = "heun" if data["scheme"] != "heun" else "euler"


def other_gain(data):
    name = next(name for name in data["parameters"] if name.startswith("law."))
    data["parameters"][name] *= 1.5


def other_gain_overridden(data):
    other_gain(data)
    data["overrides"] = [next(name for name in data["parameters"] if name.startswith("law."))]


def other_law(data):
    matrix = block(data)["matrix"]
    matrix[-1] = [1.1 * x for x in matrix[-1]]


def other_text(data):
    """Three times the potential in the problem text, another weight or other data: what moves then moves otherwise."""
    text, old = data["problem"], r'potential = "(.*)"'
    if "values = [" in text:
        data["problem"] = text.replace("0.228", "0.229")
        return
    data["problem"] = (
        re.sub(old, r'potential = "3*(\1)"', text) if re.search(old, text) else text.replace("-9.81", "-98")
    )


def other_start(data):
    data["start"] = [x + 0.02 * (1 + abs(x)) for x in data["start"]]


def longer_run(data):
    data["duration"] *= 40


def left(data):
    block(data)["stayed"] = not block(data)["stayed"]


def later(data):
    block(data)["from_step"] = block(data).get("from_step", 0) + 3


def smaller_start(data):
    block(data)["start_size"] = block(data)["start_size"] / 2


def settled(data):
    block(data)["settles"] = not block(data)["settles"]


def other_code(data):
    """The last sum of the code is a difference."""
    operations = data["code"]["operations"]
    place = max(k for k, entry in enumerate(operations) if entry[0] == "add")
    operations[place] = ["sub", *operations[place][1:]]


def fewer_names(data):
    one = block(data)
    for name in ("names", "bounds"):
        one[name] = one[name][:-1]
    one["matrix"] = [row[:-1] for row in one["matrix"][:-1]]
    one["proof"]["factor"] = [row[:-1] for row in factor(data)[:-1]]


NUMBERS = [  # found out by numbers alone
    lower_bounds, smaller_gamma, other_norm, smaller_norm, longer_step, shorter_step, other_gain, other_law,
    settled, fewer_names, later, smaller_start,
]  # fmt: skip
WORK = [
    all_smaller, larger_norm, wide, other_scheme, other_gain_overridden, other_text, other_start, longer_run, left,
    other_code,
]  # fmt: skip
OF_TUBES = [a_cell_less, a_cell_twice, cells_that_overlap, a_cell_elsewhere]
MADE = {}


def certificate(kind):
    if kind not in MADE:
        found = KINDS[kind]()
        assert any(one.proof is not None for one in found.blocks), found.summary()
        MADE[kind] = found.to_dict()
    return copy.deepcopy(MADE[kind])


def told(data, tmp_path, cells=CELLS):
    data["problem_hash"] = sha256(data["problem"].encode()).hexdigest()
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(data | {"digest": digest(data)}))
    return hf.verify(path, cells=cells)


def assert_refused(kind, lie, tmp_path):
    data = certificate(kind)
    one = block(data)
    along = "tables" in data["code"]  # data enter affine blocks, whose defect time alone decides: of any width
    true = {other_norm: len(one["names"]) == 1, smaller_start: not one["settles"], wide: along}.get(lie, False)
    if true or (lie in OF_TUBES and not in_tube(data)):
        pytest.skip("of this kind it is no lie")
    before = json.dumps(data)
    lie(data)
    assert json.dumps(data) != before
    found = told(data, tmp_path)
    assert not found.holds, found.findings


@pytest.mark.parametrize("kind", QUICK)
@pytest.mark.parametrize("lie", [*NUMBERS, *OF_TUBES[:3]], ids=lambda lie: lie.__name__)
def test_a_lie_about_numbers_is_never_confirmed(kind, lie, tmp_path):
    if lie in OF_TUBES and kind != "tube":
        return
    assert_refused(kind, lie, tmp_path)


@pytest.mark.prove
@pytest.mark.parametrize("kind", KINDS)
def test_what_nobody_changed_is_confirmed(kind, tmp_path):
    found = told(certificate(kind), tmp_path, cells=100_000)
    assert found.holds, found.findings


@pytest.mark.prove
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lie", [*NUMBERS, *WORK, *OF_TUBES], ids=lambda lie: lie.__name__)
def test_no_lie_is_ever_confirmed(kind, lie, tmp_path):
    assert_refused(kind, lie, tmp_path)
