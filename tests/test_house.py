"""The rules of the house that a reader should not have to police."""

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import holdfast

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "holdfast"
LOCK = ROOT / "requirements.lock"

FLOW = "errors common problem graph equations structure schemes engine results stability page exchange".split()
DATA = {"examples"}  # problem files: they import nothing, and any room may open them
DOORS = {"__init__", "__main__", "cli"}  # what stands outside the flow
PUBLIC_ONLY = {"cli", "__main__"}  # these see what a user sees
ROOT_NAMES = "holdfast"  # a public name, taken from the package itself


# ---------------------------------------------------------------- imports point back


@cache
def parsed(file: Path) -> ast.Module:
    """The statements of a source file."""
    return ast.parse(file.read_text("utf-8"))


def place(file: Path) -> str:
    """The room, or the top-level module, that a source file belongs to."""
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


def below(node: ast.AST) -> list[ast.AST]:
    """What a node is made of but for expressions, in which nothing is imported, and no class defined."""
    return [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr)]


def statements(node: ast.AST) -> Iterator[ast.AST]:
    for child in below(node):
        yield child
        yield from statements(child)


def always_imported(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """The import statements below a node, at any depth, less those under `if TYPE_CHECKING:`."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield node
    elif isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
        for child in node.orelse:
            yield from always_imported(child)
    else:
        for child in below(node):
            yield from always_imported(child)


def imported_modules(statement: ast.Import | ast.ImportFrom, package: tuple[str, ...]) -> Iterator[str]:
    """Dotted names that a statement in `package` may load; `from a import b` may mean the module a.b."""
    if isinstance(statement, ast.Import):
        yield from (alias.name for alias in statement.names)
        return
    base = package[: len(package) - statement.level + 1] if statement.level else ()
    start = ".".join((*base, *filter(None, [statement.module])))
    yield from (f"{start}.{alias.name}" for alias in statement.names)


def imported_parts(source: ast.Module, package: tuple[str, ...]) -> set[str]:
    """The parts of Holdfast that a source imports: rooms, top-level modules, or `holdfast` for a public name."""
    parts = set()
    for statement in always_imported(source):
        for name in imported_modules(statement, package):
            first, _, rest = name.partition(".")
            if first == "holdfast":
                part = rest.partition(".")[0]
                parts.add(part if part in {*FLOW, *DATA, *DOORS} else ROOT_NAMES)
    return parts


def forbidden(here: str, part: str) -> bool:
    """Whether code in `here` may not import `part`."""
    if here == "__init__" or part == here or part in DATA:
        return False
    if here in PUBLIC_ONLY:
        return part not in {ROOT_NAMES, "errors", "common"} and not (here == "__main__" and part == "cli")
    if here in DATA:
        return True
    return part not in FLOW or FLOW.index(part) > FLOW.index(here)


SOURCE_FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("file", SOURCE_FILES, ids=lambda file: file.relative_to(SOURCE).as_posix())
def test_imports_only_point_back_along_the_flow(file):
    here = place(file)
    assert here in {*FLOW, *DATA, *DOORS}, f"{here} has no place in the flow"
    package = ("holdfast", *file.relative_to(SOURCE).parent.parts)
    wrong = sorted(part for part in imported_parts(parsed(file), package) if forbidden(here, part))
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
    assert imported_parts(ast.parse(text), package=("holdfast", "graph")) == parts


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
        ("cli", "holdfast", False),
        ("cli", "engine", True),
        ("cli", "errors", False),
        ("cli", "common", False),
        ("cli", "problem", True),
        ("__main__", "cli", False),
        ("__init__", "page", False),
    ],
)
def test_forward_imports_are_refused(here, part, verdict):
    assert forbidden(here, part) is verdict


# ---------------------------------------------------------------- rooms within rooms

MOST_MODULES = 16  # in one folder: about as many as a listing shows at a glance


def folders() -> list[Path]:
    return sorted({file.parent for file in SOURCE_FILES} - {SOURCE})


def imported_at_once(source: ast.Module) -> set[str]:
    """The modules that a source loads when it is imported itself; what a function imports comes later."""
    found = set()
    for statement in source.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            found.update(imported_modules(statement, ()))
    return found


def part_of(module: str, room: str) -> str | None:
    """The sub-room, or the module, of a room that a dotted name lies in."""
    parts = module.split(".")
    return parts[2] if parts[:2] == ["holdfast", room] and len(parts) > 2 else None


def neighbours(room: str) -> dict[str, set[str]]:
    """Which parts of a room load which others of its parts."""
    graph: dict[str, set[str]] = {}
    for file in (SOURCE / room).rglob("*.py"):
        here = file.relative_to(SOURCE / room).parts[0].removesuffix(".py")
        loaded = {part_of(module, room) for module in imported_at_once(parsed(file))}
        graph.setdefault(here, set()).update(part for part in loaded if part not in {None, here})
    return graph


@pytest.mark.parametrize("room", [part for part in FLOW if (SOURCE / part).is_dir()])
def test_sub_rooms_do_not_load_each_other_in_a_circle(room):
    graph = neighbours(room)
    assert len(graph) > 1
    TopologicalSorter(graph).prepare()  # a circle is a CycleError that names its parts


def test_a_circle_of_sub_rooms_is_seen():
    with pytest.raises(CycleError):
        TopologicalSorter({"a": {"b"}, "b": {"a"}}).prepare()
    assert part_of("holdfast.stability.proof.cells.Cell", "stability") == "proof"
    source = ast.parse("from holdfast.graph import nodes\ndef f():\n    import numpy")
    assert imported_at_once(source) == {"holdfast.graph.nodes"}


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: folder.relative_to(SOURCE).as_posix())
def test_a_folder_is_small_and_says_what_it_is_for(folder):
    modules = [file.stem for file in folder.glob("*.py") if file.stem != "__init__"]
    assert len(modules) <= MOST_MODULES, f"{len(modules)} modules: make a room within the room"
    assert ast.get_docstring(parsed(folder / "__init__.py")), "no docstring in __init__.py"


# ---------------------------------------------------------------- names


def test_no_public_name_is_the_name_of_a_room():
    rooms = {*FLOW, *(place(file) for file in SOURCE.glob("*/*")), *(place(file) for file in SOURCE.glob("*.py"))}
    assert {"problem", "stability"} <= rooms
    assert len(holdfast.__all__) > 50
    assert not set(holdfast.__all__) & rooms


def test_type_checkers_see_every_public_name():
    stub = ast.parse((SOURCE / "__init__.pyi").read_text("utf-8"))
    imports = [statement for statement in stub.body if isinstance(statement, ast.ImportFrom)]
    seen = {(alias.asname, statement.module, alias.name) for statement in imports for alias in statement.names}
    stated = {s.target.id: ast.unparse(s.annotation).strip("_") for s in stub.body if isinstance(s, ast.AnnAssign)}
    for name, (module, attribute) in holdfast._HOME_OF.items():
        if name == attribute:  # a stub exports what keeps its name
            assert (name, module, name) in seen
        else:
            assert stated[name] == type(getattr(holdfast, name)).__name__


def test_no_two_classes_have_one_name():
    homes = {}
    for file in SOURCE_FILES:
        if "verifier" in file.parts:  # somebody else, who shares nothing
            continue
        for statement in parsed(file).body:
            if isinstance(statement, ast.ClassDef):
                homes.setdefault(statement.name, []).append(file.relative_to(SOURCE).as_posix())
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


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


# ---------------------------------------------------------------- records


CHANGING = {  # what counts, collects or is filled in as the work goes on; everything else is frozen
    "engine": {"AcceptedSteps", "AdaptiveRun"},
    "page": {"Panel"},
    "problem": {"ReadingBudget"},
    "results": {"_ProjectAfterStep"},
    "stability": {"Piece", "Cells", "ChartCells", "Shown", "Reading", "Rounded", "Budget", "Cover", "Statement"},
    "structure": {"Clock"},
}


@cache
def records() -> list[tuple[str, ast.ClassDef, dict[str, bool]]]:
    """Every dataclass of the house: its room, its class and what its decorator asks for."""
    found = []
    for file in SOURCE_FILES:
        for node in statements(parsed(file)):
            for decorator in node.decorator_list if isinstance(node, ast.ClassDef) else ():
                if ast.unparse(decorator).startswith("dataclass"):
                    asked = {k.arg: ast.literal_eval(k.value) for k in getattr(decorator, "keywords", ())}
                    found.append((place(file), node, asked))
    return found


def holds_arrays(node: ast.ClassDef) -> bool:
    fields = [ast.unparse(part.annotation) for part in node.body if isinstance(part, ast.AnnAssign)]
    return any(re.search(r"\b(ndarray|Array)\b", field) for field in fields)


def test_records_are_frozen():
    found = {}
    for room, node, asked in records():
        if not asked.get("frozen", False):
            found.setdefault(room, set()).add(node.name)
    assert found == CHANGING


def test_records_of_arrays_are_compared_as_things():
    """Two arrays have no one answer to ==, and no hash."""
    fields = [(node.name, asked.get("eq", True)) for _, node, asked in records() if holds_arrays(node)]
    assert len(fields) > 40
    assert {name for name, compared in fields if compared} == set()


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


INSTALL = re.compile(r"\b(?:apt-get|apt|dnf|brew|pip3?|uv|conda|npm)\b[\"', ]+(?:install|add|update)\b")


def test_no_test_installs_a_package():
    """What a test needs is set up before, by make; a test that finds nothing is skipped with its reason."""
    assert all(INSTALL.search(f"x = {word}") for word in ('["pip", ' + '"install"]', '"apt-get' + ' install -y"'))
    files = list((ROOT / "tests").rglob("*.py"))
    assert Path(__file__) in files
    assert not [file.name for file in files if INSTALL.search(file.read_text("utf-8"))]


# ---------------------------------------------------------------- the examples


PROBLEMS = sorted([*SOURCE.glob("examples/**/*.toml"), *ROOT.glob("examples/**/*.toml")])


def test_there_are_example_problems():
    assert len(PROBLEMS) >= 16


@pytest.mark.parametrize("file", PROBLEMS, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_every_example_problem_loads(file):
    assert holdfast.load(file).title
