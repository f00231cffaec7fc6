"""Verdicts with a reason: truthy or not, under a condition, within a scope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import sympy as sp

from holdfast.equations.writing.factors import in_factors
from holdfast.problem.functions import FunctionValue
from holdfast.problem.quantities import time
from holdfast.structure.algebra.normal_form import tidied
from holdfast.structure.conditions.second_order import SecondOrder

SAMPLES = 400  # random states at which the power of D is looked at
GLOBALLY, LOCALLY = "globally", "locally"


@dataclass(frozen=True)
class FormVerdict:
    """Yes or no, and what must be known with it.

    `condition` is an inequality the answer depends on (empty if none), `scope` "globally" or "locally", `why` the
    reason in words, `evidence` how it is known: "symbolic" or "random points".
    """

    value: bool
    why: str
    condition: str = ""
    scope: str = GLOBALLY
    evidence: str = "symbolic"

    def __bool__(self) -> bool:
        return self.value

    def __str__(self) -> str:
        answer = "yes" if self.value else "no"
        under = f" if {self.condition}" if self.condition and self.value else ""
        place = f", {self.scope}" if self.value and self.scope != GLOBALLY else ""
        known = " (by random points)" if self.evidence != "symbolic" else ""
        return f"{answer}{under}{place}{known}: {self.why}"


def dissipative(D: sp.Expr, s: sp.Matrix, system: SecondOrder, *, strict: bool) -> FormVerdict:
    """Whether the power v·∂D/∂v that D takes is never negative."""
    if not strict:
        return FormVerdict(False, "D has terms linear in the rates, whose power changes sign with the motion")
    if D == 0 or not D.has(*system.v):
        return FormVerdict(True, "D = 0: nothing is lost and nothing gained")
    power = sp.Add(*(u * sp.diff(D, u) for u in system.v))
    seen = counterexample(power, system)
    if not s.has(*system.v) and not D.has(sp.Integral):
        return _quadratic(s, system, seen)
    if seen:
        return FormVerdict(False, f"the power of D is negative at {seen}")
    shown = tidied(power)
    if shown.is_nonnegative:
        return FormVerdict(True, "the power v·∂D/∂v is nowhere negative")
    return FormVerdict(True, f"the power v·∂D/∂v was not negative at {SAMPLES} random states", evidence="random points")


def _quadratic(s: sp.Matrix, system: SecondOrder, seen: str) -> FormVerdict:
    """For quadratic D: s ⪰ 0, by its principal minors."""
    conditions: list[sp.Expr] = []
    for minor in _principal_minors(s):
        left = _without_squares(minor)
        if left.is_nonnegative:
            continue
        if left.is_negative:
            return FormVerdict(False, f"D is indefinite: a principal minor of s = D_vv is {tidied(minor)} < 0")
        conditions.append(left)
    depending = [c for c in conditions if c.has(*system.q, time)]
    if depending and seen:
        return FormVerdict(False, f"D is indefinite: its power is negative at {seen}")
    texts = list(dict.fromkeys(f"{c} >= 0" for c in conditions))
    text = " and ".join(texts)
    known = _known(conditions, system)
    if known is not None:
        word = "positive semidefinite" if known else "indefinite or negative"
        return FormVerdict(known, f"s = D_vv is {word} at the stated parameters", condition=text)
    if not texts:
        return FormVerdict(True, "s = D_vv is positive semidefinite")
    evidence = "random points" if depending else "symbolic"
    return FormVerdict(True, "s = D_vv is positive semidefinite", condition=text, evidence=evidence)


def _known(conditions: Sequence[sp.Expr], system: SecondOrder) -> bool | None:
    """Whether the conditions hold at the stated values, where these decide them."""
    values = [c.subs(system.values) for c in conditions]
    if not conditions or not system.values or any(value.free_symbols for value in values):
        return None
    return all(bool(value >= 0) for value in values)


def _principal_minors(s: sp.Matrix) -> list[sp.Expr]:
    places = [k for k in range(s.rows) if any(s.row(k)) or any(s.col(k))]
    return [
        tidied(s.extract(list(rows), list(rows)).det(method="berkowitz"))
        for size in range(1, min(len(places), 4) + 1)
        for rows in combinations(places, size)
    ]


def _without_squares(e: sp.Expr) -> sp.Expr:
    """The factors that decide the sign: squares and positive factors left out."""
    try:
        factored = in_factors(e)
    except sp.PolynomialError:
        factored = e
    kept: list[sp.Expr] = []
    for factor in sp.Mul.make_args(factored):
        base, exponent = factor.as_base_exp()
        if factor.is_positive or base.is_nonnegative or (exponent.is_Integer and exponent % 2 == 0 and base.is_real):
            continue
        odd = exponent.is_Integer and exponent % 2 == 1
        kept.append(base if odd and exponent > 0 else factor)
    return sp.Mul(*kept)


def counterexample(power: sp.Expr, system: SecondOrder) -> str:
    """A state at which the power is negative, in words; empty if none of many random states shows one."""
    if power.atoms(FunctionValue):
        return ""  # its sign is a matter of the functions that are not given
    if power.has(sp.Integral):
        return _slow_counterexample(power, system)
    symbols = sorted(power.free_symbols, key=lambda s: s.name)
    function = sp.lambdify(symbols, power, "numpy")
    shake = np.random.default_rng(7)
    columns = [_column(s, system, shake, SAMPLES) for s in symbols]
    with np.errstate(all="ignore"):
        found = np.broadcast_to(np.real(function(*columns)), (SAMPLES,))
    size = np.nanmax(np.abs(found), initial=0.0) if np.isfinite(found).any() else 0.0
    below = np.flatnonzero(found < -1e-9 * size)
    if not below.size:
        return ""
    k = int(below[0])
    moving = [(s, c) for s, c in zip(symbols, columns, strict=True) if s in (*system.q, *system.v)]
    return ", ".join(f"{s.name} = {c[k]:.3g}" for s, c in moving) or "every state"


def _slow_counterexample(power: sp.Expr, system: SecondOrder) -> str:
    from holdfast.structure.algebra.quadrature import function_of

    symbols = sorted(power.free_symbols, key=lambda s: s.name)
    function, shake = function_of(power, symbols), np.random.default_rng(7)
    for _ in range(20):
        numbers = [float(_column(s, system, shake, 1)[0]) for s in symbols]
        try:
            if function(*numbers) < -1e-12:
                return ", ".join(f"{s.name} = {x:.3g}" for s, x in zip(symbols, numbers, strict=True))
        except (ValueError, ZeroDivisionError, OverflowError):
            continue
    return ""


def _column(s: sp.Symbol, system: SecondOrder, shake: np.random.Generator, count: int) -> np.ndarray:
    """Random values of one quantity: parameters at their values or positive, coordinates and rates of either sign."""
    if s in system.values:
        return np.full(count, float(system.values[s]))
    if s in system.q:
        base = float(system.near.get(s, 0))
        return base + (1 + abs(base)) * shake.uniform(-0.95, 0.95, count)
    if s in system.v:
        return shake.uniform(-0.95, 0.95, count)
    return shake.uniform(0.2, 1.2, count)
