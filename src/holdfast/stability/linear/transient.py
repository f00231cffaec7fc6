"""How far deviations may grow before they die away.

    spectral abscissa     max Re λ(H)                          how fast they die in the end
    numerical abscissa    λ_max((H + Hᵀ)/2)                    how fast ‖z‖ grows at first; ≤ 0 ⇔ it never grows
    Kreiss constant       𝒦 = sup_{Re s>0} Re s ‖(sI − H)⁻¹‖₂   𝒦 ≤ max ‖exp(Ht)‖₂ ≤ e n 𝒦
    Lyapunov's bound      ‖exp(Ht)‖₂ ≤ √cond(P) exp(μ_P t)

All after scaling to common units, (y, w/ω, ...): unscaled numbers say more of seconds and metres than of the law.
Trefethen, Embree, *Spectra and Pseudospectra*, ch. 14 to 18.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import expm
from scipy.optimize import minimize, minimize_scalar

from holdfast.common.rounded import rounded_up
from holdfast.errors import BadRequest
from holdfast.problem.types import MatrixLike
from holdfast.schemes.by_name import scheme_named
from holdfast.schemes.kinds.scheme import Scheme
from holdfast.stability.linear.hurwitz import RootPlace, place_of_roots
from holdfast.stability.linear.norms import continuous
from holdfast.stability.linear.shape import Array, as_numbers, common_units, scaled, square

PER_OCTAVE, OCTAVES = 32, 50  # times at which ‖exp(Ht)‖ is looked at before the largest are refined
MOST_POWERS = 2**20  # powers of a propagator that are tried before giving up


@dataclass(frozen=True, eq=False)
class Transient:
    """What happens before the decay, in the units stated by `scaling` (z is multiplied by it)."""

    scaling: Array
    spectral_abscissa: float
    numerical_abscissa: float
    kreiss: float
    peak: float  # max over t ≥ 0 of ‖exp(Ht)‖₂
    peak_time: float
    bound: float  # √cond P
    bound_rate: float  # μ_P

    def __str__(self) -> str:
        units = ", ".join(f"{x:.4g}" for x in self.scaling)
        return (
            f"decay {self.spectral_abscissa:.6g}, first growth {self.numerical_abscissa:.6g}, Kreiss constant "
            f"{self.kreiss:.6g}, largest growth {rounded_up(self.peak, 6)} at t = {self.peak_time:.6g} "
            f"(deviations times {units})"
        )


@dataclass(frozen=True, eq=False)
class DiscreteTransient:
    """The same for one scheme and step: powers of R = R(τH)."""

    scaling: Array
    scheme: str
    step: float
    spectral_radius: float
    peak: float  # sup over k of ‖Rᵏ‖₂
    peak_step: int

    def __str__(self) -> str:
        return (
            f"{self.scheme}, step {self.step:g}: spectral radius {self.spectral_radius:.6g}, "
            f"largest growth {rounded_up(self.peak, 6)} after {self.peak_step} steps"
        )


def transient(matrix: MatrixLike, scaling: Any = None, *, positions: int | None = None) -> Transient:
    """The growth of exp(Ht) in common units; `scaling` gives a factor for each deviation, or 1 to leave them alone."""
    H = square(matrix)
    scale = _scale(H, scaling, positions)
    inside = scaled(H, scale)
    place = place_of_roots(H)
    peak, at = _largest_exponential(inside, place)
    bound, rate = np.inf, np.inf
    if place.hurwitz:
        norm = continuous(inside, np.eye(len(inside)))
        bound, rate = norm.growth, norm.log_norm(inside)
    return Transient(
        scaling=scale,
        spectral_abscissa=float(np.linalg.eigvals(H).real.max()),
        numerical_abscissa=numerical_abscissa(inside),
        kreiss=_kreiss(inside) if np.isfinite(peak) else np.inf,
        peak=peak,
        peak_time=at,
        bound=bound,
        bound_rate=rate,
    )


def discrete_transient(
    scheme: Scheme | str, matrix: MatrixLike, step: float, scaling: Any = None, *, positions: int | None = None
) -> DiscreteTransient:
    """The growth of the powers of a scheme's propagator, in common units."""
    scheme, H = scheme_named(scheme), square(matrix)
    scale = _scale(H, scaling, positions)
    R = scaled(scheme.propagator(H, step), scale)
    peak, at = largest_power(R)
    return DiscreteTransient(scale, scheme.name, step, float(np.abs(np.linalg.eigvals(R)).max()), peak, at)


def numerical_abscissa(matrix: MatrixLike) -> float:
    """ω(H) = λ_max((H + Hᵀ)/2)."""
    H = square(matrix)
    return float(np.linalg.eigvalsh((H + H.T) / 2)[-1])


