"""docs/python.md runs as it is written, prints what it says, and leaves no public name out."""

import inspect
import re

import matplotlib
import pytest

import holdfast as hf
from tests.docs.pages import DOCS, SAID, Page

PAGE = (DOCS / "python.md").read_text("utf-8")
WORDS = ("for reading", "of y_home and w_home", "measured and expected", "what Lagrange's form adds")  # not output
NOT_ON_THE_PAGES: set[str] = set()


@pytest.fixture
def quiet_plots():
    before = matplotlib.get_backend()
    matplotlib.use("Agg")
    yield
    from matplotlib import pyplot

    pyplot.close("all")
    matplotlib.use(before)


@pytest.mark.usefixtures("quiet_plots")
def test_the_snippets_run_in_order_and_print_what_they_say(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("pandas")
    pytest.importorskip("xarray")
    assert len(SAID.findall(PAGE)) > 10
    assert Page(DOCS / "python.md").unkept(lambda: capsys.readouterr().out, WORDS) == []


def test_every_public_function_and_class_is_on_a_page():
    text = PAGE + (DOCS / "problem-file.md").read_text("utf-8")
    things = {name: getattr(hf, name) for name in hf.__all__}
    public = [name for name, thing in things.items() if inspect.isclass(thing) or inspect.isfunction(thing)]
    missing = {name for name in public if not re.search(rf"\b{name}\b", text)}
    assert missing == NOT_ON_THE_PAGES


def test_every_scheme_is_in_the_table():
    rows = re.findall(r"^\| (`hf\..*?) \| \d", PAGE, re.MULTILINE)
    shown = [name for row in rows for name in re.findall(r"hf\.(\w+)", row)]
    for name in shown:
        row = re.search(rf"^\|.*?`hf\.{name}`.*? \| (\d) \| (yes|no)", PAGE, re.MULTILINE)
        scheme = getattr(hf, name)
        assert row, name
        assert (int(row[1]), row[2] == "yes") == (scheme.order, scheme.adaptive)
    assert {getattr(hf, name) for name in shown} == set(hf.ALL_SCHEMES)


def test_the_snippets_of_the_problem_file_are_marked_as_what_they_are():
    text = (DOCS / "problem-file.md").read_text("utf-8")
    marked = re.findall(r"^\*A (complete file|fragment):\*\n\n```toml\n(\w*)", text, re.MULTILINE)
    assert len(marked) == text.count("```toml")
    assert all((mark == "complete file") == (first == "schema") for mark, first in marked)


@pytest.mark.parametrize("page", ["../README.md", "problem-file.md"])
def test_the_page_is_linked(page):
    assert re.search(r"\]\((docs/)?python\.md\)", (DOCS / page).read_text("utf-8"))
