"""A certificate is re-checked by somebody else: whatever was edited is refused, by its own reason."""

import ast
import contextlib
import copy
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from importlib import import_module, resources
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp
from click.testing import CliRunner

import holdfast as hf
from holdfast.cli.main import main
from holdfast.problem.file.load_dump import dumps
from holdfast.problem.file.read import TOP_KEYS
from holdfast.stability.certificate.attack import RANDOM, Attack, NativeRun
from holdfast.stability.certificate.certificate import certificate_from, digest
from holdfast.stability.certificate.verify import Verification
from holdfast.stability.verifier.check import POINTS, _agree, _limits, check_block, reading
from holdfast.stability.verifier.reading.file import claims
from holdfast.stability.verifier.reading.statement import ASIDE, READ, statement
from holdfast.stability.verifier.refusal import Refused
from holdfast.stability.verifier.steps.cover import Budget
from tests.stability.held import pendulum

EXAMPLES = resources.files("holdfast") / "examples"
LONGER = (  # all other shipped examples of which something is proved: 1 to 60 s on two cores
    "portfolio", "pendulum", "mixed_holders", "servo_arm", "hanging_chain", "bead_on_hoop", "bertrand", "skate",
    "quadrotor", "four_bar", "crane", "ur5", "excavator",
)  # fmt: skip


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
CODE = ("code", "operations")


def first(op, change):
    """Change the first operation of a kind in the code that is run."""

    def changed(operations):
        place = next(k for k, entry in enumerate(operations) if entry[0] == op)
        return [*operations[:place], change(operations[place]), *operations[place + 1 :]]

    return changed


def named(name, change):
    """Change the range of one name."""
    return lambda rows: [[n, *change(a, b)] if n == name else [n, a, b] for n, a, b in rows]


def both(*changes):
    return list(changes)


BOTH_GAMMAS = ((*PROOF, "gamma"), (*BLOCK, "gamma"))

