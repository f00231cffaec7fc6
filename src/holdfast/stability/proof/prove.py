"""Proving that one block of deviations keeps within a tube, for every state of a region."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from holdfast.common.memo import Memo
from holdfast.errors import BadRequest, HoldfastError, InternalError
from holdfast.graph.arithmetics.balls import ball_between, precision
from holdfast.graph.nodes import operation_count
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.certificate.certificate import Proof
from holdfast.stability.proof.block import BlockFlow
from holdfast.stability.proof.claim import BITS, Claim, total_defect, within_data
from holdfast.stability.proof.defect import DefectModel, terms_of
from holdfast.stability.proof.enclosure import Ball, Box
from holdfast.stability.proof.granted.existence import Existence, require_within_data, unseen
from holdfast.stability.proof.granted.obedience import Obedience, Place, places_in
from holdfast.stability.proof.knots import DataCover, DataDefect, data_nodes
from holdfast.stability.proof.lanes.cover import LaneCover
from holdfast.stability.proof.lanes.region import lane_defect, region_cover
from holdfast.stability.proof.laws.contraction import StepMatrix, contracts, norm_bound
from holdfast.stability.proof.region_rounding import NativeRounding, RegionRounding
from holdfast.stability.proof.search import NEAR_ATTAINED, Cover, judge
from holdfast.stability.proof.work import LEAST_CELL, SearchWork

TUBES, SHRINK = 12, 3  # tubes tried; the tube is narrowed once its radius is below 1/SHRINK of it (a choice)
FIRST_TUBE = 2.5  # the first tube, as a multiple of what the measured defect would need
LAW_SHARE = 0.3  # of the work, beside it: for the contraction of a law that varies
FROM_START = 0.3  # of the work: for a tube that holds the start, where the first guess does not
LASTS, LAST = 3, 0.1  # tubes, with so much of the work beside it, that one before asks for where nothing is left
EXISTENCE_SHARE = 0.3  # of the work, beside it: for showing that what holds the program exists
WORTH = 3  # times the radius that a narrow tube gives: so much is paid for a proof from the start on (a choice)
# A verifier with another arithmetic finds other bounds, so what is stated has a little room over what was found:
STATED_DEFECT = 1.05  # the bound of the defect; bisection brings any other enclosure below it
STATED_ROUNDING = 1.25  # that of rounding, which depends on how cells are cut
LEAST_SHARE = 0.05  # the least truncation, as a part of rounding: doubles cannot tell less from zero
GENEROUS = 100  # a tube this wide costs nothing where it is still thin beside the region
THIN = 1e-4  # of what the region lets a deviation change by
ELSEWHERE = 6  # random states of the region at which the equations are tried, beside those of the run
TELLING = 2  # of these, where one that is no zero by chance tells of all
LOOKED_AT = 32  # cells of a cover in whose middle they are tried too
KEPT_OPERATIONS = 500  # of the rates of a motion: tapes of larger ones take tens of megabytes, and are not kept
MOST_VARIABLES = 16  # of a region: beyond, halving each of them once already makes more cells than any effort has


def data_defect(
    motion: BlockFlow, scheme: RungeKutta, step: float, factor: np.ndarray, time: tuple[float, float]
) -> DataDefect | None:
    """The defect piece by piece where a program follows data; None where it does not."""
    if not data_nodes((*motion.rates, *motion.psi)):
        return None
    if not motion.affine:
        name = data_nodes((*motion.rates, *motion.psi))[0].data.table.name
        raise BadRequest(f"{name!r} is given by data, and what moves by it is not affine in the coordinates")
    found = DataDefect(motion, scheme, step, factor)
    found.require_provable(time)
    return found


def prove(
    setting: Claim,
    factor: np.ndarray,
    gamma: float,
    *,
    expected: float,
    reach: float,
    work: SearchWork,
    rows: Sequence[Place],
    native: NativeRounding | None = None,
) -> Proof | None:
    """A proof, or None where none was found with this work; `Interrupted` with the one found before Ctrl-C.

    `expected` is the defect measured along a run (not below what rounding makes of it) and `reach` the largest
    deviation, both in the norm of the proof; `rows` are states of that run, and `native` may bound rounding over many
    boxes at a time. The tube is a guess; a proof needs radius ≤ tube, and is better the nearer they are. An affine
    block holds in any tube.
    """
    with precision(BITS, terms_of(setting.scheme)):
        trial = Trial(setting, factor, gamma, native)
        if not trial.contraction.holds():
            return None
        trial.require_obedience(rows, places_in(setting.region, trial.whole.names, ELSEWHERE))
        least = trial.contraction.radius(expected)
        thin = trial.is_thin(GENEROUS * least, rows[len(rows) // 2])
        tube = (GENEROUS if thin else FIRST_TUBE) * least
        from_start = 1.05 * setting.begun(factor, *rows[0])
        if trial.motion.affine:
            tube = max(tube, 1.05 * reach, from_start)
        if from_start <= tube:
            return _narrowed(trial, tube, thin, expected, work)
        if trial.is_thin(from_start, rows[len(rows) // 2]):
            return _narrowed(trial, from_start, True, expected, work)
        wide = trial.kept(from_start, expected, work.part(FROM_START * work.left))
        if wide is not None and wide.radius <= WORTH * least:
            return wide  # what was measured is in every tube, so that none has a radius below
        try:
            best = _narrowed(trial, tube, thin, expected, work)
        except Interrupted as stop:
            raise Interrupted(stop.found or wide) from None
        except InternalError:
            raise
        except HoldfastError:
            if wide is None:
                raise
            best = None
        return wide if wide is not None and (best is None or wide.radius <= WORTH * best.radius) else best


def _narrowed(trial: Trial, tube: float, thin: bool, expected: float, work: SearchWork) -> Proof | None:
    """The best proof in tubes that are narrowed as long as that pays.

    Tubes that a narrower one says to be wide enough are tried, whatever that one has left.
    """
    best: Proof | None = None
    proof: Proof | None = None
    lasts = LASTS
    for _ in range(TUBES):
        over = work.left <= max(0.05 * work.limit, LEAST_CELL)
        lasts -= over
        if over and (best is not None or proof is None or lasts < 0):
            break
        enough = 0.0 if thin else (1 - trial.gamma) * tube / SHRINK
        try:
            part = work.beside(LAST * work.limit) if over else work.part((0.85 if thin else 0.7) * work.left)
            proof = trial.attempt(tube, expected, part, enough)
        except KeyboardInterrupt:
            raise Interrupted(best) from None
        except InternalError:
            raise
        except HoldfastError:
            if best is None:
                raise
            break  # whatever a narrower tube fails by, the wider one was proved
        holds = proof is not None and proof.radius <= tube
        best = proof if holds else best
        if proof is None or (best is not proof and best is not None):
            break
        if holds and (thin or trial.motion.affine or tube <= SHRINK * proof.radius):
            break
        tube = 1.5 * proof.radius
    return best


def _require_few(motion: BlockFlow) -> None:
    """Refuse a region that no number of cells covers: each cut of a variable doubles them."""
    if len(motion.variables) > MOST_VARIABLES:
        raise BadRequest(
            f"a region of {len(motion.variables)} variables is too wide to be covered by cells",
            where="region",
            fix="a tube along a run has one variable to cut, its time",
        )


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a search, with what was found before it: a proof, a block, or None."""

    def __init__(self, found: Any = None) -> None:
        super().__init__()
        self.found = found


