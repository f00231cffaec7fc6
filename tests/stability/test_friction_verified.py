"""Friction through reversals, in systems of many kinds and units: proofs are confirmed, and lies about them are not."""

import copy
import json
from functools import cache
from hashlib import sha256
from itertools import product

import pytest

import holdfast as hf
from holdfast.stability.verifier.reading.file import digest
from holdfast.stability.verifier.tube.space import box_space
from tests.stability import test_tampering as tampered

SYSTEMS = {
    "track in millimetres": """schema = 1
[system]
coordinates = ["x", "y"]
kinetic = "m*(x_dot**2 + y_dot**2)/2"
potential = "m*g*y"
[system.forces]
x = "-mu*sqrt(lambda_track**2 + N0**2)*x_dot/sqrt(x_dot**2 + v0**2)"
[parameters]
m = 0.002
g = 9.81
mu = 0.2
N0 = 1e-4
v0 = 1e-3
a = 0.01
[program.holonomic]
track = "y - a*cos(x/a)/4"
[program.law]
kind = "critically-damped"
rate = 50
[start]
x = 0.003
x_dot = 0.3
[run]
scheme = "rk4"
step = 0.0002
duration = 0.2
start_policy = "project"
""",
    "incline with a rail": """schema = 1
[system]
coordinates = ["x", "y", "z"]
kinetic = "m*(x_dot**2 + y_dot**2 + z_dot**2)/2"
potential = "m*g*z"
[system.forces]
x = "-mu*N*x_dot/sqrt(x_dot**2 + v0**2)"
[definitions]
N = "sqrt(lambda_floor**2 + N0**2)"
[parameters]
m = 2
g = 9.81
mu = 0.2
N0 = 0.05
v0 = 0.002
[program.holonomic]
floor = "z - 0.4*x"
rail = "y - 0.1*sin(2*x)"
[program.law]
kind = "critically-damped"
rate = 15
[start]
x_dot = 1.5
[run]
scheme = "rk4"
step = 0.001
duration = 1
start_policy = "project"
""",
    "pin of a pendulum": """schema = 1
[system]
coordinates = ["x", "y"]
kinetic = "m*(x_dot**2 + y_dot**2)/2"
potential = "m*g*y"
[system.forces]
x = "mu*rho/l*N*w/sqrt(w**2 + w0**2)*y/l"
y = "-mu*rho/l*N*w/sqrt(w**2 + w0**2)*x/l"
[definitions]
N = "sqrt((lambda_rod*l)**2 + N0**2)"
w = "(x*y_dot - y*x_dot)/l**2"
[parameters]
m = 1
g = 9.81
l = 0.7
mu = 0.5
rho = 0.1
N0 = 0.01
w0 = 0.005
[program.holonomic]
rod = "(x**2 + y**2 - l**2)/2"
[program.law]
kind = "critically-damped"
rate = 12
[start]
x = 0.6
y = "-sqrt(l**2 - 0.36)"
[run]
scheme = "rk4"
step = 0.002
duration = 2
start_policy = "project"
""",
    "bead on a hoop": """schema = 1
[system]
coordinates = ["x", "y"]
kinetic = "(x_dot**2 + y_dot**2)/2"
potential = "9.81*y"
[system.forces]
x = "-mu*N*x_dot/speed"
y = "-mu*N*y_dot/speed"
[definitions]
N = "sqrt((lambda_hoop*R)**2 + 0.02**2)"
speed = "sqrt(x_dot**2 + y_dot**2 + 0.002**2)"
[parameters]
mu = 0.15
R = 0.5
[program.holonomic]
hoop = "(x**2 + y**2 - R**2)/2"
[program.law]
kind = "critically-damped"
rate = 20
[start]
x = 0.5
y = 0
y_dot = -1
[run]
scheme = "rk4"
step = 0.001
duration = 1.2
start_policy = "project"
""",
    "crank in mm and g": """schema = 1
[system]
coordinates = ["phi", "x", "y"]
kinetic = "J*phi_dot**2/2 + m*(x_dot**2 + y_dot**2)/2"
potential = "m*g*y"
[system.forces]
x = "-mu*N*x_dot/sqrt(x_dot**2 + v0**2)"
[definitions]
N = "sqrt(lambda_slide**2 + N0**2)"
[parameters]
J = 30000
m = 25
g = 9810
r = 40
l = 130
mu = 0.15
N0 = 50
v0 = 1
[program.holonomic]
rod = "((x - r*cos(phi))**2 + (y - r*sin(phi))**2 - l**2)/2"
slide = "y"
[program.law]
kind = "critically-damped"
rate = 30
[start]
phi = 0.5
x = "r*cos(0.5) + sqrt(l**2 - (r*sin(0.5))**2)"
phi_dot = 20
[run]
scheme = "rk4"
step = 0.0005
duration = 0.8
start_policy = "project"
""",
    "two sliders": """schema = 1
[system]
coordinates = ["x", "y", "u", "v"]
kinetic = "m*(x_dot**2 + y_dot**2)/2 + k*(u_dot**2 + v_dot**2)/2"
potential = "g*(m*y + k*v)"
[system.forces]
x = "-mu*sqrt(lambda_flat**2 + N0**2)*x_dot/sqrt(x_dot**2 + v0**2)"
v = "-mu*sqrt(lambda_wall**2 + N0**2)*v_dot/sqrt(v_dot**2 + v0**2)"
[parameters]
m = 1
k = 0.5
g = 9.81
l = 1
mu = 0.1
N0 = 0.05
v0 = 0.001
[program.holonomic]
flat = "y"
wall = "u"
rod = "((x - u)**2 + (y - v)**2 - l**2)/2"
[program.law]
kind = "critically-damped"
rate = 10
[start]
x = 0.3
v = "sqrt(1 - 0.09)"
x_dot = -0.3
[run]
scheme = "rk4"
step = 0.001
duration = 0.6
start_policy = "project"
""",
    "collar on a parabola": """schema = 1
[system]
coordinates = ["x", "y"]
kinetic = "(x_dot**2 + y_dot**2)/2"
potential = "9.81*y"
[system.forces]
x = "-0.2*N*x_dot/speed"
y = "-0.2*N*y_dot/speed"
[definitions]
N = "sqrt(lambda_wire**2*(1 + x**2) + 0.01)"
speed = "sqrt(x_dot**2 + y_dot**2 + 0.000004)"
[program.holonomic]
wire = "y - x**2/2"
[program.law]
kind = "critically-damped"
rate = 10
[start]
x = 0.8
y = 0.32
[run]
scheme = "rk4"
step = 0.001
duration = 2
start_policy = "project"
""",
    "large crank": """schema = 1
[system]
coordinates = ["phi", "x", "y"]
kinetic = "J*phi_dot**2/2 + m*(x_dot**2 + y_dot**2)/2"
potential = "m*g*y"
[system.forces]
x = "-mu*N*x_dot/sqrt(x_dot**2 + v0**2)"
[definitions]
N = "sqrt(lambda_slide**2 + N0**2)"
[parameters]
J = 900
m = 60
g = 9.81
r = 1.2
l = 4
mu = 0.3
N0 = 1
v0 = 0.01
[program.holonomic]
rod = "((x - r*cos(phi))**2 + (y - r*sin(phi))**2 - l**2)/2"
slide = "y - 0.2"
[program.law]
kind = "critically-damped"
rate = 8
[start]
phi = 0.3
x = 5.1
y = 0.2
phi_dot = 3
[run]
scheme = "rk4"
step = 0.004
duration = 3
start_policy = "project"
""",
    "bead on a helix": """schema = 1
[system]
coordinates = ["x", "y", "z"]
kinetic = "(x_dot**2 + y_dot**2 + z_dot**2)/2"
potential = "9.81*z"
[system.forces]
x = "-mu*N*x_dot/speed"
y = "-mu*N*y_dot/speed"
z = "-mu*N*z_dot/speed"
[definitions]
N = "sqrt(lambda_a**2 + lambda_b**2 + 0.01)"
speed = "sqrt(x_dot**2 + y_dot**2 + z_dot**2 + 0.00001)"
[parameters]
mu = 0.1
[program.holonomic]
a = "x - cos(z)"
b = "y - sin(z)"
[program.law]
kind = "critically-damped"
rate = 10
[start]
x = 1
y = 0
z = 0
z_dot = 2
[run]
scheme = "rk4"
step = 0.001
duration = 1
start_policy = "project"
""",
    "driven plate": """schema = 1
[system]
coordinates = ["x", "y"]
kinetic = "m*(x_dot**2 + y_dot**2)/2"
potential = "m*g*y + c*x**2/2"
[system.forces]
x = "-mu*sqrt(lambda_plate**2 + N0**2)*slip/sqrt(slip**2 + v0**2)"
[definitions]
slip = "x_dot - 0.3*cos(4*t)"
[parameters]
m = 0.5
g = 9.81
c = 20
mu = 0.3
N0 = 0.02
v0 = 0.002
[program.holonomic]
plate = "y - 0.05*x**2 - 0.01*sin(5*t)"
[program.law]
kind = "critically-damped"
rate = 15
[start]
x = 0.1
[run]
scheme = "rk4"
step = 0.001
duration = 1.5
start_policy = "project"
""",
    "affine friction": """schema = 1
[system]
coordinates = ["x", "y"]
kinetic = "(x_dot**2 + y_dot**2)/2"
potential = "9.81*y"
[system.forces]
x = "-0.2*N*x_dot/speed"
y = "-0.2*N*y_dot/speed"
[definitions]
N = "lambda_wire*sqrt(1 + x**2)"
speed = "sqrt(x_dot**2 + y_dot**2 + 0.000004)"
[program.holonomic]
wire = "y - x**2/2"
[program.law]
kind = "critically-damped"
rate = 10
[start]
x = 0.8
y = 0.32
[run]
scheme = "rk4"
step = 0.001
duration = 2
start_policy = "project"
""",
}
QUICK = "affine friction"


