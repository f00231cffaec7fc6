"""Where a run starts: on the program as far as reactions hold it, and never with a deviation left unsaid.

What is stated stays. What is left out is 0, or what the program asks of it where reactions hold: the least change by
kinetic energy that leaves the stated values alone. Stated values that contradict the program are refused by name,
unless a policy says otherwise. Constraints held by controls keep their deviation: to bring it back is their task.
Deviations count in the size of their terms (`rounding`), so that the same mechanism starts alike in all units.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from holdfast.common.frozen import Frozen
from holdfast.equations.equations import Equations
from holdfast.equations.solving.large import LARGE
from holdfast.equations.values import parameter_vector, settled, state_vector, values_at
from holdfast.errors import BadRequest
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.derivatives import jacobian
from holdfast.graph.nodes import Node
from holdfast.results.start.chains import Chains
from holdfast.results.start.native_start import natively_moved
from holdfast.results.start.negligible import negligible
from holdfast.results.start.projection import NoState, Projection, Unmet
from holdfast.results.start.sparse_steps import SparseRows
from holdfast.results.start.term_sizes import ROUNDING_NOISE, deviation_sizes
from holdfast.results.start.turned_start import refuse_wrong_lengths

PLAIN = 1e-10  # beside its scale, a pivot above this (sin² of an angle) is far from a singular system
FEWEST_DIGITS, MOST_DIGITS = 4, 12  # of a decimal that looks rounded: 0.5 is meant, 0.7071 is √½
MEANT = 1.2  # times half a unit of the last decimal: two roundings in a row
SAME = 1e-13  # a change this small, relative to the value, is rounding


NOTHING: Frozen[Any] = Frozen()


class FieldValues(Protocol):
    """What a start is judged by: a field at given states, as a kernel gives it, or `check` without one."""

    def observe_one(self, t: float, state: np.ndarray, parameters: Sequence[float] = ()) -> Sequence[float]: ...

    def values_at(
        self, nodes: tuple[Node, ...], times: np.ndarray, states: np.ndarray, parameters: Sequence[float] = ()
    ) -> np.ndarray: ...

    def rates_and_margin(
        self, t: float, state: np.ndarray, parameters: Sequence[float] = ()
    ) -> tuple[np.ndarray, float]: ...


@dataclass(frozen=True)
class Start:
    """The state a run starts from, what was changed to get there, and the deviations that remain."""

    policy: str
    state: tuple[float, ...]
    changes: Frozen[tuple[float, float]]  # name -> (stated, or 0 where left out; used)
    deviation: Frozen[float]  # y_ and w_ by name, at the state used
    units: Frozen[float] = NOTHING  # below this, rounding noise (see `negligible`)
    open: tuple[str, ...] = ()  # what was left out, and so may be solved for

    @cached_property
    def off(self) -> dict[str, float]:
        """The deviations that count."""
        units = self.units
        seen = self.deviation.items()
        return {name: value for name, value in seen if value and not abs(value) <= units.get(name, 0.0)}

    @property
    def on_program(self) -> bool:
        return not self.off

    @property
    def moved(self) -> dict[str, tuple[float, float]]:
        """Stated values that were changed: stated, used."""
        return {name: pair for name, pair in self.changes.items() if name not in self.open}

    @property
    def found(self) -> dict[str, float]:
        """What was left out and solved for."""
        return {name: new for name, (_, new) in self.changes.items() if name in self.open}

    def __str__(self) -> str:
        said = []
        if self.moved:
            moved = ", ".join(f"{name}: {old:.10g} -> {new:.10g}" for name, (old, new) in self.moved.items())
            said.append(f"the start was moved onto the program: {moved}")
        if self.found:
            found = ", ".join(f"{name} = {value:.10g}" for name, value in self.found.items())
            said.append(f"what the start leaves out follows from the program: {found}")
        if self.off:
            off = ", ".join(f"{name} = {value:.6g}" for name, value in self.off.items())
            said.append(f"{'it' if said else 'the start'} deviates: {off}")
        return "; ".join(said) or "the start keeps the program"


def consistent_start(
    equations: Equations,
    given: Mapping[Any, Any] | Sequence[float] | None,
    policy: str | None,
    parameters: Mapping[Any, Any],
    begin: float,
    kernel: FieldValues | None = None,
) -> Start:
    """The start that is stated, with `given` values in place of some, under a policy (see `started`)."""
    constants = parameter_vector(equations, parameters)
    stated = state_vector(equations, given, dict(zip(equations.parameter_names, constants, strict=True)))
    if kernel is None:
        from holdfast.engine.kernel import compiled
        from holdfast.schemes.tableaus.euler import EULER

        kernel = compiled(equations.field, EULER)
    return started(equations, kernel, np.array(stated), constants, policy, begin, stated_names(equations, given))


def stated_names(equations: Equations, given: Mapping[Any, Any] | Sequence[float] | None) -> frozenset[str]:
    """The names of the start values that somebody stated: in the problem, or in what is given over it."""
    if given is not None and not isinstance(given, Mapping):
        return frozenset(equations.state_names)
    return frozenset(equations.problem.start) | frozenset(equations.by_state_name(given or {}, where="start"))


class JudgedStart(NamedTuple):
    """A start, and whether it is what was stated, on the program to rounding: then nothing of it depends on constants
    that the program does not depend on, masses for one.
    """

    start: Start
    plain: bool


def started(
    equations: Equations,
    kernel: FieldValues,
    stated: np.ndarray,
    constants: Sequence[float],
    policy: str | None,
    begin: float,
    names: Collection[str],
) -> Start:
    """A start under a policy: ``project`` moves it onto the program, ``keep`` takes it as it is, ``raise`` refuses it.

    Without a policy, what is not among the stated `names` is solved for where reactions hold, and constraints held by
    controls keep their deviation.
    """
    return judged_start(equations, kernel, stated, constants, policy, begin, names).start


def judged_start(
    equations: Equations,
    kernel: FieldValues,
    stated: np.ndarray,
    constants: Sequence[float],
    policy: str | None,
    begin: float,
    names: Collection[str],
) -> JudgedStart:
    """The same, with what it depends on."""
    policy, projected = chosen_policy(equations, policy)
    _refuse_infinite(equations, stated)
    refuse_wrong_lengths(equations, stated, names)
    keeps = bool(equations.problem.program.keep)
    stated = np.array(settled(equations, stated.tolist(), constants, begin, names)) if keeps else stated
    deviation, used = deviations_at(equations, kernel, stated, constants, begin), stated
    rounding = (
        deviation_sizes(equations).rounding(begin, stated.tolist(), constants) if any(deviation.values()) else None
    )
    if _deviates(equations, deviation, projected, rounding):
        used = solved_start(equations, policy, projected, stated, names, begin, constants)
        used = np.array(settled(equations, used.tolist(), constants, begin, names)) if keeps else used
        deviation = deviations_at(equations, kernel, used, constants, begin)
        rounding = deviation_sizes(equations).rounding(begin, used.tolist(), constants)
    refuse_undefined(equations, kernel, used, begin, constants)
    start = start_from(equations, policy, stated, used, deviation, begin, constants, names, rounding)
    if policy == "raise":
        refuse_deviation(start.off)
    near = rounding is None or not _beyond(deviation, rounding)
    return JudgedStart(start, plain=used is stated and not keeps and near)


def _deviates(
    equations: Equations, deviation: Mapping[str, float], projected: tuple[str, ...], rounding: np.ndarray | None
) -> bool:
    """Whether a deviation from one of these constraints is more than the rounding of its terms (of all, in order)."""
    if rounding is None:  # all are 0; nan counts
        return False
    off = _beyond(deviation, rounding)
    return bool(off) and not off.isdisjoint(equations.deviations.names_of(projected))


def _beyond(deviation: Mapping[str, float], rounding: np.ndarray) -> set[str]:
    """The deviations that are more than the rounding of their terms."""
    seen = zip(deviation.items(), rounding.tolist(), strict=True)
    return {name for (name, value), size in seen if value and not abs(value) <= ROUNDING_NOISE * size}


def solved_start(
    equations: Equations,
    policy: str,
    projected: tuple[str, ...],
    stated: np.ndarray,
    names: Collection[str],
    begin: float,
    constants: Sequence[float],
) -> np.ndarray:
    """The state on the program: of what is left open, or, where a policy allows it, of everything."""
    if policy == "project":
        moved = natively_moved(equations, stated, begin, constants)
        if moved is not None:
            return moved
        way = Chains if set(projected) & equations.deviations.mixed else Projection
        return way(equations, projected).of(stated, begin, constants)
    free = np.array([name not in names for name in equations.state_names])
    try:
        used = Projection(equations, projected, free).of(stated, begin, constants)
    except NoState as error:
        if not _within_digits(equations, projected, stated, begin, constants):
            raise _contradiction(equations, error.residue, stated, free) from None
        used = stated
    values = Projection(equations, projected)
    return values.of(used, begin, constants)  # within the digits that were stated


def _within_digits(
    equations: Equations, projected: Sequence[str], stated: np.ndarray, begin: float, constants: Sequence[float]
) -> bool:
    """Whether stated values contradict the constraints by no more than the rounding of their decimals."""
    deviations = equations.deviations
    found = Tape(equations.field.inputs, (*deviations.y, *deviations.w))([begin, *stated.tolist(), *constants])
    seen = dict(zip(equations.deviation_names, found, strict=True))
    limits = dict(zip(equations.deviation_names, digits(equations, stated, begin, constants), strict=True))
    return all(abs(seen[name]) <= limits[name] for name in equations.deviations.names_of(projected))


def _contradiction(equations: Equations, residue: Unmet, stated: np.ndarray, free: np.ndarray) -> BadRequest:
    """Why no state was found: values that contradict a constraint, or one that what is left open cannot change."""
    n, name = len(equations.coordinates), residue.constraint
    first = 0 if residue.positions else n
    part = slice(first, first + n)
    if not (np.isfinite(residue.slope).all() and math.isfinite(residue.deviation)):
        return BadRequest(
            f"the constraint {name!r} is not defined at the start, or has no slope there",
            where="start",
            fix="start elsewhere: state values near those you mean",
        )
    size = np.abs(residue.slope).max(initial=0.0)
    acts = np.abs(residue.slope) > 1e-12 * size if size else np.zeros(n, dtype=bool)
    letters, values = equations.state_names[part], stated[part]
    held = [f"{letters[k]} = {values[k]:.10g}" for k in range(n) if acts[k] and not free[part][k]]
    enters = equations.deviations.jacobian[equations.constraints.index(name)]  # what the constraint is made of
    movable = [letters[k] for k in range(n) if free[part][k] and k in enters]
    letter = "y" if residue.positions else "w"
    if not acts.any() or (movable and not any(acts[k] and free[part][k] for k in range(n))):
        what = " and ".join(map(repr, movable)) or "anything"
        return BadRequest(
            f"the start deviates from {name!r} by {letter} = {residue.deviation:.6g}, and there it does not change "
            f"with {what}, which {'was' if len(movable) == 1 else 'were'} left out",
            where="start",
            fix='state values near those you mean, or use start_policy="project" or "keep"',
        )
    listed = " and ".join([", ".join(held[:-1]), held[-1]] if len(held) > 1 else held) or "the start values"
    return BadRequest(
        f"{listed} {'contradicts' if len(held) == 1 else 'contradict'} {name!r} by {letter} = {residue.deviation:.6g}",
        where="start",
        fix=f'leave {"it" if len(held) == 1 else "one of them"} out, or use start_policy="project" to move '
        f'{"it" if len(held) == 1 else "them"}, "keep" to start off the program',
    )


def deviations_at(
    equations: Equations, kernel: FieldValues, state: np.ndarray, constants: Sequence[float], time: float
) -> dict[str, float]:
    """y_ and w_ by name at one state."""
    names = equations.deviation_names
    field, own = equations.field, getattr(kernel, "field", None)
    if field.late and own is not None and own.observables is field.observables:  # of a large system these alone
        nodes = (*equations.deviations.y, *equations.deviations.w)
        found = kernel.values_at(nodes, np.array([time]), np.array([state]), constants)[0]
        return dict(zip(names, found.tolist(), strict=True))
    places = equations.memo.once(deviations_at, lambda: _places(equations, names))
    if not places:
        return {}
    values = kernel.observe_one(time, state, constants)
    return {name: values[place] for name, place in zip(names, places, strict=True)}


def _places(equations: Equations, names: Sequence[str]) -> list[int]:
    """Where some of the observables stand among all."""
    place = {name: k for k, name in enumerate(equations.observables)}
    return [place[name] for name in names]


def chosen_policy(equations: Equations, policy: str | None) -> tuple[str, tuple[str, ...]]:
    """The policy by name, the problem's own where none is given, and the constraints it projects onto."""
    key = str(policy or "")  # whatever was given
    return equations.memo.once((chosen_policy, key), lambda: _chosen_policy(equations, key))


