"""How fast are the kernels?  As fast as gcc -O3 makes our own C; and a lane width of cases costs little more than one.

Records {problem, by, scheme, step, error, seconds, commit}, all from one run on one machine: compare them by ratios.
`seconds` is the shortest of many bursts, for the whole problem; `error` is the largest error of a state at its end.
"""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from holdfast.engine.code import native
from holdfast.engine.kernel import Kernel, compiled
from holdfast.engine.run.memory import Memory
from holdfast.graph.field import Field
from holdfast.graph.nodes import Graph
from holdfast.schemes.tableaus.dop853 import DOP853
from holdfast.schemes.tableaus.kutta import RK4
from tests.engine.fields import chain

DURATION, STEP = 0.4, 1e-3
BURSTS = 40
GCC = ("gcc", "-O3", "-march=native", "-std=gnu99", "-fPIC", "-shared")

Problem = tuple[str, Field, np.ndarray, list[float]]


def rod_on_cart() -> tuple[Field, np.ndarray, list[float]]:
    """A cart with a rod, no constraints: small, with one sine and one cosine."""
    g = Graph()
    t, x, a, v, w = (g.input(name) for name in "txavw")
    cart, rod, length, gravity = parameters = tuple(g.input(name) for name in "Mmlg")
    sine, cosine = g.call("sin", a), g.call("cos", a)
    m11, m12, m22 = cart + rod, -rod * length * sine / 2, rod * length**2 / 3
    h1, h2 = rod * length * cosine * w**2 / 2, -rod * gravity * length * cosine / 2
    pivot = m22 - m12 * m12 / m11
    turning = (h2 - m12 / m11 * h1) / pivot
    rates = (v, w, (h1 - m12 * turning) / m11, turning)
    field = Field(time=t, state=(x, a, v, w), parameters=parameters, rates=rates, pivots=(m11, pivot), positions=2)
    return field, np.array([0.1, 2.0, 0.0, 0.0]), [10.0, 1.0, 1.0, 9.81]


def problems() -> Iterator[Problem]:
    yield ("cart and rod", *rod_on_cart())
    for links in (5, 10, 50):
        yield (f"chain of {links}", *chain(links))


def shortest(
    kernel: Kernel, call: Callable[..., Any], start: np.ndarray, parameters: list[float], lanes: int
) -> tuple[float, np.ndarray]:
    """The shortest time of the loop in many bursts (minima survive a shared machine), and the state at the end."""
    x = np.repeat(start[None, :, None], lanes, axis=2)
    machine = kernel.lanes(lanes)
    memory = Memory(machine.layout, x, np.repeat(np.array(parameters)[None, :, None], lanes, axis=2))
    steps = round(DURATION / STEP)
    rows = np.empty((1, len(start), lanes))
    arrays = (memory.x, memory.f, memory.p, memory.watch, memory.events, memory.status, memory.done, rows, memory.work)
    addresses = [array.ctypes.data for array in arrays]
    times = []
    for _ in range(BURSTS):
        memory.x[...], memory.done[...] = x, 0.0
        memory.begin(machine, 0.0, np.zeros(0))
        began = perf_counter()
        call(0, steps, steps, 0.0, STEP, *addresses)
        times.append(perf_counter() - began)
    return min(times), memory.x[0, :, 0]


def by_gcc(kernel: Kernel, folder: Path) -> tuple[Callable[..., Any], float]:
    """The loop of our C text, compiled by gcc, and the seconds that took."""
    source, library = folder / "kernel.c", folder / f"kernel{len(list(folder.iterdir()))}.so"
    source.write_text(kernel.assembly.c())
    began = perf_counter()
    subprocess.run([*GCC, str(source), "-o", str(library), "-lm"], check=True)
    seconds = perf_counter() - began
    function = ctypes.CDLL(str(library)).hf_fixed
    function.argtypes = [*[ctypes.c_int64] * 3, *[ctypes.c_double] * 2, *[ctypes.c_void_p] * 9]
    function.restype = ctypes.c_int64
    return function, seconds


def native_call(kernel: Kernel, lanes: int) -> Callable[..., Any]:
    machine = kernel.lanes(lanes)
    return lambda *arguments: machine.call("fixed", *arguments)


def records_of(problem: Problem, folder: Path) -> Iterator[dict[str, Any]]:
    name, field, start, parameters = problem
    truth = compiled(field, DOP853).run_adaptive(
        start, parameters, duration=DURATION, relative=1e-13, absolute=1e-14, dense=False
    )

    def record(by: str, seconds: float, error: float | None = None) -> dict[str, Any]:
        return {"problem": name, "by": by, "scheme": "rk4", "step": STEP, "error": error, "seconds": seconds}

    kernels = {tier: compiled(field, RK4, tier=tier) for tier in ("quick", "optimised")}
    optimised = kernels["optimised"]
    width = native.lane_width()
    runs = [("quick tier", kernels["quick"], native_call(kernels["quick"], 1), 1)]
    runs += [("optimised tier", optimised, native_call(optimised, 1), 1)]
    runs += [(f"optimised tier, {width} lanes, each case", optimised, native_call(optimised, width), width)]
    if shutil.which("gcc"):
        function, seconds = by_gcc(optimised, folder)
        runs.append(("gcc -O3", optimised, function, 1))
        yield record("compiling: gcc -O3", seconds)
    text = optimised.assembly.llvm(1, fused=native.fused())
    for tier in ("quick", "optimised"):
        began = perf_counter()
        native.object_code(text, optimised=tier == "optimised")
        yield record(f"compiling: {tier} tier", perf_counter() - began)
    for by, kernel, call, lanes in runs:
        seconds, state = shortest(kernel, call, start, parameters, lanes)
        yield record(by, seconds / lanes, float(np.abs(state - truth.states[-1]).max()))


def commit() -> str:
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return found.stdout.strip() or "uncommitted"


def records() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        mark = commit()
        return [record | {"commit": mark} for problem in problems() for record in records_of(problem, Path(folder))]


def main() -> None:
    """Print the records as JSON, and the ratios on standard error."""
    found = records()
    json.dump(found, sys.stdout, indent=1)
    seconds = {(record["problem"], record["by"]): record["seconds"] for record in found}
    for problem in dict.fromkeys(record["problem"] for record in found):
        base = seconds[problem, "optimised tier"]
        ratios = [f"{by} {value / base:.2f}" for (which, by), value in seconds.items() if which == problem]
        per_step = 1e9 * base / (DURATION / STEP)
        print(f"{problem}: {per_step:.0f} ns a step; against it: {', '.join(ratios)}", file=sys.stderr)


if __name__ == "__main__":
    main()
