"""Every shipped problem file loads, derives and is written back as it was read; every example answers its question."""

import ast
import runpy
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import holdfast as hf

ROOT = Path(__file__).parent.parent.parent
FILES = sorted((Path(hf.__file__).parent / "examples").glob("*.toml"))
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
EXPECTED = (
    "adaptive_optics bead_on_hoop bertrand cart_rod four_bar mixed_holders pendulum piston_line rlc rocket_ascent skate"
)


def name(file):
    return file.stem


@cache
def loaded(file):
    return hf.load(file)


def test_the_named_examples_are_all_there():
    assert set(EXPECTED.split()) <= {file.stem for file in FILES}
    assert set(EXPECTED.split()) <= {file.stem for file in SCRIPTS}


@pytest.mark.parametrize("file", FILES, ids=name)
def test_a_problem_file_says_what_happens_and_how_to_run_it(file):
    problem = loaded(file)
    assert ":" in problem.title
    assert problem.run.step
    assert problem.run.duration
    steps = problem.run.duration / problem.run.step
    assert steps == pytest.approx(round(steps), abs=1e-9)
    assert problem.system.parameters


@pytest.mark.parametrize("file", FILES, ids=name)
def test_a_problem_file_derives_to_finite_forces_at_its_start(file):
    equations = hf.derive(loaded(file))
    at = equations.evaluate()
    assert np.isfinite(at.accelerations).all()
    assert np.isfinite(at.mu).all()
    assert at.condition < 1e6 or equations.solver.form == "eased"  # kept integrals may follow from each other


@pytest.mark.parametrize("file", FILES, ids=name)
def test_dump_then_load_is_the_identity(file, tmp_path):
    problem = loaded(file)
    copy = tmp_path / "copy.toml"
    hf.dump(problem, copy)
    again = hf.load(copy)
    assert again == problem
    assert hf.derive(again).fingerprint == hf.derive(problem).fingerprint
    assert hf.dumps(again) == hf.dumps(problem)


@pytest.mark.parametrize("file", SCRIPTS, ids=name)
def test_an_example_answers_its_question_in_the_first_line_and_asserts_it_in_the_last(file):
    tree = ast.parse(file.read_text("utf-8"))
    question, _, answer = ast.get_docstring(tree).splitlines()[0].partition("?")
    assert question
    assert answer.strip()
    assert isinstance(tree.body[-1], ast.Assert)
    assert file.name in (ROOT / "examples" / "README.md").read_text("utf-8")


@pytest.mark.parametrize("file", SCRIPTS, ids=name)
def test_an_example_is_right(file, capsys):
    found = runpy.run_path(str(file))
    assert capsys.readouterr().out.strip()
    shipped = ROOT / "src" / "holdfast" / "examples" / f"{file.stem}.toml"
    if shipped.exists():  # the same problem in Python and as a file
        ours, theirs = hf.derive(found["problem"]).evaluate(), hf.derive(loaded(shipped)).evaluate()
        assert_allclose(ours.state, theirs.state, rtol=1e-14)
        assert_allclose(ours.accelerations, theirs.accelerations, rtol=1e-11, atol=1e-12)
        assert_allclose(ours.mu, theirs.mu, rtol=1e-11, atol=1e-12)
