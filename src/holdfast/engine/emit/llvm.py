"""Bodies as LLVM IR: one function of straight-line statements, or several that hand values on through memory.

    void NAME(double t, Reals x, Reals p, Reals out, Reals scratch)

A body above the ceiling is cut into pieces of a few hundred statements, so that compile time stays linear in its size;
one of many like parts becomes loops (`rolling`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holdfast.engine.emit.body import CodeBody
from holdfast.engine.emit.code_piece import CodePiece, body_arguments, write_in_parts
from holdfast.engine.emit.elementary import CONSTANTS, LIBRARY, NEEDS
from holdfast.engine.emit.llvm_rolled import write_rolled
from holdfast.engine.emit.llvm_writer import LLVMWriter
from holdfast.engine.emit.order.few_held import ordered_for_lanes
from holdfast.engine.emit.order.staggered import separable
from holdfast.engine.emit.stages.body import StagedBody, straight
from holdfast.engine.emit.stages.llvm import stage_names, write_staged, write_systems
from holdfast.engine.emit.tables import write_llvm_tables
from holdfast.engine.emit.target import Signature, Value
from holdfast.engine.emit.translate import source_of, translate

UNROLLED_CEILING = 2_000  # above it pieces compile twice as fast, and run no slower: fewer values wait for registers
PIECE = 500
INLINED_CALLS = 64


def write_elementary(writer: LLVMWriter, given: Iterable[CodeBody | StagedBody], known: dict[str, Signature]) -> None:
    """The elementary functions, eliminations and tables that the bodies call, each written once."""
    given = list(given)
    write_systems(writer, [body for body in given if isinstance(body, StagedBody)], known)
    bodies = list(straight(given))
    write_llvm_tables(writer, bodies)
    write_functions(writer, [op for body in bodies for op, _ in body.statements], known)


def write_functions(writer: LLVMWriter, operations: Sequence[str], known: dict[str, Signature]) -> None:
    """The elementary functions that these operations call, each written once."""
    wanted = sorted(set(operations) & (set(LIBRARY) | set(NEEDS)))
    for name in sorted(LIBRARY):
        known[f"library_{name}"] = Signature(("r",) * LIBRARY[name], "r")
    for name in sorted({name for op in wanted for name in _library_calls(op)}):
        _write_library(writer, name)
    calls = sum(op in wanted for op in operations)
    hint = "alwaysinline" if calls <= INLINED_CALLS else "noinline"
    written = set()
    for op in wanted:
        for function in NEEDS.get(op, ()):
            if function not in written:
                written.add(function)
                translate(source_of(function), writer, CONSTANTS, known, hint=hint)


def _library_calls(op: str) -> tuple[str, ...]:
    if op in ("sin", "cos"):
        return ("sin", "cos")
    return {"sinh": ("sinh", "exp"), "cosh": ("cosh", "exp"), "tanh": ("exp",)}.get(op, (op,))


def _write_library(writer: LLVMWriter, name: str) -> None:
    arguments = [(letter, "r") for letter in "xy"[: LIBRARY[name]]]
    writer.begin(f"library_{name}", arguments, "r", "noinline")
    writer.give(Value("r", writer.library(name, "r", *(f"%{letter}" for letter, _ in arguments))))
    writer.end()


def scratch_size(body: CodeBody | StagedBody) -> int:
    """How many Reals a body needs for values on their way from one piece to the next, or for its loops."""
    if isinstance(body, StagedBody):
        return body.scratch_begin + max(map(scratch_size, body.stages))
    if body.rolled is not None:
        return body.rolled.size
    return len(_crossing(body.urgent_first, _pieces(body)))


def write_body(writer: LLVMWriter, name: str, body: CodeBody | StagedBody, *, fused: bool) -> None:
    """The body as a function of the module; `fused` says whether this machine has fused products."""
    if isinstance(body, StagedBody):
        for stage_name, stage in zip(stage_names(name, body), body.stages, strict=True):
            write_body(writer, stage_name, stage, fused=fused)
        write_staged(writer, name, body)
        return
    if body.rolled is not None:
        write_rolled(writer, name, body, body.rolled, fused=fused)
        return
    pieces = _pieces(body)
    body = body.urgent_first if writer.lanes == 1 or len(pieces) > 1 else ordered_for_lanes(body)
    parts = writer.lanes // writer.register
    if parts > 1 and len(pieces) == 1 and separable(body):
        write_in_parts(writer, name, body, parts, fused=fused)
        return
    crossing = _crossing(body, pieces)
    names = [name] if len(pieces) == 1 else [f"{name}.{k}" for k in range(len(pieces))]
    for number, (piece_name, (start, stop)) in enumerate(zip(names, pieces, strict=True)):
        last = number == len(pieces) - 1
        CodePiece(writer, body, crossing, fused=fused).write(piece_name, start, stop, last=last)
    if len(pieces) > 1:
        arguments = body_arguments()
        writer.begin(name, arguments, "", "noinline")
        for piece_name in names:
            writer.call(piece_name, [Value(kind, f"%{argument}") for argument, kind in arguments], "")
        writer.end()


def _pieces(body: CodeBody) -> list[tuple[int, int]]:
    count = len(body.statements)
    if count <= UNROLLED_CEILING:
        return [(0, count)]
    return [(start, min(start + PIECE, count)) for start in range(0, count, PIECE)]


def _crossing(body: CodeBody, pieces: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Slots needed in a later piece than their own, with their places in the scratch memory."""
    if len(pieces) == 1:
        return {}
    crossing: dict[int, int] = {}
    for number, (_, operands) in enumerate(body.statements):
        for operand in operands:
            if isinstance(operand, int) and operand >= body.inputs:
                own = (operand - body.inputs) // PIECE
                if own != number // PIECE and operand not in crossing:
                    crossing[operand] = len(crossing)
    return crossing
