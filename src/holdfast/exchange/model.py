"""What leaves: the equations with their names, numbers and a step, as every target reads them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any

from holdfast.engine.code.kernel_source import KernelSource, observing_observables, stepping
from holdfast.engine.emit.body import CodeBody, lowered
from holdfast.equations.equations import Equations
from holdfast.equations.forms.plant import plant_of
from holdfast.equations.solving.applied import Applied
from holdfast.equations.values import parameter_vector
from holdfast.errors import BadRequest
from holdfast.exchange.names import model_name
from holdfast.graph.field import Field
from holdfast.graph.nodes import Node, ancestors
from holdfast.problem.laws.linear import Tuned
from holdfast.results.start.start import consistent_start
from holdfast.results.step_function import input_names
from holdfast.schemes.by_name import scheme_named
from holdfast.schemes.kinds.scheme import Scheme
from holdfast.schemes.tableaus.kutta import RK4


@dataclass(frozen=True, eq=False)
class Model:
    """dx/dt = F(t, x, p) with its step by a fixed-step scheme, under a name that every language bears."""

    name: str
    equations: Equations
    scheme: Scheme
    step: float | None
    start: tuple[float, ...]
    values: tuple[float, ...]  # of all that p holds
    inputs: tuple[str, ...] = ()  # what others put in: parameters, or all controls

    @property
    def title(self) -> str:
        return self.equations.problem.title or self.name

    @property
    def begin(self) -> float:
        return self.equations.problem.run.begin

    @property
    def controls(self) -> tuple[str, ...]:
        """The controls that the model computes itself."""
        return () if self.is_plant else tuple(self.equations.problem.program.controls)

    @property
    def is_plant(self) -> bool:
        """Whether controls are put in, in place of those that hold the program."""
        return bool(set(self.inputs) & set(self.equations.problem.program.controls))

    @property
    def states(self) -> tuple[str, ...]:
        return self.equations.state_names[: len(self.field.state)]

    @property
    def parameters(self) -> tuple[str, ...]:
        """All that p holds: parameters, gains, and of a plant its controls."""
        return (*self.equations.parameter_names, *(self.equations.problem.program.controls if self.is_plant else ()))

    @cached_property
    def field(self) -> Field:
        """What moves: the equations, or their plant with what of the observables does not speak of the law."""
        if not self.is_plant:
            return self.equations.field
        plant = plant_of(self.equations).field
        return replace(plant, observables=tuple(self._seen(plant).values()))

    @property
    def observables(self) -> tuple[str, ...]:
        return tuple(self._seen(self.field) if self.is_plant else self.equations.observables)

    def _seen(self, plant: Field) -> dict[str, Node]:
        """Energies and deviations, which are functions of the state, whatever pushes."""
        names, known = {"kinetic", "potential", "energy", *self.equations.deviation_names}, {*plant.inputs}
        return {
            name: node
            for name, node in self.equations.observables.items()
            if name in names and {found for found in ancestors((node,)) if found.op == "input"} <= known
        }

    @cached_property
    def assembly(self) -> KernelSource:
        """The step as the kernels have it."""
        return stepping(self.field, self.scheme)

    @cached_property
    def observing(self) -> CodeBody:
        return observing_observables(self.field).bodies["body"]

    @cached_property
    def controlling(self) -> CodeBody:
        """The controls alone, from time, state and parameters."""
        field = self.equations.field
        return lowered(dict(enumerate(_command(self.equations))), field.time, field.state, field.parameters)

    @property
    def rates(self) -> CodeBody:
        """dx/dt, then the pivots and their scales."""
        return self.assembly.bodies["rates"]

    def require_controller(self) -> None:
        """Refuse where no function of the state alone gives the controls."""
        if not self.controls:
            raise BadRequest("the program has no controls", where="part", fix="name some in Program(controls=...)")
        extended = self.equations.deviations.extensions
        if extended:
            raise BadRequest(
                f"the control {extended[0].control!r} has a state of its own: the measured state does not give it",
                where="part",
                fix="export the whole model, and step its states",
            )

    @property
    def notes(self) -> tuple[str, ...]:
        """What the functions leave out of what Holdfast itself does with this problem."""
        problem = self.equations.problem
        said = (
            [f"{', '.join(self.inputs)} of p {'are' if len(self.inputs) > 1 else 'is'} put in"] if self.inputs else []
        )
        if problem.system.noise:
            said.append(f"the noise of {', '.join(problem.system.noise)} is left out: the motion without it")
        if self.is_plant and problem.program.limits:
            said.append(f"the limits of {', '.join(problem.program.limits)} are not applied to what is put in")
        sampling = problem.program.sampling
        if sampling is not None and not self.is_plant:
            late = f", {sampling.delay:g} late," if sampling.delay else ""
            said.append(f"what calls the controller measures every {sampling.step:g}{late} and holds in between")
            if sampling.rates:
                said.append(f"the limits of the rates of {', '.join(sampling.rates)} are left to what calls it")
        stated = [name for name, value in problem.start.items() if value.free_symbols]
        if stated:
            said.append(f"the start of {', '.join(stated)} is a number here; in Holdfast it follows the parameters")
        if problem.events:
            said.append(f"the events {', '.join(problem.events)} are not watched")
        if problem.program.redundant == "allow":
            said.append("instants at which constraints become dependent end a run here; Holdfast carries it through")
        elif any(pivot.args for pivot in self.field.pivots):  # constants and inputs never fail
            said.append("the order of elimination is that of the start; where it fails, a step says so (status 2)")
        return tuple(said)


def _command(equations: Equations) -> list[Node]:
    """What a controller computes from the state: with the numbers of its model, cut off at its limits, and not held."""
    program, solution, graph = equations.problem.program, equations.solution, equations.inputs.graph
    if program.sampling is None or not isinstance(solution, Applied):
        return list(equations.controls_nodes.values())
    found = dict(solution.command)
    for name, (low, high) in program.limits.items():
        value = found[name] if high is None else graph.call("min", found[name], equations.inputs.walk(high))
        found[name] = value if low is None else graph.call("max", value, equations.inputs.walk(low))
    return list(found.values())


def require_equations(equations: Any, verb: str) -> None:
    if not isinstance(equations, Equations):
        raise BadRequest(f"{verb}() takes Equations, not {type(equations).__name__}", fix="hf.derive(problem) first")


def model_of(
    equations: Equations,
    *,
    name: str | None = None,
    scheme: Any = None,
    step: Any = None,
    inputs: Iterable[Any] = (),
    controller: bool = False,
) -> Model:
    """The model of equations, judged at the door: numbers for all letters, gains chosen, a scheme that can leave."""
    require_equations(equations, "export")
    if isinstance(equations.problem.program.law, Tuned):
        raise BadRequest(
            "the gains of this law are still to be chosen", where="program.law", fix="hf.tuned(problem) chooses them"
        )
    if equations.problem.phases:
        names = ", ".join(equations.problem.phases)
        raise BadRequest(
            f"one program leaves at a time, and this problem has the phases {names}",
            where="phases",
            fix=f"hf.derive(problem.in_phase({next(iter(equations.problem.phases))!r})) for each of them",
        )
    put_in = input_names(equations, inputs, "export(inputs=...)")
    if not controller and not set(put_in) & set(equations.problem.program.controls):
        _refuse_sampling(equations)
    values = parameter_vector(equations, {})
    begun = consistent_start(equations, None, None, {}, equations.problem.run.begin)
    chosen, size = _scheme(equations, scheme), _step(equations, step)
    named = model_name(name, equations.problem.title)
    if set(put_in) & set(equations.problem.program.controls):
        values += [0.0] * len(equations.problem.program.controls)
    model = Model(named, equations, chosen, size, tuple(float(x) for x in begun.state), tuple(values), put_in)
    return replace(model, start=model.start[: len(model.states)])


def _refuse_sampling(equations: Equations) -> None:
    program = equations.problem.program
    if program.sampling is not None:
        raise BadRequest(
            "controls are held between samples, and exported equations hold nothing",
            where="program.sampling",
            fix=f"export the plant (inputs={list(program.controls)!r}) and the controller alone (part='controller')",
        )


def _scheme(equations: Equations, asked: Any) -> Scheme:
    """The scheme of the steps: as asked for, or the problem's own, or RK4 where that chooses its steps itself."""
    chosen = scheme_named(equations.problem.run.scheme if asked is None else asked)
    if not chosen.adaptive and chosen.explicit:
        return chosen
    if asked is None:
        return RK4
    raise BadRequest(
        f"{chosen.name} {'chooses its own steps' if chosen.adaptive else 'solves equations in each step'}, "
        "and only explicit schemes of fixed step leave",
        where="scheme",
        fix='e.g. "rk4"; the right-hand side leaves in any case, for solvers of the other tool',
    )


def _step(equations: Equations, asked: Any) -> float | None:
    size = equations.problem.run.step if asked is None else asked
    if size is None:
        return None
    if isinstance(size, bool) or not isinstance(size, Real) or not 0 < float(size) < float("inf"):
        raise BadRequest(f"step = {size!r} is no step", where="step", fix="a positive number")
    return float(size)
