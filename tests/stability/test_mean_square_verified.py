"""Mean squares re-checked by the verifier's own derivation; and lies about them, none of which is ever confirmed."""

import copy
import json
from fractions import Fraction
from functools import cache
from hashlib import sha256
from importlib import resources

import pytest

import holdfast as hf
from holdfast.schemes.by_name import scheme_named
from holdfast.stability.verifier.check import reading
from holdfast.stability.verifier.noise.step import StepReader
from holdfast.stability.verifier.reading.file import claims, digest

EXAMPLES = resources.files("holdfast") / "examples"
PAIR = """schema = 1
[system]
coordinates = ["x", "z"]
kinetic = "m*x_dot**2/2 + x_dot*z_dot/4 + z_dot**2"
potential = "3*x*z"
[system.noise]
wind = { x = "m/3", z = "0.1*x" }
gust = { z = "z - 1/7 + z_dot/5" }
[parameters]
m = 0.7
[program.holonomic]
a = "x + z"
b = "z - 1/8"
[program.controls]
F = { x = "1" }
G = { z = "2", x = "1/2" }
[program.law]
kind = "spring-damper"
stiffness = [[4, 1], [0.5, 3]]
damping = 3
[start]
x = -0.125
z = 0.125
[run]
step = 0.0078125
duration = 5
"""
HELD = """schema = 1
[system]
coordinates = ["x"]
kinetic = "x_dot**2/2"
[system.noise]
wind = { x = 0.3 }
[program.holonomic]
a = "x - 1/4"
[program.law]
kind = "spring-damper"
stiffness = 4
damping = 3
[start]
x = 0.25
[run]
step = 0.01
duration = 5
"""


@cache
def made(name, scheme=None):
    text = {"pair": PAIR, "held": HELD}.get(name)
    problem = hf.loads(text) if text else hf.load(str(EXAMPLES / f"{name}.toml"))
    return hf.certify(hf.derive(problem), scheme)


CASES = [("gusts", "euler"), ("pair", None), ("held", None)]


def gusts():
    return copy.deepcopy(made("gusts").to_dict())


def told(data, tmp_path):
    data["problem_hash"] = sha256(data["problem"].encode()).hexdigest()
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(data | {"digest": digest(data)}))
    return hf.verify(path)


@pytest.mark.parametrize(
    ("name", "scheme"), [("gusts", None), *(pytest.param(*case, marks=pytest.mark.prove) for case in CASES)]
)
def test_what_is_proved_in_the_mean_square_is_re_checked(name, scheme, tmp_path):
    found = told(made(name, scheme).to_dict(), tmp_path)
    assert found.holds, found.findings
    assert found.words == "re-checked by the verifier: holds"
    assert all("in the mean square" in line for line in found.findings)


def test_the_step_of_gusts_is_the_one_worked_out_by_hand():
    stated = claims(gusts())
    read = reading(stated)
    step = StepReader(
        read.equations, stated.code, stated.parameters, stated.blocks[0].names, "semi-implicit", stated.step
    ).step()
    h, calm, gain = Fraction(0.01), Fraction(0.2), Fraction(1.5)
    assert step.matrix == [[1 - 4 * h * h, h * (1 - 3 * h)], [-4 * h, 1 - 3 * h]]
    assert step.additive == [[h * calm, calm], [0, 0]]
    assert step.multiplicative == [[[0, 0], [0, 0]], [[h * gain, 0], [gain, 0]]]


def proof(data):
    return data["blocks"][0]["mean_square"]


def multiplied(value, by):
    return [multiplied(part, by) for part in value] if isinstance(value, list) else value * by


def scaled(name, by):
    def lie(data):
        value = proof(data)[name]
        proof(data)[name] = multiplied(value, by)

    lie.__name__ = f"{name}_times_{by}"
    return lie


def replaced(old, new):
    def lie(data):
        assert old in data["problem"]
        data["problem"] = data["problem"].replace(old, new)

    lie.__name__ = f"{old}_to_{new}"
    return lie


def set_to(value, *path):
    def lie(data):
        inner = data
        for key in path[:-1]:
            inner = inner[key]
        assert inner[path[-1]] != value
        inner[path[-1]] = value

    lie.__name__ = "_".join(map(str, path))
    return lie


def with_bounds(by):
    """S smaller with the bounds that follow from it: a whole lie."""

    def lie(data):
        scaled("second_moment", by)(data)
        scaled("bounds", by**0.5)(data)

    lie.__name__ = f"second_moment_and_bounds_times_{by}"
    return lie


def smaller_gamma(data):
    proof(data)["gamma"] = 1 - 1.3 * (1 - proof(data)["gamma"])


def larger_noise_in_text_and_code(data):
    """Noise and code changed together: the inequalities alone find it out."""
    replaced("calm*m", "2*calm*m")(data)
    code = data["code"]
    place = len(code["inputs"]) + len(code["operations"])
    code["operations"] += [["const", "2"], ["mul", place, code["noise"][0][0]]]
    code["noise"][0][0] = place + 1


