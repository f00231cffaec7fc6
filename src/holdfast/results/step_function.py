"""The equations as functions for loops of one's own: one native step, and the right-hand side.

    step = hf.step_function(equations, "rk4", 0.01, inputs=["F"])
    x = step(t, x, [force])                              # x(t + 0.01)

    solve_ivp(hf.right_hand_side(equations), (0, 10), x)

Arrays are made once, and each call is one call of native code, which releases the GIL. A function may be used by one
thread at a time; `copy()` gives another its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from holdfast.common.nearest import did_you_mean
from holdfast.engine.kernel import Kernel, compiled
from holdfast.engine.run.memory import Memory
from holdfast.engine.run.status import Status
from holdfast.equations.equations import Equations
from holdfast.equations.forms.plant import plant_of
from holdfast.equations.values import parameter_vector
from holdfast.errors import BadRequest
from holdfast.graph.field import Field
from holdfast.problem.types import ByName
from holdfast.problem.vocabulary import name_of
from holdfast.results.judgement.judgement import ended
from holdfast.schemes.by_name import scheme_named
from holdfast.schemes.kinds.scheme import Scheme


class StepFunction:
    """``step(t, state, inputs)``: the state one step later.

    `inputs` are values for `input_names`, in their order; what is not given stays as it was. A step that cannot be
    taken (a value that is not finite, a rank that is lost) is an error.
    """

    def __init__(
        self, equations: Equations, scheme: Scheme, step: float, names: tuple[str, ...], given: ByName
    ) -> None:
        self.equations, self.scheme, self.step, self.input_names = equations, scheme, step, names
        self._given = given
        field, self.state_names, constants = _field(equations, names, given)
        self._places = [_place(equations, name) for name in names]
        kernel = compiled(field, scheme)
        self._prepare(kernel, constants)

    def _prepare(self, kernel: Kernel, constants: Sequence[float]) -> None:
        width = len(self.state_names)
        memory = Memory(kernel.machine.layout, np.zeros((1, width, 1)), np.array(constants, float)[None, :, None])
        kernel.machine.expect(1e12)  # a loop of steps is worth the optimised code
        self._kernel, self._memory, self._rows = kernel, memory, np.empty(width)
        self._x, self._p, self._f = memory.x[0, :, 0], memory.p[0, :, 0], memory.f[0, :, 0]
        self._size = len(self._x)
        self._status, self._done = memory.status[0], memory.done[0]
        self._pivots = slice(memory.size, memory.size + memory.pivots) if memory.pivots else None
        self._watch = memory.watch[0, :, 0]
        pointer = kernel.machine.pointer
        places = (memory.x, memory.f, memory.p, memory.watch, memory.events, memory.status, memory.done)
        self._arguments = (self.step, *map(pointer, (*places, self._rows, memory.work)))
        self._rating = tuple(map(pointer, (memory.x, memory.p, memory.f, memory.scratch)))

    def __call__(self, t: float, state: Any, inputs: Any = None) -> np.ndarray:
        functions = self._kernel.machine.functions
        if isinstance(state, (float, int)) or len(state) != self._size:
            raise self._misfit(state)
        self._x[:] = state
        if inputs is not None:
            self._set(inputs)
        functions["rates"](t, *self._rating)
        if self._pivots is not None:
            np.copysign(1.0, self._f[self._pivots], out=self._watch)
        self._status[0] = self._done[0] = 0
        functions["fixed_blocks"](1, 0, 1, 1, 2, t, *self._arguments)
        if self._status[0]:
            raise self._failure(t)
        return self._x.copy()

    def _misfit(self, state: Any) -> BadRequest:
        given = len(state) if hasattr(state, "__len__") else 1
        return BadRequest(
            f"{given} {'value is' if given == 1 else 'values are'} given for a state of {self._size}",
            where="step(t, x)",
            fix=f"in this order: {', '.join(self.state_names)}",
        )

    def _set(self, inputs: Any) -> None:
        if len(inputs) != len(self._places):
            listed = ", ".join(self.input_names) or "none"
            raise BadRequest(
                f"{len(inputs)} inputs are given, and the inputs are: {listed}", where="step(t, x, inputs)"
            )
        for place, value in zip(self._places, inputs, strict=True):
            self._p[place] = value

    def _failure(self, t: float) -> BadRequest:
        status = Status(int(self._status[0])) if self._status[0] else Status.not_finite
        outcome = ended(status, np.zeros(0))
        return BadRequest(
            f"no step from t = {t:.10g}: {outcome.value}", where="step(t, x)", fix="another state, or step"
        )

    def start(self) -> np.ndarray:
        """The state that a run would begin with: as stated, and what is left out as the program has it."""
        from holdfast.results.start.start import consistent_start

        begun = consistent_start(self.equations, None, None, self._given, self.equations.problem.run.begin)
        return np.array(begun.state[: len(self.state_names)])

    def copy(self) -> StepFunction:
        """Another function with arrays of its own, for another thread."""
        return StepFunction(self.equations, self.scheme, self.step, self.input_names, self._given)


def step_function(
    equations: Equations,
    scheme: Scheme | str | None = None,
    step: float | None = None,
    *,
    inputs: Iterable[Any] = (),
    parameters: ByName | None = None,
) -> StepFunction:
    """One step of a fixed-step scheme as a native function of time, state and inputs.

    `inputs` names parameters; or controls of the program, whose values are then put in (the plant, reactions holding)
    in place of those that hold it. Scheme and step are the problem's own where they are not given.
    """
    from holdfast.results.runs.request import request_of

    _require(equations, "step_function")
    chosen = scheme_named(equations.problem.run.scheme if scheme is None else scheme)
    if chosen.adaptive or not chosen.explicit:
        raise BadRequest(f"{chosen.name} takes no steps of one size here", where="scheme", fix='e.g. "rk4"')
    size = step if step is not None else equations.problem.run.step
    request = request_of(equations, chosen, step=size, duration=size)
    assert request.step is not None
    names = input_names(equations, inputs)
    if not set(equations.problem.program.controls) <= set(names):
        equations.require_unsampled("step_function")
    return StepFunction(equations, chosen, request.step, names, parameters or {})


def right_hand_side(equations: Equations, *, parameters: ByName | None = None) -> Any:
    """F of dx/dt = F(t, x) as a native function, for `scipy.integrate.solve_ivp` and the like."""
    _require(equations, "right_hand_side")
    equations.require_unsampled("right_hand_side")
    equations.require_one_phase("right_hand_side")
    kernel, constants = compiled(equations.field, scheme_named("euler")), parameter_vector(equations, parameters or {})

    def rates(t: float, state: Any) -> np.ndarray:
        return kernel.rates(t, state, constants)

    return rates


def _require(equations: Any, verb: str) -> None:
    if not isinstance(equations, Equations):
        raise BadRequest(f"{verb}() takes Equations, not {type(equations).__name__}", fix="hf.derive(problem) first")


def input_names(
    equations: Equations, inputs: Iterable[Any], where: str = "step_function(inputs=...)"
) -> tuple[str, ...]:
    """The names of inputs, which are parameters, or all controls."""
    known = (*equations.problem.program.controls, *equations.inputs.parameters)
    names = tuple(name_of(name) for name in inputs)
    for name in names:
        if name not in known:
            fix = did_you_mean(name, known, "inputs are controls or parameters: " + ", ".join(known))
            raise BadRequest(f"{name!r} is no input", where=where, fix=fix)
    controls = equations.problem.program.controls
    if 0 < sum(name in controls for name in names) < len(controls):
        missing = ", ".join(name for name in controls if name not in names)
        what, fix = f"of the controls, {missing} are not among the inputs", "name all controls, or none"
        raise BadRequest(what, where=where, fix=fix)
    return names


def _field(equations: Equations, names: tuple[str, ...], given: ByName) -> tuple[Field, tuple[str, ...], list[float]]:
    """What is stepped: the equations, or their plant; its states and its constants."""
    constants = parameter_vector(equations, given)
    if not set(names) & set(equations.problem.program.controls):
        return equations.field, equations.state_names, constants
    plant = plant_of(equations)
    return plant.field, plant.state_names, [*constants, *(0.0 for _ in plant.controls)]


def _place(equations: Equations, name: str) -> int:
    """Where an input stands among the constants."""
    controls = list(equations.problem.program.controls)
    if name in controls:
        return len(equations.parameter_names) + controls.index(name)
    return equations.parameter_names.index(name)
