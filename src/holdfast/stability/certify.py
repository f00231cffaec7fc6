"""How far the constraints can drift, and on what grounds that is said."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.equations.values import parameter_vector
from holdfast.errors import BadRequest, HoldfastError
from holdfast.problem.file import dumps
from holdfast.problem.laws import Law
from holdfast.results.simulate import simulate
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.by_name import Scheme, scheme_named
from holdfast.schemes.runge_kutta import RungeKutta
from holdfast.stability.block import Block, blocks_of, deviation_names
from holdfast.stability.certificate import BlockCertificate, Certificate, Label, Proof
from holdfast.stability.choice import ChosenNorm, chosen_norm
from holdfast.stability.prove import BITS, Setting, prove, total_defect

Region = Mapping[Any, tuple[float, float]]
Bounds = dict[str, tuple[float, float]]


def certify(
    equations: Equations,
    scheme: Scheme | str | None = None,
    *,
    step: float | None = None,
    tolerance: float | None = None,
    duration: float | None = None,
    drift: float | None = None,
    region: Region | None = None,
    trajectory: Trajectory | None = None,
    constraints: Sequence[str] | None = None,
    start: Any = None,
    parameters: Mapping[Any, Any] | None = None,
    law: Law | None = None,
    effort: float = 5.0,
) -> Certificate:
    """A certificate for each decoupled block of constraints: proved, checked, neutral, refused, each with its reason.

    `region` bounds time (``"t"``), states and any observable (``"energy"``); what is not given is taken from a run,
    with a margin. `effort` is the time in seconds that the search for proofs may take. With `drift`, the largest step
    is sought at which every deviation that is held stays below it.
    """
    if not isinstance(equations, Equations):
        raise BadRequest(f"certify() takes Equations, not {type(equations).__name__}", fix="hf.derive(problem) first")
    equations = equations if law is None else equations.with_law(law)
    chosen = scheme_named(equations.problem.run.scheme if scheme is None else scheme)
    job = Job(equations, chosen, duration, region or {}, start, parameters or {}, effort, constraints)
    if drift is not None:
        return _for_drift(job, drift, step)
    size = step if step is not None else (trajectory.step if trajectory else equations.problem.run.step)
    return job.certificate(size, tolerance, trajectory)


def _for_drift(job: Job, drift: float, step: float | None) -> Certificate:
    """The largest step, within a factor of 1.1, whose bounds stay below the wanted drift."""
    if not drift > 0:
        raise BadRequest(f"drift = {drift!r} is not positive", fix="give a positive bound")
    if job.scheme.adaptive:
        raise BadRequest("a step for a wanted drift needs a fixed-step scheme", fix="e.g. hf.RK4")
    length = job.duration or job.equations.problem.run.duration or 10.0
    size = step or job.equations.problem.run.step or length / 1000
    best: Certificate | None = None
    low, high = 0.0, math.inf
    for _ in range(14):
        count = max(1, round(length / size))
        size = length / count
        found = job.certificate(size, None, None)
        worst = _worst_bound(found)
        if worst <= drift:
            low, best = size, found
        else:
            high = size
        if low and high / low < 1.1:
            break
        guess = size * (0.8 * drift / worst) ** (1 / job.scheme.order) if 0 < worst < math.inf else size / 4
        size = guess if low < guess < high else (math.sqrt(low * high) if low and high < math.inf else size / 3)
        size = min(size, length)
    if best is None:
        raise BadRequest(
            f"no step was found that keeps the drift below {drift:g}", fix="allow more drift or other gains"
        )
    return best


def _worst_bound(certificate: Certificate) -> float:
    worst = 0.0
    for block in certificate.blocks:
        if block.label in (Label.neutral, Label.nothing):
            continue
        if not block.bounds:
            return math.inf
        held = [b for name, b in zip(block.names, block.bounds, strict=True) if name.startswith("y_")]
        worst = max([worst, *(held or block.bounds)])
    return worst


@dataclass(frozen=True, eq=False)
class Job:
    """Everything but the step."""

    equations: Equations
    scheme: Scheme
    duration: float | None
    region: Region
    start: Any
    parameters: Mapping[Any, Any]
    effort: float
    constraints: Sequence[str] | None

    def certificate(self, step: float | None, tolerance: float | None, given: Trajectory | None) -> Certificate:
        run = given or self._run(step, tolerance)
        blocks = self._blocks()
        share = self.effort / max(1, sum(self._provable(block) for block in blocks))
        certified = tuple(self._certified(block, run, step, share) for block in blocks)
        return Certificate(
            problem=_text(self.equations),
            title=self.equations.problem.title,
            scheme=self.scheme.name,
            step=step,
            begin=float(run.times[0]),
            duration=float(run.times[-1] - run.times[0]),
            blocks=certified,
            parameters=dict(
                zip(self.equations.parameter_names, parameter_vector(self.equations, self.parameters), strict=True)
            ),
        )

    @property
    def _constants(self) -> list[float]:
        return parameter_vector(self.equations, self.parameters)

    def _run(self, step: float | None, tolerance: float | None) -> Trajectory:
        return simulate(
            self.equations,
            self.scheme,
            step=step,
            tolerance=tolerance,
            duration=self.duration,
            start=self.start,
            parameters=self.parameters,
            every=1,
        )

    def _blocks(self) -> list[Block]:
        blocks = blocks_of(self.equations, self.parameters)
        if self.constraints is None:
            return blocks
        wanted = set(self.constraints)
        unknown = wanted - set(self.equations.constraints)
        if unknown:
            raise BadRequest(f"there is no constraint {unknown.pop()!r}", fix=", ".join(self.equations.constraints))
        return [block for block in blocks if wanted & set(block.constraints)]

    def _provable(self, block: Block) -> bool:
        return isinstance(self.scheme, RungeKutta) and self.scheme.explicit and block.constant and _hurwitz(block)

    # ── one block ─────────────────────────────────────────────────────────────────────────────────

    def _certified(self, block: Block, run: Trajectory, step: float | None, seconds: float) -> BlockCertificate:
        """The best that can be said of one block."""
        told = Told(block, run)
        roots = np.linalg.eigvals(block.matrix).real.max()
        if not run.success and run.outcome.name not in ("off_program",):
            return told.refused(f"the run did not end well: {run.message}")
        if block.constant and roots > 1e-12:
            return told.refused(f"the law drives deviations away: a root has the real part {roots:.4g}")
        if block.constant and not _hurwitz(block):
            return told.neutral()
        if step is None:
            return told.refused("an adaptive scheme changes its step; a certificate is for one step")
        if run.every != 1 or len(run.times) < 2:
            return told.refused("the run was thinned: a check needs every step")
        matrices = self._step_matrices(block, run, step)
        radius = np.abs(np.linalg.eigvals(matrices[0])).max()
        if block.constant and radius >= 1:
            return told.refused(
                f"the step is beyond the linear limit of {self.scheme.name}: "
                f"one step multiplies deviations by {radius:.4g}"
            )
        defects = _measured(told.psi, matrices)
        norm = chosen_norm(matrices, defects)
        if norm is None:
            return told.refused("no norm was found in which every step along this run contracts")
        checked = told.checked(norm, defects, block.constant)
        if not self._provable(block):
            why = "H depends on the state" if not block.constant else f"{self.scheme.name} is implicit or not a tableau"
            return replace(checked, reason=f"{checked.reason} No proof: {why}.")
        return self._proved(block, run, step, norm, checked, defects, seconds)

    def _step_matrices(self, block: Block, run: Trajectory, step: float) -> np.ndarray:
        """R(step·H) along the run: one matrix where H is constant."""
        if block.constant:
            return self.scheme.propagator(block.matrix, step)[None]
        places = np.ix_(block.places, block.places)
        matrices = []
        for k in range(len(run.times) - 1):
            values = self.equations.evaluate(run.y[:, k].tolist(), float(run.times[k]), parameters=self.parameters)
            matrices.append(self.scheme.propagator(values.deviation_matrix[places], step))
        return np.array(matrices)

    def _proved(
        self,
        block: Block,
        run: Trajectory,
        step: float,
        norm: ChosenNorm,
        checked: BlockCertificate,
        defects: np.ndarray,
        seconds: float,
    ) -> BlockCertificate:
        region, limits = self._region(block, run)
        assert isinstance(self.scheme, RungeKutta)
        setting = Setting(self.equations, block, self.scheme, step, self.parameters, region, limits)
        settled = defects[len(defects) // 2 :]  # the entry of a deviating start is not what a proof is measured by
        expected = float(np.linalg.norm(settled @ norm.factor, axis=1).max())
        reach = float(np.linalg.norm(Told(block, run).psi @ norm.factor, axis=1).max())
        try:
            proof = prove(setting, norm.factor, norm.gamma, expected=expected, reach=reach, seconds=seconds)
        except HoldfastError as error:
            return replace(checked, reason=f"{checked.reason} No proof: {error.what}.")
        if proof is None:
            why = f"the region was not covered within {seconds:.3g} s; more effort, or a smaller region, may do it"
            return replace(checked, reason=f"{checked.reason} No proof: {why}.")
        return _with_proof(setting, checked, proof, run)

    def _region(
        self, block: Block, run: Trajectory
    ) -> tuple[dict[str, tuple[float, float]], dict[str, tuple[float, float]]]:
        """The region asked for, completed from the run with a margin of a tenth of each range."""
        asked = {
            key if isinstance(key, str) else key.name: (float(low), float(high))
            for key, (low, high) in self.region.items()
        }
        region = {"t": asked.pop("t", (float(run.times[0]), float(run.times[-1])))}
        for name in run.state_names:
            low, high = float(run[name].min()), float(run[name].max())
            margin = 0.1 * (high - low) + 1e-9 * (1 + max(abs(low), abs(high)))
            region[name] = asked.pop(name, (low - margin, high + margin))
        limits: dict[str, tuple[float, float]] = {}
        for i, name in enumerate(deviation_names(self.equations)):
            if i not in block.places:
                size = 4 * float(np.abs(run[name]).max()) + 1e-12
                limits[name] = asked.pop(name, (-size, size))
        for name, bounds in asked.items():
            if name not in self.equations.observables:
                raise BadRequest(f"the region bounds an unknown quantity {name!r}", fix="states, t, or observables")
            limits[name] = bounds
        return region, limits


def _hurwitz(block: Block) -> bool:
    return bool(np.linalg.eigvals(block.matrix).real.max() < -1e-12)


def _measured(psi: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """U_k = ψ_{k+1} − R ψ_k at every step."""
    predicted = psi[:-1] @ matrices[0].T if len(matrices) == 1 else np.einsum("kij,kj->ki", matrices, psi[:-1])
    return psi[1:] - predicted


@dataclass(frozen=True, eq=False)
class Told:
    """What a run says of one block."""

    block: Block
    run: Trajectory

    @property
    def psi(self) -> np.ndarray:
        return np.array([self.run[name] for name in self.block.names]).T

    @property
    def observed(self) -> tuple[float, ...]:
        return tuple(float(x) for x in np.abs(self.psi).max(axis=0))

    def _plain(self, label: Label, reason: str) -> BlockCertificate:
        matrix = tuple(tuple(float(x) for x in row) for row in self.block.matrix)
        return BlockCertificate(
            self.block.constraints, label, reason, names=self.block.names, matrix=matrix, observed=self.observed
        )

    def refused(self, reason: str) -> BlockCertificate:
        return self._plain(Label.refused, reason)

    def neutral(self) -> BlockCertificate:
        worst = max(self.observed)
        return self._plain(
            Label.neutral, f"The law does not attract it; along this run it deviated by at most {worst:.3g}."
        )

    def checked(self, norm: ChosenNorm, defects: np.ndarray, constant: bool) -> BlockCertificate:
        """Both halves of the theorem along the run: contraction in one norm, and defects within what it forgives."""
        sizes = np.linalg.norm(defects @ norm.factor, axis=1)
        worst, start = float(sizes.max()), float(np.linalg.norm(self.psi[0] @ norm.factor))
        epsilon = max(start, worst / (1 - norm.gamma))
        slack = 1 - worst / ((1 - norm.gamma) * epsilon) if epsilon > 0 else 1.0
        frozen = "" if constant else " with H frozen at each step,"
        reason = (
            f"Along this run,{frozen} one step contracts by {norm.gamma:.6g} and the defect stays below {worst:.3g}, "
            f"so the deviation stays below {epsilon:.3g} in the norm of the certificate."
        )
        return replace(
            self._plain(Label.checked, reason),
            gamma=norm.gamma,
            defect=worst,
            epsilon=epsilon,
            bounds=tuple(epsilon * width for width in norm.widths()),
            slack=slack,
        )


def _with_proof(setting: Setting, checked: BlockCertificate, proof: Proof, run: Trajectory) -> BlockCertificate:
    """The certificate of a proved block, with the line that this run stayed in the region."""
    from holdfast.graph.arithmetic import precision

    factor = np.array(proof.factor)
    defect = 0.0
    with precision(BITS):
        contraction = setting.contraction(factor, proof.gamma)
        defect = total_defect(proof.coefficient, proof.rounding, setting.scheme, setting.step)
        bounds = tuple(contraction.settled(defect))
    stayed = stays(setting, proof, run)
    begun = float(np.linalg.norm(np.array([run[name][0] for name in checked.names]) @ factor))
    entry = ""
    if begun > proof.tube:
        entry = " The start lies outside the tube: the promise holds from the moment the deviation has entered it."
        stayed = stays(setting, proof, run, entered=True)
    reason = (
        f"One step contracts by {proof.gamma:.6g} and adds at most {defect:.3g} ({proof.rounding:.2g} of it rounding) "
        f"for every state of the region, shown over {proof.cells} cells.{entry}"
    )
    return replace(
        checked,
        label=Label.proved,
        reason=reason,
        gamma=proof.gamma,
        defect=defect,
        epsilon=proof.radius,
        bounds=bounds,
        stayed=stayed,
        proof=proof,
    )


def stays(setting: Setting, proof: Proof, run: Trajectory, *, entered: bool = False) -> bool:
    """Whether each row of a run lies in the region of a proof (from its entry into the tube on, if asked)."""
    factor = np.array(proof.factor)
    sizes = np.linalg.norm(np.array([run[name] for name in setting.block.names]).T @ factor, axis=1)
    first = int(np.argmax(sizes <= proof.tube)) if entered else 0
    if entered and not (sizes <= proof.tube).any():
        return False
    inside = bool((sizes[first:] <= proof.tube).all())
    for name, low, high in (*proof.region, *proof.limits):
        values = run.times if name == "t" else run[name]
        inside = inside and bool(((values[first:] >= low) & (values[first:] <= high)).all())
    return inside


def _text(equations: Equations) -> str:
    try:
        return dumps(equations.problem)
    except HoldfastError:
        return ""  # a problem with functions that the file's grammar does not have cannot be verified from text
