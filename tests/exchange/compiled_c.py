"""Exported C through the system's compiler, called from Python; and kernels without fused products beside it."""

import ctypes
import shutil
import subprocess

import numpy as np

from holdfast.engine.code import native
from holdfast.engine.code.compiled import Code

STRICT = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-ffp-contract=off"]
COMPILER = shutil.which("gcc") or shutil.which("cc")


class Library:
    """The functions of an export, on arrays."""

    def __init__(self, made, folder, *flags):
        made.save(folder)
        self.name, self.file = made.name, folder / f"{made.name}.so"
        command = [COMPILER, *STRICT, "-O2", "-fPIC", "-shared", *flags, str(folder / f"{made.name}.c")]
        subprocess.run([*command, "-o", str(self.file), "-lm"], check=True)
        self._library = ctypes.CDLL(str(self.file))
        self.type = np.float32 if "typedef float" in made.files[f"{made.name}.h"] else np.float64
        self._real = ctypes.c_float if self.type is np.float32 else ctypes.c_double

    def call(self, function, *arguments, returns=None):
        """Numbers are passed as they are (floats as reals), arrays by their address."""
        entry = getattr(self._library, f"{self.name}_{function}")
        entry.restype = returns
        return entry(*[self._argument(value) for value in arguments])

    def _argument(self, value):
        if isinstance(value, np.ndarray):
            assert value.flags.c_contiguous
            return ctypes.c_void_p(value.ctypes.data)
        return ctypes.c_long(value) if isinstance(value, int) else self._real(value)

    def zeros(self, count):
        return np.zeros(max(count, 1), self.type)

    def names(self, kind):
        table = ctypes.POINTER(ctypes.c_char_p).in_dll(self._library, f"{self.name}_{kind}_names")
        entries = ctypes.cast(ctypes.pointer(table), ctypes.POINTER(ctypes.c_char_p))
        found = []
        while entries[len(found)] is not None:
            found.append(entries[len(found)].decode())
        return found

    def defaults(self, states, parameters):
        t, x, p = self.zeros(1), self.zeros(states), self.zeros(parameters)
        self.call("defaults", t, x, p)
        return float(t[0]), x, p

    def run(self, t0, h, first, count, x, p, work):
        status = np.zeros(1, np.int32)
        taken = self.call("run", t0, h, first, count, x, p, self.zeros(work), status, returns=ctypes.c_long)
        return taken, int(status[0])


def unfused(assembly):
    """The functions of an assembly as native code that rounds every product."""
    signatures = {name: s for name, s in assembly.signatures.items() if s.returns in ("", "i")}
    code = Code.of(native.object_code(assembly.llvm(1, fused=False), optimised=True), signatures, assembly.layout)
    return code.loaded()
