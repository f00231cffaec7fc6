"""Why a system of equations cannot be solved, in the names of the problem."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holdfast.errors import ConstraintsDependent, HoldfastError, NoAuthority, SingularSystem
from holdfast.problem.problem import Problem

SMALL = 1e-10  # relative size below which a singular value counts as zero


def why_singular(
    problem: Problem, mass: np.ndarray, jacobian: np.ndarray, holders: np.ndarray, deviations: np.ndarray
) -> HoldfastError:
    """The error that explains why the accelerations and multipliers are not determined at a generic state.

    `deviations` holds the values of the holonomic functions at several states (rows): constraints that depend on each
    other but differ by the same amount everywhere contradict each other.
    """
    constraints = problem.program.constraints
    where = f"program of {problem.title!r}" if problem.title else "program"
    dependent = _null_space(_scaled(jacobian))
    if dependent.size:
        combination = dependent[:, -1]
        return _dependent(constraints, combination, where, _misfit(jacobian, combination, deviations))
    free = _null_space(np.vstack([mass, jacobian]).T)
    if free.size:
        names = _involved([c.name for c in problem.system.coordinates], np.abs(free).max(axis=1))
        return SingularSystem(
            f"nothing determines the acceleration of {_listed(names)}: no inertia, and no constraint",
            where="system.kinetic",
            fix="give the kinetic energy a term in its rate, or add a constraint that fixes it",
        )
    if not problem.program.controls:  # held by reactions alone, nothing else can be the cause
        return _dependent(constraints, _null_space(_scaled(jacobian), small=np.inf)[:, -1], where, 0.0)
    weak = _null_space(_authority(mass, jacobian, holders))
    names = _involved(constraints, weak[:, -1]) if weak.size else list(constraints)
    return NoAuthority(
        f"the chosen controls cannot move {_listed(names)}",
        where=f"{where}, controls {', '.join(problem.program.controls)}",
        fix="choose a control that acts on it, or let it be held by its reaction (reactions=...)",
    )


def _misfit(jacobian: np.ndarray, combination: np.ndarray, deviations: np.ndarray) -> float:
    """The constant by which dependent holonomic constraints differ; 0 where it is not a constant, or not there."""
    count = deviations.shape[1]
    size = np.linalg.norm(jacobian[:count], axis=1)
    if np.abs(combination[count:]).max(initial=0.0) > 1e-6 or not (size > 0).all():
        return 0.0
    differences = deviations @ (combination[:count] / size)
    return float(abs(differences[0])) if np.ptp(differences) < 1e-9 * abs(differences[0]) else 0.0


def _dependent(constraints: Sequence[str], combination: np.ndarray, where: str, misfit: float) -> HoldfastError:
    names = _involved(constraints, combination)
    if len(names) == 1:
        return ConstraintsDependent(
            f"nothing can hold the constraint {names[0]!r}: it changes with no coordinate, and with no rate",
            where=where,
            fix="state it in the coordinates (or rates) that it is to hold, or remove it",
        )
    if misfit > 1e-6:
        return ConstraintsDependent(
            f"constraint {names[-1]!r} contradicts {_listed(names[:-1])}: they differ by {misfit:.3g} everywhere",
            where=where,
            fix="remove one of them, or correct its value; no motion keeps them all",
        )
    return ConstraintsDependent(
        f"constraint {names[-1]!r} repeats what {_listed(names[:-1])} already {'fixes' if len(names) == 2 else 'fix'}",
        where=where,
        fix="remove it: its multiplier is not determined, and the motion is the same without it",
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
