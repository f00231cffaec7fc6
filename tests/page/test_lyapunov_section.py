"""The section on V: there where the problem states one, with the labels and answers that the library gives."""

import re
from functools import cache
from pathlib import Path

import pytest

import holdfast as hf
from holdfast.page.facts import PageFacts
from holdfast.page.sections.lyapunov import SECTION

EXAMPLES = Path(hf.__file__).parent / "examples"


@cache
def optics():
    return hf.load(EXAMPLES / "adaptive_optics.toml")


def section(problem, **asked):
    run = hf.simulate(hf.derive(problem), **asked)
    return str(SECTION.of(PageFacts(run, problem)))


def test_the_papers_example_has_its_theorems_and_steps():
    text = section(optics(), duration=2)
    assert 'id="lyapunov"' in text
    assert text.count("<td>proved</td>") == 2
    assert re.search(r"Theorem A, W = 225 \(given\)", text)
    assert "1.99875" in text
    assert text.count("√(1+τ²)") == 1


def test_a_problem_without_a_function_has_no_such_section():
    assert section(hf.load(EXAMPLES / "pendulum.toml"), duration=1) == ""


@pytest.mark.parametrize(("old", "label"), [("+ 4*y_ray", "refuted"), ("3*y_ray**2", "undecided")])
def test_a_function_that_does_not_fall_says_so(old, label):
    new = {"+ 4*y_ray": "- 4*y_ray", "3*y_ray**2": "1/3*y_ray**2"}[old]
    text = section(hf.loads((EXAMPLES / "adaptive_optics.toml").read_text("utf-8").replace(old, new)), duration=1)
    assert f"<td>{label}</td>" in text
    assert "Steps by the theorems" not in text


def test_what_cannot_be_judged_is_said_and_the_page_goes_on():
    text = (EXAMPLES / "adaptive_optics.toml").read_text("utf-8").replace("3*y_ray**2 +", "y_ray +")
    assert "V is not judged: V has a term of first degree in y_ray" in section(hf.loads(text), duration=1)
