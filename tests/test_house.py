"""The rules of the house that a reader should not have to police."""

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import holdfast

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "holdfast"
LOCK = ROOT / "requirements.lock"

FLOW = "errors files strict_json problem graph equations structure schemes engine".split()
FLOW += "results stability page exchange studio".split()
DATA = {"examples"}  # problem files: they import nothing, and any room may open them
DOORS = {"__init__", "__main__", "cli"}  # what stands outside the flow
PUBLIC_ONLY = {"studio", "cli", "__main__"}  # these see what a user sees
ROOT_NAMES = "holdfast"  # a public name, taken from the package itself


# ---------------------------------------------------------------- imports point back


def place(file: Path) -> str:
    """The room, or the top-level module, that a source file belongs to."""
    return door(file.relative_to(SOURCE).parts[0].removesuffix(".py"))


def door(part: str) -> str:
    """The command line is one door, `cli`, with a file for each group of verbs: `cli_runs`, `cli_page`, ..."""
    return "cli" if part.startswith("cli_") else part


def always_imported(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """The import statements below a node, at any depth, less those under `if TYPE_CHECKING:`."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield node
    elif isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
        for child in node.orelse:
            yield from always_imported(child)
    else:
        for child in ast.iter_child_nodes(node):
            yield from always_imported(child)


def imported_modules(statement: ast.Import | ast.ImportFrom, package: tuple[str, ...]) -> Iterator[str]:
    """Dotted names that a statement in `package` may load; `from a import b` may mean the module a.b."""
    if isinstance(statement, ast.Import):
        yield from (alias.name for alias in statement.names)
        return
    base = package[: len(package) - statement.level + 1] if statement.level else ()
    start = ".".join((*base, *filter(None, [statement.module])))
    yield from (f"{start}.{alias.name}" for alias in statement.names)


def imported_parts(text: str, package: tuple[str, ...]) -> set[str]:
    """The parts of Holdfast that a source text imports: rooms, top-level modules, or `holdfast` for a public name."""
    parts = set()
    for statement in always_imported(ast.parse(text)):
        for name in imported_modules(statement, package):
            first, _, rest = name.partition(".")
            if first == "holdfast":
                part = door(rest.partition(".")[0])
                parts.add(part if part in {*FLOW, *DATA, *DOORS} else ROOT_NAMES)
    return parts


def forbidden(here: str, part: str) -> bool:
    """Whether code in `here` may not import `part`."""
    if here == "__init__" or part == here or part in DATA:
        return False
    if here in PUBLIC_ONLY:
        return part not in {ROOT_NAMES, "errors", "files", "strict_json"} and not (here == "__main__" and part == "cli")
    if here in DATA:
        return True
    return part not in FLOW or FLOW.index(part) > FLOW.index(here)


SOURCE_FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("file", SOURCE_FILES, ids=lambda file: file.relative_to(SOURCE).as_posix())
def test_imports_only_point_back_along_the_flow(file):
    here = place(file)
    assert here in {*FLOW, *DATA, *DOORS}, f"{here} has no place in the flow"
    package = ("holdfast", *file.relative_to(SOURCE).parent.parts)
    wrong = sorted(part for part in imported_parts(file.read_text("utf-8"), package) if forbidden(here, part))
    assert not wrong, f"{file.relative_to(ROOT)}: {here} may not import {', '.join(wrong)}"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("import holdfast as hf", {"holdfast"}),
        ("import holdfast.engine.kernel", {"engine"}),
        ("from holdfast import derive, errors", {"holdfast", "errors"}),
        ("from holdfast.graph.nodes import Node", {"graph"}),
        ("from . import nodes", {"graph"}),
        ("from .nodes import Node", {"graph"}),
        ("from .. import engine", {"engine"}),
        ("from ..engine.kernel import compiled", {"engine"}),
        ("def f():\n    from holdfast.page import html", {"page"}),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from holdfast.page import html", set()),
        ("if TYPE_CHECKING:\n    pass\nelse:\n    import holdfast.page", {"page"}),
        ("import numpy, holdfastly", set()),
    ],
)
def test_every_way_to_import_is_seen(text, parts):
    assert imported_parts(text, package=("holdfast", "graph")) == parts


@pytest.mark.parametrize(
    ("here", "part", "verdict"),
    [
        ("engine", "graph", False),
        ("graph", "engine", True),
        ("graph", "holdfast", True),
        ("graph", "cli", True),
        ("errors", "problem", True),
        ("stability", "results", False),
        ("results", "stability", True),
        ("studio", "holdfast", False),
        ("studio", "engine", True),
        ("cli", "errors", False),
        ("cli", "problem", True),
        ("__main__", "cli", False),
        ("__init__", "studio", False),
    ],
)
def test_forward_imports_are_refused(here, part, verdict):
    assert forbidden(here, part) is verdict


# ---------------------------------------------------------------- names


def test_no_public_name_is_the_name_of_a_room():
    rooms = {*FLOW, *(place(file) for file in SOURCE.glob("*/*")), *(place(file) for file in SOURCE.glob("*.py"))}
    assert {"problem", "stability"} <= rooms
    assert len(holdfast.__all__) > 50
    assert not set(holdfast.__all__) & rooms


# ---------------------------------------------------------------- the lock


def locked() -> list[str]:
    """The requirements of the lock, one text each with its hashes."""
    lines = LOCK.read_text("utf-8").replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


def test_the_lock_names_no_host():
    assert "://" not in LOCK.read_text("utf-8")


def test_each_locked_requirement_is_pinned_and_hashed():
    assert locked()
    for requirement in locked():
        assert re.match(r"[a-z0-9-]+==[^\s;]+", requirement), requirement
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", requirement), requirement.split()[0]


def test_the_lock_satisfies_what_the_project_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wanted = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    wanted += project["project"]["optional-dependencies"]["dev"]
    pins = {}
    for requirement in locked():
        name, version = re.match(r"([a-z0-9-]+)==([^\s;]+)", requirement).groups()
        pins.setdefault(name, []).append(version)
    for requirement in map(Requirement, wanted):
        if requirement.name == "holdfast":
            continue  # our own extras, resolved into their parts
        versions = pins.get(requirement.name, [])
        assert versions, f"{requirement.name} is not locked: make lock"
        assert all(map(requirement.specifier.contains, versions)), f"{requirement} against {versions}: make lock"


# ---------------------------------------------------------------- what is committed


# Put together here, so that this file does not match itself.
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:" + "|".join(["work", "root", r"home/\w+", r"Users/\w+"]) + ")/")


def test_machine_paths_are_recognised():
    inside, outside = ["work", "root", "home/ann", "Users/ann"], ["framework", "roots", "home"]
    assert all(MACHINE_PATH.search(f"in '/{folder}/x'") for folder in inside)
    assert not any(MACHINE_PATH.search(f"in '/{folder}/' or docs/{folder}/x") for folder in outside)


def test_no_file_names_a_path_of_one_machine():
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: what is committed cannot be listed")
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
    files = [ROOT / name for name in names if name and (ROOT / name).is_file()]
    assert Path(__file__) in files
    found = []
    for file in files:
        content = file.read_bytes()
        if b"\0" not in content:  # a text
            lines = content.decode("utf-8", errors="replace").splitlines()
            found += [f"{file.relative_to(ROOT)}:{n}" for n, line in enumerate(lines, 1) if MACHINE_PATH.search(line)]
    assert not found


# ---------------------------------------------------------------- the examples


PROBLEMS = sorted([*SOURCE.glob("examples/**/*.toml"), *ROOT.glob("examples/**/*.toml")])


def test_there_are_example_problems():
    assert len(PROBLEMS) >= 16


@pytest.mark.parametrize("file", PROBLEMS, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_every_example_problem_loads(file):
    assert holdfast.load(file).title
