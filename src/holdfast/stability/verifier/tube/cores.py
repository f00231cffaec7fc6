"""The cells of a tube on all cores, or on a cluster: they are independent, so each process takes every n-th of them.

A process is Python begun anew with the claims on its input (`holdfast.stability.verifier.tube.worker`), which works
from any caller. What is found does not depend on how many there are; where none can be begun, the cells are looked at
here.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

from holdfast.stability.verifier.check import Reading
from holdfast.stability.verifier.reading.tubes import StatedTube
from holdfast.stability.verifier.refusal import Refused, Unconfirmed
from holdfast.stability.verifier.steps.cover import Budget
from holdfast.stability.verifier.tube.cover import Claimed, Failing, Progress, TubeCover

WORTH = 64  # cells: fewer are done before a process has begun
FEWEST = 8  # cells that a worker of a cluster looks at together
PARTS_EACH = 8  # parts for each worker of a cluster, so that a slow or a lost one holds up little


def confirmed(
    read: Reading, place: int, tube: StatedTube, claims: Sequence[Claimed], budget: Budget, progress: Progress | None,
    client: Any = None,
) -> int:  # fmt: skip
    """How many parts of cells were looked at; `Failing`, `Refused` or `Unconfirmed` where a claim is not confirmed."""
    cover = TubeCover(read, tube, claims, budget, progress)
    over_time = cover.over_time()
    cover.require_hope()
    count, several = usable_cores(), len(tube.spans) >= WORTH
    blocks = [read.claims.blocks.index(one.block) for one in claims]
    packed = pickle.dumps((read.claims, place, blocks, budget.left()))
    workers: Workers | None = None
    if client is not None and several:
        found = _on_cluster(packed, client, len(tube.spans), budget, progress)
    else:
        if count > 1 and several:
            with contextlib.suppress(OSError):
                workers = Workers(packed, count)
        found = cover.confirmed() if workers is None else workers.together(budget, progress)
    cover.agree()
    return over_time + found


def _on_cluster(packed: bytes, client: Any, cells: int, budget: Budget, progress: Progress | None) -> int:
    """The same by the workers of a cluster: what they are sent are the claims."""
    from holdfast.stability.verifier.tube.worker import look

    count, total = max(1, min(PARTS_EACH * sum(client.nthreads().values()), cells // FEWEST)), 0
    futures = [client.submit(look, packed, k, count, pure=False, priority=-k) for k in range(count)]
    with contextlib.closing(_lines(client, futures)) as lines:
        for done, line in enumerate(lines, start=1):
            kind, _, rest = line.partition(" ")
            if kind != "done":
                raise _trouble(kind, rest)
            parts, spent = map(int, rest.split())
            total += parts
            budget.spend(spent)
            if progress is not None:
                progress(done / count)
    return total


def _lines(client: Any, futures: Sequence[Any]) -> Generator[str, None, None]:
    """What the workers found, as it comes; one that fails, or is lost again and again, has confirmed nothing."""
    from distributed import as_completed

    try:
        for future, line in as_completed(futures, with_results=True):
            yield line
            future.release()
    except Exception as error:
        raise Unconfirmed(f"not verified: a worker of the cluster failed ({type(error).__name__})") from error
    finally:
        client.cancel(futures, force=True)  # those that are done already are none


def usable_cores() -> int:
    """That this process may use."""
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable is not None else os.cpu_count() or 1


class Workers:
    """Processes at work, each with a part of the cells."""

    def __init__(self, packed: bytes, count: int, module: str = "holdfast.stability.verifier.tube.worker") -> None:
        if not sys.executable:
            raise OSError("there is no interpreter to begin")
        self._module = module
        self._lines: Queue[tuple[int, str]] = Queue()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._threads: list[Thread] = []
        for k in range(count):
            try:
                self._begin(k, pickle.dumps((packed, k, count)))
            except OSError:
                self.end()
                raise

    def _begin(self, k: int, task: bytes) -> None:
        root = Path(__file__).parents[4]
        paths = [str(root), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        alone = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        environment = {**os.environ, **alone, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
        command = [sys.executable, "-P", "-m", self._module]  # -P: not this folder
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
        self._processes.append(process)
        for work in (Thread(target=self._fed, args=(process, task)), Thread(target=self._heard, args=(k, process))):
            work.daemon = True
            work.start()
            self._threads.append(work)

    @staticmethod
    def _fed(process: subprocess.Popen[bytes], task: bytes) -> None:
        assert process.stdin is not None
        with contextlib.suppress(OSError), process.stdin:
            process.stdin.write(task)

    def _heard(self, k: int, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                self._lines.put((k, line.decode("utf-8", "replace").rstrip("\n")))
        self._lines.put((k, "ended"))

    def together(self, budget: Budget, progress: Progress | None) -> int:
        """What all of them found: the sum of parts, or the first that is not confirmed."""
        total = 0
        for told in self.results(progress):
            parts, spent = map(int, told.split())
            total += parts
            budget.spend(spent)
        return total

    def results(self, progress: Progress | None) -> list[str]:
        """What each of them says when it is done; the first that is not confirmed ends all."""
        shares, done = [0.0] * len(self._processes), dict[int, str]()
        try:
            while len(done) < len(self._processes):
                k, line = self._lines.get()
                kind, _, rest = line.partition(" ")
                if kind == "share":
                    shares[k] = float(rest)
                    if progress is not None:
                        progress(sum(shares) / len(shares))
                elif kind == "done":
                    done[k] = rest
                elif kind != "ended" or k not in done:
                    raise _trouble(kind, rest)
        finally:
            self.end()
        return [done[k] for k in sorted(done)]

    def end(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
        for thread in self._threads:
            thread.join()


def _trouble(kind: str, rest: str) -> Exception:
    match kind:
        case "failing":
            place, _, words = rest.partition(" ")
            return Failing(int(place), words)
        case "refused":
            return Refused(rest)
        case "unconfirmed":
            return Unconfirmed(rest)
    return Unconfirmed("not verified: a process that looked at its cells ended early")
