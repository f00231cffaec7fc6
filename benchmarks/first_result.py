"""How long until the first result?  From the end of the imports in a fresh process: compile, and run for a second.

Cold means an empty cache of compiled code, cached a second process with the same cache. The equations are derived
before the clock starts in "cached", and after it in "cold": the cache keeps machine code, not equations.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

NAMES = ("pendulum", "cart_rod", "four_bar")

SCRIPT = """
import sys
from importlib import resources
from time import perf_counter
import holdfast as hf
hf.simulate, hf.derive, hf.Trajectory, hf.RK4
problem = hf.load(str(resources.files("holdfast") / "examples" / (sys.argv[1] + ".toml")))
began = perf_counter()
equations = hf.derive(problem)
derived = perf_counter()
run = hf.simulate(equations, hf.RK4, step=0.005, duration=1)
ended = perf_counter()
print(derived - began, ended - derived)
"""


def seconds(name: str, repeats: int = 5) -> tuple[float, float]:
    """Derivation and first run, cold; first run alone, cached; the shortest of several processes."""
    cold, cached = [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(sum(_once(name, folder)))
            cached.append(_once(name, folder)[1])
    return min(cold), min(cached)


def _once(name: str, cache: str) -> tuple[float, float]:
    environment = {**os.environ, "HOLDFAST_CACHE": cache}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, name], env=environment, capture_output=True, text=True, check=True
    )
    derivation, run = map(float, done.stdout.split())
    return derivation, run