LIES = {  # what is changed (a path of keys, and a function of the old value), and the words it is refused with
    # the contraction and the numbers that follow from it
    "gamma is smaller": ([(path, lambda x: x - 0.002) for path in BOTH_GAMMAS], "does not contract as stated"),
    "gamma of the block alone": ([((*BLOCK, "gamma"), lambda x: x * 0.99)], "not the one of the proof"),
    "gamma is above one": ([(path, lambda x: 1.5) for path in BOTH_GAMMAS], "not the one of the proof, or none"),
    "gamma is negative": ([(path, lambda x: -x) for path in BOTH_GAMMAS], "gamma is negative"),
    "gamma is zero": ([(path, lambda x: 0.0) for path in BOTH_GAMMAS], "gamma is not positive"),
    "gamma is left out": ([((*BLOCK, "gamma"), lambda x: None)], "not the one of the proof"),
    "the radius is smaller": ([((*PROOF, "radius"), lambda x: x / 2)], "radius is smaller than the defect allows"),
    "the radius is beyond the tube": ([((*PROOF, "radius"), lambda x: x * 100)], "radius is beyond the tube"),
    "the tube is narrower": ([((*PROOF, "tube"), lambda x: x / 100)], "radius is beyond the tube"),
    "the tube is zero": ([((*PROOF, "tube"), lambda x: 0)], "tube is not positive"),
    "the tube is true": ([((*PROOF, "tube"), lambda x: True)], "tube is no finite number"),
    "a smaller epsilon": ([((*BLOCK, "epsilon"), lambda x: x / 2)], "epsilon is smaller than what was shown"),
    "no epsilon": ([((*BLOCK, "epsilon"), lambda x: None)], "epsilon is smaller than what was shown"),
    "a smaller defect": ([((*BLOCK, "defect"), lambda x: x / 2)], "the defect is smaller than shown"),
    "no defect": ([((*BLOCK, "defect"), lambda x: None)], "the defect is smaller than shown"),
    "a smaller bound": ([((*BLOCK, "bounds"), lambda x: [x[0] / 2, x[1]])], "bound of y_rod is smaller"),
    "a smaller rate bound": ([((*BLOCK, "bounds"), lambda x: [x[0], x[1] / 2])], "bound of w_rod is smaller"),
    "a negative bound": ([((*BLOCK, "bounds"), lambda x: [-1e-3, x[1]])], "bounds is negative"),
    "an endless bound": ([((*BLOCK, "bounds"), lambda x: [1.8e250, x[1]])], "too large to be a bound"),
    "a bound left out": ([((*BLOCK, "bounds"), lambda x: x[:1])], "not one bound for each deviation"),
    "the start called deviating": ([((*BLOCK, "settles"), lambda x: True)], "misstates whether the start"),
    # the norm
    "the norm is another": ([((*PROOF, "factor"), lambda x: [[1.0, 0.0], [0.0, 1e-3]])], "does not contract"),
    "the norm is singular": ([((*PROOF, "factor"), lambda x: [[1.0, 0.0], [0.0, 0.0]])], "norm is singular"),
    "the norm is not a matrix": ([((*PROOF, "factor"), lambda x: "L")], "factor is no list"),
    "the norm is of three": ([((*PROOF, "factor"), lambda x: [[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1]])], "another size"),
    "the norm is not square": ([((*PROOF, "factor"), lambda x: [[1.0, 0, 0], [0, 1.0, 0]])], "no square matrix"),
    # what one step adds
    "the coefficient is smaller": (
        both(((*PROOF, "coefficient"), lambda x: x / 4)), "the defect is larger than stated"
    ),
    "the coefficient is negative": ([((*PROOF, "coefficient"), lambda x: -1.0)], "coefficient is negative"),
    "the rounding is smaller": ([((*PROOF, "rounding"), lambda x: x / 400)], "the rounding is not confirmed"),
    "the rounding is negative": ([((*PROOF, "rounding"), lambda x: -x)], "rounding is negative"),
    # the region
    "a wider region": (
        [((*PROOF, "region"), lambda x: [[n, a, b] if n == "t" else [n, a - 3, b + 3] for n, a, b in x]),
         ((*PROOF, "limits"), lambda x: [["energy", -100.0, 100.0]])],
        "the defect is larger than stated",
    ),
    "a region elsewhere": (
        [((*PROOF, "region"), lambda x: [[n, a, b] if n == "t" else [n, a + 9, b + 9] for n, a, b in x])],
        "no state of its region lies near the program",
    ),
    "a region without a state": ([((*PROOF, "region"), lambda x: x[:-1])], "does not bound time and the whole state"),
    "a region with a state too many": ([((*PROOF, "region"), lambda x: [*x, ["q", 0, 1]])], "does not bound time and"),
    "a region that names x twice": ([((*PROOF, "region"), lambda x: [["x", -50.0, 50.0], *x])], "names 'x' twice"),
    "a region that ends early": ([((*PROOF, "region"), named("x", lambda a, b: (b, a)))], "ends below its beginning"),
    "limits of something unknown": ([((*PROOF, "limits"), lambda x: [["wind", 0.0, 1.0]])], "bounds 'wind'"),
    "limits of the own deviation": ([((*PROOF, "limits"), lambda x: [["y_rod", 0.0, 0.0]])], "bounds 'y_rod'"),
    "limits twice": ([((*PROOF, "limits"), lambda x: [*x, *x])], "names 'energy' twice"),
    # the law, the block
    "another law": ([((*BLOCK, "matrix"), lambda x: [[0.0, 1.0], [-26.0, -10.0]])], "law is not the one of the"),
    "other names": ([((*BLOCK, "names"), lambda x: ["y_rope", "w_rope"])], "not those of its constraints"),
    "names turned round": ([((*BLOCK, "names"), lambda x: x[::-1])], "law is not the one of the"),
    "another constraint": ([((*BLOCK, "constraints"), lambda x: ["rope"])], "has no constraint 'rope'"),
    "no constraint": ([((*BLOCK, "constraints"), lambda x: [])], "a block is of no constraint"),
    "a constraint that is no text": ([((*BLOCK, "constraints"), lambda x: [None])], "constraints is no name"),
    "a constraint twice": ([((*BLOCK, "constraints"), lambda x: ["rod", "rod"])], "names something twice"),
    "no proof": ([((*PROOF,), lambda x: None)], "called proved but holds no proof"),
    "a proof under another label": ([((*BLOCK, "label"), lambda x: "checked"), ((*BLOCK,), lambda x: x | {
        "reason": "", "observed": [], "slack": None})], "holds a proof but is not called proved"),
    "an unknown label": ([((*BLOCK, "label"), lambda x: "certain")], "lacks the field"),
    "a second block of the rod": ([(("blocks",), lambda x: [*x, *x])], "spoken of by more than one block"),
    "an earlier block of the rod": (
        [(("blocks",), lambda x: [{**x[0], "label": "checked", "proof": None, "bounds": [1e-300] * 2, "reason": "",
                                   "observed": [], "slack": None}, *x])],
        "spoken of by more than one block",
    ),
    "a reason of its own": ([((*BLOCK,), lambda x: x | {"reason": "For all time."})], "unknown field 'reason'"),
    "observed of its own": ([((*BLOCK,), lambda x: x | {"observed": [0.0, 0.0]})], "unknown field 'observed'"),
    # the run
    "a longer step": ([(("step",), lambda x: 2 * x)], "radius is smaller than the defect allows"),
    "a step that is a text": ([(("step",), lambda x: "short")], "step is no finite number"),
    "a negative step": ([(("step",), lambda x: -x)], "step is negative"),
    "no step": ([(("step",), lambda x: None)], "there is no step"),
    "another scheme": ([(("scheme",), lambda x: "rk4")], "the defect is larger than stated"),
    "an adaptive scheme": ([(("scheme",), lambda x: "dop853")], "'dop853' is not an explicit tableau"),
    "an unknown scheme": ([(("scheme",), lambda x: "magic")], "'magic' is not an explicit tableau"),
    "another start": ([(("start",), lambda x: [1.0, 0.0, 0.0, 0.0])], "misstates whether its run stays"),
    "a start elsewhere": ([(("start",), lambda x: [1.0, 0.5, 0.0, 0.0])], "misstates whether the start"),
    "no start": ([(("start",), lambda x: [])], "the start is not a state"),
    "a run too long": ([(("duration",), lambda x: 5.0)], "misstates whether its run stays"),
    "a run of part of a step": ([(("duration",), lambda x: 0.555 * 0.01)], "ends at another time"),
    "a run that left": ([((*BLOCK, "stayed"), lambda x: False)], "misstates whether its run stays"),
    "a run from another time": ([(("begin",), lambda x: 0.5)], "starts elsewhere"),
    # the problem and its numbers
    "heavier gravity": ([(("parameters", "g"), lambda x: 4 * x)], "g = 39.24 is not the problem's 9.81"),
    "stiffer gains": ([(("parameters", "law.stiffness.rod"), lambda x: 4 * x)], "law.stiffness.rod = 100 is not"),
    "heavier gravity, overridden": (
        [(("parameters", "g"), lambda x: 40 * x), (("overrides",), lambda x: ["g"])], "no state of its region"
    ),
    "a needless override": ([(("overrides",), lambda x: ["g"])], "overrides g, whose value is the problem's own"),
    "an override of nothing": ([(("overrides",), lambda x: ["wind"])], "overrides a parameter that the problem"),
    "a parameter left out": ([(("parameters",), lambda x: {"g": x["g"]})], "parameters are not those of the problem"),
    "a parameter too many": ([(("parameters",), lambda x: x | {"m": 1.0})], "parameters are not those of the problem"),
    "another potential": (
        [(("problem",), lambda x: x.replace('potential = "', 'potential = "20*x**2 + '))], "defect is larger"
    ),
    "another constraint function": ([(("problem",), lambda x: x.replace("x**2", "3*x**2"))], "misstates whether"),
    "another kinetic energy": ([(("problem",), lambda x: x.replace('kinetic = "', 'kinetic = "x_dot**2 + '))],
                               "gives x another acceleration than the problem"),
    "no problem": ([(("problem",), lambda x: "")], "holds no problem text"),
    "a problem that is not one": ([(("problem",), lambda x: "schema = 1")], "are not names"),
    "a problem that is no TOML": ([(("problem",), lambda x: "schema = ")], "not TOML"),
    "a name twice in the problem": ([(("problem",), lambda x: x.replace('["x", "y"]', '["x", "x"]'))], "are not names"),
    # the code that is run
    "no code": ([(("code",), lambda x: None)], "code that is run is not in it"),
    "code that adds otherwise": ([(CODE, first("add", lambda e: ["sub", *e[1:]]))],
                                 "does not ask of 'rod' what the law asks"),
    "code that leaves a row out": ([(("code", "rates"), lambda x: [*x[:-1], x[-2]])],
                                   "does not ask of 'rod' what the law asks"),
    "code that runs ahead": ([(CODE, first("mul", lambda e: ["mul", 9999, 0]))], "uses what is not computed yet"),
    "code of another kind": ([(CODE, first("mul", lambda e: ["fma", *e[1:]]))], "unknown operation 'fma'"),
    "code with an empty operation": ([(CODE, lambda x: [[], *x])], "holds what is no operation"),
    "code with an operation too long": ([(CODE, lambda x: [["mul", 0, 0, 0, 0], *x])], "holds what is no operation"),
    "code that branches": (
        [(CODE, lambda x: [*x, ["select", 1, 2, 3]])], "branches where the problem does not"
    ),
    "code without its last rate": ([(("code", "rates"), lambda x: x[:-1])], "a rate for each state"),
    "code whose rate is just beyond its end": (
        [(("code",), lambda x: x | {"rates": [*x["rates"][:-1], len(x["inputs"]) + len(x["operations"])]})],
        "the code ends before it gives its rates",
    ),
    "code of another state": ([(("code", "inputs"), lambda x: ["t", "y", "x", *x[3:]])], "code is of another state"),
    # the file
    "schema 1": ([(("schema",), lambda x: 1)], "schema 1, not 2: certify again"),
    "schema 7": ([(("schema",), lambda x: 7)], "use the version that wrote it"),
    "a title that is no text": ([(("title",), lambda x: ["Good"])], "title is no text"),
    "a title of its own": ([(("title",), lambda x: "Proved for all time")], "title is not the one of the problem"),
}  # fmt: skip


