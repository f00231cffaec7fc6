"""The header: what the functions are, in which order their numbers come, and what they are called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.engine.emit.c_real import Precision
from holdfast.exchange.model import Model
from holdfast.exchange.names import c_string, comment, distinct

LISTS = {  # of names: the letter in enumerators, the word of the table, what it says
    "states": ("x", "state", "x, the state"),
    "parameters": ("p", "parameter", "p, parameters and gains"),
    "observables": ("o", "observable", "out, what is observed"),
    "controls": ("u", "control", "u, the controls"),
}


def lists_of(model: Model, *, controller: bool) -> dict[str, tuple[str, ...]]:
    """The lists of names that a header has."""
    found = {"states": model.states, "parameters": model.parameters}
    if not controller:
        found["observables"] = model.observables
    if model.controls:
        found["controls"] = model.controls
    return found


def header(model: Model, precision: Precision, *, controller: bool, version: str) -> str:
    """The text of NAME.h."""
    name, guard = model.name, f"{model.name.upper()}_H"
    lines = [*_about(model, precision, controller, version), f"#ifndef {guard}", f"#define {guard}", ""]
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", "", f"typedef {precision.type} {name}_real;", ""]
    for kind, names in lists_of(model, controller=controller).items():
        lines += _enumerators(name, kind, names)
    lines += _controller_functions(model) if controller else _functions(model)
    lines += ["#ifdef __cplusplus", "}", "#endif", "", f"#endif /* {guard} */", ""]
    return "\n".join(lines)


def names_tables(name: str, lists: dict[str, tuple[str, ...]]) -> Iterator[str]:
    """The tables of names, as the source has them."""
    for kind, names in lists.items():
        listed = ", ".join([*map(c_string, names), "0"])
        yield f"const char *const {name}_{LISTS[kind][1]}_names[] = {{{listed}}};"


def _about(model: Model, precision: Precision, controller: bool, version: str) -> Iterator[str]:
    what = "the controller alone" if controller else "equations of motion and their step"
    yield "/*"
    yield f" * {comment(model.title)}"
    yield f" * {what}, by Holdfast {version}; {precision.type}, C99."
    yield " *"
    yield " *     dx/dt = F(t, x, p)" if not controller else " *     u = U(t, x, p)"
    yield " *"
    yield " * No function has a memory of its own or asks for any: they may be used from anywhere at once. Arrays of a"
    yield " * call must not overlap. Compile without -ffast-math, with -ffp-contract=off where that is not the default,"
    yield " * and link the library of mathematics (-lm)."
    if not precision.suffix:
        yield " * With -DHOLDFAST_FUSED products are fused with sums, as in the kernels where a processor can;"
        yield " * with -DHOLDFAST_OWN_FMA the fused products of sin, exp and the like are made here, bit for bit, for a"
        yield " * library whose fma rounds twice."
    if not controller:
        yield f" * Steps are those of {comment(model.scheme.name)}" + (
            f"; the problem states h = {model.step!r}." if model.step else "."
        )
        for note in model.notes:
            yield f" * Note: {comment(note)}."
    yield " */"


def _enumerators(name: str, kind: str, names: Sequence[str]) -> Iterator[str]:
    letter, word, says = LISTS[kind]
    yield f"/* {says} */"
    yield "enum {"
    for number, (own, text) in enumerate(zip(distinct(names), names, strict=True)):
        yield f"    {name}_{letter}_{own} = {number}," + ("" if own == text else f" /* {comment(text)} */")
    yield f"    {name}_{kind} = {len(names)}"
    yield "};"
    yield f"extern const char *const {name}_{word}_names[]; /* ends with a null pointer */"
    yield ""


def _functions(model: Model) -> Iterator[str]:
    name = model.name
    real = f"{name}_real"
    yield "/* What a run tells of its end. */"
    yield f"enum {{ {name}_good = 0, {name}_not_finite = 1, {name}_rank_lost = 2 }};"
    yield ""
    yield f"/* Numbers of memory that {name}_run works on. */"
    yield f"enum {{ {name}_work = {work_size(model)} }};"
    yield ""
    yield "/* The start and the values that the problem states; t is when it begins. */"
    yield f"void {name}_defaults({real} *t, {real} *x, {real} *p);"
    yield ""
    yield "/* dx = F(t, x, p). */"
    yield f"void {name}_rhs({real} t, const {real} *x, const {real} *p, {real} *dx);"
    yield ""
    yield "/* Multipliers, controls, held forces, deviations and energies at a state. */"
    yield f"void {name}_observe({real} t, const {real} *x, const {real} *p, {real} *out);"
    yield ""
    if model.controls:
        yield "/* The controls that hold the program at a state. */"
        yield f"void {name}_control({real} t, const {real} *x, const {real} *p, {real} *u);"
        yield ""
    yield "/* One step from t to t + h. The result is good (0), or says why x was left as it was. */"
    yield f"int {name}_step({real} t, {real} h, {real} *x, const {real} *p);"
    yield ""
    yield "/* Steps number first, first + 1, ... of a run that began at t0: step s goes from t0 + s h to t0 + (s + 1) h"
    yield " * Gives how many of `count` were taken; where that is fewer, *status says why, and x is the last good one."
    yield " * A run knows a lost rank by a divisor that vanishes, or has another sign than at its first state. */"
    yield f"long {name}_run({real} t0, {real} h, long first, long count, {real} *x, const {real} *p,"
    yield f"    {real} work[{name}_work], int *status);"
    yield ""


def _controller_functions(model: Model) -> Iterator[str]:
    name = model.name
    real = f"{name}_real"
    yield "/* The values that the problem states. */"
    yield f"void {name}_defaults({real} *p);"
    yield ""
    yield "/* The controls that hold the program, from the measured state. */"
    yield f"void {name}_control({real} t, const {real} *x, const {real} *p, {real} *u);"
    yield ""


def work_size(model: Model) -> int:
    """Rates with pivots and scales, signs of the pivots, and what a step needs."""
    field = model.field
    width = len(field.state) + len(field.watched)
    return width + len(field.pivots) + model.assembly.own_work
