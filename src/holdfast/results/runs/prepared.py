"""What the runs of one `Equations` have in common, found once: requests, events, kernels, and numbers by their places.

A fit or a scan calls `simulate` thousands of times with the same equations and other numbers. Whatever depends on names
and formulas alone is kept here, with the equations it belongs to; what depends on numbers is looked up by place, and
anything unusual (an expression for a value, a letter, a kept integral) goes the long way, whose words and results are
the same.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.common.collection import uncollected
from holdfast.common.memo import remembered
from holdfast.engine.code import native
from holdfast.engine.kernel import MANY_STATES, Kernel, compiled
from holdfast.equations.dynamics.sample import start_values, symbols_within
from holdfast.equations.equations import Equations
from holdfast.equations.quick import quick_field
from holdfast.equations.values import parameter_vector, state_vector
from holdfast.errors import BadRequest
from holdfast.graph.nodes import Node, ancestors
from holdfast.problem.types import ByName, StateLike
from holdfast.problem.vocabulary import name_of
from holdfast.results.judgement.check import FieldInFloats
from holdfast.results.judgement.masses import inertia_at
from holdfast.results.quantities import check_output_names
from holdfast.results.runs.event import EventWatch, watch_of
from holdfast.results.runs.job import check_size
from holdfast.results.runs.request import Request, RunOptions, request_of, resolved
from holdfast.results.start.native_way_back import native_way_back
from holdfast.results.start.start import PLAIN, FieldValues, Start, judged_start, refuse_undefined, stated_names
from holdfast.schemes.kinds.scheme import Scheme

KEPT_REQUESTS = 16  # of one `Equations`: a program asks for few different runs


@remembered
def prepared_runs(equations: Equations) -> PreparedRuns:
    """What is prepared for runs of these equations; a quantity of `output` that cannot be computed is an error."""
    check_output_names(equations)
    return PreparedRuns(equations)


@dataclass(frozen=True, eq=False)
class _OtherOrder:
    """A kernel by another order of elimination, as what judges a start: where it is in doubt, the equations say it."""

    equations: Equations
    kernel: Kernel

    def observe_one(self, t: float, state: np.ndarray, parameters: Sequence[float] = ()) -> list[float]:
        return self.kernel.observe_one(t, state, parameters)

    def values_at(
        self, nodes: tuple[Node, ...], times: np.ndarray, states: np.ndarray, parameters: Sequence[float] = ()
    ) -> np.ndarray:
        return self.kernel.values_at(nodes, times, states, parameters)

    def rates_and_margin(
        self, t: float, state: np.ndarray, parameters: Sequence[float] = ()
    ) -> tuple[np.ndarray, float]:
        rates, margin = self.kernel.rates_and_margin(t, state, parameters)
        if margin > PLAIN and np.isfinite(rates).all():
            return rates, margin
        return FieldInFloats(self.equations.field).rates_and_margin(t, state, parameters)


class PreparedRuns:
    """Requests, kernels and starts of one `Equations`. Threads may share it: each entry is put in place whole."""

    def __init__(self, equations: Equations) -> None:
        self._equations = equations
        self._requests: dict[Any, Request] = {}
        self._kernels: dict[Any, Kernel] = {}
        self._names: dict[tuple[Any, ...], frozenset[str]] = {}
        self._last_start: tuple[Any, Start] | None = None
        self._last_plain: tuple[Any, Start] | None = None  # a start as it was stated (`JudgedStart`)
        self._last_resolved: tuple[Request, Start, Request] | None = None
        self._last_stated: tuple[bytes, tuple[float, ...]] | None = None

    # ── what is asked ─────────────────────────────────────────────────────────────────────────────

    def request(self, scheme: Scheme | str | None, options: RunOptions) -> Request:
        """The request completed and judged; the same object for the same words."""
        key = _key(scheme, options)
        found = self._requests.get(key) if key is not None else None
        if found is None:
            found = request_of(self._equations, scheme, **options)
            check_size(found, self._width)
            if key is not None:
                self._requests = {**dict(list(self._requests.items())[1 - KEPT_REQUESTS :]), key: found}
        return found

    @cached_property
    def _width(self) -> int:
        """Doubles of a row."""
        return self._equations.row_width

    def watch(self, events: Mapping[str, Any] | None) -> EventWatch:
        """The events of a run on the graph."""
        return self._own_watch if events is None else watch_of(self._equations, events)

    @cached_property
    def _own_watch(self) -> EventWatch:
        return watch_of(self._equations, None)

    def kernel(self, scheme: Scheme, watch: EventWatch, project: bool, *, quick: bool = True) -> Kernel:
        """The kernel that takes the steps, under the events that end a run; back onto the program where that is asked
        for and can be done natively. `quick`: by fewer operations where there is such a way (`carried` knows it).
        """
        field = (quick_field(self._equations) if quick else None) or self._equations.field
        back = native_way_back(self._equations) if project and not scheme.adaptive else None
        if watch.terminal:
            return compiled(field, scheme, events=tuple(watch.terminal.values()), back=back)
        key = scheme, project, quick, native.available()
        found = self._kernels.get(key)
        if found is None:
            found = compiled(field, scheme, back=back)
            self._kernels = {**self._kernels, key: found}
        return found

    # ── numbers ───────────────────────────────────────────────────────────────────────────────────

    def constants(self, given: ByName | None) -> list[float]:
        """Parameters and gains in the field's order, some of them replaced."""
        if self._has_letters:
            return parameter_vector(self._equations, given or {})
        if not given:
            return list(self._stated_constants)
        found = _replaced(self._stated_constants, self._parameter_places, given, "parameters")
        return parameter_vector(self._equations, given) if found is None else found

    @cached_property
    def _has_letters(self) -> bool:
        return bool(self._equations.letters or self._equations.problem.system.open_functions)

    @cached_property
    def _stated_constants(self) -> tuple[float, ...]:
        return tuple(parameter_vector(self._equations, {}))

    @cached_property
    def _parameter_places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self._equations.parameter_names)}

    def start(
        self,
        given: StateLike | None,
        policy: str | None,
        constants: list[float],
        begin: float,
        kernel: Kernel,
        judge: FieldValues | None = None,
    ) -> Start:
        """The start of a run; that of the last one where nothing has changed. A `judge` has the kernel's own values."""
        stated, names = self.state(given, constants), self.names(given)
        key = (policy, begin, _bits(constants), _bits(stated), names)
        last = self._last_start
        if last is not None and last[0] == key:
            return last[1]
        judge, state = judge or self.judge(kernel), np.array(stated)
        program = policy, begin, _bits([constants[place] for place in self._of_program]), key[3], names
        plainly = self._last_plain
        if plainly is not None and plainly[0] == program:
            found = replace(plainly[1])  # another object, since a start is told from others by that
            refuse_undefined(self._equations, judge, state, begin, constants)
        else:
            with uncollected(len(stated) > MANY_STATES):  # sizes of deviations are a large graph by themselves
                found, plain = judged_start(self._equations, judge, state, constants, policy, begin, names)
            self._last_plain = (program, found) if plain else None
        self._last_start = key, found
        return found

    @cached_property
    def _of_program(self) -> tuple[int, ...]:
        """The places of the constants that the deviations depend on: under others, the same start deviates as much."""
        equations = self._equations
        used = set(ancestors((*equations.deviations.y, *equations.deviations.w)))
        return tuple(place for place, node in enumerate(equations.field.parameters) if node in used)

    def judge(self, kernel: Kernel) -> FieldValues:
        """What a start is judged by that a kernel runs from."""
        own = kernel.field.fingerprint == self._equations.fingerprint
        return kernel if own else _OtherOrder(self._equations, kernel)

    def with_tolerances(self, request: Request, start: Start, constants: list[float], kernel: Kernel) -> Request:
        """A request with the absolute tolerances of each state; that of the last run where nothing has changed."""
        last = self._last_resolved
        if last is not None and last[0] is request and last[1] is start:
            return last[2]  # a start is another one under other constants
        state = np.array(start.state)
        rates, _ = self.judge(kernel).rates_and_margin(request.begin, state, constants)
        inertia = inertia_at(self._equations, request.begin, start.state, constants)
        found = replace(request, absolute=resolved(self._equations, request, state, rates, inertia))
        self._last_resolved = request, start, found
        return found

    def names(self, given: StateLike | None) -> frozenset[str]:
        """The names of the start values that somebody stated."""
        if given is None or (isinstance(given, Mapping) and not given):
            return self._own_names
        key = tuple(given) if isinstance(given, Mapping) else ()
        found = self._names.get(key) if key else None
        if found is None:
            found = stated_names(self._equations, given)
            if key and all(type(name) is str for name in key):
                self._names = {**dict(list(self._names.items())[1 - KEPT_REQUESTS :]), key: found}
        return found

    @cached_property
    def _own_names(self) -> frozenset[str]:
        return stated_names(self._equations, None)

    def state(self, given: StateLike | None, constants: list[float]) -> list[float]:
        """The state (q, v, s) that is stated, with some values replaced."""
        if (given is None or isinstance(given, Mapping)) and not self._equations.problem.program.keep:
            own = self._own_state(constants)
            found = _replaced(own, self._state_places, given, "state") if given else list(own)
            if found is not None:
                return found
        return state_vector(self._equations, given, dict(zip(self._equations.parameter_names, constants, strict=True)))

    def _own_state(self, constants: list[float]) -> tuple[float, ...]:
        """What the problem states, under parameters; worked out anew where one of those it depends on has changed."""
        decisive = _bits([constants[place] for place in self._decisive])
        last = self._last_stated
        if last is not None and last[0] == decisive:
            return last[1]
        parameters = dict(zip(self._equations.parameter_names, constants, strict=True))
        values = start_values(self._equations.problem, parameters)
        found = tuple(values.get(name, 0.0) for name in self._equations.state_names)  # on the program
        self._last_stated = decisive, found
        return found

    @cached_property
    def _decisive(self) -> tuple[int, ...]:
        """The places of the parameters that start values depend on."""
        problem = self._equations.problem
        used = {name for value in problem.start.values() for name in symbols_within(value, problem.system.definitions)}
        return tuple(place for name, place in self._parameter_places.items() if name in used)

    @cached_property
    def _state_places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self._equations.state_names)}


def _bits(numbers: Sequence[float]) -> bytes:
    """What tells numbers apart that compare equal: atan2 is π at (0, -1) and -π at (-0, -1)."""
    return array("d", numbers).tobytes()


def _key(scheme: Scheme | str | None, options: RunOptions) -> Any:
    """What tells requests apart, types included; None where options cannot be compared so."""
    values = tuple(options.values())
    plain = all(value is None or type(value) in (int, float) for value in values)
    if not plain or not (scheme is None or isinstance(scheme, (Scheme, str))):
        return None
    return scheme, tuple(options), values, tuple(map(type, values))


def _replaced(own: Sequence[float], places: Mapping[str, int], given: Any, where: str) -> list[float] | None:
    """Numbers with some replaced by name; None where a name or a value is none of the plain ones."""
    if not isinstance(given, Mapping):
        return None
    found, seen = list(own), set[int]()
    for key, value in given.items():
        place = places.get(name_of(key))
        if place is None or isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        try:
            found[place] = float(value)
        except OverflowError:
            raise BadRequest(f"{name_of(key)} = {str(value)[:12]}... is beyond any double", where=where) from None
        seen.add(place)
    return found if len(seen) == len(given) else None  # a name given twice
