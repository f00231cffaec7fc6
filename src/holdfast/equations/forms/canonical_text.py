"""The canonical form written out: for a terminal and for a paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy as sp

from holdfast.equations.writing.text import formula, text
from holdfast.problem.quantities import latex_name

if TYPE_CHECKING:
    from holdfast.equations.forms.canonical import Canonical


def _held(canonical: Canonical) -> list[list[tuple[sp.Expr, str]]]:
    """By momentum: the holders that push it, with their components."""
    names, tidy = canonical.equations.holder_names, canonical.display.tidy
    return [[(tidy(node), names[k]) for k, node in row.items()] for row in canonical.holders]


def _rates(canonical: Canonical) -> list[str]:
    return [f"{c}'" for c in canonical.equations.coordinates]


def summary(canonical: Canonical) -> str:
    """Momenta, Hamiltonian and canonical equations as text."""
    lines = [canonical.equations.problem.title or "Canonical equations", "", "Momenta"]
    lines += [f"  {name} = {text(value)}" for name, value in canonical.momenta.items()]
    lines += ["", "Hamiltonian", f"  {text(canonical.hamiltonian)}", "", "Canonical equations"]
    if canonical.closed:
        lines += [f"  {c}' = {text(value)}" for c, value in canonical.coordinate_rates.items()]
    else:
        listed = [", ".join(names) for names in (_rates(canonical), canonical.momenta)]
        lines.append(f"  {listed[0]}: solved for by Newton's method, from {listed[1]} above")
    for (name, value), held in zip(canonical.momentum_rates.items(), _held(canonical), strict=True):
        terms = [f"({text(part)})*{holder}" if part != 1 else holder for part, holder in held]
        lines.append(f"  {name}' = " + " + ".join([*([text(value)] if value != 0 or not terms else []), *terms]))
    return "\n".join(lines) + "\n"


def latex(canonical: Canonical) -> str:
    """The same as LaTeX."""
    parts = [f"{latex_name(name)} = {formula(value)}" for name, value in canonical.momenta.items()]
    parts.append(f"H = {formula(canonical.hamiltonian)}")
    if canonical.closed:
        parts += [rf"{latex_name(f'{c}_dot')} = {formula(value)}" for c, value in canonical.coordinate_rates.items()]
    for (name, value), held in zip(canonical.momentum_rates.items(), _held(canonical), strict=True):
        terms = [rf"\left({formula(part)}\right) {latex_name(holder)}" for part, holder in held]
        parts.append(
            rf"\dot{{{latex_name(name)}}} = "
            + " + ".join([*([formula(value)] if value != 0 or not terms else []), *terms])
        )
    return "\n".join(f"\\[ {part} \\]" for part in parts) + "\n"
