"""The certificate of one step, block by block: the best that can be said of each, and why nothing better."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.common.rounded import rounded_down, rounded_up
from holdfast.equations.equations import Equations
from holdfast.equations.quick import UNBOUNDED, quick_field
from holdfast.equations.values import parameter_vector
from holdfast.errors import BadRequest, HoldfastError, InternalError
from holdfast.results.runs.simulate import simulate
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.by_name import is_named
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.schemes.kinds.scheme import Scheme
from holdfast.stability.certificate.certificate import INTERRUPTED, BlockCertificate, Certificate, established
from holdfast.stability.certificate.run_code import stated_code
from holdfast.stability.linear.growth import growth
from holdfast.stability.promise.bodies import turned_freely, unverified_bodies
from holdfast.stability.promise.checked import BlockAlongRun, MeasuredDefect
from holdfast.stability.promise.envelope import reading_errors
from holdfast.stability.promise.in_tube import (
    ASKED_FOR,
    STRETCHES,
    YIELDING,
    gaps_along,
    in_order,
    with_tubes,
    without_speeds,
    without_tubes,
)
from holdfast.stability.promise.law_norm import region_norm
from holdfast.stability.promise.norm_search import ChosenNorm, search_norm, sizes_in
from holdfast.stability.promise.proved_block import bounded_in_energy, with_proof
from holdfast.stability.promise.request import CertificateRequest
from holdfast.stability.promise.sampled import Sampled
from holdfast.stability.promise.tableau import main_tableau, stated_tableau, unshown_order
from holdfast.stability.proof.block import ProofBlock, blocks_of, by_tables
from holdfast.stability.proof.claim import Claim, kept_for
from holdfast.stability.proof.noise.in_mean_square import in_mean_square
from holdfast.stability.proof.omega import Assumptions, peaks_of, region_of, unproved_limits
from holdfast.stability.proof.prove import Interrupted, prove
from holdfast.stability.proof.work import EFFORT, SearchWork
from holdfast.stability.tube.limits import rows_at_limits
from holdfast.stability.tube.rounding.region import native_rounding

ROUNDS = 3  # of proving a block again because another is proved to less than was granted of it
LOOKED_AT = 5  # rows of the run at which the equations are held against the law
_NOTE = f"{INTERRUPTED[0].upper()}{INTERRUPTED[1:]}: more effort may show a smaller bound."
CHANGING = "an adaptive scheme changes its step, and no one step is there that could be shown to contract"
ROUNDING = 2.0**-52  # a growth below one rounding a step is not told from it


@dataclass(frozen=True, eq=False)
class Assessment:
    """Everything but the step."""

    equations: Equations  # that proofs are made of
    runs: Equations  # the same, that runs are made of
    scheme: Scheme
    duration: float | None
    asked: CertificateRequest
    start: Any
    parameters: Mapping[Any, Any]
    constraints: Sequence[str] | None
    sample: bool = False
    progress: Callable[[float], None] | None = None
    tube: bool = False  # a tube along the run is wanted, in place of a region
    in_order: bool = False  # and its steps followed in the order of time, whether they contract or not
    widened: tuple[str, ...] = ()  # parameters that are states here, so that a region bounds them
    counted_from: float | None = None  # where the rows of the run are counted from; None: from its first
    whole_effort: float | None = None  # of which this one has a share, where several steps are tried
    ledger: SearchWork = field(default_factory=lambda: SearchWork(math.inf))  # what all searches took together

    def certificate(self, step: float | None, tolerance: float | None, given: Trajectory | None) -> Certificate:
        if not self.equations.constraints:
            return self._certificate(step, None, ())
        run = given if given is not None else self._run(step, tolerance)
        blocks = self._blocks(run)
        provable = [self._why_not(block) is None and block.roots.hurwitz for block in blocks]
        share = EFFORT * self.asked.effort / max(1, sum(provable))
        errors, seen = self._seen(blocks, run, step)
        least = {name: float(rows.max()) for name, rows in errors.items()}
        granted = Assumptions.along(run, least, [one.certificate for one in seen if one.norm], self.asked.region)
        made, stopped = self._each_certified(seen, step, share, granted)
        for _ in range(0 if stopped else ROUNDS):
            lacking = granted.lacking(peaks_of(made, run))
            again = [k for k, block in enumerate(made) if lacking.keys() & unproved_limits(block, lacking).keys()]
            granted = granted.widened(lacking)
            if not again or not self._proved_again(made, again, seen, step, share, granted):
                break
        for k, block in enumerate(made):  # what still takes more for granted than is proved is no proof
            shown = peaks_of(made, run)
            words = self._assumed(block, shown, set(shown))
            if words:
                obstacle = f"it would assume {words}, which is not proved"
                made[k] = self._certified(seen[k], step, self.ledger.part(share), granted, obstacle)
        if stopped:  # nor was what steps do together looked for
            made = [_noted(block) if one.open else block for one, block in zip(seen, made, strict=True)]
        else:
            made = self._in_tubes(seen, made, step)
        if self.asked.speeds:
            made = [without_speeds(block) for block in made]
        return self._certificate(step, run, tuple(self._said(made, run)))

    def call(self, step: float | None, tolerance: float | None, given: Trajectory | None) -> Hashable:
        """All that decides which nodes are made, and in which order."""
        asked = self.asked
        rows = None if given is None else (given.times.tobytes(), given.y.tobytes())
        numbers = parameter_vector(self.equations, self.parameters)
        flags = self.sample, self.tube, self.in_order, self.counted_from, step, tolerance, self.duration
        told = repr((self.scheme, self.start, self.constraints, self.widened, asked.region, asked.drift, asked.weights))
        return told, asked.effort, asked.speeds, flags, tuple(numbers), rows

    def gaps(self, step: float, run: Trajectory) -> list[tuple[float, float]]:
        """Stretches of a run, with every step kept, in which no tube is proved."""
        if not isinstance(self.scheme, RungeKutta):
            return []
        _, seen = self._seen([block for block in self._blocks(run) if self._why_not(block) is None], run, step)
        work = self.ledger.beside(EFFORT * self.asked.effort)
        return gaps_along(self.equations, self.scheme, step, self.parameters, seen, work)

    def _seen(
        self, blocks: Sequence[ProofBlock], run: Trajectory, step: float | None
    ) -> tuple[dict[str, np.ndarray], list[MeasuredDefect]]:
        """What reading adds to each deviation at each row, and what the run says of each block."""
        errors = reading_errors(self.equations, run, parameter_vector(self.equations, self.parameters))
        begin = float(run.times[0]) if self.counted_from is None else self.counted_from
        along = [
            BlockAlongRun(block, run, np.array([errors[name] for name in block.names]).T, begin) for block in blocks
        ]
        return errors, [self._measured(one, step) for one in along]

    def _in_tubes(
        self, seen: list[MeasuredDefect], made: list[BlockCertificate], step: float | None
    ) -> list[BlockCertificate]:
        """What is not proved in Omega, in a tube along the run where that can be shown; with as much work again."""
        if step is None:
            return self._by_own_steps(seen, made)
        if self.widened:
            return without_tubes(made, self.widened)
        tried = [self._why_not(one.told.block) is None and not self._at_limits(one.told) for one in seen]
        if not isinstance(self.scheme, RungeKutta):
            return made
        whole = EFFORT * self.asked.effort
        work, unspent = self.ledger.beside(whole), max(0.0, whole - self.ledger.spent)  # no region was tried, mostly
        chosen = [k for k, wanted in enumerate(tried) if wanted]
        setting = self.equations, self.scheme, step, self.parameters
        try:
            open_ones = [seen[k] for k in chosen], [made[k] for k in chosen]
            tubes = () if self.in_order else with_tubes(*setting, *open_ones, work, self.asked.speeds)
            for k, better in zip(chosen, tubes, strict=False):
                made[k] = better
            if not any(self._not_followed(one.told) for one in seen):
                made = in_order(*setting, seen, made, self.ledger.beside(work.left + unspent))
        except KeyboardInterrupt as stop:
            for k, better in zip(chosen, stop.found if isinstance(stop, Interrupted) else (), strict=False):
                made[k] = better
            return [_noted(block) for block in made]
        return made

    def _by_own_steps(self, seen: list[MeasuredDefect], made: list[BlockCertificate]) -> list[BlockCertificate]:
        """What is proved along the steps that the run chose, each followed as it is."""
        main, obstacle = main_tableau(self.scheme), self._unfollowed(seen)
        if main is None or obstacle:
            return [
                replace(block, reason=f"{block.reason}; {obstacle}.") if one.open and obstacle else block
                for one, block in zip(seen, made, strict=True)
            ]
        work = self.ledger.beside(EFFORT * self.asked.effort)
        try:
            return in_order(self.equations, main, None, self.parameters, seen, made, work)
        except KeyboardInterrupt:
            return [_noted(block) for block in made]

    def _unfollowed(self, seen: list[MeasuredDefect]) -> str:
        """Why the steps that a run chose cannot be followed one by one; nothing where they can."""
        if self._scheme_why_not:
            return self._scheme_why_not
        if self.widened:
            return f"a tube along the run would be for one value of {', '.join(self.widened)} only"
        if {name for one in seen for name in one.told.block.constraints} != set(self.equations.constraints):
            return "steps are followed for all constraints together, and some were left out"
        for one in seen:
            if self._not_followed(one.told):
                return str(
                    self._at_limits(one.told) or one.told.block.obstacle or "what is run is no system that is known"
                )
            if not one.told.watched(None):
                return "the rows of the run are not its steps, all of them (every=1 keeps them, and at= others)"
        return ""

    def _each_certified(
        self, seen: list[MeasuredDefect], step: float | None, share: float, granted: Assumptions
    ) -> tuple[list[BlockCertificate], str]:
        """The blocks one after the other; Ctrl-C ends the search for proofs, and what is known without them stays."""
        made: list[BlockCertificate] = []
        stopped = ""
        for done, one in enumerate(seen):
            try:
                if self.progress is not None:
                    self.progress(done / len(seen))
                made.append(self._certified(one, step, self.ledger.part(share), granted, stopped))
            except KeyboardInterrupt as stop:
                stopped = INTERRUPTED
                kept = getattr(stop, "found", None)
                made.append(kept or self._certified(one, step, self.ledger.part(share), granted, stopped))
        return made, stopped

    def _proved_again(
        self,
        made: list[BlockCertificate],
        again: list[int],
        seen: list[MeasuredDefect],
        step: float | None,
        share: float,
        granted: Assumptions,
    ) -> bool:
        """Some blocks with wider assumptions, put in the place of what was made; False where Ctrl-C ended it."""
        for k in again:
            try:
                made[k] = self._certified(seen[k], step, self.ledger.part(share), granted)
            except KeyboardInterrupt as stop:
                made[k] = getattr(stop, "found", None) or _noted(made[k])
                return False
        return True

    def _assumed(self, block: BlockCertificate, shown: Mapping[str, float], among: set[str]) -> str:
        """What the proof of a block takes for granted of some deviations, and is not proved of them."""
        missing = unproved_limits(block, shown)
        chosen = [name for name in missing if name in among and name not in self.asked.region]
        return ", ".join(f"|{name}| <= {rounded_down(missing[name])}" for name in chosen)

    def _said(self, made: list[BlockCertificate], run: Trajectory) -> Iterator[BlockCertificate]:
        """Each block with what its Omega takes for granted of blocks that are not proved."""
        shown = peaks_of(made, run)
        for block in made:
            words = self._assumed(block, shown, set(self.equations.deviation_names) - set(shown))
            note = f" Its Omega takes {words} for granted, which is not proved." if words else ""
            note += f" Not re-checked by a verifier: {self._unverified}." if block.proof and self._unverified else ""
            yield replace(block, reason=block.reason + note)

    def _certificate(
        self, step: float | None, run: Trajectory | None, blocks: tuple[BlockCertificate, ...]
    ) -> Certificate:
        equations, own = self.equations, self.equations.problem.run
        values = parameter_vector(equations, self.parameters)
        made = Certificate(
            problem=equations.problem,
            title=equations.problem.title,
            scheme=self.scheme.name,
            step=step,
            times=() if step is not None or run is None or not _of_its_steps(run) else tuple(run.times.tolist()),
            begin=own.begin if run is None else float(run.times[0]),
            duration=(self.duration or own.duration or 0.0) if run is None else float(run.times[-1] - run.times[0]),
            blocks=blocks,
            parameters=dict(zip(equations.parameter_names, values, strict=True)),
            overrides=_overrides(equations, values),
            tableau=stated_tableau(self.scheme),
            widened=self.widened,
            code=stated_code(equations, blocks),
            start=() if run is None else tuple(float(x) for x in run.start.state),
            trajectory=run,
        )
        return established(made)

    def _run(self, step: float | None, tolerance: float | None) -> Trajectory:
        return simulate(
            self.runs,
            self.scheme,
            step=step,
            tolerance=tolerance,
            duration=self.duration,
            start=self.start,
            parameters=self.parameters,
            every=1,
        )

    def _blocks(self, run: Trajectory) -> list[ProofBlock]:
        blocks = blocks_of(self.equations, self.parameters, run)
        if self.constraints is None:
            return blocks
        wanted = set(self.constraints)
        if not wanted:
            names = ", ".join(self.equations.constraints)
            raise BadRequest("none of the constraints is chosen", where="certify(constraints=...)", fix=f"of {names}")
        unknown = wanted - set(self.equations.constraints)
        if unknown:
            raise BadRequest(f"there is no constraint {unknown.pop()!r}", fix=", ".join(self.equations.constraints))
        return [block for block in blocks if wanted & set(block.constraints)]

    def _why_not(self, block: ProofBlock) -> str | None:
        """Why no proof is tried; None where one is."""
        return block.obstacle or self._scheme_why_not

    def _not_followed(self, told: BlockAlongRun) -> bool:
        """Whether not even single steps of a block are followed: what is run is no system that is known."""
        stands = not told.block.obstacle or self.equations.solver.form in YIELDING
        return not stands or self._scheme_why_not is not None or bool(self._at_limits(told))

    @property
    def _scheme_why_not(self) -> str | None:
        scheme = main_tableau(self.scheme) or self.scheme
        if scheme.unproved:
            return scheme.unproved
        if quick_field(self.equations) is not None:
            return UNBOUNDED
        return None if is_named(self.scheme) else unshown_order(scheme)

    def _at_limits(self, told: BlockAlongRun) -> str:
        """Where controls of a run were at their limits: what they hold then is not attracted, and nothing is proved."""
        program, run = self.equations.problem.program, told.run
        if not program.limits or set(told.block.constraints) <= set(program.held_by_reaction):
            return ""
        first = next((float(run.times[k]) for k in rows_at_limits(self.equations, run)), None)
        if first is None:
            return ""
        return f"the law holds only {program.shortfall}, and this run is at them, first at t = {first:.6g}{STRETCHES}"

    @cached_property
    def _unverified(self) -> str:
        """What nobody else derives of the equations: no region is tried, and a tube says that it is not re-checked."""
        return unverified_bodies(self.equations.problem.system)

    # ── one block ─────────────────────────────────────────────────────────────────────────────────

    def _measured(self, told: BlockAlongRun, step: float | None) -> MeasuredDefect:
        """What the run itself says of one block."""
        block, run, place = told.block, told.run, told.block.roots
        if self.equations.problem.system.noise:
            blocks = blocks_of(self.equations, self.parameters, run)
            found = in_mean_square(self.equations, self.scheme, step, self.parameters, block, blocks, run)
            return MeasuredDefect(told, told.refused(found) if isinstance(found, str) else told.averaged(found))
        if block.constant and place.right:
            root = np.linalg.eigvals(block.matrix).real.max()
            away = f"the law is unstable: it drives deviations away, a root has the real part {root:.4g}"
            return MeasuredDefect(told, told.refused(away))
        if not run.outcome.holds_program:
            return MeasuredDefect(told, told.refused(f"the run did not end well: {run.message}"))
        if block.constant and not place.hurwitz:
            return MeasuredDefect(told, self._kept(block, told, step))
        if step is None:
            return MeasuredDefect(told, told.refused(CHANGING), open=True)
        if not told.watched(step):
            return MeasuredDefect(told, told.refused("the run was thinned: a check needs every step"), thinned=True)
        matrices = self._step_matrices(told, step)
        radius = np.abs(np.linalg.eigvals(matrices[0])).max()
        if block.constant and radius >= 1:
            return MeasuredDefect(told, told.refused(self._beyond(radius)))
        defects = told.defects(matrices)
        norm = search_norm(matrices, defects)
        if norm is None:
            why = "no norm was found in which every step along this run contracts"
            return MeasuredDefect(told, told.refused(why), open=True)
        checked = told.checked(norm, defects)
        if not np.isfinite(checked.bounds).all():
            return MeasuredDefect(
                told, told.refused("the defects of this run are beyond the numbers that doubles have")
            )
        return MeasuredDefect(told, checked, norm, defects)

    def _certified(
        self, seen: MeasuredDefect, step: float | None, work: SearchWork, granted: Assumptions, obstacle: str = ""
    ) -> BlockCertificate:
        """The best that can be said of one block; no proof where there is an obstacle to one."""
        block, told, checked = seen.told.block, seen.told, seen.certificate
        if step is not None and seen.thinned:  # a thinned run checks nothing; an estimate is what is left
            return self._estimated(block, told, step, None, granted) or checked
        if step is None or seen.norm is None or seen.defects is None:
            return checked
        why = obstacle or by_tables(self.equations) or self._why_not(block) or self._at_limits(told) or block.tube_only
        why = why or self._unverified or turned_freely(self.equations.problem.system)
        found = why or self._proved(told, step, seen.norm, checked, seen.defects, work, granted)
        if isinstance(found, BlockCertificate):
            return found
        unproved = replace(checked, reason=f"{checked.reason} No proof: {found}.")
        return self._estimated(block, told, step, unproved, granted) if self.sample else unproved

    def _beyond(self, radius: float) -> str:
        factor = rounded_up(radius, 4)
        return f"the step is beyond the linear limit of {self.scheme.name}: one step multiplies deviations by {factor}"

    def _step_matrices(self, told: BlockAlongRun, step: float) -> np.ndarray:
        """R(step·H) at the whole steps of the run: one matrix where H is constant."""
        block, run = told.block, told.run
        if not block.moves:
            return self.scheme.propagator(block.matrix, step)[None]
        places = np.ix_(block.places, block.places)
        matrices = []
        for k in range(len(told.psi) - 1):
            values = self.equations.evaluate(run.y[:, k].tolist(), float(run.times[k]), parameters=self.parameters)
            matrices.append(self.scheme.propagator(values.deviation_matrix[places], step))
        return np.array(matrices)

    # ── estimates ─────────────────────────────────────────────────────────────────────────────────

    def _kept(self, block: ProofBlock, told: BlockAlongRun, step: float | None) -> BlockCertificate:
        """A block that the law does not attract: neutral, unless the scheme itself drives it away."""
        excess = 0.0 if step is None else growth(self.scheme, block.matrix, step)
        if excess > ROUNDING:
            return told.refused(
                f"the law does not attract it, and {self.scheme.name} with this step drives it away: a deviation grows "
                f"by {rounded_up(excess)} of itself at each step"
            )
        return told.neutral()

    def _estimated(
        self, block: ProofBlock, told: BlockAlongRun, step: float, known: BlockCertificate | None, granted: Assumptions
    ) -> Any:
        """The block with a sampled defect, where the scheme's step can be taken anywhere; else what is known."""
        if not isinstance(self.scheme, RungeKutta) or not self.scheme.explicit or not block.constant:
            return known
        matrix = self.scheme.propagator(block.matrix, step)
        radius = np.abs(np.linalg.eigvals(matrix)).max()
        if radius >= 1:
            return told.refused(self._beyond(radius))
        region = region_of(self.asked.region, told.run, len(self.equations.coordinates))
        limits = granted.limits(self.equations, block)
        sizes = [2 * size + error for size, error in zip(told.observed, told.errors.max(axis=0), strict=True)]
        seen = Sampled.of(
            self.equations, block, self.scheme, step, region=region, limits=limits, sizes=sizes,
            parameters=self.parameters,
        )  # fmt: skip
        return seen.certificate(told, matrix, known)

    # ── proofs ────────────────────────────────────────────────────────────────────────────────────

    def _proved(
        self,
        told: BlockAlongRun,
        step: float,
        norm: ChosenNorm | None,
        checked: BlockCertificate,
        defects: np.ndarray,
        work: SearchWork,
        granted: Assumptions,
    ) -> BlockCertificate | str:
        """The certificate with a proof, or why there is none."""
        if self.in_order:
            return f"steps in the order of time were {ASKED_FOR}"
        if self.tube:
            return f"a tube along the run was {ASKED_FOR}"
        block, run = told.block, told.run
        region = region_of(self.asked.region, run, len(self.equations.coordinates))
        assert isinstance(self.scheme, RungeKutta)
        limits = granted.limits(self.equations, block)
        made = kept_for(self.equations, block, self.scheme, self.parameters)
        setting = Claim(
            self.equations, block, self.scheme, step, self.parameters, region, limits, made, told.counted_from
        )
        try:
            norm = region_norm(setting, run, defects) if block.varies else norm
        except HoldfastError as error:
            return error.what
        if norm is None:
            return "no norm was found in which the law, which varies, contracts all over Omega"
        settled = defects[len(defects) // 2 :]  # the entry of a deviating start is not what a proof is measured by
        rounding = sizes_in(np.abs(norm.factor), told.errors[len(told.errors) // 2 :]).max()
        expected = max(float(sizes_in(norm.factor, settled).max()), float(rounding))
        reach = float(sizes_in(norm.factor, told.psi).max())
        rows = [
            (float(run.times[k]), run.y[:, k].tolist())
            for k in np.unique(np.linspace(0, len(told.psi) - 1, LOOKED_AT).astype(int))
        ]
        try:
            if not self.asked.region:
                setting = bounded_in_energy(setting, run)
            proof = prove(
                setting, norm.factor, norm.gamma, expected=expected, reach=reach, work=work, rows=rows,
                native=native_rounding,
            )  # fmt: skip
        except Interrupted as stop:
            kept = "" if stop.found is None else with_proof(setting, checked, stop.found, told)
            if isinstance(kept, str):
                raise Interrupted from None
            raise Interrupted(replace(kept, reason=f"{kept.reason} {_NOTE}")) from None
        except InternalError:
            raise
        except HoldfastError as error:
            return error.what
        if proof is None:
            asked = self.asked.effort if self.whole_effort is None else self.whole_effort
            spent, whole = f"{work.effort:.3g}", f"an effort of {asked:.3g}"
            share = whole if work.effort == asked else f"{spent}, its share of {whole}"
            return f"the region was not covered with {share}; more effort, or a smaller region, may do it"
        return with_proof(setting, checked, proof, told)


def _of_its_steps(run: Trajectory) -> bool:
    """Whether the rows of a run are the ends of its steps, and no others, nor only some of them."""
    return run.every == 1 and not run.picked


def _noted(block: BlockCertificate) -> BlockCertificate:
    """A block, with the word that Ctrl-C ended the search for something better."""
    return replace(block, reason=f"{block.reason.rstrip('.')}. {_NOTE}")


def _overrides(equations: Equations, values: Sequence[float]) -> tuple[str, ...]:
    """The parameters and gains that are not the problem's own."""
    own = parameter_vector(equations, {})
    return tuple(name for name, a, b in zip(equations.parameter_names, values, own, strict=True) if a != b)
