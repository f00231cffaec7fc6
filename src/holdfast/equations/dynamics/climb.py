"""Programs of any degree: differentiated along the motion until what holds them appears.

    f, f', ..., f^(ρ−1)  do not depend on the controls,       f^(ρ) = L + D u

Degrees 2 (holonomic) and 1 (nonholonomic functions) are the usual ones. Above them, a constraint is *raised*: its last
rate is differentiated along the motion that the holders so far leave. Where the remaining constraints ask for the same
control, so that D is singular everywhere, one of them is *held* at once by one control, and its demand becomes a state
z₀ with rates of its own (dynamic extension):

    J a + γ = z₀,   z₀' = z₁,   ...,   z_last' = Y

The others are differentiated on, through z, until their own controls appear. The states z are deviations,
second and higher rates of f: they are 0 on the program, so that a run can start there.

Isidori (1995), Nonlinear Control Systems, sections 5.1 and 5.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from holdfast.common.frozen import Frozen
from holdfast.equations.dynamics.deviation import Deviations, Extension
from holdfast.equations.dynamics.inputs import Inputs
from holdfast.equations.dynamics.lagrange import Dynamics
from holdfast.equations.dynamics.sample import Sample
from holdfast.errors import NoAuthority
from holdfast.graph.arithmetics.balls import precision
from holdfast.graph.derivatives import directional, jacobian
from holdfast.graph.general_solver import factor_general
from holdfast.graph.linear_algebra import Rows, factor_symmetric, product, times, transposed
from holdfast.graph.nodes import Node, ancestors
from holdfast.problem.laws.law import HIGHEST
from holdfast.problem.program import Program
from holdfast.problem.quantities import deviation_chain

NOTHING = 1e-9  # the cosine between a constraint's slope and what a control moves: below, rounding
PART = 1e-6  # the least share of a constraint in a combination
BITS = 192  # of the balls in which a slope is told from 0


@dataclass(frozen=True, slots=True)
class Move:
    """One step of a climb: a constraint is raised, or held at once by a control."""

    kind: Literal["raise", "hold"]
    constraint: str
    control: str = ""


@dataclass(frozen=True, eq=False)
class Ground:
    """Where a climb begins: the usual deviations, what holds them, and what reactions are to demand."""

    program: Program
    inputs: Inputs
    dynamics: Dynamics
    deviations: Deviations  # of the usual degrees
    holders: Rows
    demands: Mapping[str, Node]  # Y of the constraints that reactions hold, at the actual deviations
    definite: bool  # whether masses are symmetric and positive
    samples: Sequence[Sample] = ()


class Climb:
    """The chains of deviations as they grow, and who is held so far."""

    def __init__(self, ground: Ground) -> None:
        program, deviations = ground.program, ground.deviations
        self.ground, self.graph = ground, ground.inputs.graph
        self.below: dict[str, list[Node]] = {name: [] for name in program.constraints}
        for name, y in zip(program.holonomic, deviations.y, strict=True):
            self.below[name].append(y)
        self.top: dict[str, Node] = dict(zip(program.constraints, deviations.w, strict=True))
        self.held: dict[str, Node] = dict(ground.demands)  # what each is to have for the rate of its top
        self.columns = transposed(ground.holders, len(program.held_by_reaction) + len(program.controls))
        self.holder = {name: k for k, name in enumerate(program.held_by_reaction)}
        self.control = {name: len(self.holder) + k for k, name in enumerate(program.controls)}
        self.extended: dict[str, list[Node]] = {}
        self.by: dict[str, str] = {}
        self.free = list(program.controls)
        self._passive: list[Node] | None = None

    @property
    def waiting(self) -> list[str]:
        """The constraints that nothing holds yet."""
        return [name for name in self.ground.program.constraints if name not in self.held]

    def take(self, move: Move) -> None:
        if move.kind == "hold":
            self._hold(move.constraint, move.control)
        else:
            self._raise(move.constraint)

    def _hold(self, name: str, control: str) -> None:
        self.extended[name] = [self._new_state(name, 0)]
        self.held[name], self.holder[name] = self.extended[name][0], self.control[control]
        self.by[name] = control
        self.free.remove(control)
        self._passive = None

    def _new_state(self, name: str, number: int) -> Node:
        return self.graph.input(self._state_name(name, number))

    def _state_name(self, name: str, number: int) -> str:
        holonomic = name in self.ground.program.holonomic
        place = len(self.below[name]) + 1 + number
        return "set_" + deviation_chain(name, holonomic, place + 1)[place]

    def _raise(self, name: str) -> None:
        g = self.top[name]
        used = set(ancestors((g, *self.passive)))
        for owner, states in self.extended.items():
            if states[-1] in used:
                states.append(self._new_state(owner, len(states)))
        self.below[name].append(g)
        (self.top[name],) = directional([g], self.direction())

    def direction(self, last: Mapping[str, Node] | None = None) -> dict[Node, Node]:
        """How everything moves while the free controls rest; `last` are the rates of the last states of extensions."""
        inputs = self.ground.inputs
        along = inputs.direction | dict(zip(inputs.v, self.passive, strict=True))
        for name, states in self.extended.items():
            along |= dict(pairwise(states))
            if last is not None:
                along[states[-1]] = last[name]
        return along

    @property
    def passive(self) -> list[Node]:
        """The accelerations that the held constraints leave, without the free controls."""
        if self._passive is None:
            self._passive = self._solved()
        return self._passive

    def _solved(self) -> list[Node]:
        ground, graph = self.ground, self.graph
        n, bias = len(ground.dynamics.mass), list(ground.dynamics.bias)
        names = list(self.held)
        rows = jacobian([self.top[name] for name in names], ground.inputs.v)
        drift = directional([self.top[name] for name in names], self._without_accelerations())
        want = [self.held[name] - rate for name, rate in zip(names, drift, strict=True)]
        columns = [self.columns[self.holder[name]] for name in names]
        if ground.definite:
            mass = factor_symmetric(ground.dynamics.mass, graph)
            loose = mass.solve(bias)
            if not names:
                return loose
            moved = [mass.solve([column.get(i, graph.zero) for i in range(n)]) for column in columns]
            response = transposed([{i: x for i, x in enumerate(m) if not x.is_zero} for m in moved], n)
            lacking = [y - x for y, x in zip(want, times(rows, loose, graph), strict=True)]
            mu = factor_general(product(rows, response), graph).solve(lacking)
            return [a + b for a, b in zip(loose, times(response, mu, graph), strict=True)]
        saddle: Rows = [dict(row) for row in ground.dynamics.mass] + [dict(row) for row in rows]
        for k, column in enumerate(columns):
            for i, node in column.items():
                saddle[i][n + k] = -node
        return factor_general(saddle, graph).solve([*bias, *want])[:n]

    def _without_accelerations(self) -> dict[Node, Node]:
        along = dict(self.ground.inputs.direction)
        for states in self.extended.values():
            along |= dict(pairwise(states))
        return along

    # ── what controls can do ──────────────────────────────────────────────────────────────────────

    def cosines(self) -> np.ndarray:
        """For each sample, waiting constraint and free control: how much of what the control moves is the constraint's.

        |g·r| / (|g| |r|) with the slope g = ∂top/∂v and the response r, both in the metric of masses where they have
        one; 0 where nothing is moved.
        """
        ground, n = self.ground, len(self.ground.dynamics.mass)
        tops, names = [self.top[name] for name in self.waiting], list(self.held)
        slopes = jacobian(tops, ground.inputs.v)
        held = jacobian([self.top[name] for name in names], ground.inputs.v)
        columns = transposed([self.columns[self.holder[name]] for name in names], n)
        pushes = transposed([self.columns[self.control[name]] for name in self.free], n)
        found = []
        for sample in self._samples():
            G, J = _exact(sample, slopes, n), sample.dense(held, n)
            M, E, B = (
                sample.dense(ground.dynamics.mass, n), sample.dense(columns, len(names)),
                sample.dense(pushes, len(self.free)),
            )  # fmt: skip
            r = len(names)
            saddle = np.block([[M, -E], [J, np.zeros((r, r))]])
            response = np.linalg.lstsq(saddle, np.vstack([B, np.zeros((r, B.shape[1]))]), rcond=None)[0][:n]
            scale = np.sqrt(np.abs(np.diag(M)))
            scale = np.where(scale > 0, scale, 1.0)
            g, b = G / scale, response * scale[:, None]
            sizes = np.linalg.norm(g, axis=1)[:, None] * np.linalg.norm(b, axis=0)
            with np.errstate(all="ignore"):
                found.append(np.nan_to_num((g @ b) / np.where(sizes > 0, sizes, np.inf)))
        return np.array(found).reshape(len(found), len(tops), len(self.free))

    def _samples(self) -> list[Sample]:
        """The states looked at, with small numbers for the states of extensions."""
        states = [node for chain in self.extended.values() for node in chain]
        extra = {node: 0.1 * np.cos(1 + k) for k, node in enumerate(states)}
        return [Sample(sample.values | extra, sample.seed) for sample in self.ground.samples]

    # ── the result ────────────────────────────────────────────────────────────────────────────────

    def deviations(self) -> Deviations:
        """All chains, as deviations whose last rates are what the law demands."""
        program, inputs = self.ground.program, self.ground.inputs
        last = {name: self.graph.input(f"{self._state_name(name, len(z))}_rate") for name, z in self.extended.items()}
        chains = {name: self._chain(name) for name in program.constraints}
        words = {name: deviation_chain(name, name in program.holonomic, len(chain)) for name, chain in chains.items()}
        lower = [(name, 0) for name in program.holonomic]
        lower += [(name, k) for name in self.degrees for k in range(name in program.holonomic, len(chains[name]) - 1)]
        tops = [(name, len(chains[name]) - 1) for name in program.constraints]
        places = {place: k for k, place in enumerate([*lower, *tops])}
        rows = [self.top[name] for name in program.constraints]
        along = self._without_accelerations()
        along |= {states[-1]: last[name] for name, states in self.extended.items()}
        return Deviations(
            y=tuple(chains[name][k] for name, k in lower),
            w=tuple(chains[name][k] for name, k in tops),
            jacobian=jacobian(rows, inputs.v),
            drift=tuple(directional(rows, along)),
            names=tuple(words[name][k] for name, k in (*lower, *tops)),
            owners=tuple(name for name, _ in (*lower, *tops)),
            follows=tuple(places[name, k + 1] for name, k in lower),
            degrees=Frozen(self.degrees),
            extensions=tuple(
                Extension(name, self.by[name], {self._state_name(name, k): z for k, z in enumerate(states)}, last[name])
                for name, states in self.extended.items()
            ),
        )

    def _chain(self, name: str) -> list[Node]:
        return [*self.below[name], self.top[name], *self.extended.get(name, ())]

    @property
    def degrees(self) -> dict[str, int]:
        """The degrees above the usual, by constraint."""
        usual = {name: 2 if name in self.ground.program.holonomic else 1 for name in self.below}
        return {name: d for name in self.below if (d := len(self._chain(name))) > usual[name]}


def moves_of(ground: Ground) -> tuple[Move, ...]:
    """How to climb until each constraint has a control that moves it; nothing where the usual degrees will do.

    What controls can move is decided at the samples. An error by name where no degree up to `HIGHEST` gives an answer.
    """
    climb, moves = Climb(ground), list[Move]()
    while climb.waiting:
        cosines, names = climb.cosines(), climb.waiting
        unmoved = [name for k, name in enumerate(names) if not (np.abs(cosines[:, k]) > NOTHING).any()]
        if not unmoved and _independent(cosines):
            return tuple(moves)
        steps = [Move("raise", name) for name in unmoved] or [_best(names, climb.free, cosines)]
        for step in steps:
            if step.kind == "raise" and len(climb.below[step.constraint]) + 1 >= HIGHEST:
                raise _nothing_moves(ground.program, unmoved)
            climb.take(step)
            moves.append(step)
    return tuple(moves)


def climbed(ground: Ground, moves: Sequence[Move]) -> Deviations:
    """The deviations after the same moves, on any graph."""
    climb = Climb(ground)
    for move in moves:
        climb.take(move)
    return climb.deviations()


def _exact(sample: Sample, rows: Rows, columns: int) -> np.ndarray:
    """A matrix at a state, in balls: an entry that vanishes by cancelling is 0 there, and in doubles a little noise."""
    found = np.zeros((len(rows), columns))
    with precision(BITS):
        known = sample.in_balls()
        for i, row in enumerate(rows):
            for j, value in zip(row, known.of(list(row.values())), strict=True):
                found[i, j] = 0.0 if value.contains(0) else float(value.mid())
    return found


def _independent(cosines: np.ndarray) -> bool:
    """Whether the waiting constraints ask for different controls, at some state beside the start."""
    for D in cosines[1:]:
        sizes = np.linalg.norm(D, axis=1, keepdims=True)
        if (sizes > 0).all() and np.linalg.svd(D / sizes, compute_uv=False)[-1] > NOTHING and len(D) <= D.shape[1]:
            return True
    return False


def _best(names: Sequence[str], controls: Sequence[str], cosines: np.ndarray) -> Move:
    """Which constraint to hold at once, and by which control.

    Of those that ask for the same direction, the pair that belongs together most at all states looked at.
    """
    shared = _sharing(cosines)
    least = np.abs(cosines).min(axis=0)[shared]
    least = least if least.max() > NOTHING else np.abs(cosines).mean(axis=0)[shared]
    k, j = divmod(int(least.argmax()), len(controls))
    return Move("hold", names[shared[k]], controls[j])


def _sharing(cosines: np.ndarray) -> list[int]:
    """The rows that take part in a combination that no control moves."""
    found: set[int] = set()
    for D in cosines[1:]:
        rows, sizes, _ = np.linalg.svd(D)
        lost = rows[:, int((sizes > NOTHING * max(sizes[0], NOTHING)).sum()) :]
        found |= {int(k) for k in np.nonzero(np.abs(lost).max(axis=1, initial=0.0) > PART)[0]}
    return sorted(found) or list(range(cosines.shape[1]))


def _nothing_moves(program: Program, names: Sequence[str]) -> NoAuthority:
    listed = " and ".join(map(repr, names))
    whose = "control" if len(program.controls) == 1 else "controls"
    return NoAuthority(
        f"the {whose} {', '.join(map(repr, program.controls))} cannot move {listed}: not at once, and not through any "
        f"derivative up to the {HIGHEST}th",
        where="program.controls",
        fix="choose a control that acts on it, or let it be held by its reaction (reactions=...)",
    )
