"""How fast is a run, against what a user would otherwise write?  Ratios within one run; the bars are those of issue 3.

Records {problem, by, scheme, step, error, seconds, commit}. `seconds` is the shortest of several for the whole problem;
`error` the largest error of a state at its end, against the closed form or a run at 1e-13.

    python -m benchmarks.speed
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import holdfast as hf
from benchmarks import first_result
from benchmarks.by_lambdify import right_side
from benchmarks.derivation import chain
from benchmarks.engine_speed import STEP, by_gcc, commit, native_call, shortest
from holdfast.engine.code import native
from holdfast.engine.kernel import compiled

Record = dict[str, Any]
RIVAL_STEPS = 20_000  # of the loop in Python, from which its 5e6 steps are extrapolated


@dataclass(frozen=True)
class Ratio:
    """How many times longer `slow` takes than `fast`, and what was aimed at ("at least" unless `most`)."""

    what: str
    value: float
    bar: float
    most: bool = False

    @property
    def met(self) -> bool:
        return self.value <= self.bar if self.most else self.value >= self.bar

    def __str__(self) -> str:
        sign, verdict = ("<=" if self.most else ">="), ("met" if self.met else "MISSED")
        return f"{self.what}: {self.value:.3g} (aim {sign} {self.bar:g}: {verdict})"


@cache
def derived(name: str) -> hf.Equations:
    return hf.derive(hf.load(str(resources.files("holdfast") / "examples" / f"{name}.toml")))


def timed(work: Callable[[], Any], repeats: int = 5) -> tuple[float, Any]:
    """The shortest of several times, and what was computed."""
    times, found = [], None
    for _ in range(repeats):
        began = perf_counter()
        found = work()
        times.append(perf_counter() - began)
    return min(times), found


def record(problem: str, by: str, scheme: str, step: float | None, error: float | None, seconds: float) -> Record:
    return {"problem": problem, "by": by, "scheme": scheme, "step": step, "error": error, "seconds": seconds}


# ── the papers' experiment ────────────────────────────────────────────────────────────────────────


def euler_on_the_cart() -> Iterator[Record | Ratio]:
    """5e6 Euler steps of the cart and rod, against the same loop in Python."""
    step, steps = 2e-6, 5_000_000
    cart, name = derived("cart_rod"), "cart and rod, 5e6 steps"
    ours = lambda count: hf.simulate(cart, hf.Euler, step=step, duration=count * step, every=count)  # noqa: E731
    ours(steps)  # the optimised tier is made and kept
    seconds, run = timed(lambda: ours(steps), 3)
    matrix = cart.evaluate().deviation_matrix
    begin = np.array([run[key][0] for key in ("y_home", "y_upright", "w_home", "w_upright")])
    end = np.array([run[key][-1] for key in ("y_home", "y_upright", "w_home", "w_upright")])
    yield record(name, "holdfast", "euler", step, float(np.abs(end - expm(10 * matrix) @ begin).max()), seconds)
    rates = right_side(cart)
    began, x = perf_counter(), run.y[:, 0].copy()
    for k in range(RIVAL_STEPS):
        x = x + step * rates(k * step, x)
    slow = (perf_counter() - began) * steps / RIVAL_STEPS
    error = float(np.abs(x - ours(RIVAL_STEPS).y[:, -1]).max())
    yield record(name, f"lambdify and numpy, from {RIVAL_STEPS} steps", "euler", step, error, slow)
    yield Ratio("cart, 5e6 Euler steps: lambdify and numpy / holdfast", slow / seconds, 250)


# ── an adaptive run ───────────────────────────────────────────────────────────────────────────────


def dop853_on_the_chain(duration: float, links: int = 10) -> Iterator[Record | Ratio]:
    """A chain at 1e-6, against SciPy's DOP853 on lambdified equations.

    A call of ours costs about 0.4 ms of Python beside the native loop, which a run of one second shows.
    """
    equations, name = hf.derive(chain(links)), f"chain of {links}, {duration:g} s"
    truth = hf.simulate(equations, hf.DOP853, tolerance=1e-13, duration=duration)
    constants = list(equations.parameter_values.values())
    kernel = compiled(equations.field, hf.DOP853, tier="optimised")
    run = lambda: kernel.run_adaptive(  # noqa: E731
        truth.start.state, constants, duration=duration, relative=1e-6, absolute=1e-6, dense=False
    )
    seconds, rows = timed(run, 50)
    error = float(np.abs(rows.states[-1] - truth.y[:, -1]).max())
    yield record(name, "holdfast", "dop853", None, error, seconds)
    rates = right_side(equations)
    solve = lambda: solve_ivp(rates, (0, duration), truth.y[:, 0], method="DOP853", rtol=1e-6, atol=1e-6)  # noqa: E731
    slow, found = timed(solve, 3)
    error = float(np.abs(found.y[:, -1] - truth.y[:, -1]).max())
    yield record(name, "lambdify and solve_ivp", "dop853", None, error, slow)
    yield Ratio(f"{name}: lambdify and solve_ivp / holdfast", slow / seconds, 400)


# ── kernels ───────────────────────────────────────────────────────────────────────────────────────


def kernels(folder: Path) -> Iterator[Record | Ratio]:
    """The loop against gcc -O3 of our own C, and a register of cases against one."""
    width = native.lane_width()
    for name in ("cart_rod", "four_bar"):
        equations = derived(name)
        start = np.array(hf.simulate(equations, hf.RK4, step=STEP, duration=STEP).start.state)
        constants = list(equations.parameter_values.values())
        kernel = compiled(equations.field, hf.RK4, tier="optimised")
        scalar, state = shortest(kernel, native_call(kernel, 1), start, constants, 1)
        lanes, beside = shortest(kernel, native_call(kernel, width), start, constants, width)
        same = float(np.abs(beside - state).max())
        yield record(name, "holdfast", "rk4", STEP, None, scalar)
        yield record(name, f"holdfast, {width} lanes, each case", "rk4", STEP, same, lanes / width)
        bar = 4.0 if native.features().get("avx512f") else 2.5
        yield Ratio(f"{name}: one case / one of {width} lanes", scalar * width / lanes, bar)
        if shutil.which("gcc"):
            function, _ = by_gcc(kernel, folder)
            compared, other = shortest(kernel, function, start, constants, 1)
            yield record(name, "gcc -O3 of our C", "rk4", STEP, float(np.abs(other - state).max()), compared)
            yield Ratio(f"{name}: holdfast / gcc -O3 of our C", scalar / compared, 1.10, most=True)


# ── all of it ─────────────────────────────────────────────────────────────────────────────────────


def measured() -> Iterator[Record | Ratio]:
    with tempfile.TemporaryDirectory() as folder:
        yield from kernels(Path(folder))
    yield from euler_on_the_cart()
    yield from dop853_on_the_chain(1)
    yield from dop853_on_the_chain(10)
    for name in first_result.NAMES:
        cold, cached = first_result.seconds(name)
        yield record(name, "first result, cold", "rk4", None, None, cold)
        yield record(name, "first result, cached", "rk4", None, None, cached)
        yield Ratio(f"{name}: first result, cold, seconds", cold, 0.2, most=True)
        yield Ratio(f"{name}: first result, cached, seconds", cached, 0.01, most=True)


def records() -> tuple[list[Record], list[Ratio]]:
    """All records, with the commit, and all ratios."""
    mark, found = commit(), list(measured())
    kept = [item | {"commit": mark} for item in found if isinstance(item, dict)]
    return kept, [item for item in found if isinstance(item, Ratio)]


if __name__ == "__main__":
    for ratio in records()[1]:
        print(ratio, file=sys.stderr)
