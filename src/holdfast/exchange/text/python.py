"""A Python module of its own for NumPy, JAX or CasADi: functions of t, x and p, and the step.

The module knows nothing of Holdfast. Arrays may have further axes, one for each of many cases (NumPy, JAX).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from holdfast.engine.emit.body import CodeBody
from holdfast.engine.emit.tables import tables_of
from holdfast.errors import BadRequest
from holdfast.exchange.model import Model
from holdfast.exchange.names import comment
from holdfast.exchange.text.lines import Language, by_letters
from holdfast.graph.table import TablePart
from holdfast.schemes.kinds.runge_kutta import RungeKutta

MOST_PIECES = 2_000  # of a table in CasADi, whose scalars have no search: each piece is a choice of its own
INVERSE = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2"}


def _array_forms(module: str) -> dict[str, str]:
    forms = {op: f"{module}.{INVERSE.get(op, op)}({{}})" for op in "sqrt exp log sin cos tan asin acos atan".split()}
    forms |= {op: f"{module}.{op}({{}})" for op in "sinh cosh tanh abs sign".split()}
    forms |= {"atan2": f"{module}.arctan2({{}}, {{}})", "pow": f"{module}.power({{}}, {{}})"}
    forms |= {"min": f"{module}.minimum({{}}, {{}})", "max": f"{module}.maximum({{}}, {{}})"}
    return forms | {"select": f"{module}.where({{}} > 0, {{}}, {{}})"}


def _casadi_forms() -> dict[str, str]:
    forms = {op: f"ca.{op}({{}})" for op in "sqrt exp log sin cos tan asin acos atan sinh cosh tanh sign".split()}
    forms |= {"abs": "ca.fabs({})", "atan2": "ca.atan2({}, {})", "pow": "ca.power({}, {})"}
    forms |= {"min": "ca.fmin({}, {})", "max": "ca.fmax({}, {})"}
    return forms | {"select": "ca.if_else({} > 0, {}, {})"}


@dataclass(frozen=True)
class Dialect:
    """A library of arrays: how it is imported, and its language."""

    imports: str
    module: str
    language: Language


DIALECTS = {
    "numpy": Dialect(
        "import numpy as np",
        "np",
        Language(by_letters, _array_forms("np"), "    {name} = {value}", infinite="np.inf"),
    ),
    "jax": Dialect(
        'import jax\n\njax.config.update("jax_enable_x64", True)  # doubles: floats would round at every step\n'
        "import jax.numpy as jnp  # noqa: E402",
        "jnp",
        Language(by_letters, _array_forms("jnp"), "    {name} = {value}", infinite="jnp.inf"),
    ),
    "casadi": Dialect(
        "import casadi as ca",
        "ca",
        Language(by_letters, _casadi_forms(), "    {name} = {value}", infinite="ca.inf"),
    ),
}


def python_text(model: Model, to: str, version: str) -> str:
    """The module for a library."""
    dialect = DIALECTS[to]
    body = [*_head(model, to, version, dialect), *_numbers(model), *_tables(model, to, dialect)]
    body += _bodies(model, dialect)
    body += _casadi_functions(model) if to == "casadi" else _array_functions(model, dialect.module)
    return "\n".join(body) + "\n"


def _head(model: Model, to: str, version: str, dialect: Dialect) -> Iterator[str]:
    yield f'"""{comment(model.title)}'
    yield ""
    yield "    dx/dt = F(t, x, p)"
    yield ""
    yield f"made by Holdfast {comment(version)}; steps are those of {comment(model.scheme.name)}."
    for note in model.notes:
        yield f"Note: {comment(note)}."
    if to != "casadi":
        yield "Arrays x and p may have further axes, one for each of many cases: x[k] is the k-th state of all of them."
    yield '"""'
    yield ""
    yield dialect.imports
    yield ""


def _numbers(model: Model) -> Iterator[str]:
    yield f"STATES = {list(model.states)!r}"
    yield f"PARAMETERS = {list(model.parameters)!r}"
    yield f"OBSERVABLES = {list(model.observables)!r}"
    yield f"CONTROLS = {list(model.controls)!r}"
    yield f"BEGIN, STEP = {model.begin!r}, {model.step!r}  # as the problem states them"
    yield f"START = {list(model.start)!r}"
    yield f"VALUES = {list(model.values)!r}  # of the parameters"
    yield ""


def _all_bodies(model: Model) -> dict[str, CodeBody]:
    found = {"_rates": model.rates, "_observe": model.observing}
    return found | ({"_control": model.controlling} if model.controls else {})


def _bodies(model: Model, dialect: Dialect) -> Iterator[str]:
    for name, body in _all_bodies(model).items():
        yield ""
        yield f"def {name}(t, x, p):"
        yield from dialect.language.lines(body)
        yield "    return [" + ", ".join(dialect.language.outputs(body)) + "]"
        yield ""


# ── tables ────────────────────────────────────────────────────────────────────────────────────────


def _tables(model: Model, to: str, dialect: Dialect) -> Iterator[str]:
    parts = tables_of(_all_bodies(model).values())
    for name, part in parts.items():
        low, high = part.table.reach
        if to == "casadi":
            yield from _casadi_table(name, part)
            continue
        m = dialect.module
        yield ""
        yield f"def {name}(x):"
        yield f"    ends, rows = {m}.array({list(part.table.ends)!r}), {m}.array({[list(r) for r in part.pieces]!r})"
        yield f'    place = {m}.clip({m}.searchsorted(ends, x, side="right") - 1, 0, {len(part.pieces) - 1})'
        yield "    moved, row = x - ends[place], rows[place]"
        yield f"    value = row[..., {len(part.pieces[0]) - 1}]"
        for k in reversed(range(len(part.pieces[0]) - 1)):
            yield f"    value = value * moved + row[..., {k}]"
        yield f"    return {m}.where((x >= {low!r}) & (x <= {high!r}), value, {m}.nan)"
        yield ""


