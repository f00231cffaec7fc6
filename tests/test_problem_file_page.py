"""docs/problem-file.md knows every key that the reader knows, and its snippets are problems that load."""

import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

import holdfast as hf
from holdfast.problem.file import family_table as family_tables
from holdfast.problem.file import law_table as law_tables
from holdfast.problem.file import mass_table as mass_tables
from holdfast.problem.file import read as reading
from holdfast.problem.file.entries import WrittenNumber
from holdfast.problem.file.findings import Findings
from holdfast.problem.file.places import Places
from holdfast.problem.file.read import read_problem
from holdfast.problem.file.repeat import REPEATED
from holdfast.problem.file.tables import body_table as body_tables
from holdfast.problem.problem import LYAPUNOV_KEYS
from holdfast.problem.quantities import FUNCTIONS, RESERVED_STARTS
from holdfast.problem.text.builder import PLACE_FUNCTIONS, VECTOR_FUNCTIONS
from holdfast.problem.units import dimensions
from holdfast.results.ensembles.cases import cases_of
from holdfast.results.ensembles.table import stated_cases
from holdfast.results.shapes import FIELDS as SHAPES
from holdfast.stability.promise import request

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "problem-file.md").read_text("utf-8")
SNIPPETS = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)

JOINT_KEYS = {f.name for kind in body_tables.KINDS.values() for f in fields(kind)} - {"a", "b"}
KNOWN = {
    "The top of the file": [*reading.TOP_KEYS, "repeat"],
    "[repeat.NAME]": ["for", *REPEATED],
    "Names": RESERVED_STARTS,
    "Expressions": [*FUNCTIONS, "pi", "t"],
    "[system]": reading.SYSTEM_KEYS,
    "[system.masses.NAME]": [*mass_tables.MASS_KEYS, *(key for _, keys in mass_tables.LISTS.values() for key in keys)],
    "[bodies.NAME]": [*body_tables.BODY_KEYS, *SHAPES, *(key for keys in SHAPES.values() for key in keys)],
    "[joints.NAME]": [*body_tables.KINDS, "kind", "between", *JOINT_KEYS],
    "[program]": reading.PROGRAM_KEYS,
    "[program.law]": [*law_tables.KINDS, *(key for _, keys in law_tables.KINDS.values() for key in keys)],
    "[family]": family_tables.FAMILY_KEYS,
    "[run]": [*reading.RUN_KEYS, *(scheme.name for scheme in hf.ALL_SCHEMES)],
    "[certificate]": request.KEYS,
    "[lyapunov]": LYAPUNOV_KEYS,
    "[ensemble]": ["grid", "zip"],
    "[units]": list(dimensions.KNOWN),
    "[animation]": ["links", "traces"],
}


def section(title: str) -> str:
    """The text under a heading, up to the next one."""
    found = re.search(rf"^##+ {re.escape(title)}$(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"no section {title}"
    return found[1]


@pytest.mark.parametrize("title", KNOWN)
def test_every_key_that_the_reader_knows_has_its_place(title):
    text = section(title)
    assert not [key for key in KNOWN[title] if f"`{key}`" not in text]


TABLES = [
    "[system]",
    "[bodies.NAME]",
    "[system.masses.NAME]",
    "[program]",
    "[family]",
    "[run]",
    "[certificate]",
    "[lyapunov]",
]


@pytest.mark.parametrize("title", TABLES)
def test_no_key_is_described_that_the_reader_does_not_know(title):
    rows = re.findall(r"^\| `(\w+)` \|", section(title), re.MULTILINE)
    assert rows
    assert set(rows) <= set(KNOWN[title])


def test_the_kinds_of_laws_are_described_with_their_own_keys():
    for kind, (_, keys) in law_tables.KINDS.items():
        row = re.search(rf"^\| `{kind}` \| (.*?) \|", section("[program.law]"), re.MULTILINE)
        assert row, kind
        assert {key for key in re.findall(r"`(\w+)`", row[1])} == set(keys), kind


def test_the_kinds_of_joints_are_described_with_their_own_keys():
    for word, kind in body_tables.KINDS.items():
        row = re.search(rf"^\| `{word}` \| .*? \| (.*?) \|$", section("[joints.NAME]"), re.MULTILINE)
        assert row, word
        assert set(re.findall(r"`(\w+)`", row[1])) == {f.name for f in fields(kind)} - {"a", "b"}, word


def test_every_function_of_vectors_is_described():
    assert not [name for name in (*VECTOR_FUNCTIONS, *PLACE_FUNCTIONS) if f"`{name}(" not in section("Expressions")]


def merged(base, snippet):
    """A fragment over the page's first problem: tables replace what they state, except [system] and [program]."""
    whole = dict(base)
    for key, value in snippet.items():
        deep = key in ("system", "program")
        whole[key] = {**base.get(key, {}), **value} if deep else value
    return whole


@pytest.mark.parametrize("text", SNIPPETS, ids=[re.sub(r"\s+", " ", text)[:40] for text in SNIPPETS])
def test_every_snippet_is_a_problem_or_a_part_of_the_first_one(text):
    base, snippet = (tomllib.loads(part, parse_float=WrittenNumber) for part in (SNIPPETS[0], text))
    if "schema" in snippet:
        problem = hf.loads(text)
    else:
        problem = read_problem(merged(base, snippet), Findings("the page", Places(text)))
    equations = hf.derive(problem)
    assert equations.coordinates
    if "certificate" in snippet:
        request.certificate_request(equations, None, None, None)
    if "lyapunov" in snippet:
        assert hf.lyapunov(equations).decreasing.label == "proved"
    if "ensemble" in snippet:
        cases = cases_of(equations, stated_cases(problem), None, {})
        assert set(cases.columns) == {"m", "law.stiffness.wire", "x", "x_dot"}


@pytest.mark.parametrize("page", ["../README.md", "command-line.md"])
def test_the_page_is_linked(page):
    text = (DOCS / page).read_text("utf-8")
    assert re.search(r"\]\((docs/)?problem-file\.md\)", text)
