"""The theorems on Euler's scheme, each answered with yes, no, or cannot hold, and why.

    z(s+1) = (I + τH) z(s) + τ² d(s),     V(s+1) = V(s) + τV̇(s) + Ṽ(s)

Theorems 1 to 5 of Mukharlyamov 2006, in corrected form, all conclude ‖z(s)‖ ≤ ε:

    1   ‖z₀‖ ≤ ε,  l₁‖z‖² ≤ V,  V + τV̇ ≤ α l₁‖z‖²,  Ṽ ≤ (1−α) l₁ε²
    2   ‖z₀‖ ≤ ε,  l₁‖z‖² ≤ V ≤ l₂‖z‖²,  V̇ ≤ −l'‖z‖²,  τl' < l₂ ≤ αl₁ + τl',  Ṽ ≤ (1−α) l₁ε²
    3   ‖z₀‖ ≤ ε√(l₁/l₂),  V̇ ≤ −pV,  0 ≤ α < τp < 1,  Ṽ ≤ α l₁‖z₀‖²
    4   as 1, with zᵀg̃z ≤ α l₁‖z‖², 2g̃ = G + 2τG'             5   the same with constant G: for all z at once

1, 2, 4 and 5 assert that one step maps the Euclidean ball into itself, which no step does with a holonomic constraint.
The theorems that replace them:

    A   V(0) ≤ l₁ε²,  V + τV̇ ≤ αV,  0 ≤ α < 1,  Ṽ ≤ (1−α) l₁ε²          along a run
    B   ‖I + τH‖_V ≤ ρ < 1,  ‖d‖_V ≤ D where V ≤ l₁ε²,  V(0) ≤ l₁ε²,  τ²D/(1−ρ) ≤ √l₁ ε     beforehand

Rounding is not part of any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy.optimize import brentq

from holdfast.common.frozen import Frozen
from holdfast.common.rounded import over, rounded_down, rounded_up, within
from holdfast.errors import BadRequest
from holdfast.stability.linear.shape import Array, positions_of
from holdfast.stability.theory.lyapunov import LyapunovFunction, LyapunovSeries

Word = Literal["yes", "no", "cannot hold"]

NEVER = (
    "with a holonomic constraint the row of y in I + τH is (1, …, τ, …), so ‖I + τH‖₂ ≥ √(1+τ²) > 1: for every choice "
    "of gains some z of the ball ‖z‖ ≤ ε leaves it in one step, even without defect"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a theorem says: yes (its hypotheses hold), no, or cannot hold (for any gains); `numbers` are its terms."""

    theorem: str
    word: Word
    why: str
    numbers: Mapping[str, float] = field(default_factory=Frozen)
    label: str = "checked"

    def __bool__(self) -> bool:
        return self.word == "yes"

    def __str__(self) -> str:
        return f"Theorem {self.theorem}: {self.word}, because {self.why} ({self.label})."


@dataclass(frozen=True, eq=False, kw_only=True)
class Record:
    """What the theorems look at: V, V̇, Ṽ and ‖z‖ at each step of an Euler run, and the constants of V."""

    step: float
    values: Array  # V(0) … V(S)
    derivatives: Array
    remainders: Array  # Ṽ(0) … Ṽ(S−1)
    norms: Array
    l1: float
    l2: float
    rate: float  # p
    l_prime: float
    positions: int  # m: how many y there are
    function: LyapunovFunction | None = None

    @classmethod
    def of_series(cls, series: LyapunovSeries, function: LyapunovFunction) -> Record:
        return cls(
            step=series.step,
            values=series.values,
            derivatives=series.derivatives,
            remainders=series.remainders,
            norms=series.norms,
            l1=function.l1,
            l2=function.l2,
            rate=function.rate,
            l_prime=function.l_prime,
            positions=positions_of(function.deviation_matrix),
            function=function,
        )

    @property
    def largest_remainder(self) -> float:
        return float(self.remainders.max())


def theorem_1(record: Record, tolerance: float, alpha: float = 0.5) -> Answer:
    """V + τV̇ ≤ α l₁‖z‖² and Ṽ ≤ (1−α) l₁ε² at every step."""
    return _ball("1", record, tolerance, alpha, _linear_part(record, alpha))


def theorem_4(record: Record, tolerance: float, alpha: float = 0.5) -> Answer:
    """zᵀg̃z ≤ α l₁‖z‖² at every step, 2g̃ = G + 2τG'; what is of third order counts in Ṽ."""
    return _ball("4", record, tolerance, alpha, _linear_part(record, alpha))


