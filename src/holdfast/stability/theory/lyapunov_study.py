"""`lyapunov`: a function V of the deviations, its rate along the motion, and whether it falls over a region.

    V(y, w, q, v, t),     V̇ = ∂V/∂t + V_q v + V_v a + V_y w + V_w Y

The theorem: if l₁‖z‖² ≤ V ≤ l₂‖z‖² with l₁ > 0 and V̇ ≤ −pV with p > 0 over the region, the deviations z that V
speaks of fall as ‖z(t)‖² ≤ (l₂/l₁) e^(−pt) ‖z(0)‖² for as long as the motion exists and stays in the region.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from holdfast.common.arguments import clear_arguments
from holdfast.equations.equations import Equations
from holdfast.equations.values import parameter_vector
from holdfast.equations.writing.factors import in_factors
from holdfast.equations.writing.text import formula, text
from holdfast.errors import BadRequest
from holdfast.problem.quantities import Deviation, DeviationRate
from holdfast.results.trajectory import Trajectory
from holdfast.stability.linear.common_norm import common_norm
from holdfast.stability.linear.norms import Norm, continuous
from holdfast.stability.theory.form_bounds import Bounds, RegionForms
from holdfast.stability.theory.form_verdicts import SignVerdict, rate_verdict, size_verdict
from holdfast.stability.theory.formulas import RateFormulas
from holdfast.stability.theory.lyapunov import LyapunovFunction, LyapunovSeries
from holdfast.stability.theory.region import completed, require_equations, stated_region
from holdfast.stability.theory.state_function import Coefficients, StateFunction

SOUGHT = 60  # sampled matrices of a varying law from which a common V is sought
EFFORT = 5.0  # work of the search for proofs, unless said otherwise


@dataclass(frozen=True, eq=False)
class LyapunovStudy:
    """V and V̇ along the motion, with the verdicts *positive* and *decreasing* over `region`."""

    function_of_state: StateFunction
    region: Bounds
    note: str  # where ranges that were not asked for come from
    positive: SignVerdict
    decreasing: SignVerdict
    parameters: Mapping[Any, Any]

    @property
    def equations(self) -> Equations:
        return self.function_of_state.equations

    @property
    def V(self) -> sp.Expr:
        return self.function_of_state.expression

    @property
    def constraints(self) -> tuple[str, ...]:
        """The constraints that V speaks of."""
        return self.function_of_state.constraints

    @property
    def names(self) -> tuple[str, ...]:
        """z: the deviations that V speaks of, in the order of its matrices."""
        return self.function_of_state.names

    @cached_property
    def formulas(self) -> RateFormulas:
        return RateFormulas(self.function_of_state)

    @property
    def rate(self) -> sp.Expr:
        """V̇ along the motion, in the deviations y and w, the motion, and accelerations where V depends on rates."""
        return self.formulas.rate

    @property
    def matrix(self) -> sp.Matrix:
        """G of V = ½ zᵀGz, to second degree."""
        return self.formulas.matrix

    @property
    def rate_matrix(self) -> sp.Matrix:
        """G' of V̇ = zᵀG'z + V₃."""
        return self.formulas.rate_matrix

    @property
    def rest(self) -> sp.Expr:
        """V₃, of third degree and more; 0 where V is quadratic without rates and the law is linear."""
        return self.formulas.rest

    @cached_property
    def minors(self) -> tuple[tuple[sp.Expr, ...], tuple[sp.Expr, ...]]:
        """Sylvester's minors of G and of −G', in letters: V > 0 and its quadratic part falls where all are positive."""
        return leading_determinants(self.matrix), leading_determinants(-self.rate_matrix)

    def at(self, state: Any = None, time: float | None = None) -> Coefficients:
        """V, V̇ and the coefficients u, v, ω, u', v', ω', V₃ as numbers at one state, for all constraints."""
        return self.function_of_state.at(state, time, self.parameters)

    def along(self, trajectory: Trajectory) -> LyapunovSeries:
        """V, V̇ and Ṽ along a run of fixed step."""
        return self.function_of_state.along(trajectory)

    @cached_property
    def constant(self) -> bool:
        """Whether V and the law of its constraints have constant coefficients, so that there is a `function`."""
        return is_constant(self.function_of_state, self.parameters)

    @cached_property
    def function(self) -> LyapunovFunction:
        """V with its constants l₁, l₂, p, κ, where V and the law have constant coefficients; refused elsewhere."""
        return constant_function(self.function_of_state, self.parameters)

    # ── words ─────────────────────────────────────────────────────────────────────────────────────

    def summary(self) -> str:
        """V, V̇, their forms and the verdicts as text."""
        from holdfast.stability.theory.words import summary

        return summary(self)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        labels = f"positive {self.positive.label}, falls {self.decreasing.label}"
        return f"<LyapunovStudy of {', '.join(self.constraints)}: {labels}>"

    def latex(self) -> str:
        """V, V̇, G and G' as LaTeX."""
        lines = [("V", self.V), (r"\dot V", self.rate), ("G", self.matrix), ("G'", self.rate_matrix)]
        lines += [("V_3", self.rest)] if self.rest != 0 else []
        return "\\begin{aligned}\n" + " \\\\\n".join(f"{a} &= {formula(b)}" for a, b in lines) + "\n\\end{aligned}\n"

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data."""
        tables = {"matrix": self.matrix, "rate_matrix": self.rate_matrix}
        return {
            "V": text(self.V),
            "rate": text(self.rate),
            "rest": text(self.rest),
            "deviations": list(self.names),
            **{name: [[text(x) for x in row] for row in table.tolist()] for name, table in tables.items()},
            "region": {name: list(ends) for name, ends in self.region.items()},
            "note": self.note,
            "positive": self.positive.to_dict(),
            "decreasing": self.decreasing.to_dict(),
        }


@clear_arguments
def lyapunov(
    equations: Equations,
    V: Any = None,
    region: Mapping[Any, tuple[float, float]] | None = None,
    *,
    parameters: Mapping[Any, Any] | None = None,
    effort: float | None = None,
) -> LyapunovStudy:
    """Whether V(y, w, q, v, t) is positive definite in the deviations it contains and falls along the motion.

    V is an expression in deviations (`hf.deviations`), coordinates, rates, time and parameters, or the matrix G of
    V = ½ zᵀGz, z = (y, w) in the order of `equations.deviation_names`; without one, that of the problem's [lyapunov];
    without that, one constant G is sought that falls for every H of the region.
    `region` bounds t, states and deviations; what V̇ depends on and the region does not name is taken from the problem's
    own run. The verdicts are *proved* in balls, *sampled*, *refuted* or *undecided*, with the work of `effort`
    (1 is a million products of balls, about a second).
    """
    require_equations(equations)
    equations.require_unlimited("lyapunov")
    table = equations.problem.lyapunov
    given = parameters or {}
    asked = (
        stated_region(equations, table.get("region", {}), "lyapunov.region")
        if region is None
        else stated_region(equations, region)
    )
    stated = table.get("function") if V is None else V
    if stated is None:
        stated = _sought(equations, asked, given)
    function = StateFunction(equations, as_expression(equations, stated))
    _require_usable(function)
    forms, note = region_forms(function, asked, given)
    half = _positive(table.get("effort", EFFORT) if effort is None else effort) / 2
    obstacle = function.obstacle()
    positive = size_verdict(forms, obstacle, half)
    decreasing = _decreasing(function, forms, positive, obstacle, half)
    shown = {name: forms.region[name] for name in _used(forms)} | forms.limits
    return LyapunovStudy(function, shown, note, positive, decreasing, given)


def _sought(equations: Equations, asked: Bounds, parameters: Mapping[Any, Any]) -> sp.Matrix:
    """One G for the law over a region: sought at samples of it, for the verdicts to judge."""
    names = equations.deviation_names
    if not names:
        raise BadRequest("there is nothing to hold, so that no V is needed", where="V", fix="state a program")
    forms, _ = region_forms(StateFunction(equations, as_expression(equations, sp.eye(len(names)))), asked, parameters)
    laws = forms.sampled.forms[:SOUGHT, 2]
    if len(laws) == 1:
        return _readable(continuous(laws[0]))
    found = common_norm(list(laws))
    if not found.found:
        raise BadRequest(
            "no V was found that falls under this law over the region",
            where="V",
            fix="give V; hf.spectrum(equations) shows whether the law attracts at all",
        )
    return _readable(found.norm)


def _readable(norm: Norm) -> sp.Matrix:
    """P with four digits in each entry, where that does not spoil it; what V promises is judged afterwards."""
    short = np.array([[float(f"{x:.4g}") for x in row] for row in norm.matrix])
    good = np.linalg.eigvalsh(short)[0] > norm.eigenvalues[0] / 2
    return sp.Matrix((short if good else norm.matrix).tolist())


def _positive(effort: Any) -> float:
    if isinstance(effort, bool) or not isinstance(effort, (int, float)) or not 0 < effort < np.inf:
        raise BadRequest(f"effort = {effort!r}", where="effort", fix="give a number more than 0")
    return float(effort)


def _require_usable(function: StateFunction) -> None:
    if not function.constraints:
        raise BadRequest("V contains no deviation", where="V", fix='y = hf.deviations("rod"): V in y and y.rate')
    if function.equations.problem.system.noise:
        raise BadRequest(
            "the system is driven by noise, and V̇ would lack Ito's term",
            where="V",
            fix="leave the noise out; hf.deviation_covariance speaks of noise",
        )


def _used(forms: RegionForms) -> list[str]:
    return [forms.nodes.names[k] for k in forms.variables]


def region_forms(function: StateFunction, asked: Bounds, parameters: Mapping[Any, Any]) -> tuple[RegionForms, str]:
    """The forms of V over a region that is completed where V̇ depends on more than was asked for."""
    equations, nodes = function.equations, function.forms()
    limits = {name: ends for name, ends in asked.items() if name in function.names}
    constants = tuple(parameter_vector(equations, parameters))
    forms = RegionForms(nodes, constants, asked, limits, function.names)
    region, note = completed(equations, asked, _used(forms), parameters)
    return RegionForms(nodes, constants, region, limits, function.names), note


def _decreasing(
    function: StateFunction, forms: RegionForms, positive: SignVerdict, obstacle: str, effort: float
) -> SignVerdict:
    other = function.coupled()
    if other:
        own = ", ".join(function.constraints)
        why = f"the law of {own} depends on the deviation of {other}, which V does not contain"
        return SignVerdict("V falls", "undecided", why)
    return rate_verdict(forms, positive, obstacle, effort)


def leading_determinants(matrix: sp.Matrix) -> tuple[sp.Expr, ...]:
    """The leading principal minors as formulas."""
    sizes = range(1, matrix.rows + 1)
    return tuple(in_factors(matrix[:k, :k].det(method="berkowitz")) for k in sizes)


def as_expression(equations: Equations, V: Any) -> sp.Expr:
    """V as an expression: itself, or ½ zᵀGz of a matrix G by the deviations of all constraints."""
    if isinstance(V, sp.Expr) or not isinstance(V, (sp.MatrixBase, np.ndarray, list, tuple)):
        return V
    G, names = sp.Matrix(V.tolist() if isinstance(V, np.ndarray) else V), equations.deviation_names
    if G.shape != (len(names), len(names)) or G != G.T:
        raise BadRequest(
            f"G is not a symmetric matrix of {len(names)} rows",
            where="V",
            fix=f"one row and column for each of {', '.join(names)}, or V as an expression",
        )
    z = sp.Matrix([Deviation(name) if name.startswith("y_") else DeviationRate(name) for name in names])
    return (z.T * G * z)[0] / 2


def constant_function(function: StateFunction, parameters: Mapping[Any, Any]) -> LyapunovFunction:
    """V and the law of its constraints as constant matrices."""
    if not is_constant(function, parameters):
        raise BadRequest(
            "V or the law of its constraints does not have constant coefficients",
            where="V",
            fix="hf.lyapunov(...).positive and .decreasing hold its constants over a region",
        )
    G, _, H = _without_region(function, parameters).sampled.forms[0]
    return LyapunovFunction(G, H)


def is_constant(function: StateFunction, parameters: Mapping[Any, Any]) -> bool:
    """Whether neither state nor time enters the forms of V and its rate."""
    forms = _without_region(function, parameters)
    return not (forms.variables or forms.nodes.in_deviations or function.coupled())


def _without_region(function: StateFunction, parameters: Mapping[Any, Any]) -> RegionForms:
    constants = tuple(parameter_vector(function.equations, parameters))
    return RegionForms(function.forms(), constants, {}, {}, function.names)
