"""Why a system of equations cannot be solved, in the names of the problem."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holdfast.errors import ConstraintsDependent, HoldfastError, NoAuthority, SingularSystem
from holdfast.problem.problem import Problem

SMALL = 1e-10  # relative size below which a singular value counts as zero


def why_singular(problem: Problem, mass: np.ndarray, jacobian: np.ndarray, holders: np.ndarray) -> HoldfastError:
    """The error that explains why the accelerations and multipliers are not determined at a generic state."""
    constraints = problem.program.constraints
    where = f"program of {problem.title!r}" if problem.title else "program"
    dependent = _null_space(_scaled(jacobian))
    if dependent.size:
        return _dependent(constraints, dependent[:, -1], where)
    free = _null_space(np.vstack([mass, jacobian]).T)
    if free.size:
        names = _involved([c.name for c in problem.system.coordinates], np.abs(free).max(axis=1))
        return SingularSystem(
            f"nothing determines the acceleration of {_listed(names)}: no inertia, and no constraint",
            where="system.kinetic",
            fix="give the kinetic energy a term in its rate, or add a constraint that fixes it",
        )
    if not problem.program.controls:  # held by reactions alone, nothing else can be the cause
        return _dependent(constraints, _null_space(_scaled(jacobian), small=np.inf)[:, -1], where)
    weak = _null_space(_authority(mass, jacobian, holders))
    names = _involved(constraints, weak[:, -1]) if weak.size else list(constraints)
    return NoAuthority(
        f"the chosen controls cannot move {_listed(names)}",
        where=f"{where}, controls {', '.join(problem.program.controls)}",
        fix="choose a control that acts on it, or let it be held by its reaction (reactions=...)",
    )


def _dependent(constraints: Sequence[str], combination: np.ndarray, where: str) -> HoldfastError:
    names = _involved(constraints, combination)
    if len(names) == 1:
        return ConstraintsDependent(
            f"nothing can hold the constraint {names[0]!r}: it changes with no coordinate, and with no rate",
            where=where,
            fix="state it in the coordinates (or rates) that it is to hold, or remove it",
        )
    return ConstraintsDependent(
        f"constraint {names[-1]!r} repeats what {_listed(names[:-1])} already {'fixes' if len(names) == 2 else 'fix'}",
        where=where,
        fix="remove it: its multiplier is not determined, and it adds nothing, unless it contradicts the others",
    )


def _scaled(matrix: np.ndarray) -> np.ndarray:
    size = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.divide(matrix, size, out=np.zeros_like(matrix), where=size > 0)


def _null_space(matrix: np.ndarray, small: float = SMALL) -> np.ndarray:
    """Combinations of rows that vanish, as columns of coefficients; the last one vanishes best."""
    rows, columns = matrix.shape
    if rows == 0:
        return np.zeros((0, 0))
    u, sizes, _ = np.linalg.svd(matrix)
    full = np.concatenate([sizes, np.zeros(max(0, rows - columns))])
    return u[:, full <= small * max(full[0], 1e-300)]


def _authority(mass: np.ndarray, jacobian: np.ndarray, holders: np.ndarray) -> np.ndarray:
    response = np.linalg.lstsq(mass, holders, rcond=None)[0]
    return jacobian @ response


def _involved(names: Sequence[str], combination: np.ndarray) -> list[str]:
    return [name for name, share in zip(names, np.abs(combination), strict=True) if share > 1e-6]


def _listed(names: Sequence[str]) -> str:
    quoted = [repr(name) for name in names]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " and " + quoted[-1]
