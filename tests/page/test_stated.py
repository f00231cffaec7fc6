"""What a user wrote is shown as it was written: the file with its comments, and its expressions in their order."""

from dataclasses import replace

import pytest

import holdfast as hf
from holdfast.page.markup.stated import Unwritten, stated_latex

TEXT = """schema = 1
title = "Stated"
# the radius comes last
[system]
coordinates = ["r", "a"]
kinetic = "m*dot(ddt(P2), ddt(P2))/2"
[points]
P2 = ["r*cos(a)", "r*sin(a)"]
[parameters]
m = 2
R = 1
[program.holonomic]
ring = "r - R"
[program.law]
kind = "spring-damper"
stiffness = 400
damping = 40
[start]
r = 1
a_dot = 1
[run]
scheme = "rk4"
step = 0.01
duration = 0.1
"""


def page(problem):
    return hf.report(hf.simulate(hf.derive(problem)), state_error=False, live=False).html


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("r - R", "r - R"),
        ("-R + r", "- R + r"),
        ("a - (b - c)", r"a - \left(b - c\right)"),
        ("a*(b + c)", r"a \left(b + c\right)"),
        ("a*-b", r"a \left(- b\right)"),
        ("2*3*x", r"2 \cdot 3 x"),
        ("dot(a, b)*c", r"\left(a \cdot b\right) c"),
        ("(a/b)**2", r"\left(\frac{a}{b}\right)^{2}"),
        ("shaft_dot**2", r"\left(\dot{\mathrm{shaft}}\right)^{2}"),
        ("sin(x)**2", r"\sin^{2}\left(x\right)"),
        ("D.x - ddt(D.y)", r"x_{D} - \frac{d}{dt} y_{D}"),
        (3, "3"),
    ],
)
def test_an_expression_keeps_its_order_and_its_brackets(text, latex):
    assert stated_latex(text) == latex


@pytest.mark.parametrize(
    "text", ["", "a if b else c", "x := 1", "a < b", "(" * 300, None, True, ["a"], "x" * 5000, "f'{a}'"]
)
def test_what_has_no_form_is_said_so_and_never_run(text):
    with pytest.raises(Unwritten):
        stated_latex(text)


def test_the_page_shows_the_file_with_its_comments_and_the_terms_in_their_order():
    html = page(hf.loads(TEXT))
    assert "# the radius comes last" in html
    assert 'data-copy="r - R = 0"' in html  # not SymPy's - R + r
    assert r"\dot{P}_{2} \cdot \dot{P}_{2}" in html


def test_a_problem_that_was_changed_since_is_not_shown_as_its_old_file():
    problem = hf.loads(TEXT)
    other = problem.with_values({"R": 2})
    html = page(replace(other, start={"r": 2, "a_dot": 1}))
    assert "The file that it came from" in html
    assert "The problem as a file" in html
    assert "The problem file, as it was written" not in html


def test_another_law_or_run_leaves_the_statement_what_it_was():
    problem = hf.loads(TEXT)
    stiffer = problem.with_law(hf.SpringDamper(stiffness=900, damping=60))
    longer = replace(problem, run=replace(problem.run, step=0.02))
    assert problem.source.states(stiffer)
    assert problem.source.states(longer)
    assert problem == hf.loads(TEXT.replace("# the radius comes last", ""))  # comments are no part of a problem


def test_a_saved_run_keeps_the_text_of_its_user(tmp_path):
    run = hf.simulate(hf.derive(hf.loads(TEXT)))
    run.save(tmp_path / "run.npz")
    again = hf.Trajectory.load(tmp_path / "run.npz")
    pages = [hf.report(each, state_error=False, live=False).html for each in (run, again)]
    assert pages[0] == pages[1]
    assert "# the radius comes last" in pages[1]