def _linear_part(record: Record, alpha: float) -> tuple[Array, str]:
    lacking = record.values + record.step * record.derivatives - alpha * record.l1 * record.norms**2
    return lacking[:-1], "V + τV̇ ≤ α l₁‖z‖²"


def theorem_2(record: Record, tolerance: float, alpha: float = 0.5) -> Answer:
    """τl' < l₂ ≤ αl₁ + τl': the step is bounded from below, by more than (l₂ − l₁)/l'."""
    reach = record.step * record.l_prime
    fails = np.array([0.0 if reach < record.l2 <= alpha * record.l1 + reach else 1.0])
    needs = _ratio(record.l2 - alpha * record.l1, record.l_prime)
    condition = f"τl' < l₂ ≤ αl₁ + τl', that is {needs:.4g} ≤ τ < {_ratio(record.l2, record.l_prime):.4g},"
    return _ball("2", record, tolerance, alpha, (fails, condition), {"least_step": needs})


def theorem_5(record: Record, tolerance: float, alpha: float = 0.5) -> Answer:
    """λ_max(g̃) ≤ α l₁ with 2g̃ = G + τ(GH + HᵀG), for all z at once."""
    if record.function is None:
        return Answer("5", "no", "V or the law does not have constant coefficients, which this theorem is for")
    G, slope = record.function.matrix, record.function.derivative_matrix
    largest = float(np.linalg.eigvalsh(G / 2 + record.step * slope)[-1])
    least = _ratio(1 - alpha * record.l1 / record.l2, record.rate)
    lacking = np.array([largest - alpha * record.l1])
    return _ball("5", record, tolerance, alpha, (lacking, "λ_max(g̃) ≤ α l₁"), {"largest": largest, "least_step": least})


def _ratio(above: float, below: float) -> float:
    return above / below if below > 0 else float("inf")


def _ball(
    name: str,
    record: Record,
    tolerance: float,
    alpha: float,
    condition: tuple[Array, str],
    numbers: Mapping[str, float] | None = None,
) -> Answer:
    """Theorems 1, 2, 4, 5: invariance of the Euclidean ball."""
    _check(tolerance, alpha)
    lacking, words = condition
    allowed = (1 - alpha) * record.l1 * tolerance**2
    shown = Frozen(
        {"alpha": alpha, "allowed": allowed, "largest_remainder": record.largest_remainder, **(numbers or {})}
    )
    broken = int((lacking > 0).sum())
    if not broken and record.norms[0] <= tolerance and record.largest_remainder <= allowed:
        return Answer(name, "yes", f"{words} and Ṽ ≤ (1−α) l₁ε² held at every step", shown)
    if broken and record.positions:
        where = (
            f" (here {words} fails at {broken} of {len(lacking)} steps)"
            if len(lacking) > 1
            else f" (here {words} fails)"
        )
        return Answer(name, "cannot hold", NEVER + where, shown)
    if broken:
        return Answer(name, "no", f"{words} fails at {broken} of {len(lacking)} steps", shown)
    if record.norms[0] > tolerance:
        return Answer(name, "no", f"the run starts at ‖z₀‖ = {over(record.norms[0], tolerance, ' ε = ')}", shown)
    return Answer(name, "no", f"Ṽ reaches {over(record.largest_remainder, allowed)}", shown)


def theorem_3(record: Record, tolerance: float, alpha: float | None = None) -> Answer:
    """V̇ ≤ −pV and Ṽ ≤ α l₁‖z₀‖², α < τp < 1; without α the least that serves is tried.

    It gives V(s) ≤ V(0), not V(s+1) ≤ V(s); printed with Ṽ ≤ α l₁ it is false.
    """
    start = float(record.norms[0])
    limit = tolerance * float(np.sqrt(record.l1 / record.l2))
    reach = record.step * record.rate
    unit = record.l1 * start**2
    needed = max(0.0, record.largest_remainder) / unit if unit else (np.inf if record.largest_remainder > 0 else 0.0)
    share = needed if alpha is None else alpha
    shown = Frozen({"alpha": share, "needed": needed, "tau_p": reach, "start": start, "start_limit": limit})
    if record.rate <= 0:
        return Answer("3", "no", f"V does not fall: p = {record.rate:.4g}", shown)
    if start > limit:
        return Answer("3", "no", f"the run starts at ‖z₀‖ = {over(start, limit, ' ε√(l₁/l₂) = ')}", shown)
    if not 0 <= share < reach < 1:
        return Answer("3", "no", f"0 ≤ α < τp < 1 fails: α = {share:.4g}, τp = {reach:.4g}", shown)
    if needed > share:
        return Answer("3", "no", f"Ṽ reaches {over(record.largest_remainder, share * unit, ' α l₁‖z₀‖² = ')}", shown)
    return Answer("3", "yes", "Ṽ ≤ α l₁‖z₀‖² held at every step", shown)


