"""Which programs the controls were about to lose where a run broke off, and where that is so."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holdfast.engine.run.rows import Rows
from holdfast.equations.equations import Equations
from holdfast.equations.solving.repeats import listed
from holdfast.equations.values import Values, values_at
from holdfast.results.judgement.finding import Finding
from holdfast.results.judgement.geometry import condition_at

LOOKED_AT = 64  # rows
LOST = 0.05  # of the usual: authority below this is about to be lost
SWEEPS = 20  # over rows and columns, until both are of one size
INVOLVED = 0.3  # share of a program in the combination that is lost


def authority_end(equations: Equations, rows: Rows, constants: Sequence[float]) -> Finding | None:
    """The programs that the controls could hardly move any more at the last row, if that is why a run ended."""
    program = equations.problem.program
    if not program.controls or len(rows.times) < 2:
        return None
    chosen = np.unique(np.linspace(0, len(rows.times) - 1, min(len(rows.times), LOOKED_AT)).astype(int))
    times, states = rows.times[chosen], rows.states[chosen]
    parameters = dict(zip(equations.parameter_names, constants, strict=True))
    answers = [
        _answer(values_at(equations, x.tolist(), float(t), parameters)) for t, x in zip(times, states, strict=True)
    ]
    if any(answer is None for answer in answers):
        return None
    table = _in_own_units(np.array(answers))
    sizes = np.linalg.svd(table, compute_uv=False)[:, -1]
    if not sizes[-1] < LOST * sizes.max():
        return None
    weak = np.abs(np.linalg.svd(table[-1])[0][:, -1])
    waiting = [name for name in equations.constraints if name not in program.held_by_reaction]
    moved = [name for name, share in zip(waiting, weak, strict=True) if share > INVOLVED]
    condition = condition_at(equations, equations.constraints, len(times) - 1, times, states, constants)
    whose = "control" if len(program.controls) == 1 else "controls"
    where = f", where {condition}" if condition else ""
    place = ", ".join(f"{name} = {x:.4g}" for name, x in zip(equations.coordinates[:6], states[-1], strict=False))
    text = (
        f"Towards t = {times[-1]:.4g} ({place}) the {whose} {listed(list(program.controls))} can no longer move "
        f"{listed(moved)}{where}."
    )
    return Finding("singular", text, True, float(times[-1]), moved[0])


def _answer(values: Values) -> np.ndarray | None:
    """What controls do to the programs they hold, while reactions hold theirs; none where it is not defined.

    D = A₂₂ − A₂₁ A₁₁⁻¹ A₁₂, with A = J M⁻¹E + D split into reactions (1) and controls (2).
    """
    program = values.equations.problem.program
    first = [values.equations.constraints.index(name) for name in program.held_by_reaction]
    others = [k for k in range(len(values.equations.constraints)) if k not in first]
    count = len(first)
    try:
        whole = values.jacobian @ np.linalg.solve(values.mass_matrix, values.holders) + values.through
        held = np.linalg.solve(whole[np.ix_(first, range(count))], whole[first, count:])
        found = whole[others, count:] - whole[np.ix_(others, range(count))] @ held
    except np.linalg.LinAlgError:
        return None
    return found if np.isfinite(found).all() else None


def _in_own_units(table: np.ndarray) -> np.ndarray:
    """Rows and columns brought to one size by what is largest along the run: their sizes are matters of units."""
    for _ in range(SWEEPS):
        for axis in (2, 1):
            largest = np.linalg.norm(table, axis=axis, keepdims=True).max(axis=0, keepdims=True)
            table = table / np.where(largest > 0, largest, 1.0)
    return table
