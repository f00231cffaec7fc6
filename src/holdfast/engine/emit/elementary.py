"""sin, cos, exp, log, pow, sinh, cosh and tanh, written once in the driver language; within 2 ulp of the truth.

(Where it was measured; sin, cos, exp and log are proved to be within 2.4: tests/engine/test_elementary_error.py.)
Each is free of branches where arguments are ordinary, so lanes of a vector go through it together. What is left (huge
arguments, zeros, infinities, nan, results near overflow) is asked of the system's library, lane by lane, so that one
lane and many agree to the last bit. Polynomials for sin, cos and log are those of fdlibm (Sun Microsystems, 1993).
"""

from __future__ import annotations

import math
from fractions import Fraction

from holdfast.engine.drivers.language import (
    Real,
    Reals,
    absolute,
    bits,
    copy_sign,
    fma,
    of_bits,
    quotient,
    rarely,
    select,
    smaller,
)

MAGIC = 6755399441055744.0  # 1.5·2⁵²: adding it rounds to a whole number, found in the low bits
MAGIC_BITS = bits(MAGIC)
TRIG_LIMIT = 1073741824.0  # 2³⁰
EXP_LIMIT = 708.0
SMALLEST_NORMAL = 2.2250738585072014e-308
LARGEST = 1.7976931348623157e308

TWO_OVER_PI = 0.6366197723675814
HALF_PI_1 = 1.5707963267948966  # π/2 in three parts
HALF_PI_2 = 6.123233995736766e-17
HALF_PI_3 = -1.4973849048591833e-33

S1, S2, S3 = -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04
S4, S5, S6 = 2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10
C1, C2, C3 = 4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05
C4, C5, C6 = -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11

LOG2_E = 1.4426950408889634
LN2 = 0.6931471805599453
LN2_REST = 2.3190468138462996e-17
LN2_SHORT = 6.93147180369123816490e-01  # 33 bits: whole multiples are exact
LN2_SHORT_REST = 1.90821492927058770002e-10
SQRT_HALF_BITS = bits(math.sqrt(0.5))

L1, L2, L3, L4 = 6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01
L5, L6, L7 = 1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01

TWO_THIRDS = 2 / 3
TWO_THIRDS_REST = float(Fraction(2, 3) - Fraction(2 / 3))


def sine_cosine(x: Real, pair: Reals) -> None:
    """x = k π/2 + r, |r| <= π/4; the quadrant k says which of ±sin r, ±cos r is meant."""
    shifted = fma(x, TWO_OVER_PI, MAGIC)
    quadrant = bits(shifted)
    k = shifted - MAGIC
    nearly = fma(-k, HALF_PI_2, fma(-k, HALF_PI_1, x))
    r = fma(-k, HALF_PI_3, nearly)
    z = r * r
    s = fma(z, fma(z, fma(z, fma(z, fma(z, S6, S5), S4), S3), S2), S1)
    s = copy_sign(fma(z * r, s, r), nearly)  # keeps the sign of a zero
    half = 0.5 * z
    rest = 1.0 - half
    c = fma(z, fma(z, fma(z, fma(z, fma(z, C6, C5), C4), C3), C2), C1)
    c = rest + fma(z * z, c, (1.0 - rest) - half)
    odd = (quadrant & 1) != 0
    sine = select(odd, c, s)
    cosine = select(odd, s, c)
    sine = select((quadrant & 2) != 0, -sine, sine)
    cosine = select(((quadrant + 1) & 2) != 0, -cosine, cosine)
    huge = absolute(x) > TRIG_LIMIT
    if rarely(huge):
        sine = select(huge, library_sin(x), sine)
        cosine = select(huge, library_cos(x), cosine)
    pair[0] = sine
    pair[1] = cosine


