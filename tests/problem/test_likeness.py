"""Expressions alike up to their names are read once, and come out as if each had been read."""

import re

import pytest
import sympy as sp

import holdfast as hf
from holdfast.problem.quantities import Coordinate, Definition, Parameter
from holdfast.problem.text import expression as reading
from holdfast.problem.text.builder import Builder
from holdfast.problem.text.expression import Expressions
from holdfast.problem.vocabulary import Vocabulary
from tests.problem.chains import chain

FORMS = (
    "((x{i} - x{j})**2 + (y{i} - y{j})**2 - l**2)/2",
    "m*(x{i}_dot**2 + y{i}_dot**2)/2",
    "{i}*l",
    "l*{i}/{j}*x{j}",
    "0.5*{i}*l/x{i}",
    "-{i}*l",
    "{i}*l/l",
    "{i}*l + {j}*m",
    "x{i}*y{j} - y{i}*x{j}",
    "sin(x{i} - x{j})*cos(y{j}) + exp(-x{i}/l) + abs(x{j} - y{i})",
    "atan2(y{i} - y{j}, x{i} - x{j})",
    "sqrt({i})*x{j} + x{i}**{j}",
    "max(x{i}, x{j}, {i})",
    "ddt(x{i}*sin(x{j}))",
    "x{i} - x{j} + half*x{i} + two*{i}",
    "(x{i} + 2*y{j})/(l + x{j})**2*pi/3",
    "x{i}**2*x{i}/x{j}/x{j}",
)
PAIRS = ((2, 1), (3, 2), (4, 3), (9, 8), (10, 9), (11, 10), (12, 11), (5, 5), (100, 99), (101, 100), (102, 9), (1, 0))


def words():
    names = Vocabulary()
    for k in range(103):
        names.declare(Coordinate(f"x{k}"), where="")
        names.declare(Coordinate(f"y{k}"), where="")
    for name in ("l", "m"):
        names.declare(Parameter(name), where="")
    names.define("half", Coordinate("x1") / 2, where="")
    names.define("two", sp.Integer(2), where="")
    return names


@pytest.mark.parametrize("form", FORMS)
def test_what_is_made_of_a_pattern_is_what_reading_makes(form):
    names = words()
    several = Expressions(names)
    several.add_definition("two", sp.Integer(2))
    several.work.nodes = several.work.size = 10**7
    for i, j in PAIRS * 2:
        alone = Expressions(names)
        alone.add_definition("two", sp.Integer(2))
        text = form.format(i=i, j=j)
        try:
            read = alone.read(text)
        except hf.HoldfastError as error:
            with pytest.raises(type(error), match=re.escape(error.what)):
                several.read(text)
            continue
        made = several.read(text)
        assert sp.srepr(made) == sp.srepr(read), text
        assert hash(made) == hash(read)
        assert made.is_commutative


@pytest.mark.parametrize(("small", "large"), [("*1" * 60, "*9999999" * 60), ("*1e299*1", "*1e299*9999999")])
def test_a_product_of_other_numbers_is_refused_where_reading_it_is(small, large):
    """Numbers beyond doubles must not come in by a product that is alike."""
    reader = Expressions(words())
    for name in ("x1", "x2", "x3"):
        reader.read(name + small)
    for text in ("x4" + large, "x5" + small + large):
        with pytest.raises(hf.HoldfastError, match="out of range"):
            reader.read(text)


def counted(monkeypatch, count):
    """How many expressions of a chain are read in full."""
    found = []

    class Counting(Builder):
        def read(self):
            found.append(self.text)
            return super().read()

    monkeypatch.setattr(reading, "Builder", Counting)
    hf.loads(chain(count, law=""))
    return len(found)


def test_a_longer_chain_has_no_more_expressions_to_read(monkeypatch):
    assert counted(monkeypatch, 200) <= counted(monkeypatch, 100) + 2 < 25


def test_a_chain_that_repeats_is_the_chain_written_out():
    problem = hf.loads(chain(12, law=""))
    again = hf.loads(hf.dumps(problem))
    assert again == problem
    assert hf.derive(again).fingerprint == hf.derive(problem).fingerprint


def test_what_is_wrong_with_one_of_many_is_said_of_that_one():
    text = chain(40, law="").replace("y{i-1})**2 - l**2", "y{i-1})**2 - l**2*q{i-30}")
    with pytest.raises(hf.HoldfastError, match="unknown name"):
        hf.loads(text.replace("for = { i = [1, 40] }", "for = { i = [31, 40] }"))


def test_reading_alike_expressions_is_charged_as_reading_each(monkeypatch):
    """A file too large for its limits is refused, however alike its expressions are."""
    names = words()
    reader = Expressions(names)
    reader.work.nodes = 100
    for k in range(1, 15):  # of seven parts each
        reader.read(f"x{k}*y{k}*l + m")
    with pytest.raises(hf.HoldfastError, match="too large"):
        reader.read("x15*y15*l + m")


def test_a_definition_is_a_symbol_of_its_own_kind():
    reader = Expressions(words())
    assert [type(s) for s in sorted(reader.read("half*x1").free_symbols, key=str)] == [Definition, Coordinate]
