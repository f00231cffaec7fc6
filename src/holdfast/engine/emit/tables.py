"""Functions by pieces in machine code: constant arrays, a search by halves, and Horner's rule without fused products.

So every target and every lane gives the same bits as `TablePart.at`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from holdfast.engine.emit.body import CodeBody
from holdfast.engine.emit.c_writer import CWriter
from holdfast.engine.emit.llvm_writer import LLVMWriter, hexadecimal
from holdfast.graph.table import TablePart

NAN = "0x7FF8000000000000"


def tables_of(bodies: Iterable[CodeBody]) -> dict[str, TablePart]:
    """The tables that the bodies read, by the names of their operations."""
    return {name: part for body in bodies for name, part in body.tables.items()}


def write_llvm_tables(writer: LLVMWriter, bodies: Iterable[CodeBody]) -> None:
    """Each table as `double NAME(double x)`."""
    writer.functions.extend("\n".join(_llvm(name, part)) for name, part in tables_of(bodies).items())


def _llvm(name: str, part: TablePart) -> Iterator[str]:
    ends, rows = part.table.ends, part.pieces
    count = len(rows[0])
    for array, numbers in ((f"{name}.e", ends), (f"{name}.c", tuple(c for row in rows for c in row))):
        listed = ", ".join(f"double {hexadecimal(x)}" for x in numbers)
        yield f"@{array} = private unnamed_addr constant [{len(numbers)} x double] [{listed}]"
    low, high = map(hexadecimal, part.table.reach)
    yield f"""define internal double @{name}(double %x) noinline {{
entry:
  %above = fcmp oge double %x, {low}
  %below = fcmp ole double %x, {high}
  %within = and i1 %above, %below
  br i1 %within, label %search, label %outside
outside:
  ret double {NAN}
search:
  %first = phi i64 [ 0, %entry ], [ %next, %halve ]
  %last = phi i64 [ {len(rows)}, %entry ], [ %end, %halve ]
  %length = sub i64 %last, %first
  %more = icmp sgt i64 %length, 1
  br i1 %more, label %halve, label %found
halve:
  %sum = add i64 %first, %last
  %middle = lshr i64 %sum, 1
  %place = getelementptr [{len(ends)} x double], ptr @{name}.e, i64 0, i64 %middle
  %knot = load double, ptr %place
  %right = fcmp oge double %x, %knot
  %next = select i1 %right, i64 %middle, i64 %first
  %end = select i1 %right, i64 %last, i64 %middle
  br label %search
found:
  %start = getelementptr [{len(ends)} x double], ptr @{name}.e, i64 0, i64 %first
  %begin = load double, ptr %start
  %moved = fsub double %x, %begin
  %row = mul i64 %first, {count}"""
    for k in range(count):
        yield f"  %i{k} = add i64 %row, {k}"
        yield f"  %p{k} = getelementptr [{len(rows) * count} x double], ptr @{name}.c, i64 0, i64 %i{k}"
        yield f"  %c{k} = load double, ptr %p{k}"
    value = f"%c{count - 1}"
    for k in reversed(range(count - 1)):
        yield f"  %m{k} = fmul double {value}, %moved"
        yield f"  %s{k} = fadd double %m{k}, %c{k}"
        value = f"%s{k}"
    yield f"  ret double {value}\n}}"


def llvm_table_call(writer: LLVMWriter, name: str, text: str) -> str:
    """A call lane by lane."""
    if writer.type("r") == "double":
        return writer.let(f"call double @{name}(double {text})")
    result, real = "poison", writer.type("r")
    for lane in range(writer.lanes):
        part = writer.let(f"extractelement {real} {text}, i64 {lane}")
        value = writer.let(f"call double @{name}(double {part})")
        result = writer.let(f"insertelement {real} {result}, double {value}, i64 {lane}")
    return result


def write_c_tables(writer: CWriter, bodies: Iterable[CodeBody]) -> None:
    """Each table as `double hf_NAME(double x)`."""
    for name, part in tables_of(bodies).items():
        writer.functions.append("\n".join(_c(writer, name, part)))


def _c(writer: CWriter, name: str, part: TablePart) -> Iterator[str]:
    ends, rows = part.table.ends, part.pieces
    real, literal = writer.number, writer.literal
    low, high = map(literal, part.table.reach)
    for array, numbers in (("ends", ends), ("rows", tuple(c for row in rows for c in row))):
        yield f"static const {real} {name}_{array}[] = {{{', '.join(map(literal, numbers))}}};"
    yield f"static {real} hf_{name}({real} x)\n{{"
    yield f"    long first = 0, last = {len(rows)};"
    yield f"    if (!(x >= {low} && x <= {high})) return NAN;"
    yield "    while (last - first > 1) { const long middle = (first + last) / 2;"
    yield f"        if (x >= {name}_ends[middle]) first = middle; else last = middle; }}"
    yield f"    const {real} moved = x - {name}_ends[first], *row = {name}_rows + first * {len(rows[0])};"
    yield f"    {real} value = row[{len(rows[0]) - 1}];"
    yield f"    for (int k = {len(rows[0]) - 2}; k >= 0; k--) {{ const {real} product = value * moved;"
    yield "        value = product + row[k]; }"
    yield "    return value;\n}\n"
