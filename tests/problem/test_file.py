"""Problem files: every table, errors with their places, and writing as the inverse of reading."""

import os
import pickle

import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

import holdfast as hf
from holdfast.common import files
from holdfast.errors import BadFile, BadRequest, BadStatement
from holdfast.problem.file.law_table import KINDS
from holdfast.problem.file.places import Places
from holdfast.problem.laws.law import LETTERS

CART = """\
schema = 1
title = "Cart and rod: bring the cart home, keep the rod upright"

[system]
coordinates = ["x", "phi"]                    # rates are x_dot, phi_dot
kinetic = "m1*x_dot**2/2 + m2*dot(ddt(C), ddt(C))/2 + m2*l**2*phi_dot**2/6"
potential = "m2*g*l*sin(phi)"
[points]                                      # also what the animation draws
O = ["x", "0"]
C = ["x + l*cos(phi)", "l*sin(phi)"]
[parameters]
m1 = 10
m2 = 1
l = 1
g = 9.81
[program.holonomic]
home = "x"
upright = "phi - pi/2"
[program.controls]
F = { x = "1" }
M = { phi = "1" }
[program.law]
kind = "spring-damper"
stiffness = { home = 1, upright = 0.05 }
damping = { home = 0.3, upright = 0.1 }
[start]
x = 0.1
phi = "2*pi/3"
[run]
scheme = "euler"
step = 0.01
duration = 60
"""

EVERYTHING = '''\
schema = 1
title = "Ünïcode \\"title\\"\\n"
expect = "negative"
definitions.reach = "l*cos(phi)"
definitions.speed = "ddt(reach)"
[system]
coordinates = ["x", "phi"]
kinetic = """
  mass*x_dot**2/2
  + l**2*phi_dot**2/2"""
potential = 0
dissipation = 'max(0, x_dot)**2*c/2'
forces.x = "-k*x + abs(speed)"
[system.states]
mass = "-burn"
[system.noise]
wind = { x = "0.1", phi = "x/3" }
[points]
A = ["reach", 0, "t"]
B = "A + 2*[1, 0, l]"
[parameters]
l = "1/3"
c = 1e-3
k = 2.50
burn = 0x10
[program]
reactions = ["roll"]
holonomic = { home = "x" }
[program.nonholonomic]
roll = "x_dot - l*phi_dot"
[program.controls]
F.x = 1
[program.law]
kind = "quadratic"
a0 = { home = 4 }
a1 = { home = 3, roll = "k", "home.roll" = 0.5 }
a2 = { home = 1, roll = { "home.roll" = "1/7" } }
[start]
x = "2*l"
mass = 12.5
[run]
scheme = "rk4"
step = 1e-3
duration = 2
begin = -1.5
every = 10
start_policy = "keep"
[certificate]
drift = 1e-6
region = { x = [-1, 1.5] }
[ensemble]
cases = { k = [1, 2, 3] }
[units]
l = "m"
[animation]
lines = [["A", "B"]]
loop = true
'''

FREE = 'schema = 1\n[system]\ncoordinates = ["x"]\nkinetic = "x_dot**2/2"\n'


def findings(text):
    with pytest.raises(BadFile) as caught:
        hf.loads(text, "bad.toml")
    return caught.value.findings


def test_the_cart_of_the_design_is_read():
    problem = hf.loads(CART)
    assert [c.name for c in problem.system.coordinates] == ["x", "phi"]
    assert problem.system.parameters["g"] == sp.Rational(981, 100)
    assert problem.start["phi"] == 2 * sp.pi / 3
    assert problem.program.law.stiffness["upright"] == sp.Rational(1, 20)
    assert problem.run == hf.Run(scheme="euler", step=0.01, duration=60)
    l, m2, phi = (problem.system.vocabulary[name] for name in ("l", "m2", "phi"))
    mass = sp.diff(problem.system.kinetic, phi.rate, 2)
    assert sp.simplify(mass - m2 * l**2 * sp.Rational(4, 3)) == 0