def _chosen_policy(equations: Equations, policy: str) -> tuple[str, tuple[str, ...]]:
    program = equations.problem.program
    name = policy or equations.problem.run.start_policy or "default"
    projected: dict[str, tuple[str, ...]] = {
        "keep": (), "raise": (), "project": program.constraints, "default": program.held_by_reaction,
    }  # fmt: skip
    if name not in projected:
        raise BadRequest(f"start_policy = {policy!r} is not known", fix='"project", "keep" or "raise"')
    return name, tuple(row for row in projected[name] if row not in program.keep)


def digits(equations: Equations, stated: np.ndarray, begin: float, constants: Sequence[float]) -> np.ndarray:
    """What the rounding of stated decimals can make of each deviation: 0.7071 means what rounds to it."""
    steps = np.array([decimal_step(float(value)) for value in stated[: 2 * len(equations.coordinates)]])
    if not steps.any():
        return np.zeros(len(equations.deviations.y) + len(equations.constraints))
    if len(equations.coordinates) > LARGE:
        inputs, deviations = equations.inputs, equations.deviations
        moving = (*inputs.q, *inputs.v)
        rows = jacobian((*deviations.y, *deviations.w), moving)
        _, (sparse,) = SparseRows(equations.field.inputs, (), [(rows, len(moving))])([begin, *stated, *constants])
        sparse.data = np.nan_to_num(np.abs(sparse.data), nan=0.0, posinf=0.0)
        return np.asarray(sparse @ steps) * MEANT
    parameters = dict(zip(equations.parameter_names, constants, strict=True))
    slopes = np.abs(values_at(equations, stated.tolist(), begin, parameters).deviation_jacobian)
    return np.asarray(np.nan_to_num(slopes, nan=0.0, posinf=0.0) @ steps) * MEANT