def theorem_a(record: Record, tolerance: float, alpha: float | None = None) -> Answer:
    """V(0) ≤ l₁ε², V + τV̇ ≤ αV and Ṽ ≤ (1−α) l₁ε² at every step; α = 1 − τp unless given."""
    reach = record.step * record.rate
    share = 1 - reach if alpha is None else alpha
    level = record.l1 * tolerance**2
    slack = (1 - share) * level - record.largest_remainder
    least = max(float(record.values[0]), record.largest_remainder / (1 - share) if share < 1 else np.inf)
    shown = Frozen(
        {
            "alpha": share,
            "slack": slack,
            "start": float(record.values[0]),
            "level": level,
            "least_tolerance": float(np.sqrt(max(least, 0.0) / record.l1)),
        }
    )
    if not 0 <= share < 1:
        return Answer("A", "no", f"α = {share:.4g} is not in [0, 1): the step is beyond 1/p, or V does not fall", shown)
    if record.values[0] > level:
        return Answer("A", "no", f"V(0) = {over(record.values[0], level, ' l₁ε² = ')}", shown)
    excess = record.values + record.step * record.derivatives - share * record.values
    if (excess[:-1] > 1e-12 * record.values[:-1]).any():
        return Answer("A", "no", f"V + τV̇ ≤ αV fails at {int((excess[:-1] > 0).sum())} steps", shown)
    if slack < 0:
        return Answer("A", "no", f"Ṽ reaches {over(record.largest_remainder, (1 - share) * level)}", shown)
    return Answer(
        "A", "yes", f"V + τV̇ ≤ αV and Ṽ ≤ (1−α) l₁ε² held at every step, with {rounded_down(slack, 4)} to spare", shown
    )


def theorem_b(
    function: LyapunovFunction,
    step: float,
    tolerance: float,
    defect: float,
    start: Array | None = None,
    label: str = "estimated",
) -> Answer:
    """ρ = ‖I + τH‖_V < 1 and τ²D/(1−ρ) ≤ √l₁ ε: a promise before the run, as good as its D.

    `defect` is D, a bound of ‖d‖_V where V ≤ l₁ε²; say in `label` whether it was estimated (sampled) or proved.
    """
    rho = function.contraction(step)
    allowed = float(np.sqrt(function.l1)) * tolerance
    radius = step**2 * defect / (1 - rho) if rho < 1 else np.inf
    begin = 0.0 if start is None else float(function.norm(start))
    shown = Frozen({"rho": rho, "defect": defect, "radius": radius, "allowed": allowed, "start": begin})
    if rho >= 1:
        return Answer("B", "no", f"the step does not contract: ρ = {rounded_up(rho, 6)}", shown, label)
    if begin > allowed:
        return Answer("B", "no", f"it starts at ‖z₀‖_V = {over(begin, allowed, ' √l₁ ε = ')}", shown, label)
    if radius > allowed:
        return Answer("B", "no", f"τ²D/(1−ρ) = {over(radius, allowed, ' √l₁ ε = ')}", shown, label)
    return Answer(
        "B", "yes", f"ρ = {rounded_up(rho, 6)} and τ²D/(1−ρ) = {within(radius, allowed, ' √l₁ ε = ')}", shown, label
    )


def largest_step_b(function: LyapunovFunction, tolerance: float, defect: Callable[[float], float]) -> float:
    """The largest τ that Theorem B accepts, for D as a function of the step; 0 if none is."""
    end = function.rate / function.kappa

    def lacking(step: float) -> float:
        rho = function.contraction(step)
        return step**2 * defect(step) - (1 - rho) * float(np.sqrt(function.l1)) * tolerance

    low, high = 1e-6 * end, (1 - 1e-9) * end
    if lacking(low) > 0:
        return 0.0
    return high if lacking(high) <= 0 else float(brentq(lacking, low, high, rtol=1e-10))


def all_theorems(record: Record, tolerance: float, alpha: float = 0.5) -> tuple[Answer, ...]:
    """Theorems 1 to 5 and A along one run."""
    answers = [theorem_1(record, tolerance, alpha), theorem_2(record, tolerance, alpha), theorem_3(record, tolerance)]
    answers += [theorem_4(record, tolerance, alpha), theorem_5(record, tolerance, alpha)]
    return (*answers, theorem_a(record, tolerance))


def _check(tolerance: float, alpha: float) -> None:
    if not tolerance > 0 or not 0 < alpha < 1:
        raise BadRequest(f"ε = {tolerance:g}, α = {alpha:g}", fix="ε > 0 and 0 < α < 1")
