"""Proving that one block of deviations keeps within a tube, for every state of a region."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.equations.values import parameter_vector
from holdfast.graph.arithmetic import precision
from holdfast.graph.nodes import Node
from holdfast.schemes.runge_kutta import RungeKutta
from holdfast.stability.block import Block, Motion, motion_of, whole_motion
from holdfast.stability.certificate import Proof
from holdfast.stability.contraction import Contraction, propagator
from holdfast.stability.defect import DefectModel, terms_of
from holdfast.stability.enclosure import Ball, Box, ball_between, halves, hull, symmetric, upper
from holdfast.stability.rounding import RoundingModel
from holdfast.stability.search import EMPTY, LEAF, Piece, cover

BITS = 80
TUBES, SHRINK = 12, 3  # a tube is left for a narrower one as soon as its radius is this part of it
GENEROUS = 100  # a tube this wide costs nothing where it is still thin beside the region


@dataclass(frozen=True, eq=False)
class Setting:
    """One block, scheme, step and region: what a proof and its verification share."""

    equations: Equations
    block: Block
    scheme: RungeKutta
    step: float
    parameters: Mapping[Any, Any]
    region: Mapping[str, tuple[float, float]]  # "t" and every state
    limits: Mapping[str, tuple[float, float]]  # deviations of other blocks, and further observables

    @property
    def extra_names(self) -> tuple[str, ...]:
        return tuple(name for name in self.limits if not name.startswith(("y_", "w_")))

    def motion(self) -> Motion:
        extras: list[Node] = [self.equations.observables[name] for name in self.extra_names]
        return motion_of(self.equations, self.block, self.parameters, extras)

    def box(self, names: Sequence[str]) -> Box:
        return tuple(self.region[name] for name in names)

    def limit_balls(self, motion: Motion, contraction: Contraction, tube: float) -> list[Ball]:
        """Limits of the own deviations in the tube, of the others, and of the extras."""
        own = [symmetric(upper(ball_between(0.0, tube) * width)) for width in contraction.widths()]
        names = (*motion.other_names, *self.extra_names)
        return own if motion.affine else own + [ball_between(*self.limits[name]) for name in names]

    def contraction(self, factor: np.ndarray, gamma: float) -> Contraction:
        return Contraction(factor, gamma, propagator(self.scheme, self.block.matrix, self.step))

    def rounding(self, factor: np.ndarray) -> RoundingModel:
        values = parameter_vector(self.equations, self.parameters)
        moment = max(abs(x) for x in (*self.region["t"], self.equations.problem.run.begin)) + self.step
        return RoundingModel(self.equations, self.block.places, self.scheme, self.step, factor, values, moment)


def truncation(coefficient: float, scheme: RungeKutta, step: float) -> float:
    """coefficient · step^(p+1), not below."""
    return upper(ball_between(coefficient, coefficient) * ball_between(step, step) ** (scheme.order + 1))


def total_defect(coefficient: float, rounding: float, scheme: RungeKutta, step: float) -> float:
    """Truncation and rounding together, not below their sum."""
    return upper(ball_between(rounding, rounding) + truncation(coefficient, scheme, step))


def prove(
    setting: Setting, factor: np.ndarray, gamma: float, *, expected: float, reach: float, seconds: float
) -> Proof | None:
    """A proof, or None where none was found in time.

    `expected` is the defect measured along a run and `reach` the largest deviation, both in the norm of the proof. The
    tube is a guess; a proof needs radius ≤ tube, and is better the nearer they are. An affine block holds in any tube.
    """
    started = time.monotonic()
    with precision(BITS, terms_of(setting.scheme)):
        motion = setting.motion()
        contraction = setting.contraction(factor, gamma)
        if not contraction.holds():
            return None
        model = DefectModel(motion, setting.scheme, setting.step, factor)
        region = setting.box(motion.variable_names)
        scale = setting.step ** (setting.scheme.order + 1)
        rounding_bound, rounding_cover, rounding_tube = math.inf, "", 0.0
        least = contraction.radius(expected + 1e-15)
        thin = GENEROUS * least * max(contraction.widths()) < 1e-4 * max(
            (high - low for low, high in region), default=0
        )
        tube = (GENEROUS if thin else 12) * least
        if motion.affine:
            tube = max(tube, 1.05 * reach)
        best: Proof | None = None
        for _ in range(TUBES):
            left = seconds - (time.monotonic() - started)
            if left <= 0.05 * seconds:
                break
            limits = setting.limit_balls(motion, contraction, tube)
            good, enough = 1.2 * expected / scale, 0.0 if thin else (1 - gamma) * tube / SHRINK / scale
            found = cover(model, region, limits, wanted=max(good, enough), seconds=(0.85 if thin else 0.7) * left)
            if not found.bound < math.inf:
                break
            if tube > rounding_tube or rounding_cover != LEAF:  # a single cell serves every smaller tube
                until = max(started + seconds, time.monotonic() + 0.1 * seconds)
                rounding_bound, rounding_cover = _rounding(setting, factor, tube, contraction, until)
                rounding_tube = tube
            defect = total_defect(found.bound, rounding_bound, setting.scheme, setting.step)
            radius = contraction.radius(defect)
            if radius <= tube:
                best = _proof(
                    setting,
                    motion,
                    factor,
                    gamma,
                    tube,
                    found.bound,
                    rounding_bound,
                    radius,
                    found.root,
                    rounding_cover,
                    found.cells,
                )
                if thin or motion.affine or (found.bound <= good and tube <= 3 * radius):
                    break
                tube = 1.5 * radius
            elif best is not None:
                break
            else:
                tube = 4 * radius
        return best


def _proof(
    setting: Setting,
    motion: Motion,
    factor: np.ndarray,
    gamma: float,
    tube: float,
    coefficient: float,
    rounding: float,
    radius: float,
    root: Piece,
    rounding_cover: str,
    cells: int,
) -> Proof:
    return Proof(
        factor=tuple(tuple(float(x) for x in row) for row in factor),
        gamma=gamma,
        tube=tube,
        coefficient=coefficient,
        rounding=rounding,
        radius=radius,
        region=tuple((name, float(low), float(high)) for name, (low, high) in setting.region.items()),
        limits=tuple((name, float(low), float(high)) for name, (low, high) in setting.limits.items()),
        cover=root.text(),
        rounding_cover=rounding_cover,
        cells=cells,
    )


# ── rounding over the same region ─────────────────────────────────────────────────────────────────

COARSEST = 10  # cuts in a row before rounding is given up


def rounding_pieces(
    setting: Setting, factor: np.ndarray, tube: float, contraction: Contraction
) -> tuple[Any, Box, Any]:
    """The model that cuts boxes of the whole state down to the region, that region, and the rounding of a box."""
    whole = _whole_motion(setting)
    model = DefectModel(whole, setting.scheme, setting.step, factor)
    limits = setting.limit_balls(whole, contraction, tube)
    rounding = setting.rounding(factor)
    names = whole.variable_names

    def cut(box: Box) -> list[Ball] | None:
        cell = model.cell(box, limits)
        return None if cell is None else cell.box

    def bound(balls: Sequence[Ball]) -> float:
        moments, state = (balls[:1], balls[1:]) if whole.timed else ([ball_between(*setting.region["t"])], balls)
        return rounding.bound(moments[0], state)

    return cut, setting.box(names), bound


def _whole_motion(setting: Setting) -> Motion:
    extras = [setting.equations.observables[name] for name in setting.extra_names]
    return whole_motion(setting.equations, setting.block, setting.parameters, extras)


def _rounding(
    setting: Setting, factor: np.ndarray, tube: float, contraction: Contraction, until: float
) -> tuple[float, str]:
    """A bound of the rounding of one step over the region, cut only where it would be infinite or much coarser."""
    cut, region, bound = rounding_pieces(setting, factor, tube, contraction)
    root = Piece(region)
    worst = _rounding_below(root, region, cut, bound, COARSEST, until)
    return worst, root.text()


def _rounding_below(piece: Piece, region: Box, cut: Any, bound: Any, depth: int, until: float) -> float:
    balls = cut(piece.box)
    if balls is None:
        piece.kind = EMPTY
        return 0.0
    piece.box = hull(balls)
    here = float(bound(balls))
    if here < math.inf or depth == 0 or time.monotonic() > until:
        return here
    sizes = [
        (high - low) / max(top - bottom, 1e-300) for (low, high), (bottom, top) in zip(piece.box, region, strict=True)
    ]
    piece.variable = max(range(len(sizes)), key=sizes.__getitem__)
    piece.parts = tuple(Piece(half) for half in halves(piece.box, piece.variable))
    worst = 0.0
    for part in piece.parts:
        worst = max(worst, _rounding_below(part, region, cut, bound, depth - 1, until))
        if not worst < math.inf:
            break
    return worst
