"""The way back onto the program by itself, without a step before it: what moves a start there."""

from __future__ import annotations

from functools import partial

from holdfast.engine.code.kernel_source import KernelSource
from holdfast.engine.code.returning import back_bodies, back_constants, back_work
from holdfast.engine.drivers import way_back
from holdfast.engine.emit.translate import source_of
from holdfast.graph.field import Field
from holdfast.graph.nodes import fingerprint
from holdfast.graph.way_back import WayBack


def going_back(field: Field, back: WayBack) -> KernelSource:
    """The assembly of `returned` alone, and of the pivots that it divides by, as `body`."""
    texts = tuple(partial(source_of, function) for function in (way_back.far, way_back.returned))
    constants: dict[str, int | float] = {"POSITIONS": field.positions, **back_constants(back, field, 0)}
    outputs = {**back_bodies(back), "body": dict(enumerate(back.watched))}
    name = f"back {back.fingerprint}|{fingerprint(back.watched, back.inputs)}"
    return KernelSource(name, field, outputs, texts, constants, back_work(back, field))