def slow(*case):
    return pytest.param(*case, marks=pytest.mark.prove)


@cache
def made(name):
    found = hf.certify(hf.derive(hf.loads(SYSTEMS[name])))
    assert all("in the order of time" in block.reason for block in found.blocks)
    return found.to_dict()


def told(data, tmp_path):
    data["problem_hash"] = sha256(data["problem"].encode()).hexdigest()
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(data | {"digest": digest(data)}))
    return hf.verify(path)


@pytest.mark.parametrize("name", [name if name == QUICK else slow(name) for name in SYSTEMS])
def test_friction_through_reversals_is_confirmed(name, tmp_path):
    found = told(copy.deepcopy(made(name)), tmp_path)
    assert found.holds, found.findings


def test_symbols_follow_the_directions_of_a_box():
    space = box_space(3, 4)
    places = space.exponents[space.first_symbol : space.first_symbol + 4]
    assert all(sum(e[3:]) == 1 and not any(e[:3]) for e in places)


# ── lies ──────────────────────────────────────────────────────────────────────────────────────────


def proofs(data):
    return [block["proof"] for block in data["blocks"]]


def bounds_by(data, share):
    for table in (*data["blocks"], *proofs(data)):
        table["bounds"] = [x * share for x in table["bounds"]]


def smaller_bounds(data):
    bounds_by(data, 0.85)


