"""Bodies with large systems in them: stages of statements, and eliminations by tables between them.

    stage 0     all that no system is needed for: entries of matrices, right sides, and what later stages read
    turn 1      factors and solutions of systems whose entries are there
    stage 1     what needs their pivots and unknowns, and so on

Stages hand values on through memory, which is the `x` of the next one:

    scratch     values that are handed on | entries and right sides | the work of each factor | scratch of the stages
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from holdfast.engine.emit.body import CodeBody, lowered
from holdfast.engine.emit.stages.tables import FrontTable, front_table
from holdfast.graph.fronts import Elimination
from holdfast.graph.nodes import LEAVES, SYSTEMS, Node, ancestors


@dataclass(frozen=True, slots=True)
class SystemTurn:
    """One elimination (`factorise`) or solution (`substitute`): where it reads, gives, and works, in the scratch."""

    name: str
    elimination: Elimination
    reads: int
    gives: int
    work: int

    @property
    def table(self) -> FrontTable:
        return front_table(self.elimination)

    @property
    def array(self) -> str:
        """The name of its table."""
        return f"fronts_{self.elimination.digest[:24]}"

    @property
    def operations(self) -> int:
        """About as many as statements would be."""
        entries = sum(front.width * front.height for front in self.elimination.fronts)
        return self.elimination.products if self.name == "factorise" else 2 * entries


@dataclass(frozen=True, eq=False)
class StagedBody:
    """Stages in order, with what happens after each of them but the last."""

    stages: tuple[CodeBody, ...]
    turns: tuple[tuple[SystemTurn, ...], ...]
    scratch_begin: int  # where the stages' own scratch begins

    @property
    def operations(self) -> int:
        """Of the eliminations."""
        return sum(turn.operations for turns in self.turns for turn in turns)

    @property
    def tables(self) -> dict[str, FrontTable]:
        """The tables by name."""
        return {turn.array: turn.table for turns in self.turns for turn in turns}


def straight(bodies: Iterable[CodeBody | StagedBody]) -> Iterator[CodeBody]:
    """The bodies that are statements alone: each body, or each of its stages."""
    for body in bodies:
        yield from body.stages if isinstance(body, StagedBody) else (body,)


def assembled(
    outputs: Mapping[int, Node], time: Node, state: Sequence[Node], parameters: Sequence[Node]
) -> CodeBody | StagedBody:
    """The body that fills the places of `outputs` from t, x and p, in stages where it has large systems in it."""
    first = time.graph.first_system
    nodes = [] if first is None else [node for node in ancestors(outputs.values()) if node.index >= first.index]
    if not any(node.op == "factor" for node in nodes):
        return lowered(outputs, time, state, parameters)
    return _Staging(nodes, outputs, time, state, parameters).body()


class _Staging:
    """The bookkeeping of `assembled`: in which stage each node is computed, and where its value is handed on.

    `nodes` are those from the first system on: all that was made before is computed in stage 0.
    """

    def __init__(
        self, nodes: Sequence[Node], outputs: Mapping[int, Node], time: Node, state: Sequence[Node],
        parameters: Sequence[Node],
    ) -> None:  # fmt: skip
        self.nodes, self.outputs, self.time, self.state, self.parameters = nodes, outputs, time, state, parameters
        self.stage = self._stages()
        self.last = max(self.stage.values())
        self.later = [node for node in nodes if node.index in self.stage]
        self.always = {node.index for node in (time, *parameters)}
        self.handed: list[list[Node]] = [self._crossing(stage) for stage in range(self.last)]

    def _stages(self) -> dict[int, int]:
        """The stage that computes each node, where it is not 0; of a system, that after its turn."""
        stage: dict[int, int] = {}
        for node in self.nodes:
            earlier = [stage.get(arg.index, 0) for arg in node.args]
            found = max(earlier, default=0)
            if node.op == "factor":
                found += 1
            elif node.op == "solved":
                found = max(earlier[0], 1 + max(earlier[1:], default=0))
            if found:
                stage[node.index] = found
        return stage

    def _crossing(self, stage: int) -> list[Node]:
        """What a stage computes and a later one reads; states that later stages read come from the first."""
        found = {node.index: node for node in self.outputs.values() if self._handed_on(node, stage)}
        for node in self.later:
            reading = self.stage[node.index] - (node.op in ("factor", "solved"))  # its operands are written before
            if reading > stage:
                found |= {arg.index: arg for arg in node.args if self._handed_on(arg, stage)}
        return [found[index] for index in sorted(found)]

    def _handed_on(self, node: Node, stage: int) -> bool:
        if node.index in self.always or node.op in SYSTEMS or self.stage.get(node.index, 0) != stage:
            return False
        return node.op == "input" or node.op not in LEAVES

    @cached_property
    def systems(self) -> list[list[Node]]:
        """The factors and solutions of each turn, in order."""
        found: list[list[Node]] = [[] for _ in range(self.last)]
        for node in self.later:
            if node.op in ("factor", "solved"):
                found[self.stage[node.index] - 1].append(node)
        return found

    def body(self) -> StagedBody:
        known: list[Node] = []  # by place in the memory that is handed on
        begins, results = list[int](), dict[int, int]()
        for handed, systems in zip(self.handed, self.systems, strict=True):
            begins.append(len(known))
            known += handed
            for node in systems:
                results[node.index] = len(known)
                known += [node.graph.part(node, place) for place in range(_parts(node))]
        reads, at = dict[int, int](), len(known)
        for node in self._all_systems():
            reads[node.index] = at
            at += len(_operands(node))
        work = dict[int, int]()
        for node in self._all_systems():
            if node.op == "factor":
                work[node.index] = at
                at += front_table(node.data).work
        turns = tuple(
            tuple(self._turn(node, reads[node.index], results[node.index], work) for node in systems)
            for systems in self.systems
        )
        return StagedBody(tuple(self._bodies(known, begins, reads)), turns, at)

    def _all_systems(self) -> Iterator[Node]:
        for systems in self.systems:
            yield from systems

    @staticmethod
    def _turn(node: Node, reads: int, gives: int, work: Mapping[int, int]) -> SystemTurn:
        factor = node if node.op == "factor" else node.args[0]
        name = "factorise" if node.op == "factor" else "substitute"
        return SystemTurn(name, factor.data, reads, gives, work[factor.index])

    def _bodies(self, known: Sequence[Node], begins: Sequence[int], reads: Mapping[int, int]) -> Iterator[CodeBody]:
        state: Sequence[Node] = self.state
        for stage, (begin, handed, systems) in enumerate(zip(begins, self.handed, self.systems, strict=True)):
            wanted = dict(enumerate(handed, start=begin))
            for node in systems:
                wanted |= dict(enumerate(_operands(node), start=reads[node.index]))
            yield replace(lowered(wanted, self.time, state, self.parameters), stage=True)
            state = known[: begins[stage + 1]] if stage + 1 < self.last else known
        yield replace(lowered(self.outputs, self.time, state, self.parameters), stage=True)


def _parts(node: Node) -> int:
    """Of a factor the pivots and their sizes, of a solution the unknowns."""
    size: int = 2 * node.data.size if node.op == "factor" else node.args[0].data.size
    return size


def _operands(node: Node) -> tuple[Node, ...]:
    """The scalars that a system takes: entries, or right sides."""
    return node.args if node.op == "factor" else node.args[1:]
