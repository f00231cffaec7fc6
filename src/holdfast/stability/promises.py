"""The certificate of one step, block by block: the best that can be said of each, and why nothing better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.equations.values import parameter_vector
from holdfast.errors import BadRequest, HoldfastError
from holdfast.graph.balls import precision
from holdfast.problem.file import dumps
from holdfast.results.simulate import simulate
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.by_name import ALL_SCHEMES, Scheme
from holdfast.schemes.runge_kutta import RungeKutta
from holdfast.stability.asked import Asked
from holdfast.stability.block import Block, blocks_of, deviation_names
from holdfast.stability.certificate import BlockCertificate, Certificate, Label, Proof
from holdfast.stability.checked import Told, stays
from holdfast.stability.choice import ChosenNorm, chosen_norm
from holdfast.stability.hurwitz import place_of_roots
from holdfast.stability.prove import BITS, Setting, prove, total_defect, widened
from holdfast.stability.run_code import run_code
from holdfast.stability.sampled import Sampled

Bounds = dict[str, tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Promises:
    """Everything but the step."""

    equations: Equations
    scheme: Scheme
    duration: float | None
    asked: Asked
    start: Any
    parameters: Mapping[Any, Any]
    constraints: Sequence[str] | None
    sample: bool = False

    def certificate(self, step: float | None, tolerance: float | None, given: Trajectory | None) -> Certificate:
        if not self.equations.constraints:
            return self._certificate(step, None, ())
        run = given if given is not None else self._run(step, tolerance)
        blocks = self._blocks()
        provable = [self._why_not(block) is None and place_of_roots(block.matrix).hurwitz for block in blocks]
        share = self.asked.effort / max(1, sum(provable))
        return self._certificate(step, run, tuple(self._certified(block, run, step, share) for block in blocks))

    def _certificate(
        self, step: float | None, run: Trajectory | None, blocks: tuple[BlockCertificate, ...]
    ) -> Certificate:
        equations, own = self.equations, self.equations.problem.run
        values = parameter_vector(equations, self.parameters)
        return Certificate(
            problem=_text(equations),
            title=equations.problem.title,
            scheme=self.scheme.name,
            step=step,
            begin=own.begin if run is None else float(run.times[0]),
            duration=(self.duration or own.duration or 0.0) if run is None else float(run.times[-1] - run.times[0]),
            blocks=blocks,
            parameters=dict(zip(equations.parameter_names, values, strict=True)),
            overrides=_overrides(equations, values),
            code=run_code(equations) if any(block.proof is not None for block in blocks) else None,
            start=() if run is None else tuple(float(x) for x in run.y[:, 0]),
            trajectory=run,
        )

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

    def _why_not(self, block: Block) -> str | None:
        """Why no proof is tried; None where one is."""
        if not block.constant:
            return "H depends on the state"
        if not isinstance(self.scheme, RungeKutta) or not self.scheme.explicit:
            return f"{self.scheme.name} is implicit, or not a tableau"
        if self.scheme not in ALL_SCHEMES:  # a claimed order is what the proof rests on, and a name what it is kept by
            return f"{self.scheme.name} is not one of the schemes whose order is proved"
        return None

    # ── one block ─────────────────────────────────────────────────────────────────────────────────

    def _certified(self, block: Block, run: Trajectory, step: float | None, seconds: float) -> BlockCertificate:
        """The best that can be said of one block."""
        told, place = Told(block, run), place_of_roots(block.matrix)
        if self.equations.problem.system.noise:
            return told.refused("the system is driven by noise, which no bound holds for")
        if block.constant and place.right:
            root = np.linalg.eigvals(block.matrix).real.max()
            return told.refused(f"the law is unstable: it drives deviations away, a root has the real part {root:.4g}")
        if not run.success and run.outcome.name != "off_program":
            return told.refused(f"the run did not end well: {run.message}")
        if block.constant and not place.hurwitz:
            return self._kept(block, told, step)
        if step is None:
            return told.refused("an adaptive scheme changes its step; a certificate is for one step")
        if not told.watched(step):
            return self._unwatched(block, told, step)
        matrices = self._step_matrices(block, run, step)
        radius = np.abs(np.linalg.eigvals(matrices[0])).max()
        if block.constant and radius >= 1:
            return told.refused(self._beyond(radius))
        defects = told.defects(matrices)
        norm = chosen_norm(matrices, defects)
        if norm is None:
            return told.refused("no norm was found in which every step along this run contracts")
        checked = told.checked(norm, defects)
        why = self._why_not(block)
        found = None if why else self._proved(block, told, step, norm, checked, defects, seconds)
        if isinstance(found, BlockCertificate):
            return found
        unproved = replace(checked, reason=f"{checked.reason} No proof: {found or why}.")
        return self._estimated(block, told, step, unproved) if self.sample else unproved

    def _beyond(self, radius: float) -> str:
        return (
            f"the step is beyond the linear limit of {self.scheme.name}: one step multiplies deviations by {radius:.4g}"
        )

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

    # ── estimates ─────────────────────────────────────────────────────────────────────────────────

    def _unwatched(self, block: Block, told: Told, step: float) -> BlockCertificate:
        """A run that was thinned checks nothing; an estimate is what is left."""
        found = self._estimated(block, told, step, None)
        return found or told.refused("the run was thinned: a check needs every step")

    def _kept(self, block: Block, told: Told, step: float | None) -> BlockCertificate:
        """A block that the law does not attract: neutral, unless the scheme itself drives it away."""
        if step is not None:
            radius = np.abs(np.linalg.eigvals(self.scheme.propagator(block.matrix, step))).max()
            if radius > 1 + 1e-7:  # a double root at 0 is computed as a pair this near to 1
                return told.refused(self._beyond(radius))
        return told.neutral()

    def _estimated(self, block: Block, told: Told, step: float, known: BlockCertificate | None) -> Any:
        """The block with a sampled defect, where the scheme's step can be taken anywhere; else what is known."""
        if not isinstance(self.scheme, RungeKutta) or not self.scheme.explicit or not block.constant:
            return known
        matrix = self.scheme.propagator(block.matrix, step)
        radius = np.abs(np.linalg.eigvals(matrix)).max()
        if radius >= 1:
            return told.refused(self._beyond(radius))
        region, limits = self._region(block, told.run)
        sizes = [2 * size + 1e-12 for size in told.observed]
        seen = Sampled.of(
            self.equations, block, self.scheme, step, region=region, limits=limits, sizes=sizes,
            parameters=self.parameters,
        )  # fmt: skip
        return seen.certificate(told, matrix, known)

    # ── proofs ────────────────────────────────────────────────────────────────────────────────────

    def _proved(
        self,
        block: Block,
        told: Told,
        step: float,
        norm: ChosenNorm,
        checked: BlockCertificate,
        defects: np.ndarray,
        seconds: float,
    ) -> BlockCertificate | str:
        """The certificate with a proof, or why there is none."""
        region, limits = self._region(block, told.run)
        assert isinstance(self.scheme, RungeKutta)
        setting = Setting(self.equations, block, self.scheme, step, self.parameters, region, limits)
        settled = defects[len(defects) // 2 :]  # the entry of a deviating start is not what a proof is measured by
        expected = float(np.linalg.norm(settled @ norm.factor, axis=1).max())
        reach = float(np.linalg.norm(told.psi @ norm.factor, axis=1).max())
        try:
            if not self.asked.region:
                setting = _bounded_in_energy(setting, told.run)
            proof = prove(setting, norm.factor, norm.gamma, expected=expected, reach=reach, seconds=seconds)
        except HoldfastError as error:
            return error.what
        if proof is None:
            return f"the region was not covered within {seconds:.3g} s; more effort, or a smaller region, may do it"
        return _with_proof(setting, checked, proof, told)

    def _region(self, block: Block, run: Trajectory) -> tuple[Bounds, Bounds]:
        """The region asked for, completed from the run with a margin of a tenth of each range."""
        asked = dict(self.asked.region)
        region = {"t": asked.pop("t", (float(run.times[0]), float(run.times[-1])))}
        for name in run.state_names:
            low, high = float(run[name].min()), float(run[name].max())
            margin = 0.1 * (high - low) + 1e-9 * (1 + max(abs(low), abs(high)))
            region[name] = asked.pop(name, (low - margin, high + margin))
        limits: Bounds = {}
        for i, name in enumerate(deviation_names(self.equations)):
            if i not in block.places:
                size = 4 * float(np.abs(run[name]).max()) + 1e-12
                limits[name] = asked.pop(name, (-size, size))
        return region, limits | {name: bounds for name, bounds in asked.items() if name not in block.names}


def _bounded_in_energy(setting: Setting, run: Trajectory) -> Setting:
    """The setting with the energies of the run and a twentieth of its kinetic energy to either side.

    Only where that makes the region smaller: for a block that already depends on all that the energy depends on.
    """
    motion, energy = setting.motion(), setting.equations.observables.get("energy")
    if motion.affine or energy is None or not motion.covers(energy):
        return setting
    values = run["energy"]
    margin = 0.05 * float(np.abs(run["kinetic"]).max()) + 0.1 * float(np.ptp(values))
    bounds = (float(values.min()) - margin, float(values.max()) + margin)
    return replace(setting, limits={**setting.limits, "energy": bounds})


def _with_proof(setting: Setting, checked: BlockCertificate, proof: Proof, told: Told) -> BlockCertificate:
    """The certificate of a proved block, with the line that this run stayed in the region."""
    factor = np.array(proof.factor)
    with precision(BITS):
        begun = setting.begun(factor, float(told.run.times[0]), told.run.y[:, 0].tolist())
        contraction = setting.contraction(factor, proof.gamma)
        defect = total_defect(proof.coefficient, proof.rounding, setting.scheme, setting.step)
        share = begun if begun <= proof.radius else 0.0  # a start as near as doubles allow
        bounds = tuple(
            widened(a, share, b) for a, b in zip(contraction.settled(defect), contraction.widths(), strict=True)
        )
    entry = ""
    if begun > proof.tube:
        entry = " The start lies outside the tube: the promise holds from the moment the deviation has entered it."
    elif begun > proof.radius:
        entry = " The start deviates: the bounds hold once that has died away."
    reason = (
        f"One step contracts by {proof.gamma:.6g} and adds at most {defect:.3g} ({proof.rounding:.2g} of it rounding) "
        f"for every state of the region, shown over {proof.cells} cell{'s' if proof.cells != 1 else ''}.{entry}"
    )
    stayed, settles = stays(checked.names, proof, told.run), begun > proof.radius
    seen = zip(told.observed, bounds, told.reading_errors, strict=True)
    if stayed and not settles and any(size > bound + error for size, bound, error in seen):
        return told.refused("the run contradicts the proof: a deviation exceeded its bound while in the region")
    return replace(
        checked,
        label=Label.proved,
        reason=reason,
        gamma=proof.gamma,
        defect=defect,
        epsilon=proof.radius,
        bounds=bounds,
        stayed=stayed,
        settles=settles,
        proof=proof,
    )


def _overrides(equations: Equations, values: Sequence[float]) -> tuple[str, ...]:
    """The parameters and gains that are not the problem's own."""
    own = parameter_vector(equations, {})
    return tuple(name for name, a, b in zip(equations.parameter_names, values, own, strict=True) if a != b)


def _text(equations: Equations) -> str:
    try:
        return dumps(equations.problem)
    except HoldfastError:
        return ""  # a problem with functions that the file's grammar does not have cannot be verified from text
