"""What is claimed of one block: the motion, scheme, step and region that a proof and its verification share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from holdfast.common.memo import Memo
from holdfast.equations.equations import Equations
from holdfast.equations.values import parameter_vector
from holdfast.graph.arithmetics.balls import ball, ball_between, balls, symmetric
from holdfast.graph.arithmetics.tape import Evaluator, Tape
from holdfast.graph.nodes import Node
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.proof.block import BlockFlow, ProofBlock, bound_numbers, motion_of, whole_motion
from holdfast.stability.proof.contraction import Contraction, propagator
from holdfast.stability.proof.enclosure import Ball, Box, ball_matrix, column, entries, norm, upper
from holdfast.stability.proof.laws.contraction import LawContraction
from holdfast.stability.proof.laws.terms import LawTerms, law_terms
from holdfast.stability.proof.rounding import RoundingModel, RoundingTapes, clock_error

BITS = 80
KEPT = 4  # blocks, schemes and parameters of which equations keep what no region changes
DATA_CLOCK = 2.0**-40  # of the time of Omega: more than its rounding, less than what data allow beyond their ends


@dataclass(frozen=True, eq=False)
class Claim:
    """One block, scheme, step and region: what a proof and its verification share."""

    equations: Equations
    block: ProofBlock
    scheme: RungeKutta
    step: float
    parameters: Mapping[Any, Any]
    region: Mapping[str, tuple[float, float]]  # "t" and every state
    limits: Mapping[str, tuple[float, float]]  # deviations of other blocks, and further observables
    made: Memo = field(default_factory=Memo, repr=False)  # what no region changes, made once for all of them
    counted_from: float | None = None  # rows lie at counted_from + k step; None: where the problem's own run begins

    @property
    def extra_names(self) -> tuple[str, ...]:
        return tuple(name for name in self.limits if name not in self.equations.deviation_names)

    def _extras(self) -> list[Node]:
        return [self.equations.observables[name] for name in self.extra_names]

    def motion(self) -> BlockFlow:
        """The motion whose steps are bounded: reduced where what the block's constraints are allows it."""
        # what further stages add to R acts on deviations, which a reduced motion has not
        reduced = self.scheme.stage_count <= self.scheme.order

        def made() -> BlockFlow:
            whole = self._bound_motion()
            found = motion_of(self.equations, self.block, self.parameters, self._extras(), whole, reduced=reduced)
            return self.whole_motion() if found is whole else self._with_terms(found)

        return self.made.once(("motion", self.extra_names, reduced), made)

    def whole_motion(self) -> BlockFlow:
        """The motion of the block within the whole state."""
        return self.made.once(("whole", self.extra_names), lambda: self._with_terms(self._bound_motion()))

    def _bound_motion(self) -> BlockFlow:
        """The same without what a law that varies asks for."""
        key = "bound", self.extra_names
        return self.made.once(key, lambda: whole_motion(self.equations, self.block, self.parameters, self._extras()))

    @property
    def law_terms(self) -> LawTerms | None:
        """What a law that varies asks for in one step; None where H says it all."""
        if not self.block.varies:
            return None
        numbers = bound_numbers(self.equations, self.parameters)
        return self.made.once(
            "law terms", lambda: law_terms(self.equations, self.block.places, numbers, self.scheme.order)
        )

    def _with_terms(self, motion: BlockFlow) -> BlockFlow:
        terms = self.law_terms
        return motion if terms is None else replace(motion, law_terms=terms.along())

    def deviations(self, place: Sequence[Ball]) -> list[Ball]:
        """Those of the block at a time and state, or over a box of them."""

        def made() -> Evaluator:
            motion = self._bound_motion()
            return Tape((motion.time, *motion.state), motion.psi).compiled(balls())

        return self.made.once("deviations", made)(place)

    def box(self, names: Sequence[str]) -> Box:
        return tuple(self.region[name] for name in names)

    def limit_balls(self, motion: BlockFlow, contraction: Contraction, tube: float) -> list[Ball]:
        """Limits of the own deviations in the tube, of the others, and of the extras."""
        own = [symmetric(upper(ball_between(0.0, tube) * width)) for width in contraction.widths()]
        names = (*motion.other_names, *self.extra_names)
        return own if motion.affine else own + [ball_between(*self.limits[name]) for name in names]

    def contraction(self, factor: np.ndarray, gamma: float) -> Contraction:
        step_matrix = propagator(self.scheme, self.block.matrix, self.step)
        return (LawContraction if self.block.varies else Contraction)(factor, gamma, step_matrix)

    def begun(self, factor: np.ndarray, moment: float, state: Sequence[float]) -> float:
        """The size of the deviation at a start, not below it."""
        psi = self.deviations([ball(float(x)) for x in (moment, *state)])
        return norm(entries(ball_matrix(factor.T) * column(psi)))

    @property
    def clock(self) -> float:
        """What times may be wrong by in Omega."""
        begin = self.equations.problem.run.begin if self.counted_from is None else self.counted_from
        return clock_error(begin, self.region["t"], self.step, self.scheme)

    def rounding(self, factor: np.ndarray, leaps: Sequence[float] = ()) -> RoundingModel:
        values = parameter_vector(self.equations, self.parameters)
        counted = frozenset({"table"} if leaps else ())
        tapes = self.made.once(("rounding", counted), lambda: RoundingTapes(self.equations, self.block.places, counted))
        return RoundingModel(tapes, self.scheme, self.step, factor, values, self.clock, leaps)


def kept_for(equations: Equations, block: ProofBlock, scheme: RungeKutta, parameters: Mapping[Any, Any]) -> Memo:
    """What no region, step or norm changes of the claims of a block, kept with its equations for the last few.

    The key holds all that it depends on: the block with its H, the scheme with its numbers, parameters and gains.
    """
    law = block.matrix.shape, block.matrix.tobytes(), block.varies
    key = block.places, block.names, law, scheme, tuple(map(float, parameter_vector(equations, parameters)))
    kept: dict[Any, Memo] = equations.memo.once(kept_for, dict)
    found = kept.pop(key, None) or Memo()
    for oldest in list(kept)[: max(0, len(kept) + 1 - KEPT)]:
        kept.pop(oldest, None)
    kept[key] = found  # the latest is the last
    return found


def within_data(setting: Claim) -> Claim:
    """The same for steps that end in Omega too, where data end with it: of others nothing is said, nor is anything run.

    A rounding of the range longer, since times are sums of steps.
    """
    low, high = setting.region["t"]
    if not setting.equations.inputs.graph.tables:
        return setting
    last = max(low, high - setting.step + DATA_CLOCK * (high - low))
    return replace(setting, region={**setting.region, "t": (low, min(high, last))})


def truncation(coefficient: float, scheme: RungeKutta, step: float) -> float:
    """coefficient · step^(p+1), not below."""
    return upper(ball_between(coefficient, coefficient) * ball_between(step, step) ** (scheme.order + 1))


def total_defect(coefficient: float, rounding: float, scheme: RungeKutta, step: float) -> float:
    """Truncation and rounding together, not below their sum."""
    return upper(ball_between(rounding, rounding) + truncation(coefficient, scheme, step))


def widened(bound: float, begun: float, width: float) -> float:
    """bound + begun · width, not below: the start's own deviation, which never grows, added to what the steps add."""
    return upper(ball(bound) + ball(begun) * ball(width))
