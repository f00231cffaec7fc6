"""The rival that a user writes in an afternoon: SymPy's matrices by `lambdify` with shared parts, `numpy.linalg.solve`.

M a = h + E μ,   J a + γ = Y      as one linear system in (a, μ) for each evaluation
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import sympy as sp

import holdfast as hf


def right_side(equations: hf.Equations) -> Callable[[float, np.ndarray], np.ndarray]:
    """dx/dt as a Python function of time and state, all parameters and gains put in as numbers."""
    problem, n = equations.problem, len(equations.coordinates)
    coordinates = problem.system.coordinates
    state = [*coordinates, *(c.rate for c in coordinates)]
    deviations = dict(zip(_symbols(equations), [*equations.deviation, *equations.deviation_rate], strict=True))
    demand = equations.demand.xreplace(deviations) - equations.drift_term
    matrices = [equations.mass_matrix, equations.bias, equations.jacobian, demand, equations.holder_matrix]
    used = {symbol for matrix in matrices for symbol in matrix.free_symbols}
    numbers = {s: equations.parameter_values[s.name] for s in used if s.name in equations.parameter_values}
    values = sp.lambdify([hf.time, state], [matrix.xreplace(numbers) for matrix in matrices], cse=True)
    r = len(equations.constraints)
    system, right = np.zeros((n + r, n + r)), np.zeros(n + r)

    def rates(t: float, x: np.ndarray) -> np.ndarray:
        mass, bias, jacobian, wanted, holders = values(t, x)
        system[:n, :n], system[:n, n:], system[n:, :n] = mass, -holders, jacobian
        right[:n], right[n:] = bias[:, 0], wanted[:, 0]
        return np.concatenate([x[n:], np.linalg.solve(system, right)[:n]])

    return rates


def _symbols(equations: hf.Equations) -> list[sp.Symbol]:
    program = equations.problem.program
    y = [hf.deviations(name) for name in program.holonomic]
    return [*y, *(hf.deviations(name).rate for name in program.constraints)]
