"""The papers' figures: each script draws one, answers in its first line and asserts it in its last."""

import ast
import runpy
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[2] / "examples" / "figures").glob("*.py"))


def test_the_papers_figures_are_all_there():
    assert [file.stem for file in SCRIPTS] == ["adaptive_optics", "bertrand", "cart_rod", "transients"]


@pytest.mark.parametrize("file", SCRIPTS, ids=lambda file: file.stem)
def test_a_figure_is_drawn_and_its_answer_right(file, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tree = ast.parse(file.read_text("utf-8"))
    question, _, answer = ast.get_docstring(tree).splitlines()[0].partition("?")
    assert question
    assert answer.strip()
    assert isinstance(tree.body[-1], ast.Assert)
    drawn = runpy.run_path(str(file))["figure"]
    assert sum(len(axes.lines) for axes in drawn.axes) >= 3
    assert capsys.readouterr().out.strip()
    assert not list(tmp_path.iterdir())
