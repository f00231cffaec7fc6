"""What can be promised of a run that chose its own steps: bounds for every run near it that takes the same ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from holdfast.common.rounded import rounded_down, rounded_up
from holdfast.equations.equations import Equations
from holdfast.equations.quick import UNBOUNDED, quick_field
from holdfast.equations.solving.applied import Applied
from holdfast.equations.values import parameter_vector
from holdfast.errors import BadRequest, HoldfastError
from holdfast.graph.arithmetics.balls import precision
from holdfast.graph.nodes import Node, substitute
from holdfast.problem.vocabulary import by_name
from holdfast.results.judgement.outcome import Outcome
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.algebra.order_conditions import residuals
from holdfast.schemes.by_name import scheme_named
from holdfast.schemes.kinds.embedded import Embedded
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.parts.part import same_run
from holdfast.stability.promise.envelope import reading_errors
from holdfast.stability.promise.in_tube import YIELDING
from holdfast.stability.promise.tableau import require_maker
from holdfast.stability.proof.block import ProofBlock, blocks_of, bound_numbers
from holdfast.stability.proof.claim import BITS, Claim
from holdfast.stability.proof.work import SearchWork
from holdfast.stability.tube.cells import Array, scales_of
from holdfast.stability.tube.flow import TubeFlow, tube_flow
from holdfast.stability.tube.prove import NARROWER, TRIES, WIDTH, WITHIN, TubeProver, TubeRequest
from holdfast.stability.tube.varying_steps import StepForms, StepNorm, candidate_factors, carried, largest

Limit = tuple[Node, float, float]  # a control as it is computed, and its limits
_MADE_OF: WeakKeyDictionary[OwnStepBounds, Trajectory] = WeakKeyDictionary()  # the run that each is proved along
LOOKED_AT = 5  # rows of the run at which the equations are held against the law
FEWEST = 2  # steps


@dataclass(frozen=True, eq=False)
class OwnStepBounds:
    """Of one block: bounds for every run of the scheme that takes this run's own steps and stays in the tube."""

    constraints: tuple[str, ...]
    names: tuple[str, ...]
    bounds: tuple[float, ...]
    middle: Array = field(repr=False)  # [row, deviation]
    radius: Array = field(repr=False)  # [row, deviation]: |ψ − middle| ≤ radius at each row
    width: float  # of each state's range: the boxes around the rows
    gamma: float  # the weakest contraction of a step
    steps: tuple[float, float]  # the shortest and the longest
    start_size: float  # ‖ψ₀‖_P of the runs that are spoken of, at most
    obeyed: bool = True  # False: the controls are not what the law asks for, and what that adds is in the bounds

    def __str__(self) -> str:
        told = ", ".join(f"|{name}| <= {rounded_up(x)}" for name, x in zip(self.names, self.bounds, strict=True))
        return f"{', '.join(self.constraints)}: proved in a tube along this run's own steps: {told}. {self.promise()}"

    def promise(self) -> str:
        """Of which runs that is proved, in a sentence."""
        low, high = rounded_down(self.steps[0]), rounded_up(self.steps[1])
        return (
            f"Proved of every run that takes the same steps ({low} to {high}), starts with no more deviation and stays "
            f"within {rounded_down(100 * self.width)} % of each state's range of this run's rows"
            f"{'' if self.obeyed else '; the law is not obeyed, and what the controls miss of it is included'}. "
            "Nothing is said of runs that take other steps. Not re-checked by a verifier."
        )