def _scale(matrix: Array, scaling: Any, positions: int | None) -> Array:
    if scaling is None:
        return common_units(matrix, positions)
    scale = as_numbers(scaling, "the scaling") * np.ones(len(matrix))
    if scale.shape != (len(matrix),) or not (scale > 0).all():
        raise BadRequest("the scaling does not fit", fix=f"give {len(matrix)} positive factors, or 1")
    return scale


def _largest_exponential(matrix: Array, place: RootPlace) -> tuple[float, float]:
    """max ‖exp(Ht)‖₂ and its time: a grid over the time in which it has decayed for good, then refinement."""
    if place.right or (place.axis and not place.semisimple):
        return np.inf, np.inf
    size = float(np.linalg.norm(matrix, 2))
    if numerical_abscissa(matrix) <= 1e-14 * size:
        return 1.0, 0.0
    times, norms = _exponentials(matrix, size, 500 / size if place.axis else np.inf)
    best, at = 1.0, 0.0
    for k in np.argsort(norms)[-4:]:
        around = (times[max(k - 1, 0)], times[min(k + 1, len(times) - 1)])
        found = minimize_scalar(
            lambda t: -np.linalg.norm(expm(matrix * t), 2),
            bounds=around,
            method="bounded",
            options={"xatol": 1e-9 * max(times[k], 1e-3 / size)},
        )
        if -found.fun > best:
            best, at = float(-found.fun), float(found.x)
    return best, at


def _exponentials(matrix: Array, size: float, longest: float) -> tuple[Array, Array]:
    """Times and ‖exp(Ht)‖₂, octave by octave: squaring exp(Ht) doubles its time. It ends where the norm is at most 1
    through a whole octave, for from there on nothing larger can come (exp(Ht) is submultiplicative), or, for
    undamped motions, after the longest time.
    """
    times = 1e-3 / size * 2.0 ** (np.arange(PER_OCTAVE) / PER_OCTAVE)
    powers = expm(matrix * times[:, None, None])
    seen_times, seen_norms = [np.zeros(1)], [np.ones(1)]
    for octave in range(OCTAVES):
        norms = np.linalg.norm(powers, 2, axis=(1, 2))
        seen_times.append(times)
        seen_norms.append(norms)
        if (octave and norms.max() <= 1) or times[0] > longest:
            break
        times, powers = 2 * times, powers @ powers
    return np.concatenate(seen_times), np.concatenate(seen_norms)


def _kreiss(matrix: Array) -> float:
    """sup over Re s > 0 of Re s ‖(sI − H)⁻¹‖₂, on a grid and refined; at least 1, its value at infinity."""
    size = float(np.abs(np.linalg.eigvals(matrix)).max()) or 1.0
    one = np.eye(len(matrix))

    def value(log_real: Any, imaginary: Any) -> Any:
        real = np.exp(log_real)
        s = np.asarray(real + 1j * np.asarray(imaginary))
        return real / np.linalg.svd(s[..., None, None] * one - matrix, compute_uv=False)[..., -1]

    reals, imaginaries = np.meshgrid(np.linspace(-6, 4, 81) + np.log(size), np.linspace(0, 3 * size, 49), indexing="ij")
    values = value(reals, imaginaries)
    best = 1.0
    for k in np.argsort(values, axis=None)[-2:]:
        found = minimize(
            lambda x: -float(value(x[0], abs(x[1]))),
            [reals.flat[k], imaginaries.flat[k]],
            method="Nelder-Mead",
            options={"xatol": 1e-10, "fatol": 1e-13},
        )
        best = max(best, -float(found.fun))
    return best


def largest_power(propagator: Any) -> tuple[float, int]:
    """sup over k ≥ 0 of ‖Rᵏ‖₂ and its k. From the first k with ‖Rᵏ‖ ≤ 1 on nothing larger can come, so it is exact."""
    R = square(propagator, "the propagator")
    if np.abs(np.linalg.eigvals(R)).max() > 1:
        return np.inf, -1
    best, at, done, block = 1.0, 0, 0, R[None]
    while len(block) < 512:  # R, R², ..., R⁵¹²
        block = np.concatenate([block, block @ block[-1]])
    leap = block[-1]
    while done < MOST_POWERS:
        norms = np.linalg.norm(block, 2, axis=(1, 2))
        contracted = np.nonzero(norms <= 1)[0]
        looked = norms[: contracted[0] + 1] if len(contracted) else norms
        if looked.max() > best:
            best, at = float(looked.max()), done + int(looked.argmax()) + 1
        if len(contracted):
            return best, at
        done, block = done + len(block), block @ leap
    return best, at
