"""How fast is a stiff run, against SciPy's Radau on the same equations?  Hundreds of times faster.

Records {problem, by, scheme, step, error, seconds, commit}, from one run on one machine: compare them by ratios.
`error` is the largest error of a state at the end, against published values or a run at a much tighter tolerance; the
tolerance is the same for both, the errors that it leads to are not.
SciPy is given the exact partials where they are known by hand.

    python -m benchmarks.stiff_speed
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import holdfast as hf
from benchmarks.by_lambdify import right_side
from benchmarks.engine_speed import commit
from benchmarks.speed import Ratio, Record, derived, record, timed
from holdfast.engine.kernel import compiled
from holdfast.graph.field import Field
from tests.engine.fields import van_der_pol

STIFFNESS, END = 1e3, 2000.0
VDPOL = np.array([1.706167732170483, -0.8928097010247975e-3])  # Test Set for IVP Solvers 2.4, ε = 1e-6
AIM = 100.0


def oscillating(t: float, state: np.ndarray) -> list[float]:
    x, v = state
    return [v, STIFFNESS * (1 - x * x) * v - x]


def slopes(t: float, state: np.ndarray) -> list[list[float]]:
    x, v = state
    return [[0.0, 1.0], [-2 * STIFFNESS * x * v - 1, STIFFNESS * (1 - x * x)]]


def compared(
    name: str,
    field: Field,
    start: np.ndarray,
    constants: list[float],
    duration: float,
    tolerance: float,
    truth: np.ndarray,
    rival: Callable[..., Any],
    **options: Any,
) -> Iterator[Record | Ratio]:
    """Both at one tolerance."""
    kernel = compiled(field, hf.Radau, tier="optimised")
    ours = lambda: kernel.run_adaptive(  # noqa: E731
        start, constants, duration=duration, relative=tolerance, absolute=tolerance
    )
    seconds, rows = timed(ours, 20)
    title = f"{name}, {tolerance:g}"
    yield record(title, "holdfast", "radau", None, float(np.abs(rows.states[-1] - truth).max()), seconds)
    theirs = lambda: solve_ivp(  # noqa: E731
        rival, (0, duration), start, method="Radau", rtol=tolerance, atol=tolerance, **options
    )
    slow, found = timed(theirs, 3)
    yield record(title, "solve_ivp", "radau", None, float(np.abs(found.y[:, -1] - truth).max()), slow)
    yield Ratio(f"{title}: solve_ivp / holdfast", slow / seconds, AIM)


def measured() -> Iterator[Record | Ratio]:
    for tolerance in (1e-4, 1e-6, 1e-8):
        yield from compared(
            "van der Pol, k = 1000", van_der_pol(), np.array([2.0, 0.0]), [STIFFNESS], END, tolerance, VDPOL,
            oscillating, jac=slopes,
        )  # fmt: skip
    plain = derived("four_bar")
    truth = hf.simulate(plain, hf.DOP853, tolerance=1e-13, duration=1)
    equations = plain.with_law(hf.critically_damped(1e4))
    constants = list(equations.parameter_values.values())
    yield from compared(
        "four-bar held with 1e4/s", equations.field, truth.y[:, 0], constants, 1.0, 1e-6, truth.y[:, -1],
        right_side(equations),
    )  # fmt: skip


def records() -> tuple[list[Record], list[Ratio]]:
    """All records, with the commit, and all ratios."""
    mark, found = commit(), list(measured())
    kept = [item | {"commit": mark} for item in found if isinstance(item, dict)]
    return kept, [item for item in found if isinstance(item, Ratio)]


if __name__ == "__main__":
    for item in measured():
        print(item, file=sys.stderr)
