"""Limits of controls as the verifier reads them: the code without them, that none is reached, and lies about both."""

import copy
import json
from fractions import Fraction
from functools import cache
from hashlib import sha256
from importlib import resources

import numpy as np
import pytest

import holdfast as hf
from holdfast.stability.verifier.check import reading
from holdfast.stability.verifier.reading.code import Code, Rounded
from holdfast.stability.verifier.reading.file import claims, digest
from holdfast.stability.verifier.reading.limits import Cut, free_code
from holdfast.stability.verifier.refusal import Unconfirmed
from tests.stability.test_tube_limits import ARM, arm

EXAMPLES = resources.files("holdfast") / "examples"


@cache
def limited(limit="[-6, 20]"):
    return hf.certify(arm(limit), effort=0.3, duration=0.3)


def test_a_tube_that_reaches_no_limit_is_confirmed():
    assert limited().label is hf.Label.tube
    found = hf.verify(limited(), hf.loads(ARM.format(limit="[-6, 20]")))
    assert found.holds, found.findings
    assert "limit of" in str(hf.verify(limited(), hf.loads(ARM.format(limit="[-6, 21]"))).findings)


@pytest.mark.prove
def test_the_stretches_of_the_weak_motor_are_confirmed():
    equations = hf.derive(hf.load(str(EXAMPLES / "weak_motor.toml")))
    found = {when: hf.verify(certificate) for when, certificate in hf.certify_stretches(equations).items()}
    assert len(found) == 3
    assert all(one.holds for one in found.values()), found


def test_the_code_without_its_limits_is_what_these_cut_off():
    code = Code(
        ("t", "x", "k"),
        (("mul", 1, 1), ("min", 2, 3), ("neg", 2), ("max", 5, 4), ("add", 6, 4)),
        (6, 7),
    )  # fmt: skip
    free, cuts = free_code(code, 2)
    assert free.rates == (3, 7)
    assert free.operations == (("mul", 1, 1), ("const", 0), ("neg", 2), ("const", 0), ("add", 3, 3))
    assert cuts == (Cut(True, 3, 2), Cut(False, 3, 5))
    with pytest.raises(Unconfirmed, match="no limit"):
        free_code(Code(("t", "x", "k"), (("min", 0, 1),), (3,)), 2)


def test_a_control_is_inside_where_its_doubles_are():
    from holdfast.stability.verifier.numbers.forms import Form, space

    flat = space((1,), 1, 1)

    def between(low, high, error):
        return Rounded(Form.constant(flat, np.array([(low + high) / 2]), (high - low) / 2), np.array([error]))

    limit = between(1.0, 1.0, 0.0)
    cut = Cut(True, 0, 1)
    assert cut.inside({0: between(0.5, 0.9, 0.05), 1: limit}).all()
    assert not cut.inside({0: between(0.5, 0.9, 0.2), 1: limit}).any()
    assert not cut.inside({0: between(0.5, 1.0, 0.0), 1: limit}).any()
    assert Cut(False, 0, 1).inside({0: between(1.2, 1.5, 0.1), 1: limit}).all()


# ── lies ──────────────────────────────────────────────────────────────────────────────────────────


def operations(body, old, new):
    body["code"]["operations"] = [[new if x == old else x for x in entry] for entry in body["code"]["operations"]]


def smaller_in_the_text(body):
    """Just below what the control is at most: 1.6916."""
    body["problem"] = body["problem"].replace("20", "1.6915")


def smaller_in_both(body):
    smaller_in_the_text(body)
    operations(body, "20", "3383/2000")


def larger_in_the_code(body):
    operations(body, "20", "30")


def none_in_the_code(body):
    code = body["code"]
    free, _ = free_code(reading(claims(limited().to_dict())).claims.code, 3)
    code["operations"] = [
        [op, *(str(x) if isinstance(x, Fraction) else x for x in args)] for op, *args in free.operations
    ]
    code["rates"] = list(free.rates)


def none_in_the_text(body):
    body["problem"] = body["problem"].replace("[program.limits]", "[definitions]")


def of_something_else(body):
    """What is cut off is another place than the control."""
    entries = body["code"]["operations"]
    place = next(k for k, entry in enumerate(entries) if entry[0] in ("min", "max"))
    known = len(body["code"]["inputs"]) + place
    entries[place] = [entries[place][0], *(1 if k == known - 2 else k for k in entries[place][1:])]


LIES = [smaller_in_the_text, smaller_in_both, larger_in_the_code, none_in_the_code, none_in_the_text, of_something_else]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
def test_no_lie_about_limits_is_confirmed(lie, tmp_path):
    body = copy.deepcopy(limited().to_dict())
    before = json.dumps(body)
    lie(body)
    assert json.dumps(body) != before
    body["problem_hash"] = sha256(body["problem"].encode()).hexdigest()
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(body | {"digest": digest(body)}))
    found = hf.verify(path, cells=2000)
    assert not found.holds, found.findings
