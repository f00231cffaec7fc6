"""The answer of `hf.lagrangian` as text, LaTeX and plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import sympy as sp

from holdfast.equations.writing.text import text
from holdfast.structure.conditions.helmholtz import MEANINGS, SAYS

if TYPE_CHECKING:
    from holdfast.structure.lagrangian import LagrangeForm


LONG = 300  # characters of a balance that is still worth reading
PLACES = 3  # at which a condition fails, that are named
QUESTIONS = {
    "wide": "L and any D, even one that hides forces of position (wide)",
    "strict": "D is Rayleigh's: no terms linear in the rates (strict)",
    "dissipative": "D only takes power: v·∂D/∂v >= 0 (dissipative)",
}


def summary(form: LagrangeForm) -> str:
    lines = ["Is there an L with D = 0, f_i = d/dt ∂L/∂v_i - ∂L/∂q_i (the classical question) ?", *_classical(form)]
    lines.append("Are these Lagrange's equations with a D, f_i = d/dt ∂L/∂v_i - ∂L/∂q_i + ∂D/∂v_i ?")
    lines += _yes(form) if form.wide else _no(form)
    return "\n".join([*lines, *(f"  note: {note}" for note in form.notes)]) + "\n"


def _classical(form: LagrangeForm) -> list[str]:
    """The answer with D = 0: L and the integrating factor, or where they were sought."""
    found = form.classical
    lines = [f"  {found}"]
    if found.multiplier is not None:
        rows = ", ".join("[" + ", ".join(text(e) for e in row) + "]" for row in found.multiplier.tolist())
        lines.append(f"  g = [{rows}]")
    return lines if found.L is None else [*lines, f"  L = {text(found.L)}"]


def _yes(form: LagrangeForm) -> list[str]:
    L, D, energy, rate = (sp.sympify(part) for part in (form.L, form.D, form.energy, form.energy_rate))
    width = max(map(len, QUESTIONS.values()))
    lines = [f"  {words:<{width}}  {getattr(form, name)}" for name, words in QUESTIONS.items()]
    lines += [f"  L = {text(L)}", f"  D = {text(D)}"]
    lines.append(f"  check        f minus the right side is {form.residual}")
    if form.exact:
        balance = f"  balance      d/dt ({text(energy)}) = {text(rate)}"
        lines += [balance] if len(balance) < LONG else []
    lines.append(f"  freedom      {form.freedom}")
    return [*lines, *_conditions(form, ("K1", "K2", "K3", "K5"))]


def _no(form: LagrangeForm) -> list[str]:
    first = form.conditions.defects[0].condition
    return [
        f"  no: {MEANINGS[first]} ({first} fails), so that no L and D exist",
        *_conditions(form, ("K1", "K2", "K3")),
        *_leaf(form),
    ]


def _leaf(form: LagrangeForm) -> list[str]:
    """What there is on the motions that the program keeps."""
    leaf = form.leaf
    if leaf is None:
        return []
    words = [f"    {name}: {getattr(leaf.form, name)}" for name in QUESTIONS]
    return [
        f"  hint: on the leaf {text(leaf.function)} = {text(leaf.value)} = const, which {leaf.constraint} keeps, "
        "there are L and D:",
        f"    L = {text(sp.sympify(leaf.form.L))}",
        f"    D = {text(sp.sympify(leaf.form.D))}",
        f"    check: f with the constant, minus the right side, is {leaf.form.residual}",
        *words,
        "    off this leaf the two systems differ",
    ]


def _conditions(form: LagrangeForm, names: Sequence[str]) -> list[str]:
    """Each condition in words, whether it holds, and where it does not."""
    found = form.conditions.defects or form.conditions.strict_defects
    good = "not seen to fail" if form.conditions.found_at_points else "holds"
    lines = ["  conditions on f = M a + B, with A_ij = ∂B_i/∂v_j - ∂B_j/∂v_i:"]
    for name in names:
        failing = [defect for defect in found if defect.condition == name]
        lines.append(f"    {name} {'fails' if failing else good}: {SAYS[name]}")
        lines += [f"       at ({', '.join(defect.indices)}) by {defect.shown}" for defect in failing[:PLACES]]
        lines += [f"       and at {len(failing) - PLACES} more" for _ in failing[PLACES : PLACES + 1]]
    return lines


def latex(form: LagrangeForm) -> str:
    if not form.wide:
        defect = form.conditions.defects[0]
        return f"% {form.wide.why}\n\\text{{{defect.condition}: }} {sp.latex(defect.value)} \\neq 0\n"
    return f"L = {sp.latex(form.L)} \\\\\nD = {sp.latex(form.D)}\n"


def as_data(form: LagrangeForm) -> dict[str, Any]:
    verdicts = {
        name: {
            "value": bool(verdict),
            "condition": verdict.condition,
            "scope": verdict.scope,
            "why": verdict.why,
            "evidence": verdict.evidence,
        }
        for name, verdict in ((name, getattr(form, name)) for name in ("wide", "strict", "dissipative"))
    }
    return {
        "schema": 1,
        "classical": form.classical.to_dict(),
        **verdicts,
        "L": None if form.L is None else str(form.L),
        "D": None if form.D is None else str(form.D),
        "exact": form.exact,
        "residual": None if form.residual is None else {"size": form.residual.size, "how": form.residual.how},
        "energy": str(form.energy) if form.exact else None,
        "energy_rate": str(form.energy_rate) if form.exact else None,
        "freedom": form.freedom,
        "defects": [
            {"condition": d.condition, "at": list(d.indices), "value": str(d.value)}
            for d in (*form.conditions.defects, *form.conditions.strict_defects)
        ],
        "leaf": None
        if form.leaf is None
        else {
            "constraint": form.leaf.constraint,
            "function": str(form.leaf.function),
            "value": str(form.leaf.value),
            **{key: value for key, value in as_data(form.leaf.form).items() if key in ("L", "D", "exact", "residual")},
        },
        "notes": list(form.notes),
    }
