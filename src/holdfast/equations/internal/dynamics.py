"""Internal dynamics: what a held program leaves free, and whether that returns, swings or runs away.

    inner = hf.internal(equations)             before a run: directions, and roots at the rest nearest the start
    inner = hf.internal(equations, run)        and how what is free moved along it
    print(inner.summary())

A program that is kept says nothing of the rest of the motion: a pole held upright by its cart leaves the cart free, and
an aircraft held on a path may tumble (non-minimum phase). The linearised motion at rest, A = ∂F/∂X, keeps the null
space of Z = ∂ψ/∂X; its roots there are the internal ones.

Isidori (1995), Nonlinear Control Systems, section 4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from holdfast.common.arguments import clear_arguments
from holdfast.equations.equations import Equations
from holdfast.equations.internal import words
from holdfast.equations.internal.along import CARRIED, ROWS, FreeAlongRun, along_run
from holdfast.equations.internal.rest import rest_near
from holdfast.equations.internal.roots import Fate, RootsAtRest, roots_at_rest
from holdfast.equations.internal.tangent import Slopes, free_basis, measure, restricted, shares, tangent_of
from holdfast.equations.values import parameter_vector, state_vector
from holdfast.errors import BadRequest, HoldfastError
from holdfast.graph.nodes import operation_count
from holdfast.problem.types import ByName, StateLike

Array = np.ndarray
MOST_OPERATIONS = 20_000  # of the accelerations: beyond, slopes take longer than a page should wait for


class RunRows(Protocol):
    """What is asked of a run: times, states and the values it was made with."""

    @property
    def times(self) -> Array: ...

    @property
    def y(self) -> Array: ...

    @property
    def parameters(self) -> Mapping[str, float]: ...

    @property
    def interpolant(self) -> Callable[[Array], Array] | None: ...


@dataclass(frozen=True, eq=False)
class Rest:
    """A state of rest of the held motion, and the roots of what stays free there."""

    state: Mapping[str, float]
    found: RootsAtRest
    carriers: tuple[str, ...]  # of the root that decides

    @property
    def roots(self) -> Array:
        """All roots of what stays free, largest real part first."""
        return self.found.roots

    @property
    def fate(self) -> Fate:
        return self.found.fate


@dataclass(frozen=True, eq=False, repr=False)
class InternalDynamics:
    """What of the state is not in the deviations: how much, in which coordinates, and what becomes of it.

    `directions` counts coordinates and first-order states that may change while the program is kept, `dimension` the
    states with their rates. `rest` is the state of rest nearest the start, or None with the `reason`; `along` is there
    where a run was given.
    """

    equations: Equations
    directions: int
    dimension: int
    carriers: tuple[str, ...]
    rest: Rest | None
    reason: str
    along: FreeAlongRun | None

    @property
    def controlled(self) -> bool:
        """Whether controls hold the program, so that what stays free is theirs to answer for."""
        return bool(self.equations.problem.program.controls)

    @property
    def roots(self) -> Array:
        """The internal roots at rest; empty where no rest is known."""
        return np.zeros(0, dtype=complex) if self.rest is None else self.rest.roots

    @property
    def non_minimum_phase(self) -> bool:
        """Whether a root at rest has Re > 0."""
        return self.rest is not None and self.rest.fate is Fate.runs_away

    @property
    def grows(self) -> bool:
        """Whether what is free runs away: at rest to first order, or along the run."""
        at_rest = self.rest is not None and not self.rest.fate.bounded
        return at_rest or (self.along is not None and self.along.grows)

    @property
    def sentence(self) -> str:
        """One sentence: what stays free, and the worst that is known of it."""
        return words.sentence(self)

    @property
    def warning(self) -> str | None:
        """What to know before a run or after it; none where nothing is held by controls, or nothing runs away."""
        return words.warning(self)

    def summary(self) -> str:
        """All that is known, a line each."""
        return words.summary(self)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<InternalDynamics: {self.sentence}>"

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for ``--json``."""
        rest, along = self.rest, self.along
        return {
            "directions": self.directions,
            "dimension": self.dimension,
            "carriers": list(self.carriers),
            "rest": None if rest is None else dict(rest.state),
            "reason": self.reason,
            "roots": [[float(root.real), float(root.imag)] for root in self.roots],
            "fate": None if rest is None else rest.fate.name,
            "non_minimum_phase": self.non_minimum_phase,
            "along": None if along is None else along.to_dict(),
            "warning": self.warning,
        }


