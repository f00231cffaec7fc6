"""Programs above degree 2, re-checked: deviations along the code itself, and codes that ask or push otherwise."""

from importlib import resources

import numpy as np
import pytest

import holdfast as hf
from holdfast.stability.verifier.check import reading
from holdfast.stability.verifier.numbers.evaluate import double_values
from holdfast.stability.verifier.reading.chains import _independent
from holdfast.stability.verifier.reading.file import claims, digest
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
        from holdfast.stability.promise.run_code import run_code

        data["code"] = run_code(equations)
    stated = claims({**data, "digest": digest(data)})
    for block in stated.blocks:  # as if proved: what is read is asked for here
        object.__setattr__(block, "proof", block.proof or object())
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
