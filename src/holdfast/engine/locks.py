"""What threads must not do at once, and what a child process must not inherit half done.

`TABLE` is held for the moment in which a table of kernels changes. LLVM has a lock of its own around each call. A fork
waits for both, so that no child begins with a lock whose holder it does not have: fork takes them first and gives them
back on both sides. It also waits a moment for modules that other threads are importing: a child would find them half
made, and locked for ever. The locks that Python 3.11 keeps in its cached properties are made anew in a child; later
versions have none. What other modules must not inherit, they forget themselves (`graph.balls`, `structure.worker`).
"""

from __future__ import annotations

import os
import sys
import threading
from functools import cached_property
from time import monotonic, sleep
from typing import Any

TABLE = threading.RLock()
PATIENCE = 1.0  # seconds that a fork waits for imports of other threads; most take a hundredth of that
_TAKEN: list[Any] = []  # by the fork that is under way


def _before() -> None:
    deadline = monotonic() + PATIENCE
    while _imports_elsewhere() and monotonic() < deadline:
        sleep(0.001)
    binding = sys.modules.get("llvmlite.binding.ffi")
    of_llvm = getattr(getattr(getattr(binding, "lib", None), "_lock", None), "_lock", None)
    for lock in (TABLE, of_llvm):
        if lock is not None:
            lock.acquire()
            _TAKEN.append(lock)


def _imports_elsewhere() -> bool:
    """Whether another thread is importing something; a fork in the middle of an import of its own waits for none."""
    frame: Any = sys._getframe()
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return False
        frame = frame.f_back
    specs = (getattr(module, "__spec__", None) for module in list(sys.modules.values()))
    return any(getattr(spec, "_initializing", False) is True for spec in specs)


def _release() -> None:
    while _TAKEN:
        _TAKEN.pop().release()


def _in_child() -> None:
    _release()
    for name, module in list(sys.modules.items()):
        if name.startswith("holdfast."):
            for kind in list(vars(module).values()):
                for kept in vars(kind).values() if isinstance(kind, type) else ():
                    if isinstance(kept, cached_property) and hasattr(kept, "lock"):
                        kept.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_release, after_in_child=_in_child)
