"""Which tests run which lines, and how long each takes: measured once, and again for the test files that changed.

A map is two files: the lines by test, as coverage stores them, and a table of tests with their seconds. Only tests
that pass are in it. What tests share counts for each of them: a fixture of a module for all its users, and what a
helper or a room keeps (`functools.cache`) is made anew in every test. The sources are kept beside it: after a small
change of them its lines can be moved to where they stand now, which takes a moment instead of half an hour.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from time import perf_counter

import coverage
import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "holdfast"
FOLDER = ROOT / "build" / "mutate"
LINES, TABLE, KEPT = FOLDER / "lines.coverage", FOLDER / "tests.json", FOLDER / "source"
HOUSE = "tests/test_house.py::"
EVERYWHERE = (HOUSE + "test_records_are_frozen", HOUSE + "test_records_of_arrays_are_compared_as_things")  # all modules
LEFT_OUT = "not slow and not prove"  # a mutation is judged by tests that take a moment


@dataclass(frozen=True)
class CoverageMap:
    seconds: dict[str, float]  # by test
    users: dict[str, list[str]]  # tests, by the fixture that they share

    @cached_property
    def _data(self) -> coverage.CoverageData:
        data = coverage.CoverageData(str(LINES))
        data.read()
        return data

    @cached_property
    def _modules(self) -> dict[str, dict[int, set[str]]]:
        return {}

    def lines(self, module: Path) -> dict[int, set[str]]:
        """The tests of each line that ran in some test."""
        held = self._modules
        if str(module) not in held:
            found = self._data.contexts_by_lineno(str(module))
            held[str(module)] = {n: self._tests(contexts) for n, contexts in found.items()}
        return held[str(module)]

    def _tests(self, contexts: list[str]) -> set[str]:
        every = {test for context in contexts for test in self.users.get(context, [context])}
        return {test for test in every if test in self.seconds}

    def of_module(self, module: Path) -> set[str]:
        """The tests that run any line of a module, and those that read every module."""
        return set().union(*self.lines(module).values(), (test for test in EVERYWHERE if test in self.seconds))


class _Notes:
    """A pytest plugin: each test is a context of the coverage, and its seconds are kept if it passes."""

    def __init__(self, measured: coverage.Coverage, rooms: list[str]) -> None:
        self.measured, self.seconds, self._began = measured, {}, 0.0
        self._owners = ("tests.", *(f"holdfast.{room}." for room in rooms))
        self.users: dict[str, list[str]] = {}
        self._failed: set[str] = set()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            for made in (fixture for known in item._fixtureinfo.name2fixturedefs.values() for fixture in known):
                if made.scope != "function":
                    self.users.setdefault(_named(made), []).append(item.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef, request: pytest.FixtureRequest):
        if fixturedef.scope != "function":
            self.measured.switch_context(_named(fixturedef))
        try:
            return (yield)
        finally:
            self.measured.switch_context(self._running)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        _forget(self._owners)
        self._running = nodeid
        self.measured.switch_context(nodeid)
        self._began = perf_counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome != "passed":
            self._failed.add(report.nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        if nodeid not in self._failed:
            self.seconds[nodeid] = round(perf_counter() - self._began, 4)
        self.measured.switch_context("")


def _named(fixture: pytest.FixtureDef) -> str:
    return f"fixture {fixture.argname} of {fixture.baseid}"


def _forget(owners: tuple[str, ...]) -> None:
    """Empty what functions of these modules keep from one test to the next."""
    for name, module in list(sys.modules.items()):
        if name.startswith(owners):
            for value in list(vars(module).values()):
                if callable(forget := getattr(value, "cache_clear", None)) and value.__module__.startswith(owners):
                    forget()


def measure(files: list[str], rooms: list[str]) -> None:
    """Run test files under coverage, in this process, and leave the two parts of a map beside the old ones."""
    include = [f"{SOURCE / room}/*" for room in rooms]
    measured = coverage.Coverage(data_file=f"{LINES}.new", include=include, config_file=False)
    measured.start()
    notes = _Notes(measured, rooms)
    plain = ["-q", "-m", LEFT_OUT, "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=no"]
    ended = pytest.main([*files, *plain], plugins=[notes])
    if ended not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED):
        sys.exit(f"the tests could not be measured: {ended!r}")  # one file that cannot be read hides all the others
    measured.stop()
    measured.save()
    Path(f"{TABLE}.new").write_text(json.dumps({"seconds": notes.seconds, "users": notes.users}))


def heed_ctrl_c() -> None:
    """What a shell starts in the background ignores Ctrl-C, and a test that sends it would wait for ever."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def coverage_map(rooms: list[str], tests: list[str], *, near: bool = False) -> CoverageMap:
    """The map of the present tree: what has not changed since it was last measured is not measured again.

    With `near` a change of the sources is no reason to measure a test that has not changed.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    source = _digest(SOURCE.rglob("*.py"))
    files = {str(path.relative_to(ROOT)): _digest([path, *_beside(path)]) for path in _test_files(tests)}
    old = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    if near and KEPT.exists() and old.get("source") != source:
        _move_lines()
    elif old.get("source") != source:
        old = {"files": {}, "seconds": {}, "users": {}}
        LINES.unlink(missing_ok=True)
    stale = [name for name, digest in files.items() if old["files"].get(name) != digest]
    seconds = {t: s for t, s in old["seconds"].items() if t.partition("::")[0] in files.keys() - set(stale)}
    users = old["users"]
    if stale:
        print(f"measuring which lines {len(stale)} test files run", flush=True)
        code = f"from tools.coverage_map import measure; measure({stale}, {rooms})"
        environment = os.environ | {"PYTHONPATH": str(SOURCE.parent)}
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True, preexec_fn=heed_ctrl_c)
        found = json.loads(Path(f"{TABLE}.new").read_text())
        seconds |= found["seconds"]
        users = {name: [*{*users.get(name, ()), *found["users"].get(name, ())}] for name in users | found["users"]}
        joined = coverage.CoverageData(str(LINES))
        joined.read()
        new = coverage.CoverageData(f"{LINES}.new")
        new.read()
        joined.update(new)
        joined.write()
    if stale or old.get("source") != source:
        _keep_source()
        TABLE.write_text(json.dumps({"source": source, "files": files, "seconds": seconds, "users": users}))
    return CoverageMap(seconds, users)


def _move_lines() -> None:
    """Give the lines of the last map the numbers they have now; a changed line has the tests of the last one before."""
    old, new = coverage.CoverageData(str(LINES)), coverage.CoverageData(f"{LINES}.moved")
    old.read()
    new.erase()
    for name in old.measured_files():
        before, after = KEPT / Path(name).relative_to(SOURCE), Path(name)
        if not after.exists():
            continue
        origins = _origins(before.read_text().splitlines(), after.read_text().splitlines())
        lines_of: dict[str, list[int]] = {}
        found = old.contexts_by_lineno(name)
        for number, origin in enumerate(origins, 1):
            for context in found.get(origin, ()):
                lines_of.setdefault(context, []).append(number)
        for context, lines in lines_of.items():
            new.set_context(context)
            new.add_lines({name: lines})
    new.write()
    Path(f"{LINES}.moved").replace(LINES)
    _keep_source()


def _keep_source() -> None:
    shutil.rmtree(KEPT, ignore_errors=True)
    shutil.copytree(SOURCE, KEPT, ignore=shutil.ignore_patterns("__pycache__"))


def _origins(before: list[str], after: list[str]) -> list[int]:
    """The line that each line was; of a changed one, what the last before it was."""
    origins = [0] * len(after)
    for block in SequenceMatcher(a=before, b=after, autojunk=False).get_matching_blocks():
        origins[block.b : block.b + block.size] = range(block.a + 1, block.a + block.size + 1)
    return list(accumulate(origins, lambda last, line: line or last))


def _beside(path: Path) -> list[Path]:
    """The helpers that a test file may use: those of its folder and of the folders above."""
    folders = [folder for folder in path.parents if folder.is_relative_to(ROOT / "tests")]
    return sorted(p for folder in folders for p in folder.glob("*.py") if not p.name.startswith("test_"))


def _test_files(tests: list[str]) -> list[Path]:
    found = [p for name in tests for p in ([ROOT / name] if name.endswith(".py") else (ROOT / name).rglob("test_*.py"))]
    return sorted(found)


def _digest(paths) -> str:
    total = sha256()
    for path in sorted(paths):
        total.update(path.read_bytes())
    return total.hexdigest()
