"""The largest deviation of the simplest laws, in closed form.

y'' + 2ζω y' + ω² y = 0 overshoots for every ζ, equal roots or not; nothing special happens at ζ = 1. An m-fold root
lets the response to a kick of the highest derivative grow as t^(m−1) before it decays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from holdfast.errors import BadRequest


@dataclass(frozen=True, slots=True)
class Peak:
    """The first extremum of y after the start."""

    time: float
    value: float


def double_root_peak(rate: float, position: float, velocity: float) -> Peak | None:
    """y = (A₀ + A₁t) e^(−μt), A₀ = y₀, A₁ = v₀ + μy₀:

        t* = v₀/(μA₁),     y(t*) = (A₁/μ) exp(−1 + μA₀/A₁)

    None where y falls monotonically (v₀/A₁ ≤ 0).
    """
    if rate <= 0:
        raise BadRequest(f"the root −{rate:g} does not decay", fix="give a positive rate")
    slope = velocity + rate * position
    if slope == 0 or velocity / slope <= 0:
        return None
    return Peak(velocity / (rate * slope), slope / rate * math.exp(-1 + rate * position / slope))


def second_order_peak(frequency: float, ratio: float, position: float = 0.0, velocity: float = 1.0) -> Peak | None:
    """The first extremum of y'' + 2ζω y' + ω² y = 0 after the start.

        ζ < 1:  tan(ω_d t*) = v₀ω_d/(ω²y₀ + ζωv₀),  ω_d = ω√(1−ζ²)
        ζ = 1:  as for the double root
        ζ > 1:  e^((λ₂−λ₁)t*) = −Bλ₂/(Aλ₁),  y = A e^(−λ₁t) + B e^(−λ₂t),  λ = ω(ζ ∓ √(ζ²−1))

    For y₀ = 0, v₀ = ω = 1 and ζ < 1 the value is exp(−ζ arccos ζ/√(1−ζ²)).
    """
    omega, zeta, y0, v0 = frequency, ratio, position, velocity
    if omega <= 0 or zeta < 0:
        raise BadRequest(f"ω = {omega:g}, ζ = {zeta:g}", fix="ω > 0 and ζ ≥ 0")
    if zeta == 1:
        return double_root_peak(omega, y0, v0)
    if zeta < 1:
        damped = omega * math.sqrt(1 - zeta**2)
        slope = (omega**2 * y0 + zeta * omega * v0) / damped
        if v0 == 0 and slope == 0:
            return None
        time = math.atan2(v0, slope) % math.pi / damped or math.pi / damped
        amplitude = y0 * math.cos(damped * time) + (v0 + zeta * omega * y0) / damped * math.sin(damped * time)
        return Peak(time, math.exp(-zeta * omega * time) * amplitude)
    root = math.sqrt(zeta**2 - 1)
    slow, fast = omega / (zeta + root), omega * (zeta + root)
    a, b = (v0 + fast * y0) / (fast - slow), -(v0 + slow * y0) / (fast - slow)
    if a == 0 or -b * fast / (a * slow) <= 1:
        return None
    time = math.log(-b * fast / (a * slow)) / (fast - slow)
    return Peak(time, a * math.exp(-slow * time) + b * math.exp(-fast * time))


def multiple_root_peak(multiplicity: int, rate: float) -> Peak:
    """(d/dt + μ)^m y = 0 after a unit y^(m−1): t^(m−1) e^(−μt)/(m−1)!, largest ((m−1)/(μe))^(m−1)/(m−1)! at (m−1)/μ."""
    if multiplicity < 1 or rate <= 0:
        raise BadRequest(f"a root −{rate:g} of multiplicity {multiplicity}", fix="μ > 0, m ≥ 1")
    power = multiplicity - 1
    return Peak(power / rate, (power / (rate * math.e)) ** power / math.factorial(power))
