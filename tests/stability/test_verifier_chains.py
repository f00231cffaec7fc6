"""Programs above degree 2, re-checked: deviations along the code itself, and codes that ask or push otherwise."""

from dataclasses import replace
from importlib import resources
from types import SimpleNamespace

import numpy as np
import pytest

import holdfast as hf
from holdfast.stability.verifier.check import reading
from holdfast.stability.verifier.numbers.dag import inputs_of, ordered
from holdfast.stability.verifier.numbers.evaluate import double_values
from holdfast.stability.verifier.reading.chains import (
    ChainAgreement,
    ChainEquations,
    ChainLaw,
    _independent,
    chain_equations,
)
from holdfast.stability.verifier.reading.extension import ExtendedAgreement, agreeing, extended
from holdfast.stability.verifier.reading.file import claims, digest
from holdfast.stability.verifier.reading.statement import statement
from holdfast.stability.verifier.refusal import Refused

EXAMPLES = resources.files("holdfast") / "examples"


def equations_of(name):
    return hf.derive(hf.load(str(EXAMPLES / f"{name}.toml")))


@pytest.fixture(scope="module")
def servo():
    return hf.certify(equations_of("servo_arm"), effort=0.5, duration=0.4)


def changed(certificate, change):
    data = certificate.to_dict()
    change(data)
    data["digest"] = digest(data)
    return data


def test_a_program_of_degree_3_is_verified(servo):
    assert servo["path"].label.name == "proved"
    found = hf.verify(servo)
    assert found.holds, found.findings


@pytest.mark.parametrize("name", ["servo_arm", "quadrotor", pytest.param("crane", marks=pytest.mark.prove)])
def test_deviations_along_the_code_are_those_of_the_product(name):
    equations = equations_of(name)
    certificate = hf.certify(equations, effort=0.01, duration=0.02)
    data = certificate.to_dict()
    if data["code"] is None:
        from holdfast.stability.certificate.run_code import run_code

        data["code"] = run_code(equations)
    stated = claims({**data, "digest": digest(data)})
    for block in stated.blocks:  # as if proved: what is read is asked for here
        object.__setattr__(block, "proof", block.proof or SimpleNamespace(region={}))
    read = reading(stated)
    run = certificate.trajectory
    values = dict(zip(read.equations.inputs, (run.times, *run.y), strict=True))
    for name_, node in read.equations.psi.items():
        (own,) = double_values([node], values, len(run.times))
        assert own == pytest.approx(run[name_], rel=1e-6, abs=1e-9 * (1 + np.abs(run[name_]).max())), name_
    assert read.agreement.check([run.times[3], *run.y[:, 3]])


def test_a_law_with_other_gains_is_refused(servo):
    def weaker(data):
        data["parameters"]["law.c0.path"] = 500.0

    found = hf.verify(_saved(changed(servo, weaker)))
    assert not found.holds


def test_a_code_that_asks_otherwise_or_pushes_otherwise_is_refused(servo):
    code = servo.to_dict()["code"]
    names = code["inputs"]
    run = servo.trajectory
    for place, source, words in (
        (0, "i", "not by its rate"),  # th' is the current
        (1, "th_dot", "law asks|reactions and controls"),  # the arm is pushed by nothing there is
        (2, "t", "law asks"),  # another voltage
    ):
        data = servo.to_dict()
        data["code"] = {**code, "rates": [*code["rates"]]}
        data["code"]["rates"][place] = names.index(source)
        read = reading(claims({**data, "digest": digest(data)}))
        with pytest.raises(Refused, match=words):
            read.agreement.check([run.times[200], *run.y[:, 200]])


def _saved(data):
    import json
    import tempfile
    from pathlib import Path

    file = Path(tempfile.mkdtemp()) / "c.json"
    file.write_text(json.dumps(data))
    return file


def test_independent_rows_are_found_and_dependent_ones_are_not():
    assert _independent(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [0.0, 1e-3]])) == [2, 3]
    assert len(_independent(np.array([[1.0, 1.0], [2.0, 2.0]]))) == 1


# ── controls that are reached through added states ───────────────────────────────────────────────

FLYER = """schema = 1
title = "Planar flyer"
[system]
coordinates = ["x", "z", "th"]
kinetic = "(x_dot**2 + z_dot**2)/2 + th_dot**2/40"
potential = "9.81*z"
{forces}
[program.holonomic]
across = "x - sin(t)/4"
height = "z - 1 - cos(t)/4"
[program.controls]
T = {{ x = "-sin(th)", z = "cos(th)" }}
tau = {{ th = "1" }}
[program.law]
kind = "critically-damped"
rate = 5
[run]
scheme = "rk4"
step = 0.002
duration = 0.02
"""


def flying(forces=""):
    """The code's own equations of a flyer, the code against them, and some of its states."""
    equations = hf.derive(hf.loads(FLYER.format(forces=forces)))
    certificate = hf.certify(equations, effort=0.01)
    data = certificate.to_dict()
    if data["code"] is None:
        from holdfast.stability.certificate.run_code import run_code

        data["code"] = run_code(equations)
    stated = claims({**data, "digest": digest(data)})
    words = statement(stated.problem)
    coded = chain_equations(words, ChainLaw(words, stated), stated)
    shake = np.random.default_rng(2)
    points = [[0.3, *state] for state in shake.uniform(-0.4, 0.4, (3, len(coded.inputs) - 1))]
    return coded, ChainAgreement(coded, stated.code, stated.parameters), points


@pytest.fixture(scope="module")
def flyer():
    return flying()


def test_added_states_make_a_system_that_says_what_the_code_does(flyer):
    coded, agreement, points = flyer
    made = extended(coded, points[0])
    assert not made.solved
    matrix, right = made.rows
    assert (len(matrix), len(matrix[0]), len(right)) == (3, 3, 3)
    assert agreeing(agreement, made, points)
    assert inputs_of([made.psi["w2_across"]]) == {"t", "th", "set_w2_height"}  # what a rope or a thrust allows
    assert made.state_rates["set_w2_height"] is coded.dag.input("set_w3_height")
    assert len(ordered([node for row in matrix for node in row])) < len(ordered(coded.state_rates.values()))


def test_a_system_that_says_otherwise_is_refused(flyer):
    coded, agreement, points = flyer
    made, dag = extended(coded, points[0]), coded.dag
    matrix, right = made.rows
    other = {
        "accelerations": {"own_rows": (matrix, [dag.add(right[0], dag.const(1)), *right[1:]])},
        "not the rate": {"psi": {**made.psi, "w2_across": dag.mul(dag.const(2), made.psi["w2_across"])}},
        "depend": {"dependent": (dag.input("th"),)},
        "set_w3_height": {"state_rates": {**made.state_rates, "set_w3_height": dag.zero}},
    }
    for words, change in other.items():
        with pytest.raises(Refused, match=words):
            ExtendedAgreement(agreement, replace(made, **change)).check(points[1])
        assert not agreeing(agreement, replace(made, **change), points)


def test_where_speeds_matter_the_code_itself_is_the_motion():
    """Drag: the second rate of a dependent row depends on speeds, so that the system would be another."""
    coded, agreement, points = flying('[system.forces]\nx = "-x_dot/5"')
    made = extended(coded, points[0])
    assert made is None or not agreeing(agreement, made, points)


def test_an_arm_without_added_states_has_no_such_system(servo):
    read = reading(claims(servo.to_dict()))
    assert type(read.equations) is ChainEquations
