"""What runs an assembly: native code in one or several lanes, or Python. Both are called by name, on numpy arrays."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from ctypes import addressof, c_char
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from holdfast.engine.code import cache, native
from holdfast.engine.code.compiled import EXPORTED, Code, Loaded
from holdfast.engine.code.kernel_source import KernelSource
from holdfast.engine.code.layout import Layout

# seconds, measured on chains of 5 to 200 links
COMPILING, COMPILING_EACH = 0.05, 200e-6  # the optimised tier: at least, and for each operation
RUNNING = 1.5e-9  # an operation in the quick tier
WORTH = 0.5  # of that time: compile early, for it runs in the background and is kept,
AGAIN, WORTH_AGAIN = 3, 0.02  # and earlier still what is asked for this often: a fit or a scan has begun,
SHORT = 3.0  # seconds: but not where a process that ends meanwhile would wait for longer than this


def address(array: np.ndarray) -> int:
    """Where a contiguous array lies: of one that may be written to, found in a quarter of the time of `ctypes`."""
    try:
        return addressof(c_char.from_buffer(array.data))
    except (TypeError, ValueError, BufferError):  # read-only, or empty
        return array.ctypes.data


class Machine(Protocol):
    """Calls functions of an assembly. Every array is contiguous and stays alive during the call."""

    lanes: int
    layout: Layout

    def call(self, name: str, *arguments: Any) -> Any: ...

    @property
    def functions(self) -> Mapping[str, Callable[..., Any]]:
        """The functions by name, for callers that keep what `pointer` gives of their arrays."""

    def pointer(self, array: np.ndarray) -> Any:
        """An array as the functions take it; valid as long as the array is there."""

    def pointers(self, block: np.ndarray, places: Sequence[int]) -> list[Any]:
        """The parts of one block of doubles that begin at these places, as the functions take them."""

    def further(self, pointer: Any, doubles: int) -> Any:
        """What `pointer` gave, so many doubles further on."""

    def expect(self, operations: float) -> None:
        """Say how many operations of bodies are coming, so that it can prepare for them."""


class PythonMachine:
    """Straight-line Python floats: slow, always there, and what the others are compared with."""

    lanes = 1

    def __init__(self, assembly: KernelSource) -> None:
        self.layout = assembly.layout
        self._functions = assembly.python()

    @property
    def functions(self) -> Mapping[str, Callable[..., Any]]:
        return self._functions

    def pointer(self, array: np.ndarray) -> Any:
        return array.reshape(-1).data

    def pointers(self, block: np.ndarray, places: Sequence[int]) -> list[Any]:
        return [block[place:].data for place in places]

    def further(self, pointer: Any, doubles: int) -> Any:
        return pointer[doubles:]

    def call(self, name: str, *arguments: Any) -> Any:
        plain = (a.reshape(-1).data if isinstance(a, np.ndarray) else a for a in arguments)
        function: Any = self._functions[name]
        return function(*plain)

    def expect(self, operations: float) -> None:
        """Nothing can be prepared."""


class NativeMachine:
    """Native code: quick at once, optimised when it pays; a change of tier changes no bit of any result."""

    def __init__(self, assembly: KernelSource, lanes: int = 1, *, tier: str | None = None) -> None:
        """`tier` is "quick" or "optimised" to have it so, or None to let the work decide."""
        self.lanes = lanes
        self._assembly, self._tier = assembly, tier
        self._key = f"{assembly.fingerprint}|{lanes}|{native.machine_name()}"
        self._thread: threading.Thread | None = None
        self._done, self._asked = 0.0, 0
        found = None if tier == "quick" else self._kept("optimised")
        self._is_optimised = found is not None or tier == "optimised"
        code, loaded = found or self._code("optimised" if self._is_optimised else "quick")
        self.layout = code.layout
        self._loaded = [loaded]  # all tiers stay: a call may be under way in any of them
        self._functions = loaded.functions

    @property
    def optimised(self) -> bool:
        """Whether the optimised tier is the one that runs now."""
        return self._is_optimised

    def _kept(self, tier: str) -> tuple[Code, Loaded] | None:
        """Kept code, loaded; None where there is none, or none that this version and this process can use."""
        kept = cache.fetch(f"{self._key}|{tier}")
        with suppress(LookupError, ValueError, TypeError, OSError):
            if kept is not None:
                code = Code.from_bytes(kept)
                return code, code.loaded()
        return None

    def _code(self, tier: str) -> tuple[Code, Loaded]:
        """The code of a tier, kept or made now, and loaded."""
        return self._kept(tier) or self._made(tier)

    def _made(self, tier: str) -> tuple[Code, Loaded]:
        assembly, lanes = self._assembly, self.lanes
        signatures = {
            name: signature
            for name, signature in assembly.signatures.items()
            if name in EXPORTED and (lanes == 1 or signature.returns != "r")  # lanes cannot leave through ctypes
        }
        text = assembly.llvm(lanes, fused=native.fused(), register=native.register_width())
        file = native.object_code(text, optimised=tier == "optimised")
        code = Code.of(file, signatures, assembly.layout)
        cache.store(f"{self._key}|{tier}", code.to_bytes())
        return code, code.loaded()

    @property
    def functions(self) -> Mapping[str, Callable[..., Any]]:
        return self._functions

    def pointer(self, array: np.ndarray) -> Any:
        return address(array)

    def pointers(self, block: np.ndarray, places: Sequence[int]) -> list[Any]:
        start = address(block)
        return [start + 8 * place for place in places]

    def further(self, pointer: Any, doubles: int) -> Any:
        return pointer + 8 * doubles

    def call(self, name: str, *arguments: Any) -> Any:
        plain = [address(a) if isinstance(a, np.ndarray) else a for a in arguments]
        return self._functions[name](*plain)

    def expect(self, operations: float) -> None:
        """Start making the optimised tier in the background once all work, past and to come, is worth it.

        Work is counted over all calls of this machine. A process that ends meanwhile waits for the compiler.
        """
        self._done += operations
        self._asked += 1
        if self._is_optimised or self._tier == "quick" or (self._thread is not None and self._thread.is_alive()):
            return  # of a thread that a fork left behind, nothing is alive
        making = COMPILING + COMPILING_EACH * self.layout.operations
        if self._done * RUNNING > making * (WORTH_AGAIN if self._asked >= AGAIN and making < SHORT else WORTH):
            self._assembly.parse()  # here, and not beside what this thread may be parsing meanwhile
            self._thread = threading.Thread(target=self._promote, name="holdfast-optimise")
            self._thread.start()

    def _promote(self) -> None:
        loaded = self._code("optimised")[1]
        self._loaded.append(loaded)
        self._functions = loaded.functions
        self._is_optimised = True

    def wait(self) -> None:
        """Until the optimised tier, if it is being made, is there."""
        if self._thread is not None:
            self._thread.join()


class Pace:
    """How many steps fit a chunk, so that Ctrl-C and a change of tier are noticed soon."""

    TARGET = 0.02  # seconds
    FIRST = 0.005  # of the first chunk, whose operations may take a few times longer than most do

    def __init__(self, operations_per_step: float) -> None:
        self.count = max(1, int(self.FIRST / (RUNNING * max(operations_per_step, 50.0))))
        self._began = 0.0

    def start(self) -> None:
        self._began = perf_counter()

    def stop(self, taken: int) -> None:
        """Learn from the chunk just done."""
        seconds = max(perf_counter() - self._began, 1e-7)
        wanted = taken * self.TARGET / seconds
        self.count = max(1, int(min(wanted, 8.0 * self.count)))
