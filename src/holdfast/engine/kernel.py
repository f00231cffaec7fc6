"""A field compiled for a scheme: numbers in, rows out.

    kernel = compiled(field, RK4)
    rows = kernel.run(state, parameters, step=0.01, steps=1000)

Parameters, start and step are inputs, so a kernel is made once and used for all of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from copy import copy
from functools import cached_property
from typing import Literal, final

import numpy as np

from holdfast.common.collection import uncollected
from holdfast.engine.code import native
from holdfast.engine.code.kernel_source import KernelSource, observing, observing_observables, stepping
from holdfast.engine.code.machine import Machine, NativeMachine, Pace, PythonMachine
from holdfast.engine.locks import TABLE
from holdfast.engine.run.adaptive import AcceptedSteps, AdaptiveRun
from holdfast.engine.run.dense import Dense, hermite
from holdfast.engine.run.events import LocatedEvent, locate
from holdfast.engine.run.fixed import Steps, Stop, case_rows, outcome, run_fixed
from holdfast.engine.run.freely import After
from holdfast.engine.run.interruption import interruptible, never
from holdfast.engine.run.memory import Memory, MemoryPlan, reals
from holdfast.engine.run.one_state import OneState, smallest_share
from holdfast.engine.run.requests import Numbers, check_adaptive, check_fixed, checked_values, event_directions
from holdfast.engine.run.rows import Rows
from holdfast.engine.run.status import Status
from holdfast.errors import BadRequest
from holdfast.graph.field import Field
from holdfast.graph.nodes import Node, fingerprint
from holdfast.graph.way_back import WayBack
from holdfast.schemes.kinds.scheme import Scheme

TargetName = Literal["native", "python"]
Tier = Literal["quick", "optimised"]

_MADE: dict[tuple[object, ...], Kernel] = {}
_KEPT = 32
MANY_STATES = 300  # from which on code is so long that a search for garbage in it takes time
SPARE = 4  # memories of runs that are kept for the next: more threads than this make their own
LARGEST_SPARE = 2**20  # bytes of one that is kept of an ensemble


def compiled(
    field: Field,
    scheme: Scheme,
    *,
    events: Sequence[Node] = (),
    back: WayBack | None = None,
    target: TargetName | None = None,
    tier: Tier | None = None,
) -> Kernel:
    """The kernel of a field and a scheme; native where LLVM is there. The last few are remembered.

    With a way `back`, each of its steps ends on the program.
    """
    chosen: TargetName = target or ("native" if native.available() else "python")
    marks = fingerprint(tuple(events), field.inputs) if events else ""
    seen = field.observables if field.late else len(field.observables)
    shape = (field.positions, len(field.rates), len(field.pivots), seen)
    key = (field.fingerprint, shape, scheme, marks, back and back.fingerprint, chosen, tier)
    with TABLE:
        found = _MADE.get(key)
        if found is not None and found.field is not field and found.field.inputs != field.inputs:
            _MADE[key] = found = found.of(field, tuple(events), back)
    if found is not None:
        return found
    with uncollected(len(field.state) > MANY_STATES):  # others may go on meanwhile
        made = Kernel(field, scheme, events=tuple(events), back=back, target=chosen, tier=tier)
    with TABLE:
        while len(_MADE) >= _KEPT:
            del _MADE[next(iter(_MADE))]
        return _MADE.setdefault(key, made)


@final
class Kernel:
    """Compiled code for one field and one scheme."""

    def __init__(
        self,
        field: Field,
        scheme: Scheme,
        *,
        events: tuple[Node, ...],
        target: TargetName,
        tier: Tier | None,
        back: WayBack | None = None,
    ) -> None:
        self.field, self.scheme, self.events, self.target, self.tier = field, scheme, events, target, tier
        self.back = back
        self.assembly: KernelSource = stepping(field, scheme, events, back)
        self.machine: Machine = self._machine_for(self.assembly)
        self._lanes: dict[int, Machine] = {1: self.machine}
        self._spare = deque[Memory](maxlen=SPARE)  # of runs that are over; each is used by one run at a time
        self._spare_blocks = deque[Memory](maxlen=SPARE)  # of groups of cases that are over

    def of(self, field: Field, events: tuple[Node, ...], back: WayBack | None) -> Kernel:
        """The same code for an equal field on another graph: what is asked of it later are nodes of that graph."""
        other = copy(self)
        other.field, other.events, other.back = field, events, back
        other.__dict__.pop("_further", None)
        return other

    def _machine_for(self, assembly: KernelSource, lanes: int = 1) -> Machine:
        if self.target == "python":
            return PythonMachine(assembly)
        with uncollected(len(self.field.state) > MANY_STATES):
            return NativeMachine(assembly, lanes, tier=self.tier)

    @property
    def in_lanes(self) -> bool:
        """Whether cases can go side by side: implicit steps differ in their iterations, and Python has no lanes."""
        return self.target == "native" and self.scheme.explicit

    def lanes(self, count: int) -> Machine:
        """The machine that runs this many cases side by side; made once."""
        if count & (count - 1):  # of other numbers, vectors fill less of memory than lies between them
            raise BadRequest(f"lanes = {count}", where="lanes", fix="a power of two: 1, 2, 4, 8 or 16")
        if count != 1 and not self.in_lanes:
            raise BadRequest(f"{self.scheme.name} cannot run {count} cases side by side here", fix="use one lane")
        if count not in self._lanes:
            self._lanes.setdefault(count, self._machine_for(self.assembly, count))
        return self._lanes[count]

    @cached_property
    def cost(self) -> float:
        """Operations of one step, roughly."""
        layout = self.machine.layout
        return self.scheme.stage_count * (layout.operations + layout.by_tables + 4.0 * len(self.field.state))

    # ── runs ──────────────────────────────────────────────────────────────────────────────────────

    def run(
        self,
        state: Numbers,
        parameters: Numbers = (),
        *,
        t0: float = 0.0,
        step: float,
        steps: int,
        every: int = 1,
        directions: Sequence[int] | None = None,
        after: After | None = None,
        stop: Stop | None = None,
    ) -> Rows:
        """Take `steps` steps and keep every `every`-th; `stop(steps_done)` is asked between chunks and may end it.

        `directions` says for each event whether it counts when rising (1), falling (-1) or both (0). `after(t, state)`
        gives the state to go on with after each step (a projection, say); a call of Python for each, so it is slow,
        unless the kernel has a way back of its own: then it is asked only where that has failed.
        """
        check_fixed(self.scheme, step, steps, every)
        memory = self.memory(state, parameters, t0, directions)
        self.machine.expect(self.cost * steps)
        rows = self._section(memory, Steps(t0, step, steps, every), parameters, after, stop)
        self.give_back(memory)
        return rows

    def sections(
        self, state: Numbers, parameters: Numbers, steps: Steps, rows: int, *,
        directions: Sequence[int] | None = None, after: After | None = None, stop: Stop | None = None,
    ) -> Iterator[Rows]:  # fmt: skip
        """The same run, so many rows at a time: each section but the first begins with the last row of the one before.

        The steps are those of `run`, to the last bit, and the memory of one section is all that is held.
        """
        check_fixed(self.scheme, steps.step, steps.count, steps.every)
        memory = self.memory(state, parameters, steps.t0, directions)
        self.machine.expect(self.cost * steps.count)
        for first in range(0, max(1, steps.count), rows * steps.every):
            last = min(steps.count, first + rows * steps.every)
            part = Steps(steps.t0, steps.step, last, steps.every, first)
            found = self._section(memory, part, parameters, after, stop)
            yield found
            if found.status != Status.completed:
                return

    def _section(
        self, memory: Memory, wanted: Steps, parameters: Numbers, after: After | None, stop: Stop | None
    ) -> Rows:
        """The rows from where a run is to the last step wanted."""
        t0, step, steps = wanted.t0, wanted.step, wanted.count - wanted.first
        pace = Pace(self.cost)
        short = (after is None or self.back is not None) and steps <= pace.count
        with nullcontext(never) if short else interruptible() as pressed:
            ends = lambda done: pressed() or (stop is not None and stop(done))  # noqa: E731
            kept = run_fixed(self.machine, memory, wanted, pace=pace, stop=ends, after=after)
        times, states = case_rows(kept, memory, wanted)
        status, reached, event = outcome(memory, wanted), int(memory.done[0, 0]), None
        if status == Status.completed and pressed():
            status = Status.interrupted  # in its last chunk: a caller that runs many must hear of it
        if status == Status.event:
            event = locate(self.machine, memory, t0 + reached * step, step)
            times, states = np.append(times, event.time), np.vstack([states, event.state])
        return Rows(
            times=times,
            states=states,
            observed=self._observed(times, states, parameters),
            pivots=memory.pivot_margins()[0, :, 0],
            status=status,
            steps=reached - wanted.first,
            evaluations=self._evaluations(memory, reached - wanted.first),
            event=None if event is None else event.number,
        )

    def _evaluations(self, memory: Memory, taken: int) -> int:
        """Of F, in a fixed-step run: a known number in each step, or what the implicit steps have counted."""
        if self._explicit:
            return 1 + taken * self.scheme.stage_count
        return 1 + taken + int(memory.rest[0, 0])

    @cached_property
    def _explicit(self) -> bool:
        return self.scheme.explicit

    def run_adaptive(
        self,
        state: Numbers,
        parameters: Numbers = (),
        *,
        t0: float = 0.0,
        duration: float,
        relative: float = 1e-8,
        absolute: float | np.ndarray = 1e-10,
        at: Numbers | None = None,
        dense: bool = True,
        longest: float = np.inf,
        directions: Sequence[int] | None = None,
        stop: Callable[[float], bool | None] | None = None,
    ) -> Rows:
        """Run for `duration` within the tolerances; rows are the accepted steps, or the times of `at`.

        `absolute` is one tolerance or one for each state, `longest` the longest step. `dense` keeps the interpolants,
        unless `at` picks rows. `stop(time)` is asked between chunks.
        """
        wanted = check_adaptive(self.scheme, t0, duration, relative, absolute, at)
        memory = self.memory(state, parameters, t0, directions)
        run = AdaptiveRun.begun(
            self.machine, memory, t0, duration, relative, absolute, longest,
            interpolants=dense or wanted is not None, cost=self.cost,
        )  # fmt: skip
        gathered, pressed = AcceptedSteps(), never
        if wanted is None or (len(wanted) and wanted[0] == t0):
            gathered.add(np.array([t0]), memory.state[None].copy())
        if run.under_way:
            run.chunk(run.short, gathered, wanted)
        if run.under_way and not (stop is not None and stop(run.time)):
            with interruptible() as pressed:
                run.go(gathered, wanted, lambda time: pressed() or (stop is not None and stop(time)))
        status, event = run.status, None
        if status == Status.completed and pressed():
            status = Status.interrupted
        if status == Status.event:
            event = locate(self.machine, memory, run.time, run.step)
            last = self._last_piece(memory, event, run.time) if dense and wanted is None else None
            gathered.add(np.array([event.time]), event.state[None], last)
        times, states = gathered.together(memory.size)
        rows = Rows(
            times=times,
            states=states,
            observed=self._observed(times, states, parameters),
            pivots=memory.pivot_margins()[0, :, 0],
            status=status,
            steps=run.accepted,
            evaluations=run.evaluations(self.scheme),
            rejected=run.rejected,
            event=None if event is None else event.number,
            dense=gathered.dense(times, states) if dense and wanted is None else None,
        )
        self.give_back(memory)
        return rows

    def _last_piece(self, memory: Memory, event: LocatedEvent, t: float) -> np.ndarray:
        """The interpolant of the part of a step before an event: its own, or a cubic filled up with zeros."""
        constants = self.machine.layout.constants
        if "AT_NEW_Q" in constants:  # a scheme that has one
            place = int(constants["AT_NEW_Q"])
            return memory.rest[place : place + 3 * memory.size, 0].reshape(1, 3, memory.size)
        times, states = np.array([t, event.time]), np.vstack([memory.state, event.state])
        cubic = hermite(times, states, self.rates_at(times, states, memory.p[0, :, 0])).coefficients
        terms = int(constants["TERMS"])
        return np.concatenate([cubic, np.zeros((1, terms - 3, memory.size))], axis=1)

    def memory(self, state: Numbers, parameters: Numbers, t0: float, directions: Sequence[int] | None) -> Memory:
        """The arrays of a run of one case, at its start."""
        x, p = checked_values(self.field, state, parameters)
        memory = self.spare_memory().renewed(x, p)
        memory.begin(self.machine, t0, event_directions(self.events, directions) if self.events or directions else None)
        return memory

    def spare_memory(self) -> Memory:
        """A memory of one case that no run uses; whatever is in it."""
        try:
            return self._spare.pop()
        except IndexError:
            state, parameters = np.zeros((1, len(self.field.state), 1)), np.zeros((1, len(self.field.parameters), 1))
            return Memory(self.machine.layout, state, parameters, self.plan)

    def give_back(self, memory: Memory) -> None:
        """A memory for the next run: what was in it has been copied."""
        self._spare.append(memory)

    def memory_of_blocks(self, states: np.ndarray, parameters: np.ndarray) -> Memory:
        """The memory of blocks of lanes at their start, (blocks, quantities, lanes): of an ensemble that is over, where
        it fits. What is new must be fetched from the system page by page, each of which takes as long as some steps do.
        """
        for memory in tuple(self._spare_blocks):
            if memory.x.shape == states.shape:
                with suppress(ValueError):  # another thread has taken it meanwhile
                    self._spare_blocks.remove(memory)
                    return memory.restarted(states, parameters)
        return Memory(self.machine.layout, states, parameters)

    def give_back_blocks(self, spare: Iterable[Memory]) -> None:
        """The same for blocks of lanes, of which large ones are not kept."""
        self._spare_blocks.extend(memory for memory in spare if memory.block.nbytes <= LARGEST_SPARE)

    @cached_property
    def plan(self) -> MemoryPlan:
        """The memory of one case."""
        return MemoryPlan.of(self.machine.layout, 1, len(self.field.parameters), 1)

    # ── values at given states ────────────────────────────────────────────────────────────────────

    def rates(self, t: float, state: Numbers, parameters: Numbers = ()) -> np.ndarray:
        """F(x, p, t)."""
        return self.rates_and_margin(t, state, parameters)[0]

    def rates_and_margin(self, t: float, state: Numbers, parameters: Numbers = ()) -> tuple[np.ndarray, float]:
        """F(x, p, t), and the smallest pivot beside its scale: 1 where nothing had to be eliminated, 0 without rank."""
        x, p = checked_values(self.field, state, parameters)
        found, size = self._one_state(self.machine, "rates", self.plan.width)(float(t), x, p), len(x)
        return np.array(found[:size]), smallest_share(found[size:])

    def memory_and_margin(self, t: float, state: Numbers, parameters: Numbers = ()) -> tuple[Memory, float]:
        """The memory of a run of one case at its start, where its rates are, and the margin (`rates_and_margin`)
        there; of numbers that were checked.
        """
        memory = self.spare_memory().renewed(state, parameters)
        memory.begin(self.machine, t, None)
        return memory, smallest_share(memory.pivots_and_scales.tolist())

    def _one_state(self, machine: Machine, body: str, width: int) -> OneState:
        """Evaluates a body at single states; made once."""
        key = id(machine), body
        if key not in self._at_single:
            made = OneState(machine, body, len(self.field.state), len(self.field.parameters), width)
            self._at_single.setdefault(key, made)
        return self._at_single[key]

    @cached_property
    def _at_single(self) -> dict[tuple[int, str], OneState]:
        return {}

    def rates_at(self, times: np.ndarray, states: np.ndarray, parameters: Numbers = ()) -> np.ndarray:
        """F at each row, (rows, states)."""
        return self._at_rows(self._rating, len(self.field.rates), times, states, np.asarray(parameters, float))

    def observe(self, times: np.ndarray, states: np.ndarray, parameters: Numbers = ()) -> np.ndarray:
        """The observables at each row, (rows, observables)."""
        width = len(self.field.observables)
        if not width:
            return np.zeros((len(times), 0))
        return self._at_rows(self._observing, width, times, states, np.asarray(parameters, float))

    def observe_one(self, t: float, state: Numbers, parameters: Numbers = ()) -> list[float]:
        """The observables at one state."""
        width = len(self.field.observables)
        return self._one_state(self._observing, "body", width)(float(t), state, parameters) if width else []

    def _observed(self, times: np.ndarray, states: np.ndarray, parameters: Numbers) -> Callable[[], np.ndarray]:
        """What computes the observables of these rows, once somebody asks; the parameters are those of now."""
        values = np.array(parameters, float)
        return lambda: self.observe(times, states, values)

    def observe_cases(self, times: np.ndarray, states: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """Observables of cases with parameters of their own: (cases, rows, observables) of (cases, rows, states)."""
        shape = (*states.shape[:2], len(self.field.observables))
        if 0 in shape:
            return np.zeros(shape)
        rows = states.reshape(-1, states.shape[2])
        return self._at_rows(self._observing, shape[2], times, rows, parameters).reshape(shape)

    def values_at(
        self, nodes: tuple[Node, ...], times: np.ndarray, states: np.ndarray, parameters: Numbers = ()
    ) -> np.ndarray:
        """Functions on the graph at each row, (rows, nodes)."""
        if nodes not in self._further:
            self._further.setdefault(nodes, self._machine_for(observing(self.field, nodes)))
        return self._at_rows(self._further[nodes], len(nodes), times, states, np.asarray(parameters, float))

    @cached_property
    def _further(self) -> dict[tuple[Node, ...], Machine]:
        return {}

    @cached_property
    def _observing(self) -> Machine:
        return self._machine_for(observing_observables(self.field))

    @cached_property
    def _rating(self) -> Machine:
        return self._machine_for(observing(self.field, self.field.rates))

    def _at_rows(
        self, machine: Machine, width: int, times: np.ndarray, states: np.ndarray, parameters: np.ndarray
    ) -> np.ndarray:
        if len(times) == len(states) == 1 and parameters.ndim == 1:
            return np.array([self._one_state(machine, "body", width)(float(times[0]), states[0], parameters)])
        t, x = np.ascontiguousarray(times, float), np.ascontiguousarray(states, float)
        p, out, work = np.ascontiguousarray(parameters), np.empty((len(x), width)), reals(machine.layout.work)
        operations = machine.layout.operations
        machine.expect(float(operations) * len(x))
        if len(x) != len(t):  # several cases
            machine.call("many", len(x), len(t), width, t, x, p, out, work)
            return out
        chunk = Pace(operations).count
        for first in range(0, len(x), chunk):
            count = min(chunk, len(x) - first)
            machine.call("many", count, count, width, t[first:], x[first:], p, out[first:], work)
        return out

    def dense(self, rows: Rows, parameters: Numbers = ()) -> Dense:
        """The states between the rows: the scheme's own interpolant, or cubics through the rows of a fixed-step run."""
        if rows.dense is not None:
            return rows.dense
        return hermite(rows.times, rows.states, self.rates_at(rows.times, rows.states, parameters))
