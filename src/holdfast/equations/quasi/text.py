"""Forms in quasi-velocities written out: for a terminal and for a paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy as sp

from holdfast.equations.quasi.symbols import QuasiVelocity
from holdfast.equations.writing.text import LONGEST_FORMULA, formula
from holdfast.equations.writing.text import text as whole_text
from holdfast.problem.quantities import latex_name

if TYPE_CHECKING:
    from holdfast.equations.quasi.form import QuasiForm

Row = tuple[sp.Expr, sp.Expr, list[tuple[sp.Expr, str]]]  # inertia, free force, holders with their names


def rows(form: QuasiForm) -> list[Row]:
    """The equations, one for each quasi-velocity."""
    rates = [QuasiVelocity(name).rate for name in form.velocity_names]
    held, names = form.holder_matrix, form.equations.holder_names
    return [
        (
            sp.Add(*(m * rate for m, rate in zip(form.mass_matrix.row(i), rates, strict=True))),
            form.bias[i],
            [(held[i, k], name) for k, name in enumerate(names) if held[i, k] != 0],
        )
        for i in range(len(rates))
    ]


def text(expression: sp.Expr) -> str:
    """An expression on one line; of a long one, how long it is."""
    shown = whole_text(expression)
    return shown if len(shown) <= LONGEST_FORMULA else f"[a formula of {sp.count_ops(expression)} operations]"


def summary(form: QuasiForm) -> str:
    """Quasi-velocities, the rates that they give, and the equations as text."""
    lines = [form.equations.problem.title, ""] if form.equations.problem.title else []
    lines += ["Quasi-velocities", *(f"  {name} = {text(u)}" for name, u in form.quasi_velocities.items()), ""]
    lines += ["Rates", *(f"  {c}' = {text(v)}" for c, v in form.coordinate_rates.items()), "", form.title]
    for inertia, force, held in rows(form):
        terms = [f"({text(part)})*{name}" if part != 1 else name for part, name in held]
        right = [text(force)] if force != 0 or not terms else []
        lines.append(f"  {text(inertia)} = " + " + ".join([*right, *terms]))
    lines += form.more_lines()
    if form.display.letters:
        lines += ["", f"Not written out: {', '.join(form.display.letters)}; evaluate() and runs compute them."]
    return "\n".join(lines) + "\n"


def latex(form: QuasiForm) -> str:
    """The same as LaTeX."""
    parts = [f"{latex_name(name)} = {formula(u)}" for name, u in form.quasi_velocities.items()]
    parts += [f"{latex_name(f'{c}_dot')} = {formula(v)}" for c, v in form.coordinate_rates.items()]
    for inertia, force, held in rows(form):
        terms = [rf"\left({formula(part)}\right) {latex_name(name)}" for part, name in held]
        right = [formula(force)] if force != 0 or not terms else []
        parts.append(f"{formula(inertia)} = " + " + ".join([*right, *terms]))
    parts += form.more_latex()
    return "\n".join(f"\\[ {part} \\]" for part in parts) + "\n"