def exponential_rest(r: Real) -> Real:
    """e^r - 1 = r + r² (1/2! + r/3! + ...) for |r| <= ln(2)/2."""
    p = fma(r, 1.6059043836821613e-10, 2.08767569878681e-09)  # 1/13!, 1/12!
    p = fma(r, fma(r, fma(r, p, 2.505210838544172e-08), 2.755731922398589e-07), 2.7557319223985893e-06)
    p = fma(r, fma(r, fma(r, p, 2.48015873015873e-05), 0.0001984126984126984), 0.001388888888888889)
    p = fma(r, fma(r, fma(r, fma(r, p, 0.008333333333333333), 0.041666666666666664), 0.16666666666666666), 0.5)
    return fma(r * r, p, r)


def exponential(x: Real) -> Real:
    """e^x = 2^k e^r with x = k ln 2 + r."""
    shifted = fma(x, LOG2_E, MAGIC)
    k = shifted - MAGIC
    r = fma(-k, LN2_REST, fma(-k, LN2, x))
    value = of_bits(bits(1.0 + exponential_rest(r)) + (bits(shifted) << 52))
    odd = not (absolute(x) < EXP_LIMIT)
    if rarely(odd):
        value = select(odd, library_exp(x), value)
    return value


def logarithm(x: Real) -> Real:
    """log x = k ln 2 + log(1 + f) with x = 2^k (1 + f), √½ <= 1 + f < √2."""
    word = bits(x)
    shift = (word - SQRT_HALF_BITS) >> 52
    k = of_bits(shift + MAGIC_BITS) - MAGIC
    f = of_bits(word - (shift << 52)) - 1.0
    s = quotient(f, 2.0 + f)
    z = s * s
    series = z * fma(z, fma(z, fma(z, fma(z, fma(z, fma(z, L7, L6), L5), L4), L3), L2), L1)
    half = 0.5 * f * f
    value = k * LN2_SHORT - ((half - fma(s, half + series, k * LN2_SHORT_REST)) - f)
    odd = not ((x >= SMALLEST_NORMAL) and (x <= LARGEST))
    if rarely(odd):
        value = select(odd, library_log(x), value)
    return value


def general_power(x: Real, y: Real) -> Real:
    """x^y = e^(y log x), the logarithm and the product carried in two doubles.

    log m = 2s + s³ (2/3 + 2s²/5 + ...),   s = (m - 1)/(m + 1),   x = 2^k m
    """
    word = bits(x)
    shift = (word - SQRT_HALF_BITS) >> 52
    k = of_bits(shift + MAGIC_BITS) - MAGIC
    m = of_bits(word - (shift << 52))
    below = m + 1.0
    s = quotient(m - 1.0, below)
    s_rest = quotient(fma(-s, below, m - 1.0) - s * (m - (below - 1.0)), below)
    z = s * s
    z_rest = fma(s, s, -z) + 2.0 * s * s_rest
    q = fma(z, fma(z, 0.07407407407407407, 0.08), 0.08695652173913043)  # 2/27, 2/25, 2/23
    q = fma(z, fma(z, fma(z, q, 0.09523809523809523), 0.10526315789473684), 0.11764705882352941)
    q = fma(z, fma(z, fma(z, q, 0.13333333333333333), 0.15384615384615385), 0.18181818181818182)
    q = fma(z, fma(z, fma(z, q, 0.2222222222222222), 0.2857142857142857), 0.4) * z
    w = TWO_THIRDS + q
    w_rest = (TWO_THIRDS - w) + q + TWO_THIRDS_REST
    cube = s * z
    cube_rest = fma(s, z, -cube) + s * z_rest + s_rest * z
    tail = cube * w
    tail_rest = fma(cube, w, -tail) + cube * w_rest + cube_rest * w
    whole = k * LN2_SHORT
    first = whole + 2.0 * s
    second = first + tail
    rest = (2.0 * s - (first - whole)) + (tail - (second - first))
    rest = rest + 2.0 * s_rest + tail_rest + k * LN2_SHORT_REST
    log = second + rest
    log_rest = rest - (log - second)
    exponent = y * log
    exponent_rest = fma(y, log, -exponent) + y * log_rest
    shifted = fma(exponent, LOG2_E, MAGIC)
    j = shifted - MAGIC
    r = fma(-j, LN2_REST, fma(-j, LN2, exponent)) + exponent_rest
    value = of_bits(bits(1.0 + exponential_rest(r)) + (bits(shifted) << 52))
    odd = not ((x >= SMALLEST_NORMAL) and (x <= LARGEST) and (absolute(exponent) < EXP_LIMIT))
    if rarely(odd):
        value = select(odd, library_pow(x, y), value)
    return value