def decimal_step(value: float) -> float:
    """Half a unit of the last decimal of a number that looks rounded: a fraction of four to twelve digits; else 0."""
    if not math.isfinite(value) or value == int(value):
        return 0.0
    _, places, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    return 0.5 * 10.0**exponent if FEWEST_DIGITS <= len(places) <= MOST_DIGITS else 0.0


def start_from(
    equations: Equations,
    policy: str,
    stated: np.ndarray,
    used: np.ndarray,
    deviation: Mapping[str, float],
    begin: float,
    constants: Sequence[float],
    names: Collection[str],
    rounding: np.ndarray | None = None,
) -> Start:
    """The report of a start: what was stated, what is used, and what deviates there; `rounding` are the sizes of the
    deviations' terms there, if they are known already.
    """
    units: dict[str, float] = {}
    if any(deviation.values()):
        if rounding is None:
            rounding = deviation_sizes(equations).rounding(begin, used.tolist(), constants)
        found = ROUNDING_NOISE * rounding
        if _beyond(deviation, rounding):
            found = negligible(equations, stated, used, begin, constants)
        units = {name: unit for (name, value), unit in zip(deviation.items(), found.tolist(), strict=True) if value}
    pairs = zip(equations.state_names, stated.tolist(), used.tolist(), strict=True) if used is not stated else ()
    changed = {name: (old, new) for name, old, new in pairs if abs(new - old) > SAME * abs(old)}
    left_out = equations.memo.once(
        (start_from, frozenset(names)), lambda: tuple(name for name in equations.state_names if name not in names)
    )
    changes, limits = Frozen(changed) if changed else NOTHING, Frozen(units) if units else NOTHING
    return Start(policy, tuple(used.tolist()), changes, Frozen(deviation), limits, left_out)


