"""Chains, strips and square nets of up to ten thousand links: how long it takes to load, derive, compile and step them.

    python -m benchmarks.scale            each size in a process of its own; writes results/scale-... and the table
    python -m benchmarks.scale chain 200  one of them

Times are those of the processor, kept code is not used, and accelerations at a random state are compared with a sparse
solution of M a − Jᵀλ = h, J a = Y − γ by SciPy, which shares nothing with ours but the numbers.
"""

from __future__ import annotations

import json
import math
import os
import resource
import sys
import tempfile
from time import perf_counter, process_time
from typing import Any
from unittest.mock import patch

import numpy as np

import holdfast as hf
from benchmarks.apart import apart
from benchmarks.pages import keep_records, keep_section
from holdfast.engine.emit import rolling

SIZES = {"chain": (50, 200, 1000, 3000, 10_000), "strip": (200, 1000, 3000, 10_000), "net": (200, 1000, 3000, 10_000)}
COLUMNS = 3  # of a strip
RATE, GRAVITY = 20.0, 9.81
STRAIGHT = 400  # links at which rolled and straight code are both made
TITLE = "## Many links"

FILE = """
schema = 1
parameters = {{ g = 9.81, l = {length!r}, m = {length!r} }}
[repeat.top]
for = {{ j = [1, {columns}] }}
[repeat.top.definitions]
{tops}
[repeat.node]
for = {{ i = [1, {rows}], j = [1, {columns}] }}
[repeat.node.system]
coordinates = [{names}]
kinetic = "m*({squares})/2"
potential = "m*g*{last}"
[repeat.node.program.holonomic]
"down{{i}}_{{j}}" = "({down} - l**2)/2"
[repeat.node.start]
"x{{i}}_{{j}}" = "{{j}}*l"
"y{{i}}_{{j}}" = "{{i}}*l"
{across}
[program.law]
kind = "critically-damped"
rate = 20
"""
ACROSS = """
[repeat.bar]
for = {{ i = [1, {rows}], j = [2, {columns}] }}
[repeat.bar.program.holonomic]
"right{{i}}_{{j}}" = "({right} - l**2)/2"
"""


class Net:
    """Points, each joined to the one before it by a rod, and to its neighbour where there are columns: a chain in the
    plane, a strip in space, a net as wide as it is long.
    """

    def __init__(self, kind: str, links: int) -> None:
        square = round((1 + math.sqrt(1 + 8 * links)) / 4)  # of k² points and 2 k² − k bars
        self.axes = "xy" if kind == "chain" else "xyz"
        self.columns = {"chain": 1, "strip": COLUMNS, "net": square}[kind]
        self.rows = {"chain": links, "strip": round(links / (2 * COLUMNS - 1)), "net": square}[kind]
        self.length = 1 / self.rows

    @property
    def text(self) -> str:
        axes, sizes = self.axes, {"rows": self.rows, "columns": self.columns, "length": self.length}
        here = [f"{axis}{{i}}_{{j}}" for axis in axes]
        down = " + ".join(f"({axis}{{i}}_{{j}} - {axis}{{i-1}}_{{j}})**2" for axis in axes)
        right = " + ".join(f"({axis}{{i}}_{{j}} - {axis}{{i}}_{{j-1}})**2" for axis in axes)
        return FILE.format(
            **sizes,
            tops="\n".join(f'"{axis}0_{{j}}" = {chr(34) + "{j}*l" + chr(34) if axis == "x" else 0}' for axis in axes),
            names=", ".join(f'"{name}"' for name in here),
            squares=" + ".join(f"{name}_dot**2" for name in here),
            last=here[-1],
            down=down,
            across=ACROSS.format(**sizes, right=right) if self.columns > 1 else "",
        )

    def bars(self) -> tuple[np.ndarray, np.ndarray]:
        """The points that each bar joins, in the order of the constraints; -1, -2, ... are those that are fixed."""
        number = np.arange(self.rows * self.columns).reshape(self.rows, self.columns)
        above = np.vstack([-1 - np.arange(self.columns), number[:-1]])
        lower, upper = number.ravel(), above.ravel()
        beside = number[:, 1:].ravel(), number[:, :-1].ravel()
        return np.concatenate([lower, beside[0]]), np.concatenate([upper, beside[1]])

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """Places and velocities near the stretched net, where no constraint is met exactly."""
        shake = np.random.default_rng(1)
        i, j = np.divmod(np.arange(self.rows * self.columns), self.columns)
        places = self.length * np.column_stack([j + 1.0, i + 1.0, np.zeros(len(i))])[:, : len(self.axes)]
        return (
            places + 0.1 * self.length * shake.normal(size=places.shape),
            self.length * shake.normal(size=places.shape),
        )

    def accelerations(self, places: np.ndarray, velocities: np.ndarray) -> np.ndarray:
        """By SciPy's sparse LU of the whole system."""
        from scipy.sparse import bmat, coo_matrix, identity
        from scipy.sparse.linalg import spsolve

        lower, upper = self.bars()
        size, above = len(self.axes), np.arange(self.columns) + 1.0
        fixed = self.length * np.column_stack([above, np.zeros((self.columns, size - 1))])[::-1]
        all_places, all_velocities = np.vstack([places, fixed]), np.vstack([velocities, np.zeros_like(fixed)])
        along, moving = all_places[lower] - all_places[upper], all_velocities[lower] - all_velocities[upper]
        bar, axis = np.indices(along.shape)
        free = upper >= 0
        rows = np.concatenate([bar.ravel(), bar[free].ravel()])
        columns = np.concatenate(
            [(size * lower[:, None] + axis).ravel(), (size * upper[free, None] + axis[free]).ravel()]
        )
        values = np.concatenate([along.ravel(), -along[free].ravel()])
        jacobian = coo_matrix((values, (rows, columns)), shape=(len(lower), places.size)).tocsr()
        deviation, rate = ((along**2).sum(1) - self.length**2) / 2, (along * moving).sum(1)
        demand = -(RATE**2) * deviation - 2 * RATE * rate - (moving**2).sum(1)
        forces = np.zeros_like(places)
        forces[:, -1] = -self.length * GRAVITY
        system = bmat([[self.length * identity(places.size), -jacobian.T], [jacobian, None]], format="csc")
        return np.asarray(spsolve(system, np.concatenate([forces.ravel(), demand])))[: places.size]


