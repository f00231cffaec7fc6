"""Forces that use their own reactions, as the verifier encloses them: reactions, what Newton leaves, and lies."""

import copy
import json
from functools import cache
from hashlib import sha256
from importlib import resources

import flint
import numpy as np
import pytest

import holdfast as hf
from holdfast.equations.solving import friction as product
from holdfast.graph.arithmetics.balls import precision
from holdfast.stability.certificate.run_code import run_code
from holdfast.stability.proof.step_series import coefficient
from holdfast.stability.verifier.check import reading
from holdfast.stability.verifier.reading.file import _code, claims, digest
from holdfast.stability.verifier.reading.statement import statement
from holdfast.stability.verifier.refusal import Refused, Unconfirmed
from holdfast.stability.verifier.rounding.adjoint import AdjointRounding
from holdfast.stability.verifier.steps.rounding import Agreement
from holdfast.stability.verifier.tube.cells import TubeCells
from holdfast.stability.verifier.tube.step import TubeStep
from tests.stability.tube_truth import Truth, random_state

EXAMPLES = resources.files("holdfast") / "examples"
SLOPE = """schema = 1
[system]
coordinates = ["x", "y"]
kinetic = "(x_dot**2 + y_dot**2)/2"
potential = "9.81*y"
[system.forces]
x = "-mu*N*x_dot/sqrt(x_dot**2 + 1/4)"
[definitions]
N = "{normal}"
[parameters]
mu = 0.2
N0 = {smooth}
[program.holonomic]
track = "y + sin(x)/2"
[program.law]
kind = "critically-damped"
rate = 10
[start]
x_dot = 2
[run]
scheme = "rk4"
step = 0.005
duration = 0.02
"""
BENT, AFFINE = "sqrt(lambda_track**2 + N0**2)", "lambda_track + N0"


@cache
def certificate(normal=BENT, smooth="0.1"):
    found = hf.certify(hf.derive(hf.loads(SLOPE.format(normal=normal, smooth=smooth))), effort=0.3)
    assert found.label is hf.Label.tube
    return found.to_dict()


def told(data, tmp_path, cells=600):
    data["problem_hash"] = sha256(data["problem"].encode()).hexdigest()
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(data | {"digest": digest(data)}))
    return hf.verify(path, cells=cells)


@pytest.mark.prove
@pytest.mark.parametrize("normal", [AFFINE, BENT], ids=["affine", "bent"])
def test_friction_by_its_own_reaction_is_confirmed(normal, tmp_path):
    found = told(copy.deepcopy(certificate(normal)), tmp_path)
    assert found.holds, found.findings


@pytest.mark.prove
def test_the_stretches_of_the_slider_crank_are_confirmed():
    equations = hf.derive(hf.load(str(EXAMPLES / "slide_with_friction.toml")))
    run = hf.simulate(equations, duration=0.4, every=1)
    for stretch in hf.certify_stretches(equations, trajectory=run, effort=2).values():
        found = hf.verify(stretch)
        assert found.holds, found.findings


TWO = """schema = 1
[system]
coordinates = ["x", "y", "z"]
kinetic = "(x_dot**2 + y_dot**2 + z_dot**2)/2"
potential = "9.81*z"
[system.forces]
x = "-0.1*(sqrt(lambda_a**2 + 0.01) + sqrt(lambda_b**2 + 0.02))*x_dot/sqrt(x_dot**2 + 1/4)"
[program.holonomic]
a = "y + sin(x)/2"
b = "z - cos(x)/3 + x*y/5"
[program.law]
kind = "critically-damped"
rate = 10
[start]
x_dot = 2
[run]
scheme = "rk4"
step = 0.005
duration = 0.02
start_policy = "project"
"""


@pytest.mark.prove
def test_two_reactions_that_rub_together_are_confirmed():
    """Without friction one of them is twice what it is with it: bends over the whole way there are seen in parts."""
    found = hf.verify(hf.certify(hf.derive(hf.loads(TWO)), effort=1))
    assert found.holds, found.findings


# ── enclosures ────────────────────────────────────────────────────────────────────────────────────


def cell_of(data, place):
    tube = data["tubes"][0]
    t0, t1, curves, halves = tube["cells"][place]
    names = list(tube["scales"])
    return names, TubeCells.whole(names, np.array([[t0, t1]]), np.array([curves]), np.array([halves]))


def value_at(form, names, space, e):
    """The polynomial of a form at a place of its cell, and how far from it the form reaches."""
    total = 0.0
    for a in range(4):
        for b in range(4 - a):
            total += form.c[0, space.long(a, b), 0] * e["t"] ** a * e["step"] ** b
    for k, name in enumerate(names):
        for more, place in ((1, space.across(k)), (e["t"], space.across(k, 0)), (e["step"], space.across(k, 1))):
            total += form.c[0, place, 0] * e[name] * more
    for k, (i, j) in enumerate(space.squares):
        total += form.c[0, space.square(k), 0] * e[names[i]] * e[names[j]]
    return total, np.abs(form.c[0, space.first_symbol :, 0]).sum() + form.r[0, 0]


