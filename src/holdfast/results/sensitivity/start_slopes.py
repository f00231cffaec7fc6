"""How the start of a run changes with parameters, gains and stated start values.

What is stated is held, or follows the parameters it is stated by; what is left out and follows from the program moves
with it. The start is found by Newton's iteration (`start.projection`), which is repeated here together with its
derivative, so that the least change by kinetic energy is differentiated too:

    M Δ + Jᵀ λ = 0,   J Δ = −y      ⇒      M δΔ + Jᵀ δλ = −δM Δ − δJᵀ λ,   J δΔ = −δy − δJ Δ

At the end Δ = λ = 0, and J δx = −∂y/∂p: the theorem of implicit functions. A stated value that the program asks to move
as soon as a parameter does is refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.graph.arithmetics.arrays import ARRAYS
from holdfast.graph.arithmetics.tape import Evaluator, Ledger, Tape
from holdfast.graph.derivatives import directional, jacobian
from holdfast.graph.nodes import Node
from holdfast.problem.keep import kept_states
from holdfast.problem.vocabulary import CONSTANT
from holdfast.results.sensitivity.chain_slopes import ChainSlopes
from holdfast.results.sensitivity.directions import Directions
from holdfast.results.sensitivity.least_change import least_change
from holdfast.results.sensitivity.natural_sizes import natural_sizes
from holdfast.results.start.start import Start, chosen_policy

Array = np.ndarray
ITERATIONS = 60  # a few more than the projection takes
STILL = 1e-14  # of the size of the state: a step below this is one of rounding
SAME = 1e-6  # of the size of the state: what the repeated iteration may miss the start by
MET = 1e-7  # of its terms: a slope of a constraint that is left over by more is not met


@dataclass(frozen=True, eq=False)
class StatedStart:
    """The stated start as nodes: numbers, or expressions in parameters."""

    nodes: tuple[Node, ...]
    names: frozenset[str]  # that somebody stated


def stated_start(equations: Equations, given: Any, starts: Sequence[int | None]) -> StatedStart:
    """What is stated in the problem or given over it; start values that are varied count as stated."""
    names, graph = equations.problem.names, equations.inputs.graph
    varied = frozenset(equations.state_names[k] for k in starts if k is not None)
    if given is not None and not isinstance(given, Mapping):
        return StatedStart((graph.zero,) * len(equations.state_names), frozenset(equations.state_names))
    expressions = dict(equations.problem.start)
    for name, value in equations.by_state_name(given or {}, where="start").items():
        expressions[name] = names.admit(value, CONSTANT, where=f"start.{name}")
    found = tuple(
        equations.inputs.walk(expressions[name]) if name in expressions else graph.zero
        for name in equations.state_names
    )
    return StatedStart(found, frozenset(expressions) | varied)


class StartSlopes:
    """Differentiates starts of the same equations, for the same directions."""

    def __init__(self, equations: Equations, directions: Directions, stated: StatedStart, policy: str | None) -> None:
        self._equations, self._directions, self._stated = equations, directions, stated
        self._policy, self._projected = chosen_policy(equations, policy)
        own, graph = equations.field, equations.inputs.graph
        chosen = [own.parameters[place] for place in directions.constants if place is not None]
        parameters = list(dict.fromkeys(chosen))
        self._columns = [parameters.index(own.parameters[k]) if k is not None else None for k in directions.constants]
        self._letters = {x: graph.input(f"change of {x.data}") for x in (*own.state, *parameters)}
        self._parameters = parameters

    def of(self, start: Start, stated: Array, time: float, constants: Sequence[float]) -> Array:
        """∂x(0)/∂p of a start, (directions, states), from the state that was stated."""
        equations, own = self._equations, self._equations.field
        slopes = self._own(time, stated, constants)
        used = np.array(start.state)
        if self._policy == "project" and set(self._projected) & equations.deviations.mixed:
            slopes = self._chains.of(used, stated, slopes, time, constants, self._unit_columns())
        elif self._projected and (not np.array_equal(stated, used) or self._moves(used, slopes, time, constants)):
            slopes = self._along(used, stated, slopes, time, constants)
        kept = kept_states(equations.problem.program)
        if kept:
            slopes = self._settled(used, slopes, time, constants, kept)
        assert slopes.shape == (len(self._directions), len(own.state))
        return slopes

    @cached_property
    def _chains(self) -> ChainSlopes:
        return ChainSlopes(self._equations, self._projected, self._letters)

    def _own(self, time: float, stated: Array, constants: Sequence[float]) -> Array:
        """The slopes of what is stated: of expressions in parameters, and 1 for a start value itself."""
        directions, changes = self._directions, self._stated_changes
        found = np.zeros((len(directions), len(self._stated.nodes)))
        if changes:
            moving = {p: self._letters[p] for p in self._parameters}
            values: dict[Node, Any] = dict(zip(self._equations.field.parameters, constants, strict=True))
            values |= dict(zip(moving.values(), self._unit_columns(), strict=True))
            with np.errstate(all="ignore"):
                found[:] = np.array([np.broadcast_to(x, len(directions)) for x in Ledger(values, ARRAYS).of(changes)]).T
        for j, place in enumerate(directions.starts):
            if place is not None:
                found[:, place] = 0.0
                found[j, place] = 1.0
        return found

    @cached_property
    def _stated_changes(self) -> list[Node]:
        """How what is stated changes with the parameters; nothing where it does not."""
        changes = directional(list(self._stated.nodes), {p: self._letters[p] for p in self._parameters})
        return list(changes) if any(not node.is_zero for node in changes) else []

    def _unit_columns(self) -> list[Array]:
        """How each of the parameters changes in each direction."""
        return [np.array([float(c == k) for c in self._columns]) for k in range(len(self._parameters))]

    @cached_property
    def _units(self) -> Array:
        return np.array(self._unit_columns()).reshape(len(self._parameters), len(self._directions))

    # ── on the program ────────────────────────────────────────────────────────────────────────────

    def _moves(self, used: Array, slopes: Array, time: float, constants: Sequence[float]) -> bool:
        """Whether a constraint that is kept at the start would be left as the directions go."""
        if self._programs_stand and not slopes.any():
            return False
        _, _, _, changes, terms = self._at(used, slopes, time, constants, positions=True)
        _, _, _, rates, rate_terms = self._at(used, slopes, time, constants, positions=False)
        left = np.abs(np.hstack([changes, rates])) > MET * np.hstack([terms, rate_terms])
        return bool(left.any()) or not np.isfinite(np.hstack([changes, rates])).all()

    @cached_property
    def _programs_stand(self) -> bool:
        """Whether no varied parameter occurs in the deviations."""
        nodes = (*self._equations.deviations.y, *self._equations.deviations.w)
        return not any(jacobian(nodes, tuple(self._parameters)))

    def _along(self, used: Array, stated: Array, own: Array, time: float, constants: Sequence[float]) -> Array:
        """The slopes of the iteration that leads from what is stated to what is used."""
        names = self._equations.state_names
        open_ = np.array([name not in self._stated.names for name in names])
        ways = [open_, np.ones(len(names), dtype=bool)] if self._policy == "default" else [np.ones(len(names), bool)]
        size = natural_sizes(np.fmax(np.abs(used), np.abs(stated)), self._inertia(used, time, constants))
        for free in ways:
            for by_mass in (True, False):
                state, slopes = stated.copy(), own.copy()
                for positions in (True, False):
                    state, slopes = self._iterated(state, slopes, time, constants, free, positions, by_mass)
                if (np.abs(state - used) <= SAME * size).all():  # the way that the start was found by
                    unmet = self._unmet(used, slopes, time, constants)
                    if unmet is not None:
                        raise unmet
                    return slopes
        raise BadRequest(
            "how the start changes is not known: it was not found by a plain iteration",
            where="start",
            fix="state a start on the program: hf.assemble_start finds one",
        )

    def _iterated(
        self, state: Array, slopes: Array, time: float, constants: Sequence[float], free: Array, positions: bool,
        by_mass: bool,
    ) -> tuple[Array, Array]:  # fmt: skip
        """Newton's iteration for the positions, or for the rates, with its derivative."""
        n = self._equations.field.positions
        part = np.nonzero(free[:n])[0] if positions else n + np.nonzero(free[n : 2 * n])[0]
        columns = part if positions else part - n
        still = 0
        for _ in range(ITERATIONS):
            y, rows, mass, changes, _ = self._at(state, slopes, time, constants, positions=positions)
            if not len(y) or not len(part):
                break
            block = np.ix_(columns, columns)
            row_changes, mass_changes = self._matrices(state, slopes, time, constants, positions=positions)
            step, change = least_change(
                y, rows[:, columns], mass[block], changes, row_changes[:, :, columns],
                mass_changes[:, columns][:, :, columns], by_mass,
            )  # fmt: skip
            if not (np.isfinite(step).all() and np.isfinite(change).all()):
                break
            state, slopes = state.copy(), slopes.copy()
            state[part] += step
            slopes[:, part] += change
            still += bool((np.abs(step) <= STILL * natural_sizes(state, np.diag(mass))[part]).all()) or not step.any()
            if still > 1:
                break
        return state, slopes

    def _unmet(self, used: Array, slopes: Array, time: float, constants: Sequence[float]) -> BadRequest | None:
        """The first constraint that the slopes would leave, in words; none where they leave none."""
        equations = self._equations
        for positions in (True, False):
            changes, terms = self._at(used, slopes, time, constants, positions=positions)[3:]
            left = ~(np.abs(changes) <= MET * terms) & (changes != 0)
            for j, k in np.argwhere(left):
                rows = self._rows[positions]
                row, moved = equations.constraints[rows[k]], self._directions.names[j]
                held = [name for name in equations.state_names if name in self._stated.names and f"{name}(0)" != moved]
                which = f" with {', '.join(held)} as stated" if held and self._policy == "default" else ""
                return BadRequest(
                    f"the start keeps {row!r} at this value of {moved} only{which}",
                    where="start",
                    fix="leave a start value out, so that it follows from the program, state it by parameters, or use "
                    'start_policy="project" (all move) or "keep" (none does)',
                )
        return None

    @cached_property
    def _rows(self) -> dict[bool, list[int]]:
        """The constraints that the start is put on: among the holonomic ones (True), or among all."""
        equations, program = self._equations, self._equations.problem.program
        usual = set(self._projected) - equations.deviations.mixed
        kinds = {True: program.holonomic, False: program.constraints}
        return {kind: [k for k, name in enumerate(names) if name in usual] for kind, names in kinds.items()}

    def _at(
        self, state: Array, slopes: Array, time: float, constants: Sequence[float], *, positions: bool
    ) -> tuple[Array, Array, Array, Array, Array]:
        """Deviations, their slopes by coordinate (or rate), M, their changes by direction, and the size of these."""
        values, by_state, by_parameter = self._values(state, time, constants)
        n, m, r = self._equations.field.positions, len(self._equations.deviations.y), len(self._equations.constraints)
        rows, first = self._rows[positions], 0 if positions else m
        picked = [first + k for k in rows]
        deviation = values[: m + r][picked]
        own, units = by_state[picked], self._units
        parts = by_parameter[picked]
        changes = (own @ slopes.T + parts @ units).T
        mass = values[m + r :].reshape(n, n)
        terms = (np.abs(own) @ natural_sizes(slopes, np.diag(mass)).T + np.abs(parts) @ np.abs(units)).T
        reach = np.abs(own) @ natural_sizes(state, np.diag(mass))
        terms += np.outer(1 / self._sizes(state, constants), reach)  # as each direction goes by its own size
        return deviation, own[:, :n] if positions else own[:, n : 2 * n], mass, changes, terms

    def _inertia(self, state: Array, time: float, constants: Sequence[float]) -> Array:
        """The diagonal of M."""
        return np.diag(
            self._at(state, np.zeros((len(self._directions), len(state))), time, constants, positions=True)[2]
        )

    def _sizes(self, state: Array, constants: Sequence[float]) -> Array:
        """The size of what each direction varies; 1 where it is 0."""
        pairs = zip(self._directions.constants, self._directions.starts, strict=True)
        sizes = np.array([abs(constants[c]) if c is not None else abs(state[s or 0]) for c, s in pairs])
        return np.where(sizes > 0, sizes, 1.0)

    def _values(self, state: Array, time: float, constants: Sequence[float]) -> tuple[Array, Array, Array]:
        """y, w and M; and the slopes of y and w by states and by the parameters that are varied."""
        equations = self._equations
        nodes = [*equations.deviations.y, *equations.deviations.w]
        size, count = len(equations.field.state), len(self._parameters)

        def made() -> Tape:
            zero, n = equations.inputs.graph.zero, equations.field.positions
            masses = [row.get(k, zero) for row in equations.dynamics.mass for k in range(n)]
            by = jacobian(nodes, (*equations.field.state, *self._parameters))
            slopes = [row.get(k, zero) for row in by for k in range(size + count)]
            return Tape(equations.field.inputs, (*nodes, *masses, *slopes))

        key = ("start values", *(p.data for p in self._parameters))
        tape = equations.deviations.memo.once(key, made)
        numbers = np.array(tape([time, *state.tolist(), *constants]))
        split = len(nodes) + equations.field.positions**2
        slopes = numbers[split:].reshape(len(nodes), size + count)
        return numbers[:split], slopes[:, :size], slopes[:, size:]

    def _matrices(
        self, state: Array, slopes: Array, time: float, constants: Sequence[float], *, positions: bool
    ) -> tuple[Array, Array]:
        """How the slopes of the constraints and M change by direction: (directions, rows, n), (directions, n, n)."""
        equations, count = self._equations, len(self._directions)
        n, m, r = equations.field.positions, len(equations.deviations.y), len(equations.constraints)
        code = equations.deviations.memo.once(
            ("start changes", *(p.data for p in self._parameters)), lambda: self._change_code()
        )
        inputs: list[Any] = [np.float64(time), *map(np.float64, state), *map(np.float64, constants)]
        with np.errstate(all="ignore"):
            found = code([*inputs, *slopes.T, *self._unit_columns()])
        numbers = np.array([np.broadcast_to(x, count) for x in found]).reshape(-1, count)
        across, along, masses = np.split(numbers, [m * n, (m + r) * n])
        rows = self._rows[positions]
        matrix = (across if positions else along).reshape(-1, n, count)[rows].transpose(2, 0, 1)
        return matrix, masses.reshape(n, n, count).transpose(2, 0, 1)

    def _change_code(self) -> Evaluator:
        equations = self._equations
        inputs, deviations = equations.inputs, equations.deviations
        n, zero = len(inputs.q), inputs.graph.zero
        tables = (jacobian(deviations.y, inputs.q), jacobian(deviations.w, inputs.v), equations.dynamics.mass)
        nodes = [row.get(k, zero) for rows in tables for row in rows for k in range(n)]
        return Tape(
            (*equations.field.inputs, *self._letters.values()), tuple(directional(nodes, self._letters))
        ).compiled(ARRAYS)

    # ── values of first integrals that are kept ───────────────────────────────────────────────────

    def _settled(
        self, used: Array, slopes: Array, time: float, constants: Sequence[float], kept: Mapping[str, str]
    ) -> Array:
        """States that remember a first integral move with it."""
        equations = self._equations
        program, names = equations.problem.program, equations.state_names
        deviations = dict(zip(program.holonomic, equations.deviations.y, strict=False))
        rates = dict(zip(program.constraints, equations.deviations.w, strict=True))
        places = [names.index(name) for name in kept if name not in self._stated.names]
        rows = [deviations.get(row, rates[row]) for name, row in kept.items() if name not in self._stated.names]
        slopes = slopes.copy()
        slopes[:, places] = 0.0
        values: dict[Node, Any] = dict(zip(equations.field.inputs, [time, *used, *constants], strict=True))
        values |= dict(zip(self._letters.values(), [*slopes.T, *self._unit_columns()], strict=True))
        changes = Ledger(values, ARRAYS).of(directional(rows, self._letters))
        for place, change in zip(places, changes, strict=True):
            slopes[:, place] = np.broadcast_to(change, len(slopes))
        return slopes
