"""What Omega is too wide for, tried in a tube along the run; and what a proof in a tube promises of a block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from holdfast.common.rounded import rounded_down, rounded_up
from holdfast.equations.equations import Equations
from holdfast.errors import HoldfastError, InternalError
from holdfast.graph.arithmetics.balls import precision
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.certificate.certificate import BlockCertificate, Label, Proof
from holdfast.stability.certificate.statement import near_words, range_words
from holdfast.stability.certificate.tube_proof import OrderedProof, TubeProof
from holdfast.stability.promise.checked import MeasuredDefect
from holdfast.stability.promise.envelope import Promise
from holdfast.stability.promise.norm_search import sizes_in
from holdfast.stability.promise.proved_block import stated_start, truncated
from holdfast.stability.promise.speeds import USUAL, why_no_speeds
from holdfast.stability.proof.claim import BITS, Claim, total_defect, widened
from holdfast.stability.proof.granted.obedience import Place
from holdfast.stability.proof.prove import Interrupted
from holdfast.stability.proof.work import SearchWork
from holdfast.stability.tube.ordered import OrderedProver
from holdfast.stability.tube.prove import TubeProver, TubeRequest

WEAK = (Label.checked, Label.estimated)  # what a tube may better
STRETCHES = "; hf.certify_stretches, or --stretches, certifies the run but for the steps that no tube is proved of"
YIELDING = ("eased", "redundant")  # ways of solving by which the law is not met as it stands
ASKED_FOR = "asked for"  # ends the reason of what was not tried
LEAST_SEEN = 1e-300  # of a deviation that the run never showed
LOOKED_AT = 8  # rows of the run at which the equations are held against law and system


def gaps_along(
    equations: Equations,
    scheme: RungeKutta,
    step: float,
    parameters: Mapping[Any, Any],
    seen: Sequence[MeasuredDefect],
    work: SearchWork,
) -> list[tuple[float, float]]:
    """Stretches of a run in which no tube is proved of some block that the law attracts."""
    suited = [one for one in seen if _suited(equations, one)]
    if not suited:
        return []
    run = seen[0].told.run
    return TubeProver(equations, scheme, step, parameters, run, [_request(one) for one in suited], work).gaps()


def with_tubes(
    equations: Equations,
    scheme: RungeKutta,
    step: float,
    parameters: Mapping[Any, Any],
    seen: Sequence[MeasuredDefect],
    made: Sequence[BlockCertificate],
    work: SearchWork,
    speeds: float | None = None,
) -> list[BlockCertificate]:
    """The blocks, those that are not proved in Omega proved in a tube along the run where that succeeds.

    With `speeds` the tube holds these, too; what is not proved so is tried without, with as much work again.
    """
    setting = equations, scheme, step, parameters
    if speeds:
        made, work = _in_tube(*setting, seen, made, work, speeds), work.beside(work.limit)
    found = _in_tube(*setting, seen, made, work, 0.0)
    if speeds is None and any(block.label is Label.tube for block in found) and not why_no_speeds(equations):
        hint = f" speeds={USUAL:g} would ask for runs at other speeds, too."
        found = [replace(block, reason=block.reason + hint) if block.label is Label.tube else block for block in found]
    return found


def without_speeds(block: BlockCertificate) -> BlockCertificate:
    """The block, with a word where what is proved of it does not hold the speeds that were asked for."""
    proof = block.proof
    if isinstance(proof, TubeProof) and not proof.tube.speeds:
        note = "The speeds that were asked for are not proved; smaller ones, or more effort, may do it."
    elif isinstance(proof, OrderedProof):
        note = "The speeds that were asked for are not proved: steps are followed at this run's own."
    elif isinstance(proof, Proof):
        note = "No tube with other speeds was tried: of speeds, those that lie in Omega are proved."
    else:
        return block
    return replace(block, reason=f"{block.reason} {note}")


def _in_tube(
    equations: Equations,
    scheme: RungeKutta,
    step: float,
    parameters: Mapping[Any, Any],
    seen: Sequence[MeasuredDefect],
    made: Sequence[BlockCertificate],
    work: SearchWork,
    speeds: float,
) -> list[BlockCertificate]:
    """The same in a tube of one kind; `Interrupted` with them where Ctrl-C ended the search."""
    found = list(made)
    open_ones = [k for k, one in enumerate(seen) if found[k].label in WEAK and _suited(equations, one)]
    if not open_ones:
        return found
    run = seen[0].told.run
    requests = [_request(seen[k]) for k in open_ones]
    counted_from = seen[0].told.counted_from
    prover = TubeProver(equations, scheme, step, parameters, run, requests, work, speeds, counted_from)
    stopped = False
    try:
        proofs = prover.proofs(_rows(seen[0]))
    except Interrupted as stop:
        proofs, stopped = stop.found, True
    except InternalError:
        raise
    except HoldfastError as error:
        proofs = [f"a tube along the run is not proved either: {error.what}"] * len(open_ones)
    for k, proof in zip(open_ones, proofs, strict=True):
        claim = Claim(equations, seen[k].told.block, scheme, step, parameters, {}, {})
        better = proof if isinstance(proof, str) else _promised(claim, seen[k], found[k], proof)
        if isinstance(better, str):
            better += STRETCHES if equations.friction is not None else ""
            better = f"speeds = {speeds:g}: {better}" if speeds else better
            found[k] = replace(found[k], reason=f"{found[k].reason.rstrip('.')}; {better}.")
        else:
            found[k] = better
    if stopped:
        raise Interrupted(found)
    return found


def without_tubes(made: Sequence[BlockCertificate], ranged: Sequence[str]) -> list[BlockCertificate]:
    """The blocks as they are: a tube along a run has one value of a parameter, and says nothing of a range of it."""
    why = f"; a tube along the run would be for one value of {', '.join(ranged)} only."
    return [replace(b, reason=b.reason.rstrip(".") + why) if b.label in WEAK else b for b in made]


def in_order(
    equations: Equations,
    scheme: RungeKutta,
    step: float | None,
    parameters: Mapping[Any, Any],
    seen: Sequence[MeasuredDefect],
    made: Sequence[BlockCertificate],
    work: SearchWork,
) -> list[BlockCertificate]:
    """The blocks, those that are still not proved followed step by step in the order of time, all at once.

    Without a step the steps are those between the rows of the run, which chose them.
    """
    weak = [block.label in WEAK or seen[k].open for k, block in enumerate(made)]
    open_ones = [k for k, one in enumerate(seen) if weak[k] and one.told.watched(step)]
    found = list(made)
    if not open_ones:
        return found
    run = seen[0].told.run
    sizes = {
        name: max(float(size), float(error), LEAST_SEEN)
        for one in seen
        for name, size, error in zip(one.told.block.names, one.told.observed, one.told.errors.max(axis=0), strict=True)
    }
    if set(sizes) != set(equations.deviation_names):
        why = (
            "nor are steps followed in the order of time: some constraints were left out, and all are followed together"
        )
        for k in open_ones:
            found[k] = replace(found[k], reason=f"{found[k].reason.rstrip('.')}; {why}.")
        return found
    reached = np.array([sizes[name] for name in equations.deviation_names])
    try:
        counted_from = seen[0].told.counted_from
        prover = OrderedProver(equations, scheme, step, parameters, run, reached, work, counted_from)
        proof = prover.proof(_rows(seen[0]))
    except InternalError:
        raise
    except HoldfastError as error:
        proof = f"nor are steps followed in the order of time: {error.what}"
    for k in open_ones:
        better = proof if isinstance(proof, str) else _in_order(seen[k], found[k], proof)
        if isinstance(better, str):
            better = replace(found[k], reason=f"{found[k].reason.rstrip('.')}; {better}.")
        found[k] = better
    return found


def _in_order(one: MeasuredDefect, checked: BlockCertificate, proof: OrderedProof) -> BlockCertificate | str:
    """The certificate of a block that is proved by steps in the order of time; or why that says nothing."""
    told, places = one.told, [proof.names.index(name) for name in one.told.block.names]
    bounds, reaches = (tuple(values[i] for i in places) for values in (proof.bounds, proof.reaches))
    if all(bound >= reach for bound, reach in zip(bounds, reaches, strict=True)):
        return f"the bounds in a tube, {_listed(checked.names, bounds)}, say no more than the tube itself"
    if not (np.abs(told.psi) <= np.array(bounds) + told.errors).all():
        raise InternalError("a run contradicts its proof", where=f"the certificate of {', '.join(checked.names)}")
    width = rounded_down(100 * proof.tube.width, 2)
    count = "1 step is" if proof.steps == 1 else f"{proof.steps} steps are"
    reason = (
        f"{count} followed in the order of time, from every state within {width} % of "
        f"{range_words(proof.tube)} at the same time; no step is shown to contract by itself. "
        f"{_beside_omega(checked.reason)}"
    )
    return replace(
        checked, label=Label.tube, reason=reason, matrix=(), gamma=None, defect=None, epsilon=None, slack=None,
        bounds=bounds, stayed=True, settles=False, proof=proof,
    )  # fmt: skip


def _suited(equations: Equations, one: MeasuredDefect) -> bool:
    suited = one.norm is not None and one.defects is not None and one.told.block.constant
    return suited and equations.solver.form not in YIELDING


def _request(one: MeasuredDefect) -> TubeRequest:
    """With the largest defect that the run showed in its norm; what reading may add where it showed none."""
    assert one.norm is not None and one.defects is not None  # noqa: PT018
    shown = sizes_in(one.norm.factor, one.defects).max()
    read = sizes_in(np.abs(one.norm.factor), one.told.errors).max()
    return TubeRequest(one.told.block, one.norm.factor, one.norm.gamma, float(shown or read))


def _rows(one: MeasuredDefect) -> list[Place]:
    run = one.told.run
    chosen = np.unique(np.linspace(0, len(run.times) - 1, LOOKED_AT).astype(int))
    return [(float(run.times[k]), run.y[:, k].tolist()) for k in chosen]


def _promised(claim: Claim, one: MeasuredDefect, checked: BlockCertificate, proof: TubeProof) -> BlockCertificate | str:
    """The certificate of a block that is proved in a tube; or why the proof says nothing."""
    told, factor = one.told, np.array(proof.factor)
    with precision(BITS):
        begun = stated_start(claim, proof, told, 0)
        contraction = claim.contraction(factor, proof.gamma)
        defect = total_defect(proof.coefficient, proof.rounding, claim.scheme, claim.step)
        share = begun if begun <= proof.radius else 0.0
        settled, widths = contraction.settled(defect), contraction.widths()
        bounds = tuple(widened(a, share, b) for a, b in zip(settled, widths, strict=True))
    if all(bound >= reach for bound, reach in zip(bounds, proof.reaches, strict=True)):
        return f"the bounds in a tube, {_listed(checked.names, bounds)}, say no more than the tube itself"
    matrix = truncated(claim.scheme, claim.step * claim.block.matrix)
    Promise(checked.names, proof, defect, settled, widths, matrix).require(told.run, told.psi, told.errors)
    cells = len(proof.tube.cells)
    start = " The start deviates: the envelope holds from it on, the bounds once that has died away."
    start = start if begun > proof.radius else ""
    reason = (
        f"One step contracts by {rounded_up(proof.gamma, 6)} and adds at most {rounded_up(defect)} "
        f"({rounded_up(proof.rounding)} of it rounding) for every state {near_words(proof.tube)}, shown over {cells} "
        f"cell{'s' if cells != 1 else ''}.{start} {_beside_omega(checked.reason)}"
    )
    return replace(
        checked,
        label=Label.tube,
        reason=reason,
        gamma=proof.gamma,
        defect=defect,
        epsilon=proof.radius,
        bounds=bounds,
        stayed=True,
        settles=begun > proof.radius,
        start_size=begun,
        proof=proof,
    )


def _listed(names: Sequence[str], bounds: Sequence[float]) -> str:
    return ", ".join(f"|{name}| <= {rounded_up(bound)}" for name, bound in zip(names, bounds, strict=True))


def _beside_omega(reason: str) -> str:
    """Why there is no proof in Omega, the stronger claim, from the words of the block."""
    before, _, after = reason.partition("No proof: ")
    why = (after or before).rstrip(".")
    if why.endswith(ASKED_FOR):
        return f"Omega, which would be the stronger claim, was not tried: {why}."
    return f"Omega is the stronger claim: {why}."