def test_every_table_is_read():
    problem = hf.loads(EVERYTHING)
    x = problem.system.vocabulary["x"]
    assert problem.system.definitions["speed"].args[0].name == "reach"
    assert problem.system.points["B"][0] == problem.system.points["A"][0] + 2
    assert problem.system.dissipation.has(sp.Max(0, x.rate))
    assert problem.program.held_by_reaction == ("roll",)
    assert problem.program.law.a1["home.roll"] == sp.Rational(1, 2)
    assert problem.program.law.a2["roll"]["home.roll"] == sp.Rational(1, 7)
    assert (problem.expect, problem.title) == ("negative", 'Ünïcode "title"\n')
    assert problem.certificate["region"]["x"] == (-1, 1.5)
    assert problem.animation["loop"] is True
    assert problem.system.parameters["burn"] == 16


LAWS = {
    "spring-damper": 'stiffness = 4\ndamping = "2*m"',
    "spring-damper by matrix": 'stiffness = [[4, "m"], [0, 4.5], [0, 0]]\ndamping = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]',
    "spring-damper with cross terms": 'stiffness = { a = 1, "a.b" = 2, b.a = 3, b.b = 4 }',
    "spring-damper in motion": 'stiffness = "1 + x**2"\ndamping = { a = "abs(x_dot)", roll = 1 }',
    "baumgarte": 'alpha = 5\nbeta = { a = 5, b = 6 }\nkappa = "m"',
    "critically-damped": "rate = 2.5",
    "roots": "roots = [-1, -2]",
    "roots in pairs": 'roots = { a = ["-1+2i", "-1-2i"], b = ["-1/2 + 0.5i", "-1/2 - 0.5i"], roll = -3 }',
    "quadratic": 'a0 = 1\na1 = 2\na2 = { a = { "b.b" = 3 } }',
    "excess-energies": 'kinetic = "(w_a**2 + w_b**2 + w_roll**2)/2"\npotential = "y_a**4"\ndissipation = 0',
    "excess-energies by matrix": "inertia = 2\ndamping = { a = 1, b = 1, roll = 1 }\nstiffness = [[1, 0], [0, 1]]",
    "general": 'a = "-4*y_a - w_a*abs(w_a)"\nb = "-y_b - w_b"\nroll = "-w_roll - y_a**3"',
    "unstabilised": "",
    "tuned": "",
}


def with_law(name):
    return (
        'schema = 1\n[system]\ncoordinates = ["x", "y", "z"]\nkinetic = "m*(x_dot**2 + y_dot**2 + z_dot**2)/2"\n'
        '[parameters]\nm = 2\n[program]\nholonomic = { a = "x - y", b = "y**2 - t" }\n'
        f'nonholonomic = {{ roll = "z_dot - x_dot" }}\n[program.law]\nkind = "{name.split()[0]}"\n{LAWS[name]}\n'
    )


@pytest.mark.parametrize("text", [CART, EVERYTHING, FREE, *map(with_law, LAWS)], ids=["cart", "all", "free", *LAWS])
def test_writing_what_was_read_gives_the_same_problem(text):
    problem = hf.loads(text)
    written = hf.dumps(problem)
    assert hf.loads(written) == problem
    assert hf.dumps(hf.loads(written)) == written


def test_complex_roots_are_conjugate_pairs():
    law = hf.loads(with_law("roots in pairs")).program.law
    assert law.roots["a"] == (-1 + 2 * sp.I, -1 - 2 * sp.I)


def test_a_python_made_problem_survives_the_file():
    x, y = hf.coordinates("x y")
    m, l, g = hf.parameters("m l g", positive=True)
    system = hf.System(
        coordinates=(x, y), kinetic=m * (x.rate**2 + y.rate**2) / 2, potential=sp.factor(m * g * y + m * g * x),
        forces={x: sp.Max(0, -x.rate) * 0.3, y: hf.rate(sp.Abs(x))}, parameters={m: 1.5, l: sp.Rational(1, 3), g: 9.81},
        points={"P": (x, y)}, definitions={"r": sp.sqrt(x**2 + y**2)},
    )  # fmt: skip
    rod = hf.Program(
        holonomic={"rod": sp.factor((x**2 + y**2 - l**2) / 2)},
        law=hf.from_roots(-1 + 2j, -1 - 2j),
    )
    problem = hf.Problem(
        system, rod, start={x: sp.sqrt(2) * l, y: 0.1}, run=hf.Run(step=0.1), certificate={"drift": 1e-3}
    )
    assert hf.loads(hf.dumps(problem)) == problem


