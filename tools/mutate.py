"""How many small faults do the tests notice? Random mutations of four rooms, each against the tests that run its line.

    python -m tools.mutate [--count 200] [--seed 13] [--only stability/linear] [--again] [--near]

The work is done in a copy of the tree. A mutation is caught when a test fails, one that passes on the tree as it is, or
when the tests run out of time. It has survived when the fastest tests that run its line, and then those nearest to it,
all pass; the test that caught it in an earlier run comes before them all. `equivalent.toml` lists mutations that change
nothing a user could see, each with its reason; they count neither way. At least 90 % must be caught; the survivors are
listed.
"""

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import islice
from operator import itemgetter
from pathlib import Path
from time import perf_counter

from tools.coverage_map import EVERYWHERE, FOLDER, ROOT, SOURCE, CoverageMap, coverage_map, heed_ctrl_c
from tools.mutations import Finder, Mutation, differs

ROOMS = "equations graph stability results".split()
TESTS = [f"tests/{name}" for name in (*ROOMS, "reference", "properties", "schemes", "examples", "problem")]
TESTS += ["tests/test_house.py"]
WANTED = 0.9  # of the mutations must be caught
LIMIT = 60  # seconds of the processor for the tests of one mutation: a busy machine is not a test that fails
WAIT = 300.0  # seconds on the clock: for those that sleep
FIRST = 25  # tests, the fastest
FURTHER = 20.0  # seconds of further tests, as they took when measured
OUT_OF_TIME = "out of time"
SURVIVORS, CAUGHT = FOLDER / "survivors.json", FOLDER / "caught.json"
EQUIVALENT = Path(__file__).with_name("equivalent.toml")


@dataclass(frozen=True)
class Fate:
    mutation: Mutation
    before: str
    after: str
    caught: bool
    how: str
    seconds: float

    @property
    def key(self) -> tuple[str, str, str]:
        return key_of(self.mutation)

    @property
    def test(self) -> str:
        """The test that failed, if it was one."""
        return test_in(self.how)

    def __str__(self) -> str:
        path = self.mutation.path.relative_to(SOURCE)
        return f"{path}:{self.mutation.line}  {self.how[:150]}\n    - {self.before}\n    + {self.after}"


def key_of(mutation: Mutation) -> tuple[str, str, str]:
    """How a mutation is named in a list: its file, the line before and the line after."""
    return str(mutation.path.relative_to(SOURCE)), *mutation.change(mutation.path.read_bytes())


def test_in(line: str) -> str:
    return line.removeprefix("FAILED ").removeprefix("ERROR ").split(" - ")[0]


