"""The source: bodies, drivers and elementary functions as the kernels have them, behind the functions of the header."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.engine.drivers import fixed
from holdfast.engine.emit import c
from holdfast.engine.emit.body import CodeBody
from holdfast.engine.emit.c_real import Precision
from holdfast.engine.emit.code_piece import BODY_SIGNATURE
from holdfast.engine.emit.target import Signature
from holdfast.engine.emit.translate import source_of, translate
from holdfast.exchange.c.header import lists_of, names_tables
from holdfast.exchange.c.own_fma import OWN_FMA
from holdfast.exchange.c.writer import ExportWriter
from holdfast.exchange.model import Model

PREAMBLE = """#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif
"""
FUSED = """
#ifdef HOLDFAST_FUSED
#define FUSED(a, b, c) hf_fma(a, b, c)
#else
#define FUSED(a, b, c) ((a) * (b) + (c))
#endif
"""
HELPERS = {  # functions that bodies and elementary functions may call, each written only where one does
    "hf_smaller(": "real hf_smaller(real a, real b) { return a < b || a != a || (a == b && signbit(a)) ? a : b; }",
    "hf_larger(": "real hf_larger(real a, real b) { return a > b || a != a || (a == b && !signbit(a)) ? a : b; }",
    "hf_bits(": "int64_t hf_bits(real a) { int64_t w; memcpy(&w, &a, sizeof w); return w; }",
    "hf_of_bits(": "real hf_of_bits(int64_t w) { real a; memcpy(&a, &w, sizeof a); return a; }",
}


def source(model: Model, precision: Precision, *, controller: bool) -> str:
    """The text of NAME.c."""
    writer, known = ExportWriter(precision), dict[str, Signature]()
    bodies = _bodies(model, controller)
    writer.elementary(bodies.values(), known)
    for name, body in bodies.items():
        c.write_body(writer, name, body)
        known[name] = BODY_SIGNATURE
    if not controller:
        constants = dict(model.assembly.constants) | {"LEAST_PIVOT": fixed.LEAST_PIVOT * precision.coarser}
        for text in (source_of(fixed.judged), _step_text(model)):
            translate(text, writer, constants, known)
    own = "\n".join(writer.functions)
    public = "\n".join(_controller(model, writer) if controller else _public(model, writer))
    tables = "\n".join(names_tables(model.name, lists_of(model, controller=controller)))
    head = f'#include "{model.name}.h"\n\n{PREAMBLE}\ntypedef {model.name}_real real;\n'
    return f"{head}\n{helpers(own, precision)}\n{own}\n{tables}\n\n{public}\n"


def helpers(own: str, precision: Precision) -> str:
    """What this text of functions calls, and no more: nothing in it is unused."""
    found = "".join(f"static inline {text}\n" for called, text in HELPERS.items() if called in own)
    fused = FUSED if not precision.suffix else "#define FUSED(a, b, c) ((a) * (b) + (c))\n"
    if "hf_fma(" in own:
        found += OWN_FMA
    else:
        fused = fused.replace("hf_fma", "fma")
    return found + (fused if "FUSED(" in own else "")


def _bodies(model: Model, controller: bool) -> dict[str, CodeBody]:
    if controller:
        return {"control": model.controlling}
    found = {name: body for name, body in model.assembly.bodies.items() if body.outputs}
    found["observe"] = model.observing
    if model.controls:
        found["control"] = model.controlling
    return found


def _step_text(model: Model) -> str:
    """The function `take_step` of the kernel."""
    return next(text for text in model.assembly.sources if text.startswith("def take_step("))


def _assigned(array: str, values: Sequence[float], writer: ExportWriter) -> Iterator[str]:
    for place, value in enumerate(values):
        yield f"    {array}[{place}] = {writer.literal(value)};"
    yield f"    (void){array};"


def _public(model: Model, writer: ExportWriter) -> Iterator[str]:
    name, field = model.name, model.field
    n, pivots = len(field.state), len(field.pivots)
    width = n + len(field.watched)
    yield f"void {name}_defaults(real *t, real *x, real *p)\n{{"
    yield f"    *t = {writer.literal(model.begin)};"
    yield from _assigned("x", model.start, writer)
    yield from _assigned("p", model.values, writer)
    yield "}\n"
    yield f"""void {name}_rhs(real t, const real *x, const real *p, real *dx)
{{
    real all[{width}];
    int i;
    hf_rates(t, x, p, all, 0);
    for (i = 0; i < {n}; i++) dx[i] = all[i];
}}

void {name}_observe(real t, const real *x, const real *p, real *out)
{{
    hf_observe(t, x, p, out, 0);
}}
"""
    if model.controls:
        yield _control(name)
    yield _run(name, n, width, pivots)


def _run(name: str, n: int, width: int, pivots: int) -> str:
    """The loop of `engine.drivers.fixed`, one lane and no events."""
    return f"""long {name}_run(real t0, real h, long first, long count, real *x, const real *p,
    real work[{name}_work], int *status)
{{
    real *f = work, *watch = f + {width}, *new_x = watch + {pivots}, *new_f = new_x + {n}, *rest = new_f + {width};
    long s;
    int i;
    *status = {name}_good;
    hf_rates(t0 + (real)first * h, x, p, f, 0);
    for (i = 0; i < {pivots}; i++) watch[i] = f[{n} + i] < 0 ? -1 : 1;
    for (s = 0; s < count; s++) {{
        const real now = t0 + (real)(first + s) * h;
        hf_take_step(now, h, x, f, p, new_x, rest);
        hf_rates(t0 + (real)(first + s + 1) * h, new_x, p, new_f, 0);
        *status = (int)hf_judged(new_x, new_f, watch);
        if (*status != {name}_good) return s;
        for (i = 0; i < {n}; i++) x[i] = new_x[i];
        for (i = 0; i < {width}; i++) f[i] = new_f[i];
    }}
    return s;
}}

int {name}_step(real t, real h, real *x, const real *p)
{{
    real work[{name}_work];
    int status;
    {name}_run(t, h, 0, 1, x, p, work, &status);
    return status;
}}"""


def _control(name: str) -> str:
    return f"""void {name}_control(real t, const real *x, const real *p, real *u)
{{
    hf_control(t, x, p, u, 0);
}}
"""


def _controller(model: Model, writer: ExportWriter) -> Iterator[str]:
    yield f"void {model.name}_defaults(real *p)\n{{"
    yield from _assigned("p", model.values, writer)
    yield "}\n"
    yield _control(model.name)