def record(kind: str, links: int) -> dict[str, Any]:
    """One size, from its text to its steps, in seconds and megabytes."""
    from holdfast.engine.kernel import compiled

    net = Net(kind, links)
    marks = [process_time()]
    problem = hf.loads(net.text)
    marks.append(process_time())
    equations = hf.derive(problem)
    marks.append(process_time())
    kernel = compiled(equations.field, hf.RK4, tier="quick")
    marks.append(process_time())
    made = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    hf.simulate(equations, hf.RK4, step=1e-5, duration=1e-4, every=10)
    marks.append(process_time())
    places, velocities = net.state()
    state = np.concatenate([places.ravel(), velocities.ravel()])
    constants = [equations.parameter_values[name] for name in equations.parameter_names]
    rates, _ = kernel.rates_and_margin(0.0, state, constants)
    exact = net.accelerations(places, velocities)
    load, derive, compile_, first = np.diff(marks).tolist()
    return {
        "problem": kind, "links": len(net.bars()[0]), "load": load, "derive": derive, "compile": compile_,
        "first_run": first, "megabytes": made, "step": step_time(equations),
        "error": float(np.abs(rates[places.size :] - exact).max() / np.abs(exact).max()),
    }  # fmt: skip


def step_time(equations: hf.Equations) -> float:
    """Seconds of an RK4 step of optimised code, the least of several looks."""
    from holdfast.engine.kernel import compiled

    kernel = compiled(equations.field, hf.RK4, tier="optimised")
    start = hf.simulate(equations, hf.RK4, step=1e-6, duration=1e-6).start.state
    constants = [equations.parameter_values[name] for name in equations.parameter_names]
    steps, looks = max(2, 30_000 // len(start)), []
    for _ in range(60):  # short ones: others may run beside
        began = perf_counter()
        kernel.run(start, constants, step=1e-6, steps=steps, every=steps)
        looks.append((perf_counter() - began) / steps)
    return min(looks)


def rolled_beside_straight(kind: str) -> float:
    """How much longer a step of rolled code takes than one of straight code, where both are made."""
    times = []
    for limit in (1000, 10**9):
        kept = tempfile.TemporaryDirectory()  # code is kept by what it computes, and both compute the same
        with kept as folder, patch.dict(os.environ, HOLDFAST_CACHE=folder), patch.object(rolling, "ROLLED_FROM", limit):
            times.append(step_time(hf.derive(hf.loads(Net(kind, STRAIGHT).text))))
    return times[0] / times[1]


def table(records: list[dict[str, Any]], ratios: dict[str, float]) -> str:
    """The part of docs/benchmarks.md about large systems."""
    lines = [
        "Written by `python -m benchmarks.scale`: seconds of the processor, each size in a process of its own, nothing "
        "kept from before. A chain is one column of rods in the plane, a strip three in space with bars between "
        "them, a net as many columns as rows. "
        "*First run* is the first `simulate`, beyond compiling; errors are those of accelerations beside SciPy's "
        "sparse LU.", "",
        "| problem | links | load | derive | compile | first run | MB | us an RK4 step | error |",
        "|---|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    lines += [
        f"| {r['problem']} | {r['links']} | {r['load']:.2f} | {r['derive']:.2f} | {r['compile']:.2f} | "
        f"{r['first_run']:.2f} | {r['megabytes']:.0f} | {1e6 * r['step']:.3g} | {r['error']:.0e} |"
        for r in records
    ]
    told = ", ".join(f"{kind} {ratio:.2f}" for kind, ratio in ratios.items())
    return "\n".join([*lines, "", f"A step of rolled code beside straight code at {STRAIGHT} links: {told}."]) + "\n"


def main() -> None:
    """Measure all sizes, or one that is named."""
    if len(sys.argv) > 2:
        with hf.limits(seconds=3600):
            hf.simulate(hf.derive(hf.loads(Net("chain", 5).text)), hf.RK4, step=1e-5, duration=1e-4)  # imports
            named = sys.argv[1] == "ratio"
            print(json.dumps(rolled_beside_straight(sys.argv[2]) if named else record(sys.argv[1], int(sys.argv[2]))))
        return
    records = [apart("benchmarks.scale", kind, str(links)) for kind, sizes in SIZES.items() for links in sizes]
    ratios = {
        kind: apart("benchmarks.scale", "ratio", kind) for kind in ("chain", "strip")
    }  # a net is solved by tables
    keep_records("scale", ratios=ratios, records=records)
    keep_section(TITLE, table(records, ratios))


if __name__ == "__main__":
    main()