def test_an_honest_certificate_holds(honest, tmp_path):
    found = verified(honest, tmp_path)
    assert found, found.findings
    assert found.findings[0].startswith("rod: holds")


def test_a_run_that_begins_later_is_made_again_from_there(tmp_path):
    later = replace(pendulum(0.05), run=hf.Run(begin=2.5))
    found = verified(hf.certify(hf.derive(later), hf.Euler, step=0.01, duration=1, effort=2).to_dict(), tmp_path)
    assert found, found.findings


def test_code_may_branch_where_the_problem_does(tmp_path):
    """|y + 3| bends far from the region: the code has the branch too, and the proof holds."""
    plain = pendulum(0.05)
    y = plain.system.coordinates[1]
    bent = replace(plain, system=replace(plain.system, potential=plain.system.potential + sp.Abs(y + 3)))
    certificate = hf.certify(hf.derive(bent), hf.Euler, step=0.01, duration=1, effort=2)
    data = certificate.to_dict()
    assert certificate.label is hf.Label.proved
    assert {"abs", "sign"} & {operation[0] for operation in data["code"]["operations"]}
    found = verified(data, tmp_path)
    assert found, found.findings


def test_code_that_moves_a_further_state_otherwise_is_refused(tmp_path):
    """m' = −m/5 in the problem, −1/5 in the code: the deviations do not depend on it, and their proof would hold."""
    x, m = hf.coordinates("x"), hf.states("m")
    system = hf.System(coordinates=(x,), kinetic=(2 + m) * x.rate**2 / 2, potential=3 * x, states={m: -m / 5})
    path = {"path": x - sp.cos(hf.time) / 3}
    program = hf.Program(holonomic=path, law=hf.SpringDamper(stiffness=25, damping=10))
    problem = hf.Problem(system, program, start={x: sp.Rational(1, 3), m: 1})
    data = hf.certify(hf.derive(problem), hf.Euler, step=0.01, duration=1, effort=2).to_dict()
    assert verified(data, tmp_path)
    code = data["code"]
    fifth = len(code["inputs"]) + code["operations"].index(["const", "-1/5"])
    found = verified(signed(edited(data, ("code", "rates"), lambda rates: [*rates[:2], fifth])), tmp_path)
    assert not found
    assert "the code moves the state m otherwise" in found.findings[0]


