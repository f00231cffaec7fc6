"""The error of our own sine, cosine, exponential and logarithm, proved for every double of their ordinary range.

Each value is x̂ = x(1 + δ) in a chain of operations with |δ| ≤ u = 2⁻⁵³ each, so that a bound of the result follows from
bounds of the parts (running error analysis, here in balls over small pieces of the reduced argument). What the
polynomials miss of the functions is enclosed as the difference of their coefficients, which is small, over the same
pieces. Reductions are exact where the comments say so.
"""

from fractions import Fraction
from math import factorial

import flint
import numpy as np
import pytest

from holdfast.engine.emit import elementary as own
from holdfast.engine.forms.functions import ELEMENTARY
from holdfast.engine.forms.rounding import ELEMENTARY_OPERATION
from holdfast.graph.arithmetics.balls import precision
from holdfast.graph.arithmetics.rounded_balls import FUNCTION

U = Fraction(1, 2**53)
TERMS = 24  # of the series: all that follow are together less than the next power, over TERMS! where that is said
IN_UNITS = 8  # of u = 2⁻⁵³: what proofs take, 2⁻⁵⁰ (`ELEMENTARY_OPERATION`, `FUNCTION`)
SINE = [own.S1, own.S2, own.S3, own.S4, own.S5, own.S6]
COSINE = [own.C1, own.C2, own.C3, own.C4, own.C5, own.C6]
LOG = [own.L1, own.L2, own.L3, own.L4, own.L5, own.L6, own.L7]
EXP = [0.5, 0.16666666666666666, 0.041666666666666664, 0.008333333333333333, 0.001388888888888889,
       0.0001984126984126984, 2.48015873015873e-05, 2.7557319223985893e-06, 2.755731922398589e-07,
       2.505210838544172e-08, 2.08767569878681e-09, 1.6059043836821613e-10]  # fmt: skip


@pytest.fixture(autouse=True)
def bits():
    with precision(200):
        yield


def arb(x):
    fraction = Fraction(x)
    return flint.arb(flint.fmpq(fraction.numerator, fraction.denominator))


def between(low, high):
    middle, half = (Fraction(low) + Fraction(high)) / 2, (Fraction(high) - Fraction(low)) / 2
    return arb(middle) + arb(half) * flint.arb(0, 1)


def pieces(high, count):
    return [between(Fraction(high) * k / count, Fraction(high) * (k + 1) / count) for k in range(count)]


class Known:
    """A value over a piece, and a bound of what the computed one misses of it."""

    def __init__(self, value, error=0):
        self.value, self.error = value, flint.arb(error) if isinstance(error, int) else error

    def rounded(self):
        return Known(self.value, (self.error + arb(U) * (abs(self.value).abs_upper() + self.error)).abs_upper())


def size(known):
    return known.value.abs_upper()


def times(a, b):
    return Known(a.value * b.value, size(a) * b.error + size(b) * a.error + a.error * b.error)


def plus(a, b):
    return Known(a.value + b.value, a.error + b.error)


def minus(a, b):
    return Known(a.value - b.value, a.error + b.error)


def product(a, b):
    return times(a, b).rounded()


def fused(a, b, c):
    """fma: one rounding."""
    return plus(times(a, b), c).rounded()


def exact(x):
    return Known(arb(x))


