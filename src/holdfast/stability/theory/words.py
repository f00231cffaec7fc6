"""What is found of V and of a run's theorems, as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy as sp

from holdfast.equations.writing.text import text
from holdfast.stability.theory.form_bounds import rounded

if TYPE_CHECKING:
    from holdfast.stability.theory.lyapunov_study import LyapunovStudy

LONGEST = 400  # letters of a formula; longer ones are named, not shown


def summary(study: LyapunovStudy) -> str:
    """V, V̇, their forms and the verdicts."""
    lines = [f"V  = {_shown(study.V)}", f"V' = {_shown(study.rate)}"]
    lines.append(
        f"z = ({', '.join(study.names)}),  V = z^T G z / 2,  V' = z^T G' z" + (" + V3" if study.rest != 0 else "")
    )
    lines += _table("G ", study.matrix) + _table("G'", study.rate_matrix)
    if study.rest != 0:
        lines.append(f"V3 = {_shown(study.rest)}")
    lines += ["", str(study.positive), str(study.decreasing)]
    if study.note:
        lines.append(f"note: {study.note}")
    if study.decreasing and study.positive:
        lines.append(decay(study))
    return "\n".join(lines) + "\n"


def decay(study: LyapunovStudy) -> str:
    """What follows of the deviations, with the weaker of the two labels."""
    numbers = {**study.positive.numbers, **study.decreasing.numbers}
    labels = {study.positive.label, study.decreasing.label}
    label = "proved" if labels == {"proved"} else "sampled"
    factor = (numbers["l2"] / numbers["l1"]) ** 0.5
    peak, rate = rounded(factor, upward=True), rounded(numbers["rate"] / 2, upward=False)
    return f"So |z(t)| <= {peak} exp(-{rate} t) |z(0)|, for as long as the motion exists and stays there ({label})."


def _shown(expression: sp.Expr) -> str:
    shown = text(expression)
    return shown if len(shown) <= LONGEST else f"[a formula of {sp.count_ops(expression)} operations]"


def _table(name: str, matrix: sp.Matrix) -> list[str]:
    rows = ["[" + ", ".join(_shown(entry) for entry in row) + "]" for row in matrix.tolist()]
    return [f"{name} = {rows[0]}", *(f"     {row}" for row in rows[1:])]
