"""The attack that is kept: mutated problem files through the library, in one process, with everything watched.

    make fuzz                                     a minute of each stage
    python -m tests.fuzz.attack load 100000       so many through one stage: load, derive, page
    python -m tests.fuzz.attack load 1000 --seed 7
    python -m tests.fuzz.attack load 5000 --guided --keep    breed from what reaches new lines, and keep those texts

For every text: only Holdfast's own errors come out, within a second and half a gigabyte, nothing is executed or
written, and no run with an undefined column is called good. What breaks a rule is written to a folder, to become a
case of the corpus. Atheris does what `--guided` does from outside Python; it installs on Linux from its wheel, and
needs a clang elsewhere, so it is not required: ours needs nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from pathlib import Path

import numpy as np

import holdfast as hf
from tests.fuzz.coverage import Coverage
from tests.fuzz.mutants import KEPT, Mutants

SLOW = 3.0  # seconds of computing for one text, on a machine that is slow and busy: what hangs takes longer
HEAVY = 500e6  # bytes that the process may grow by at one text, and by all of them
TRACED = 10.0  # how many times longer a text may take while its lines are watched
STOP = 20  # seconds after which a text is given up
STEPS = 20


class GivenUp(Exception):
    """A text that took so long that the harness went on without it."""


@dataclass
class Found:
    """What an attack has found: counts of ends, the slowest times, and the texts that broke a rule."""

    ends: Counter[str] = field(default_factory=Counter)
    faults: list[tuple[str, str]] = field(default_factory=list)
    slowest: float = 0.0
    folder: Path | None = None  # where such texts are written
    bred: list[str] = field(default_factory=list)  # texts that reached new lines

    def fault(self, what: str, text: str) -> None:
        self.faults.append((what, text))
        if self.folder is not None:
            place = self.folder / f"{len(self.faults)}.toml"
            place.write_text(text, encoding="utf-8", errors="surrogatepass")
            print(f"--- {place}\n{what}", flush=True)


def load(text: str) -> str:
    """Load and check: the statement, the units, the equations and the start."""
    problem = hf.loads(text)
    if len(problem.system.coordinates) > 12:
        return "loaded"
    hf.checked_start(hf.derive(problem))
    return "checked"


def derive(text: str) -> str:
    """Derive, show, and take twenty steps."""
    equations = hf.derive(hf.loads(text))
    equations.summary()
    run = _twenty(equations)
    return "run" if run.success else "run, not good"


def page(text: str) -> str:
    """All of it, on a page."""
    run = _twenty(hf.derive(hf.loads(text)))
    shown = hf.report(run)
    if any(foreign in shown.html for foreign in ("<script>alert", "<img src=x", "</style><b>")):
        raise AssertionError("the page holds what a file wrote")
    if shown.good and not all(np.isfinite(run[name]).all() for name in run.names):
        raise AssertionError("undefined columns on a good page")
    return "page"


def _twenty(equations: hf.Equations) -> hf.Trajectory:
    stated = equations.problem.run
    step = stated.step if stated.step is not None and stated.step < 1 else 0.01
    run = hf.simulate(equations, hf.RK4, step=step, duration=STEPS * step, every=1)
    if run.success and not all(np.isfinite(run[name]).all() for name in run.names):
        raise AssertionError("undefined columns in a run that is called good")
    return run


STAGES: dict[str, Callable[[str], str]] = {"load": load, "derive": derive, "page": page}


def attack(stage: str, count: int, seed: int = 1, folder: Path | None = None, guided: bool = False) -> Found:
    """Send so many mutants through a stage; guided, breed from those that reach lines that none reached before."""
    found, work, mutants = Found(folder=folder), STAGES[stage], Mutants(seed)
    _warm_up(work)
    limit = SLOW
    before, coverage = _memory(), Coverage() if guided else None
    with _given_up_after(STOP), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if coverage is not None:
            limit *= TRACED
            for known in mutants.texts:
                coverage.grows(lambda known=known: _quietly(work, known))  # type: ignore[misc]
        for number, text in enumerate(islice(mutants, count)):
            if coverage is None:
                _one(work, text, found, limit)
            elif coverage.grows(lambda text=text: _one(work, text, found, limit)):  # type: ignore[misc]
                mutants.texts.append(text)
                found.bred.append(text)
            if os.path.exists("OWNED"):  # some of the texts ask for it
                found.fault("executed", text)
                os.unlink("OWNED")
            if folder is not None and number % 1000 == 999:
                print(number + 1, dict(found.ends), f"slowest {found.slowest:.2f} s", len(found.faults), flush=True)
    if _memory() - before > HEAVY:
        found.fault(f"the process grew by {(_memory() - before) / 1e6:.0f} MB", "")
    return found


def _warm_up(work: Callable[[str], str]) -> None:
    """Imports and first compilations, which are not counted."""
    for known in Mutants(0).texts[:6]:
        _quietly(work, known)


def _quietly(work: Callable[[str], str], text: str) -> None:
    with contextlib.suppress(hf.HoldfastError):
        work(text)


def _one(work: Callable[[str], str], text: str, found: Found, limit: float) -> None:
    held, start = _memory(anew=True), time.thread_time()
    signal.setitimer(signal.ITIMER_REAL, STOP)
    try:
        end = work(text)
    except hf.InternalError as error:
        found.fault(f"InternalError: {error}", text)
        end = "internal"
    except hf.HoldfastError as error:
        end = "refused" if str(error) else "refused without a word"
    except GivenUp:
        end = "given up"
    except Exception as error:
        end = type(error).__name__
        found.fault("".join(traceback.format_exception(error, limit=-6)), text)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    took = time.thread_time() - start
    found.ends[end] += 1
    found.slowest = max(found.slowest, took)
    if took > limit:
        found.fault(f"took {took:.2f} s", text)
    if (grown := _memory() - held) > HEAVY:
        found.fault(f"held {grown / 1e6:.0f} MB", text)


class _given_up_after:
    """A clock that ends one text, not the attack."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __enter__(self) -> None:
        def ring(*_: object) -> None:
            raise GivenUp

        self.before = signal.signal(signal.SIGALRM, ring)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self.before)


def _memory(anew: bool = False) -> float:
    """The most bytes that the process has held; on Linux, since it was last asked `anew`."""
    try:
        if anew:
            Path("/proc/self/clear_refs").write_text("5")
        return int(re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())[1]) * 1024.0  # type: ignore[index]
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--guided", action="store_true", help="breed from texts that reach new lines")
    parser.add_argument("--keep", action="store_true", help="write those texts into the corpus")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="holdfast-fuzz-"))
    os.chdir(folder)
    found = attack(asked.stage, asked.count, asked.seed, folder, asked.guided)
    for text in found.bred if asked.keep else ():
        content = text.encode("utf-8", "replace")
        (KEPT / f"bred-{sha256(content).hexdigest()[:8]}.toml").write_bytes(content)
    if asked.guided:
        print(f"{len(found.bred)} texts reached lines that none had reached before")
    print(f"{asked.stage}: {asked.count} texts of seed {asked.seed}, {dict(found.ends)}, slowest {found.slowest:.2f} s")
    sys.exit(1 if found.faults else 0)


if __name__ == "__main__":
    main()
