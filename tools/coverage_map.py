"""Which tests run which lines, and how long each takes: measured once, and again for the test files that changed.

A map is two files: the lines by test, as coverage stores them, and a table of tests with their seconds. Only tests
that pass are in it.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from time import perf_counter

import coverage
import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "holdfast"
FOLDER = ROOT / "build" / "mutate"
LINES, TABLE = FOLDER / "lines.coverage", FOLDER / "tests.json"
HOUSE = "tests/test_house.py::"
EVERYWHERE = (HOUSE + "test_records_are_frozen", HOUSE + "test_records_of_arrays_are_compared_as_things")  # all modules
LEFT_OUT = "not slow and not prove"  # a mutation is judged by tests that take a moment


@dataclass(frozen=True)
class CoverageMap:
    seconds: dict[str, float]  # by test

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
            held[str(module)] = {n: {test for test in tests if test in self.seconds} for n, tests in found.items()}
        return held[str(module)]

    def of_module(self, module: Path) -> set[str]:
        """The tests that run any line of a module, and those that read every module."""
        return set().union(*self.lines(module).values(), (test for test in EVERYWHERE if test in self.seconds))


class _Notes:
    """A pytest plugin: each test is a context of the coverage, and its seconds are kept if it passes."""

    def __init__(self, measured: coverage.Coverage) -> None:
        self.measured, self.seconds, self._began = measured, {}, 0.0
        self._failed: set[str] = set()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.measured.switch_context(nodeid)
        self._began = perf_counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome != "passed":
            self._failed.add(report.nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        if nodeid not in self._failed:
            self.seconds[nodeid] = round(perf_counter() - self._began, 4)
        self.measured.switch_context("")


def measure(files: list[str], rooms: list[str]) -> None:
    """Run test files under coverage, in this process, and leave the two parts of a map beside the old ones."""
    include = [f"{SOURCE / room}/*" for room in rooms]
    measured = coverage.Coverage(data_file=f"{LINES}.new", include=include, config_file=False)
    measured.start()
    notes = _Notes(measured)
    pytest.main([*files, "-q", "-m", LEFT_OUT, "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=no"], plugins=[notes])
    measured.stop()
    measured.save()
    Path(f"{TABLE}.new").write_text(json.dumps(notes.seconds))


def coverage_map(rooms: list[str], tests: list[str]) -> CoverageMap:
    """The map of the present tree: what has not changed since it was last measured is not measured again."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    source = _digest(path for room in rooms for path in sorted((SOURCE / room).rglob("*.py")))
    files = {str(path.relative_to(ROOT)): _digest([path]) for path in _test_files(tests)}
    old = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    if old.get("source") != source:
        old = {"files": {}, "seconds": {}}
        LINES.unlink(missing_ok=True)
    stale = [name for name, digest in files.items() if old["files"].get(name) != digest]
    seconds = {t: s for t, s in old["seconds"].items() if t.partition("::")[0] in files.keys() - set(stale)}
    if stale:
        print(f"measuring which lines {len(stale)} test files run", flush=True)
        code = f"from tools.coverage_map import measure; measure({stale}, {rooms})"
        environment = os.environ | {"PYTHONPATH": str(SOURCE.parent)}
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True)
        seconds |= json.loads(Path(f"{TABLE}.new").read_text())
        joined = coverage.CoverageData(str(LINES))
        joined.read()
        new = coverage.CoverageData(f"{LINES}.new")
        new.read()
        joined.update(new)
        joined.write()
        TABLE.write_text(json.dumps({"source": source, "files": files, "seconds": seconds}))
    return CoverageMap(seconds)


def _test_files(tests: list[str]) -> list[Path]:
    found = [p for name in tests for p in ([ROOT / name] if name.endswith(".py") else (ROOT / name).rglob("test_*.py"))]
    return sorted(found)


def _digest(paths) -> str:
    total = sha256()
    for path in paths:
        total.update(path.read_bytes())
    return total.hexdigest()
