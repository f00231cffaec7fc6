"""How much faster is the derivation on the graph than the same derivation by SymPy's `diff` and `cse`?

The problem is a chain of point masses in the plane, hung from the origin, each link a distance constraint: 2N
coordinates, N constraints. Holdfast derives M, h, J, γ and eliminates; SymPy derives M, h, J, γ only, by the loops that
a user writes, and shares their common parts. Both start from the same expressions and are compared at one state, in one
run.

    python -m benchmarks.derivation [--links 50] [--profile]
"""

from __future__ import annotations

import argparse
import cProfile
import json
import platform
import pstats
import subprocess
from collections.abc import Callable
from datetime import date
from pathlib import Path
from time import perf_counter

import numpy as np
import sympy as sp

import holdfast as hf
from holdfast.equations.dynamics.deviation import deviations_of
from holdfast.equations.dynamics.inputs import inputs_of
from holdfast.equations.dynamics.lagrange import dynamics_of

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
QUANTITIES = ("mass_matrix", "bias", "jacobian", "drift_term")


def chain(links: int) -> hf.Problem:
    """A hanging chain of unit mass and unit length, drawn out to the side and at rest apart from a small shake."""
    x = hf.coordinates([f"x{k}" for k in range(1, links + 1)])
    z = hf.coordinates([f"z{k}" for k in range(1, links + 1)])
    m, g, length = hf.parameters("m g length")
    rods = {}
    for k in range(links):
        before = (x[k - 1], z[k - 1]) if k else (0, 0)
        rods[f"rod{k + 1}"] = (x[k] - before[0]) ** 2 + (z[k] - before[1]) ** 2 - length**2
    system = hf.System(
        coordinates=(*x, *z),
        kinetic=m * sum(c.rate**2 for c in (*x, *z)) / 2,
        potential=m * g * sum(z),
        parameters={m: sp.Rational(1, links), g: 9.81, length: sp.Rational(1, links)},
    )
    start = {c: sp.Rational(4 * (k + 1), 5 * links) for k, c in enumerate(x)}
    start |= {c: -sp.Rational(3 * (k + 1), 5 * links) for k, c in enumerate(z)}
    start |= {c.rate: sp.Rational((-1) ** k, 10) for k, c in enumerate((*x, *z))}
    program = hf.Program(holonomic=rods, law=hf.SpringDamper(stiffness=100, damping=20))
    return hf.Problem(system, program, start=start, title=f"Chain of {links} links")


def by_sympy(problem: hf.Problem) -> tuple[list[sp.Symbol], list[tuple[sp.Symbol, sp.Expr]], list[sp.Matrix]]:
    """M, h, J and γ by differentiation of expressions, and their common parts."""
    system, program = problem.system, problem.program
    q = list(system.coordinates)
    v = [c.rate for c in q]
    kinetic, potential = system.kinetic, system.potential
    n, r = len(q), len(program.holonomic)
    momenta = [sp.diff(kinetic, u) for u in v]
    mass = sp.Matrix(n, n, lambda i, j: sp.diff(momenta[i], v[j]))
    bias = sp.Matrix(
        n,
        1,
        lambda i, _: (
            sp.diff(kinetic, q[i])
            - sp.diff(potential, q[i])
            - sum(sp.diff(momenta[i], q[j]) * v[j] for j in range(n))
            - sp.diff(momenta[i], hf.time)
        ),
    )
    f = list(program.holonomic.values())
    jacobian = sp.Matrix(r, n, lambda i, j: sp.diff(f[i], q[j]))
    w = [sum(jacobian[i, j] * v[j] for j in range(n)) + sp.diff(f[i], hf.time) for i in range(r)]
    drift = sp.Matrix(r, 1, lambda i, _: sum(sp.diff(w[i], q[j]) * v[j] for j in range(n)) + sp.diff(w[i], hf.time))
    common, matrices = sp.cse([mass, bias, jacobian, drift])
    return [*q, *v], common, matrices


def difference(problem: hf.Problem, equations: hf.Equations, derived: tuple) -> float:
    """The largest difference of the two derivations at the start, relative to the largest entry of each matrix."""
    state, common, matrices = derived
    parameters = hf.parameters("m g length")
    values = equations.evaluate()
    numbers = sp.lambdify([state, parameters], [*matrices], modules="numpy", cse=lambda _: (common, matrices))
    given = [float(problem.system.parameters[p.name]) for p in parameters]
    worst = 0.0
    for name, theirs in zip(QUANTITIES, numbers(list(values.state), given), strict=True):
        ours = np.asarray(getattr(values, name)).reshape(theirs.shape)
        worst = max(worst, float(np.abs(ours - theirs).max() / np.abs(theirs).max()))
    return worst


def commit() -> str:
    """The commit that was measured; "none" outside a git checkout."""
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty"], cwd=ROOT, check=True, capture_output=True, text=True
        )
        return found.stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "none"


def derivatives_only(problem: hf.Problem) -> None:
    """M, h, J and γ on the graph, without checks and elimination: what SymPy is asked for."""
    inputs = inputs_of(problem, problem.program.law_form(problem.system))
    dynamics_of(problem.system, inputs)
    deviations_of(problem.program, inputs)


def median_time(work: Callable[[], object], repeats: int = 7) -> float:
    times = []
    for _ in range(repeats):
        begin = perf_counter()
        work()
        times.append(perf_counter() - begin)
    return float(np.median(times))


def measure(links: int) -> list[dict[str, object]]:
    """Records for Holdfast, its derivatives alone, and SymPy; ours are medians of several, theirs is run once."""
    problem = chain(links)
    ours, part = median_time(lambda: hf.derive(problem)), median_time(lambda: derivatives_only(problem))
    equations = hf.derive(problem)
    begin = perf_counter()
    derived = by_sympy(problem)
    theirs = perf_counter() - begin
    error = difference(problem, equations, derived)
    shared = {"problem": f"chain of {links} links", "error": error, "commit": commit()}
    return [
        {**shared, "by": "holdfast", "seconds": ours},
        {**shared, "by": "holdfast, derivatives only", "seconds": part},
        {**shared, "by": f"sympy {sp.__version__} diff and cse", "seconds": theirs},
    ]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--links", type=int, default=50)
    options.add_argument("--profile", action="store_true", help="show where our own time goes, and stop")
    chosen = options.parse_args()
    hf.derive(chain(2))  # imports are not the derivation
    if chosen.profile:
        problem, watch = chain(chosen.links), cProfile.Profile()
        watch.runcall(hf.derive, problem)
        pstats.Stats(watch).sort_stats("tottime").print_stats(22)
        return
    records = measure(chosen.links)
    RESULTS.mkdir(parents=True, exist_ok=True)
    file = RESULTS / f"derivation-{date.today().isoformat()}-{platform.machine()}.json"
    part = file.with_suffix(".part")
    part.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    part.replace(file)
    for record in records:
        print(f"{record['by']:>28}  {record['seconds']:9.4f} s   difference {record['error']:.1e}")
    whole, part, theirs = (record["seconds"] for record in records)
    print(f"ratio {theirs / whole:.0f}, of the derivatives alone {theirs / part:.0f}")


if __name__ == "__main__":
    main()
