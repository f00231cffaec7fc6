"""Things that repeat are stated once: the same problem as when it is written out, errors where they were written."""

from __future__ import annotations

import pytest

import holdfast as hf

CHAIN = """schema = 1
[parameters]
m = 1
l = 1
g = 9.81
[definitions]
x0 = 0
y0 = 0
[system]
coordinates = []
[repeat.link]
for = { i = [1, 3] }
[repeat.link.system]
coordinates = ["x{i}", "y{i}"]
kinetic = "m*(x{i}_dot**2 + y{i}_dot**2)/2"
potential = "m*g*y{i}"
[repeat.link.program.holonomic]
"rod{i}" = "((x{i} - x{i-1})**2 + (y{i} - y{i-1})**2 - l**2)/2"
[repeat.link.start]
"x{i}" = "{i}*l"
[program.law]
kind = "critically-damped"
rate = 20
[run]
scheme = "rk4"
step = 0.01
duration = 1
"""
WRITTEN_OUT = """schema = 1
[parameters]
m = 1
l = 1
g = 9.81
[definitions]
x0 = 0
y0 = 0
[system]
coordinates = ["x1", "y1", "x2", "y2", "x3", "y3"]
kinetic = ["m*(x1_dot**2 + y1_dot**2)/2", "m*(x2_dot**2 + y2_dot**2)/2", "m*(x3_dot**2 + y3_dot**2)/2"]
potential = "m*g*y1 + m*g*y2 + m*g*y3"
[program.holonomic]
rod1 = "((x1 - x0)**2 + (y1 - y0)**2 - l**2)/2"
rod2 = "((x2 - x1)**2 + (y2 - y1)**2 - l**2)/2"
rod3 = "((x3 - x2)**2 + (y3 - y2)**2 - l**2)/2"
[start]
x1 = "l"
x2 = "2*l"
x3 = "3*l"
[program.law]
kind = "critically-damped"
rate = 20
[run]
scheme = "rk4"
step = 0.01
duration = 1
"""


def test_it_is_the_problem_written_out():
    found = hf.loads(CHAIN)
    assert found == hf.loads(WRITTEN_OUT)
    assert hf.loads(hf.dumps(found)) == found


def test_two_indices_make_a_lattice_and_stated_terms_stay():
    text = """schema = 1
[system]
coordinates = ["z"]
kinetic = "z_dot**2/2"
[repeat.cell]
for = { i = [0, 1], j = [1, 2] }
[repeat.cell.system]
coordinates = ["u{2*i+j}"]
kinetic = "({i} + 2*{j-2})**2*u{2*i+j}_dot**2/2 + u{2*i+j}_dot**2"
[repeat.cell.points]
"P{i}_{j}" = ["u{2*i+j}", "{i-1}"]
[repeat.cell.animation]
traces = ["P{i}_{j}"]
"""
    problem = hf.loads(text)
    assert [c.name for c in problem.system.coordinates] == ["z", "u1", "u2", "u3", "u4"]
    u1, z = problem.system.coordinates[1].rate, problem.system.coordinates[0].rate
    assert problem.system.kinetic.coeff(z**2) * 2 == 1
    assert problem.system.kinetic.expand().coeff(u1**2) == 3  # i = 0, j = 1: (0 - 2)^2/2 + 1
    assert problem.system.points["P0_1"][1] == -1
    assert list(problem.animation["traces"]) == ["P0_1", "P0_2", "P1_1", "P1_2"]


@pytest.mark.parametrize(
    ("change", "by", "what", "line"),
    [
        ("y{i-1})**2 -", "y{k})**2 -", "{k} is no whole number made of i", 18),
        ("y{i-1})**2 -", "q{i-1})**2 -", "unknown name 'q0' (in link, i = 1)", 18),
        ("y{i-1})**2 -", "y{i-2})**2 -", "{i-2} is -1 (in link, i = 1)", 18),
        ("y{i-1})**2 -", "y{__import__('os')})**2 -", "is no whole number", 18),
        ('"rod{i}"', "rod", "'rod' is stated already (in link, i = 2)", 18),
        ("for = { i = [1, 3] }", "", "'link' does not", 11),
        ("[1, 3]", "[3, 1]", "a first and a last one", 12),
        ("[1, 3]", "[true, 3]", "a first and a last one", 12),
        ("[1, 3]", "[1, 100000]", "repeats 100,000 times", 12),
        ("[repeat.link.start]", "[repeat.link.run]", "'run' is nothing that repeats", 19),
        ("[repeat.link.system]", "[repeat.link.sistem]", "did you mean 'system'", 13),
        ("i = [1, 3]", '"i j" = [1, 3]', "is no name of an index", 12),
        ("x0 = 0", "x1 = 0", "the name 'x1' is given twice", 7),
    ],
)
def test_what_cannot_repeat_is_told_where_it_stands(change, by, what, line):
    assert change in CHAIN
    with pytest.raises(hf.HoldfastError) as caught:
        hf.loads(CHAIN.replace(change, by))
    assert what in str(caught.value)
    assert f":{line}:" in str(caught.value)


def test_more_may_be_asked_for():
    """Energies have no length limit then: they are sums of short terms."""
    text = """schema = 1
[repeat.mass]
for = { i = [1, 1500] }
[repeat.mass.system]
coordinates = ["x{i}"]
kinetic = "{i}*x{i}_dot**2/2"
"""
    with pytest.raises(hf.HoldfastError, match="--limit 60"):
        hf.loads(text)
    with hf.limits(seconds=60):
        assert len(hf.loads(text).system.coordinates) == 1500


def test_repeat_that_is_no_table_is_refused():
    with pytest.raises(hf.HoldfastError, match="a table of its own"):
        hf.loads(f"repeat = 3\n{WRITTEN_OUT}")


def test_a_long_sum_is_written_term_by_term():
    text = "schema = 1\n[repeat.m]\nfor = { i = [1, 200] }\n[repeat.m.system]\n"
    text += 'coordinates = ["x{i}"]\nkinetic = "{i+1}*x{i}_dot**2*(1 + x{i}**2)/2"\n'
    problem = hf.loads(text)
    with hf.limits(seconds=60):
        assert hf.loads(hf.dumps(problem)) == problem
    assert '    "x1_dot**2*(x1**2 + 1)",\n' in hf.dumps(problem)
