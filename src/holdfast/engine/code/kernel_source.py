"""All that a kernel consists of, before any target is chosen: bodies, drivers, constants, and the memory they need."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from hashlib import sha256
from typing import Any

from holdfast.common.collection import uncollected
from holdfast.common.frozen import Frozen
from holdfast.engine.code.layout import Layout
from holdfast.engine.code.returning import Text, returning
from holdfast.engine.drivers import adaptive, complex_elimination, embedded, fixed, implicit, newton, stiff
from holdfast.engine.drivers.steps import SYMPLECTIC_STEP, error_norm, explicit_step, explicit_work, interpolant
from holdfast.engine.drivers.stiff_numbers import stiff_constants, stiff_work
from holdfast.engine.emit import c, order, stages
from holdfast.engine.emit.body import CodeBody, lowered
from holdfast.engine.emit.c_writer import PREAMBLE, CWriter
from holdfast.engine.emit.code_piece import BODY_SIGNATURE
from holdfast.engine.emit.elementary import NEEDS
from holdfast.engine.emit.js import module_text
from holdfast.engine.emit.llvm import scratch_size, write_body, write_elementary
from holdfast.engine.emit.llvm_writer import LLVMWriter
from holdfast.engine.emit.python import python_functions
from holdfast.engine.emit.stages.body import StagedBody, assembled, straight
from holdfast.engine.emit.target import Signature
from holdfast.engine.emit.translate import functions_in, signatures, source_of, text_of, translate
from holdfast.errors import BadRequest
from holdfast.graph import factored, fronts, nodes, table
from holdfast.graph.arithmetics import floats
from holdfast.graph.derivatives import jacobian
from holdfast.graph.field import Field
from holdfast.graph.nodes import Node, fingerprint
from holdfast.graph.way_back import WayBack
from holdfast.schemes.kinds.collocation import Collocation
from holdfast.schemes.kinds.embedded import Embedded
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.schemes.kinds.scheme import Scheme
from holdfast.schemes.kinds.symplectic_euler import SymplecticEuler

MANY_STATES = 300  # of a system whose statements are worth a rest of Python's collector
# modules beside this one that keep its code
KEEPERS = ("kernel_source", "back_source", "compiled", "image", "layout", "link", "native", "returning")
READ_BY_BODIES = (factored, floats, fronts, nodes, table)  # what bodies make of nodes, whose own hash does not tell it


@dataclass(frozen=True, eq=False)
class KernelSource:
    """Bodies by name, functions of the driver language in order, and their constants.

    Bodies and functions are written out only when they are asked for: to find code that is kept, `name` is enough.
    """

    name: str  # tells what is computed from all else, names of quantities not included
    field: Field
    outputs: Mapping[str, Mapping[int, Node]]  # of each body, by their places in its result
    texts: tuple[Text, ...]
    constants: Mapping[str, int | float]
    own_work: int  # Reals, besides the scratch of the bodies

    @cached_property
    def bodies(self) -> dict[str, CodeBody]:
        """As statements alone, for targets that have nothing else; those with large systems are refused."""
        field = self.field
        return {
            name: body
            if isinstance(body, CodeBody)
            else lowered(self.outputs[name], field.time, field.state, field.parameters)
            for name, body in self.assembled.items()
        }

    @cached_property
    def assembled(self) -> dict[str, CodeBody | StagedBody]:
        """The bodies, in stages where large systems are solved between them."""
        field = self.field
        with uncollected(len(field.state) > MANY_STATES):
            return {
                name: assembled(nodes, field.time, field.state, field.parameters)
                for name, nodes in self.outputs.items()
            }

    @cached_property
    def sources(self) -> tuple[str, ...]:
        return tuple(text() for text in self.texts)

    @cached_property
    def layout(self) -> Layout:
        """What it takes to run it."""
        bodies = self.assembled.values()
        scratch = max(scratch_size(body) for body in bodies)
        operations = sum(len(body.statements) for body in straight(bodies))
        by_tables = sum(body.operations for body in bodies if isinstance(body, StagedBody))
        return Layout(self.constants, self.own_work + scratch, operations, by_tables)

    @property
    def work(self) -> int:
        """Reals of work space."""
        return self.layout.work

    def llvm(self, lanes: int, *, fused: bool, register: int | None = None) -> str:
        """The module as LLVM IR; `register` is how many lanes fill a register, where that is to be heeded."""
        writer = LLVMWriter(lanes, fused=fused, register=register)
        known: dict[str, Signature] = {}
        write_elementary(writer, self.assembled.values(), known)
        for name, body in self.assembled.items():
            write_body(writer, name, body, fused=fused)
            known[name] = BODY_SIGNATURE
        for source in self.sources:
            translate(source, writer, self.constants, known)
        return writer.module

    def parse(self) -> None:
        """Parse all that `llvm` will translate, so that another thread need not."""
        signatures(self.sources)
        operations = {op for body in straight(self.assembled.values()) for op, _ in body.statements}
        elementary = {source_of(function) for op in operations & set(NEEDS) for function in NEEDS[op]}
        for source in (*self.sources, *elementary):
            functions_in(source)

    def c(self) -> str:
        """The module as C99, functions called hf_NAME; `work` must hold as many doubles as the first line says."""
        writer = CWriter()
        known: dict[str, Signature] = {}
        c.write_elementary(writer, self.bodies.values(), known)
        for name, body in self.bodies.items():
            c.write_body(writer, name, body)
            known[name] = BODY_SIGNATURE
        for source in self.sources:
            translate(source, writer, self.constants, known)
        title = f"/* made by Holdfast; doubles of work space: {self.work} */\n"
        return title + PREAMBLE + "\n" + "\n".join(writer.functions)

    def js(self) -> str:
        """The module as JavaScript, functions called hf_NAME on Float64Arrays."""
        return module_text(self.bodies, self.sources, self.constants)

    @property
    def signatures(self) -> dict[str, Signature]:
        """What its functions take and give."""
        return signatures(self.sources) | dict.fromkeys(self.outputs, BODY_SIGNATURE)

    def python(self) -> dict[str, Callable[..., Any]]:
        """The module as Python functions."""
        return python_functions(self.assembled, self.sources, self.constants)

    @property
    def fingerprint(self) -> str:
        """A hash of everything that is computed, and of what writes it down."""
        return sha256(f"{emitter()}|{self.name}|{sorted(self.constants.items())}".encode()).hexdigest()


def _emitter() -> str:
    """Hash of all code generators and of what keeps their code: editing one invalidates the cache.

    Read when this module is imported, together with what it speaks of. Were it read at the first run, a process whose
    source had changed meanwhile would join drivers of one version with memory laid out by another, and keep the result
    under the key of the new one, for others to run.
    """
    digest = sha256()
    for path in emitter_files():
        digest.update(text_of(path).encode())
    return digest.hexdigest()


def emitter_files() -> list[str]:
    """The files that decide which code is made of given nodes."""
    engine = os.path.dirname(__file__)
    files = [os.path.join(engine, f"{name}.py") for name in KEEPERS] + [
        module.__file__ or "" for module in READ_BY_BODIES
    ]
    for folder in map(os.path.dirname, (c.__file__, order.__file__, stages.__file__, fixed.__file__)):
        files += [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".py")]
    return files


_EMITTER = _emitter()


def emitter() -> str:
    """What made the code, as the keys of the cache tell it."""
    return _EMITTER


def stepping(field: Field, scheme: Scheme, events: Sequence[Node] = (), back: WayBack | None = None) -> KernelSource:
    """The assembly that steps a field by a scheme, and each step back onto the program where a way is given."""
    size, width = _sizes(field)
    driver = _driver(field, scheme) if back is None else _returning_driver(field, scheme, back)
    outputs = {
        "rates": _numbered((*field.rates, *field.watched)),
        "event_values": _numbered(events),
        **driver.outputs,
    }
    constants: dict[str, int | float] = {"N": size, "WIDTH": width, "PIVOTS": len(field.pivots), "EVENTS": len(events)}
    constants |= {name: value for name, value in vars(fixed).items() if name.isupper() and isinstance(value, float)}
    constants |= {"POSITIONS": field.positions, "PARAMETERS": len(field.parameters), "SHIFT": field.shift}
    constants |= {**driver.constants, "STAGES_END": driver.work}
    common = _texts(fixed.judged, fixed.crossed)
    texts = (*common, *driver.texts, *_texts(fixed.started, fixed.start_blocks))
    further = [(*nodes, fingerprint(tuple(nodes.values()), field.inputs)) for nodes in driver.outputs.values()]
    name = f"{field.fingerprint}|{fingerprint(events, field.inputs)}|{further}|{scheme.spelled}"
    name += "" if back is None else f"|back {back.fingerprint}"
    return KernelSource(name, field, outputs, texts, constants, size + width + len(events) + driver.work)


@dataclass(frozen=True, slots=True)
class _Driver:
    """The texts of a step and of the loop round it, the Reals a step works on, and what only this scheme needs."""

    texts: tuple[Text, ...]
    work: int
    outputs: Mapping[str, Mapping[int, Node]] = Frozen()
    constants: Mapping[str, int | float] = Frozen()


def _driver(field: Field, scheme: Scheme) -> _Driver:
    """The driver of a scheme, by its kind."""
    return DRIVERS[type(scheme)](field, scheme)


def _returning_driver(field: Field, scheme: Scheme, back: WayBack) -> _Driver:
    """The same, each step followed by the way back."""
    own = _driver(field, scheme)
    more = returning(back, field, own.texts, own.work)
    return _Driver(
        more.texts, own.work + more.work, {**own.outputs, **more.outputs}, {**own.constants, **more.constants}
    )


def _sizes(field: Field) -> tuple[int, int]:
    """How many numbers a state has, and how many with all that is watched."""
    return len(field.state), len(field.state) + len(field.watched)


def _symplectic_driver(field: Field, scheme: SymplecticEuler) -> _Driver:
    """Rates first, then coordinates with the new rates."""
    if not field.positions:
        raise BadRequest(
            "symplectic Euler needs coordinates and their rates, and this field has none",
            where="scheme",
            fix="use another scheme, or say how many of the states are coordinates",
        )
    positions = _numbered(field.rates[: field.positions])
    return _Driver((lambda: SYMPLECTIC_STEP, *_fixed_loop()), len(field.state), {"position_rates": positions})


def _embedded_driver(field: Field, scheme: Embedded) -> _Driver:
    """Explicit attempts, measured by an embedded formula."""
    further = len(scheme.extra_stages)
    work = explicit_work(scheme.main.stage_count + further, *_sizes(field), field.shift)
    step = partial(explicit_step, scheme.main, further)
    measured: tuple[Text, ...] = (step, partial(error_norm, scheme), partial(interpolant, scheme))
    loop = _texts(embedded.attempt, embedded.next_step, embedded.shorter_step, adaptive.first_step, adaptive.adaptive)
    return _Driver((*measured, *loop), work, constants=_control(scheme) | _loop(scheme, 3 + len(scheme.dense)))


def _tableau_driver(field: Field, scheme: RungeKutta) -> _Driver:
    """Steps of a given length, explicit or by Newton's method."""
    if scheme.explicit:
        work = explicit_work(scheme.stage_count, *_sizes(field), field.shift)
        return _Driver((partial(explicit_step, scheme), *_fixed_loop()), work)
    return _implicit_driver(field, scheme, _fixed_loop())


