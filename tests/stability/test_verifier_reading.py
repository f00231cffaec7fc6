"""What the verifier reads: every field of a certificate and every word of an expression, up to its limits."""

import copy
import json
import math
from fractions import Fraction
from hashlib import sha256

import flint
import numpy as np
import pytest

from holdfast.stability.verifier.numbers.dag import Dag
from holdfast.stability.verifier.numbers.evaluate import ball_power, ball_values, double_values
from holdfast.stability.verifier.reading import file
from holdfast.stability.verifier.reading.code import Code
from holdfast.stability.verifier.reading.file import claims, digest, read
from holdfast.stability.verifier.reading.text import DEEPEST, LARGEST_EXPONENT, LONGEST, Expression
from holdfast.stability.verifier.refusal import Refused, Unreadable

# ── the file ──────────────────────────────────────────────────────────────────────────────────────

PROVED = {
    "constraints": ["rod"], "label": "proved", "names": ["y_rod", "w_rod"], "matrix": [[0, 1], [-25, -10]],
    "gamma": 0.9, "defect": 1e-9, "epsilon": 1e-8, "bounds": [1e-8, 1e-7], "stayed": True, "settles": False,
    "proof": {
        "factor": [[1, 0], [0, 1]], "gamma": 0.9, "tube": 1e-6, "coefficient": 2.0, "rounding": 1e-15, "radius": 1e-8,
        "region": [["t", 0, 1], ["x", -1, 1]], "limits": [["energy", -1, 1]],
    },
}  # fmt: skip
CHECKED = PROVED | {
    "constraints": ["plane"], "label": "checked", "names": ["y_plane", "w_plane"], "gamma": None, "defect": None,
    "epsilon": None, "stayed": None, "proof": None, "reason": "No proof.", "observed": [0, 0], "slack": None,
}  # fmt: skip
FILE = {
    "schema": 2, "problem": "schema = 1", "title": "Rod", "scheme": "rk4", "step": 0.01, "begin": 0, "duration": 1,
    "parameters": {"g": 9.81}, "overrides": [], "start": [1, 0],
    "code": {"inputs": ["t", "x", "v"], "operations": [["const", "-1/3"], ["mul", 1, 3]], "rates": [2, 4]},
    "blocks": [PROVED, CHECKED],
}  # fmt: skip


def signed(data):
    data = data | {"problem_hash": sha256(data["problem"].encode("utf-8", "surrogatepass")).hexdigest()}
    return data | {"digest": digest(data)}


def changed(path, value):
    data = copy.deepcopy(FILE)
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return signed(data)


BLOCK, PROOF, CODE = ("blocks", 0), ("blocks", 0, "proof"), ("code", "operations")


def test_every_field_is_read():
    found = claims(signed(FILE))
    assert (found.problem, found.title, found.scheme, found.step) == ("schema = 1", "Rod", "rk4", 0.01)
    assert (found.begin, found.duration, found.start) == (0, 1, [1, 0])
    assert (found.parameters, found.overrides) == ({"g": 9.81}, [])
    assert found.code == Code(("t", "x", "v"), (("const", Fraction(-1, 3)), ("mul", 1, 3)), (2, 4))
    first, second = found.blocks
    assert {name: getattr(first, name) for name in PROVED if name != "proof"} == {
        name: value for name, value in PROVED.items() if name != "proof"
    }
    assert first.proof.region == {"t": (0, 1), "x": (-1, 1)}
    assert first.proof.limits == {"energy": (-1, 1)}
    assert (first.proof.factor, first.proof.tube) == ([[1, 0], [0, 1]], 1e-6)
    assert (second.label, second.proof, second.gamma, second.stayed) == ("checked", None, None, None)