def test_what_the_verifier_cannot_read_is_not_called_false(honest, tmp_path):
    """A text may hold what only the product knows; "does not hold" was said of it."""
    data = signed(edited(honest, ("problem",), lambda text: text.replace("[system]", '[system]\ncolour = "red"')))
    found = verified(data, tmp_path)
    assert not found
    assert found.unconfirmed
    assert found.verdict == "not re-checked"
    assert found.words == "proved; not re-checked here: [system] holds colour, which is not known here"


def test_the_words_name_what_is_contradicted_and_not_what_comes_first():
    findings = ("a: not verified within the budget", "b: does not hold: the norm is singular")
    found = Verification(False, findings, doubts=findings)
    assert found.words == "contradicted by the verifier: b: does not hold: the norm is singular"


def test_a_problem_file_that_cannot_be_read_says_nothing_of_the_certificate(honest, tmp_path):
    (tmp_path / "c.json").write_text(json.dumps(honest))
    (tmp_path / "p.toml").write_text("no toml [")
    shown = invoke("verify", tmp_path / "c.json", tmp_path / "p.toml")
    assert shown.exit_code == 2
    assert "not TOML" in shown.output
    assert "does not hold" not in shown.output


def test_a_certificate_of_another_problem_is_not_said_to_be_false(honest, tmp_path):
    (tmp_path / "c.json").write_text(json.dumps(honest))
    (tmp_path / "p.toml").write_text(honest["problem"].replace("9.81", "9.8"))
    shown = invoke("verify", tmp_path / "c.json", tmp_path / "p.toml")
    assert shown.exit_code == 1
    assert shown.output.splitlines()[0].endswith("c.json: about another problem")


def test_saving_and_loading_changes_nothing(honest, tmp_path):
    path = tmp_path / "again.json"
    certificate_from(honest).save(path)
    assert json.loads(path.read_text()) == json.loads(json.dumps(honest))


def told(data, lie):
    for path, change in LIES[lie][0]:
        data = edited(data, path, change)
    return data


SLOW_LIES = ("the rounding is smaller", "another scheme")  # cells are cut until they are refused


@pytest.mark.parametrize(
    "lie", [pytest.param(lie, marks=pytest.mark.prove if lie in SLOW_LIES else ()) for lie in LIES]
)
def test_a_tampered_certificate_is_refused_by_its_own_reason(honest, lie, tmp_path):
    """The checksums are written anew, so that they are not what refuses."""
    data = told(honest, lie)
    assert data != honest
    found = verified(signed(data), tmp_path)
    assert not found
    assert LIES[lie][1] in " ".join(found.findings)


@pytest.mark.parametrize("lie", ["gamma is smaller", "heavier gravity", "a smaller bound"])
def test_a_changed_file_has_another_checksum(honest, lie, tmp_path):
    found = verified(told(honest, lie), tmp_path)
    assert not found
    assert "checksum does not fit" in found.findings[0]


@pytest.mark.parametrize(
    ("place", "change", "why"),
    [
        ("rounding", lambda x: x / 40, "rounding is not confirmed"),
        ("radius", lambda x: x / 4, "radius is smaller"),
        ("coefficient", lambda x: -1.0, "is negative"),
    ],
)
def test_an_edited_affine_certificate_is_refused(affine, place, change, why, tmp_path):
    found = verified(signed(edited(affine, (*PROOF, place), change)), tmp_path)
    assert not found
    assert why in " ".join(found.findings)


def test_whether_the_start_deviates_is_checked_again(tmp_path):
    """Bounds of a run that starts off the program are for what remains of that, and must say so."""
    off = replace(pendulum(0.05), start={"x": 0.05, "y": -1.001}, run=hf.Run(start_policy="keep"))
    settling = hf.certify(hf.derive(off), hf.Euler, step=0.01, duration=1, effort=1).to_dict()
    assert settling["blocks"][0]["settles"]
    found = verified(settling, tmp_path)
    assert found, found.findings
    found = verified(signed(edited(settling, (*BLOCK, "settles"), lambda x: False)), tmp_path)
    assert not found
    assert "misstates whether the start" in found.findings[0]


def test_what_is_no_certificate_is_refused(tmp_path):
    path = tmp_path / "c.json"
    for text, why in {
        "": "it is not JSON",
        "\x00": "it is not JSON",
        "[]": "it is not a certificate",
        "{}": "it is not a certificate",
        '{"schema": 2, "schema": 2}': "a field is given twice",
        '{"schema": NaN}': "it holds NaN",
    }.items():
        path.write_text(text)
        found = hf.verify(path)
        assert not found
        assert why in found.findings[0]
    found = hf.verify(tmp_path / "missing.json")
    assert not found
    assert found.findings == (f"there is no file {tmp_path / 'missing.json'}",)


def test_files_that_never_end_are_answered_at_once(tmp_path, honest):
    """Devices, pipes, deep nesting and endless lists: a sentence each, in a second."""
    started = time.perf_counter()
    assert "plain file" in hf.verify("/dev/zero").findings[0]
    os.mkfifo(tmp_path / "pipe")
    assert "plain file" in hf.verify(tmp_path / "pipe").findings[0]
    assert "cannot be read" in hf.verify(tmp_path).findings[0]
    (tmp_path / "deep.json").write_text("[" * 200_000 + "]" * 200_000)
    assert "nested too deeply" in hf.verify(tmp_path / "deep.json").findings[0]
    long = edited(honest, CODE, lambda x: x * 40_000)
    assert "too long" in verified(signed(long), tmp_path).findings[0]
    assert time.perf_counter() - started < 20


