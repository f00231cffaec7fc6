"""A certificate is re-checked without trusting the search: edited ones are refused, whatever was edited."""

import copy
import json
from dataclasses import replace
from importlib import resources

import pytest
from click.testing import CliRunner

import holdfast as hf
from holdfast.cli import main
from holdfast.stability.certificate import certificate_from, digest
from tests.stability.held import pendulum

EXAMPLES = resources.files("holdfast") / "examples"


@pytest.fixture(scope="module")
def honest():
    """The file of a proof over the small swings of a pendulum, as data."""
    certificate = hf.certify(hf.derive(pendulum(0.05)), hf.Euler, step=0.01, duration=1, effort=2)
    assert certificate.label is hf.Label.proved
    return certificate.to_dict()


@pytest.fixture(scope="module")
def affine():
    return hf.certify(hf.derive(hf.load(str(EXAMPLES / "cart_rod.toml")))).to_dict()


def signed(data):
    """The data with hashes that fit it."""
    from hashlib import sha256

    data["problem_hash"] = sha256(data["problem"].encode()).hexdigest()
    return data | {"digest": digest(data)}


def verified(data, tmp_path):
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(data))
    return hf.verify(path)


def edited(data, path, change):
    """A copy with one place changed: a path of keys, and a function of the old value."""
    data = copy.deepcopy(data)
    *above, last = path
    inner = data
    for key in above:
        inner = inner[key]
    inner[last] = change(inner[last])
    return data


BLOCK = ("blocks", 0)
PROOF = (*BLOCK, "proof")


def shorter(cover):
    words = cover.split()
    return " ".join(words[:-1])


def hollow(cover):
    """Every cell is called empty."""
    return cover.replace("c", "e")


def whole(cover):
    """One cell for all."""
    return "c"


LIES = {
    "gamma is smaller": [((*PROOF, "gamma"), lambda x: x - 0.002), ((*BLOCK, "gamma"), lambda x: x - 0.002)],
    "gamma of the block alone": [((*BLOCK, "gamma"), lambda x: x * 0.99)],
    "gamma is above one": [((*PROOF, "gamma"), lambda x: 1.5), ((*BLOCK, "gamma"), lambda x: 1.5)],
    "the coefficient is smaller": [((*PROOF, "coefficient"), lambda x: x / 2)],
    "the rounding is smaller": [((*PROOF, "rounding"), lambda x: x / 2)],
    "the radius is smaller": [((*PROOF, "radius"), lambda x: x / 2)],
    "the radius is beyond the tube": [((*PROOF, "radius"), lambda x: x * 100)],
    "the tube is wider": [((*PROOF, "tube"), lambda x: x * 30)],
    "the tube is not a number": [((*PROOF, "tube"), lambda x: float("nan"))],
    "the norm is another": [((*PROOF, "factor"), lambda x: [[1.0, 0.0], [0.0, 1e-3]])],
    "the norm is singular": [((*PROOF, "factor"), lambda x: [[1.0, 0.0], [0.0, 0.0]])],
    "the norm is not a matrix": [((*PROOF, "factor"), lambda x: "L")],
    "the cover ends early": [((*PROOF, "cover"), shorter)],
    "the cover has words left": [((*PROOF, "cover"), lambda x: x + " c")],
    "the cover is unreadable": [((*PROOF, "cover"), lambda x: x.replace("c", "z", 1))],
    "cells are called empty": [((*PROOF, "cover"), hollow)],
    "one cell for all": [((*PROOF, "cover"), whole), ((*PROOF, "cells"), lambda x: 1)],
    "rounding cells are called empty": [((*PROOF, "rounding_cover"), hollow)],
    "a wider region": [((*PROOF, "region"), lambda x: [[n, a - 2 * (b - a), b + 2 * (b - a)] for n, a, b in x])],
    "a region elsewhere": [
        ((*PROOF, "region"), lambda x: [[n, a, b] if n == "t" else [n, a + 9, b + 9] for n, a, b in x])
    ],
    "a region without a state": [((*PROOF, "region"), lambda x: x[:-1])],
    "a region without an end": [((*PROOF, "region"), lambda x: [[n, a, float("inf")] for n, a, b in x])],
    "limits of something unknown": [((*PROOF, "limits"), lambda x: [["wind", 0.0, 1.0]])],
    "a smaller bound": [((*BLOCK, "bounds"), lambda x: [x[0] / 2, x[1]])],
    "a smaller rate bound": [((*BLOCK, "bounds"), lambda x: [x[0], x[1] / 2])],
    "a bound left out": [((*BLOCK, "bounds"), lambda x: x[:1])],
    "a smaller epsilon": [((*BLOCK, "epsilon"), lambda x: x / 2)],
    "no epsilon": [((*BLOCK, "epsilon"), lambda x: None)],
    "a smaller defect": [((*BLOCK, "defect"), lambda x: x / 2)],
    "another law": [((*BLOCK, "matrix"), lambda x: [[0.0, 1.0], [-26.0, -10.0]])],
    "other names": [((*BLOCK, "names"), lambda x: ["y_rope", "w_rope"])],
    "another constraint": [((*BLOCK, "constraints"), lambda x: ["rope"])],
    "no proof": [((*PROOF,), lambda x: None)],
    "a longer step": [(("step",), lambda x: 2 * x)],
    "a step that is a text": [(("step",), lambda x: "short")],
    "another scheme": [(("scheme",), lambda x: "rk4")],
    "an adaptive scheme": [(("scheme",), lambda x: "dop853")],
    "an unknown scheme": [(("scheme",), lambda x: "magic")],
    "heavier gravity": [(("parameters", "g"), lambda x: 4 * x)],
    "stiffer gains": [(("parameters", "law.stiffness.rod"), lambda x: 4 * x)],
    "a parameter left out": [(("parameters",), lambda x: {"g": x["g"]})],
    "another potential": [(("problem",), lambda x: x.replace('potential = "', 'potential = "20*x**2 + '))],
    "another constraint function": [(("problem",), lambda x: x.replace("x**2", "3*x**2"))],
    "no problem": [(("problem",), lambda x: "")],
    "a problem that is not one": [(("problem",), lambda x: "schema = 1")],
    "another start": [(("start",), lambda x: [1.0, 0.0, 0.0, 0.0])],
    "more cells than there are": [((*PROOF, "cells"), lambda x: x + 1)],
}