class Trial:
    """Bounds the defect and the rounding over one region, tube after tube."""

    def __init__(self, setting: Claim, factor: np.ndarray, gamma: float, native: NativeRounding | None = None) -> None:
        self.setting, self.factor, self.gamma = setting, factor, gamma
        self.motion, self.contraction = setting.motion(), setting.contraction(factor, gamma)
        _require_few(self.motion)
        self._stated, self.setting = setting, within_data(setting)
        self.whole = setting.whole_motion()
        self._data = data_defect(self.motion, setting.scheme, setting.step, factor, self.setting.region["t"])
        self._model = DefectModel(self.motion, setting.scheme, setting.step, factor)
        small = operation_count(self.motion.rates) <= KEPT_OPERATIONS
        tapes = setting.made.once(("lanes", setting.extra_names), Memo) if small else None
        self._lanes = lane_defect(self.motion, setting.scheme, setting.step, factor, tapes)
        self._region = setting.box(self.motion.variable_names)
        self._obedience = setting.made.once(
            ("obedience", setting.extra_names), lambda: Obedience(self.whole, setting.scheme)
        )
        leaps = () if self._data is None else self._data.jumps()
        self._rounding = RegionRounding(self.setting, self.whole, factor, self.contraction, native, leaps)
        self._law = None if setting.law_terms is None else StepMatrix(setting.law_terms, setting.step)
        self._obeyed = False  # everywhere

    def is_thin(self, tube: float, place: Place) -> bool:
        """Whether a tube this wide is thin beside the region: beside what the region lets each deviation change by."""
        sides = [high - low for low, high in (self.setting.region[name] for name in ("t", *self.whole.names))]
        reaches = self._obedience.reaches(place, sides)
        widths = self.contraction.widths()
        return all(tube * width < THIN * reach for width, reach in zip(widths, reaches, strict=True))

    def require_obedience(self, rows: Sequence[Place], others: Sequence[Place]) -> None:
        """Coefficients 1 … p of the defect vanish, as the proof takes for granted: at random states, and at those of
        the run where these do not tell.
        """
        self._rounding.places = (*rows, *others)
        enough = TELLING if self._obedience.meromorphic else len(others)
        shown = [self._obedience.shown(place) for place in others[:enough]]
        self._obeyed = self._obedience.meromorphic and all(shown)
        if self._obeyed:
            return
        if not any([*shown, *[self._obedience.shown(place) for place in (*rows, *others[enough:])]]):
            raise BadRequest("the equations are not defined, or too ill conditioned, at the states of the run")

    def kept(self, tube: float, expected: float, work: SearchWork) -> Proof | None:
        """A proof in this tube, or None for whatever reason."""
        if work.left < LEAST_CELL:
            return None
        try:
            found = self.attempt(tube, expected, work)
        except InternalError:
            raise
        except HoldfastError:
            return None
        return found if found is not None and found.radius <= tube else None

    def attempt(self, tube: float, expected: float, work: SearchWork, enough: float = 0.0) -> Proof | None:
        """What can be shown in this tube, a proof if its radius is within; None where the defect has no bound.

        Its bound is brought near to the defect that is `expected`, or below what is `enough`.
        """
        setting, scale = self.setting, self.setting.step ** (self.setting.scheme.order + 1)
        limits = setting.limit_balls(self.motion, self.contraction, tube)
        judged = partial(judge, self._model, limits, self._region)
        if self._data is not None:
            wanted = max(enough, NEAR_ATTAINED * expected) / scale
            found: Any = self._data.cover(self.setting.region["t"], limits, wanted=wanted, work=work)
        else:
            aim, wanted = expected / scale, enough / scale
            found = region_cover(self._lanes, judged, self._region, limits, expected=aim, wanted=wanted, work=work)
        if not found.cells:
            raise BadRequest("no state of the region lies near the program", where="certificate.region")
        if not found.bound < math.inf:
            return None
        little, further = 0.1 * scale * found.bound, work.beside(0.1 * work.limit)
        rounding = self._rounding.cover(tube, little, further)
        rounded = STATED_ROUNDING * rounding.bound
        coefficient = max(found.stated(STATED_DEFECT), LEAST_SHARE * rounded / scale)
        defect = total_defect(coefficient, rounded, setting.scheme, setting.step)
        radius = self.contraction.radius(defect)
        if not radius < math.inf:
            raise BadRequest("rounding has no bound over the region: the equations are singular in it, or nearly so")
        if self._law is not None and not self._contracts(self._law, tube, work.beside(LAW_SHARE * work.limit)):
            raise BadRequest(
                f"a step under this law, which varies, was not shown to contract by {self.gamma:.6g} all over Omega"
            )
        self._require_obedience_in(self.motion, found)
        self._require_obedience_in(self.whole, rounding)
        self._require_existence(tube, work.beside(EXISTENCE_SHARE * work.limit))
        return Proof(
            factor=tuple(tuple(float(x) for x in row) for row in self.factor),
            gamma=self.gamma,
            tube=tube,
            coefficient=coefficient,
            rounding=rounded,
            radius=radius,
            region=tuple((name, float(low), float(high)) for name, (low, high) in self._stated.region.items()),
            limits=tuple((name, float(low), float(high)) for name, (low, high) in setting.limits.items()),
            cells=found.cells,
        )

    def _require_existence(self, tube: float, work: SearchWork) -> None:
        """What holds the program has a value at every state of the region, where the motion does not show it."""
        setting = self.setting
        require_within_data(setting.equations, setting.parameters, self._stated.region)
        nodes = setting.made.once(
            ("unseen", setting.extra_names), lambda: unseen(setting.equations, self.motion, setting.parameters)
        )
        if nodes and not Existence(self.whole, nodes, setting.region).shown(self._rounding.near(tube), work):
            raise BadRequest(
                "that forces, and what holds the program, exist all over the region is not shown: a denominator may "
                "vanish there, or a root or a logarithm have no value",
                where="certificate.region", fix="a smaller region",
            )  # fmt: skip

    def _contracts(self, law: StepMatrix, tube: float, work: SearchWork) -> bool:
        """Whether a step under a law that varies contracts by γ at every state of the region in the tube."""
        setting, whole = self.setting, self.whole
        own, count = setting.limit_balls(whole, self.contraction, tube), len(law.terms.deviations)
        places = [*setting.block.places, *(i for i in range(count) if i not in setting.block.places)]
        deviations = [own[places.index(i)] for i in range(count)]
        cut, region = self._rounding.pieces(tube)
        anywhere = [ball_between(*setting.region[name]) for name in ("t", *whole.names)]

        def place(box: Box) -> list[Ball] | None:
            balls = cut(box)
            return None if balls is None else whole.placed(balls, anywhere)

        used = [k for k, node in enumerate(whole.variables) if node in law.variables]
        if not used:  # the law depends on deviations alone
            return norm_bound(self.factor, law.enclosed(deviations, anywhere)) <= self.gamma
        return contracts(law, self.factor, self.gamma, deviations, place, region, used, work)

    def _require_obedience_in(self, motion: BlockFlow, found: Cover | LaneCover | DataCover) -> None:
        """The same at the middle of the cells of a cover, unless that is known; the states of a reduced motion are none
        of the whole.
        """
        if motion.affine or self._obeyed:
            return
        middle = [(low + high) / 2 for low, high in (self.setting.region[name] for name in ("t", *motion.names))]
        boxes = found.leaves()
        for box in boxes[:: -(-len(boxes) // LOOKED_AT) or 1]:
            moment, *state = motion.placed([(low + high) / 2 for low, high in box], middle)
            self._obedience.require((moment, state))