class Copy:
    """A copy of the tree in which one file at a time is changed; its compiled files are those of the whole tree."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        names = ("src", "tests", "examples", "benchmarks", "pyproject.toml", "README.md", "docs", "tools")
        for name in names:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, self.root / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif (ROOT / name).exists():
                shutil.copy2(ROOT / name, self.root / name)
        subprocess.run([sys.executable, "-m", "compileall", "-q", "src", "tests"], cwd=self.root, check=True)
        self._cache = folder / "cache"

    def failing(self, tests: list[str], limit: int, *options: str) -> list[str]:
        """The lines in which pytest names what does not pass."""
        shutil.rmtree(self._cache, ignore_errors=True)  # compiled motions of another mutant say nothing
        environment = {
            **os.environ, "PYTHONPATH": str(self.root / "src"), "PYTHONDONTWRITEBYTECODE": "1",
            "HOLDFAST_CACHE": str(self._cache), "COLUMNS": "200",
        }  # fmt: skip
        plain = "-q --no-header --tb=no -p no:cacheprovider -p no:xdist".split()
        running = subprocess.Popen(
            [sys.executable, "-m", "pytest", *plain, *options, "-m", "", *tests],
            cwd=self.root, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
            preexec_fn=lambda: (heed_ctrl_c(), resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))),
        )  # fmt: skip
        try:
            output, _ = running.communicate(timeout=WAIT / LIMIT * limit)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.communicate()
            return [OUT_OF_TIME]
        if running.returncode == -signal.SIGXCPU:
            return [OUT_OF_TIME]
        failed = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return failed or ([output.strip()[-200:]] if running.returncode else [])

    def judge(self, mutation: Mutation, rounds: Iterator[list[str]]) -> Fate:
        """The fate of one mutation; the file is put back. One round is enough for those listed as equivalent."""
        began, source = perf_counter(), mutation.path.read_bytes()
        there = self.root / mutation.path.relative_to(ROOT)
        there.write_bytes(mutation.applied(source))
        for compiled in (there.parent / "__pycache__").glob(f"{there.stem}.*.pyc"):
            compiled.unlink()
        failed: list[str] = []
        for tests in islice(rounds, 1) if key_of(mutation) in known_equivalents() else rounds:
            failed = failed or self.failing(tests, LIMIT, "-x")
        there.write_bytes(source)
        how = failed[0] if failed else "survived"
        return Fate(mutation, *mutation.change(source), bool(failed), how, perf_counter() - began)


def chosen(found: CoverageMap, rooms: list[str], count: int, seed: int, only: str) -> list[Mutation]:
    """Random mutations of lines that some test runs: the same for a seed, as long as their own lines stay."""
    every = []
    for path in sorted(p for room in rooms for p in (SOURCE / room).rglob("*.py")):
        if only in str(path.relative_to(SOURCE)):
            every += [mutation for mutation in Finder(path).mutations() if tests_of(found, mutation)]
    print(f"{len(every)} mutations are possible on lines that a test runs", flush=True)
    seen = Counter[str]()
    order = []
    for mutation in every:
        name = named(mutation)
        seen[name] += 1
        order.append((sha256(f"{seed} {seen[name]} {name}".encode()).digest(), mutation))
    order.sort(key=itemgetter(0))
    return list(islice((mutation for _, mutation in order if differs(mutation)), count))


def tests_of(found: CoverageMap, mutation: Mutation) -> set[str]:
    lines = found.lines(mutation.path)
    if mutation.at_import:
        return found.of_module(mutation.path) if lines else set()
    return next((lines[n] for n in mutation.lines if lines.get(n)), set())


def rounds(found: CoverageMap, mutation: Mutation, known: str | None = None) -> Iterator[list[str]]:
    """The fastest tests of a line; then those of its own room, then others, for as long as they may take."""
    order = sorted(tests_of(found, mutation), key=lambda test: (found.seconds[test], test))
    if known in found.seconds:
        yield [known]
    yield [*order[:FIRST], *(test for test in EVERYWHERE if test in order[FIRST:])]
    room = f"tests/{mutation.path.relative_to(SOURCE).parts[0]}/"
    rest, total, taken = sorted(order[FIRST:], key=lambda t: (not t.startswith(room), found.seconds[t])), 0.0, []
    for test in rest:
        if total + found.seconds[test] <= FURTHER:
            taken.append(test)
            total += found.seconds[test]
    if taken:
        yield taken


def known_equivalents() -> dict[tuple[str, str, str], str]:
    """The reasons, by file, line before and line after."""
    entries = tomllib.loads(EQUIVALENT.read_text())["mutation"] if EQUIVALENT.exists() else []
    return {(entry["file"], entry["before"], entry["after"]): entry["reason"] for entry in entries}


def judged(mutations: list[Mutation], found: CoverageMap) -> list[Fate]:
    fates, known = [], caught_before()
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        copy = Copy(Path(folder))
        for number, mutation in enumerate(mutations, 1):
            fates.append(copy.judge(mutation, rounds(found, mutation, known.get(named(mutation)))))
            print(f"[{number}/{len(mutations)}, {fates[-1].seconds:.0f} s] {fates[-1]}", flush=True)
            remember(fates[-1:])
        at_fault = {fate.test for fate in fates if fate.test in found.seconds}
        always = {test_in(line) for line in copy.failing(sorted(at_fault), 1800)}  # whatever is mutated
    return [replace(fate, caught=False) if fate.test in always else fate for fate in fates]


def reported(fates: list[Fate]) -> bool:
    """Print the score, the equivalent mutations with their reasons and the survivors; whether enough were caught."""
    reasons = known_equivalents()
    alike = {id(fate): reasons[fate.key] for fate in fates if not fate.caught and fate.key in reasons}
    caught = sum(fate.caught for fate in fates)
    survivors = [fate for fate in fates if not fate.caught and id(fate) not in alike]
    print("\nEquivalent:")
    for fate in fates:
        if id(fate) in alike:
            print(f"{fate}\n    {alike[id(fate)]}")
    print("\nSurvivors:")
    for fate in survivors:
        print(fate)
    score = caught / max(1, caught + len(survivors))
    print(f"\n{caught} caught, {len(survivors)} survived, {len(alike)} equivalent: {score:.1%}, wanted {WANTED:.0%}")
    return score >= WANTED


def kept(fates: list[Fate]) -> None:
    """Leave the survivors where `--again` finds them."""
    left = [fate.key for fate in fates if not fate.caught]
    SURVIVORS.write_text(json.dumps(left, ensure_ascii=False, indent=1))


def remember(fates: list[Fate]) -> None:
    """Leave the tests that caught mutations where the next run finds them."""
    caught = caught_before() | {named(fate.mutation): fate.test for fate in fates if fate.caught}
    CAUGHT.write_text(json.dumps(caught, ensure_ascii=False, indent=1))


def caught_before() -> dict[str, str]:
    """The tests that caught mutations in earlier runs."""
    return json.loads(CAUGHT.read_text()) if CAUGHT.exists() else {}


def named(mutation: Mutation) -> str:
    """A mutation in one line, the same as long as its own line stays."""
    file, before, after = key_of(mutation)
    return f"{file}: {before} -> {after}"


def survivors_of_the_last_run() -> list[Mutation]:
    found = []
    for name, before, after in json.loads(SURVIVORS.read_text()):
        finder = Finder(SOURCE / name)
        alike = (m for m in finder.mutations() if m.change(finder.source) == (before, after) and differs(m))
        found += islice(alike, 1)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--only", default="", help="part of a path below src/holdfast")
    parser.add_argument("--skip", type=int, default=0, help="how many of them were judged before")
    parser.add_argument("--again", action="store_true", help="only the survivors of the last run")
    parser.add_argument("--near", action="store_true", help="move the lines of the last map instead of measuring anew")
    asked = parser.parse_args()
    found = coverage_map(ROOMS, TESTS, near=asked.near)
    if asked.again:
        mutations = survivors_of_the_last_run()
    else:
        mutations = chosen(found, ROOMS, asked.count, asked.seed, asked.only)[asked.skip :]
    fates = judged(mutations, found)
    kept(fates)
    return 0 if reported(fates) else 1


if __name__ == "__main__":
    sys.exit(main())