def test_the_tube_is_as_wide_as_it_says_in_each_deviation(honest):
    read = reading(claims(honest))
    (block,), (wide, narrow) = read.claims.blocks, (30.0, 0.002)
    limits = _limits(read, block, block.proof, [wide, narrow], read.equations.inputs)
    by_node = {limit.node: limit for limit in limits}
    for name, width in zip(block.names, (wide, narrow), strict=True):
        limit = by_node[read.equations.psi[name]]
        assert -limit.low == limit.high
        assert block.proof.tube * width <= limit.high <= block.proof.tube * width * (1 + 1e-9)
        assert limit.across
    energy = by_node[read.equations.observables["energy"]]
    assert (energy.low, energy.high) == block.proof.limits["energy"]
    assert not energy.across
    assert _limits(read, block, block.proof, [wide, narrow], ["x"]) == []  # y alone would decide, and is not there


@pytest.mark.parametrize(("factor", "holds"), [(1.0, True), (1 - 1e-9, False)])
def test_a_bound_may_be_as_small_as_what_is_shown(honest, factor, holds):
    read = reading(claims(honest))
    (block,) = read.claims.blocks
    shown = check_block(read, block, Budget(seconds=60, cells=10_000)).bounds
    tight = replace(block, bounds=[bound * factor for bound in shown])
    if holds:
        assert check_block(read, tight, Budget(seconds=60, cells=10_000)).bounds == shown
    else:
        with pytest.raises(Refused, match="the bound of y_rod is smaller than what was shown"):
            check_block(read, tight, Budget(seconds=60, cells=10_000))