def _fixed_loop() -> tuple[Text, ...]:
    return _texts(fixed.one_step, fixed.fixed, fixed.fixed_blocks)


def _implicit_driver(field: Field, scheme: RungeKutta, loop: tuple[Text, ...]) -> _Driver:
    """The step with Newton's method, which needs the partials of the field."""
    size, width = _sizes(field)
    parts = _texts(
        implicit.factorise, implicit.solve,
        implicit.largest_change, implicit.correction_size, implicit.correction_beside,
    )  # fmt: skip
    texts: tuple[Text, ...] = (*parts, partial(implicit.implicit_step, scheme), *loop)
    return _Driver(texts, implicit.implicit_work(scheme, size, width), {"partials": _partials(field)})


def _stiff_driver(field: Field, scheme: Collocation) -> _Driver:
    """Attempts by Newton's method along the poles of the scheme."""
    size, width = _sizes(field)
    texts = _texts(
        implicit.factorise,
        implicit.solve,
        complex_elimination.factorise_complex,
        complex_elimination.solve_complex,
        newton.extent,
        newton.stage_rates,
        newton.correction,
        newton.newton,
        stiff.factors,
        stiff.foretell,
        stiff.polynomial,
        stiff.take_step,
        stiff.error_size,
        stiff.between,
        stiff.measured,
        stiff.attempt,
        stiff.next_step,
        stiff.shorter_step,
        stiff.interpolant,
        adaptive.first_step,
        adaptive.adaptive,
    )
    constants = stiff_constants(scheme, size, width) | _loop(scheme, terms=3)
    return _Driver(texts, stiff_work(size, width), {"partials": _partials(field)}, constants)