@pytest.mark.parametrize("normal", [BENT, AFFINE], ids=["bent", "affine"])
def test_coefficients_of_steps_with_friction_are_enclosed(normal):
    """Against steps in 300 bits, by the product's own elimination and Newton's steps."""
    data, rng = certificate(normal), np.random.default_rng(4)
    made = reading(claims(data))
    step = TubeStep(made.equations, [data["blocks"][0]["names"]], made.tableau, data["step"])
    names, cells = cell_of(data, 5)
    forms = step.coefficients(cells)
    equations, raw = hf.derive(hf.loads(data["problem"])), data["tubes"][0]["cells"][5]
    with precision(300, 8):
        truth = Truth(equations, hf.RK4)
        for _ in range(5):
            t, x = random_state(rng, raw)
            place = rng.random()
            s = (t - raw[0]) / (raw[1] - raw[0])
            curve = np.array([np.polyval(p[::-1], s) for p in raw[2]])
            e = dict(zip(names, (x - curve) / np.array(raw[3]), strict=True)) | {"t": 2 * s - 1, "step": 2 * place - 1}
            series = truth.after(t, x, flint.arb_series([flint.arb(place * data["step"]), 1]))
            for form, exact in zip(forms, series, strict=True):
                middle, reach = value_at(form, step.used, step.space, e)
                true = float(coefficient(exact, 5).mid())
                assert abs(true - middle) <= reach
                assert reach < 0.3 * abs(true)


def test_what_newtons_steps_leave_is_bounded_where_they_come_near_at_once():
    """With hardly any smoothing the reaction of a wide cell may be at the bend, from where nothing is known of them."""
    for smooth, near in (("0.1", True), ("1e-6", False)):
        data = certificate(smooth=smooth)
        made = reading(claims(data))
        block = data["blocks"][0]
        model = AdjointRounding(
            made.equations, made.code, [block["names"]], made.tableau, data["step"],
            [np.array(block["proof"]["factor"])], data["parameters"], 1e-15,
        )  # fmt: skip
        names, cells = cell_of(data, 5)
        wide = TubeCells.whole(names, cells.spans, cells.curves, cells.halves * (1 if near else 2e4))
        values = wide.values(model.space, model.used)
        model.motion.begin_step()
        with np.errstate(all="ignore"):
            unknowns = model.motion.both(model.space, 1, values)[1]
            left = model.motion.left(model.space, 1, values, unknowns)
        assert set(left) == {0, 1, 2}
        assert all((0 <= off[0] < 1e-50) if near else off[0] == np.inf for off in left.values())


# ── lies ──────────────────────────────────────────────────────────────────────────────────────────


def fewer_steps_of_newton(data, monkeypatch):
    monkeypatch.setattr(product, "STEPS", 3)
    data["code"] = run_code(hf.derive(hf.loads(data["problem"])))
    monkeypatch.undo()


def other_friction(data, _):
    data["problem"] = data["problem"].replace("mu = 0.2", "mu = 0.21")
    data["parameters"]["mu"] = 0.21


def friction_the_other_way(data, _):
    data["problem"] = data["problem"].replace('"-mu*', '"mu*')


def none(data, _):
    data["problem"] = data["problem"].replace(BENT, "N0")


def overridden(data, _):
    data["parameters"]["mu"], data["overrides"] = 0.1, ["mu"]


def smaller_defect(data, _):
    """Below what a step of its run adds: 0.9 of what is stated."""
    data["blocks"][0]["proof"]["coefficient"] *= 0.85


def smaller_rounding(data, _):
    data["blocks"][0]["proof"]["rounding"] /= 50


LIES = [fewer_steps_of_newton, other_friction, friction_the_other_way, none, overridden, smaller_defect,
        smaller_rounding]  # fmt: skip


@pytest.mark.prove
@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
def test_no_lie_about_friction_is_confirmed(lie, tmp_path, monkeypatch):
    data = copy.deepcopy(certificate())
    before = json.dumps(data)
    lie(data, monkeypatch)
    assert json.dumps(data) != before
    found = told(data, tmp_path, cells=150)
    assert not found.holds, found.findings


def test_code_with_other_steps_of_newton_is_another(monkeypatch):
    data = certificate()
    made = reading(claims(data))
    state = [data["begin"], *data["start"]]
    Agreement(made.equations, made.code, data["parameters"]).check(state)
    other = copy.deepcopy(data)
    fewer_steps_of_newton(other, monkeypatch)
    with pytest.raises(Refused, match="another acceleration"):
        Agreement(made.equations, _code(other["code"], "code"), data["parameters"]).check(state)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("y + sin(x)/2", "y + sin(x)/2 + lambda_track", "elsewhere than in forces"),
        ("9.81*y", "9.81*y + N", "elsewhere than in forces"),
        ("mu*N*x_dot", "mu*ddt(N)", "the rate of a reaction"),
        ("lambda_track**2", "lambda_floor**2", "lambda_floor"),
    ],
)
def test_reactions_are_read_in_forces_alone(old, new, why):
    text = SLOPE.format(normal=BENT, smooth="0.1").replace(old, new)
    data = copy.deepcopy(certificate()) | {"problem": text, "problem_hash": sha256(text.encode()).hexdigest()}
    with pytest.raises(Unconfirmed, match=why):
        reading(claims(data | {"digest": digest(data)}))


def test_reactions_of_what_controls_hold_are_no_forces():
    text = SLOPE.format(normal=BENT, smooth="0.1")
    with pytest.raises(Refused, match="lambda_track"):
        statement(text.replace("[program.law]", "[program.controls]\nF = { y = 1 }\n[program.law]"))