def test_the_random_steps_that_arrived_are_counted(honest, tmp_path, monkeypatch):
    """Some states of the region are not steps at all: they count neither way, and are not told."""
    step, calls = NativeRun.step, []

    def some(self, moment, state):
        calls.append(moment)
        return step(self, moment, state) if len(calls) % 4 else None

    told = verified(honest, tmp_path).findings[0]
    monkeypatch.setattr(NativeRun, "step", some)
    fewer = verified(honest, tmp_path).findings[0]
    counts = [
        int(re.search(r"; (\d+) random native steps add at most [\d.e-]+ of it", text)[1]) for text in (told, fewer)
    ]
    assert counts == [len(calls), len(calls) - len(calls) // 4]
    assert 10 < len(calls) <= RANDOM  # the others lie outside the region
    assert re.search(r"a step adds at most (0\.\d+|\de-\d+) of the defect", told)


def test_random_states_deviate_by_no_more_than_the_tube(honest, monkeypatch):
    read = reading(claims(honest))
    (block,) = read.claims.blocks
    attack = Attack(read, SimpleNamespace(block=block, contraction=None, widths=None), NativeRun(read))
    monkeypatch.setattr(Attack, "_inside", lambda self, times, states: (np.ones(len(times), dtype=bool), None))
    times, states = attack._random()
    sizes = np.linalg.norm(attack._doubles(times, states)[0] @ np.array(block.proof.factor), axis=1)
    sizes = sizes[np.isfinite(sizes)]
    tube = block.proof.tube
    assert len(times) == RANDOM
    assert np.quantile(sizes, 0.8) <= tube  # those that Newton's method brings there
    assert 0.2 * tube < np.median(sizes) < 0.8 * tube
    region = block.proof.region
    assert ((times >= region["t"][0]) & (times <= region["t"][1])).all()


def test_the_code_is_compared_at_cells_from_the_first_to_the_last():
    seen = []
    read = SimpleNamespace(
        agreement=SimpleNamespace(check=lambda point: (seen.append(point[0]), point[0] != 0.0)[1]),
        equations=SimpleNamespace(inputs=["x"]),
    )
    proof = SimpleNamespace(region={"x": (-2.0, -1.0)})
    points = [np.array([float(k)]) for k in range(1000)]
    counted = _agree(read, proof, SimpleNamespace(points=points))
    centres = [x for x in seen if x >= 0]
    assert (centres[0], centres[-1]) == (0.0, 999.0)
    assert len(centres) == POINTS
    assert np.diff(centres).max() < 1.2 * 1000 / POINTS
    anywhere = [x for x in seen if x < 0]
    assert len(anywhere) == POINTS
    assert min(anywhere) >= -2 < max(anywhere) <= -1
    assert counted == len(seen) - 1
    read.agreement.check = lambda point: False
    with pytest.raises(Refused, match="could not be compared"):
        _agree(read, proof, SimpleNamespace(points=points[:3]))


def test_a_budget_is_kept_and_named(honest, tmp_path):
    path = tmp_path / "c.json"
    path.write_text(json.dumps(honest))
    found = hf.verify(path, cells=3)
    assert not found
    assert "not verified within the budget" in found.findings[0]


# ── the problem that is meant ─────────────────────────────────────────────────────────────────────


def test_the_problem_that_is_meant_is_compared(honest, tmp_path):
    path = tmp_path / "c.json"
    path.write_text(json.dumps(honest))
    assert hf.verify(path, pendulum(0.05))
    written = tmp_path / "p.toml"
    hf.dump(pendulum(0.05), written)
    assert hf.verify(path, written)
    text = written.read_text()
    for old, new, why in (
        ("9.81", "1.62", "g is 9.81 in the certificate and 1.62 in the problem"),
        ("stiffness = 25", "stiffness = 26", "law.stiffness.rod is 25"),
        ("x**2", "2*x**2", "constraint rod differs"),
        ('potential = "', 'potential = "x + ', "energy potential differs"),
    ):
        assert old in text
        written.write_text(text.replace(old, new))
        found = hf.verify(path, written)
        assert not found
        assert why in " ".join(found.findings)


def test_a_problem_written_otherwise_is_the_same(honest, tmp_path):
    path, written = tmp_path / "c.json", tmp_path / "p.toml"
    path.write_text(json.dumps(honest))
    hf.dump(pendulum(0.05), written)
    text = written.read_text()
    again = re.sub(r'potential = ".*"', 'potential = "2*y*g/2"', text)
    assert again != text
    written.write_text(again)
    assert hf.verify(path, written)


REPEATED = """
schema = 1
[repeat.bob]
for = { i = [1, 1] }
[repeat.bob.system]
coordinates = ["x{i}"]
kinetic = "weight*x{i}_dot**2/2"
[functions]
path = { file = "path.csv", degree = 3 }
[parameters]
length = 2
weight = "length**2"
[program.holonomic]
track = "x1 - path"
[program.controls]
F = { x1 = 1 }
[program.law]
kind = "spring-damper"
stiffness = 25
damping = 10
[run]
step = 0.01
duration = 0.1
"""


def test_a_problem_file_may_say_all_that_a_problem_file_may_say(tmp_path):
    """Copies by [repeat], parameters by others and data in files were no words of the verifier's own reader."""
    rows = [f"{k / 10},{k / 10 + (k / 10) ** 3 / 50}" for k in range(6)]
    (tmp_path / "path.csv").write_text("\n".join(["t,path", *rows]))
    meant, path = tmp_path / "p.toml", tmp_path / "c.json"
    meant.write_text(REPEATED)
    hf.certify(hf.derive(hf.load(meant)), start={"x1_dot": 1}, effort=0.5).save(path)
    assert hf.verify(path, meant).holds
    for old, new, why in (
        ("length = 2", "length = 3", "length is 2 in the certificate and 3 in the problem"),
        ("length**2", "length**3", "the energy kinetic differs"),
        ("degree = 3", "degree = 5", "the data of path differ"),
    ):
        meant.write_text(REPEATED.replace(old, new))
        found = hf.verify(path, meant)
        assert found.verdict == "about another problem"
        assert why in " ".join(found.findings)


def test_what_a_problem_file_adds_by_copies_is_compared(honest, tmp_path):
    """A further force by [repeat] went unread, and the certificate was said to be about such a problem."""
    path, written = tmp_path / "c.json", tmp_path / "p.toml"
    path.write_text(json.dumps(honest))
    hf.dump(pendulum(0.05), written)
    assert "[system.forces]" not in written.read_text()
    copies = '\n[repeat.push]\nfor = { i = [1, 1] }\n[repeat.push.system.forces]\nx = "-5*x"\n'
    written.write_text(written.read_text() + copies)
    found = hf.verify(path, written)
    assert found.findings == ("it is about another problem: the force on x is in one only",)


def test_the_verifier_passes_over_no_table_that_it_does_not_know():
    """Every table of a file is read, said to be aside, or, as [repeat], refused: one that is new must be entered."""
    assert set(TOP_KEYS) == READ | ASIDE
    assert not READ & ASIDE
    with pytest.raises(Refused, match="may add to it"):
        statement(dumps(pendulum(0.05)) + "\n[wind]\nx = 1\n")


def test_a_problem_file_that_is_none_is_an_error_and_no_verdict(honest, tmp_path):
    """'does not hold' was said of a certificate whose problem file bore another name."""
    path = tmp_path / "c.json"
    path.write_text(json.dumps(honest))
    with pytest.raises(hf.BadFile, match="no such file"):
        hf.verify(path, tmp_path / "missing.toml")
    with pytest.raises(hf.BadFile, match="not TOML"):
        hf.verify(path, path)


@pytest.mark.parametrize("given", [None, 5, b"c.json"])
def test_what_is_no_certificate_nor_the_name_of_one_is_refused_at_the_door(given):
    with pytest.raises(hf.BadRequest, match="no certificate, nor the name of a file"):
        hf.verify(given)


@pytest.mark.parametrize("name", ["cells", "seconds"])
@pytest.mark.parametrize("budget", [-1, float("nan"), "5", True])
def test_a_budget_is_a_number(honest, name, budget):
    """NaN seconds stood for no limit, and a text ended in a TypeError."""
    with pytest.raises(hf.BadRequest, match=f"{name} = .* is no budget"):
        hf.verify(certificate_from(honest), **{name: budget})


def test_what_is_asked_of_the_verifier_is_told_by_name(honest):
    with pytest.raises(hf.BadRequest, match="verify has no 'problm'"):
        hf.verify(certificate_from(honest), problm=pendulum(0.05))


def test_a_certificate_that_lacks_a_field_is_told_so(honest, tmp_path):
    less = {key: value for key, value in honest.items() if key != "blocks"}
    assert verified(less, tmp_path).findings == ("it lacks the field 'blocks'",)


def test_a_problem_in_the_place_of_the_certificate_is_told_of_the_order():
    with pytest.raises(hf.BadRequest, match="Problem") as refused:
        hf.verify(pendulum(0.05), "c.json")
    assert refused.value.fix == "the certificate, or its file, comes first, then the problem"


def test_of_what_cannot_be_read_no_verdict_is_given(tmp_path):
    assert hf.verify(tmp_path / "missing.json").verdict == "not readable"


# ── somebody else ─────────────────────────────────────────────────────────────────────────────────


def test_the_verifier_shares_no_module_with_the_prover():
    """The modules that it imports, wherever the import stands: its own, and none other of ours."""
    import holdfast.stability.verifier as package

    own = Path(package.__file__).parent
    files = list(own.rglob("*.py"))
    assert {"check.py", "contraction.py", "cover.py", "rounding.py"} <= {path.name for path in files}
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            ours = [name for name in names if name.split(".")[0] == "holdfast"]
            assert all(name.startswith("holdfast.stability.verifier") for name in ours), (path.name, ours)
            assert not (isinstance(node, ast.ImportFrom) and node.level), path.name


def test_checking_loads_nothing_of_the_prover():
    """What is in memory once the checker is imported: none of the rooms that state, derive, evaluate, prove or run."""
    told = subprocess.run(
        [sys.executable, "-c", "import sys, holdfast.stability.verifier.check, holdfast.stability.verifier.comparison; "
         "print(*sorted(name for name in sys.modules if name.startswith('holdfast')))"],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    own = ("holdfast.stability.verifier",)
    assert "holdfast.stability.verifier.check" in told
    assert all(name in ("holdfast", "holdfast.stability") or name.startswith(own) for name in told), told


def test_a_law_that_jumps_is_not_linear(honest, tmp_path):
    """A relay has no slope, yet it is no part of H."""
    text = re.sub(
        r"\[program\.law\][^\[]*",
        '[program.law]\nkind = "general"\nrod = "-25*y_rod - 10*w_rod + sign(y_rod)/2"\n\n',
        honest["problem"],
    )
    data = edited(honest, ("problem",), lambda x: text)
    data = edited(data, ("parameters",), lambda x: {"g": x["g"]})
    data = edited(data, ("code", "inputs"), lambda x: x[:6])
    data["code"]["operations"] = [["const", "0"], ["const", "0"], *data["code"]["operations"]]
    found = verified(signed(data), tmp_path)
    assert not found
    assert "jumps or bends, so it is not linear" in " ".join(found.findings)


def test_a_run_that_dies_is_no_run_that_stayed(tmp_path):
    """A root that ends at x = 1/2: the run of 100 s dies at 0.45 s."""
    x, y = hf.coordinates("x y")
    force = sp.sqrt(sp.Rational(1, 2) - x) / 1000
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, forces={x: force})
    program = hf.Program(holonomic={"line": y}, law=hf.SpringDamper(stiffness=100, damping=20))
    equations = hf.derive(hf.Problem(system, program, start={x: 0.02, x.rate: 1}))
    made = hf.certify(equations, hf.Euler, step=0.05, duration=0.4, effort=2, region={x: (0, 0.48)})
    data = made.to_dict()
    found = verified(data, tmp_path)
    assert found, found.findings
    data = edited(data, ("duration",), lambda x: 100.0)
    data = edited(data, (*PROOF, "region"), named("t", lambda a, b: (0.0, 100.0)))
    found = verified(signed(data), tmp_path)
    assert not found
    assert "does not finish" in " ".join(found.findings)


@pytest.mark.parametrize("scheme", [hf.RK4, hf.Heun, hf.Kutta3], ids=lambda s: s.name)
def test_proofs_of_other_schemes_are_confirmed(scheme, tmp_path):
    made = hf.certify(hf.derive(pendulum(0.05)), scheme, step=0.01, duration=1, effort=3)
    assert made.label is hf.Label.proved
    found = verified(made.to_dict(), tmp_path)
    assert found, found.findings


@pytest.mark.parametrize(
    "name",
    [
        "adaptive_optics",
        "cart_rod",
        "rocket_ascent",
        "capital",
        "piston_line",
        *(pytest.param(name, marks=pytest.mark.prove) for name in LONGER),
    ],
)
def test_proofs_of_the_examples_are_confirmed(name, tmp_path):
    made = hf.certify(hf.derive(hf.load(str(EXAMPLES / f"{name}.toml"))))
    found = verified(made.to_dict(), tmp_path)
    assert found, found.findings


@pytest.mark.prove
@pytest.mark.parametrize("name", ["slack_rope", "pick_and_place"])
def test_proofs_of_phases_are_confirmed(name):
    proved = [c for c in hf.certify_phases(hf.derive(hf.load(str(EXAMPLES / f"{name}.toml")))).values() if c.blocks]
    assert proved
    for certificate in proved:
        found = hf.verify(certificate)
        assert found, found.findings


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


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "{bad", '{"schema": 1}', '{"schema": 7}', '{"schema": NaN}', '{"schema": 2, "schema": 2}',
     "[" * 100_000 + "]" * 100_000],
    ids=["empty", "a list", "no fields", "cut off", "old", "new", "not a number", "twice", "deep"],
)  # fmt: skip
def test_what_cannot_be_read_is_bad_input_and_no_verdict(text, tmp_path):
    (tmp_path / "c.json").write_text(text)
    result = invoke("verify", tmp_path / "c.json")
    assert result.exit_code == 2
    assert "does not hold" not in result.output


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
    assert found.verdict == "nothing to verify"
    certificate.save(tmp_path / "c.json")
    told = CliRunner().invoke(main, ["verify", str(tmp_path / "c.json")])
    assert told.exit_code == 1
    assert "there is nothing to verify" in told.output
    assert "does not hold" not in told.output
    hf.dump(pendulum(0.05), tmp_path / "p.toml")
    words = "certify p.toml --scheme euler --step 0.01 --duration 0.1 --effort 1e-9 -o c.json"
    with contextlib.chdir(tmp_path):
        told = CliRunner().invoke(main, words.split())
    assert "written to c.json\n" in told.output  # and no word of a verifier that has nothing to do


