"""All that a kernel consists of, before any target is chosen: bodies, drivers, constants, and the memory they need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from holdfast.engine.drivers import adaptive, fixed, implicit
from holdfast.engine.drivers.steps import SYMPLECTIC_STEP, error_norm, explicit_step, explicit_work, interpolant
from holdfast.engine.emit import c
from holdfast.engine.emit.body import Body, lowered
from holdfast.engine.emit.c_writer import PREAMBLE, CWriter
from holdfast.engine.emit.llvm import BODY_SIGNATURE, scratch_size, write_body, write_elementary
from holdfast.engine.emit.llvm_writer import LLVMWriter
from holdfast.engine.emit.python import python_body, python_functions
from holdfast.engine.emit.target import Signature
from holdfast.engine.emit.translate import signatures, source_of, translate
from holdfast.errors import BadRequest
from holdfast.graph.derivatives import jacobian
from holdfast.graph.field import Field
from holdfast.graph.nodes import Node
from holdfast.schemes.by_name import Scheme
from holdfast.schemes.embedded import Embedded
from holdfast.schemes.runge_kutta import RungeKutta
from holdfast.schemes.symplectic_euler import SymplecticEuler


@dataclass(frozen=True, eq=False)
class Assembly:
    """Bodies by name, functions of the driver language in order, their constants, and the Reals of work space."""

    bodies: dict[str, Body]
    sources: tuple[str, ...]
    constants: dict[str, int | float]
    work: int

    @property
    def operations(self) -> int:
        return sum(len(body.statements) for body in self.bodies.values())

    def llvm(self, lanes: int, *, fused: bool) -> str:
        """The module as LLVM IR."""
        writer = LLVMWriter(lanes)
        known: dict[str, Signature] = {}
        write_elementary(writer, self.bodies.values(), known)
        for name, body in self.bodies.items():
            write_body(writer, name, body, fused=fused)
            known[name] = BODY_SIGNATURE
        for source in self.sources:
            translate(source, writer, self.constants, known)
        return writer.module

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

    @property
    def signatures(self) -> dict[str, Signature]:
        """What its functions take and give."""
        return signatures(self.sources) | dict.fromkeys(self.bodies, BODY_SIGNATURE)

    def python(self) -> dict[str, Callable[..., Any]]:
        """The module as Python functions."""
        return python_functions(self.bodies, self.sources, self.constants)

    @property
    def fingerprint(self) -> str:
        """A hash of everything that is computed, names of quantities not included."""
        digest = sha256(repr((emitter(), sorted(self.constants.items()))).encode())
        for name, body in self.bodies.items():
            digest.update(python_body(name, body).encode())
        for source in self.sources:
            digest.update(source.encode())
        return digest.hexdigest()


@cache
def emitter() -> str:
    """A hash of the emitters' own text: whoever changes them also changes the keys of the cache."""
    digest = sha256()
    for file in sorted(Path(c.__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def stepping(field: Field, scheme: Scheme, events: Sequence[Node] = ()) -> Assembly:
    """The assembly that steps a field by a scheme."""
    size, pivots = len(field.state), len(field.pivots)
    width = size + pivots
    bodies = {
        "rates": _body(field, (*field.rates, *field.pivots)),
        "event_values": _body(field, events),
    }
    constants: dict[str, int | float] = {"N": size, "WIDTH": width, "PIVOTS": pivots, "EVENTS": len(events)}
    constants |= {name: value for name, value in vars(fixed).items() if name.isupper() and isinstance(value, float)}
    constants["LEAST_PIVOT"] = field.least_pivot
    constants |= {"POSITIONS": field.positions, "PARAMETERS": len(field.parameters)}
    common: tuple[Callable[..., object], ...] = (fixed.judged, fixed.remember_pivots, fixed.crossed)
    driver, work = _driver(field, scheme, bodies, constants)
    constants["STAGES_END"] = work
    sources = [*map(source_of, common), *driver, source_of(fixed.rates_blocks)]
    scratch = max(scratch_size(body) for body in bodies.values())
    return Assembly(bodies, tuple(sources), constants, size + width + len(events) + work + scratch)


def _driver(
    field: Field, scheme: Scheme, bodies: dict[str, Body], constants: dict[str, int | float]
) -> tuple[list[str], int]:
    """The sources of a step and of the loop round it, and the work space of the step.

    Bodies and constants that only this scheme needs are added.
    """
    size, width = len(field.state), len(field.state) + len(field.pivots)
    loop = [source_of(fixed.fixed), source_of(fixed.fixed_blocks)]
    if isinstance(scheme, SymplecticEuler):
        if not field.positions:
            raise BadRequest(
                "symplectic Euler needs coordinates and their rates, and this field has none",
                where="compiled(field, scheme)",
                fix="use another scheme, or say how many of the states are coordinates",
            )
        bodies["position_rates"] = _body(field, field.rates[: field.positions])
        return [SYMPLECTIC_STEP, *loop], size
    if isinstance(scheme, Embedded):
        further = len(scheme.extra_stages)
        work = explicit_work(scheme.main, size, width) + further * width
        constants |= _control(scheme) | {"TERMS": 3 + len(scheme.dense)}
        step = explicit_step(scheme.main, further)
        return [step, error_norm(scheme), interpolant(scheme), source_of(adaptive.adaptive)], work
    if scheme.explicit:
        return [explicit_step(scheme), *loop], explicit_work(scheme, size, width)
    return _implicit_driver(field, scheme, bodies, loop)


def _implicit_driver(
    field: Field, scheme: RungeKutta, bodies: dict[str, Body], loop: list[str]
) -> tuple[list[str], int]:
    """The step with Newton's method, which needs the partials of the field."""
    size, width = len(field.state), len(field.state) + len(field.pivots)
    partials = {
        row * size + column: node
        for row, entries in enumerate(jacobian(field.rates, field.state))
        for column, node in entries.items()
    }
    bodies["partials"] = lowered(partials, field.time, field.state, field.parameters)
    parts: tuple[Callable[..., object], ...] = (implicit.factorise, implicit.solve, implicit.correction_size)
    sources = [*map(source_of, parts), implicit.implicit_step(scheme), *loop]
    return sources, implicit.implicit_work(scheme, size, width)


def _control(scheme: Embedded) -> dict[str, int | float]:
    """The constants of the step control."""
    return {
        "EXPONENT": float(scheme.exponent - Fraction(3, 4) * scheme.feedback),
        "FEEDBACK": float(scheme.feedback),
        "SAFETY": float(scheme.safety),
        "SHRINK": float(scheme.shrink),
        "GROWTH": float(scheme.growth),
        "STEP_COLLAPSED": adaptive.STEP_COLLAPSED,
        "RESOLUTION": adaptive.RESOLUTION,
    }


def observing(field: Field, outputs: Sequence[Node]) -> Assembly:
    """The assembly that evaluates other nodes of the same inputs at many states."""
    body = _body(field, outputs)
    constants: dict[str, int | float] = {"N": len(field.state), "PARAMETERS": len(field.parameters)}
    return Assembly({"body": body}, (source_of(fixed.many),), constants, 1 + scratch_size(body))


def _body(field: Field, outputs: Sequence[Node]) -> Body:
    return lowered(dict(enumerate(outputs)), field.time, field.state, field.parameters)
