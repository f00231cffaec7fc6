"""``holdfast export``: files where they are asked for, errors at the door."""

import json

import pytest
from click.testing import CliRunner

import holdfast as hf
from holdfast.cli.main import main

TARGETS = {"c": ["rod.h", "rod.c"], "numpy": ["rod.py"], "casadi": ["rod.py"], "jax": ["rod.py"]}
TARGETS |= {"modelica": ["rod.mo"], "latex": ["rod.tex"], "fmu": ["rod.fmu"]}
TEXT = """
schema = 1
title = "A rod"
[system]
coordinates = ["x", "y"]
kinetic = "m*(x_dot**2 + y_dot**2)/2"
potential = "m*9.81*y"
[parameters]
m = 1.0
[program.holonomic]
rod = "(x**2 + y**2 - 1)/2"
[start]
x = 1.0
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rod.toml").write_text(TEXT)
    return tmp_path


def typed(*words):
    return CliRunner().invoke(main, [*words])


@pytest.mark.parametrize("to", TARGETS)
def test_every_target_is_written(folder, to):
    (folder / "out").mkdir()
    said = typed("export", "rod.toml", "--to", to, "-o", "out", "--scheme", "rk4", "--step", "0.01", "--json")
    assert said.exit_code == 0, said.output
    told = json.loads(said.stdout)
    assert sorted(path.name for path in (folder / "out").iterdir()) == sorted(TARGETS[to])
    assert [path.rpartition("/")[2] for path in told["files"]] == TARGETS[to]
    assert (told["schema"], told["to"], told["name"]) == (1, to, "rod")


def test_options_reach_the_text(folder):
    assert typed("export", "rod.toml", "--to", "c", "--name", "arm", "--precision", "float").exit_code == 0
    assert "typedef float arm_real;" in (folder / "arm.h").read_text()
    said = typed("export", "rod.toml", "--to", "numpy", "-o", "mine.py", "--set", "m=3", "--step", "0.5")
    assert said.exit_code == 0
    assert "STEP = 0.0, 0.5" in (folder / "mine.py").read_text()
    assert "VALUES = [3.0" in (folder / "mine.py").read_text()
    said = typed("export", "rod.toml", "--to", "fmu", "--step", "0.01", "--fmi", "3", "--input", "m")
    assert "note: m of p is put in" in said.output
    assert typed("export", "rod.toml", "--to", "fmu", "--step", "0.01", "--input", "q").exit_code == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--to", "c", "--controller"], "has no controls"),
        (["--to", "c", "--scheme", "dop853"], "chooses its own steps"),
        (["--to", "numpy", "--precision", "float"], "one precision"),
        (["--to", "c", "--name", "x-y"], "cannot be the name"),
        (["--to", "c", "-o", "nowhere"], "no folder"),
        (["--to", "pascal"], "pascal"),
        ([], "--to"),
    ],
)
def test_errors_exit_with_2_and_write_nothing(folder, words, told):
    said = typed("export", "rod.toml", *words)
    assert said.exit_code == 2
    assert told in said.output
    assert [path.name for path in folder.iterdir()] == ["rod.toml"]


def test_what_is_left_to_the_caller_is_said():
    x, l = hf.coordinates("x"), hf.parameters("l")
    system = hf.System(coordinates=x, kinetic=x.rate**2 / 2, potential=l * x**2, parameters={l: 2})
    sampling = hf.Sampling(step=0.01, delay=0.02, rates={"F": 5})
    program = hf.Program(holonomic={"home": x}, controls={"F": {x: 1}}, law=hf.critically_damped(3), sampling=sampling)
    problem = hf.Problem(system, program, start={x: l}, run=hf.Run(step=0.01))
    notes = " ".join(hf.export(hf.derive(problem), to="c", part="controller").notes)
    for said in ("every 0.01, 0.02 late", "rates of F", "start of x is a number"):
        assert said in notes
