"""hf.ensemble(device="gpu"): the public door to the card, here an emulated one."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

import holdfast as hf
from holdfast.cli.main import main

EXAMPLES = Path(hf.__file__).parent / "examples"
PENDULUM = """
schema = 1
title = "Pendulum in Cartesian coordinates"
[parameters]
g = 9.81
l = 1
[system]
coordinates = ["x", "y"]
kinetic = "(x_dot**2 + y_dot**2)/2"
potential = "g*y"
[program.holonomic]
rod = "(x**2 + y**2 - l**2)/2"
[program.law]
kind = "critically-damped"
rate = 10
[start]
x = "l"
[run]
scheme = "rk4"
step = 0.01
duration = 1
"""
CASES = {"l": [1.0, 1.5, 2.0], "law.rate": [5.0, 10.0, 20.0]}


@pytest.fixture
def equations():
    return hf.derive(hf.loads(PENDULUM))


def test_the_cases_are_those_of_the_processor(emulated, equations):
    here = hf.ensemble(equations, cases={"l": [1.0, 1.5, 2.0]}, every=10)
    there = hf.ensemble(equations, cases={"l": [1.0, 1.5, 2.0]}, every=10, device="gpu")
    assert np.array_equal(here.states, there.states)
    assert here.outcomes == there.outcomes
    assert np.array_equal(here["lambda_rod"], there["lambda_rod"])
    assert np.array_equal(here[1].y, there[1].y)


def test_reductions_are_read_on_their_own_graph_though_an_equal_one_made_the_code(emulated, equations):
    """The second graph has nodes that the first has not, and numbers what is summed up by them."""
    hf.ensemble(equations, cases={"l": [1.0, 1.5]}, every=100, device="gpu")
    again, asked = hf.derive(hf.loads(PENDULUM)), {"far": "max(7*x*y + sin(x*y_dot)**3)"}
    hf.linearise(again)
    here, there = (
        hf.ensemble(again, cases={"l": [1.0, 1.5]}, every=100, reduce=asked, device=device) for device in ("cpu", "gpu")
    )
    assert_allclose(there.reductions["far"], here.reductions["far"], rtol=1e-14)


def test_reductions_are_over_all_steps_wherever_they_are_run(emulated, equations):
    asked = {"pull": "max(abs(lambda_rod))", "drift": "rms(y_rod)", "low": "first(-x)"}
    lengths = {"l": [1.0, 1.5, 2.0]}
    here = hf.ensemble(equations, cases=lengths, every=100, reduce=asked)
    there = hf.ensemble(equations, cases=lengths, every=100, reduce=asked, device="gpu")
    every = hf.ensemble(equations, cases=lengths)
    assert len(here.times) == len(there.times) == 2
    for name, text in asked.items():
        assert_allclose(here.reductions[name], every.reduce(text), rtol=1e-9)
        assert_allclose(there.reductions[name], every.reduce(text), rtol=1e-9)
    assert not np.allclose(here.reduce(asked["pull"]), here.reductions["pull"])  # of two rows


def test_rows_of_an_adaptive_scheme(emulated, equations):
    here, there = (
        hf.ensemble(equations, "dop853", tolerance=1e-8, cases={"l": [1.0, 2.0]}, device=device)
        for device in ("cpu", "gpu")
    )
    assert_allclose(there.states, here.states, atol=1e-11)
    assert there.outcomes == here.outcomes


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"device": "cuda"}, "device = 'cuda'"),
        ({"device": "gpu", "precision": "half"}, "precision = 'half'"),
        ({"precision": "float"}, "the processor runs in double"),
        ({"device": "gpu", "scheme": "radau5", "step": None, "tolerance": 1e-6}, "radau is implicit"),
        ({"reduce": {"a": "max(z)"}}, "'z' is no quantity"),
        ({"reduce": {"a b": "max(x)"}}, "'a b' is no name"),
        ({"reduce": {"a": "x"}}, "is no reduction"),
        ({"reduce": "max(x)"}, "reduce is a mapping"),
        ({"reduce": {"a": "max(x)"}, "scheme": "dop853", "tolerance": 1e-6}, "over the steps of a fixed step"),
    ],
)
def test_what_cannot_be_is_refused(equations, options, told):
    with pytest.raises(hf.BadRequest, match=told):
        hf.ensemble(equations, cases={"l": [1.0]}, **options)


def test_from_the_command_line(emulated, tmp_path):
    file = tmp_path / "pendulum.toml"
    file.write_text(PENDULUM + "[ensemble]\ngrid = { l = [1, 2] }\n")
    done = CliRunner().invoke(main, ["ensemble", str(file), "--device", "gpu", "-q"])
    assert done.exit_code == 0, done.output
    assert "2 x" in done.output
