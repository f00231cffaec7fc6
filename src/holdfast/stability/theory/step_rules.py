"""`step_rule`: steps from the theorems, and the chain of figures of the 2006 paper.

    |Ṽ| ≤ ½τ²W   ⇒   τ ≤ 2 p l₁ ε²/W   and   τp ≤ 1                       (Theorem A)

    paper:  ε ≥ ‖z₀‖√(l₂/l₁),   τ₁ = α/p < τ < τ₂ = ‖z₀‖√(2 l₁α/W),   τ₁ < τ₂ ⇔ α < 2 l₁p²‖z₀‖²/W

The lower limit τ₁ is an artefact of a fixed α: letting α → τp turns the chain into τ ≤ 2 p l₁‖z₀‖²/W. W bounds the
second difference of V over the region where ‖z‖ ≤ ε; a sampled W makes every step *estimated*.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import inf, isfinite, sqrt
from typing import Any

from holdfast.common.arguments import clear_arguments
from holdfast.common.rounded import rounded_down
from holdfast.errors import BadRequest
from holdfast.stability.theory.estimated_defect import estimated_defect
from holdfast.stability.theory.inverse_design import GainDesign
from holdfast.stability.theory.lyapunov import LyapunovFunction
from holdfast.stability.theory.lyapunov_study import LyapunovStudy
from holdfast.stability.theory.region import stated_region
from holdfast.stability.theory.theorems import largest_step_b

SMALL = 1e-3  # of the largest step that V alone allows: the step at which W is sampled


@dataclass(frozen=True, slots=True)
class StepRule:
    """Steps of Euler's scheme that keep ‖z‖ ≤ ε; `label` says how W is known: *given* or *estimated*."""

    epsilon: float
    curvature: float  # W
    step: float  # by Theorem A: min(2 p l₁ε²/W, 1/p)
    step_by_start: float  # 2 p l₁‖z₀‖²/W: the paper's chain with α → τp
    start_limit: float  # ε√(l₁/l₂): ‖z₀‖ may be this large
    alpha_limit: float  # τ₁ < τ₂ below it
    alpha: float | None
    tau_1: float | None
    tau_2: float | None
    tau_2_factor: float  # of √(2α)
    label: str
    step_before: float | None = None  # the largest that Theorem B accepts, by a sampled defect

    @property
    def consistent(self) -> bool | None:
        """Whether τ₁ < τ₂; None without α."""
        return None if self.tau_1 is None or self.tau_2 is None else self.tau_1 < self.tau_2

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "consistent": self.consistent}

    def summary(self) -> str:
        lines = [
            f"epsilon = {self.epsilon:.6g}, W = {self.curvature:.6g} ({self.label})",
            f"Theorem A: step <= {rounded_down(self.step, 6)}; "
            f"by the start alone: step <= {rounded_down(self.step_by_start, 6)}",
        ]
        if self.tau_1 is not None:
            verb = "tau1 < tau2" if self.consistent else "tau1 >= tau2: no step"
            found = f"tau1 = {self.tau_1:.6g}, tau2 = {self.tau_2:.6g} ({verb})"
            lines.append(f"the paper's chain at alpha = {self.alpha:.6g}: {found}")
        lines.append(f"tau1 < tau2 for alpha < {rounded_down(self.alpha_limit, 6)}")
        if self.step_before is not None:
            lines.append(f"Theorem B: step <= {rounded_down(self.step_before, 6)} (estimated)")
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return self.summary()


@clear_arguments
def step_rule(
    V: LyapunovStudy | LyapunovFunction | GainDesign,
    *,
    start: float = 0.0,
    epsilon: float | None = None,
    curvature: float | None = None,
    alpha: float | None = None,
    region: Mapping[Any, tuple[float, float]] | None = None,
) -> StepRule:
    """The step that Theorem A allows for ‖z‖ ≤ ε, and the paper's τ₁, τ₂ and limit of α.

    `start` is ‖z₀‖, `curvature` W. Without ε the least that the start needs is taken, ‖z₀‖√(l₂/l₁). Without W it is
    sampled over `region` (and ‖z‖ ≤ ε), for which V must be an `hf.lyapunov` study; Theorem B is answered then too.
    """
    if not isinstance(V, (LyapunovStudy, LyapunovFunction, GainDesign)):
        raise BadRequest(
            f"step_rule() takes V with its law, not {type(V).__name__}",
            where="V",
            fix="hf.lyapunov(equations, V), hf.gains_from(V) or hf.LyapunovFunction(G, H)",
        )
    function = V if isinstance(V, LyapunovFunction) else V.function
    if function.rate <= 0:
        raise BadRequest("V does not fall under this law: p ≤ 0", where="V", fix="choose another V, or other gains")
    _require(start >= 0 and isfinite(start), f"start = {start:g}", "‖z₀‖ is a finite number, at least 0")
    tolerance = start * sqrt(function.l2 / function.l1) if epsilon is None else float(epsilon)
    _require(tolerance > 0, f"epsilon = {tolerance:g}", "give a positive epsilon=, or the start that it follows from")
    before, label = None, "given"
    if curvature is None:
        curvature, before, label = *_sampled(V, function, tolerance, region), "estimated"
    _require(curvature > 0, f"curvature = {curvature:g}", "W is a positive number")
    _require(alpha is None or alpha > 0, f"alpha = {alpha}", "α is a positive number")
    p, l1, factor = function.rate, function.l1, float(start) * sqrt(function.l1 / curvature)
    return StepRule(
        epsilon=tolerance,
        curvature=float(curvature),
        step=min(2 * p * l1 * tolerance**2 / curvature, 1 / p),
        step_by_start=2 * p * l1 * start**2 / curvature,
        start_limit=function.start_limit(tolerance),
        alpha_limit=2 * l1 * p**2 * start**2 / curvature,
        alpha=alpha,
        tau_1=None if alpha is None else alpha / p,
        tau_2=None if alpha is None else factor * sqrt(2 * alpha),
        tau_2_factor=factor,
        label=label,
        step_before=before,
    )


def _require(good: bool, what: str, fix: str) -> None:
    if not good:
        raise BadRequest(what, where="step_rule", fix=fix)


def _sampled(V: Any, function: LyapunovFunction, tolerance: float, region: Any) -> tuple[float, float]:
    """W, and the largest step of Theorem B, by samples over the region."""
    if not isinstance(V, LyapunovStudy):
        raise BadRequest(
            "W is not given, and V alone does not know the motion",
            where="step_rule",
            fix="give curvature=, or hf.lyapunov(equations, V) in the place of V",
        )
    stated = stated_region(V.equations, V.region if region is None else region)
    domain = {name: ends for name, ends in stated.items() if name not in V.equations.deviation_names}
    if not domain:
        raise BadRequest("there is no region to sample W over", where="region", fix='e.g. region={"t": (0, 10)}')
    options: dict[str, Any] = {"domain": domain, "constraints": V.constraints, "parameters": V.parameters}
    largest = function.rate / function.kappa if function.kappa > 0 else inf
    small = SMALL * min(largest, 1 / function.rate)
    found = estimated_defect(V.equations, function, small, tolerance, euclidean=True, **options)
    before = largest_step_b(
        function, tolerance,
        lambda tau: estimated_defect(
            V.equations, function, tau, tolerance, euclidean=True, count=1000, **options
        ).defect,
    )  # fmt: skip
    return found.curvature, before