# ---------------------------------------------------------------- functions


def followed(value):
    x = hf.coordinates("x")
    track = hf.functions("track")
    system = hf.System(coordinates=x, kinetic=x.rate**2 / 2, potential=x**2, functions={track: value})
    program = hf.Program(holonomic={"follow": x - track}, controls={"F": {x: 1}}, law=hf.critically_damped(5))
    return hf.derive(hf.Problem(system, program, start={x.rate: 0.1}))


def test_a_function_by_its_expression_is_read_by_the_verifier_too():
    certificate = hf.certify(followed(sp.sin(hf.time) / 10), hf.RK4, step=0.01, duration=2, effort=2)
    assert certificate.blocks[0].label.name.startswith("proved")
    assert hf.verify(certificate).holds
    other = certificate.problem.replace("0.1*sin(t)", "0.1*sin(t) + t**2/100")
    assert other != certificate.problem
    refused = hf.verify(replace(certificate, problem=other))
    assert not refused.holds
    assert "code" in str(refused.findings)
    with pytest.raises(Refused, match="of time"):
        statement(certificate.problem.replace("sin(t)", "sin(x)"))


def test_proofs_along_data_are_re_checked():
    times = np.linspace(0, 2, 41)
    certificate = hf.certify(followed(hf.data(times, np.sin(times) / 10)), hf.RK4, step=0.01, duration=2, effort=2)
    assert certificate.blocks[0].label is hf.Label.proved
    found = hf.verify(certificate)
    assert found.holds, found.findings
    assert statement(certificate.problem).data["track"].times == list(times)