names = st.sampled_from(["a", "b2", "theta", "long_name"])
floats = st.floats(-1e6, 1e6).filter(lambda value: value == 0 or abs(value) > 1e-200)
numbers = st.one_of(st.integers(-(10**6), 10**6), floats)
plain = st.recursive(
    st.one_of(numbers, st.booleans(), st.text(max_size=5)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(names, numbers), st.text(max_size=30), numbers, plain)
def test_any_numbers_titles_and_tables_survive_the_file(values, title, start, table):
    (x,) = hf.coordinates(["x"])
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, parameters=values)
    problem = hf.Problem(system, start={x: start}, title=title, animation={"table": table})
    assert hf.loads(hf.dumps(problem)) == problem


@pytest.mark.parametrize("kinetic", [sp.Heaviside(sp.Symbol("x")), sp.sec(sp.Symbol("x"))])
def test_what_a_file_cannot_say_is_refused_by_name(kinetic):
    (x,) = hf.coordinates(["x"])
    with pytest.raises(BadStatement, match="no form in a problem file") as caught:
        hf.dumps(hf.Problem(hf.System(coordinates=(x,), kinetic=kinetic)))
    assert caught.value.where == "system.kinetic"


# ---------------------------------------------------------------- on disk


def test_load_and_dump_on_disk(tmp_path):
    problem = hf.loads(CART)
    hf.dump(problem, tmp_path / "cart.toml")
    assert hf.load(tmp_path / "cart.toml") == problem
    assert os.listdir(tmp_path) == ["cart.toml"]


def test_a_dump_that_fails_changes_nothing(tmp_path, monkeypatch):
    path = tmp_path / "cart.toml"
    path.write_text("precious")
    full = lambda *_, **more: (_ for _ in ()).throw(OSError(28, "No space left on device"))  # noqa: E731
    monkeypatch.setattr(files.CALLS, "rename", full, raising=False)
    with pytest.raises(BadRequest, match="the disk is full"):
        hf.dump(hf.loads(CART), path)
    assert (path.read_text(), os.listdir(tmp_path)) == ("precious", ["cart.toml"])


def test_places_that_cannot_be_read_or_written(tmp_path):
    (tmp_path / "cart.toml").write_text(CART)
    (tmp_path / "latin.toml").write_bytes(CART.encode().replace(b"rod:", b"r\xf6d:"))
    (tmp_path / "big.toml").write_bytes(b"#" * 1_000_001)
    for name, words in {
        "": "folder", "carts.toml": "did you mean", "latin.toml": "UTF-8", "big.toml": "larger",
        "a\0b": "no such file|cannot be read",
        "cart.toml/deeper": "no such file",
    }.items():  # fmt: skip
        with pytest.raises(BadFile, match=words):
            hf.load(tmp_path / name)
    for place in (tmp_path, tmp_path / "none" / "x.toml"):
        with pytest.raises(BadRequest, match="cannot write"):
            hf.dump(hf.loads(CART), place)


def test_line_ends_and_byte_order_marks_do_not_matter(tmp_path):
    (tmp_path / "windows.toml").write_bytes(b"\xef\xbb\xbf" + CART.replace("\n", "\r\n").encode())
    assert hf.load(tmp_path / "windows.toml") == hf.loads(CART)


# ---------------------------------------------------------------- errors and their places


def test_all_errors_come_in_one_go_and_in_order():
    text = CART
    for old, new in {
        "sin(phi)\"\n[points]": 'sin(phy)"\n[points]', '"phi - pi/2"': '"phi_dot - pi^2"', "0.01": "-1",
        "upright = 0.05": "upwrong = 0.05", "[start]": "[strat]", "x = \"1\"": "y = \"1\"", "m1 = 10": "m1 = true",
    }.items():  # fmt: skip
        assert old in text
        text = text.replace(old, new)
    found = findings(text)
    assert [f.key for f in found] == [
        "system.potential", "parameters.m1", "program.holonomic.upright", "program.controls.F.y",
        "program.law.stiffness.upwrong", "strat", "run.step",
    ]  # fmt: skip
    for finding in found:
        marked = text.split("\n")[finding.line - 1][finding.column - 1 :][: finding.width]
        assert marked in ("phy", "true", "^", "y", "upwrong", "strat", "-1")