def _refuse_infinite(equations: Equations, stated: np.ndarray) -> None:
    for name, value in zip(equations.state_names, stated.tolist(), strict=True):
        if not math.isfinite(value):
            raise BadRequest(f"the start value of {name!r} is {value}", where="start", fix="give a finite number")


def refuse_undefined(
    equations: Equations, kernel: FieldValues, state: np.ndarray, begin: float, constants: Sequence[float]
) -> None:
    """Refuse a start at which the equations are not defined, or nothing determines the accelerations or what holds the
    program, in the words of `check`.

    The pivots of the elimination are looked at first; only where one is small is the whole system judged.
    """
    rates, margin = kernel.rates_and_margin(begin, state, constants)
    finite = all(map(math.isfinite, rates.tolist()))
    if finite and (equations.solver.form == "eased" or (margin > PLAIN and not equations.solver.unsigned)):
        return  # first integrals are kept where they can be told apart
    parameters = dict(zip(equations.parameter_names, constants, strict=True))
    reason = values_at(equations, state.tolist(), begin, parameters).singularity
    if reason is not None:
        raise reason
    n = len(equations.coordinates)
    for k, (name, value) in enumerate(zip(equations.state_names, rates.tolist(), strict=True)):
        if not np.isfinite(value):
            what = (
                f"the acceleration of {equations.coordinates[k - n]!r}" if n <= k < 2 * n else f"the rate of {name!r}"
            )
            raise BadRequest(
                f"the equations are not defined at the start: {what} is {value}",
                where="start",
                fix="start elsewhere: a divisor vanishes or a function is outside its domain there",
            )


def refuse_deviation(off: Mapping[str, float], where: str = "start") -> None:
    """What the policy "raise" does: name the constraint that is violated most, if one is."""
    if off:
        name, value = max(off.items(), key=lambda item: abs(item[1]))
        raise BadRequest(
            f"the start violates the program: {name} = {value:.6g}",
            where=where,
            fix='correct it, or let start_policy="project" move it',
        )
