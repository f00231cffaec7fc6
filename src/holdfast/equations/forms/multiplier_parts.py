"""Multipliers and controls by their cause: λ = λ⁽⁰⁾ + λ⁽¹⁾ + λ⁽²⁾.

λ⁽⁰⁾  holds the exact program      M a₀ = h + E λ⁽⁰⁾,      J a₀ = −γ
λ⁽¹⁾  corrects to first order      M a₁ = E λ⁽¹⁾,          J a₁ = K y + B w
λ⁽²⁾  the terms of second order    M a₂ = −m₂ + E λ⁽²⁾,    J a₂ = Y₂
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy as sp

from holdfast.equations.equations import Equations
from holdfast.equations.writing.closed_form import Causes, causes_of, closed_form
from holdfast.equations.writing.text import formula, text
from holdfast.equations.writing.tidied import without_idle_gains
from holdfast.errors import BadRequest
from holdfast.graph.display import Statement
from holdfast.graph.nodes import Node
from holdfast.problem.quantities import latex_name

DEGREES = (0, 1, 2)
MEANINGS = ("classical: holds the exact program", "first order: corrects deviations", "second order in the deviations")


def part_name(holder: str, degree: int) -> str:
    """How runs and statements call a part: ``lambda_rod[1]``."""
    return f"{holder}[{degree}]"


@dataclass(frozen=True, eq=False)
class MultiplierParts:
    """`formulas` has the three parts of each force by its name, in closed form; empty where there is no short one.

    `statements` compute them line by line, whatever their length.
    """

    equations: Equations

    @cached_property
    def formulas(self) -> dict[str, tuple[sp.Expr, sp.Expr, sp.Expr]]:
        """λ⁽⁰⁾, λ⁽¹⁾, λ⁽²⁾ by name, in q, v, t and the deviations y, w."""
        if not self.equations.inverse_dynamics:  # what has no closed form as a whole has none in parts
            return {}
        parts = [closed_form(self.equations, causes) for causes in self._causes()]
        if not all(parts):
            return {}
        zero, first, second = parts
        return {name: (zero[name], first[name], second[name]) for name in self.equations.holder_names}

    def _causes(self) -> tuple[Causes, Causes, Causes]:
        equations = self.equations
        whole, law, zero = causes_of(equations), equations.demand_law, equations.inputs.graph.zero
        still, calm = [zero] * len(whole.bias), [zero] * len(whole.drift)
        linear = without_idle_gains(equations, law.linear)
        rest: list[Node] = calm
        if equations.second_order and law.rest is not None:
            rest = without_idle_gains(equations, law.rest)
        return (
            Causes(calm, whole.drift, whole.bias, still),
            Causes(linear, calm, still, still),
            Causes(rest, calm, still, whole.excess),
        )

    @cached_property
    def nodes(self) -> dict[str, Node]:
        """The parts in q, v and t, by name: ``lambda_rod[0]`` and so on."""
        parts = zip(*self.equations.solution.mu_parts, strict=True)
        named = zip(self.equations.holder_names, parts, strict=True)
        return {part_name(name, degree): nodes[degree] for name, nodes in named for degree in DEGREES}

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """The parts as straight-line computation, shared parts named."""
        shown = without_idle_gains(self.equations, list(self.nodes.values()))
        return self.equations.display.statements(dict(zip(self.nodes, shown, strict=True)))

    def summary(self) -> str:
        """The parts as text."""
        lines = [f"[{degree}] {meaning}" for degree, meaning in zip(DEGREES, MEANINGS, strict=True)]
        if self.formulas:
            for name, parts in self.formulas.items():
                lines += [f"  {part_name(name, degree)} = {text(part)}" for degree, part in enumerate(parts)]
        elif self.equations.constraints:
            lines += [f"  {line.name.name} = {text(line.value)}" for line in self.statements]
        else:
            lines += ["  nothing is held: there are no multipliers"]
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """The parts as plain data: formulas by name, and statements."""
        written = {
            part_name(name, degree): str(part)
            for name, parts in self.formulas.items()
            for degree, part in enumerate(parts)
        }
        listed = [{"name": line.name.name, "value": str(line.value)} for line in self.statements]
        return {"schema": 1, "holders": list(self.equations.holder_names), "parts": written, "statements": listed}

    def latex(self) -> str:
        """The parts as LaTeX, one equation each."""
        return "\n".join(f"\\[ {line} \\]" for line in self.latex_lines()) + "\n"

    def latex_lines(self) -> list[str]:
        """``\\lambda_{rod}^{(1)} = ...``: the parts that are not zero, or the statements."""
        if not self.formulas:
            return [f"{latex_name(s.name.name)} = {formula(s.value)}" for s in self.statements]
        return [
            rf"{latex_name(name)}^{{({degree})}} = {formula(part)}"
            for name, parts in self.formulas.items()
            for degree, part in enumerate(parts)
            if part != 0
        ]


def multiplier_parts(equations: Equations) -> MultiplierParts:
    """The multipliers and controls of equations, split into λ⁽⁰⁾ + λ⁽¹⁾ + λ⁽²⁾ as formulas."""
    if not isinstance(equations, Equations):
        raise BadRequest(f"multiplier_parts() takes Equations, not {type(equations).__name__}", fix="hf.derive first")
    equations.require_unlimited("multiplier_parts")
    equations.require_given_forces("multiplier_parts")
    return MultiplierParts(equations)
