"""One decoupled block of deviations, with all numbers of a run put in: the object of a proof.

Parameters, gains and step are the doubles that the run uses, taken exactly; what remains are functions of time and
state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.equations.dynamics.blocks import decoupled_blocks
from holdfast.equations.dynamics.demand import bent_rows
from holdfast.equations.equations import Equations
from holdfast.equations.values import parameter_vector
from holdfast.errors import BadRequest
from holdfast.graph.arithmetics.balls import JUMPING
from holdfast.graph.elimination.saddle import TableSolver
from holdfast.graph.linear_algebra import transposed
from holdfast.graph.nodes import Node, ancestors, substitute
from holdfast.results.trajectory import Trajectory
from holdfast.stability.linear.hurwitz import RootPlace, place_of_roots


@dataclass(frozen=True, eq=False)
class BlockFlow:
    """dx/dt = rates(x, t) with the deviations psi(x, t) of one block, parameters put in.

    `variables` are the inputs that a box covers: those of time and state on which anything depends. `others` are the
    deviations of the other blocks and `extras` further functions, which a region bounds too. `affine` marks the
    reduced motion of a block whose constraints are affine in the state: there the state *is* the block's own (J q, J
    v), and the deviation may be taken as zero.
    """

    time: Node
    state: tuple[Node, ...]
    rates: tuple[Node, ...]
    psi: tuple[Node, ...]
    others: tuple[Node, ...]
    names: tuple[str, ...]  # of the state
    deviation_names: tuple[str, ...]
    other_names: tuple[str, ...]
    matrix: np.ndarray  # H of the block, exact doubles
    extras: tuple[Node, ...] = ()
    affine: bool = False
    law_terms: tuple[tuple[Node, ...], ...] = ()  # F₁ … F_p of a law that varies; H says all about others

    @cached_property
    def _relevant(self) -> set[Node]:
        """The inputs on which deviations and bounds depend, directly or through the dynamics."""
        rates, found = dict(zip(self.state, self.rates, strict=True)), set[Node]()
        waiting = [*self.psi, *self.others, *self.extras]
        while waiting:
            new = {node for node in ancestors(waiting) if node is self.time or node in rates} - found
            found |= new
            waiting = [rates[node] for node in new if node in rates]
        return found

    @cached_property
    def moving(self) -> tuple[Node, ...]:
        """The rates of the state, zero for what nothing depends on."""
        zero = self.time.graph.zero
        return tuple(
            rate if node in self._relevant else zero for node, rate in zip(self.state, self.rates, strict=True)
        )

    @cached_property
    def variables(self) -> tuple[Node, ...]:
        inputs = (self.time,) if self.affine else (self.time, *self.state)
        return tuple(node for node in inputs if node in self._relevant)

    @cached_property
    def variable_names(self) -> tuple[str, ...]:
        names = dict(zip((self.time, *self.state), ("t", *self.names), strict=True))
        return tuple(names[node] for node in self.variables)

    def covers(self, node: Node) -> bool:
        """Whether a function depends on no other input than the variables do."""
        inputs = {self.time, *self.state} - set(self.variables)
        return not any(found in inputs for found in ancestors((node,)))

    def placed(self, values: Sequence[Any], otherwise: Sequence[Any]) -> list[Any]:
        """Time and state from values of the variables, and from others where nothing depends on them."""
        known = dict(zip(self.variables, values, strict=True))
        return [known.get(node, rest) for node, rest in zip((self.time, *self.state), otherwise, strict=True)]


@dataclass(frozen=True, eq=False)
class ProofBlock:
    """A block by name: its constraints, its H, and whether that H is constant."""

    constraints: tuple[str, ...]
    places: tuple[int, ...]  # in (y, w)
    names: tuple[str, ...]
    matrix: np.ndarray
    constant: bool  # the law is linear, with coefficients that do not move
    obstacle: str = ""  # what keeps H from saying all about the law, where it does not
    moves: bool = False  # H depends on the motion or on time
    varies: bool = False  # the law is smooth, but not linear with coefficients that do not move
    tube_only: str = ""  # why no region is tried, where a tube may be

    @cached_property
    def roots(self) -> RootPlace:
        """Where those of H lie, decided exactly."""
        return place_of_roots(self.matrix)


def bound_numbers(equations: Equations, parameters: Mapping[Any, Any]) -> dict[Node, Node]:
    """Each parameter and gain as the exact value of its double."""
    graph = equations.inputs.graph
    values = parameter_vector(equations, parameters)
    nodes = (*equations.inputs.parameters.values(), *equations.inputs.gains.values())
    return {node: graph.const(Fraction(value)) for node, value in zip(nodes, values, strict=True)}


def blocks_of(equations: Equations, parameters: Mapping[Any, Any], run: Trajectory | None = None) -> list[ProofBlock]:
    """The decoupled blocks of the deviation matrix; where it moves, at the start, of a run if there is one."""
    names = equations.deviation_names
    at = (None, None) if run is None else (run.y[:, 0], float(run.times[0]))
    values = equations.evaluate(*at, parameters=parameters)
    full = values.deviation_matrix
    inputs = equations.inputs
    moving = dict(zip((inputs.time, *inputs.q, *inputs.v, *inputs.s), ("t", *equations.state_names), strict=True))
    m = len(values.deviation)
    result = []
    for places in decoupled_blocks(_structure(equations, full)):
        rows = [equations.demand_law.matrix[i - m] for i in places if i >= m]
        nodes = [node for row in rows for node in row.values()]
        held = [equations.deviations.owners[i] for i in places]
        found = set(ancestors(nodes))
        movers = [name for node, name in moving.items() if node in found]
        obstacle = _obstacle(equations, held)
        varies = bool(movers) or _bent(equations, held)
        matrix = full[np.ix_(places, places)]
        chosen = tuple(names[i] for i in places)
        own = tuple(dict.fromkeys(held))
        constant, loose = not obstacle and not varies, _never_shown(equations, held)
        result.append(ProofBlock(own, tuple(places), chosen, matrix, constant, obstacle, bool(movers), varies, loose))
    return result


def _never_shown(equations: Equations, held: Sequence[str]) -> str:
    """What bounding accelerations does not show of the controls that hold some constraints."""
    if equations.friction is not None:
        used = ", ".join(f"lambda_{name}" for name in equations.friction.constraints)
        return f"forces use {used}, which no region is covered with"
    if equations.problem.program.limits and not set(held) <= set(equations.problem.program.held_by_reaction):
        return f"the law holds only {equations.problem.program.shortfall}"
    loose = unsure_controls(equations)
    if not loose or set(held) <= set(equations.problem.program.held_by_reaction):
        return ""
    return f"{', '.join(loose)} push in directions that change, and that they never fail is not shown over a region"


def unsure_controls(equations: Equations) -> list[str]:
    """The controls whose directions change with the motion where as many programs as coordinates are held.

    There accelerations follow from the program alone, so that bounding them says nothing of what the controls can do.
    """
    program, inputs = equations.problem.program, equations.inputs
    if equations.solver.form != "inverse" or not program.controls:
        return []
    moving = {inputs.time, *inputs.q, *inputs.v, *inputs.s}
    columns = transposed(equations.holders, len(equations.constraints))[len(program.held_by_reaction) :]
    named = zip(program.controls, columns, strict=False)
    return [name for name, column in named if moving & set(ancestors(column.values()))]


def _bent(equations: Equations, held: Sequence[str]) -> bool:
    """Whether the law of some constraints is not linear in the deviations."""
    rows = bent_rows(equations.demand_law, (*equations.inputs.y.values(), *equations.inputs.w.values()))
    return any(is_bent and name in held for name, is_bent in zip(equations.constraints, rows, strict=True))


def _obstacle(equations: Equations, held: Sequence[str]) -> str:
    """Why nothing can be proved under this law; nothing where something can."""
    law = equations.demand_law
    program = equations.problem.program
    short = program.shortfall and (program.model or program.sampling is not None)
    if short and not set(held) <= set(program.held_by_reaction):
        return f"the law holds only {program.shortfall}"
    if law.jumps:
        return "the law branches on the deviations, so that its slopes say nothing of its values"
    if equations.solver.form == "eased":
        rows, free = len(equations.constraints), len(equations.inputs.q)
        few = f": {rows} of them, of which {free} accelerations move {free} at a time" if rows > free else ""
        return f"the law is eased where the first integrals become dependent{few}"
    if equations.solver.form == "redundant":
        return "constraints may depend on each other, and the law of what repeats others holds only where they agree"
    return by_tables(equations)


def by_tables(equations: Equations) -> str:
    """Why nothing is proved of a system that is eliminated by tables; nothing where it is not."""
    found = isinstance(equations.solver, TableSolver)
    return "reactions are found by tables, and the rounding of such an elimination is not bounded" if found else ""


def _structure(equations: Equations, full: np.ndarray) -> np.ndarray:
    """The pattern of H: zero gains decouple, expressions couple even where they happen to vanish."""
    m = len(equations.deviations.y)
    pattern = full.copy()
    gains = set(equations.inputs.gains.values())
    for i, row in enumerate(equations.demand_law.matrix):
        for j, node in row.items():
            if pattern[m + i, j] == 0 and not set(ancestors((node,))) & gains:
                pattern[m + i, j] = 1.0
    return pattern


def motion_of(
    equations: Equations,
    block: ProofBlock,
    parameters: Mapping[Any, Any],
    extras: Sequence[Node] = (),
    whole: BlockFlow | None = None,
    *,
    reduced: bool = True,
) -> BlockFlow:
    """The motion of a block: reduced to its own few variables where its constraints are affine and it may be, whole
    otherwise.

    `extras` are functions of the state that the region bounds, such as the energy; `whole` is the whole motion with
    them, where it is at hand.
    """
    motion = whole or whole_motion(equations, block, parameters, extras)
    if block.varies:
        return motion
    numbers = bound_numbers(equations, parameters)
    _require_exact_matrix(equations, block, numbers)
    _require_program_solves(equations, block, numbers)
    return (_reduced(equations, block, numbers) if reduced else None) or motion


def _require_exact_matrix(equations: Equations, block: ProofBlock, numbers: dict[Node, Node]) -> None:
    """The doubles of H must be its exact values: otherwise the defect does not vanish to the scheme's order."""
    m = len(equations.deviations.y)
    for i, place in enumerate(block.places):
        if place < m:
            continue
        row = equations.demand_law.matrix[place - m]
        for j, column in enumerate(block.places):
            if column in row:
                (node,) = substitute([row[column]], numbers)
                if node.op != "const" or node.data != Fraction(float(block.matrix[i, j])):
                    raise BadRequest(
                        "the law's coefficients are not exact in double precision",
                        where="program.law",
                        fix="give the gains as numbers",
                    )


