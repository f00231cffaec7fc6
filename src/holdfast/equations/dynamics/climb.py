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

from holdfast.common.frozen import Frozen
from holdfast.equations.dynamics.deviation import Deviations, Extension
from holdfast.equations.dynamics.inputs import Inputs
from holdfast.equations.dynamics.lagrange import Dynamics
from holdfast.equations.dynamics.sample import Sample
from holdfast.equations.dynamics.through import acting_through, split, together
from holdfast.graph.derivatives import directional, jacobian
from holdfast.graph.general_solver import factor_general
from holdfast.graph.linear_algebra import Rows, factor_symmetric, product, times, transposed
from holdfast.graph.nodes import Node, ancestors, substitute
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
        self._resting: dict[Node, Node] = {}  # what controls in the rates of states are, while free ones rest

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
        used = set(ancestors((g,)))
        for owner, states in self.extended.items():
            if states[-1] in used:
                states.append(self._new_state(owner, len(states)))
        self.below[name].append(g)
        (self.top[name],) = substitute(directional([g], self.direction()), self._resting)

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
            self._passive, mu = self._solved()
            held = {name: mu[list(self.held).index(owner)] for owner, name in self.by.items()}
            values = {name: held.get(name, self.graph.zero) for name in self.ground.program.controls}
            self._resting = acting_through(self.ground.inputs, values)
        return self._passive

    def _solved(self) -> tuple[list[Node], list[Node]]:
        """Accelerations, and the forces of the holders so far in the order of `held`."""
        ground, graph = self.ground, self.graph
        n, bias = len(ground.dynamics.mass), list(ground.dynamics.bias)
        names = list(self.held)
        rows = jacobian([self.top[name] for name in names], ground.inputs.v)
        drift, through = self.rates(names)
        place = {self.holder[name]: k for k, name in enumerate(names)}
        through = [{place[j]: node for j, node in row.items() if j in place} for row in through]
        want = [self.held[name] - rate for name, rate in zip(names, drift, strict=True)]
        columns = [self.columns[self.holder[name]] for name in names]
        if ground.definite:
            mass = factor_symmetric(ground.dynamics.mass, graph)
            loose = mass.solve(bias)
            if not names:
                return loose, []
            moved = [mass.solve([column.get(i, graph.zero) for i in range(n)]) for column in columns]
            response = transposed([{i: x for i, x in enumerate(m) if not x.is_zero} for m in moved], n)
            lacking = [y - x for y, x in zip(want, times(rows, loose, graph), strict=True)]
            mu = factor_general(together(product(rows, response), through), graph).solve(lacking)
            return [a + b for a, b in zip(loose, times(response, mu, graph), strict=True)], mu
        saddle: Rows = [dict(row) for row in ground.dynamics.mass] + [dict(row) for row in rows]
        for k, column in enumerate(columns):
            for i, node in column.items():
                saddle[i][n + k] = -node
        for i, row in enumerate(through):
            saddle[n + i] |= {n + k: node for k, node in row.items()}
        unknowns = factor_general(saddle, graph).solve([*bias, *want])
        return unknowns[:n], unknowns[n:]

    def rates(self, names: Sequence[str]) -> tuple[Sequence[Node], Rows]:
        """The rates of tops with accelerations held and controls at rest, and what controls through states add."""
        rates = directional([self.top[name] for name in names], self.without_accelerations())
        return split(rates, names, self.ground.inputs, self.ground.program)

    def without_accelerations(self) -> dict[Node, Node]:
        """How everything moves while the rates are held."""
        along = dict(self.ground.inputs.direction)
        for states in self.extended.values():
            along |= dict(pairwise(states))
        return along

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
        along = self.without_accelerations()
        along |= {states[-1]: last[name] for name, states in self.extended.items()}
        drift, through = split(directional(rows, along), program.constraints, inputs, program)
        return Deviations(
            y=tuple(chains[name][k] for name, k in lower),
            w=tuple(chains[name][k] for name, k in tops),
            jacobian=jacobian(rows, inputs.v),
            drift=drift,
            names=tuple(words[name][k] for name, k in (*lower, *tops)),
            owners=tuple(name for name, _ in (*lower, *tops)),
            follows=tuple(places[name, k + 1] for name, k in lower),
            degrees=Frozen(self.degrees),
            extensions=tuple(
                Extension(name, self.by[name], {self._state_name(name, k): z for k, z in enumerate(states)}, last[name])
                for name, states in self.extended.items()
            ),
            through=through,
        )

    def _chain(self, name: str) -> list[Node]:
        return [*self.below[name], self.top[name], *self.extended.get(name, ())]

    @property
    def degrees(self) -> dict[str, int]:
        """The degrees above the usual, by constraint."""
        usual = {name: 2 if name in self.ground.program.holonomic else 1 for name in self.below}
        return {name: d for name in self.below if (d := len(self._chain(name))) > usual[name]}


def climbed(ground: Ground, moves: Sequence[Move]) -> Deviations:
    """The deviations after the same moves, on any graph."""
    climb = Climb(ground)
    for move in moves:
        climb.take(move)
    return climb.deviations()