def own_step_bounds(
    equations: Equations, trajectory: Trajectory, *, parameters: Mapping[Any, Any] | None = None
) -> dict[str, OwnStepBounds | str]:
    """Drift bounds along the steps that an adaptive run chose, by constraints joined by "+"; or why there are none.

    For runs of `hf.DOPRI5`, or of any explicit scheme with exact coefficients, that kept every step. Nothing is said of
    runs that take other steps, nor that a neighbour would choose these. Controls with a model of their own do not make
    the deviations obey the law: what they miss is one more defect, and the bound is that of what is left to track.

        run = hf.simulate(equations, hf.DOPRI5, tolerance=1e-8, duration=10, every=1)
        bounds = hf.own_step_bounds(equations, run);  print(bounds["rod"])
    """
    if not isinstance(equations, Equations) or not isinstance(trajectory, Trajectory):
        raise BadRequest("own_step_bounds() takes Equations and a run of them")
    scheme = _scheme(trajectory)
    equations.require_unsampled("own_step_bounds")
    if equations.problem.phases or equations.problem.system.noise or not trajectory.outcome.holds_program:
        raise BadRequest("a run of one program, without noise, that ended well is needed", where="own_step_bounds")
    if trajectory.equations is None or trajectory.equations.problem != equations.problem:
        raise BadRequest("the run was made by other equations", where="own_step_bounds(trajectory)")
    whole = trajectory.every == 1 and trajectory.steps == len(trajectory.times) - 1 >= FEWEST
    if not whole or trajectory.outcome is Outcome.event or trajectory.projected:
        raise BadRequest(
            "the rows of the run are not its steps, all of them", where="own_step_bounds",
            fix="keep every step, without chosen times, events and projection",
        )  # fmt: skip
    numbers = {name: trajectory.parameters[name] for name in equations.parameter_names}
    if any(numbers.get(name, value) != value for name, value in by_name(parameters or {}, where="parameters").items()):
        raise BadRequest("the run was made with other parameters", where="own_step_bounds", fix="leave them out")
    errors = reading_errors(equations, trajectory, parameter_vector(equations, numbers))
    found: dict[str, OwnStepBounds | str] = {}
    for block in blocks_of(equations, numbers, trajectory):
        try:
            bounds = _of_block(equations, block, scheme, trajectory, numbers)
        except HoldfastError as error:
            bounds = error.what
        if isinstance(bounds, OwnStepBounds):
            _require_kept(bounds, trajectory, np.array([errors[name] for name in block.names]).T)
            _MADE_OF[bounds] = trajectory
        found["+".join(block.constraints)] = bounds
    return found


def made_along(bounds: OwnStepBounds, run: Trajectory) -> bool:
    """Whether `own_step_bounds` made this very object, of this run or of the same one with more of its rows kept."""
    made = _MADE_OF.get(bounds)
    return made is not None and same_run(made, run)


def _require_kept(bounds: OwnStepBounds, run: Trajectory, errors: Array) -> None:
    """Hold the run against its own bounds, row by row."""
    psi = np.array([run[name] for name in bounds.names]).T
    wrong = np.flatnonzero(~(np.abs(psi - bounds.middle) <= bounds.radius + errors).all(axis=1))
    if len(wrong):
        raise BadRequest(
            f"the rows of the run are not steps of {run.scheme}: at t = {run.times[wrong[0]]:.6g} they leave what is "
            "proved of those", where="own_step_bounds", fix="give a scheme of your own a name of its own",
        )  # fmt: skip


def _scheme(run: Trajectory) -> RungeKutta:
    chosen = scheme_named(run.scheme)
    require_maker(run, chosen, "own_step_bounds(trajectory)")
    main = chosen.main if isinstance(chosen, Embedded) else chosen
    if not isinstance(main, RungeKutta) or not main.explicit:
        raise BadRequest(chosen.unproved, where="own_step_bounds", fix="e.g. dopri5")
    if main.digits is not None or any(residual for _, residual in residuals(main.stages, main.weights, main.order)):
        raise BadRequest(f"the order of {chosen.name} is not shown", where="own_step_bounds", fix="e.g. dopri5")
    return main


def _of_block(
    equations: Equations, block: ProofBlock, scheme: RungeKutta, run: Trajectory, numbers: Mapping[Any, Any]
) -> OwnStepBounds | str:
    program = equations.problem.program
    loose = bool(program.shortfall) and not set(block.constraints) <= set(program.held_by_reaction)
    if (not block.constant and not loose) or block.varies or equations.solver.form in YIELDING:
        return block.obstacle or "the law varies"
    if quick_field(equations) is not None:
        return UNBOUNDED
    if not block.roots.hurwitz:
        return "the law does not attract it"
    psi = np.array([run[name] for name in block.names]).T
    lengths = np.diff(run.times)
    matrices = np.array([scheme.propagator(block.matrix, h) for h in lengths])
    seen = psi[1:] - np.einsum("kij,kj->ki", matrices, psi[:-1])
    norm = _norm(scheme, block.matrix, run, seen)
    if norm is None:
        return "no norm was found in which every step of this run contracts"
    flow, limits = tube_flow(equations, numbers), tuple[Limit, ...]()
    if loose:
        flow, limits = _as_run(equations, flow, numbers)
    else:
        request = TubeRequest(block, norm.factor, float(norm.gammas.max()), 1.0)
        prover = TubeProver(equations, scheme, float(lengths.max()), numbers, run, [request], SearchWork(np.inf))
        rows = np.unique(np.linspace(0, len(run.times) - 1, LOOKED_AT).astype(int))
        prover.require_sound([(float(run.times[k]), run.y[:, k].tolist()) for k in rows])
    forms = StepForms(flow, scheme, run, scales_of(run, len(equations.inputs.q), flow.angles))
    claim = Claim(equations, block, scheme, float(lengths.max()), numbers, {}, {})
    with precision(BITS):
        start = claim.begun(norm.factor, float(run.times[0]), run.y[:, 0].tolist())
    most = float((np.linalg.norm(seen @ norm.factor, axis=1) / (1 - norm.gammas)).max())
    return _narrowed(block, norm, forms, start, run, most, limits if loose else None)


