"""docs/papers.md: every place of the five papers is there, and every test, name, file and verb that it names exists."""

import ast
import inspect
import re
from functools import cache

import pytest

import holdfast as hf
from holdfast.cli.main import main
from tests.docs.pages import DOCS, Page
from tests.reference.shipped import derived

ROOT = DOCS.parent
PAGE = Page(DOCS / "papers.md")
LINK = re.compile(r"\[([^\]]+)\]\(([^)#\s]+)(?:#([^)\s]+))?\)")
PLACES = {
    "Mukharlyamov 2024": 49,
    "Gorshkov": 22,
    "Mukharlyamov and Gorshkov 2015": 38,
    "Mukharlyamov on variable masses": 29,
    "Mukharlyamov 2006": 37,
}
NOT_YET = {
    ("Mukharlyamov 2024", 7),
    ("Mukharlyamov and Gorshkov 2015", 26),
    ("Mukharlyamov on variable masses", 22),
    ("Mukharlyamov 2006", 28),
}
EQUATIONS = {  # the numbered equations: of a paper, or of its sections
    "Mukharlyamov 2024": {2: 14, 3: 4, 4: 15, 5: 12},
    "Gorshkov": 17,
    "Mukharlyamov and Gorshkov 2015": 28,
    "Mukharlyamov on variable masses": 30,
    "Mukharlyamov 2006": {1: 3, 2: 21, 3: 3, 4: 9, 5: 7, 6: 12},
}


def cells(row):
    return [cell.strip() for cell in row.strip("|").split("|")]


@cache
def rows(paper):
    """The places of a paper, each as [number, place, asks for, call, corrected, test]."""
    section = PAGE.prose.split(f"\n## {paper}\n")[1].split("\n## ")[0]
    return [cells(line) for line in section.splitlines() if re.match(r"\| \d", line)]


def named_tests(text):
    """(file, function) of each link to a test; its words are the name of the function without underscores."""
    return [(path, "test_" + words.replace(" ", "_")) for words, path, _ in LINK.findall(text) if "/tests/" in path]


@cache
def functions(path):
    tree = ast.parse((DOCS / path).read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def missing_tests(text):
    return [f"{path}::{name}" for path, name in named_tests(text) if name not in functions(path)]


def code():
    return re.findall(r"`([^`]+)`", PAGE.prose)


@pytest.mark.parametrize("paper", PLACES)
def test_every_place_of_a_paper_has_its_row(paper):
    assert [row[0] for row in rows(paper)] == [str(k) for k in range(1, PLACES[paper] + 1)]
    assert {len(row) for row in rows(paper)} == {6}
    assert all(place and asks and call for _, place, asks, call, *_ in rows(paper))


@pytest.mark.parametrize("paper", PLACES)
def test_every_place_is_shown_by_a_test_or_called_not_yet(paper):
    late = {(paper, int(row[0])) for row in rows(paper) if row[5].startswith("*not yet*")}
    assert late == {place for place in NOT_YET if place[0] == paper}
    assert [row[0] for row in rows(paper) if (paper, int(row[0])) not in late and not named_tests(row[5])] == []


def numbers(place, sections):
    """The equations that a place names: (4.1) to (4.4), (2), (9), (10)."""
    number = r"\((\d+)\.(\d+)\)" if sections else r"\(()(\d+)\)"
    for first in re.finditer(rf"{number}(?: to {number})?", place):
        section, low, _, high = first.groups()
        yield from ((section, k) for k in range(int(low), int(high or low) + 1))


@pytest.mark.parametrize("paper", EQUATIONS)
def test_every_numbered_equation_has_a_place(paper):
    counts = EQUATIONS[paper]
    sections = isinstance(counts, dict)
    wanted = {str(s): n for s, n in counts.items()} if sections else {"": counts}
    found = {pair for row in rows(paper) for pair in numbers(row[1], sections)}
    assert found == {(section, k) for section, n in wanted.items() for k in range(1, n + 1)}


def test_every_named_test_exists():
    assert len(named_tests(PAGE.prose)) > 250
    assert missing_tests(PAGE.prose) == []


def test_a_test_that_does_not_exist_is_seen():
    good = "[the table of the euler run](../tests/reference/test_runs_cart_and_rod.py)"
    assert missing_tests(good) == []
    assert missing_tests(good.replace("euler", "exit")) != []


def test_every_public_name_exists():
    names = {name for text in code() for name in re.findall(r"\bhf\.(\w+)", text)}
    assert len(names) > 60
    assert [name for name in sorted(names) if not hasattr(hf, name)] == []


def test_every_argument_by_name_exists():
    calls = [call for text in code() for call in re.findall(r"\bhf\.(\w+)\(([^()]*)", text)]
    given = [(name, word) for name, inside in calls for word in re.findall(r"(\w+)=", inside)]
    assert len(given) > 15
    assert [pair for pair in given if pair[1] not in inspect.signature(getattr(hf, pair[0])).parameters] == []


def test_every_attribute_of_equations_values_and_runs_exists():
    equations = derived("cart_rod")
    things = {
        r"\bequations\.(\w+)": equations,
        r"evaluate\(\)\.(\w+)": equations.evaluate(),
        r"\brun\.(\w+)": hf.simulate(equations, duration=1),
    }
    for pattern, thing in things.items():
        names = {name for text in code() for name in re.findall(pattern, text)}
        assert names
        assert [name for name in sorted(names) if not hasattr(thing, name)] == []


def test_every_file_exists():
    shipped = {name for text in code() for name in re.findall(r"\b(\w+\.toml)", text)}
    scripts = {name for text in code() for name in re.findall(r"\b(examples/\S+\.py)", text)}
    assert len(shipped) > 10
    assert len(scripts) > 5
    assert [name for name in sorted(shipped) if not (ROOT / "src" / "holdfast" / "examples" / name).is_file()] == []
    assert [name for name in sorted(scripts) if not (ROOT / name).is_file()] == []


def test_every_link_leads_somewhere():
    for _, path, anchor in LINK.findall(PAGE.prose):
        assert (DOCS / path).is_file(), path
        assert not anchor or anchor in Page(DOCS / path).anchors, f"{path}#{anchor}"


def test_every_verb_and_option_exists():
    calls = [text.split() for text in code() if text.startswith("holdfast ")]
    calls += [line.split("#")[0].split() for line in PAGE.text.splitlines() if line.startswith("holdfast ")]
    assert {words[1] for words in calls} <= set(main.commands)
    for _, verb, *words in calls:
        known = {option for parameter in main.commands[verb].params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known


def test_every_table_and_kind_of_a_file_is_described():
    files = [DOCS / "problem-file.md", *(ROOT / "src" / "holdfast" / "examples").glob("*.toml")]
    described = "".join(file.read_text("utf-8") for file in files)
    tables = {text for text in code() if re.fullmatch(r"\[[a-z.]+(\.NAME)?\]", text)}
    kinds = {text for text in code() if text.startswith('kind = "')}
    assert len(tables) > 6
    assert [text for text in sorted(tables | kinds) if text not in described] == []


def test_rows_of_tables_have_as_many_cells_as_their_heading():
    assert len(PAGE.tables) == len(PLACES) + 1
    for heading, *lines in PAGE.tables:
        assert {line.count("|") for line in lines} == {heading.count("|")}, heading


def test_the_page_is_linked():
    assert "docs/papers.md" in (ROOT / "README.md").read_text("utf-8")
    assert "papers.md" in (DOCS / "theory" / "README.md").read_text("utf-8")