def _require_program_solves(equations: Equations, block: ProofBlock, numbers: dict[Node, Node]) -> None:
    """Y(0, 0, ...) = 0 on the graph itself: what was only seen at sample points is no ground for a proof."""
    graph, inputs, m = equations.inputs.graph, equations.inputs, len(equations.deviations.y)
    still = {node: graph.zero for node in (*inputs.y.values(), *inputs.w.values())}
    demands = [equations.demand_law.value[place - m] for place in block.places if place >= m]
    left = substitute(demands, numbers | still)
    if not all(node.is_zero for node in left):
        raise BadRequest("the law is not shown to vanish on the program", where="program.law")


def whole_motion(
    equations: Equations, block: ProofBlock, parameters: Mapping[Any, Any], extras: Sequence[Node] = ()
) -> BlockFlow:
    """The motion of a block within the whole state."""
    inputs, numbers = equations.inputs, bound_numbers(equations, parameters)
    psi = [*equations.deviations.y, *equations.deviations.w]
    own = [psi[i] for i in block.places]
    rest = [node for i, node in enumerate(psi) if i not in block.places]
    names = equations.deviation_names
    field = equations.field
    bound = substitute([*field.rates, *own, *rest, *extras], numbers)
    count, last = len(field.rates), len(field.rates) + len(psi)
    return BlockFlow(
        time=inputs.time,
        state=field.state,
        rates=tuple(bound[:count]),
        psi=tuple(bound[count : count + len(own)]),
        others=tuple(bound[count + len(own) : last]),
        names=equations.state_names,
        deviation_names=block.names,
        other_names=tuple(name for i, name in enumerate(names) if i not in block.places),
        matrix=block.matrix,
        extras=tuple(bound[last:]),
    )


