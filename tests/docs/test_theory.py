"""docs/theory: the numbers of every chapter come out as printed, and what is cited is there."""

import re

import pytest

from tests.docs.pages import DOCS, INLINE, SAID, Page

PAGES = [Page(file) for file in sorted((DOCS / "theory").glob("*.md"))]
CHAPTERS = [page for page in PAGES if page.file.name != "README.md"]
ROOT = DOCS.parent
CITED = re.compile(r"docs/theory(?:/\d[\w-]*\.md)?,? section (\d+\.\d+)")
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)")


def by_name(page):
    return page.file.stem


def sections():
    return {number for page in CHAPTERS for number in re.findall(r"^## (\d+\.\d+) ", page.prose, re.MULTILINE)}


def test_there_are_chapters():
    assert [page.file.name[0] for page in CHAPTERS] == list("12345678")


@pytest.mark.parametrize("page", CHAPTERS, ids=by_name)
def test_the_numbers_come_out_as_printed(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert len(SAID.findall(page.text)) >= 3
    assert page.unkept(lambda: capsys.readouterr().out) == []


def test_a_wrong_number_is_seen(tmp_path, capsys):
    page = Page(tmp_path / "page.md")
    page.file.write_text("```python\nprint(1 + 1)  # 2\nprint(1 + 2)  # 4\nprint(1 / 3)  # 0.34...\n```\n", "utf-8")
    unkept = page.unkept(lambda: capsys.readouterr().out, remarks=("a remark",))
    assert [said.split(" is ")[0] for said in unkept] == ["'4'", "'0.34...'"]


@pytest.mark.parametrize("page", CHAPTERS, ids=by_name)
def test_sections_are_numbered_in_order(page):
    numbers = re.findall(r"^## (.*?) ", page.prose, re.MULTILINE)
    assert numbers == [f"{page.file.name[0]}.{n}" for n in range(1, len(numbers) + 1)]


@pytest.mark.parametrize("page", PAGES, ids=by_name)
def test_links_lead_somewhere(page):
    for path, anchor in LINK.findall(page.prose):
        target = page.file.parent / path if path else page.file
        assert target.exists(), path
        assert not anchor or anchor in Page(target).anchors, f"{path}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=by_name)
def test_formulas_are_closed(page):
    assert "$$" not in page.prose, "displayed formulas stand in math blocks"
    for paragraph in re.split(r"\n\s*\n|\n(?=[|-])", page.prose):
        assert paragraph.count("$") % 2 == 0, paragraph
    for formula in page.formulas:
        bare = formula.replace(r"\{", "").replace(r"\}", "")
        assert bare.count("{") == bare.count("}"), formula
        assert formula.count(r"\begin") == formula.count(r"\end"), formula
        assert formula.count(r"\left") - formula.count(r"\leftarrow") == formula.count(r"\right"), formula


@pytest.mark.parametrize("page", PAGES, ids=by_name)
def test_inline_formulas_have_nothing_that_markdown_takes_away(page):
    """A backslash before punctuation is dropped, and a star may become emphasis."""
    for formula in INLINE.findall(page.prose):
        assert not re.search(r"\\[!-/:-@\[-`{-~]|\*", formula), formula
        assert "\n" not in formula, formula


@pytest.mark.parametrize("page", PAGES, ids=by_name)
def test_rows_of_tables_have_as_many_cells_as_their_heading(page):
    for heading, *rows in page.tables:
        assert {row.count("|") for row in rows} == {heading.count("|")}, heading


@pytest.mark.parametrize("folder", ["src", "tests", "docs", "examples"])
def test_cited_sections_exist(folder):
    files = [file for kind in ("py", "md", "toml") for file in (ROOT / folder).rglob(f"*.{kind}")]
    cited = {(file, number) for file in files for number in CITED.findall(file.read_text("utf-8"))}
    assert files
    assert {(file.name, number) for file, number in cited if number not in sections()} == set()


def test_a_citation_is_recognised():
    assert CITED.findall("see docs/theory, section 3.2, and docs/theory/4-structure.md, section 4.1") == ["3.2", "4.1"]


def test_the_list_of_chapters_is_whole():
    linked = {path for path, _ in LINK.findall((DOCS / "theory" / "README.md").read_text("utf-8"))}
    assert {page.file.name for page in CHAPTERS} <= linked


def test_the_tests_that_corrections_name_exist():
    text = (DOCS / "theory" / "7-corrections.md").read_text("utf-8")
    named = set(re.findall(r"\btest_\w+\.py", text))
    assert len(named) > 10
    assert named <= {file.name for file in (ROOT / "tests").rglob("test_*.py")}
