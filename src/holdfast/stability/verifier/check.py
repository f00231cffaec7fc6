"""All that a certificate claims, re-checked: block by block, in words."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from holdfast.stability.verifier.comparison import doubles
from holdfast.stability.verifier.numbers.dag import inputs_of
from holdfast.stability.verifier.numbers.evaluate import ball_values
from holdfast.stability.verifier.numbers.forms import LEAST, Array
from holdfast.stability.verifier.order.eased import yielding, yields
from holdfast.stability.verifier.order.repeated import repeated
from holdfast.stability.verifier.reading.chains import (
    ChainAgreement,
    ChainLaw,
    above_usual,
    chain_equations,
)
from holdfast.stability.verifier.reading.code import Code, clock_error
from holdfast.stability.verifier.reading.equations import Equations, equations
from holdfast.stability.verifier.reading.extension import ExtendedAgreement, agreeing, extended, some_states
from holdfast.stability.verifier.reading.file import BlockClaim, Claim, Claims
from holdfast.stability.verifier.reading.law import Law
from holdfast.stability.verifier.reading.limits import Cut, free_code
from holdfast.stability.verifier.reading.statement import Statement, reactions_in, statement
from holdfast.stability.verifier.reading.tubes import TubeClaim
from holdfast.stability.verifier.refusal import Refused, Unconfirmed, require, understood
from holdfast.stability.verifier.rounding.adjoint import AdjointRounding, BoxRounding
from holdfast.stability.verifier.schemes import Tableau, choosing_tableau, is_taken, stated_tableau, tableau_named
from holdfast.stability.verifier.steps.by_time import TimeCover, decided_by_time
from holdfast.stability.verifier.steps.cells import Cutter, Limit
from holdfast.stability.verifier.steps.charts import ChartCutter
from holdfast.stability.verifier.steps.contraction import Contraction, Norm, bits_for, top
from holdfast.stability.verifier.steps.cover import Budget, Cover, covered
from holdfast.stability.verifier.steps.data import DataSteps, data_of
from holdfast.stability.verifier.steps.defect import DefectJudge
from holdfast.stability.verifier.steps.existence import Existence
from holdfast.stability.verifier.steps.law import UniformContraction, VaryingLaw, varies
from holdfast.stability.verifier.steps.motion import WholeMotion
from holdfast.stability.verifier.steps.rounding import Agreement, RoundingModel
from holdfast.stability.verifier.steps.unknowns import System
from holdfast.stability.verifier.tube.limits import LimitAgreement

CELLS = 100_000  # of one verification, unless said otherwise
OBSERVABLES = ("kinetic", "potential", "energy")  # that a region may bound; not derived for variable masses, where
# the claim is shown without such a bound
POINTS = 64  # states of a block at which the code is compared with the equations
UNSEEN = 1e-100  # a rounding below this is one of underflow: enclosures in doubles are not as sharp near 0
UNSEEN_BOXES = 100  # that are tried all the same
LEAST_ROUNDING = 1e-150  # of a claim: the norm of what is smaller underflows in doubles


@dataclass
class Shown:
    """What was shown of one block, with the numbers that follow."""

    block: BlockClaim
    defect: float
    bounds: list[float]
    widths: list[float]
    start_size: float
    cells: int
    points: int
    contraction: Contraction | UniformContraction

    def envelope(self, after: Array) -> Array:
        """What is claimed of each deviation so many steps after the first that is covered: (steps, deviations)."""
        block, proof = self.block, self.block.proof or self.block.tube_proof
        assert proof is not None
        assert block.start_size is not None
        widths, left = np.array(self.widths), proof.gamma ** after[:, None]
        settled = np.array(block.bounds) + (left * block.start_size * widths if block.settles else 0.0)
        return np.minimum(settled, widths * (left * block.start_size + self.defect * (1 - left) / (1 - proof.gamma)))


@dataclass
class Reading:
    """The problem of a certificate, read and derived by the verifier."""

    claims: Claims
    stated: Statement
    equations: Equations
    own_tableau: Tableau | None  # none under noise, where any other scheme than Euler's stands for the usual paths
    agreement: Agreement | ChainAgreement | ExtendedAgreement
    notes: list[str] = field(default_factory=list)
    cuts: tuple[Cut, ...] = ()  # limits of controls that the code has, and `code` has not
    free: Code | None = None

    def tell(self, note: str) -> None:
        """Once, beside what is shown."""
        if note and note not in self.notes:
            self.notes.append(note)

    @property
    def tableau(self) -> Tableau:
        """The scheme by which a sure bound is proved."""
        assert self.own_tableau is not None
        return self.own_tableau

    @property
    def code(self) -> Code:
        """What is run, as it is where no limit is reached."""
        found = self.free or self.claims.code
        assert found is not None
        return found


# ── reading ───────────────────────────────────────────────────────────────────────────────────────


def reading(claims: Claims) -> Reading:
    """The problem of a certificate with its numbers; refused where these are not those of its text."""
    stated = understood(statement, claims.problem)
    require(claims.title == stated.title, "its title is not the one of the problem")
    if stated.phased:
        raise Unconfirmed("its problem has phases, and what is re-checked is one program, held all the time")
    for name in claims.widened:
        require(stated.states.get(name) is stated.dag.zero, f"{name!r} is said to be a parameter, but may move")
    sure = any((block.proof or block.tube_proof or block.ordered) is not None for block in claims.blocks)
    require(not (sure and stated.noise), "the problem has noise, so nothing can be proved of a run")
    high = above_usual(claims)
    stated.take(claims.code.tables if claims.code is not None else {})
    law = ChainLaw(stated, claims) if high else understood(Law, stated)
    notes: list[str] = []
    numbers = doubles({**stated.parameters, **law.gains}, stated)
    require(set(claims.parameters) == set(numbers), "its parameters are not those of the problem")
    require(set(claims.overrides) <= set(numbers), "it overrides a parameter that the problem does not have")
    for name, value in claims.parameters.items():
        if name in claims.overrides:
            require(value != numbers[name], f"it overrides {name}, whose value is the problem's own")
            notes.append(f"{name} = {value:g} is put in the place of the problem's {numbers[name]:g}")
        else:
            require(value == numbers[name], f"{name} = {value:g} is not the problem's {numbers[name]:g}")
    tableau = _tableau(claims, notes)
    require(tableau is not None or not sure, f"the scheme {claims.scheme[:30]!r} is not an explicit tableau")
    require((claims.step is None) == (claims.times is not None), "there is no step, or steps of its own beside one")
    followed = all(block.ordered is not None for block in claims.blocks if block.claimed)
    require(claims.times is None or followed, "steps that a run chose are followed in the order of time alone")
    own = len(stated.state_names)
    require(len(claims.start) == own or (high and len(claims.start) > own), "the start is not a state of the problem")
    require(claims.code is not None, "the code that is run is not in it")
    assert claims.code is not None
    if isinstance(law, ChainLaw):
        if stated.limits:
            raise Unconfirmed("limits of controls above degree 2 cannot be re-checked independently")
        chains = chain_equations(stated, law, claims)
        _refuse_friction(chains, "above degree 2")
        notes += _start_notes(claims, stated)
        agreed = ChainAgreement(chains, claims.code, claims.parameters)
        points = some_states(claims, chains.inputs)
        system = extended(chains, points[0])
        if system is None or not agreeing(agreed, system, points):
            return Reading(claims, stated, chains, tableau, agreed, notes)
        return Reading(claims, stated, system, tableau, ExtendedAgreement(agreed, system), notes)
    notes += _start_notes(claims, stated)
    made = understood(equations, stated, law, claims.parameters)
    if claims.code.passes is not None:
        met = repeated(made, claims.code, claims.parameters)
        return Reading(claims, stated, met[0], tableau, met[1], notes)
    if yields(made):
        yielded = yielding(made, claims.code, claims.parameters, claims.begin, claims.start)
        return Reading(claims, stated, yielded[0], tableau, yielded[1], notes)
    if stated.limits:
        _refuse_friction(made, "beside limits of controls")
        free, cuts = free_code(claims.code, len(made.inputs))
        limited = LimitAgreement(made, free, cuts, claims.parameters)
        return Reading(claims, stated, made, tableau, limited, notes, cuts, free)
    agreement = Agreement(made, claims.code, claims.parameters)
    return Reading(claims, stated, made, tableau, agreement, notes)


def _tableau(claims: Claims, notes: list[str]) -> Tableau | None:
    """The tableau of its scheme, by its name or as it is stated under a name that means no other."""
    if claims.tableau is None:
        return tableau_named(claims.scheme) if claims.times is None else choosing_tableau(claims.scheme)
    require(not is_taken(claims.scheme), f"it gives the name {claims.scheme[:30]!r} to another tableau")
    found = stated_tableau(*claims.tableau)
    stages = f"{len(found.weights)} stage{'s' if len(found.weights) > 1 else ''}"
    notes.append(f"{claims.scheme} is the tableau that it states, of order {found.order} with {stages}")
    return found


def require_at_once(made: Equations) -> None:
    if made.in_passes:
        raise Unconfirmed("constraints that may repeat each other are re-checked by steps in the order of time alone")


def _refuse_friction(made: Equations, beside: str) -> None:
    if reactions_in(made.bias):
        raise Unconfirmed(f"forces use their own reactions {beside}, which is not re-checked")


def _start_notes(claims: Claims, stated: Statement) -> list[str]:
    """Where the run starts elsewhere than the text says."""
    import flint

    at = dict(zip(stated.state_names, claims.start, strict=True))
    known = {name: flint.arb(value) for name, value in claims.parameters.items()}
    notes = []
    for name, node in stated.start.items():
        require(name in at, f"the problem text starts {name!r}, which is no state")
        if inputs_of([node]) <= set(known):
            wanted = float(ball_values([node], known)[0].mid())
            if abs(wanted - at[name]) > 1e-9 * max(abs(wanted), abs(at[name])):
                notes.append(f"the run starts at {name} = {at[name]:g}; the problem states {wanted:g}")
    return notes


# ── one block ─────────────────────────────────────────────────────────────────────────────────────


def check_block(read: Reading, block: BlockClaim, budget: Budget) -> Shown:
    """Every claim of a proved block, or `Refused`, or `Unconfirmed`."""
    import flint

    proof, made, claims = block.proof, read.equations, read.claims
    assert proof is not None
    assert claims.step is not None
    _require_names(read, block, proof)
    require_at_once(made)
    if read.cuts:
        raise Unconfirmed("that no limit of a control is reached is re-checked in tubes alone")
    if reactions_in(made.bias) and System(made).slopes:
        raise Unconfirmed("forces bend with the reactions that they use, which is re-checked in tubes alone")
    changing = not made.chained and varies(made, block.names)
    matrix = [] if changing else made.matrix(block.names)  # a law that varies has no one matrix to state
    require(matrix == [[Fraction(x) for x in row] for row in block.matrix], "the law is not the one of the problem")
    require(block.gamma == proof.gamma < 1, "the contraction is not the one of the proof, or none")
    before, flint.ctx.prec = flint.ctx.prec, bits_for(len(block.names))
    try:
        contraction = (
            UniformContraction(proof.factor, proof.gamma)
            if changing
            else Contraction(matrix, read.tableau, claims.step, proof.factor, proof.gamma)
        )
        widths = [top(width) for width in contraction.widths()]
        _require_numbers(read, block, proof, contraction)
        start = _start_size(read, block, contraction)
        require(
            block.settles == (start > proof.radius), "the certificate misstates whether the start is on the program"
        )
        _require_covered_start(block, proof, start)
        defect = _defect(proof, read.tableau, claims.step)
        share = 0.0 if block.settles else max(start, block.start_size or 0.0)
        settled = contraction.settled(defect)
        shown = [top(a + flint.arb(share) * b) for a, b in zip(settled, contraction.widths(), strict=True)]
    finally:
        flint.ctx.prec = before
    for name, claimed, least in zip(block.names, block.bounds, shown, strict=True):
        require(claimed >= least * (1 - 1e-12), f"the bound of {name} is smaller than what was shown")
    if changing:
        _law_cover(read, block, proof, widths, budget)
    cells = _defect_cover(read, block, proof, widths, budget, changing)
    rounding = _rounding_cover(read, block, proof, widths, budget)
    require(rounding.cells > 0, "no state of its region lies near the program")
    _require_existence(read, block, proof, widths, budget, changing)
    points = _agree(read, proof, rounding)
    return Shown(block, top(defect), shown, widths, start, cells.cells + rounding.cells, points, contraction)


def _require_names(read: Reading, block: BlockClaim, proof: Claim) -> None:
    stated = read.stated
    unknown = [name for name in block.constraints if name not in stated.constraints]
    require(not unknown, f"the problem has no constraint {unknown[0] if unknown else ''!r}")
    own = {word for name in block.constraints for word in read.equations.names_of(name)}
    require(set(block.names) == own, "the deviations are not those of its constraints")
    size = len(block.names)
    require(len(proof.factor) == size and len(block.matrix) in (0, size), "the norm or the law is of another size")
    require(len(block.bounds) == size, "there is not one bound for each deviation")
    require(set(proof.region) == set(read.equations.inputs), "the region does not bound time and the whole state")
    known = {name for name in read.equations.psi if name not in block.names} | {*OBSERVABLES}
    unknown = [name for name in proof.limits if name not in known]
    require(not unknown, f"the region bounds {unknown[0] if unknown else ''!r}, which is not known here")


def _require_numbers(read: Reading, block: BlockClaim, proof: Claim, contraction: Norm) -> None:
    assert read.claims.step is not None
    defect = _defect(proof, read.tableau, read.claims.step)
    radius = top(contraction.radius(defect)) * (1 - 1e-14)
    require(radius <= proof.radius, "the radius is smaller than the defect allows")
    require(proof.radius <= proof.tube, "the radius is beyond the tube")
    require(block.defect is not None and block.defect >= top(defect) * (1 - 1e-14), "the defect is smaller than shown")
    require(block.epsilon is not None and block.epsilon >= radius, "epsilon is smaller than what was shown")


def _require_covered_start(block: BlockClaim, proof: Claim, start: float) -> None:
    """From which step on the envelope holds: the start itself is looked at here, a later one in the run made again."""
    if block.start_size is None:
        require(block.from_step == 0, "it says from which step on it holds, but not how large the deviation is there")
        return
    require((block.from_step == 0) == (start <= proof.tube), "the certificate misstates from which step on it holds")
    require(block.start_size <= proof.tube, "the first step that it covers lies outside its tube")
    if block.from_step == 0:
        require(block.start_size >= start * (1 - 1e-12), "the start deviates more than stated")


def _defect(proof: Claim | TubeClaim, tableau: Tableau, step: float) -> Any:
    """coefficient·step^(p+1) + rounding, as a ball."""
    import flint

    return flint.arb(proof.coefficient) * flint.arb(step) ** (tableau.order + 1) + flint.arb(proof.rounding)


def _start_size(read: Reading, block: BlockClaim, contraction: Norm) -> float:
    import flint

    values = dict(zip(read.equations.inputs, map(flint.arb, (read.claims.begin, *read.claims.start)), strict=True))
    return top(contraction.norm(ball_values([read.equations.psi[name] for name in block.names], values)))


def _limits(read: Reading, block: BlockClaim, proof: Claim, widths: list[float], variables: list[str]) -> list[Limit]:
    """The tube, and what else the region bounds, as far as these variables decide it."""
    made, found = read.equations, []
    for name, width in zip(block.names, widths, strict=True):
        size = proof.tube * width * (1 + 1e-12)
        found.append(Limit(made.psi[name], -size, size, across=True))
    for name, (low, high) in proof.limits.items():
        node = made.psi.get(name) or made.observables.get(name)
        if node is not None:
            found.append(Limit(node, low, high, across=name in made.psi))
    return [limit for limit in found if inputs_of([limit.node]) <= set(variables)]


def _defect_cover(
    read: Reading, block: BlockClaim, proof: Claim, widths: list[float], budget: Budget, changing: bool
) -> Cover:
    """‖Lᵀc‖ ≤ coefficient over the region within the tube."""
    made, step = read.equations, read.claims.step
    assert step is not None
    if not changing and decided_by_time(made, block.constraints, read.tableau):
        alone = TimeCover(made, block.names, read.tableau, step, proof.factor)
        low, high = proof.region["t"]
        return alone.shown((low, high), proof.coefficient, budget)
    motion = WholeMotion(made, block.names)
    variables = motion.variables
    cutter = ChartCutter(made.dag, variables, _limits(read, block, proof, widths, variables))
    region = np.array([proof.region[name] for name in variables]).reshape(len(variables), 2)
    judge = DefectJudge(motion, read.tableau, step, proof.factor, proof.coefficient, region, cutter)
    return covered(region, cutter, judge, proof.coefficient, "defect", budget)


def _law_cover(read: Reading, block: BlockClaim, proof: Claim, widths: list[float], budget: Budget) -> Cover:
    """‖A‖ ≤ γ over the region within the tube, for a law that varies."""
    assert read.claims.step is not None
    sizes = {name: (-proof.tube * width, proof.tube * width) for name, width in zip(block.names, widths, strict=True)}
    known = {**proof.limits, **sizes}
    law = VaryingLaw(read.equations, block.names, read.tableau.order, read.claims.step, proof.factor, known)
    variables = law.motion.variables
    cutter = Cutter(variables, _limits(read, block, proof, widths, variables))
    region = np.array([proof.region[name] for name in variables]).reshape(len(variables), 2)
    return covered(region, cutter, law.judge, proof.gamma, "contraction", budget)


def _rounding_cover(read: Reading, block: BlockClaim, proof: Claim, widths: list[float], budget: Budget) -> Cover:
    made, claims = read.equations, read.claims
    assert claims.step is not None
    assert claims.code is not None
    require(proof.rounding >= LEAST_ROUNDING, "the rounding is stated smaller than doubles can show: squares underflow")
    clock = clock_error(claims.begin, *proof.region["t"], claims.step, read.tableau)
    model = RoundingModel(
        made,
        claims.code,
        block.names,
        read.tableau,
        claims.step,
        proof.factor,
        claims.parameters,
        clock,
        _jumps(read, block),
    )
    factors, code, step = [np.array(proof.factor)], claims.code, claims.step

    def slopes() -> AdjointRounding:
        return AdjointRounding(made, code, [block.names], read.tableau, step, factors, claims.parameters, clock)

    region = np.array([proof.region[name] for name in made.inputs])
    both = BoxRounding(model, None if code.tables else slopes, made.inputs[1:], _relevant(read, block, region))
    cutter = Cutter(made.inputs, _limits(read, block, proof, widths, made.inputs), turned=False)
    left, seconds = budget.left()
    spent = budget if proof.rounding >= UNSEEN else Budget(seconds, min(left, UNSEEN_BOXES))
    try:
        return covered(region, cutter, lambda x: both.judge(x, proof.rounding), proof.rounding, "rounding", spent)
    except (Refused, Unconfirmed):
        if proof.rounding < UNSEEN:
            raise Unconfirmed("the deviation is 0 but for underflow, which is too small to be re-checked") from None
        raise


def _require_existence(
    read: Reading, block: BlockClaim, proof: Claim, widths: list[float], budget: Budget, changing: bool
) -> None:
    """What holds the program has a value all over the region, where the defect does not ask for it.

    Whatever is claimed of energies: what lies between two rows is no further off the program, but may have any.
    """
    made = read.equations
    by_time = not changing and decided_by_time(made, block.constraints, read.tableau)
    wanted = Existence(made, None if by_time else WholeMotion(made, block.names))
    read.tell(wanted.note)
    if not wanted.nothing:
        region = np.array([proof.region[name] for name in made.inputs])
        near = replace(proof, limits={name: ends for name, ends in proof.limits.items() if name in made.psi})
        limits = _limits(read, block, near, widths, made.inputs)
        wanted.require_over(region, Cutter(made.inputs, limits, turned=False), budget)


def _jumps(read: Reading, block: BlockClaim) -> list[float]:
    made = read.equations
    if not made.stated.data or not data_of(made, block.names):
        return []
    assert read.claims.step is not None
    return DataSteps(made, block.names, made.matrix(block.names), read.tableau, read.claims.step, []).jumps()


def _relevant(read: Reading, block: BlockClaim, region: Array) -> Array:
    """Of each variable, one beside its range; 0 for those on which no deviation of the block ever depends."""
    try:
        used = WholeMotion(read.equations, block.names).variables
    except Unconfirmed:
        used = read.equations.inputs
    return np.array([name in used for name in read.equations.inputs]) / np.maximum(region[:, 1] - region[:, 0], LEAST)


def _agree(read: Reading, proof: Claim, cover: Cover) -> int:
    """The code against the equations: at centres of cells, and anywhere in the region."""
    shake, points = np.random.default_rng(11), cover.points
    chosen = [points[k] for k in np.unique(np.linspace(0, len(points) - 1, POINTS).astype(int))]
    ends = np.array([proof.region[name] for name in read.equations.inputs])
    chosen += list(shake.uniform(ends[:, 0], ends[:, 1], (POINTS, len(ends))))
    count = sum(read.agreement.check(list(point)) for point in chosen)
    require(count > 0, "the code could not be compared with the equations at any state of the region")
    return count


def outcome(read: Reading, block: BlockClaim, budget: Budget) -> tuple[Shown | None, str]:
    """The check of a block in a sentence."""
    names = ", ".join(block.constraints)
    try:
        shown = check_block(read, block, budget)
    except Refused as refusal:
        return None, f"{names}: does not hold: {refusal}"
    except Unconfirmed as doubt:
        return None, f"{names}: {doubt}"
    return shown, f"{names}: holds, {shown.cells} cells re-checked, the code agrees at {shown.points} states"