def much_smaller_bounds(data):
    bounds_by(data, 1e-3)


def smaller_rounding(data):
    for proof in proofs(data):
        proof["rounding"] = [x / 1e3 for x in proof["rounding"]]


def more_friction(data):
    old = next(old for old in ("mu = 0.2\n", "mu = 0.15\n") if old in data["problem"])
    data["problem"] = data["problem"].replace(old, f"mu = {1.05 * data['parameters']['mu']!r}\n")
    data["parameters"]["mu"] *= 1.05


def friction_the_other_way(data):
    data["problem"] = data["problem"].replace('"-mu*', '"mu*')


def narrower_tube(data):
    for tube in data["tubes"]:
        tube["width"] /= 1e6
        for cell in tube["cells"]:
            cell[3] = [x / 1e6 for x in cell[3]]


def fewer_steps(data):
    for proof in proofs(data):
        proof["steps"] -= 3


LIES = [
    smaller_bounds, much_smaller_bounds, smaller_rounding, more_friction, friction_the_other_way, narrower_tube,
    fewer_steps, tampered.wide, tampered.a_cell_less, tampered.a_cell_elsewhere, tampered.other_gain,
    tampered.other_start,
]  # fmt: skip
LIED_ABOUT = ("track in millimetres", "incline with a rail", "crank in mm and g")


@pytest.mark.parametrize(
    ("lie", "name"),
    [(fewer_steps, QUICK), (tampered.a_cell_less, QUICK), *(slow(*case) for case in product(LIES, LIED_ABOUT))],
)
def test_no_lie_about_friction_through_reversals_is_confirmed(lie, name, tmp_path):
    data = copy.deepcopy(made(name))
    before = json.dumps(data)
    lie(data)
    assert json.dumps(data) != before
    found = told(data, tmp_path)
    assert not found.holds, found.findings
