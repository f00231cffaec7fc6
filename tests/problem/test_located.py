"""Errors found after loading stand at their line of the problem file, like those found while reading it."""

import re

import pytest
from click.testing import CliRunner

import holdfast as hf
from holdfast.cli.main import main

TEXT = """schema = 1
title = "A bead"
[system]
coordinates = ["x", "y"]
kinetic = "(x_dot**2 + y_dot**2)/2"
[program.holonomic]
circle = "x**2 + y**2 - 1"
[program.law]
kind = "critically-damped"
rate = 2
[start]
x = 1
[run]
scheme = "rk4"
step = 0.01
duration = 1
[certificate]
region = { x = [-2, 2] }
[ensemble]
grid = { x = [1, 2], law.stiffness.circle = [1, 2] }
"""


def run(verb, text, *options):
    return CliRunner().invoke(main, [verb, "-", *options], input=text)


@pytest.mark.parametrize(
    ("verb", "change", "what", "marked"),
    [
        ("check", ('"rk4"', '"rk5"'), "there is no scheme 'rk5'", "rk5"),
        ("simulate", ('"rk4"', '"rk5"'), "there is no scheme 'rk5'", "rk5"),
        ("derive", ('- 1"\n', '- 1"\nagain = "2*x**2 + 2*y**2 - 3"\n'), "'again' contradicts", "again"),
        (
            "check",
            ("[program.law]", "[program.controls]\nF = { y = 1 }\n[program.law]"),
            "'F' cannot move 'circle'",
            "F",
        ),
        ("ensemble", ("grid = { x", "grid = { z"), "is called 'z'", "z"),
        ("ensemble", ("stiffness.circle", "stiffness.square"), "'law.stiffness.square'", "law.stiffness.square"),
        ("ensemble", ("[1, 2], law", '["a", 2], law'), "a list of numbers", '["a", 2]'),
        ("simulate", ("x = 1", "x = 2"), "violates the program", "start"),
    ],
)
def test_what_is_found_later_has_line_and_caret(verb, change, what, marked):
    text = TEXT.replace(*change)
    assert text != TEXT
    options = ["--start-policy", "raise"] if "violates" in what else []
    result = run(verb, text, *options)
    assert result.exit_code == 2
    assert what in result.stderr
    place = re.search(r"standard input:(\d+):(\d+)", result.stderr)
    line = text.splitlines()[int(place[1]) - 1]
    caret = re.search(r"\| ( *)(\^+)$", result.stderr, re.MULTILINE)
    assert len(caret[1]) == int(place[2]) - 1
    assert line[len(caret[1]) :][: len(caret[2])] == marked


def test_an_option_is_not_blamed_on_the_file():
    result = run("simulate", TEXT, "--scheme", "rk5")
    assert result.exit_code == 2
    assert "standard input" not in result.stderr
    assert "fix:" in result.stderr


@pytest.mark.parametrize("where", ["", "report(certificate=...)", "hf.System", "nowhere.at.all"])
def test_an_error_without_a_place_in_the_text_stays_as_it_is(where):
    error = hf.BadRequest("something", where=where)
    assert hf.located(error, TEXT) is error


def test_a_place_may_be_found_from_python_too():
    error = hf.BadRequest("the duration is not good", where="run.duration", fix="another")
    finding = hf.located(error, TEXT, "bead.toml").findings[0]
    assert (finding.line, finding.column, finding.hint) == (16, 12, "another")
    assert "bead.toml:16:12" in str(hf.located(error, TEXT, "bead.toml"))
