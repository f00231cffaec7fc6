"""Bodies and kernels as JavaScript: for pages that run what they show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from holdfast.engine.emit.body import CodeBody, Operand
from holdfast.engine.emit.js_writer import JSWriter, literal
from holdfast.engine.emit.tables import tables_of
from holdfast.engine.emit.target import Signature
from holdfast.engine.emit.translate import translate
from holdfast.graph.table import TablePart

BODY = Signature(("d", "pr", "pr", "pr", "pr"), "")
FORMS = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "div": "{} / {}",
    "neg": "-{}",
    "fma": "{} * {} + {}",
    "fms": "{} * {} - {}",
    "fnma": "{2} - {0} * {1}",
    "select": "({0} > 0 ? {1} : {2})",
}


def module_text(bodies: Mapping[str, CodeBody], sources: Sequence[str], constants: Mapping[str, int | float]) -> str:
    """Functions hf_NAME of all bodies and drivers, and the tables they read."""
    writer, known = JSWriter(), dict.fromkeys(bodies, BODY)
    write_tables(writer, bodies.values())
    for name, body in bodies.items():
        write_body(writer, name, body)
    for source in sources:
        translate(source, writer, constants, known)
    return "\n".join(writer.functions)


def write_body(writer: JSWriter, name: str, body: CodeBody) -> None:
    """The body as a function hf_NAME(t, x, p, out)."""

    def text(operand: Operand) -> str:
        if isinstance(operand, float):
            return literal(operand)
        if operand == 0:
            return "t"
        if operand <= body.states:
            return f"x[{operand - 1}]"
        return f"p[{operand - 1 - body.states}]" if operand < body.inputs else f"s{operand}"

    lines = [f"function hf_{name}(t, x, p, out) {{"]
    for number, (op, operands) in enumerate(body.statements, start=body.inputs):
        texts = [text(operand) for operand in operands]
        if op in body.tables:
            value = f"hf_{op}({texts[0]})"
        else:
            form = FORMS.get(op) or f"Math.{op}(" + ", ".join(["{}"] * len(texts)) + ")"
            value = form.format(*texts)
        lines.append(f"  const s{number} = {value};")
    lines += [f"  out[{place}] = {text(operand)};" for place, operand in body.outputs]
    writer.functions.append("\n".join([*lines, "}\n"]))


def write_tables(writer: JSWriter, bodies: Iterable[CodeBody]) -> None:
    """Each table as hf_NAME(x)."""
    for name, part in tables_of(bodies).items():
        writer.functions.append(_table(name, part))


def _table(name: str, part: TablePart) -> str:
    rows, (low, high) = part.pieces, map(literal, part.table.reach)
    ends = ", ".join(map(literal, part.table.ends))
    listed = ", ".join(literal(entry) for row in rows for entry in row)
    count = len(rows[0])
    return f"""const {name}_ends = new Float64Array([{ends}]);
const {name}_rows = new Float64Array([{listed}]);
function hf_{name}(x) {{
  if (!(x >= {low} && x <= {high})) return NaN;
  let first = 0, last = {len(rows)};
  while (last - first > 1) {{
    const middle = (first + last) >> 1;
    if (x >= {name}_ends[middle]) first = middle; else last = middle;
  }}
  const moved = x - {name}_ends[first], row = first * {count};
  let value = {name}_rows[row + {count - 1}];
  for (let k = {count - 2}; k >= 0; k--) value = value * moved + {name}_rows[row + k];
  return value;
}}
"""