def other_rates(data):
    data["code"]["rates"].reverse()


def no_noise_in_code(data):
    data["code"]["noise"][0] = data["code"]["noise"][1]


def without_columns(data):
    del data["code"]["noise"]


def longer_code(data):
    """More rounding than what is run here has: the same value by two operations more."""
    code = data["code"]
    place = len(code["inputs"]) + len(code["operations"])
    code["operations"] += [["const", "1/3"], ["const", "3"], ["mul", place, place + 1]]
    code["operations"] += [["mul", place + 2, code["rates"][1]]]
    code["rates"][1] = place + 3


def a_sure_bound(data):
    data["blocks"][0]["bounds"] = [1.0, 1.0]


def asymmetric(data):
    proof(data)["second_moment"][1][0] /= 2


def start_elsewhere(data):
    data["start"] = [x + 0.5 for x in data["start"]]


LIES = [
    scaled("second_moment", 0.999), scaled("second_moment", 1.01), with_bounds(0.99), with_bounds(1e-6), smaller_gamma,
    scaled("bounds", 0.999), scaled("rounding", 1e-3), scaled("rounding", 1e6), scaled("start_size", 0.9),
    scaled("factor", 1.5), scaled("share", 1e9), scaled("share", 1e-6),
    set_to("euler-maruyama", "blocks", 0, "mean_square", "scheme"), set_to("euler", "scheme"),
    set_to(1.0, "blocks", 0, "mean_square", "gamma"),
    set_to(True, "blocks", 0, "mean_square", "projected"), set_to(0.02, "step"), set_to(0.1, "step"),
    set_to("heun-maruyama", "blocks", 0, "mean_square", "scheme"), set_to(["law.damping.home_kept"], "overrides"),
    set_to(-3.5, "blocks", 0, "matrix", 1, 1), set_to(0.3, "parameters", "calm"), set_to(1.0, "blocks", 0, "gamma"),
    replaced("calm*m", "2*calm*m"), replaced("gain*m*", "1.1*gain*m*"), replaced("calm = 0.2", "calm = 0.3"),
    replaced("wind = {", "storm = { x = 5 }\nwind = {"), replaced("[system.noise]", "[system.noises]"),
    replaced("damping = 3", "damping = 2"), replaced("x - home", "x - 2*home"), replaced("m*x_dot**2/2", "m*x_dot**2"),
    larger_noise_in_text_and_code, other_rates, no_noise_in_code, without_columns, longer_code, a_sure_bound,
    asymmetric, start_elsewhere,
]  # fmt: skip


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
def test_no_lie_about_an_average_is_ever_confirmed(lie, tmp_path):
    data = gusts()
    before = json.dumps(data)
    lie(data)
    assert json.dumps(data) != before
    found = told(data, tmp_path)
    assert not found.holds, found.findings


@pytest.mark.parametrize("scheme", ["symplectic-euler", "implicit-midpoint", "radau5"])
def test_an_average_does_not_ask_for_a_tableau(scheme):
    """Any other scheme than Euler's stands for the usual paths; it was said not to be an explicit tableau."""
    found = hf.verify(made("gusts", scheme_named(scheme)))
    assert found.holds, found.findings


def test_another_scheme_that_is_called_euler_has_no_average():
    """It was proved for other paths than Euler's and Maruyama's, and called false by the verifier for its name."""
    other = hf.RungeKutta(name="euler", order=2, stages=((), (Fraction(1, 2),)), weights=(Fraction(0), Fraction(1)))
    (block,) = made("gusts", other).blocks
    assert block.label is hf.Label.refused
    assert "another scheme here than the one of that name" in block.reason


def test_noise_that_differs_makes_another_problem(tmp_path):
    made("gusts").save(tmp_path / "gusts.json")
    text = (EXAMPLES / "gusts.toml").read_text("utf-8")
    (tmp_path / "same.toml").write_text(text)
    (tmp_path / "other.toml").write_text(text.replace("m*gain*", "m*gain*2*"))
    assert hf.verify(tmp_path / "gusts.json", tmp_path / "same.toml").holds
    found = hf.verify(tmp_path / "gusts.json", tmp_path / "other.toml")
    assert not found.holds
    assert "noise gust" in found.findings[0]


def test_a_sure_proof_of_a_problem_with_noise_is_refused(tmp_path):
    quiet = HELD.replace("[system.noise]\nwind = { x = 0.3 }\n", "")
    data = hf.certify(hf.derive(hf.loads(quiet)), effort=1).to_dict()
    assert data["blocks"][0]["proof"] is not None
    data["problem"] = data["problem"].replace(
        "[program.holonomic]", "[system.noise]\nwind = { x = 0.3 }\n\n[program.holonomic]"
    )
    found = told(data, tmp_path)
    assert not found.holds
    assert "the problem has noise" in found.findings[0]