def test_an_error_looks_like_this():
    text = CART.replace("m2*g*l*sin(phi)", "m2*g*l*sin(phy)")
    with pytest.raises(BadFile) as caught:
        hf.loads(text, "cart.toml")
    assert str(caught.value) == (
        "error: unknown name 'phy'\n"
        "  --> cart.toml:7:25  (system.potential)\n"
        "  |\n"
        '7 | potential = "m2*g*l*sin(phy)"\n'
        "  |                         ^^^\n"
        "  fix:   did you mean 'phi'?"
    )
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize(
    ("fragment", "marked"),
    [
        ('kinetic = "x_dot**2/2 + oops"', "oops"),
        ("kinetic = 'x_dot**2/2 + oops'", "oops"),
        ('kinetic = """\n x_dot**2/2\n + oops"""', "oops"),
        ("kinetic = '''x_dot**2/2 + oops'''", "oops"),
        ('kinetic = "\\u0078_dot**2/2 + oops"', "oops"),
        ('kinetic = """x_dot**2/2 \\\n    + oops"""', "oops"),
        ('"kinetic" = "oops"', "oops"),
        ("kinetic = { x = 1 }", "{ x = 1 }"),
        ('kinetic = ["x_dot**2", "oops"]', "oops"),
        ("kinetic = 1\nforces = { x = \"-oops\" }", "oops"),
        ("kinetic = 1\nforces.x = \"oops\"", "oops"),
        ("kinetic = 1\n[points]\nP = [ # first\n 1,\n \"oops\" ]", "oops"),
        ("kinetic = 1\nknetic = 2", "knetic"),
    ],
)  # fmt: skip
def test_the_caret_stands_under_the_offending_part(fragment, marked):
    text = f'schema = 1\n[system]\ncoordinates = ["x"]\n{fragment}\n'
    (finding,) = findings(text)
    assert text.split("\n")[finding.line - 1][finding.column - 1 :][: finding.width] == marked


def test_a_name_that_failed_is_reported_once():
    text = FREE + '[definitions]\na = "oops"\nb = "a + 1"\n[points]\nP = ["a", "nope"]\nQ = ["P.x", "P.y"]\n'
    assert [f.what for f in findings(text)] == ["unknown name 'oops'", "unknown name 'nope'"]


def test_places_of_every_value_are_found():
    places = Places(EVERYTHING)
    wanted = [
        ("definitions", "speed"), ("system", "forces", "x"), ("points", "A", 2), ("program", "controls", "F", "x"),
        ("program", "law", "a2", "roll", "home.roll"), ("certificate", "region", "x", 1), ("animation", "lines", 0, 1),
    ]  # fmt: skip
    assert [path for path in wanted if path not in places.spans] == []
    assert len(places.spans[("system", "kinetic")].characters) == 1 + len("  mass*x_dot**2/2\n  + l**2*phi_dot**2/2")


def test_a_long_line_is_shown_around_the_place():
    text = FREE.replace("x_dot**2/2", "x + " * 200 + "oops" + " + x" * 200)
    with pytest.raises(BadFile) as caught:
        hf.loads(text)
    line, caret = str(caught.value).splitlines()[3:5]
    assert len(line) < 140
    assert line[caret.index("^") : caret.rindex("^") + 1] == "oops"


def test_a_constraint_coupled_with_itself_goes_by_its_own_name():
    law = hf.loads(with_law("spring-damper with cross terms")).program.law
    assert dict(law.stiffness) == {"a": 1, "a.b": 2, "b.a": 3, "b": 4}


