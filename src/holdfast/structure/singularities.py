"""Holes in the domain, and whether a closed force does work round them.

A closed b has a potential near every point, yet round a hole ∮ b·dq may differ from zero: then the potential has many
values (the vortex (−y, x)/r² gives 2π). Holes are sought where a denominator, a root or a logarithm vanishes at an
isolated point of a coordinate plane; the other coordinates are held at a generic place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
import sympy as sp

from holdfast.problem.functions import FunctionValue
from holdfast.problem.quantities import time
from holdfast.structure.conditions.second_order import SecondOrder

ROUND = 512  # points on a circle: the trapezoidal rule is exact to rounding for smooth b
SMALLEST_LOOP_INTEGRAL = 1e-9  # of a loop integral that counts
SEARCH = {"xatol": 1e-9, "fatol": 1e-22, "maxiter": 400}
GENERIC = 0.3141  # where coordinates off the plane are held


@dataclass(frozen=True)
class Period:
    """A circle in a coordinate plane round which the force does work."""

    plane: tuple[str, str]
    centre: tuple[float, float]
    radius: float
    work: float

    def __str__(self) -> str:
        x, y = self.plane
        around = f"({self.centre[0]:.4g}, {self.centre[1]:.4g})"
        return f"round ({x}, {y}) = {around} the forces at rest do the work {self.work:.6g}"


def periods(b: Sequence[sp.Expr], system: SecondOrder) -> tuple[Period, ...]:
    """The holes round which a closed force does work."""
    vanishing = _vanishing(b, system)
    found = []
    if vanishing and len(system.q) > 1:
        for i, j in combinations(range(len(system.q)), 2):
            for x, y in _holes(vanishing, system, (i, j)):
                centre = (x, y)
                work, radius = _work(b, system, (i, j), centre)
                if np.isfinite(work) and abs(work) > SMALLEST_LOOP_INTEGRAL:
                    found.append(Period((system.q[i].name, system.q[j].name), centre, radius, work))
    return tuple(found)


@dataclass(frozen=True)
class Flux:
    """A hole in space from which the gyroscopic field flows, as from a magnetic monopole."""

    space: tuple[str, str, str]
    centre: tuple[float, ...]
    flux: float

    def __str__(self) -> str:
        where = ", ".join(f"{x:.4g}" for x in self.centre)
        return f"out of ({', '.join(self.space)}) = ({where}) the gyroscopic field has the flux {self.flux:.6g}"


def fluxes(A: sp.Matrix, system: SecondOrder) -> tuple[Flux, ...]:
    """Holes out of which the closed form ½A_ij dq_i∧dq_j flows: the field (A_jk, A_ki, A_ij) through a small sphere."""
    vanishing = _vanishing(list(A), system)
    found = []
    for space in combinations(range(len(system.q)), 3) if vanishing else ():
        i, j, k = space
        field = [_held(A[a, b], system, space) for a, b in ((j, k), (k, i), (i, j))]
        for centre in _holes(vanishing, system, space):
            amounts = [_flux(field, np.array(centre), radius) for radius in (0.3, 0.17)]
            if abs(amounts[0]) > SMALLEST_LOOP_INTEGRAL and abs(amounts[0] - amounts[1]) < 1e-6 * (1 + abs(amounts[0])):
                names = (system.q[i].name, system.q[j].name, system.q[k].name)
                found.append(Flux(names, centre, amounts[0]))
    return tuple(found)


def _flux(field: Sequence[Callable[..., Any]], centre: np.ndarray, radius: float) -> float:
    heights, weights = np.polynomial.legendre.leggauss(24)
    angles = np.arange(48) * (2 * np.pi / 48)
    z, phi = np.meshgrid(heights, angles, indexing="ij")
    normal = np.array([np.sqrt(1 - z**2) * np.cos(phi), np.sqrt(1 - z**2) * np.sin(phi), z])
    with np.errstate(all="ignore"):
        through = sum(
            part(*(centre[:, None, None] + radius * normal)) * n for part, n in zip(field, normal, strict=True)
        )
    total = float(np.real(np.sum(weights[:, None] * through)) * radius**2 * 2 * np.pi / 48)
    return total if np.isfinite(total) else 0.0


def _vanishing(b: Sequence[sp.Expr], system: SecondOrder) -> list[sp.Expr]:
    """What stands in denominators and logarithms and depends on the coordinates."""
    found = set()
    if any(e.atoms(FunctionValue) for e in b):
        return []  # what is not known cannot be followed round a hole
    for e in b:
        found |= {p.base for p in e.atoms(sp.Pow) if p.exp.is_negative or not p.exp.is_Integer}
        found |= {call.args[0] for call in e.atoms(sp.log)}
        for call in e.atoms(sp.atan2):
            found.add(sp.Add(*(argument**2 for argument in call.args)))
    return sorted((e for e in found if e.has(*system.q)), key=sp.default_sort_key)


def _numbers(system: SecondOrder) -> dict[sp.Symbol, float]:
    """A number for everything but coordinates: known values, and generic ones for the rest."""
    known = {s: float(value) for s, value in system.values.items()}
    return {s: known.get(s, 0.5 + 0.1 * k) for k, s in enumerate((*system.parameters, time))}


def _held(e: sp.Expr, system: SecondOrder, free: Sequence[int]) -> Callable[..., Any]:
    """The expression as a function of some coordinates, the others held at a generic place."""
    held = {x: GENERIC + 0.1 * k for k, x in enumerate(system.q) if k not in free}
    held = {x: float(system.near.get(x, value)) for x, value in held.items()}
    plain = e.subs({**_numbers(system), **held})
    return sp.lambdify([system.q[k] for k in free], plain, "numpy")


def _holes(vanishing: Sequence[sp.Expr], system: SecondOrder, free: Sequence[int]) -> Iterator[tuple[float, ...]]:
    """Isolated zeros of the vanishing expressions in a plane or space of coordinates."""
    from scipy.optimize import minimize

    known: list[np.ndarray] = []
    starts = (-2.1, -0.7, 0.6, 1.9) if len(free) == 2 else (-0.9, 0.8)
    for e in vanishing:
        value = _held(e, system, free)

        def size(point: np.ndarray, value: Callable[..., Any] = value) -> float:
            with np.errstate(all="ignore"):
                found = complex(value(*point))
            return abs(found) ** 2 if np.isfinite(abs(found)) else 1e6

        for start in product(starts, repeat=len(free)):
            best = minimize(size, np.array(start), method="Nelder-Mead", options=SEARCH)
            centre = np.round(best.x, 7) + 0.0
            if (
                best.fun < 1e-16
                and not any(np.linalg.norm(centre - k) < 1e-3 for k in known)
                and _isolated(size, centre)
            ):
                known.append(centre)
                yield tuple(centre.tolist())


def _isolated(size: Callable[[np.ndarray], float], centre: np.ndarray) -> bool:
    """Whether nothing on a small circle or sphere round a zero is nearly zero too, as on a line of zeros."""
    if len(centre) == 2:
        angles = np.arange(ROUND) * (2 * np.pi / ROUND)
        directions = np.array([np.cos(angles), np.sin(angles)]).T
    else:
        directions = np.random.default_rng(5).normal(size=(4 * ROUND, len(centre)))
        directions /= np.linalg.norm(directions, axis=1)[:, None]
    ring = [size(centre + 0.05 * direction) for direction in directions]
    return min(ring) > 1e-4 * max(ring)


def _work(
    b: Sequence[sp.Expr], system: SecondOrder, plane: tuple[int, int], centre: tuple[float, float]
) -> tuple[float, float]:
    """∮ b·dq round a circle: the same on two of them, as it must be where b is closed between; else nan."""
    angle = np.arange(ROUND) * (2 * np.pi / ROUND)
    across, along = (_held(b[k], system, plane) for k in plane)
    found: list[tuple[float, float]] = []
    for radius in (0.3, 0.23, 0.11, 0.083, 0.043, 0.031):
        x, y = centre[0] + radius * np.cos(angle), centre[1] + radius * np.sin(angle)
        with np.errstate(all="ignore"):
            pushed = across(x, y) * -np.sin(angle) + along(x, y) * np.cos(angle)
        work = float(np.real(np.mean(pushed)) * 2 * np.pi * radius)
        if found and np.isfinite(work) and abs(work - found[-1][0]) <= 1e-7 * (1 + abs(work)):
            return found[-1]
        found.append((work, radius))
    return float("nan"), 0.0
