"""Bodies as portable C99: for export, and as a check of the LLVM code by another compiler."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.engine.emit.body import CodeBody, Operand
from holdfast.engine.emit.c_writer import CWriter
from holdfast.engine.emit.elementary import CONSTANTS, LIBRARY, NEEDS
from holdfast.engine.emit.tables import write_c_tables
from holdfast.engine.emit.target import Signature
from holdfast.engine.emit.translate import source_of, translate

FORMS = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "div": "{} / {}",
    "neg": "-{}",
    "fma": "FUSED({}, {}, {})",
    "fms": "FUSED({}, {}, -{})",
    "fnma": "FUSED(-{}, {}, {})",
    "min": "hf_smaller({}, {})",
    "max": "hf_larger({}, {})",
    "sign": "({0} > 0 ? 1 : {0} < 0 ? -1 : {0})",
    "select": "({0} > 0 ? {1} : {2})",
    "exp": "hf_exponential({})",
    "log": "hf_logarithm({})",
    "pow": "hf_general_power({}, {})",
    "sinh": "hf_hyperbolic_sine({})",
    "cosh": "hf_hyperbolic_cosine({})",
    "tanh": "hf_hyperbolic_tangent({})",
}
CALLED = {"abs": "fabs"}  # by another name in <math.h>


def write_elementary(writer: CWriter, bodies: Iterable[CodeBody], known: dict[str, Signature]) -> None:
    """The elementary functions and the tables that the bodies call."""
    bodies = list(bodies)
    write_c_tables(writer, bodies)
    for name, count in LIBRARY.items():
        known[f"library_{name}"] = Signature(("r",) * count, "r")
    written = set()
    for op in sorted({op for body in bodies for op, _ in body.statements} & set(NEEDS)):
        for function in NEEDS[op]:
            if function not in written:
                written.add(function)
                translate(source_of(function), writer, CONSTANTS, known, hint="inline")


def write_body(writer: CWriter, name: str, body: CodeBody) -> None:
    """The body as a function hf_NAME(t, x, p, out, scratch)."""

    def text(operand: Operand) -> str:
        if isinstance(operand, float):
            return writer.literal(operand)
        if operand == 0:
            return "t"
        if operand <= body.states:
            return f"x[{operand - 1}]"
        return f"p[{operand - 1 - body.states}]" if operand < body.inputs else f"s{operand}"

    real = writer.number
    arrays = f"const {real} *x, const {real} *p, {real} *out, {real} *scratch"
    lines = [f"{writer.linkage}void hf_{name}({real} t, {arrays})", "{"]
    angles: set[str] = set()
    for number, (op, operands) in enumerate(body.statements, start=body.inputs):
        texts = [text(operand) for operand in operands]
        if op in ("sin", "cos"):
            pair = "pair_" + "".join(letter if letter.isalnum() else "_" for letter in texts[0])
            if pair not in angles:
                angles.add(pair)
                lines.append(f"    {real} {pair}[2];\n    hf_sine_cosine({texts[0]}, {pair});")
            value = f"{pair}[{int(op == 'cos')}]"
        elif op in body.tables:
            value = f"hf_{op}({texts[0]})"
        else:
            form = FORMS.get(op) or f"{writer.library(CALLED.get(op, op))}(" + ", ".join(["{}"] * len(texts)) + ")"
            value = form.format(*texts)
        lines.append(f"    const {real} s{number} = {value};")
    lines += [f"    out[{place}] = {text(operand)};" for place, operand in body.outputs]
    unused = "(void)t; (void)x; (void)p; (void)out; (void)scratch;"
    writer.functions.append("\n".join([*lines, f"    {unused}", "}\n"]))