ALLOWED = {  # the last that is let in
    "a number": (("begin",), 0.999e300, lambda found: found.begin),
    "a size": (("duration",), 0.999e150, lambda found: found.duration),
    "no duration": (("duration",), 0, lambda found: found.duration),
    "a small tube": ((*PROOF, "tube"), 5e-324, lambda found: found.blocks[0].proof.tube),
    "a name": (("scheme",), "n" * 200, lambda found: found.scheme),
    "a text of any script": (("title",), "Stab, стержень, \U0001d4ab", lambda found: found.title),
    "a text of nothing": (("title",), "", lambda found: found.title),
    "a range of one point": ((*PROOF, "limits"), [["energy", 2, 2]], lambda found: [["energy", 2, 2]]),
    "a list": (("start",), [0.0] * 1000, lambda found: found.start),
    "a wide matrix": ((*BLOCK, "matrix"), [[0.0] * 100] * 100, lambda found: found.blocks[0].matrix),
    "no step": (("step",), None, lambda found: found.step),
    "no code": (("code",), None, lambda found: found.code),
    "no rates": (("code", "rates"), [], lambda found: list(found.code.rates)),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_just_within_its_limits_is_read(name):
    path, value, place = ALLOWED[name]
    assert place(claims(changed(path, value))) == value


REFUSED = {  # the first that is not
    "a number beyond doubles": (("begin",), 10**400, "begin is no finite number"),
    "a number too large": (("begin",), -1e300, "begin is no finite number"),
    "a number that is a truth": (("begin",), False, "begin is no finite number"),
    "a size too large": (("duration",), 1e150, "duration is too large to be a bound"),
    "a size below zero": (("duration",), -5e-324, "duration is negative"),
    "a tube of zero": ((*PROOF, "tube"), 0.0, "tube is not positive"),
    "a step of zero": (("step",), 0, "step is not positive"),
    "a name too long": (("scheme",), "n" * 201, "scheme is no name"),
    "a name of nothing": (("scheme",), "", "scheme is no name"),
    "a name with a line break": (("scheme",), "rk\n4", "scheme is no name"),
    "a half of a letter": (("title",), "Rod \ud800", "title is no text"),
    "another half": (("title",), "Rod \udfff", "title is no text"),
    "a flag that is a number": ((*BLOCK, "settles"), 0, "settles is neither true nor false"),
    "a list too long": (("start",), [0.0] * 1001, "start is no list, or too long"),
    "a matrix too wide": ((*BLOCK, "matrix"), [[0.0] * 101] * 101, "matrix is no list, or too long"),
    "a matrix of rows too long": ((*BLOCK, "matrix"), [[0.0] * 101], "matrix is no list, or too long"),
    "a matrix that is not square": ((*BLOCK, "matrix"), [[0, 1], [1]], "matrix is no square matrix"),
    "ranges in a table": ((*PROOF, "region"), {}, "region is no list of ranges"),
    "too many ranges": ((*PROOF, "region"), [[f"n{k}", 0, 1] for k in range(1001)], "region is no list of ranges"),
    "a range of two": ((*PROOF, "region"), [["t", 0]], "region is no list of name, low, high"),
    "a range of four": ((*PROOF, "region"), [["t", 0, 1, 2]], "region is no list of name, low, high"),
    "a range backwards": ((*PROOF, "region"), [["t", 1, 0]], "region of 't' ends below its beginning"),
    "a range twice": ((*PROOF, "region"), [["t", 0, 1]] * 2, "region names 't' twice"),
    "parameters in a list": (("parameters",), [], "parameters is no table"),
    "a parameter without a name": (("parameters",), {"": 1}, "parameters is no name"),
    "a parameter of no number": (("parameters",), {"g": "9.81"}, "parameters.g is no finite number"),
    "overrides twice": (("overrides",), ["g", "g"], "overrides names something twice"),
    "a block that is a list": (("blocks",), [[]], "is no table"),
    "a proof that is a list": (PROOF, [], "is no table"),
    "a proof with more": (PROOF, PROVED["proof"] | {"more": 1}, "holds the unknown field 'more'"),
    "a label that is none": (("blocks", 1, "label"), "certain", "'certain' is no label"),
    "no constraint": ((*BLOCK, "constraints"), [], "a block is of no constraint"),
    "a bound too many": ((*BLOCK, "bounds"), [1, 1, 1], "not one bound for each deviation"),
    "no bounds of a proof": ((*BLOCK, "bounds"), [], "not one bound for each deviation"),
    "a bound too few, checked": (("blocks", 1, "bounds"), [1], "not one bound for each deviation"),
    "an observation too few": (("blocks", 1, "observed"), [1], "not one bound for each deviation"),
    "a proof without a defect": ((*BLOCK, "defect"), None, "the defect is smaller than shown: none is stated"),
    "a proof of what is checked": (("blocks", 1, "proof"), PROVED["proof"], "holds a proof but is not called proved"),
    "no proof of what is proved": (PROOF, None, "called proved but holds no proof"),
    "two blocks of one constraint": (("blocks", 1, "constraints"), ["rod"], "'rod' is spoken of by more than one"),
    "an operation that is no list": (CODE, ["pi"], "holds what is no operation"),
    "an operation of nothing": (CODE, [[]], "holds what is no operation"),
    "an operation of five": (CODE, [["select", 0, 1, 2, 0]], "holds what is no operation"),
    "an operation without a name": (CODE, [[0, 1, 2]], "the code is not readable"),
    "a constant of two": (CODE, [["const", "1", "2"]], "a constant of the code is none"),
    "a constant that is a number": (CODE, [["const", 1]], "a constant of the code is none"),
    "a constant of too many digits": (CODE, [["const", "1" + "0" * 1999]], "a constant of the code is none"),
    "a constant with an exponent": (CODE, [["const", "1e9"]], "a constant of the code is none"),
    "a constant over zero": (CODE, [["const", "1/0"]], "a constant of the code is none"),
    "a constant too large": (CODE, [["const", "-1" + "0" * 300]], "a constant of the code is too large"),
    "pi of something": (CODE, [["pi", 0]], "the code is not readable"),
    "a power of one": (CODE, [["power", 1, 1]], "a power of the code has no whole exponent"),
    "a power of a thousand": (CODE, [["power", 1, 1000]], "a power of the code has no whole exponent"),
    "a power without exponent": (CODE, [["power", 1]], "a power of the code has no whole exponent"),
    "a sum of one": (CODE, [["add", 1]], "the code holds the unknown operation 'add'"),
    "an unknown operation": (CODE, [["fma", 1, 2, 0]], "the code holds the unknown operation 'fma'"),
    "a place below zero": (CODE, [["neg", -1]], "the code names no earlier place"),
    "a place that is a truth": (CODE, [["neg", True]], "the code names no earlier place"),
    "an operation of itself": (CODE, [["neg", 3]], "the code uses what is not computed yet"),
    "a power of itself": (CODE, [["power", 3, 2]], "the code uses what is not computed yet"),
    "a rate beyond the end": (("code", "rates"), [2, 5], "the code ends before it gives its rates"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_just_beyond_is_refused_by_its_own_reason(name):
    path, value, why = REFUSED[name]
    with pytest.raises(Refused) as refused:
        claims(changed(path, value))
    assert why in str(refused.value)


OPERATIONS = {
    "a long constant": ["const", "1" + "0" * 299],
    "a fraction": ["const", "-22/7"],
    "pi": ["pi"],
    "a square": ["power", 2, 2],
    "a high power": ["power", 2, 999],
    "of the last place": ["atan2", 2, 0],
    "of three": ["select", 0, 1, 2],
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_is_read_as_it_is_written(name):
    op, *args = OPERATIONS[name]
    (read_as,) = claims(changed(("code",), FILE["code"] | {"operations": [[op, *args]], "rates": [3]})).code.operations
    assert read_as == (op, *([Fraction(args[0])] if op == "const" else args))


def test_nothing_has_no_sign():
    found = claims(changed((*PROOF, "region"), [["t", 0.0, -0.0], ["x", -0.0, 0.0], ["v", -0.0, 1]]))
    region = found.blocks[0].proof.region
    assert all(math.copysign(1, end) == 1 for ends in region.values() for end in ends)


def test_a_block_that_is_not_proved_may_leave_its_numbers_open():
    data = copy.deepcopy(FILE)
    data["blocks"][1] |= {"bounds": [], "observed": [], "slack": -2.5}
    assert claims(signed(data)).blocks[1].bounds == []


@pytest.mark.parametrize("name", ["digest", "problem_hash"])
def test_checksums_must_fit(name):
    data = signed(FILE) | {name: "0" * 64}
    data |= {"digest": digest(data)} if name != "digest" else {}
    with pytest.raises(Refused, match="checksum") as refused:
        claims(data)
    assert ("of its problem" in str(refused.value)) == (name == "problem_hash")


@pytest.mark.parametrize(
    ("data", "why"),
    [([], "not a certificate"), ({}, "not a certificate"), ({"schema": 1}, "certify again"), ({"schema": 3}, "wrote")],
)
def test_what_is_no_certificate_of_this_version_is_unreadable(data, why):
    with pytest.raises(Unreadable, match=why):
        claims(data)


def test_a_file_is_read_up_to_its_size(tmp_path, monkeypatch):
    path = tmp_path / "c.json"
    path.write_text(json.dumps({"schema": 2}))
    monkeypatch.setattr(file, "LARGEST", path.stat().st_size)
    assert read(path) == {"schema": 2}
    monkeypatch.setattr(file, "LARGEST", path.stat().st_size - 1)
    with pytest.raises(Unreadable, match="it is larger than"):
        read(path)


def test_code_may_be_as_long_as_it_says():
    most = file.MOST_OPERATIONS
    assert len(claims(changed(CODE, [["pi"]] * most)).code.operations) == most
    with pytest.raises(Refused, match="operations is no list, or too long"):
        claims(changed(CODE, [["pi"]] * (most + 1)))


# ── the code ──────────────────────────────────────────────────────────────────────────────────────


def test_code_in_balls_computes_what_its_operations_say():
    operations = [
        ("const", Fraction(-1, 3)), ("pi",), ("power", 0, 3), ("add", 0, 1), ("sub", 0, 1), ("mul", 0, 1),
        ("div", 0, 1), ("neg", 0), ("pow", 0, 1), ("select", 0, 0, 1), ("select", 1, 0, 1), ("sin", 0),
    ]  # fmt: skip
    code = Code(("x", "y"), tuple(operations), tuple(range(2, 2 + len(operations))))
    x, y = 1.5, -2.0
    truth = [-1 / 3, np.pi, x**3, x + y, x - y, x * y, x / y, -x, x**y, x, y, np.sin(x)]
    found = code.balls({"x": flint.arb(x), "y": flint.arb(y)})
    assert [float(value.mid()) for value in found] == pytest.approx(truth, rel=1e-14)
    (either,) = Code(("c", "a", "b"), (("select", 0, 1, 2),), (3,)).balls(
        {"c": flint.arb(0, 1), "a": flint.arb(1), "b": flint.arb(5)}
    )
    assert either.contains(1)
    assert either.contains(5)


def test_a_power_of_a_ball_round_zero_is_a_ball_round_zero():
    """1/3 - 1/3 is 0 up to rounding, and so are its powers: they were once not a number, and a proof was refused."""
    dag = Dag()
    x = dag.input("x")
    for base in (flint.arb(1) / 3 - flint.arb(1) / 3, flint.arb(0, 0.5), flint.arb(0)):
        for exponent in (2, 3, 6):
            (node,) = ball_values([dag.power(x, exponent)], {"x": base})
            (code,) = Code(("x",), (("power", 0, exponent),), (1,)).balls({"x": base})
            for found in (node, code):
                assert found.contains(0)
                assert found.overlaps(base.abs_upper() ** exponent if base.abs_upper() > 0 else flint.arb(0))
                assert found.abs_upper() <= base.abs_upper() * (1 + 1e-6)
    assert ball_power(flint.arb(1.5), 3) == flint.arb(3.375)


# ── expressions ───────────────────────────────────────────────────────────────────────────────────


def expression(text, rate=None):
    dag = Dag()
    names = {name: dag.input(name) for name in "xyz"}
    names["r"] = tuple(names[name] for name in "xyz")
    return Expression(text, dag, names, rate or (lambda node: dag.mul(node, dag.const(10))), "test")


def number(node, **values):
    given = {"x": 2.0, "y": 3.0, "z": 5.0} | values
    (found,) = double_values([node], {name: np.array([value]) for name, value in given.items()}, 1)
    return float(found[0])


VECTORS = {
    "[x, y, z].x": 2, "[x, y, z].y": 3, "[x, y, z].z": 5, "r.z": 5, "(r + [1, 1, 1]).y": 4, "(r - [1, 1, 1]).x": 1,
    "(2*r).z": 10, "(r*2).z": 10, "(r/2).z": 2.5, "(-r).y": -3, "(+r).y": 3, "dot(r, [1, 2, 3])": 23,
    "dot([x], [y])": 6, "cross([x, y], [1, 4])": 5, "cross(r, [1, 0, 2]).x": 6, "cross(r, [1, 0, 2]).y": 1,
    "cross(r, [1, 0, 2]).z": -3, "ddt(x)": 20, "ddt(r).z": 50, "[[x, y].y, x].x": 3, "x**-1": 0.5, "-x**2": -4,
    "2**x**2": 16, "x - y - z": -6, "x/y/z": 2 / 15, "max(x, z, y)": 5, "min(y, x, z)": 2,
    "atan2(y, x)": np.arctan2(3, 2),
    "  x  ": 2, "1e2*x": 200, ".5e1": 5, "3.": 3, "pi": np.pi,
}  # fmt: skip


@pytest.mark.parametrize("text", VECTORS)
def test_vectors_and_signs_are_read_as_they_are_written(text):
    assert number(expression(text).scalar()) == pytest.approx(VECTORS[text], rel=1e-14)


def test_a_vector_is_read_whole():
    assert [number(part) for part in expression("cross([1, 0, 0], [0, 1, 0]) + r").value()] == [2, 3, 6]


UNREADABLE = {
    "[x, y].z": "the component 'z'", "r.w": "the component 'w'", "r.xy": "the component 'xy'",
    "x.x": "the component 'x'",
    "r.": "the component ''", "r.(x)": "the component '('", "r.x.x": "the component 'x'", "r": "a vector in the place",
    "x + r": "a vector in the place", "r + [x, y]": "a vector in the place", "r*r": "a vector in the place",
    "x/r": "a vector in the place", "r**2": "a vector in the place", "2**r": "a vector in the place",
    "sin(r)": "a vector in the place", "[r, x].x": "a vector in the place", "dot(x, r)": "dot() of what are not two",
    "dot([x], r)": "dot() of what are not two", "cross(r, x)": "cross() of what are not two",
    "cross([x], [y])": "cross() of these vectors", "dot(r)": "a vector in the place", "ddt(x, y)": "ddt(...)",
    "atan2(x)": "atan2(...)", "atan2(x, y, z)": "atan2(...)", "sin(x, y)": "sin(...)", "min(x)": "min(...)",
    "w": "the unknown name 'w'", "x +": "an early end", "": "an early end", "x)": "')'", "(x": "a missing ')'",
    "[x": "a missing ']'", "sin(x": "a missing ')'", "x $ y": "' $ y'", "*x": "'*'", "x y": "'y'", "1 2": "'2'",
}  # fmt: skip


@pytest.mark.parametrize("text", UNREADABLE)
def test_what_cannot_be_read_is_named(text):
    with pytest.raises(Refused) as refused:
        expression(text).scalar()
    assert f"cannot be read: {UNREADABLE[text]}" in str(refused.value)
    assert str(refused.value).endswith(" in test")


@pytest.mark.parametrize(
    ("within", "beyond", "why"),
    [
        ("x".ljust(LONGEST), "x".ljust(LONGEST + 1), "too long"),
        (f"1e{LARGEST_EXPONENT}", f"1e{LARGEST_EXPONENT + 1}", "out of range"),
        (f"1E-{LARGEST_EXPONENT}", f"1E-{LARGEST_EXPONENT + 1}", "out of range"),
        ("-" * DEEPEST + "x", "-" * (DEEPEST + 1) + "x", "nested too deeply"),
        ("(" * DEEPEST + "x" + ")" * DEEPEST, "(" * (DEEPEST + 1) + "x" + ")" * (DEEPEST + 1), "nested too deeply"),
        ("x**" * DEEPEST + "1", "x**" * (DEEPEST + 1) + "1", "nested too deeply"),
    ],
    ids=["characters", "exponent", "negative exponent", "signs", "parentheses", "powers"],
)
def test_an_expression_is_read_up_to_its_limits(within, beyond, why):
    assert expression(within).scalar() is not None
    with pytest.raises(Refused, match=why):
        expression(beyond).scalar()


def test_numbers_are_exact():
    dag = Dag()
    read_as = Expression("0.1 + 2.5e-3", dag, {}, lambda node: node, "test").scalar()
    assert read_as is dag.const(Fraction(1025, 10000))
