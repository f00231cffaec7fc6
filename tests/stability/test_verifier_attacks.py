"""What an attack on the re-checking of data, limits and quaternions found, each with the smallest input for it."""

import copy
import json
from functools import cache
from hashlib import sha256

import pytest

import holdfast as hf
from holdfast.stability.verifier.reading.file import digest
from tests.stability.held import pendulum

FUEL = """schema = 1
[system]
coordinates = ["x", "y", "z"]
kinetic = "(x_dot**2 + y_dot**2 + z_dot**2)/2"
potential = "9.81*y"
[system.states]
fuel = "-F/10"
[system.forces]
z = "-fuel*z"
[program]
reactions = ["rod"]
[program.holonomic]
rod = "(x**2 + y**2 + z**2 - 1)/2"
swing = "x - 0.3*sin(2*t)"
[program.controls]
F = { x = "1" }
[program.law]
kind = "critically-damped"
rate = 12
[start]
y = -1
z = 0.2
fuel = 1
[run]
scheme = "rk4"
step = 0.002
duration = 0.02
start_policy = "project"
"""


@cache
def made(kind):
    if kind == "fuel":
        return hf.certify(hf.derive(hf.loads(FUEL)), effort=0.1).to_dict()
    return hf.certify(hf.derive(pendulum(0.3)), hf.RK4, step=0.01, duration=0.03, tube=True).to_dict()


def told(data, tmp_path, cells=600):
    data["problem_hash"] = sha256(data["problem"].encode()).hexdigest()
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(data | {"digest": digest(data)}))
    return hf.verify(path, cells=cells)


def test_a_state_that_a_control_drives_is_not_followed_and_said_so(tmp_path):
    """Its rates of rates of rates were asked for until the memory was full."""
    found = told(copy.deepcopy(made("fuel")), tmp_path)
    assert not found.contradicts
    assert found.doubts == ("rod: a state that the control F drives moves its deviations, which is not re-checked",)
    assert any(line.startswith("swing: holds") for line in found.findings)


def test_the_rate_of_a_state_that_a_control_drives_is_compared_with_the_code(tmp_path):
    """It was not looked at: the code could move such a state in any way."""
    data = copy.deepcopy(made("fuel"))
    assert data["code"]["inputs"][7] == "fuel"
    data["code"]["rates"][6] = 1  # x
    found = told(data, tmp_path)
    assert "swing: does not hold: the code moves the state fuel otherwise" in found.findings


def test_code_that_computes_the_same_by_other_operations_is_not_what_is_run(tmp_path):
    """Its rounding was bounded in the place of that of the run."""
    data = copy.deepcopy(made("tube"))
    assert told(copy.deepcopy(data), tmp_path).holds
    operations = data["code"]["operations"]
    place = next(k for k, entry in enumerate(operations) if entry[0] == "mul" and entry[1] != entry[2])
    operations[place] = ["mul", operations[place][2], operations[place][1]]
    found = told(data, tmp_path)
    assert found.unconfirmed
    assert found.doubts == ("rod: the operations that are run here are others than it lists",)


PLACES = [("width",), ("scales", "x"), ("cells", 0, 1), ("cells", 0, 2, 0, 1), ("cells", 0, 3, 1)]


@pytest.mark.parametrize("place", PLACES, ids=str)
@pytest.mark.parametrize("value", [10**400, -(10**400), True, "1", None, [0]], ids=lambda value: str(value)[:6])
def test_what_is_no_number_in_a_tube_is_refused(place, value, tmp_path):
    data = copy.deepcopy(made("tube"))
    table = data["tubes"][0]
    for key in place[:-1]:
        table = table[key]
    table[place[-1]] = value
    found = told(data, tmp_path)
    assert not found.holds
    assert "a tube holds what is no number" in found.findings[0]


def test_a_defect_of_nothing_is_not_confirmed(tmp_path):
    data = copy.deepcopy(made("tube"))
    data["blocks"][0]["proof"]["coefficient"] = 0
    assert told(data, tmp_path).unconfirmed  # warnings are errors here