def _reduced(equations: Equations, block: ProofBlock, numbers: dict[Node, Node]) -> BlockFlow | None:
    """The motion of an affine block in as many variables X as it has deviations, on the program itself.

        ψ = X + e(t),     X = J q, J v, z₀, z₁, ...,     X' = ψ' − e'(t),     ψ' the next ψ, of the last one Y

    where z are own states of an extension, J a + γ = z₀, z₀' = z₁, ..., with no e. Any Runge-Kutta scheme treats X as
    it treats the whole state, and is linear in the deviations, so the defect is that of e(t) alone and may be evaluated
    at ψ = 0, where no acceleration is needed. Needs holonomic constraints only, and own states for further deviations.
    """
    chains = _affine_chains(equations, block, numbers)
    if chains is None:
        return None
    graph, inputs, deviations = equations.inputs.graph, equations.inputs, equations.deviations
    still = {node: graph.zero for node in (*inputs.q, *inputs.v, *inputs.s)}
    nodes = (*deviations.y, *deviations.w)
    by_time = dict(zip(block.places, substitute([nodes[i] for i in block.places], numbers | still), strict=True))
    own = {place: graph.input(f"own.{k}") for k, place in enumerate(block.places)}
    psi = [own[place] + by_time[place] for place in block.places]
    demand = _demand(equations, block, psi, numbers)
    if demand is None:
        return None
    rates: dict[int, Node] = {}
    for row, (y, w, *further) in chains.items():
        (drift,) = substitute([deviations.drift[row]], numbers | still)
        chain, rises = (y, w, *further), (by_time[w], drift, *(graph.zero for _ in further))
        for place, after, rise in zip(chain, chain[1:], rises, strict=False):
            rates[place] = own[after] + (by_time[after] - rise)
        rates[chain[-1]] = demand[row] - rises[-1]
    return BlockFlow(
        time=inputs.time,
        state=tuple(own.values()),
        rates=tuple(rates[place] for place in block.places),
        psi=tuple(psi),
        others=(),
        names=tuple(f"own_{k}" for k in range(len(own))),
        deviation_names=block.names,
        other_names=(),
        matrix=block.matrix,
        affine=True,
    )


