"""Deviations from the program, and how they move."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from holdfast.common.frozen import Frozen
from holdfast.common.memo import Memo
from holdfast.equations.dynamics.bodies.closing import ClosingRow
from holdfast.equations.dynamics.inputs import Inputs
from holdfast.equations.dynamics.through import split
from holdfast.graph.derivatives import jacobian
from holdfast.graph.linear_algebra import Rows
from holdfast.graph.nodes import Node
from holdfast.problem.program import Program


@dataclass(frozen=True, eq=False)
class Deviations:
    """y, w, J and γ as nodes.

        y = f(q, t)                              the holonomic functions
        w = (df/dt ; f(q, v, t))                 their rates, then the nonholonomic functions
        dw/dt = J a + γ,   J = ∂w/∂v,   γ = rate of w with v held

    One formula serves both kinds. Of a constraint of higher degree (`climb`) w is the last rate of its deviation before
    its control appears, and the rates before it follow the holonomic functions in y.
    """

    y: tuple[Node, ...]
    w: tuple[Node, ...]
    jacobian: Rows
    drift: tuple[Node, ...]
    names: tuple[str, ...]  # of y, then of w
    owners: tuple[str, ...]  # whose they are, by constraint
    follows: tuple[int, ...]  # for each of y, the place of its rate among all
    degrees: Frozen[int] = Frozen()  # of constraints above the usual degree
    extensions: tuple[Extension, ...] = ()
    through: Rows = field(default_factory=list)  # D of dw/dt = J a + γ + D u, where controls act through states
    memo: Memo = field(init=False, repr=False, default_factory=Memo)

    def names_of(self, constraints: Iterable[str]) -> tuple[str, ...]:
        """The deviations of some constraints."""
        chosen = set(constraints)
        return tuple(name for name, owner in zip(self.names, self.owners, strict=True) if owner in chosen)

    @property
    def rows(self) -> tuple[int, ...]:
        """For each deviation the place of its constraint."""
        places = {name: k for k, name in enumerate(self.owners[len(self.y) :])}
        return tuple(places[name] for name in self.owners)

    @property
    def rates_above(self) -> tuple[int, ...]:
        """For each deviation, how many rates of it are deviations too: 0 for w, 1 for the usual y."""
        above = [0] * len(self.names)
        for _ in self.y:  # no chain is longer
            for i, place in enumerate(self.follows):
                above[i] = above[place] + 1
        return tuple(above)

    @property
    def mixed(self) -> frozenset[str]:
        """The constraints whose deviations mix positions, rates and states: above the usual degree, or moved through
        states.
        """
        tops = self.owners[len(self.y) :]
        return frozenset({*self.degrees, *(name for name, row in zip(tops, self.through_rows, strict=True) if row)})

    @property
    def through_rows(self) -> Rows:
        """D, with empty rows where no control acts through states."""
        return self.through or [{} for _ in self.w]

    @property
    def own_states(self) -> tuple[int, ...]:
        """The deviations that are states themselves, of extensions."""
        states = set(self.states.values())
        return tuple(k for k, node in enumerate((*self.y, *self.w)) if node in states)

    @property
    def states(self) -> dict[str, Node]:
        """The states that extensions add, by name."""
        return {name: node for extension in self.extensions for name, node in extension.states.items()}


@dataclass(frozen=True, eq=False)
class Extension:
    """A constraint that its control holds at once, its demand being a state with rates of its own: dynamic extension.

    J a + γ = z₀,    z₀' = z₁,   ...,    z_last' = Y
    """

    constraint: str
    control: str
    states: dict[str, Node]  # z, by name
    last_rate: Node  # an input that stands for Y


def deviations_of(program: Program, inputs: Inputs, closing: Mapping[str, ClosingRow] | None = None) -> Deviations:
    """Walk the constraints and differentiate them on the graph, but for rows whose motion is known by geometry."""
    known = closing or {}
    y = [inputs.walk(f) for f in program.holonomic.values()]
    open_rows = [node for name, node in zip(program.holonomic, y, strict=True) if name not in known]
    rates = iter(inputs.rate(open_rows))
    w = [known[name].rate if name in known else next(rates) for name in program.holonomic]
    w += [inputs.walk(f) for f in program.nonholonomic.values()]
    names, owners = program.deviation_names(), (*program.holonomic, *program.constraints)
    follows = tuple(len(y) + i for i in range(len(y)))
    others = [node for name, node in zip(program.constraints, w, strict=True) if name not in known]
    further, slopes = iter(inputs.rate(others)), iter(jacobian(others, inputs.v))
    moved = [known[name].drift if name in known else next(further) for name in program.constraints]
    rows = [known[name].slopes if name in known else next(slopes) for name in program.constraints]
    drift, through = split(moved, program.constraints, inputs, program)
    return Deviations(tuple(y), tuple(w), rows, drift, names, owners, follows, through=through)
