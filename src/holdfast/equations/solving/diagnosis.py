"""Why a system of equations cannot be solved, in the names of the problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import sympy as sp

from holdfast.equations.dynamics.sample import symbols_within
from holdfast.equations.solving.friction import why_not_determined
from holdfast.equations.solving.repeats import (
    INVOLVED,
    ZERO_SINGULAR_VALUE,
    circuits_of,
    listed,
    repetition,
    scaled_rows,
)
from holdfast.errors import ConstraintsDependent, HoldfastError, NoAuthority, SingularSystem
from holdfast.problem.problem import Problem
from holdfast.problem.program import Program
from holdfast.problem.quantities import RateOf

if TYPE_CHECKING:
    from holdfast.equations.values import Values

NONE: Mapping[str, int] = MappingProxyType({})
DEFINITE = 1e-6  # a scaled Cholesky pivot below this (an angle of 1e-3 between directions) is no inertia of its own
NO_RANK = 1e13  # a condition number beyond this leaves no digit that rounding has not spoilt


def why_singular(
    problem: Problem,
    mass: np.ndarray,
    jacobian: np.ndarray,
    holders: np.ndarray,
    deviations: np.ndarray,
    state: str = "",
    degrees: Mapping[str, int] = NONE,
    *,
    through: np.ndarray | None = None,
    repeats_looked_for: bool = False,
) -> HoldfastError:
    """The error that explains why the accelerations and multipliers are not determined.

    `deviations` holds the values of the holonomic functions at several states (rows): constraints that depend on each
    other but differ by the same amount everywhere contradict each other. `state` names the only state at which this is
    so ("the start"); nothing, if it is so at every one. `through` is what controls do through states. Where
    `repeats_looked_for` found none on the program, what agrees at the start alone is not called a repeat.
    """
    program, constraints = problem.program, problem.program.constraints
    through = np.zeros((len(jacobian), 0)) if through is None else through
    moved = np.hstack([jacobian, through])  # by accelerations, and by controls through states
    lost = _lost_degree(program, moved, degrees, state)
    if lost is not None:
        return lost
    there = f" at {state}" if state else ""
    repeats = circuits_of(moved)
    if repeats:
        found = []
        for circuit in repeats:
            misfit = _misfit(jacobian, circuit.combination, deviations, at_start_only=not repeats_looked_for)
            found.append(_dependent(problem, circuit.combination, misfit, state))
        return _together(found)
    dependent = _null_space(scaled_rows(moved))
    if not dependent.size:
        free = why_undetermined(problem, mass, jacobian, state)
        if free is not None:
            return free
        if program.controls:
            weak = _null_space(_authority(mass, jacobian, holders, through))
            names = _involved(constraints, weak[:, -1]) if weak.size else list(constraints)
            return NoAuthority(
                f"the {'control' if len(program.controls) == 1 else 'controls'} {listed(list(program.controls))} "
                f"cannot move {listed(names)}{there}",
                where="program.controls",
                fix=(f"choose another state, or a control that acts on it at {state}" if state else
                     "choose a control that acts on it, or let it be held by its reaction (reactions=...)"),
            )  # fmt: skip
        dependent = _null_space(
            scaled_rows(jacobian), small=np.inf
        )  # held by reactions alone, nothing else can be the cause
    return _dependent(problem, dependent[:, -1], _misfit(jacobian, dependent[:, -1], deviations), state)


def why_undetermined(problem: Problem, mass: np.ndarray, jacobian: np.ndarray, state: str = "") -> HoldfastError | None:
    """The error that names coordinates which neither inertia nor a constraint determines, if there are some."""
    inertia = np.sqrt(np.abs(np.diag(mass)))
    scale = np.where(inertia > 0, inertia, 1.0)  # coordinates by their own masses, constraints by their own size
    free = _null_space(np.vstack([mass / scale / scale[:, None], scaled_rows(jacobian / scale)]).T)
    if not free.size:
        return None
    names = _involved([c.name for c in problem.system.coordinates], np.abs(free).max(axis=1))
    by_bodies = set(names) <= problem.system.produced
    energy = "give the kinetic energy a term in its rate (x.rate; hf.rate(e) of an expression, not SymPy's diff)"
    return SingularSystem(
        f"nothing determines the acceleration of {listed(names)}{f' at {state}' if state else ''}: "
        "no inertia, and no constraint",
        where="bodies" if by_bodies else "system.kinetic",
        fix=f"{'give the bodies that it moves mass and inertia' if by_bodies else energy}, or "
        "add a constraint that fixes it",
    )


def _together(errors: Sequence[HoldfastError]) -> HoldfastError:
    """Several dependences told at once; one of them as it is."""
    if len(errors) == 1:
        return errors[0]
    said = "; ".join([errors[0].what, *(error.what.removeprefix("constraint ") for error in errors[1:])])
    fixes = dict.fromkeys(error.fix for error in errors)
    return ConstraintsDependent(
        f"{len(errors)} dependences among the constraints: {said}",
        where=errors[0].where,
        fix=" / ".join(fixes),
    )


def _lost_degree(
    program: Program, jacobian: np.ndarray, degrees: Mapping[str, int], state: str
) -> HoldfastError | None:
    """A constraint above the usual degree that nothing moves at this state, though elsewhere its control does."""
    for name, row in zip(program.constraints, jacobian, strict=True):
        if state and name in degrees and not np.abs(row).max(initial=0.0) > 0:
            many = "controls" if len(program.controls) > 1 else "control"
            return NoAuthority(
                f"the {many} {listed(list(program.controls))} cannot move {name!r} at {state}: elsewhere its "
                f"derivative of order {degrees[name]} contains them, and there it does not; its degree is not defined",
                where="program.controls",
                fix="start where they move it, or hold a function whose degree is the same everywhere",
            )
    return None


def why_undefined(values: Values, state: str = "the start") -> HoldfastError | None:
    """Why the accelerations are not finite at one state, where a singular system is the reason; nothing otherwise."""
    parts = (values.mass_matrix, values.jacobian, values.holders)
    if not all(np.isfinite(part).all() for part in parts):
        return None
    friction = values.equations.friction
    if friction is not None and not (values.friction_pivots > 0).all() and not singular(*parts, values.through):
        return why_not_determined(friction.constraints, values.friction_answer, values.friction_left, state)
    if values.equations.solver.form == "redundant":  # constraints may depend on each other
        return why_undetermined(values.equations.problem, values.mass_matrix, values.jacobian, state)
    if not singular(*parts, values.through):
        return None
    degrees, none = values.equations.deviations.degrees, np.zeros((0, len(values.deviation)))
    return why_singular(values.equations.problem, *parts, none, state, degrees, through=values.through)


def singular(mass: np.ndarray, jacobian: np.ndarray, holders: np.ndarray, through: np.ndarray | None = None) -> bool:
    """Whether accelerations and holders are not determined: the saddle system, in units of its own, has no inverse."""
    return not condition_of(mass, jacobian, holders, through) < NO_RANK


def dependent_rows(jacobian: np.ndarray) -> bool:
    """Whether constraints depend on each other, whoever holds them."""
    return bool(_null_space(scaled_rows(jacobian)).size)


def definite(matrix: np.ndarray) -> bool:
    """Whether a symmetric matrix is positive definite, in units of its own."""
    scale = np.sqrt(np.abs(np.diag(matrix)))
    if not (scale > 0).all():
        return False
    try:  # pivots of the scaled matrix are at most 1, so a small one is a small eigenvalue
        return bool(np.diag(np.linalg.cholesky(matrix / scale / scale[:, None])).min() > DEFINITE)
    except np.linalg.LinAlgError:
        return False


def condition_of(
    mass: np.ndarray, jacobian: np.ndarray, holders: np.ndarray, through: np.ndarray | None = None
) -> float:
    """The condition number of the saddle system in units of its own: rows and columns brought to one size.

    Sizes of rows and columns are matters of units: coordinates are measured by their own masses (by the mean of the
    others where they have none), constraints and holders by the size of what they then are. Infinite where a
    constraint moves nothing or a holder pushes nothing, and no control acts on it through states.
    """
    n, r = holders.shape
    if through is not None and through.any():
        return _condition_through(mass, jacobian, holders, through)
    inertia = np.abs(np.diag(mass))
    present = inertia[inertia > 0]
    typical = np.exp(np.log(present).mean()) if present.size else 1.0
    length = 1 / np.sqrt(np.where(inertia > 0, inertia, typical))
    pushes, slopes = holders * length[:, None], jacobian * length
    pushed, sloped = np.abs(pushes).max(axis=0, initial=0), np.abs(slopes).max(axis=1, initial=0)
    if not ((pushed > 0).all() and (sloped > 0).all()):
        return float("inf")
    saddle = np.zeros((n + r, n + r))
    saddle[:n, :n] = mass * length * length[:, None]
    saddle[:n, n:], saddle[n:, :n] = -pushes / pushed, slopes / sloped[:, None]
    try:
        inverse = np.linalg.inv(saddle)
    except np.linalg.LinAlgError:
        return float("inf")
    return float(np.linalg.norm(saddle, 1) * np.linalg.norm(inverse, 1))


def _condition_through(mass: np.ndarray, jacobian: np.ndarray, holders: np.ndarray, through: np.ndarray) -> float:
    """The same with J a + D μ: rows and columns brought to one size in turns, for their units hang together."""
    saddle = np.block([[mass, -holders], [jacobian, through]])
    for _ in range(5):
        for axis in (1, 0):
            size = np.sqrt(np.abs(saddle).max(axis=axis, keepdims=True))
            if not (size > 0).all():
                return float("inf")
            saddle = saddle / size
    try:
        inverse = np.linalg.inv(saddle)
    except np.linalg.LinAlgError:
        return float("inf")
    return float(np.linalg.norm(saddle, 1) * np.linalg.norm(inverse, 1))


def _misfit(
    jacobian: np.ndarray, combination: np.ndarray, deviations: np.ndarray, *, at_start_only: bool = True
) -> float | None:
    """What is left of the last constraint where the others hold; none where that is not known.

    Known if dependent holonomic constraints differ by the same amount at all states (rows), or where the others hold at
    the first of them, the start. Zero means that they repeat each other; that they do so `at_start_only` may not do.
    """
    count = deviations.shape[1]
    involved = np.nonzero(np.abs(combination[:count]) > INVOLVED)[0]
    if not len(deviations) or len(involved) < 2 or np.abs(combination[count:]).max(initial=0.0) > INVOLVED:
        return 0.0
    size = np.linalg.norm(jacobian[:count], axis=1)
    if not (size[involved] > 0).all():
        return 0.0
    last, others = involved[-1], involved[:-1]
    weights = combination[involved] / size[involved]
    weights = weights / weights[-1]
    terms = np.abs(deviations[:, involved] * weights).max()
    differences = deviations[:, involved] @ weights
    if np.ptp(differences) <= ZERO_SINGULAR_VALUE * terms:
        return float(differences[0]) if abs(differences[0]) > ZERO_SINGULAR_VALUE * terms else 0.0
    scale = ZERO_SINGULAR_VALUE * np.abs(deviations).max(axis=0)
    if (np.abs(deviations[0, others]) <= scale[others]).all():
        if abs(deviations[0, last]) > scale[last]:
            return float(deviations[0, last])
        return 0.0 if at_start_only else None
    return None


def _dependent(problem: Problem, combination: np.ndarray, misfit: float | None, state: str) -> HoldfastError:
    program = problem.program
    names = _involved(program.constraints, combination)
    last, others = names[-1], names[:-1]
    where = f"program.{'holonomic' if last in program.holonomic else 'nonholonomic'}.{last}"
    if not others:
        return _not_held(problem, last, where, state)
    hold = "holds" if len(others) == 1 else "hold"
    if misfit is None:
        return ConstraintsDependent(
            f"constraint {repetition(names)}, or contradicts it",
            where=where,
            fix=_of_joint(problem, last)
            or "remove it; its value at a start where the others hold would tell which of the two it does",
        )
    if misfit:
        return ConstraintsDependent(
            f"constraint {last!r} contradicts {listed(others)}: it is {misfit:.3g} where {listed(others)} {hold}",
            where=where,
            fix="remove one of them, or correct its value; no motion keeps them all",
        )
    there = f" at {state}" if state else ""
    return ConstraintsDependent(
        f"constraint {repetition(names)}{there}",
        where=where,
        fix="choose another state: there the multipliers are not determined"
        if state
        else _of_joint(problem, last)
        or f"remove it: {_holder_of(program, last)} not determined, and the motion is the same without it",
    )


def _of_joint(problem: Problem, name: str) -> str:
    """What to do about a row that a joint gives; none is left out, for which one may be differs from state to state."""
    rows = problem.system.rows
    joint = None if rows is None else rows.owners.get(name)
    if joint is None:
        return ""
    if problem.program.redundant == "refuse":
        return (
            f'leave redundant = "refuse" out: rows of joints that repeat each other, as those of {joint!r}, are borne'
        )
    return f"look at the places and axes that the joint {joint!r} joins, and at the start"


def _holder_of(program: Program, name: str) -> str:
    """What holds a constraint, as the beginning of a sentence about it."""
    if name in program.held_by_reaction:
        return "its multiplier is"
    return "the control that holds it is" if len(program.controls) == 1 else "the controls that hold it are"


def _not_held(problem: Problem, name: str, where: str, state: str) -> HoldfastError:
    """A function that no acceleration changes: by what it depends on, or at this state."""
    program, system = problem.program, problem.system
    stated = {**program.holonomic, **program.nonholonomic}[name]
    known = symbols_within(stated, system.definitions)
    coordinates = [c.name for c in system.coordinates if c.name in known]
    rates = [c.rate.name for c in system.coordinates if c.rate.name in known]
    if name in program.nonholonomic and coordinates and not rates and not _has_rate(stated, system.definitions):
        return ConstraintsDependent(
            f"the nonholonomic constraint {name!r} contains no rate: it depends on {listed(coordinates)} alone, and "
            "what is nonholonomic is held by changing rates",
            where=where,
            fix=f"state it as holonomic: program.holonomic.{name}",
        )
    if coordinates or rates:
        place = state or "every state looked at"
        level = "coordinate" if name in program.holonomic else "rate"
        return ConstraintsDependent(
            f"nothing can hold the constraint {name!r} at {place}: there it changes with no {level}",
            where=where,
            fix="choose another state" if state else "state it in the coordinates (or rates) that it is to hold",
        )
    what = "time" if "t" in known else "states" if known & set(system.states) else "nothing that moves"
    return ConstraintsDependent(
        f"nothing can hold the constraint {name!r}: it depends on {what}, and on no coordinate or rate",
        where=where,
        fix="state it in the coordinates (or rates) that it is to hold, or remove it",
    )


def _has_rate(expression: sp.Expr, definitions: Mapping[str, sp.Expr]) -> bool:
    """Whether d/dt of something stands in it, by itself or in its definitions."""
    used = [expression, *(definitions[name] for name in symbols_within(expression, definitions) if name in definitions)]
    return any(part.has(RateOf) for part in used)


def _null_space(matrix: np.ndarray, small: float = ZERO_SINGULAR_VALUE) -> np.ndarray:
    """Combinations of rows that vanish, as columns of coefficients; the last one vanishes best."""
    rows, columns = matrix.shape
    if rows == 0:
        return np.zeros((0, 0))
    u, sizes, _ = np.linalg.svd(matrix)
    full = np.concatenate([sizes, np.zeros(max(0, rows - columns))])
    return u[:, full <= small * max(full[0], 1e-300)]


def _authority(mass: np.ndarray, jacobian: np.ndarray, holders: np.ndarray, through: np.ndarray) -> np.ndarray:
    response = np.linalg.lstsq(mass, holders, rcond=None)[0]
    return jacobian @ response + (through if through.size else 0.0)


def _involved(names: Sequence[str], combination: np.ndarray) -> list[str]:
    return [name for name, share in zip(names, np.abs(combination), strict=True) if share > INVOLVED]
