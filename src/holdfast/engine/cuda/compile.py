"""From CUDA's text to the card's machine code, by NVRTC: of the wheel that holdfast[cuda] installs, or of the system.

What was compiled is kept beside the kernels' own code.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import glob
import os
import sys
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from typing import Any

from holdfast.engine.code import cache as kept
from holdfast.errors import BadRequest, InternalError

OPTIONS = ("--fmad=false", "--device-as-default-execution-space", "--std=c++17", "--prec-div=true", "--prec-sqrt=true")
PATTERN = "nvrtc64_*.dll" if sys.platform == "win32" else "libnvrtc.so*"


def machine_code(text: str, capability: tuple[int, int]) -> bytes:
    """The module for cards of this capability."""
    target = f"--gpu-architecture=sm_{capability[0]}{capability[1]}"
    key = f"cuda|{_version()}|{target}|{OPTIONS}|{sha256(text.encode()).hexdigest()}"
    found = kept.fetch(key)
    if found is None:
        found = _compiled(text, target)
        kept.store(key, found)
    return found


def missing() -> str:
    """Why nothing can be compiled; nothing where it can."""
    return "" if _library() is not None else "NVRTC is not installed"


def _places() -> Iterator[str]:
    """Where the library may lie: in the wheels' folders, then where the system looks."""
    for folder in sys.path:
        yield from sorted(glob.glob(os.path.join(folder, "nvidia", "*", "lib", PATTERN)), reverse=True)
        yield from sorted(glob.glob(os.path.join(folder, "nvidia", "*", "bin", "**", PATTERN), recursive=True))
    yield from filter(None, [ctypes.util.find_library("nvrtc")])
    for root in filter(None, (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda")):
        yield from sorted(glob.glob(os.path.join(root, "lib64", PATTERN)), reverse=True)


@cache
def _library() -> Any:
    for place in _places():
        if "builtins" in os.path.basename(place) or ".alt." in place:
            continue
        try:
            return ctypes.CDLL(place)
        except OSError:
            continue
    return None


def _require() -> Any:
    library = _library()
    if library is None:
        raise BadRequest(
            "code for graphics cards is made by NVRTC, which is not installed",
            where="device",
            fix="pip install 'holdfast[cuda]'",
        )
    return library


def _version() -> str:
    major, minor = ctypes.c_int(), ctypes.c_int()
    _require().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return f"{major.value}.{minor.value}"


def _compiled(text: str, target: str) -> bytes:
    library, program = _require(), ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"holdfast.cu", 0, None, None)
    options = [option.encode() for option in (target, *OPTIONS)]
    try:
        if library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)):
            raise InternalError(
                f"NVRTC refuses the code of the kernel:\n{_log(library, program)[:2000]}", where="device"
            )
        size = ctypes.c_size_t()
        library.nvrtcGetCUBINSize(program, ctypes.byref(size))
        code = ctypes.create_string_buffer(size.value)
        library.nvrtcGetCUBIN(program, code)
        return code.raw
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _log(library: Any, program: ctypes.c_void_p) -> str:
    size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(max(1, size.value))
    library.nvrtcGetProgramLog(program, text)
    return text.value.decode(errors="replace")
