"""Elementary functions of Taylor forms.

    f(a + δ) = Σ_{n≤N} f⁽ⁿ⁾(a)/n! δⁿ + rest,       |rest_j| ≤ F · [(D + |b|(s))^{N+1}]_j

with a the middle of the form, D a bound of what varies within the cell at s = 0, b the further powers of s, and F a
bound of f⁽ᴺ⁺¹⁾/(N+1)! over the cell. Coefficients at the middle and F come from python-flint's certified series
(`arb_series`), those of 1/x and √x from closed formulas.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import factorial, inf
from typing import Any

import numpy as np

from holdfast.stability.verifier.numbers.forms import GROWTH, LEAST, UNIT, Array, Form, convolved, undefined, where

BITS = 100


def applied(name: str, *operands: Form) -> Form:
    """A function of the problem file by name."""
    with np.errstate(all="ignore"):
        if name in ("abs", "sign"):
            return _sided(name, operands[0])
        if name in ("min", "max"):
            a, b = operands
            return (a + b + _sided("abs", a - b).scaled(1.0 if name == "max" else -1.0)).scaled(0.5)
        if name == "atan2":
            return _angle(*operands)
        return composed(operands[0], _series(name))


def divided(a: Form, b: Form) -> Form:
    return a * composed(b, _reciprocal)


def power(a: Form, exponent: int) -> Form:
    return a.raised(exponent)


def raised(a: Form, b: Form) -> Form:
    """a ** b for a positive a."""
    return applied("exp", applied("log", a) * b)


def _sided(name: str, a: Form) -> Form:
    low, high = a.range()
    if name == "abs":
        return where(low > 0, a, where(high < 0, -a, undefined(a)))
    one = Form.constant(a.space, np.ones(len(low)))
    return where(low > 0, one, where(high < 0, -one, undefined(a)))


def _angle(y: Form, x: Form) -> Form:
    """atan2 by the quotient that is defined; undefined across the jump."""
    flat, steep = composed(divided(y, x), _series("atan")), composed(divided(x, y), _series("atan"))
    low_x, high_x = x.range()
    low_y, high_y = y.range()
    half, slack = np.full(len(low_x), np.pi / 2), 2e-16
    up, down = (-steep).shifted(half, slack), (-steep).shifted(-half, slack)
    left = where(low_y > 0, flat.shifted(2 * half, 2 * slack), flat.shifted(-2 * half, 2 * slack))
    sure = where((high_x < 0) & ((low_y > 0) | (high_y < 0)), left, undefined(x))
    return where(low_x > 0, flat, where(low_y > 0, up, where(high_y < 0, down, sure)))


# ── composition ───────────────────────────────────────────────────────────────────────────────────

Coefficients = Callable[[Array, Array, int], tuple[Array, Array, Array]]
"""(middle, reach, N) -> coefficients 0..N at the middle (cells, N+1), their radii, and F over middle ± reach."""


def composed(a: Form, coefficients: Coefficients) -> Form:
    space = a.space
    middle = a.c[:, 0, 0]
    delta = Form(space, a.c.copy(), a.r)
    delta.c[:, 0, 0] = 0.0
    moving = bool(delta.c[:, :, 1:].any() or delta.r[:, 1:].any())
    count = space.depth + (space.terms - 1 if moving else 0)
    series = delta.bound()
    with np.errstate(all="ignore"):
        table, radii, last = coefficients(middle, series[:, 0] * GROWTH, count)
        total = Form.constant(space, table[:, count], radii[:, count])
        for n in reversed(range(count)):
            total = (total * delta).shifted(table[:, n], radii[:, n])
        rest, base, exponent = None, series, count + 1
        while exponent:
            if exponent & 1:
                rest = base if rest is None else convolved(rest, base)
            exponent >>= 1
            base = convolved(base, base)
        assert rest is not None
        total.r = (total.r + last[:, None] * rest * GROWTH) * GROWTH
    total.r[~np.isfinite(total.r)] = inf
    total.c[~np.isfinite(total.c)] = 0.0
    total.r[~np.isfinite(table).all(axis=1)] = inf
    return total


def _reciprocal(middle: Array, reach: Array, count: int) -> tuple[Array, Array, Array]:
    powers = np.arange(count + 2)
    values = (-1.0) ** powers / middle[:, None] ** (powers + 1)
    least = np.abs(middle) - reach
    bound = np.where(least > 0, 1 / np.maximum(least, LEAST) ** (count + 2), inf)
    return values[:, :-1], 4 * (count + 3) * UNIT * np.abs(values[:, :-1]), bound * GROWTH


def _root(middle: Array, reach: Array, count: int) -> tuple[Array, Array, Array]:
    factors = [Fraction(1)]
    for n in range(count + 1):
        factors.append(factors[-1] * (Fraction(1, 2) - n) / (n + 1))
    share = np.array([float(x) for x in factors])
    inside = np.where(middle > 0, middle, np.nan)
    values = share * np.sqrt(inside)[:, None] / inside[:, None] ** np.arange(count + 2)
    least = np.where(middle - reach > 0, middle - reach, 0.0)
    bound = np.where(least > 0, abs(share[-1]) * np.sqrt(least) / np.maximum(least, LEAST) ** (count + 1), inf)
    return values[:, :-1], 4 * (count + 3) * UNIT * np.abs(values[:, :-1]), bound * GROWTH


def _sine(phase: int) -> Coefficients:
    """sin (phase 0) and cos (phase 1): certified values at the middle, derivatives that never exceed 1."""

    def found(middle: Array, reach: Array, count: int) -> tuple[Array, Array, Array]:
        import flint

        before, flint.ctx.prec = flint.ctx.prec, BITS
        try:
            both = [flint.arb(float(x)).sin_cos() if np.isfinite(x) else (None, None) for x in middle]
        finally:
            flint.ctx.prec = before
        sine = np.array([np.nan if s is None else float(s.mid()) for s, _ in both])
        cosine = np.array([np.nan if c is None else float(c.mid()) for _, c in both])
        cycle = [sine, cosine, -sine, -cosine]
        table = np.array([cycle[(n + phase) % 4] / factorial(n) for n in range(count + 1)]).T
        radii = np.array([np.full(len(middle), 4 * UNIT / factorial(n)) for n in range(count + 1)]).T
        return table, radii, np.full(len(middle), GROWTH / factorial(count + 1))

    return found


def _series(name: str) -> Coefficients:
    if name == "sqrt":
        return _root
    if name in ("sin", "cos"):
        return _sine(int(name == "cos"))
    return _certified(name)


def _certified(name: str) -> Coefficients:
    """Taylor coefficients from flint, cell by cell."""

    def found(middle: Array, reach: Array, count: int) -> tuple[Array, Array, Array]:
        import flint

        table, radii = np.full((len(middle), count + 1), np.nan), np.zeros((len(middle), count + 1))
        last = np.full(len(middle), inf)
        before, flint.ctx.prec, cap, flint.ctx.cap = flint.ctx.prec, BITS, flint.ctx.cap, count + 2
        try:
            for i, (x, d) in enumerate(zip(middle.tolist(), reach.tolist(), strict=True)):
                if not np.isfinite(x + d):
                    continue
                at = _flint(name, flint.arb(x), flint)
                over = _flint(name, flint.arb(x).union(flint.arb(x - d)).union(flint.arb(x + d)), flint)
                if at is None or over is None:
                    continue
                for n in range(count + 1):
                    table[i, n] = float(at[n].mid())
                    radii[i, n] = float(at[n].rad()) * GROWTH + 4 * UNIT * abs(table[i, n]) + LEAST
                end = over[count + 1]
                last[i] = float(end.abs_upper()) * GROWTH + LEAST if end.is_finite() else inf
        finally:
            flint.ctx.prec, flint.ctx.cap = before, cap
        return table, radii, last

    return found


def _flint(name: str, x: Any, flint: Any) -> Any:
    """The series of a function at a ball; None where it is not defined."""
    series = flint.arb_series([x, 1])
    try:
        if name in ("sinh", "cosh", "tanh"):
            up = series.exp()
            down = 1 / up
            total = {"sinh": up - down, "cosh": up + down}.get(name)
            return (up - down) / (up + down) if total is None else total / 2
        found = getattr(series, name)()
        whole = found.prec >= flint.ctx.cap  # a series that lost terms reads 0 beyond them
        return found if whole and all(found[n].is_finite() for n in range(flint.ctx.cap)) else None
    except (ValueError, ZeroDivisionError):
        return None
