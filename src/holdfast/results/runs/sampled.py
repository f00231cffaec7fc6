"""A plant under a computer: controls are computed from what was measured, and held until the next sample.

    u_k = controls of the law at t_k and x(t_k − delay) + noise,      u = u_k  for  t_k ≤ t < t_k + T

Between samples the plant moves by the scheme, with the held controls as constants. What the controller computes is what
the equations say with its model's numbers, at the measured state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from holdfast.engine.kernel import Kernel
from holdfast.engine.run.rows import Rows
from holdfast.engine.run.status import Status
from holdfast.equations.equations import Equations
from holdfast.equations.solving.applied import Applied
from holdfast.errors import BadRequest
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.nodes import Node
from holdfast.problem.controller import HELD, Sampling
from holdfast.results.runs.request import Request, fitted_step

WHOLE = 1e-6  # of a step: a period or a delay this near to a whole number of steps is one
TOLD = 256  # samples between two looks at who waits


def sampled_request(request: Request, sampling: Sampling) -> Request:
    """The request with a step of which a sample takes a whole number: the one asked for, or a little less."""
    if request.step is None:
        raise BadRequest(
            "controls that are held between samples need a fixed step",
            where="program.sampling",
            fix='choose a scheme with a fixed step, e.g. scheme="rk4"',
        )
    step = fitted_step(sampling.step, min(request.step, sampling.step))
    steps = round(request.duration / step)
    if abs(steps * step - request.duration) > WHOLE * step:
        raise BadRequest(
            f"a duration of {request.duration:g} is not a whole number of samples of {sampling.step:g}",
            where="duration",
            fix="choose a duration that is one",
        )
    delay = sampling.delay / step
    if abs(delay - round(delay)) > WHOLE:
        raise BadRequest(
            f"a delay of {sampling.delay:g} is not a whole number of steps of {step:g}",
            where="program.sampling.delay",
            fix="choose a shorter step, or another delay",
        )
    return replace(request, step=step, steps=steps)


@dataclass(frozen=True, eq=False)
class SampledRun:
    """One run of a plant under its computer."""

    equations: Equations
    kernel: Kernel
    request: Request  # as `sampled_request` gives it
    constants: list[float]
    every: int
    told: Callable[[float], bool]

    def rows(self, start: Sequence[float]) -> Rows:
        """The motion, every row under the controls that act from there on."""
        step, steps = self._step, self.request.steps
        states = np.empty((steps + 1, len(start)))
        held = np.empty((self._samples, len(self._places)))
        states[0], status, done, evaluations = start, Status.completed, 0, 0
        pivots = np.zeros(0)
        for k in range(self._samples):
            time = self._time(done)
            held[k] = self._within_rates(self._controls(k, time, states, done), held[k - 1] if k else None)
            count = min(self._per_sample, steps - done)
            made = self.kernel.run(states[done], self._with(held[k]), t0=time, step=step, steps=count)
            good = len(made.times) - 1
            states[done + 1 : done + 1 + good] = made.states[1:]
            done, evaluations, pivots, status = done + good, evaluations + made.evaluations, made.pivots, made.status
            if status is not Status.completed:
                break
            if k % TOLD == 0 and self.told(time):
                status = Status.interrupted
                break
        return self._kept(states[: done + 1], held, status, evaluations, pivots)

    # ── what is measured, and what follows from it ────────────────────────────────────────────────

    def _controls(self, k: int, time: float, states: np.ndarray, done: int) -> np.ndarray:
        """The controls of the k-th sample."""
        measured = states[max(0, done - self._delay)] + self._noise[k]
        if not np.isfinite(measured).all():
            return np.full(len(self._places), np.nan)
        found = self.kernel.values_at(self._command, np.array([time]), measured[None], self.constants)
        return np.asarray(found[0])

    def _within_rates(self, wanted: np.ndarray, before: np.ndarray | None) -> np.ndarray:
        """What the actuators can reach within a sample."""
        wanted = np.clip(wanted, *self._ends)  # a rate is that of what acts, not of what is asked for in vain
        if before is None or not self._sampling.rates:
            return wanted
        controls = self.equations.problem.program.controls
        most = np.array([self._sampling.rates.get(name, np.inf) for name in controls]) * self._sampling.step
        return np.clip(wanted, before - most, before + most)

    @cached_property
    def _ends(self) -> np.ndarray:
        """The limits of the controls: the low ones, and the high ones."""
        walk, limits = self.equations.inputs.walk, self.equations.problem.program.limits
        found = np.array([[-np.inf], [np.inf]]) * np.ones(len(self._places))
        for k, name in enumerate(self.equations.problem.program.controls):
            for end, value in enumerate(limits.get(name, (None, None))):
                if value is not None:
                    tape = Tape(self.equations.field.inputs, (walk(value),))
                    found[end, k] = tape([0.0] * (1 + len(self.equations.state_names)) + list(self.constants))[0]
        return found

    @cached_property
    def _command(self) -> tuple[Node, ...]:
        solution = self.equations.solution
        assert isinstance(solution, Applied)
        return tuple(solution.command.values())

    @cached_property
    def _noise(self) -> np.ndarray:
        """What is added to each measurement: the same for the same seed, whatever the step."""
        names, sizes = self.equations.state_names, self._sampling.noise
        shape = (self._samples, len(names))
        if not any(sizes.values()):
            return np.zeros(shape)
        drawn = np.random.default_rng(self._sampling.seed).standard_normal(shape)
        return drawn * np.array([sizes.get(name, 0.0) for name in names])

    # ── bookkeeping ───────────────────────────────────────────────────────────────────────────────

    @property
    def _sampling(self) -> Sampling:
        found = self.equations.problem.program.sampling
        assert found is not None
        return found

    @property
    def _step(self) -> float:
        assert self.request.step is not None
        return self.request.step

    @cached_property
    def _per_sample(self) -> int:
        return round(self._sampling.step / self._step)

    @cached_property
    def _samples(self) -> int:
        return -(-self.request.steps // self._per_sample)

    @cached_property
    def _delay(self) -> int:
        return round(self._sampling.delay / self._step)

    def _time(self, done: int) -> float:
        return self.request.begin + done * self._step

    @cached_property
    def _places(self) -> list[int]:
        names = self.equations.parameter_names
        return [names.index(f"{name}{HELD}") for name in self.equations.problem.program.controls]

    def _with(self, held: np.ndarray) -> list[float]:
        constants = list(self.constants)
        for place, value in zip(self._places, held.tolist(), strict=True):
            constants[place] = value
        return constants

    def _kept(self, states: np.ndarray, held: np.ndarray, status: Status, evaluations: int, pivots: np.ndarray) -> Rows:
        """Every n-th row and the last, with what is observed there under the controls that act."""
        last = len(states) - 1
        chosen = np.unique([*range(0, len(states), self.every), last])
        samples = np.minimum(chosen // self._per_sample, len(held) - 1)
        constants = np.tile(np.array(self.constants), (len(chosen), 1))
        constants[:, self._places] = held[samples]
        times = self.request.begin + chosen * self._step
        seen = [self.kernel.observe(times[i : i + 1], states[c][None], constants[i])[0] for i, c in enumerate(chosen)]
        return Rows(times, states[chosen].copy(), np.array(seen), pivots, status, last, evaluations)