def _casadi_table(name: str, part: TablePart) -> Iterator[str]:
    if len(part.pieces) > MOST_PIECES:
        raise BadRequest(
            f"the data of {part.table.name!r} have {len(part.pieces)} pieces, and CasADi takes {MOST_PIECES}",
            where="to",
            fix="give fewer data, or an expression",
        )
    low, high = part.table.reach
    ends, pieces = list(part.table.ends[: len(part.pieces)]), [list(row) for row in part.pieces]
    yield ""
    yield f"def {name}(x):"
    yield f"    value, above, ends, rows = None, None, {ends!r}, {pieces!r}"
    yield "    for end, row in reversed(list(zip(ends, rows))):"
    yield "        piece = row[-1]"
    yield "        for coefficient in reversed(row[:-1]):"
    yield "            piece = piece * (x - end) + coefficient"
    yield "        value = piece if value is None else ca.if_else(x < above, piece, value)"
    yield "        above = end"
    yield f"    return ca.if_else(ca.logic_and(x >= {low!r}, x <= {high!r}), value, float('nan'))"
    yield ""


# ── functions of arrays ───────────────────────────────────────────────────────────────────────────


def _array_functions(model: Model, m: str) -> Iterator[str]:
    n, pivots = len(model.states), len(model.field.pivots)
    yield f"""
def _joined(parts, x):
    like = {m}.zeros({m}.shape(x)[1:])
    return {m}.stack([part + like for part in parts]) if parts else {m}.zeros((0, *{m}.shape(x)[1:]))


def rhs(t, x, p=VALUES):
    \"\"\"dx/dt at a time and a state.\"\"\"
    x, p = {m}.asarray(x, dtype=float), {m}.asarray(p, dtype=float)
    return _joined(_rates(t, x, p)[:{n}], x)


def observe(t, x, p=VALUES):
    \"\"\"The OBSERVABLES at a state.\"\"\"
    x, p = {m}.asarray(x, dtype=float), {m}.asarray(p, dtype=float)
    return _joined(_observe(t, x, p), x)
"""
    if model.controls:
        yield f"""
def control(t, x, p=VALUES):
    \"\"\"The CONTROLS that hold the program at a state.\"\"\"
    x, p = {m}.asarray(x, dtype=float), {m}.asarray(p, dtype=float)
    return _joined(_control(t, x, p), x)
"""
    if pivots:
        yield f"""
def margin(t, x, p=VALUES):
    \"\"\"The smallest divisor of the elimination beside its scale; near 0, nothing holds here any more.\"\"\"
    x, p = {m}.asarray(x, dtype=float), {m}.asarray(p, dtype=float)
    all = _rates(t, x, p)
    shares = [abs(all[{n} + k] / all[{n + pivots} + k]) for k in range({pivots})]
    return _joined(shares, x).min(axis=0)
"""
    yield f"""
def step(t, h, x, p=VALUES):
    \"\"\"The state a step later.\"\"\"
    x = {m}.asarray(x, dtype=float)
{_step_lines(model, f"{m}.concatenate", "rhs")}"""


def _weighted(weights: Sequence[Fraction]) -> str:
    return " + ".join(f"{float(w)!r} * k{j}" for j, w in enumerate(weights, start=1) if w)


def _step_lines(model: Model, joined: str, rhs: str) -> str:
    """The scheme in the words of arrays."""
    scheme = model.scheme
    if not isinstance(scheme, RungeKutta):
        m = model.field.positions
        moved = f"{joined}([x[:{m}], x[{m}:] + h * {rhs}(t, x, p)[{m}:]])"
        ahead = f"{joined}([x[:{m}] + h * {rhs}(t, y, p)[:{m}], y[{m}:]])"
        return f"    y = {moved}\n    return {ahead}"
    lines = [f"    k1 = {rhs}(t, x, p)"]
    for number, row in enumerate(scheme.stages[1:], start=2):
        place = float(sum(row, Fraction(0)))
        lines.append(f"    k{number} = {rhs}(t + {place!r} * h, x + h * ({_weighted(row)}), p)")
    return "\n".join([*lines, f"    return x + h * ({_weighted(scheme.weights)})"])


def _casadi_functions(model: Model) -> Iterator[str]:
    n, pivots, name = len(model.states), len(model.field.pivots), model.name
    yield f"""
_t, _h = ca.SX.sym("t"), ca.SX.sym("h")
_x, _p = ca.SX.sym("x", {n}), ca.SX.sym("p", {len(model.parameters)})


def _function(name, parts, out):
    outputs = ca.vertcat(*parts) if parts else ca.SX(0, 1)
    return ca.Function("{name}_" + name, [_t, _x, _p], [outputs], ["t", "x", "p"], [out])


_all = _rates(_t, _x, _p)
rhs = _function("rhs", _all[:{n}], "dx")
observe = _function("observe", _observe(_t, _x, _p), "out")"""
    if model.controls:
        yield 'control = _function("control", _control(_t, _x, _p), "u")'
    if pivots:
        shares = f"[ca.fabs(_all[{n} + k] / _all[{n + pivots} + k]) for k in range({pivots})]"
        yield f'margin = _function("margin", [ca.mmin(ca.vertcat(*{shares}))], "margin")'
    yield f"""

def _step(t, h, x, p):
{_step_lines(model, "_stacked", "rhs")}


def _stacked(parts):
    return ca.vertcat(*parts)


step = ca.Function("{name}_step", [_t, _h, _x, _p], [_step(_t, _h, _x, _p)], ["t", "h", "x", "p"], ["x_next"])"""