def _as_run(equations: Equations, flow: TubeFlow, numbers: Mapping[Any, Any]) -> tuple[TubeFlow, tuple[Limit, ...]]:
    """The motion as it is run, controls found by whatever model, limits left away; and those limits."""
    bound, program = bound_numbers(equations, numbers), equations.problem.program
    solution = equations.solution
    assert isinstance(solution, Applied)
    acting = dict(zip(program.controls, solution.mu[len(program.held_by_reaction) :], strict=True))
    free = {acting[name]: solution.command[name] for name in program.limits}
    code = substitute([*equations.field.rates], free)
    places = [equations.field.state.index(node) for node in flow.variables]
    rates = substitute([code[k] for k in places], bound)
    limits = []
    for name, ends in program.limits.items():
        low, high = (
            side * math.inf if end is None else float(substitute([equations.inputs.walk(end)], bound)[0].data)
            for end, side in zip(ends, (-1, 1), strict=True)
        )
        limits.append((substitute([solution.command[name]], bound)[0], low, high))
    chosen = tuple(code[k] for k in places)
    whole = replace(flow, rates=tuple(rates), entries={}, right=(), unknowns={}, limits=(), friction=None)
    return replace(whole, code_rates=chosen, code_unknowns=()), tuple(limits)


def _norm(scheme: RungeKutta, law: Array, run: Trajectory, seen: Array) -> StepNorm | None:
    """The one in which what the run showed settles lowest, of those in which all steps contract."""
    matrices = np.array([scheme.propagator(law, h) for h in np.diff(run.times)])
    ranked: list[tuple[float, int, Array]] = []
    for factor in candidate_factors(law, seen):  # in doubles; what is chosen is then shown in balls
        inverse = np.linalg.inv(factor.T)
        gammas = np.linalg.svd(factor.T @ matrices @ inverse, compute_uv=False)[:, 0]
        if gammas.max() < 1:
            size = (np.linalg.norm(seen @ factor, axis=1) / (1 - gammas)).max() * np.linalg.norm(inverse[0])
            ranked.append((float(size), len(ranked), factor))
    proved = (StepNorm.proved(scheme, law, factor, run) for _, _, factor in sorted(ranked, key=lambda one: one[:2]))
    return next((norm for norm in proved if norm is not None), None)


def _narrowed(
    block: ProofBlock, norm: StepNorm, forms: StepForms, start: float, run: Trajectory, seen: float,
    limits: tuple[Limit, ...] | None,
) -> OwnStepBounds | str:  # fmt: skip
    """Narrower and narrower tubes, until the bound is near what the run shows; `limits` where no law is obeyed."""
    best: OwnStepBounds | None = None
    empty = False  # whether some tube said as much by itself
    places: Sequence[int] = list(block.places)
    for depth in range(TRIES):
        width = WIDTH / NARROWER**depth
        if limits is None:
            middle, radius = (part[:, places] for part in forms.defects(width))
            radius = radius + forms.rounding(width)[:, places]
        elif not forms.commands_within(width, limits):
            continue
        else:
            middle, radius = forms.direct(width, norm, places)
        if not (np.isfinite(middle).all() and np.isfinite(radius).all()):
            continue
        centre, reach = carried(norm, middle, radius, start)
        bounds = largest(norm, centre, reach)
        idle = all(bound >= reach for bound, reach in zip(bounds, forms.reaches(width)[places], strict=True))
        empty = empty or idle
        if not idle and (best is None or bounds[0] < best.bounds[0] / 2):
            lengths = np.diff(run.times)
            best = OwnStepBounds(
                block.constraints, block.names, tuple(bounds), centre, reach[:, None] * norm.widths, width,
                float(norm.gammas.max()), (float(lengths.min()), float(lengths.max())), start, limits is None,
            )  # fmt: skip
        sizes = np.linalg.norm((np.abs(middle) + radius) @ np.abs(norm.factor), axis=1) / (1 - norm.gammas)
        if float(sizes.max()) <= WITHIN * seen and not idle:
            break
    if best is not None:
        return best
    none = "no tube along the run has a bound, 0.001 of each range wide or narrower"
    return "the bounds in a tube say no more than the tube itself" if empty else none