DRIVERS: dict[type[Scheme], Callable[[Field, Any], _Driver]] = {
    RungeKutta: _tableau_driver,
    Embedded: _embedded_driver,
    Collocation: _stiff_driver,
    SymplecticEuler: _symplectic_driver,
}


def _partials(field: Field) -> dict[int, Node]:
    """∂F/∂x by its places, row by row, without what vanishes."""
    size = len(field.state)
    return {
        row * size + column: node
        for row, entries in enumerate(jacobian(field.rates, field.state))
        for column, node in entries.items()
    }


def _control(scheme: Embedded) -> dict[str, int | float]:
    """The constants of the step control."""
    return {
        "EXPONENT": float(scheme.exponent - Fraction(3, 4) * scheme.feedback),
        "FEEDBACK": float(scheme.feedback),
        "SAFETY": float(scheme.safety),
        "SHRINK": float(scheme.shrink),
        "GROWTH": float(scheme.growth),
    }


def _loop(scheme: Embedded | Collocation, terms: int) -> dict[str, int | float]:
    """The constants of the adaptive loop."""
    return {
        "TERMS": terms,
        "ERROR_ORDER": scheme.error_order,
        "STEP_COLLAPSED": adaptive.STEP_COLLAPSED,
        "RESOLUTION": adaptive.RESOLUTION,
        "LARGEST": adaptive.LARGEST,
    }


def observing(field: Field, outputs: Sequence[Node]) -> KernelSource:
    """The assembly that evaluates other nodes of the same inputs at many states."""
    return _at_many_states(field, outputs, fingerprint(outputs, field.inputs))


def observing_observables(field: Field) -> KernelSource:
    """The same for the field's own observables, which its fingerprint already tells, unless they came late."""
    if field.late:
        return observing(field, tuple(field.observables))
    return _at_many_states(field, field.observables, f"{field.fingerprint}|the last {len(field.observables)}")


def _at_many_states(field: Field, outputs: Sequence[Node], name: str) -> KernelSource:
    constants: dict[str, int | float] = {"N": len(field.state), "PARAMETERS": len(field.parameters)}
    return KernelSource(name, field, {"body": _numbered(outputs)}, _texts(fixed.many), constants, 1)


def _texts(*functions: Callable[..., object]) -> tuple[Text, ...]:
    return tuple(partial(source_of, function) for function in functions)


def _numbered(nodes: Sequence[Node]) -> dict[int, Node]:
    return dict(enumerate(nodes))
