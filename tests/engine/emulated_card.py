"""A card that is none: the kernel's text compiled by the system's C++ compiler, thread after thread on the processor.

It shows that the text is right, that host and card agree on `struct Job`, and that bits are those of the kernels.
"""

from __future__ import annotations

import ctypes
import subprocess
from contextlib import contextmanager

import numpy as np

SHIM = """#include <cmath>
#include <cstring>
#define __global__
#define __forceinline__ static inline
#define __launch_bounds__(n)
struct Place { long long x; };
static thread_local Place blockIdx, threadIdx, blockDim;
static inline long long __double_as_longlong(double a) { long long w; memcpy(&w, &a, 8); return w; }
static inline double __longlong_as_double(long long w) { double a; memcpy(&a, &w, 8); return a; }
#undef NAN
#undef INT64_C
#define int64_t hf_int64
#define uint64_t hf_uint64
#undef INFINITY
using std::copysign; using std::fma; using std::fabs; using std::sqrt; using std::pow;
"""
LAUNCH = """
extern "C" void launch(long long count, const Job *job)
{
    blockDim.x = 1;
    for (long long j = 0; j < count; j++) { blockIdx.x = j; NAME(*job); }
}
"""


class Memory:
    def __init__(self):
        self.held = []

    def empty(self, size):
        self.held.append(np.full(max(size, 16), 0x7F, np.uint8))
        return self.held[-1].ctypes.data

    def zeros(self, size):
        place = self.empty(size)
        self.held[-1][:] = 0
        return place

    def of(self, array):
        whole = np.ascontiguousarray(array)
        place = self.empty(whole.nbytes)
        ctypes.memmove(place, whole.ctypes.data, whole.nbytes)
        return place

    @staticmethod
    def fetch(place, array):
        ctypes.memmove(array.ctypes.data, place, array.nbytes)
        return array


class Function:
    def __init__(self, library):
        self.library, self.launches = library, 0

    def launch(self, count, threads, job):
        self.launches += 1
        self.library.launch(ctypes.c_int64(count), ctypes.byref(job))


class EmulatedCard:
    name, capability = "emulated", (9, 0)

    def __init__(self, folder):
        self.folder, self.free, self.made = folder, 2**28, []

    def bind(self):
        """Nothing."""

    def wait(self):
        """Nothing."""

    @contextmanager
    def memory(self):
        yield Memory()

    def function(self, text, name):
        number = len(self.made)
        file, library = self.folder / f"k{number}.cpp", self.folder / f"k{number}.so"
        file.write_text(SHIM + text + LAUNCH.replace("NAME", name))
        options = "-O1 -w -std=c++17 -fPIC -shared -ffp-contract=off".split()
        found = subprocess.run(["g++", *options, file, "-o", library], capture_output=True, text=True, check=False)
        assert not found.returncode, found.stderr[:3000]
        self.made.append(Function(ctypes.CDLL(str(library))))
        return self.made[-1]
