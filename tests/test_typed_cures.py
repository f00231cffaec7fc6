"""What the command line advises can be typed: a key of the file, an option or a command, never a call in Python."""

import ast
import re
from dataclasses import fields
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import holdfast
from holdfast.cli.cures import CURES, PYTHON, typed
from holdfast.cli.main import main
from holdfast.cli.verbs.forms import FORMS
from holdfast.problem.file.law_table import KINDS
from holdfast.problem.file.read import PROGRAM_KEYS, RUN_KEYS, SYSTEM_KEYS, TOP_KEYS
from holdfast.problem.problem import LYAPUNOV_KEYS
from holdfast.problem.run import Run

SOURCE = Path(holdfast.__file__).parent
LIMIT = 50  # cures that are for Python alone: wrong types of arguments, and verbs without a command


def written(node):
    """The text of a cure as the source writes it; what is put in is X."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        return ["".join(part.value if isinstance(part, ast.Constant) else "X" for part in node.values)]
    if isinstance(node, ast.IfExp):
        return [*written(node.body), *written(node.orelse)]
    return []


def cures():
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "fix":
                yield from ((f"{file.relative_to(SOURCE)}:{node.value.lineno}", text) for text in written(node.value))


def test_no_cure_is_a_call_unless_it_says_so():
    python, asked = [], 0
    for place, text in cures():
        for by_option in (False, True):
            said = typed(text, by_option=by_option)
            assert said.startswith("in Python: ") or not PYTHON.search(said), (place, said)
        asked += 1
        python += [place] * said.startswith("in Python: ")
    assert asked > 300
    assert len(python) <= LIMIT, python


def test_what_is_named_exists():
    """Keys, options, kinds of laws and commands that the table writes are those of files and of the command line."""
    said = [word for _, word in CURES]
    commands = main.commands
    options = {o for verb in commands.values() for p in verb.params if isinstance(p, click.Option) for o in p.opts}
    for word in said:
        assert set(re.findall(r"(?<!\w)--[a-z-]+", word)) <= options, word
        assert set(re.findall(r"`holdfast (\w+)", word)) <= set(commands), word
        assert set(re.findall(r"--form (\w+)", word)) <= set(FORMS), word
        assert set(re.findall(r'kind = "([\w-]+)"', word)) <= set(KINDS), word
        assert set(re.findall(r"\[(\w+)[\].]", word)) <= set(TOP_KEYS), word
        assert set(re.findall(r"\[run\] (\w+) =", word)) <= set(RUN_KEYS), word
        assert set(re.findall(r"\[lyapunov\] (\w+) =", word)) <= set(LYAPUNOV_KEYS), word
        assert set(re.findall(r"\[program\.(?!law)(\w+)\]|\[program\] (\w+) =", word)) <= {
            pair for key in PROGRAM_KEYS for pair in ((key, ""), ("", key))
        }, word
        assert set(re.findall(r"\[system\.(\w+)", word)) <= set(SYSTEM_KEYS), word
    assert {field.name for field in fields(Run)} == set(RUN_KEYS)


@pytest.mark.parametrize(
    ("fix", "file", "option"),
    [
        ("give duration=", "give [run] duration = ...", "give --duration"),
        ('correct it, or let start_policy="project" move it',
         'correct it, or let [run] start_policy = "project" move it',
         'correct it, or let --start-policy "project" move it'),
        ("hf.sample_paths measures it", "`holdfast sample FILE` measures it", None),
        ("leave the sampling out for this, or use hf.quasi", "leave the sampling out for this", None),
        ("hf.derive(problem) first", "in Python: hf.derive(problem) first", None),
        ("use a smaller step", "use a smaller step", None),
        ("", "", None),
    ],
)  # fmt: skip
def test_cures_as_they_are_typed(fix, file, option):
    assert typed(fix, by_option=False) == file
    assert typed(fix, by_option=True) == (option or file)


PENDULUM = """schema = 1
[system]
coordinates = ["x", "y"]
kinetic = "(x_dot**2 + y_dot**2)/2"
[program.holonomic]
rod = "x**2 + y**2 - 1"
[program.law]
kind = "LAW"
[start]
x = 1
y = START
[run]
RUN
"""


@pytest.mark.parametrize(
    ("words", "law", "start", "run", "said"),
    [
        (["simulate"], "tuned", "0", "step = 0.01\nduration = 1", None),
        (["simulate"], "unstabilised", "0", "step = 0.01", "[run] duration = ..."),
        (["simulate"], "unstabilised", "0", "duration = 1", "[run] step = ..."),
        (["simulate"], "unstabilised", "0.5", "step = 0.01\nduration = 1", "start_policy"),
        (["certify"], "unstabilised", "0", 'scheme = "dop853"\ntolerance = 1e-9\nduration = 1', None),
        (["lyapunov"], "unstabilised", "0", "step = 0.01\nduration = 1", None),
        (["ensemble"], "unstabilised", "0", "step = 0.01\nduration = 1", "[ensemble]"),
        (["sample"], "unstabilised", "0", "step = 0.01\nduration = 1", "[system.noise]"),
    ],
)
def test_commands_advise_what_can_be_typed(tmp_path, words, law, start, run, said):
    file = tmp_path / "rod.toml"
    file.write_text(PENDULUM.replace("LAW", law).replace("START", start).replace("RUN", run), "utf-8")
    result = CliRunner().invoke(main, [*words, str(file)])
    advice = "".join(line for line in result.output.splitlines() if line.startswith("  fix:"))
    assert not PYTHON.search(advice), advice
    assert said is None or said in advice, result.output