def _demand(
    equations: Equations, block: ProofBlock, psi: Sequence[Node], numbers: dict[Node, Node]
) -> dict[int, Node] | None:
    """What the law asks of the last rates in this block's own deviations, by row: the law itself and not its H; None
    if not in them.
    """
    inputs, law, m = equations.inputs, equations.demand_law, len(equations.deviations.y)
    deviating = (*inputs.y.values(), *inputs.w.values())
    own = {deviating[place]: node for place, node in zip(block.places, psi, strict=True)}
    value = law.value if equations.second_order else law.linear
    rows = [place - m for place in block.places if place >= m]
    demand = substitute([value[row] for row in rows], numbers | own)
    foreign = {*deviating, *inputs.q, *inputs.v, *inputs.s} - {inputs.time}
    return None if any(node in foreign for node in ancestors(demand)) else dict(zip(rows, demand, strict=True))


def _affine_chains(
    equations: Equations, block: ProofBlock, numbers: dict[Node, Node]
) -> dict[int, tuple[int, ...]] | None:
    """The places of y, its rate and their further rates, by row; None where y is not affine, or another rate than y's
    first is no own state.
    """
    deviations, m = equations.deviations, len(equations.deviations.y)
    chains = {}
    for place in block.places:
        if place < len(equations.problem.program.holonomic):
            chain = [place]
            while chain[-1] < m:
                chain.append(deviations.follows[chain[-1]])
            chains[chain[-1] - m] = tuple(chain)
    loose = {place for chain in chains.values() for place in chain[2:]} - set(deviations.own_states)
    if loose or {place for chain in chains.values() for place in chain} != set(block.places):
        return None
    return chains if _affine(equations, chains, numbers) else None


def _of_time(node: Node, moving: set[Node]) -> bool:
    """Whether a node is read off data at a time, whatever the state is."""
    return node.op == "table" and not moving & set(ancestors((node,)))


def _affine(equations: Equations, chains: Mapping[int, Sequence[int]], numbers: dict[Node, Node]) -> bool:
    """Whether y = J q + e(t) with a constant J for the constraints of these rows.

    Judged by slopes: J must be constant and γ depend on time alone. A jump has no slope, and a first-order state moves
    without one, so there must be none of these; but data that are read at times alone are part of e(t).
    """
    deviations = equations.deviations
    nodes = (*deviations.y, *deviations.w)
    inner = ancestors(substitute([nodes[place] for chain in chains.values() for place in chain[:2]], numbers))
    moving = {*equations.inputs.q, *equations.inputs.v, *equations.inputs.s}
    if any(node in equations.inputs.s or (node.op in JUMPING and not _of_time(node, moving)) for node in inner):
        return False
    slopes = [node for row in chains for node in deviations.jacobian[row].values()]
    found = substitute([*slopes, *(deviations.drift[row] for row in chains)], numbers)
    timeless = found[: len(slopes)]
    depends = {node for node in ancestors(found) if node in moving}
    return not depends and not any(node is equations.inputs.time for node in ancestors(timeless))
