"""Machine code that runs wherever it is put: functions, their constants, and a table of outside addresses.

To load an image takes neither a linker nor LLVM: it is copied into fresh memory, the table is filled with the addresses
of the C library's functions, and the memory is then made executable and no longer writable.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.engine.emit.target import Signature
from holdfast.errors import BadRequest

C_TYPES: dict[str, Any] = {"i": ctypes.c_int64, "d": ctypes.c_double, "r": ctypes.c_double, "": None}
ADDRESS = 8  # bytes


@dataclass(frozen=True, slots=True)
class Image:
    """The code, where each function begins in it, and where the address of each outside function goes."""

    code: bytes
    functions: Mapping[str, int]
    outside: Mapping[str, int]


class LoadedImage:
    """An image in memory; functions by name, each of which keeps it there."""

    def __init__(self, image: Image, signatures: Mapping[str, Signature]) -> None:
        """A `BadRequest` where memory may not be made executable, a `LookupError` where a function is missing."""
        self._memory = mmap.mmap(-1, len(image.code), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._memory[:] = image.code
        for name, place in image.outside.items():
            self._memory[place : place + ADDRESS] = outside_address(name).to_bytes(ADDRESS, "little")
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        _make_executable(start, len(image.code))
        try:
            self.functions = {
                name: function_at(start + image.functions[name], signature) for name, signature in signatures.items()
            }
        except KeyError as missing:
            raise LookupError(f"the image has no function {missing}") from None
        for function in self.functions.values():
            vars(function)["memory"] = self._memory  # a function lives no longer than what it lies in


def function_at(address: int, signature: Signature) -> Callable[..., Any]:
    """The function that begins at an address of this process."""
    arguments = [C_TYPES.get(kind, ctypes.c_void_p) for kind in signature.arguments]
    function: Callable[..., Any] = ctypes.CFUNCTYPE(C_TYPES[signature.returns], *arguments)(address)
    return function


def outside_address(name: str) -> int:
    """Where a function of the C library is in this process; a `LookupError` if it is not there."""
    try:
        found = ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value
    except AttributeError:
        raise LookupError(f"this process has no function {name!r}") from None
    assert found is not None
    return found


def _make_executable(start: int, size: int) -> None:
    """Executable from now on, and no longer writable."""
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if protect(start, size, mmap.PROT_READ | mmap.PROT_EXEC):
        raise BadRequest(
            f"compiled code may not run here: {os.strerror(ctypes.get_errno())}",
            where="this machine's security policy",
            fix="let this process make memory executable (SELinux: execmem); without llvmlite, plain Python serves",
        )
