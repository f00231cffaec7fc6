"""The answer of `hf.lagrangian` as text, LaTeX and plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy as sp

if TYPE_CHECKING:
    from holdfast.structure.lagrangian import LagrangeForm


LONG = 300  # characters of a balance that is still worth reading


def summary(form: LagrangeForm) -> str:
    lines = ["f_i = d/dt ∂L/∂v_i - ∂L/∂q_i + ∂D/∂v_i"]
    for name in ("wide", "strict", "dissipative"):
        lines.append(f"  {name:<12} {getattr(form, name)}")
    if form.wide:
        lines += [f"  L = {form.L}", f"  D = {form.D}", f"  residual     {form.residual}"]
        balance = f"  balance      d/dt ({form.energy}) = {form.energy_rate}"
        lines += [balance] if form.exact and len(balance) < LONG else []
        lines.append(f"  freedom      {form.freedom}")
    else:
        lines += [f"  {defect}" for defect in form.conditions.defects[:6]]
    return "\n".join([*lines, *(f"  note: {note}" for note in form.notes)]) + "\n"


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
        "notes": list(form.notes),
    }
