"""The documentation of the command line says what the commands print."""

import json
import re
from importlib import resources
from pathlib import Path

import pytest
from click.testing import CliRunner

from holdfast.cli.main import main

DOCS = Path(__file__).parents[1] / "docs" / "command-line.md"
EXAMPLES = resources.files("holdfast") / "examples"
TABLES = "\n[ensemble]\ngrid.g = [9.81, 1.62]\n"
CALLS = {
    "check": ["cart_rod"],
    "derive": ["cart_rod"],
    "conditions": ["cart_rod"],
    "forms": ["cart_rod"],
    "simulate": ["cart_rod", "--duration", "1"],
    "ensemble": ["cart_rod", "--duration", "1"],
    "sample": ["gusts", "--paths", "5", "--duration", "1"],
    "certify": ["cart_rod", "--duration", "1", "--effort", "1"],
    "tune": ["pendulum", "--duration", "0.5"],
    "lagrangian": ["rlc"],
    "examples": [],
}


def documented(verb: str) -> list[str]:
    row = re.search(rf"^\| {verb} \| (.*) \|$", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    assert row, f"{verb} is not documented"
    return row[1].split()


@pytest.mark.parametrize("verb", CALLS)
def test_the_keys_of_json_are_the_documented_ones(verb):
    name, *options = CALLS[verb] or [""]
    text = (EXAMPLES / f"{name}.toml").read_text("utf-8") + TABLES if name else ""
    result = CliRunner().invoke(main, [verb, *(["-"] if name else []), *options, "--json"], input=text)
    assert list(json.loads(result.stdout)) == documented(verb)
