"""The first graphics card, through CUDA's driver: memory, code, launches. Nothing but ctypes stands between.

A machine without one says why (`missing()`), and everything else goes on.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from holdfast.errors import BadRequest, HoldfastError

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
MAJOR, MINOR = 75, 76  # attributes: compute capability
INSTALL = "it needs an NVIDIA card with its driver, and holdfast[cuda]"


class CardFailure(HoldfastError):
    """A call of the driver failed."""


@cache
def _driver() -> Any:
    return ctypes.CDLL(LIBRARY)


def _call(name: str, *arguments: Any) -> None:
    code = getattr(_driver(), name)(*arguments)
    if code:
        text = ctypes.c_char_p()
        _driver().cuGetErrorString(code, ctypes.byref(text))
        told = text.value.decode() if text.value else f"error {code}"
        raise CardFailure(f"the graphics card refused {name}: {told}", where="device", fix='device="cpu"')


@cache
def missing() -> str:
    """Why there is no card to run on; nothing where there is one."""
    try:
        _driver()
    except OSError:
        return f"there is no {LIBRARY}"
    try:
        count = ctypes.c_int()
        _call("cuInit", 0)
        _call("cuDeviceGetCount", ctypes.byref(count))
    except CardFailure as error:
        return error.what
    return "" if count.value else "the driver knows no card"


@cache
def card() -> Card:
    """The first card; refused where there is none."""
    why = missing()
    if why:
        raise BadRequest(f"there is no graphics card to run on: {why}", where="device", fix=f'device="cpu"; {INSTALL}')
    return Card()


class Card:
    """A card with its context, held as long as the process lives."""

    def __init__(self) -> None:
        device, self._context = ctypes.c_int(), ctypes.c_void_p()
        _call("cuDeviceGet", ctypes.byref(device), 0)
        _call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), device)
        self.bind()
        name = ctypes.create_string_buffer(128)
        _call("cuDeviceGetName", name, 128, device)
        self.name = name.value.decode(errors="replace")
        self.capability = self._attribute(MAJOR, device), self._attribute(MINOR, device)

    @staticmethod
    def _attribute(which: int, device: ctypes.c_int) -> int:
        value = ctypes.c_int()
        _call("cuDeviceGetAttribute", ctypes.byref(value), which, device)
        return value.value

    def bind(self) -> None:
        """Make its context that of the calling thread."""
        _call("cuCtxSetCurrent", self._context)

    @property
    def free(self) -> int:
        """Bytes of memory that are free."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        _call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def function(self, code: bytes, name: str) -> CardFunction:
        """A kernel of a module in machine code."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        _call("cuModuleLoadData", ctypes.byref(module), code)
        _call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        return CardFunction(function)

    def wait(self) -> None:
        """Until all that was launched is done."""
        _call("cuCtxSynchronize")

    @contextmanager
    def memory(self) -> Iterator[CardMemory]:
        """Arrays on the card, given back at the end."""
        held = CardMemory()
        try:
            yield held
        finally:
            held.release()


class CardMemory:
    """Arrays on the card."""

    def __init__(self) -> None:
        self._held: list[ctypes.c_uint64] = []

    def empty(self, size: int) -> int:
        """The address of this many bytes."""
        place = ctypes.c_uint64()
        _call("cuMemAlloc_v2", ctypes.byref(place), ctypes.c_size_t(max(size, 16)))
        self._held.append(place)
        return place.value

    def zeros(self, size: int) -> int:
        place = self.empty(size)
        _call("cuMemsetD8_v2", ctypes.c_uint64(place), ctypes.c_ubyte(0), ctypes.c_size_t(max(size, 16)))
        return place

    def of(self, array: np.ndarray) -> int:
        """A copy of an array."""
        whole = np.ascontiguousarray(array)
        place = self.empty(whole.nbytes)
        if whole.nbytes:
            _call(
                "cuMemcpyHtoD_v2",
                ctypes.c_uint64(place),
                ctypes.c_void_p(whole.ctypes.data),
                ctypes.c_size_t(whole.nbytes),
            )
        return place

    @staticmethod
    def fetch(place: int, array: np.ndarray) -> np.ndarray:
        """Fill an array from the card."""
        assert array.flags.c_contiguous
        if array.nbytes:
            _call(
                "cuMemcpyDtoH_v2",
                ctypes.c_void_p(array.ctypes.data),
                ctypes.c_uint64(place),
                ctypes.c_size_t(array.nbytes),
            )
        return array

    def release(self) -> None:
        for place in self._held:
            _driver().cuMemFree_v2(place)
        self._held.clear()


class CardFunction:
    """A kernel on the card."""

    def __init__(self, handle: ctypes.c_void_p) -> None:
        self._handle = handle

    def launch(self, count: int, threads: int, job: ctypes.Structure) -> None:
        """One thread for each of `count` cases."""
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(job))
        blocks = -(-count // threads)
        _call("cuLaunchKernel", self._handle, blocks, 1, 1, threads, 1, 1, 0, None, arguments, None)
