"""What runs an assembly: native code in one or several lanes, or Python. Both are called by name, on numpy arrays."""

from __future__ import annotations

import threading
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from holdfast.engine import cache, native
from holdfast.engine.assembly import Assembly

# seconds, measured on chains of 5 to 200 links
COMPILING, COMPILING_EACH = 0.05, 200e-6  # the optimised tier: at least, and for each operation
RUNNING = 1.5e-9  # an operation in the quick tier
EXPORTED = ("rates", "rates_blocks", "event_values", "take_step", "fixed", "fixed_blocks", "adaptive", "many")


class Machine(Protocol):
    """Calls functions of an assembly. Every array is contiguous and stays alive during the call."""

    lanes: int

    def call(self, name: str, *arguments: Any) -> Any: ...

    def expect(self, operations: float) -> None:
        """Say how many operations of bodies are coming, so that it can prepare for them."""


class PythonMachine:
    """Straight-line Python floats: slow, always there, and what the others are compared with."""

    lanes = 1

    def __init__(self, assembly: Assembly) -> None:
        self._functions = assembly.python()

    def call(self, name: str, *arguments: Any) -> Any:
        plain = (a.reshape(-1).data if isinstance(a, np.ndarray) else a for a in arguments)
        function: Any = self._functions[name]
        return function(*plain)

    def expect(self, operations: float) -> None:
        """Nothing can be prepared."""


class NativeMachine:
    """Native code: quick at once, optimised when it pays; a change of tier changes no bit of any result."""

    def __init__(self, assembly: Assembly, lanes: int = 1, *, tier: str | None = None) -> None:
        """`tier` is "quick" or "optimised" to have it so, or None to let the work decide."""
        self.lanes = lanes
        self._assembly, self._tier = assembly, tier
        self._signatures = {
            name: signature
            for name, signature in assembly.signatures.items()
            if name in EXPORTED and (lanes == 1 or signature.returns != "r")  # lanes cannot leave through ctypes
        }
        self._key = f"{assembly.fingerprint}|{lanes}|{native.fused()}|{native.machine_name()}"
        self._thread: threading.Thread | None = None
        self._text: str | None = None
        self._loaded = self._first()
        self._functions = self._loaded.functions

    @property
    def optimised(self) -> bool:
        """Whether the optimised tier is the one that runs now."""
        return self._is_optimised

    def _first(self) -> native.Loaded:
        """The optimised tier if it is wanted or kept from an earlier run, else the quick one."""
        code = None if self._tier == "quick" else cache.fetch(self._key + "|optimised")
        self._is_optimised = code is not None or self._tier == "optimised"
        if code is None:
            code = self._code(optimised=self._is_optimised)
        return native.Loaded(code, self._signatures)

    def _code(self, *, optimised: bool) -> bytes:
        key = self._key + ("|optimised" if optimised else "|quick")
        code = cache.fetch(key)
        if code is None:
            if self._text is None:
                self._text = self._assembly.llvm(self.lanes, fused=native.fused())
            code = native.object_code(self._text, optimised=optimised)
            cache.store(key, code)
        return code

    def call(self, name: str, *arguments: Any) -> Any:
        plain = [a.ctypes.data if isinstance(a, np.ndarray) else a for a in arguments]
        return self._functions[name](*plain)

    def expect(self, operations: float) -> None:
        """Start making the optimised tier in the background once the work to come is longer than that takes."""
        if self._is_optimised or self._tier == "quick" or self._thread is not None:
            return
        if operations * RUNNING > COMPILING + COMPILING_EACH * self._assembly.operations:
            self._thread = threading.Thread(target=self._promote, name="holdfast-optimise")
            self._thread.start()

    def _promote(self) -> None:
        better = native.Loaded(self._code(optimised=True), self._signatures)
        self._better = better  # both tiers stay loaded: a call may be under way in the other one
        self._functions = better.functions
        self._is_optimised = True
        self._text = None

    def wait(self) -> None:
        """Until the optimised tier, if it is being made, is there."""
        if self._thread is not None:
            self._thread.join()


class Pace:
    """How many steps fit a chunk, so that Ctrl-C and a change of tier are noticed soon."""

    TARGET = 0.02  # seconds

    def __init__(self, operations_per_step: float) -> None:
        self.count = max(1, int(0.001 / (RUNNING * max(operations_per_step, 50.0))))
        self._began = 0.0

    def start(self) -> None:
        self._began = perf_counter()

    def stop(self, taken: int) -> None:
        """Learn from the chunk just done."""
        seconds = max(perf_counter() - self._began, 1e-7)
        wanted = taken * self.TARGET / seconds
        self.count = max(1, int(min(wanted, 8.0 * self.count)))