def hyperbolic_sine(x: Real) -> Real:
    """sinh x = (e^|x| - e^-|x|)/2; below 1 the series x + x³/3! + ..."""
    e = exponential(smaller(absolute(x), 700.0))
    z = x * x
    series = fma(z, fma(z, 8.22063524662433e-18, 2.8114572543455206e-15), 7.647163731819816e-13)  # 1/19!, 1/17!, 1/15!
    series = fma(z, fma(z, series, 1.6059043836821613e-10), 2.505210838544172e-08)
    series = fma(z, fma(z, fma(z, series, 2.7557319223985893e-06), 0.0001984126984126984), 0.008333333333333333)
    near = fma(x * z, fma(z, series, 0.16666666666666666), x)
    value = copy_sign(select(absolute(x) < 1.0, near, 0.5 * e - quotient(0.5, e)), x)
    huge = absolute(x) > 700.0
    if rarely(huge):
        value = select(huge, library_sinh(x), value)
    return value


def hyperbolic_cosine(x: Real) -> Real:
    """cosh x = (e^|x| + e^-|x|)/2."""
    e = exponential(smaller(absolute(x), 700.0))
    value = 0.5 * e + quotient(0.5, e)
    huge = absolute(x) > 700.0
    if rarely(huge):
        value = select(huge, library_cosh(x), value)
    return value


def hyperbolic_tangent(x: Real) -> Real:
    """tanh x = 1 - 2/(e^(2|x|) + 1), which is 1 beyond 30; below 0.625 Moshier's quotient of polynomials in x²."""
    e = exponential(2.0 * smaller(absolute(x), 30.0))
    z = x * x
    above = fma(z, fma(z, -9.64399179425052238628e-1, -9.92877231001918586564e1), -1.61468768441708447952e3)
    below = fma(z, fma(z, z + 1.12811678491632931402e2, 2.23548839060100448583e3), 4.84406305325125486048e3)
    near = fma(x * z, quotient(above, below), x)
    return copy_sign(select(absolute(x) < 0.625, near, 1.0 - quotient(2.0, e + 1.0)), x)


# The system's library, lane by lane.


def library_sin(x: Real) -> Real:
    return math.sin(x) if math.isfinite(x) else math.nan


def library_cos(x: Real) -> Real:
    return math.cos(x) if math.isfinite(x) else math.nan


def library_exp(x: Real) -> Real:
    return math.exp(x) if x < 709.8 else math.inf


def library_log(x: Real) -> Real:
    return math.log(x) if x > 0 else (-math.inf if x == 0 else math.nan)


def library_pow(x: Real, y: Real) -> Real:
    return math.pow(x, y)


def library_sinh(x: Real) -> Real:
    return math.sinh(x)


def library_cosh(x: Real) -> Real:
    return math.cosh(x)


LIBRARY = {"sin": 1, "cos": 1, "exp": 1, "log": 1, "pow": 2, "sinh": 1, "cosh": 1}
LIBRARY |= {"tan": 1, "asin": 1, "acos": 1, "atan": 1, "atan2": 2}  # these are always asked of it
NEEDS = {  # the function of each operation, and what must be written before it
    "sin": (sine_cosine,),
    "cos": (sine_cosine,),
    "exp": (exponential_rest, exponential),
    "log": (logarithm,),
    "pow": (exponential_rest, general_power),
    "sinh": (exponential_rest, exponential, hyperbolic_sine),
    "cosh": (exponential_rest, exponential, hyperbolic_cosine),
    "tanh": (exponential_rest, exponential, hyperbolic_tangent),
}
CONSTANTS = {name: value for name, value in globals().items() if name.isupper() and isinstance(value, int | float)}