def test_a_letter_has_no_proof_in_the_verifier():
    text = hf.dumps(followed(sp.sin(hf.time)).problem).replace('"sin(t)"', '"?"')
    with pytest.raises(Refused, match="no value"):
        statement(text)


def test_of_a_program_that_is_kept_exactly_nothing_is_contradicted():
    """A pole held upright from the very program: its deviation stays 0, and the proof is of the size of underflow."""
    x, phi = hf.coordinates("x phi")
    sway = x.rate + phi.rate * sp.cos(phi)
    kinetic = 5 * x.rate**2 + (sway**2 + (phi.rate * sp.sin(phi)) ** 2) / 2
    system = hf.System(coordinates=(x, phi), kinetic=kinetic, potential=sp.Rational("9.81") * sp.cos(phi))
    program = hf.Program(holonomic={"up": phi}, controls={"F": {x: 1}}, law=hf.critically_damped(5))
    run = hf.Run(scheme="rk4", step=0.01, duration=2)
    problem = hf.Problem(system, program, start={x.rate: sp.Rational(4, 5)}, run=run)
    certificate = hf.certify(hf.derive(problem))
    assert certificate.blocks[0].label is hf.Label.proved
    assert certificate.blocks[0].bounds[0] < 1e-100
    found = hf.verify(certificate)
    assert found.holds or "does not hold" not in found.findings[0]
    assert hf.study(problem).verdict.word in ("proved", "checked", "no promise")


# ── words ─────────────────────────────────────────────────────────────────────────────────────────


def _areal(keep):
    x, y = hf.coordinates("x y")
    system = hf.System(
        coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=(x**2 + y**2) / 2
    )  # the same in every direction: energy and area are kept
    area = x * y.rate - y * x.rate
    program = hf.Program(keep={"kept": hf.keep(area if keep == "area" else keep)}, law=hf.critically_damped(5))
    return hf.derive(hf.Problem(system, program, start={x: 1.0, y.rate: 1.2}))


@pytest.mark.parametrize("kept", ["area", "energy"])
def test_a_first_integral_that_is_kept_is_verified_in_a_tube(kept):
    certificate = hf.certify(_areal(kept), hf.RK4, step=0.01, duration=0.5, tube=True)
    assert certificate["kept"].label.name == "tube"
    found = hf.verify(certificate)
    assert found.holds, found.findings
    assert found.words == "re-checked by the verifier: holds"


def test_what_is_not_confirmed_is_called_neither_wrong_nor_re_checked():
    found = hf.verify(hf.certify(_areal("area"), hf.RK4, step=0.01, duration=0.5, tube=True), cells=3)
    assert found.unconfirmed
    assert not found.holds
    assert not found.contradicts
    assert found.words.startswith("proved; not re-checked here: kept: not verified within the budget")


@pytest.mark.prove
def test_a_tube_that_a_budget_cannot_hold_is_given_up_early(monkeypatch):
    cover = import_module("holdfast.stability.verifier.tube.cover")
    certificate = hf.certify(_areal("area"), hf.RK4, step=0.01, duration=0.5, tube=True)
    looked, room = [], len(certificate["kept"].proof.tube.cells) + 8
    original = cover.TubeCover._defects
    monkeypatch.setattr(cover, "BATCH", 2)

    def many(self, cells):  # each part is found too large, until it is a small one
        bounds, shares = original(self, cells)
        looked.append(len(cells))
        volumes = np.prod(cells.high - cells.low, axis=1) / np.prod(self.whole.high[0] - self.whole.low[0])
        return np.where(volumes > 1 / 64, 2 * self.wanted[:, None], bounds), shares

    monkeypatch.setattr(cover.TubeCover, "_defects", many)
    found = hf.verify(certificate, cells=10 * room)
    assert not found
    assert "are needed" in found.findings[0]
    assert sum(looked) < 8 * room, found.findings