def horner(z, coefficients):
    total = exact(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = fused(z, total, exact(c))
    return total


def missed(coefficients, truth, z, tail):
    """Σ (c_k − t_k) z^k over a piece, expanded at its middle, and what the series has beyond all these."""
    middle = z.mid()
    row = [arb(c) - arb(t) for c, t in zip([*coefficients, *[0] * len(truth)], truth, strict=False)]
    for low in range(len(row)):  # Taylor's shift
        for k in reversed(range(low, len(row) - 1)):
            row[k] += middle * row[k + 1]
    total = flint.arb(0)
    for c in reversed(row):
        total = total * (z - middle) + c
    return total + tail.abs_upper() * flint.arb(0, 1)


HALF_QUARTER = Fraction(7854, 10000)  # above π/4 and what the rounding of k leaves beyond it


def test_the_argument_of_sine_and_cosine_is_reduced_to_two_roundings():
    """x − k HALF_PI_1 is exact: a multiple of 2⁻⁵³ below 1 (k ≠ 0 needs |x| > 1/2, whose last place is no less)."""
    half_pi = flint.arb.pi() / 2
    parts = [arb(own.HALF_PI_1), arb(own.HALF_PI_2), arb(own.HALF_PI_3)]
    left = abs(half_pi - sum(parts, flint.arb(0))).abs_upper()
    assert Fraction(own.HALF_PI_1).denominator <= 2**52
    nearest = nearest_to_a_quarter_turn()
    assert nearest > 1e-19
    k = arb(2**30)
    assert float(k * left) < 1e-20 * 1e-19 * 1e3  # what three parts miss of π/2
    # r̂ = fl(fl(x − k P₁ − k P₂) − k P₃): the first is exact, the others are wrong by u of themselves
    middle = 1 + float(k * abs(parts[2])) / nearest
    assert (1 + 2.0**-53) * middle * 2.0**-53 + 2.0**-53 + float(k * left) / nearest < 2.2 * 2.0**-53


def nearest_to_a_quarter_turn():
    """The least |x − k π/2| over doubles 1/2 < |x| ≤ 2³⁰ and whole k ≠ 0: by convergents of π/2 in last places."""
    least = 1.0
    for exponent in range(-1, 31):
        place = Fraction(2) ** (exponent - 52)  # of doubles in [2^e, 2^(e+1))
        most = 2 ** (exponent + 1)  # k at most, and more
        with precision(500):
            ratio = flint.arb.pi() / 2 / arb(place)
            x, before, last = ratio, (1, 0), (0, 1)  # (p, q) of the convergents
            best = None
            while True:
                whole = int(float(x.floor())) if float(x.abs_upper()) < 2**53 else int(x.floor().unique_fmpz())
                before, last = (whole * before[0] + last[0], whole * before[1] + last[1]), before
                if before[1] > most:
                    break
                best = before
                x = 1 / (x - whole)
            p, q = best if best[1] else (int(ratio.floor().unique_fmpz()), 1)
            off = abs(arb(q) * ratio - arb(p)) * arb(place)
            least = min(least, float(off.abs_lower()))
    return least


def test_sine_and_cosine_of_the_reduced_argument():
    """Over |r| ≤ π/4: sin as r (1 + z S(z)), in units of r; cos as 1 − z/2 + z² C(z)."""
    sine, cosine = 0.0, 0.0
    series = [Fraction((-1) ** (k + 1), factorial(2 * k + 3)) for k in range(TERMS)]
    other = [Fraction((-1) ** k, factorial(2 * k + 4)) for k in range(TERMS)]
    off, one = arb(Fraction(22, 10) * U), exact(1)  # off: of r, from its reduction
    for r in pieces(HALF_QUARTER, 800):
        z, square = product(Known(r), Known(r)), r * r
        s = fused(z.rounded(), horner(z, SINE), one)  # z r is rounded once more
        short = square * missed(SINE, series, square, square**TERMS / factorial(TERMS))
        least = 1 - square.abs_upper() / 6  # of sin r / r; and r cot r ≤ 1
        sine = max(sine, float(((s.error + size(Known(short))) / least + off).abs_upper()))
        half = Known(square / 2, z.error / 2)
        rest = minus(one, half).rounded()
        low = Known(flint.arb(0), rest.error)  # (1 − rest) − half: exactly what rest is wrong by
        inner = fused(product(z, z), horner(z, COSINE), low)
        c = plus(Known(rest.value, half.error), inner).rounded()
        short = square * square * missed(COSINE, other, square, square**TERMS / factorial(TERMS))
        least = r.cos().abs_lower()
        moved = off * r.abs_upper() * r.sin().abs_upper()
        cosine = max(cosine, float(((c.error + size(Known(short)) + moved) / least).abs_upper()))
    assert 1 < sine / 2.0**-53 < IN_UNITS
    assert 1 < cosine / 2.0**-53 < IN_UNITS


def test_the_exponential():
    """x − k LN2 is exact (a multiple of 2⁻⁵⁴ below 1/2); then one rounding, and e^r by its series to r¹³."""
    ln2 = flint.arb(2).log()
    left = abs(ln2 - arb(own.LN2) - arb(own.LN2_REST)).abs_upper()
    reach = Fraction(34658, 100000)
    assert float(ln2 / 2) + 708 * 2.0**-50 < reach
    truth = [Fraction(1, factorial(k + 2)) for k in range(TERMS)]
    worst = 0.0
    for r in [*pieces(reach, 300), *(-x for x in pieces(reach, 300))]:
        p = horner(Known(r), EXP)
        rest = fused(product(Known(r), Known(r)), p, Known(r))
        value = plus(Known(flint.arb(1)), rest).rounded()
        off = r * r * missed(EXP, truth, r, r**TERMS / factorial(TERMS))
        moved = arb(U) * r.abs_upper() * arb(Fraction(11, 10)) + 1023 * left  # of r, from its reduction
        least = r.exp().abs_lower()
        found = (value.error + abs(off).abs_upper()) / least + moved * arb(Fraction(11, 10))
        worst = max(worst, float(found.abs_upper()))
    assert 1 < worst / 2.0**-53 < IN_UNITS


@pytest.mark.prove
def test_the_logarithm():
    """log(1 + f) = f − (f²/2 − s (f²/2 + R)) with s = f/(2 + f); f is exact, and so is k LN2_SHORT."""
    truth = [Fraction(2, 2 * k + 3) for k in range(TERMS)]
    assert Fraction(own.LN2_SHORT).numerator.bit_length() <= 33
    ln2 = flint.arb(2).log()
    left = abs(ln2 - arb(own.LN2_SHORT) - arb(own.LN2_SHORT_REST)).abs_upper()
    low, high = Fraction(-2929, 10000), Fraction(4143, 10000)
    places = [between(low + (high - low) * k / 1400, low + (high - low) * (k + 1) / 1400) for k in range(1400)]
    worst = 0.0
    for f in places:
        s_value = f / (2 + f)
        below = plus(exact(2), Known(f)).rounded()
        least = (2 + f).abs_lower()
        s = Known(s_value, (s_value.abs_upper() * below.error / (least - below.error)).abs_upper())
        s = s.rounded().rounded()  # a quotient may be a reciprocal and a product
        z = product(s, s)
        series = product(z, horner(z, LOG))
        half = product(product(exact(0.5), Known(f)), Known(f))
        square = s_value * s_value
        short = square * missed(LOG, truth, square, square**TERMS)  # of R
        for k in (0, 1, -1, 2, -2, 40, -40, 1023, -1074):
            small = product(exact(k), exact(own.LN2_SHORT_REST)) if k else Known(flint.arb(0))
            inner = fused(s, plus(half, series).rounded(), small)
            first = minus(half, inner).rounded()
            second = minus(first, Known(f)).rounded()
            value = minus(exact(Fraction(k) * Fraction(own.LN2_SHORT)), second).rounded()
            error = value.error + size(Known(s_value * short)) + abs(k) * left
            if k:
                least_log = (k * ln2 + (1 + f).log()).abs_lower()
                relative = error / least_log
            else:  # in units of f, which is exact: |log(1 + f)| ≥ 0.8 |f|
                relative = _near_one(f, short)
            worst = max(worst, float(relative.abs_upper()))
    assert 1 < worst / 2.0**-53 < IN_UNITS


def _near_one(f, short):
    """k = 0: every term has a factor f, so that all is taken in units of it."""
    unit = 1 / (2 + f)
    s = Known(unit, unit.abs_upper() * arb(4 * U))  # of 2 + f, and of a quotient in two parts
    whole = Known(f * unit, f.abs_upper() * s.error)
    z = product(whole, whole)
    series = product(z, horner(z, LOG))
    half = Known(f / 2).rounded()
    sum_of_both = plus(Known(f * f / 2, f.abs_upper() * half.error), series).rounded()
    first = minus(half, times(s, sum_of_both).rounded()).rounded()
    value = minus(exact(1), first).rounded()
    return (value.error + size(Known(unit * short))) / arb(Fraction(8, 10))  # |log(1 + f)| ≥ 0.8 |f|


def test_the_reach_of_doubles_that_are_reduced_is_that_of_the_code():
    assert own.TRIG_LIMIT == 2.0**30
    assert own.EXP_LIMIT == 708.0
    assert min(ELEMENTARY_OPERATION, FUNCTION, ELEMENTARY) >= IN_UNITS * 2.0**-53
    assert np.float64(own.TRIG_LIMIT) * own.TWO_OVER_PI < 2**30
