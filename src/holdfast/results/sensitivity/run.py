"""A run with its derivative: what is asked, the start with its slopes, and the rows of the augmented field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.engine.kernel import Kernel, compiled
from holdfast.engine.run.rows import Rows
from holdfast.equations.equations import Equations
from holdfast.equations.values import settled
from holdfast.errors import BadRequest
from holdfast.results.judgement.masses import inertia_at
from holdfast.results.runs.event import watch_of
from holdfast.results.runs.kernel_call import KernelCall
from holdfast.results.runs.prepared import prepared_runs
from holdfast.results.runs.request import Request, resolved
from holdfast.results.sensitivity.augmented import Augmented, augmented
from holdfast.results.sensitivity.directions import Directions
from holdfast.results.sensitivity.jumps import Switches
from holdfast.results.sensitivity.passages import refuse_passages
from holdfast.results.sensitivity.start_slopes import StartSlopes, stated_start
from holdfast.results.start.start import Start, started

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class DifferentiatedRun:
    """What does not change while parameters and starts do: equations, request, directions, quantities, policy.

    `given` is a start over the problem's own, `policy` how it is put on the program, as `simulate` takes them.
    """

    equations: Equations
    request: Request
    directions: Directions
    of: tuple[Any, ...]
    given: Any = None
    policy: str | None = None

    def __post_init__(self) -> None:
        if self.equations.problem.phases:
            raise BadRequest(
                "a run through phases is not differentiated: the times at which they change move with what is varied",
                where="phases",
                fix="differentiate a phase: hf.phase_equations(equations)[NAME]",
            )

    @cached_property
    def augmented(self) -> Augmented:
        return augmented(self.equations, self.directions, self.of)

    @cached_property
    def kernel(self) -> Kernel:
        return compiled(self.augmented.field, self.request.scheme)

    @cached_property
    def plain(self) -> Kernel:
        return compiled(self.equations.field, self.request.scheme)

    @cached_property
    def switches(self) -> Switches:
        return Switches(self.equations, self.directions)

    @cached_property
    def _slopes(self) -> StartSlopes:
        stated = stated_start(self.equations, self.given, self.directions.starts)
        return StartSlopes(self.equations, self.directions, stated, self.policy)

    def start(self, parameters: Mapping[str, Any], starts: Mapping[str, float]) -> tuple[Start, Array, list[float]]:
        """The start with some parameters and start values replaced; its slopes; and the constants."""
        equations, begin = self.equations, self.request.begin
        prepared = prepared_runs(equations)
        constants = prepared.constants(parameters)
        given = {**dict(self.given or {}), **starts} if starts else self.given
        stated = np.array(prepared.state(given, constants))
        varied = {equations.state_names[k] for k in self.directions.starts if k is not None}
        names = prepared.names(given)
        self._refuse_followers(varied - names, stated, constants, names)
        names |= varied
        found = started(equations, self.plain, stated, constants, self.policy, begin, names)
        stated = np.array(settled(equations, stated.tolist(), constants, begin, names))
        return found, self._slopes.of(found, stated, begin, constants), constants

    def _refuse_followers(self, open_: set[str], stated: Array, constants: list[float], names: frozenset[str]) -> None:
        """A start value that is left out and follows from the program cannot be varied."""
        if not open_:
            return
        plain = started(self.equations, self.plain, stated, constants, self.policy, self.request.begin, names)
        for name in open_ & set(plain.found):
            raise BadRequest(
                f"the start of {name!r} follows from the program, and cannot be varied",
                where="start",
                fix="state it, and leave out another that may follow in its place",
            )

    def rows(self, start: Start, slopes: Array, constants: Sequence[float], every: int) -> Rows:
        """The rows of the augmented field."""
        request, whole = self.request, self.augmented.joined(np.array(start.state), slopes)
        if request.step is None:
            request = replace(request, absolute=self._tolerances(start, slopes, constants))
        return KernelCall(request, every, list(constants), []).run(self.kernel, whole)

    def refuse_events(self, start: Start, constants: Sequence[float]) -> None:
        """An error where an event of the problem ends the run: its time moves with what is varied."""
        watch = watch_of(self.equations, None)
        if not watch.terminal:
            return
        request = self.request
        if request.step is None:
            request = replace(request, absolute=self._own_tolerances(start, constants))
        kernel = compiled(self.equations.field, request.scheme, events=tuple(watch.terminal.values()))
        directions = [watch.directions[name] for name in watch.terminal]
        rows = KernelCall(request, request.every, list(constants), directions).run(kernel, np.array(start.state))
        if rows.event is not None:
            raise BadRequest(
                f"the run ends at the event {list(watch.terminal)[rows.event]!r}, at t = {rows.times[-1]:.6g}, and the "
                "time of an event moves with what is varied",
                where="events",
                fix="end before it, or leave the event out",
            )

    def refuse_jumps(self, start: Start, constants: Sequence[float]) -> None:
        """An error where the rates jump along the motion, or constraints become dependent; a run of its own, with every
        step kept, where they may.
        """
        repeats = self.equations.solver.form == "redundant"
        if not self.switches.nodes and not repeats:
            return
        request = self.request
        if request.step is None:
            request = replace(request, absolute=self._own_tolerances(start, constants))
        rows = KernelCall(request, 1, list(constants), []).run(self.plain, np.array(start.state))
        if repeats:
            refuse_passages(self.equations, rows, constants)
        self.switches.refuse_jumps(rows.times, rows.states, constants)

    def _own_tolerances(self, start: Start, constants: Sequence[float]) -> Array:
        """The absolute tolerance of each state."""
        equations, request, state = self.equations, self.request, np.array(start.state)
        rates = self.plain.rates(request.begin, state, constants)
        inertia = inertia_at(equations, request.begin, start.state, list(constants))
        own = resolved(equations, request, state, rates, inertia)
        return np.broadcast_to(np.asarray(own, float), state.shape).copy()

    def _tolerances(self, start: Start, slopes: Array, constants: Sequence[float]) -> Array:
        """Of each state, and of each slope: what a change of the varied quantity by its own size makes of the state.

        Where that size is 0, the slope's own at the start and after a hundredth of the run takes its place.
        """
        own, tolerance, form = self._own_tolerances(start, constants), self.request.tolerance, self.augmented
        assert tolerance is not None
        whole = form.joined(np.array(start.state), slopes)
        moving = self.kernel.rates(self.request.begin, whole, constants)[form.slopes] * self.request.longest
        found = np.empty_like(slopes)
        for j, (constant, place) in enumerate(zip(self.directions.constants, self.directions.starts, strict=True)):
            size = abs(constants[constant]) if constant is not None else own[place] / tolerance
            seen = np.fmax(np.abs(slopes[j]), np.abs(moving[j]))
            sizes = own / size if size > 0 else tolerance * np.where(seen > 0, seen, own / tolerance)
            found[j] = np.where(np.isfinite(sizes) & (sizes > 0), sizes, np.finfo(float).tiny)
        return form.joined(own, found)
