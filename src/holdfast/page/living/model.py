"""What a living page computes: the step of the run's own scheme, what is drawn, the way onto the program, the law.

All of it is the graph's, written as JavaScript; no name of the problem's reaches the code. A page is alive where its
run is one that the browser can repeat: an explicit scheme of fixed step from a start that follows from the statement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from holdfast.engine.code.js_run import run_text
from holdfast.engine.code.kernel_source import stepping
from holdfast.engine.emit.body import CodeBody, lowered
from holdfast.equations.equations import Equations
from holdfast.equations.values import parameter_vector
from holdfast.errors import HoldfastError
from holdfast.graph.derivatives import jacobian
from holdfast.graph.linear_algebra import Rows
from holdfast.graph.nodes import Node
from holdfast.page.facts import PageFacts
from holdfast.results.runs.joined import JoinedRun
from holdfast.results.shapes import drawn_points
from holdfast.results.start.start import chosen_policy
from holdfast.results.trajectory import Trajectory

LARGEST = 120_000  # characters of code: beyond, a page is alive only if it is asked to be
MOST_STEPS = 20_000  # of a run that is repeated at each move of a slider
MOST_MOVED_STEPS = 200_000  # of one whose step was made smaller: about a second of the four-bar


@dataclass(frozen=True, eq=False)
class LivingModel:
    """The functions of one page."""

    subject: PageFacts
    names: tuple[str, ...]  # what is drawn

    @cached_property
    def equations(self) -> Equations:
        return self.subject.equations

    @cached_property
    def code(self) -> str:
        """hf_run, hf_start, hf_program, hf_law."""
        field = self.equations.field
        stepped = stepping(field, self.subject.scheme)
        observing = self._body([*self._drawn.values(), *self._places])
        further = {
            "start": self._body(self._stated),
            "program": self._body(self._program),
            "law": self._body(self._law),
        }
        return run_text(stepped, observing, further)

    def _body(self, nodes: Sequence[Node]) -> CodeBody:
        field = self.equations.field
        return lowered(dict(enumerate(nodes)), field.time, field.state, field.parameters)

    @cached_property
    def _drawn(self) -> dict[str, Node]:
        """What figures show, by name."""
        known = dict(zip(self.equations.state_names, self.equations.field.state, strict=True))
        known |= self.equations.observables
        deviations = [*self.equations.deviations.y, *self.equations.deviations.w]
        if deviations:
            graph = self.equations.inputs.graph
            known["deviation_norm"] = graph.call("sqrt", graph.sum([node * node for node in deviations]))
        return {name: known[name] for name in self.names if name in known}

    @property
    def drawn_names(self) -> tuple[str, ...]:
        return tuple(self._drawn)

    @cached_property
    def _places(self) -> list[Node]:
        """Where the points of the mechanism are: two numbers each, or three."""
        points, walk = drawn_points(self.equations.problem), self.equations.inputs.walk
        zero, found = self.equations.inputs.graph.zero, list[Node]()
        for position in points.values():
            found += [walk(position[k]) if k < len(position) else zero for k in range(self._depth)]
        return found

    @property
    def _depth(self) -> int:
        """Numbers for each point."""
        return max((len(position) for position in self.equations.problem.system.points.values()), default=2)

    @cached_property
    def _stated(self) -> list[Node]:
        """The start as it is stated, in terms of parameters; zero where it is not."""
        inputs, problem = self.equations.inputs, self.equations.problem
        start = problem.start
        return [inputs.walk(start[name]) if name in start else inputs.graph.zero for name in self.equations.state_names]

    @cached_property
    def _program(self) -> list[Node]:
        """y, w, M, ∂y/∂q and J, as `results.start.projection` has them."""
        inputs, deviations = self.equations.inputs, self.equations.deviations
        n, zero = len(inputs.q), inputs.graph.zero
        nodes = [*deviations.y, *deviations.w]
        for rows in (self.equations.dynamics.mass, jacobian(deviations.y, inputs.q), deviations.jacobian):
            nodes += _dense(rows, n, zero)
        return nodes

    @cached_property
    def _law(self) -> list[Node]:
        """The matrices of all blocks of deviations, one after the other, row by row."""
        equations, zero, one = self.equations, self.equations.inputs.graph.zero, self.equations.inputs.graph.one
        m, r = len(equations.deviations.y), len(equations.constraints)
        rows: list[Mapping[int, Node]] = [{place: one} for place in equations.deviations.follows]
        rows += equations.demand_law.matrix
        assert len(rows) == m + r
        return [
            rows[i].get(j, zero) for block in self.subject.spectrum.blocks for i in block.indices for j in block.indices
        ]

    @property
    def data(self) -> dict[str, object]:
        """The numbers that the code is run with."""
        equations, run = self.equations, self.subject.trajectory
        program = equations.problem.program
        _, projected = chosen_policy(equations, None)
        assert run.step is not None
        return {
            "states": len(equations.state_names),
            "coordinates": len(equations.coordinates),
            "rows": [len(equations.deviations.y), len(equations.constraints)],
            "positions": [k for k, name in enumerate(program.holonomic) if name in projected],
            "rates": [k for k, name in enumerate(program.constraints) if name in projected],
            "free": [name not in equations.problem.start for name in equations.state_names],
            "values": parameter_vector(equations, dict(run.parameters)),
            "start": list(run.start.state),
            "begin": float(run.times[0]),
            "step": run.step,
            "steps": steps_of(run),
            "drawn": list(self.drawn_names),
            "points": len(drawn_points(equations.problem)),
            "depth": self._depth,
            "most": max(MOST_MOVED_STEPS, steps_of(run)),
            "blocks": [len(block.indices) for block in self.subject.spectrum.blocks],
        }


def _dense(rows: Rows, columns: int, zero: Node) -> list[Node]:
    return [row.get(j, zero) for row in rows for j in range(columns)]


def steps_of(run: Trajectory) -> int:
    """How many steps the whole run was asked for."""
    assert run.step is not None
    return round(float(run.times[-1] - run.times[0]) / run.step)


def why_not(subject: PageFacts) -> str:
    """Why a page cannot be alive; nothing where it can."""
    run, equations = subject.trajectory, subject.equations
    if isinstance(run, JoinedRun) or equations.problem.phases:
        return "its run is made of phases"
    scheme = subject.scheme
    if run.step is None or scheme.adaptive or not scheme.explicit:
        return f"{scheme.name} is not an explicit scheme of fixed step"
    if run.projected:
        return "its steps are brought back onto the program"
    if subject.stopped is not None and subject.stopped != float(run.times[-1]):
        return "its run ended early"
    if steps_of(run) > MOST_STEPS:
        return f"its run has more than {MOST_STEPS:,} steps"
    try:
        equations.require_unsampled("a living page")
    except HoldfastError as error:
        return error.what
    stated = equations.problem.events
    if any(event.terminal for event in stated.values()) or set(run.events) - set(stated):
        return "events are watched along its run"
    if equations.problem.program.keep or equations.deviations.states or equations.problem.system.noise:
        return "its start or its motion is not one that follows from the statement alone"
    if equations.solver.form in ("redundant", "eased"):
        return "its constraints may depend on each other"
    return "" if _starts_alike(subject) else "its start is not the one that is stated"


def _starts_alike(subject: PageFacts) -> bool:
    """Whether what was stated is what the problem states, at the parameters of the run."""
    from holdfast.equations.values import state_vector

    run, equations = subject.trajectory, subject.equations
    stated = state_vector(equations, None, {name: float(run.parameters[name]) for name in equations.parameter_names})
    names = list(equations.problem.start)
    used = dict(zip(equations.state_names, run.start.state, strict=True))
    if any(used[name] for name in equations.problem.system.states if name not in equations.problem.start):
        return False  # states that were found from the program: a page finds coordinates and rates only
    own = dict(zip(equations.state_names, stated, strict=True))
    return bool(np.allclose([used[name] for name in names], [own[name] for name in names], rtol=1e-9, atol=1e-12))