@pytest.mark.parametrize("name", ["pendulum.toml", "pendulum"])
def test_the_name_of_a_shipped_example_is_recognised(tmp_path, name):
    (tmp_path / "pendulum2.toml").touch()
    with pytest.raises(hf.BadFile) as caught:
        hf.load(tmp_path / name)
    assert "`holdfast examples pendulum` copies it" in str(caught.value)


LAW_TABLES = {  # a table of each kind, with every key that it has
    "linear": "coefficients = [4, 3]",
    "spring-damper": "stiffness = 25\ndamping = { rod = 10 }",
    "baumgarte": "alpha = 5\nbeta = 3\nkappa = 0",
    "critically-damped": "rate = { rod = 7 }",
    "roots": "roots = [-2, -3]",
    "quadratic": "a0 = 4\na1 = 5\na2 = 0.5",
    "excess-energies": "inertia = 2\ndamping = 6\nstiffness = 8",
    "general": 'rod = "-4*y_rod - 3*w_rod - y_rod**3"',
    "unstabilised": "",
    "tuned": "",
}
HELD_PENDULUM = """schema = 1
[system]
coordinates = ["x", "y"]
kinetic = "(x_dot**2 + y_dot**2)/2"
[program.holonomic]
rod = "x**2 + y**2 - 1"
[start]
y = -1
[program.law]
"""


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_law_is_written_and_read_back(kind):
    assert kind in LAW_TABLES, "a new kind needs its table here"
    text = f'{HELD_PENDULUM}kind = "{kind}"\n{LAW_TABLES[kind]}\n'
    problem = hf.loads(text)
    again = hf.loads(hf.dumps(problem))
    assert again == problem
    assert type(again.program.law) is KINDS[kind][0]
    assert hf.derive(problem).constraints == ("rod",)
    assert {gain.split(".")[1] for gain in problem.law_form.gains} <= set(LETTERS), "letters for reading"
    unnamed = [key for key in KINDS[kind][1] if f"{key} =" not in LAW_TABLES[kind]]
    assert unnamed in ([], ["kinetic", "potential", "dissipation"]), "each key is tried; energies by their matrices"


# ---------------------------------------------------------------- [lyapunov]

PENDULUM = """schema = 1
[system]
coordinates = ["x", "y"]
kinetic = "(x_dot**2 + y_dot**2)/2"
[program.holonomic]
rod = "x**2 + y**2 - 1"
[program.law]
kind = "spring-damper"
stiffness = 4
damping = 3
"""


def test_a_lyapunov_table_reads_and_writes_the_same():
    table = '[lyapunov]\nfunction = "(6 + x**2)*y_rod**2 + y_rod*w_rod + w_rod**2"\nepsilon = 0.1\n'
    problem = hf.loads(PENDULUM + table + "region = { x = [-1, 1] }\n")
    assert {symbol.name for symbol in problem.lyapunov["function"].free_symbols} == {"x", "y_rod", "w_rod"}
    assert dict(problem.lyapunov["region"]) == {"x": (-1, 1)}
    assert hf.loads(hf.dumps(problem)) == problem
    in_python = hf.Problem(problem.system, problem.program, lyapunov=dict(problem.lyapunov))
    assert in_python.lyapunov == problem.lyapunov


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ('function = "y_road**2"', "y_road"),
        ('functon = "y_rod**2"', "unknown key 'functon'"),
        ('function = "y_rod**2"\nregion = 3', "a table belongs here"),
        ('function = "y_rod**2"\nregion = { x = [1, -1] }', "a range of two numbers"),
        ('function = "y_rod**2"\nregion = { x = [true, 2] }', "a range of two numbers"),
        ('function = "y_rod**2"\nepsilon = -1', "a positive number"),
        ('function = "y_rod**2"\nalpha = true', "a positive number"),
    ],
)
def test_mistakes_in_a_lyapunov_table_are_named(line, match):
    with pytest.raises(hf.BadFile, match=match):
        hf.loads(PENDULUM + f"[lyapunov]\n{line}\n")


def test_a_lyapunov_table_in_python_is_judged_alike():
    problem = hf.loads(PENDULUM)
    with pytest.raises(hf.BadStatement, match="unknown key 'functon'"):
        hf.Problem(problem.system, problem.program, lyapunov={"functon": 1})
