"""Bodies in stages as LLVM IR: the eliminations between them are calls of `drivers.fronts` on constant tables."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.engine.drivers import fronts
from holdfast.engine.emit.code_piece import body_arguments
from holdfast.engine.emit.llvm_writer import LLVMWriter
from holdfast.engine.emit.stages.body import StagedBody, SystemTurn
from holdfast.engine.emit.target import Signature, Value
from holdfast.engine.emit.translate import source_of, translate

FUNCTIONS = (
    fronts.take_four, fronts.take_one, fronts.cleared, fronts.take_columns, fronts.add_update, fronts.measure,
    fronts.factorise, fronts.substitute,
)  # fmt: skip
SCRATCH = Value("pr", "%scratch")


def write_systems(writer: LLVMWriter, bodies: Iterable[StagedBody], known: dict[str, Signature]) -> None:
    """The functions and the tables of all eliminations, each written once."""
    tables = {name: table for body in bodies for name, table in body.tables.items()}
    if tables:
        for function in FUNCTIONS:
            translate(source_of(function), writer, {}, known, hint="noinline hot")
    for name, table in tables.items():
        listed = ", ".join(f"i64 {number}" for number in table.numbers)
        writer.functions.append(f"@{name} = private unnamed_addr constant [{len(table.numbers)} x i64] [{listed}]")


def stage_names(name: str, body: StagedBody) -> list[str]:
    """The functions of the stages."""
    return [f"{name}.stage{k}" for k in range(len(body.stages))]


def write_staged(writer: LLVMWriter, name: str, body: StagedBody) -> None:
    """The function that calls the stages, which are written already, and the eliminations between them."""
    writer.begin(name, body_arguments(), "", "noinline")
    t, x, p, out, _ = (Value(kind, f"%{argument}") for argument, kind in body_arguments())
    own, last = _at(writer, body.scratch_begin), len(body.turns)
    for number, stage in enumerate(stage_names(name, body)):
        read, given = x if number == 0 else SCRATCH, out if number == last else SCRATCH
        writer.call(stage, [t, read, p, given, own], "")
        for turn in body.turns[number] if number < last else ():
            _write_turn(writer, turn)
    writer.end()


def _write_turn(writer: LLVMWriter, turn: SystemTurn) -> None:
    places = [_at(writer, place) for place in (turn.reads, turn.gives, turn.work)]
    writer.call(turn.name, [Value("pi", f"@{turn.array}"), *places], "")


def _at(writer: LLVMWriter, place: int) -> Value:
    return writer.part(SCRATCH, Value("i", str(place)))