def test_an_honest_certificate_holds(honest, tmp_path):
    found = verified(honest, tmp_path)
    assert found
    assert found.findings[0].startswith("rod: holds")


def test_saving_and_loading_changes_nothing(honest, tmp_path):
    path = tmp_path / "again.json"
    certificate_from(honest).save(path)
    assert json.loads(path.read_text()) == json.loads(json.dumps(honest))


@pytest.mark.parametrize("lie", LIES)
def test_an_edited_certificate_is_refused_even_with_a_fitting_digest(honest, lie, tmp_path):
    data = honest
    for path, change in LIES[lie]:
        data = edited(data, path, change)
    assert data != honest
    found = verified(signed(data), tmp_path)
    assert not found
    assert found.findings


@pytest.mark.parametrize("lie", LIES)
def test_an_edited_certificate_is_called_altered(honest, lie, tmp_path):
    data = honest
    for path, change in LIES[lie]:
        data = edited(data, path, change)
    found = verified(data, tmp_path)
    assert not found
    assert "altered" in found.findings[0]


@pytest.mark.parametrize(
    ("place", "change"),
    [("rounding", lambda x: x / 4), ("radius", lambda x: x / 4), ("coefficient", lambda x: -1.0)],
)
def test_an_edited_affine_certificate_is_refused(affine, place, change, tmp_path):
    found = verified(signed(edited(affine, (*PROOF, place), change)), tmp_path)
    assert not found


def test_whether_the_start_deviates_is_checked_again(honest, tmp_path):
    """Bounds of a run that starts off the program are for what remains of that, and must say so."""
    assert not honest["blocks"][0]["settles"]
    assert not verified(signed(edited(honest, (*BLOCK, "settles"), lambda x: True)), tmp_path)
    off = replace(pendulum(0.05), start={"x": 0.05, "y": -1.001}, run=hf.Run(start_policy="keep"))
    settling = hf.certify(hf.derive(off), hf.Euler, step=0.01, duration=1, effort=1).to_dict()
    assert settling["blocks"][0]["settles"]
    assert verified(settling, tmp_path)
    found = verified(signed(edited(settling, (*BLOCK, "settles"), lambda x: False)), tmp_path)
    assert not found
    assert "whether the start deviates" in found.findings[0]


