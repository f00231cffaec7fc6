"""The condition of the constraints along a run: where they become dependent, and what they hold is not determined.

With the rows and columns of A = J M⁻¹ E scaled to their usual size along the run, cond A is a number without unit. At a
change point (a parallelogram lying flat) or where two first integrals have parallel gradients (a Kepler orbit at its
apsides) it is infinite for one instant, which no row need meet: so the largest of the rows are followed between them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.equations.values import values_at
from holdfast.errors import HoldfastError
from holdfast.results.judgement.finding import Finding
from holdfast.results.judgement.geometry import condition_at
from holdfast.results.judgement.passages import FEWEST, WORK, crossed_found

ROWS = 400  # at which the condition is looked at first
PEAKS = 4  # of them, the highest are followed between rows
HALVINGS = 24  # of the interval around a peak
ILL = 1e6  # a condition number beyond this is an explosion,
BESIDE = 1e3  # if it is so many times the usual one along the run
ALWAYS = 1e10  # and beyond this in any case

States = Callable[[np.ndarray], np.ndarray]  # (states, times) of times


def condition_found(
    equations: Equations, times: np.ndarray, states: np.ndarray, parameters: dict[str, float], between: States | None
) -> Finding | None:
    """Where along a run the constraints become nearly dependent, if they do."""
    if equations.solver.form == "redundant":
        constants = [parameters[name] for name in equations.parameter_names]
        return crossed_found(equations, times, states, constants)
    if not len(equations.constraints) or len(times) < 2 or equations.solver.form not in ("solved", "inverse", "eased"):
        return None
    if WORK // len(equations.constraints) ** 2 // len(equations.coordinates) < FEWEST:
        return None  # of very large systems nothing is said

    chosen = np.unique(np.linspace(0, len(times) - 1, min(len(times), ROWS)).astype(int))
    matrices = [_authority(equations, float(times[k]), states[k].tolist(), parameters) for k in chosen]
    scales = _usual_scales(matrices)

    def at(time: float, state: Sequence[float]) -> float:
        return _condition(_authority(equations, time, state, parameters), scales)

    seen = np.array([_condition(matrix, scales) for matrix in matrices])
    finite = seen[np.isfinite(seen)]
    if not len(finite):
        return None
    usual = float(np.median(finite))
    if usual > ALWAYS and equations.solver.form == "eased":
        return None  # integrals that follow from others at all times: kept so, and no instant is worse
    met = [(float(value), float(times[k])) for value, k in zip(seen, chosen, strict=True)]
    if between is not None:
        for peak in _peaks(seen):
            low, high = times[chosen[max(0, peak - 1)]], times[chosen[min(len(chosen) - 1, peak + 1)]]
            met.append(_followed(lambda t: at(t, between(np.array([t]))[:, 0].tolist()), float(low), float(high)))
    ill = sorted((time, value) for value, time in met if value > max(ILL, BESIDE * usual) or value > ALWAYS)
    if not ill:
        return None
    when, worst = ill[0][0], max(value for _, value in ill)
    again = " and later" if ill[-1][0] - when > float(times[-1] - times[0]) / len(chosen) else ""
    what = "First integrals" if equations.solver.form == "eased" else "The constraints"
    then = (
        "Their corrections are eased there."
        if equations.solver.form == "eased"
        else "What holds them is not determined there, and the motion may leave on another branch."
    )
    row, constants = int(np.abs(times - when).argmin()), [parameters[name] for name in equations.parameter_names]
    condition = condition_at(equations, equations.constraints, row, times, states, constants)
    place = f", where {condition}" if condition else ""
    worst = min(worst, 1e17)
    if len(equations.constraints) == 1 and equations.problem.program.controls:  # nothing that it could depend on
        text = (
            f"The control {next(iter(equations.problem.program.controls))!r} hardly moves "
            f"{equations.constraints[0]!r} at t = {when:.4g}{again}{place}: there it takes {worst:.2g} times its usual "
            "effort, or more than there is."
        )
    else:
        text = (
            f"{what} become nearly dependent at t = {when:.4g}{again}{place}: their condition number, usually "
            f"{usual:.2g}, reaches {worst:.2g}. {then}"
        )
    return Finding("condition", text, False, when, "condition")


def _authority(
    equations: Equations, time: float, state: Sequence[float], parameters: dict[str, float]
) -> np.ndarray | None:
    """A = J M⁻¹ E at one state; none where it does not exist, or is not finite."""
    try:
        found = values_at(equations, list(state), time, parameters).authority
    except HoldfastError:
        return None
    return found if np.isfinite(found).all() else None


def _usual_scales(matrices: Sequence[np.ndarray | None]) -> tuple[np.ndarray, np.ndarray]:
    """The usual sizes of rows and columns along the run: units cancel, and a row that vanishes at a place is seen."""
    known = np.array([matrix for matrix in matrices if matrix is not None])
    if not len(known):
        return np.ones((1, 1)), np.ones((1, 1))
    rows = np.median(np.linalg.norm(known, axis=2, keepdims=True), axis=0)
    rows = np.where(rows > 0, rows, 1.0)
    columns = np.median(np.linalg.norm(known / rows, axis=1, keepdims=True), axis=0)
    return rows, np.where(columns > 0, columns, 1.0)


def _condition(matrix: np.ndarray | None, scales: tuple[np.ndarray, np.ndarray]) -> float:
    """cond A in usual units, or its inverse where all of it vanishes; infinite where A is singular, or not defined."""
    if matrix is None:
        return float("inf")
    try:
        sizes = np.linalg.svd(matrix / scales[0] / scales[1], compute_uv=False)
        return float(max(sizes[0], 1.0) / sizes[-1]) if sizes[-1] > 0 else float("inf")
    except np.linalg.LinAlgError:
        return float("inf")


def _peaks(seen: np.ndarray) -> list[int]:
    """The highest local maxima."""
    padded = np.concatenate([[-np.inf], seen, [-np.inf]])
    tops = [k for k in range(len(seen)) if padded[k] <= padded[k + 1] >= padded[k + 2]]
    return sorted(tops, key=lambda k: -seen[k])[:PEAKS]


def _followed(function: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """The largest value found by golden section, and where."""
    golden = (np.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    a, b = function(left), function(right)
    best = max((a, left), (b, right))
    for _ in range(HALVINGS):
        if a > b:
            high, right, b = right, left, a
            left = high - golden * (high - low)
            a = function(left)
        else:
            low, left, a = left, right, b
            right = low + golden * (high - low)
            b = function(right)
        best = max(best, (a, left), (b, right))
    return float(best[0]), float(best[1])
