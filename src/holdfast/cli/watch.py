"""The command line watched from outside: computing time and memory have limits that no pattern of input can avoid.

At its start the command forks: the child does the work, the parent waits, passes signals on and gives the child's exit
code. While the child reads, derives or writes formulas (`limited`), the kernel ends it at its limit of computing time,
and the parent when it holds too much memory; the parent then says so, with exit code 2. Proofs and searches of gains,
which may honestly take long, have a limit of memory only, runs none. Where there is no fork, the command runs as it is.

Nothing but the standard library is imported here: the fork comes first, and costs a millisecond or two.
"""

from __future__ import annotations

import math
import mmap
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

SECONDS = 10.0  # of computing for what is limited, unless --limit says otherwise
MEMORY = 2_000_000_000  # bytes in use meanwhile, or in proportion to the seconds asked for
INTERVAL = 0.05  # seconds between looks at the memory
BROKEN = 70  # exit code of a fault of our own
FROM_THE_KERNEL = 128  # code of a signal that the terminal sent: the child has got it as well
CANNOT = not hasattr(os, "fork") or not hasattr(signal, "sigtimedwait")
MORE = "an honest large problem asks for more: holdfast --limit 60 ..."


class Watch:
    """What the two processes share: what is being done under which memory limit, and the seconds asked for."""

    def __init__(self) -> None:
        self.shared: mmap.mmap | None = None
        self.seconds = SECONDS

    def note(self, doing: str, seconds: float = 0.0) -> None:
        """Tell the parent what is being done, and for how long it may be; or that nothing limited is."""
        if self.shared is not None:
            memory = MEMORY * max(1.0, self.seconds / SECONDS)
            text = f"{memory:.0f} {seconds:.3g} {doing}".encode() if doing else b""
            self.shared[:] = text[: len(self.shared)].ljust(len(self.shared), b"\0")

    def doing(self) -> tuple[int, str, str]:
        """The memory limit, the seconds and the words that the child has noted; (0, "", "") for none."""
        assert self.shared is not None
        text = self.shared[:].rstrip(b"\0").decode()
        if not text:
            return 0, "", ""
        memory, seconds, words = text.split(" ", 2)
        return int(memory), seconds, words


WATCH = Watch()


@contextmanager
def limited(doing: str, *, more: float = 0.0) -> Iterator[None]:
    """Work under the limits; `doing` says what it is: "reading the problem".

    `more` is the time that the work may take by its own rules, in seconds; with infinity only its memory is limited.
    """
    if WATCH.shared is None:
        yield
        return
    before = signal.setitimer(signal.ITIMER_PROF, 0)[0] or math.inf  # of a limit around this one
    seconds, start = min(before, WATCH.seconds + more), time.process_time()
    WATCH.note(doing, seconds)
    try:
        with _no_longer_than(seconds):
            yield
    finally:
        WATCH.note("")
        if before < math.inf:
            signal.setitimer(signal.ITIMER_PROF, max(before - (time.process_time() - start), 1e-6))


@contextmanager
def _no_longer_than(seconds: float) -> Iterator[None]:
    """The kernel ends the process after this computing: by a timer, and a second later by what no code can change."""
    if math.isinf(seconds):
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    until = math.ceil(time.process_time() + seconds) + 1
    set_before = soft if soft != resource.RLIM_INFINITY else hard
    if set_before == resource.RLIM_INFINITY or until < set_before:
        resource.setrlimit(resource.RLIMIT_CPU, (until, hard))
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def watched(command: Callable[[], None]) -> None:
    """Run a command as a child of this process, and end as it ends."""
    if CANNOT:
        command()
        return
    signals = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD}
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    WATCH.shared = mmap.mmap(-1, 256)
    child = os.fork()
    if not child:
        _end_with_parent()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        command()
        return
    status, held = _wait(child, signals)
    _leave(status, held)


def _wait(child: int, signals: set[signal.Signals]) -> tuple[int, int]:
    """The status of the child when it has ended, and the memory it held if that was too much."""
    while True:
        found = signal.sigtimedwait(signals, INTERVAL)
        if found is None:
            limit, held = WATCH.doing()[0], _memory(child)
            if limit and held > limit:
                os.kill(child, signal.SIGKILL)
                return os.waitpid(child, 0)[1], held
        elif found.si_signo == signal.SIGCHLD:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return status, 0
        elif found.si_code != FROM_THE_KERNEL:
            with suppress(ProcessLookupError):
                os.kill(child, found.si_signo)


def _memory(process: int) -> int:
    """Bytes that a process holds; 0 where the system does not say."""
    try:
        with open(f"/proc/{process}/statm", "rb") as file:
            return int(file.read().split()[1]) * mmap.PAGESIZE
    except (OSError, ValueError, IndexError):
        return 0


def _leave(status: int, held: int) -> None:
    """Exit as the child did; say so where a limit or a fault ended it."""
    if os.WIFEXITED(status):
        os._exit(os.WEXITSTATUS(status))
    ended = os.WTERMSIG(status)
    _, seconds, doing = WATCH.doing()
    doing = doing or "the work"
    if held:
        _say(f"error: {doing} needs more than {held / 1e9:.1f} GB of memory\n  fix:   {MORE}")
        os._exit(2)
    if ended in (signal.SIGXCPU, signal.SIGPROF) and seconds:
        _say(f"error: {doing} takes more than {seconds} s of computing\n  fix:   {MORE}")
        os._exit(2)
    if ended in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, signal.SIGPIPE):
        os._exit(128 + ended)
    _say(f"error: holdfast ended by {signal.Signals(ended).name} in {doing}: a fault of its own, please report it")
    os._exit(BROKEN)


def _say(text: str) -> None:
    with suppress(OSError):
        os.write(2, f"{text}\n".encode())


def _end_with_parent() -> None:
    """On Linux: when the parent is killed, so is this process."""
    with suppress(Exception):
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _without_current_folder() -> None:
    """``python -m`` puts the current folder first among those that modules come from: take it out, unless we are there.

    A file called sympy.py beside a problem is no part of this program.
    """
    own = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with suppress(OSError):
        here = os.path.realpath(os.getcwd())
        if here != os.path.realpath(own):
            sys.path[:] = [path for path in sys.path if path and os.path.realpath(path) != here]


def main() -> None:
    """``holdfast``, watched."""
    _without_current_folder()

    def command() -> None:
        from holdfast.cli.main import main as typed

        typed(prog_name="holdfast")

    watched(command)