def test_what_is_no_certificate_is_refused(tmp_path):
    path = tmp_path / "c.json"
    for text in ("", "[]", "{}", '{"schema": 7}', "\x00"):
        path.write_text(text)
        assert not hf.verify(path)
    found = hf.verify(tmp_path / "missing.json")
    assert not found
    assert found.findings == (f"there is no file {tmp_path / 'missing.json'}",)


def test_names_that_are_no_texts_are_refused(honest, tmp_path):
    assert not verified(signed(edited(honest, (*BLOCK, "constraints"), lambda x: [None])), tmp_path)


def test_constraints_that_are_left_out_are_named(tmp_path):
    """Whoever drops the block that was refused must not be left with a certificate that holds, and no word more."""
    certificate = hf.certify(hf.derive(hf.load(str(EXAMPLES / "cart_rod.toml")))).to_dict()
    left_out = certificate["blocks"].pop()["constraints"]
    found = verified(signed(certificate), tmp_path)
    assert any(name in line for name in left_out for line in found.findings)


def test_a_certificate_that_proves_nothing_does_not_hold():
    certificate = hf.certify(hf.derive(pendulum(0.2)), hf.SymplecticEuler, step=0.01, duration=1)
    assert not hf.verify(certificate)


# ── typed ─────────────────────────────────────────────────────────────────────────────────────────


def invoke(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_certify_writes_what_verify_accepts(tmp_path):
    cart, target = EXAMPLES / "cart_rod.toml", tmp_path / "c.json"
    result = invoke("certify", cart, "-o", target)
    assert result.exit_code == 0
    assert "proved while in Omega" in result.output
    assert invoke("verify", target).exit_code == 0
    told = json.loads(invoke("verify", target, "--json").output)
    assert told["holds"] is True
    data = json.loads(target.read_text())
    data["blocks"][0]["bounds"][0] /= 2
    target.write_text(json.dumps(signed(data)))
    result = invoke("verify", target)
    assert result.exit_code == 1
    assert "does not hold" in result.output


def test_certify_says_no_with_its_exit_code(tmp_path):
    text = (EXAMPLES / "cart_rod.toml").read_text().replace("damping = { home = 0.3", "damping = { home = -0.3")
    path = tmp_path / "cart.toml"
    path.write_text(text)
    result = invoke("certify", path)
    assert result.exit_code == 1
    assert "refused" in result.output
    assert invoke("certify", path, "-o", tmp_path / "c.txt").exit_code == 2
    assert invoke("certify", tmp_path / "none.toml").exit_code == 2
    assert invoke("verify", tmp_path / "none.json").exit_code == 2


def test_certify_prints_json():
    result = invoke("certify", EXAMPLES / "rlc.toml", "--json")
    assert result.exit_code == 0
    assert json.loads(result.output)["blocks"] == []


def test_tune_prints_draws_and_writes(tmp_path):
    picture, problem = tmp_path / "map.png", tmp_path / "tuned.toml"
    result = invoke("tune", EXAMPLES / "pendulum.toml", "--duration", 2, "-o", picture, "--write", problem)
    assert result.exit_code == 0, result.output
    assert "no gains" in result.output
    assert picture.stat().st_size > 10_000
    assert isinstance(hf.load(problem).program.law, hf.SpringDamper)
    data = json.loads(invoke("tune", EXAMPLES / "pendulum.toml", "--duration", 2, "--json").output)
    assert data["this_law"]["deviation"] < data["no_gains"]["deviation"]
    assert invoke("tune", EXAMPLES / "pendulum.toml", "-o", tmp_path / "map.txt").exit_code == 2
    assert invoke("tune", EXAMPLES / "rlc.toml").exit_code == 2


def test_a_certificate_without_a_proof_has_nothing_to_verify(tmp_path):
    certificate = hf.certify(hf.derive(pendulum(0.05)), hf.Euler, step=0.01, duration=0.1, effort=1e-9)
    assert certificate.label is not hf.Label.proved
    found = hf.verify(certificate)
    assert not found
    assert found.findings == ("nothing in it is proved, so there is nothing to verify",)
    certificate.save(tmp_path / "c.json")
    told = CliRunner().invoke(main, ["verify", str(tmp_path / "c.json")])
    assert told.exit_code == 1
    assert "there is nothing to verify" in told.output
    assert "does not hold" not in told.output