@clear_arguments
def internal(
    equations: Equations,
    run: RunRows | None = None,
    state: StateLike | None = None,
    *,
    parameters: ByName | None = None,
) -> InternalDynamics:
    """What stays free while the program is kept: before a run, or along one.

    The rest that is looked at is the one found from `state` (by default the start, of the run where one is given).
    """
    if not isinstance(equations, Equations):
        raise BadRequest(f"internal() takes Equations, not {type(equations).__name__}", fix="hf.derive(problem)")
    equations.require_unlimited("internal")
    given = dict(parameters or {}) if run is None else {**run.parameters, **dict(parameters or {})}
    constants = parameter_vector(equations, given)
    begin = equations.problem.run.begin if run is None else float(run.times[0])
    if run is not None and state is None:
        state = run.y[:, 0].tolist()
    start = state_vector(equations, state, dict(zip(equations.parameter_names, constants, strict=True)))
    slopes = tangent_of(equations).at(begin, start, constants)
    if not slopes.finite:
        raise BadRequest(
            "the equations, or their slopes, are not defined at this state", where="state", fix="give another"
        )
    rest, reason = _rest(equations, start, begin, constants)
    weights, _ = measure(slopes, len(equations.coordinates))
    basis, chosen = free_basis(slopes.program, weights), _chosen(equations)
    share = shares(basis, chosen)
    seen = [share] if rest is None else [share, _shares_at_rest(equations, rest, begin, constants, chosen)]
    along = None
    if run is not None and basis.shape[1]:
        along = along_run(equations, *_rows(run), constants, chosen)
        seen += [] if along is None else [along.shares]
    carried = np.mean(seen, axis=0)
    names = tuple(equations.state_names[k] for k, part in zip(chosen, carried, strict=True) if part > CARRIED)
    return InternalDynamics(equations, round(float(share.sum())), basis.shape[1], names, rest, reason, along)


def _rows(run: RunRows) -> tuple[Array, Array]:
    """Times and states (rows, states) of a run: its own rows, or more of them between where they are few."""
    times = np.asarray(run.times)
    if run.interpolant is None or len(times) >= ROWS or not np.isfinite(run.y).all():
        return times, np.asarray(run.y).T
    times = np.linspace(float(times[0]), float(times[-1]), ROWS)
    return times, np.asarray(run.interpolant(times)).T


def internal_or_none(
    equations: Equations, run: RunRows | None = None, state: StateLike | None = None
) -> InternalDynamics | None:
    """The internal dynamics where they can be looked at in passing; none where slopes are missing, or take too long.

    For checks, pages and summaries, which do without what would take longer than they do.
    """
    if operation_count(equations.field.rates) > MOST_OPERATIONS:
        return None
    try:
        return internal(equations, run, state)
    except (HoldfastError, np.linalg.LinAlgError):
        return None


def _chosen(equations: Equations) -> list[int]:
    """Coordinates and first-order states: what has a rate."""
    n, own = len(equations.coordinates), len(equations.deviations.states)
    return [*range(n), *range(2 * n, len(equations.state_names) - own)]


def _rest(
    equations: Equations, start: Array | Sequence[float], time: float, constants: Sequence[float]
) -> tuple[Rest | None, str]:
    if tangent_of(equations).timed:
        return None, "the equations or the program change with time, so that nothing rests"
    for rough in _rough(start):
        found = rest_near(equations, rough, time, constants)
        if found is not None:
            return rest_at(equations, found, time, constants), ""
    return None, "no state of rest was found near the start"


def _rough(start: Array | Sequence[float]) -> Iterator[Array]:
    """The start, then states about it: at its own place an iteration may have no way to prefer."""
    yield np.array(start)
    random, reach = np.random.default_rng(0), 1.0 + float(np.abs(np.asarray(start)).max(initial=0.0))
    for size in (0.1, 0.3, 0.3, 1.0, 1.0):
        yield np.array(start) + size * reach * random.uniform(-1, 1, len(start))


def rest_at(equations: Equations, state: Array, time: float, constants: Sequence[float]) -> Rest:
    """A state of rest with its internal roots."""
    n, slopes = len(equations.coordinates), tangent_of(equations).at(time, state, constants)
    weights, pace = measure(slopes, n)
    basis = free_basis(slopes.program, weights)
    found = roots_at_rest(restricted(slopes.motion, basis, weights), pace)
    named = dict(zip(equations.state_names, np.asarray(state).tolist(), strict=True))
    if found.direction is None:
        return Rest(named, found, ())
    chosen = _chosen(equations)
    part = np.abs((basis @ found.direction)[chosen]) ** 2
    carried = part > CARRIED * part.max(initial=0.0)
    return Rest(named, found, tuple(equations.state_names[k] for k, seen in zip(chosen, carried, strict=True) if seen))


def _shares_at_rest(
    equations: Equations, rest: Rest, time: float, constants: Sequence[float], chosen: Sequence[int]
) -> Array:
    slopes: Slopes = tangent_of(equations).at(time, list(rest.state.values()), constants)
    weights, _ = measure(slopes, len(equations.coordinates))
    return shares(free_basis(slopes.program, weights), chosen)
