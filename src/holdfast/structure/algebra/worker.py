"""One process for what may never end: SymPy's integrals and simplifications, each under a time limit.

SymPy cannot be interrupted safely in its own process, so such work is sent to a second one, which is kept for the next
question and killed when its time is up. It is started as a program of its own (not forked, and without reading the
user's script again), so threads and unguarded scripts do no harm. It runs isolated: neither the current folder nor
Python's environment variables say what it imports, only the folders of the packages that are loaded here. Nothing is
started until something is asked.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from time import sleep
from typing import Any, BinaryIO

START_LIMIT = 60.0  # seconds for Python and SymPy to load; they do not count as the work's own time
PACKAGES = ("holdfast", "sympy", "mpmath", "flint", "gmpy2", "numpy", "scipy")  # what the work may import
KEPT = (  # of the environment: where things are and how text is written, nothing that Python or a library would obey
    "PATH", "HOME", "USERPROFILE", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT",
    "LD_LIBRARY_PATH",
)  # fmt: skip


class OutOfTime(Exception):
    """The work took longer than it was given; its process is gone."""


class Worker:
    """A process that answers one question at a time: a function, named by its module, and its arguments."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: queue.Queue[Any] = queue.Queue()

    def ask(self, function: Callable[..., Any], *arguments: Any, limit: float) -> Any:
        """What the function answers, within `limit` seconds; its errors are raised here."""
        if limit <= 0:
            raise OutOfTime("no time was given")
        with self._lock:
            self._start()
            try:
                self._send((function.__module__, function.__qualname__, arguments))
                good, value = self._answers.get(timeout=limit)
            except (queue.Empty, BaseException) as reason:
                self._kill()
                if isinstance(reason, (queue.Empty, OSError)):
                    raise OutOfTime(f"no answer within {limit:g} s") from None
                raise
            if good is None:  # the process died, for want of memory perhaps
                self._kill()
                raise OutOfTime("the worker process ended without an answer")
        if good:
            return value
        raise value

    def stop(self) -> None:
        """End the process; the next question starts another."""
        with self._lock:
            self._kill()

    def forget(self) -> None:
        """In a child process: the worker is that of the parent, whose questions are none of ours."""
        left, self._lock, self._process = self._process, threading.Lock(), None
        if left is not None:
            left.returncode = 0  # not to be waited for
            with contextlib.suppress(OSError, ValueError):
                nowhere = os.open(os.devnull, os.O_RDWR)
                for pipe in (left.stdin, left.stdout):
                    if pipe is not None:
                        os.dup2(nowhere, pipe.fileno())  # what is still in its buffer must not be sent twice
                os.close(nowhere)

    def _start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self._process = subprocess.Popen(
            isolated_command(f"from {__name__} import serve; serve()"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in KEPT if name in os.environ},
            cwd=_folders()[0],
        )
        self._answers = queue.Queue()
        assert self._process.stdout is not None
        threading.Thread(target=_listen, args=(self._process.stdout, self._answers), daemon=True).start()
        try:
            self._answers.get(timeout=START_LIMIT)
        except queue.Empty:
            self._kill()
            raise OutOfTime("the worker process did not start") from None

    def _send(self, question: Any) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        pickle.dump(question, self._process.stdin)
        self._process.stdin.flush()

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            self._process.wait()
            self._process = None


def isolated_command(code: str) -> list[str]:
    """A Python of its own that runs the code with the packages loaded here, and with nothing of the current folder."""
    return [sys.executable, "-I", "-c", f"import sys; sys.path[:0] = {_folders()!r}; {code}"]


def _folders() -> list[str]:
    """The folders from which the packages were loaded here, Holdfast's own first."""
    files = [getattr(sys.modules.get(name), "__file__", None) for name in PACKAGES]
    return list(dict.fromkeys(os.path.dirname(os.path.dirname(os.path.abspath(file))) for file in files if file))


def _listen(answers: BinaryIO, into: queue.Queue[Any]) -> None:
    try:
        while True:
            into.put(pickle.load(answers))
    except (EOFError, OSError, ValueError, pickle.UnpicklingError):
        into.put((None, None))


def serve() -> None:
    """The worker's own loop: questions on standard input, answers on standard output."""
    questions, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints must not be taken for an answer
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    import sympy  # noqa: F401  # loaded before the clock runs

    _answer(answers, (True, "ready"))
    while True:
        try:
            module, name, arguments = pickle.load(questions)
        except EOFError:
            return
        try:
            reply: tuple[bool, Any] = (True, getattr(import_module(module), name)(*arguments))
        except Exception as error:
            reply = (False, RuntimeError(f"{type(error).__name__}: {error}"))
        _answer(answers, reply)


def _end_with(parent: int) -> None:
    """End this process when the one that asks is gone, in the middle of an integral if need be."""
    while os.getppid() == parent:
        sleep(2.0)
    os._exit(1)


def _answer(answers: BinaryIO, reply: Any) -> None:
    pickle.dump(reply, answers)
    answers.flush()


WORKER = Worker()
atexit.register(WORKER.stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=WORKER.forget)
