"""Re-checking a certificate by somebody else: the verifier's own reading, derivation and arithmetic, and then attacks.

`holdfast.stability.verifier` decides; it shares no code with the search for proofs. Beside it the run that the
certificate speaks of is made again, natively, and each of its steps is held against what is claimed
(`holdfast.stability.certificate.attack`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.common.cluster import cluster
from holdfast.errors import HoldfastError
from holdfast.stability.certificate.attack import Attack, NativeRun
from holdfast.stability.certificate.certificate import Certificate
from holdfast.stability.certificate.noise_attack import NoiseAttack
from holdfast.stability.certificate.order_attack import OrderAttack
from holdfast.stability.certificate.tube_attack import TubeAttack
from holdfast.stability.verifier.check import CELLS, Reading, Shown, outcome, reading
from holdfast.stability.verifier.comparison import same_problem
from holdfast.stability.verifier.noise.check import average_outcome
from holdfast.stability.verifier.order.check import order_outcomes
from holdfast.stability.verifier.reading.file import BlockClaim, Claims, claims, read
from holdfast.stability.verifier.refusal import Refused, Unconfirmed, Unreadable, require
from holdfast.stability.verifier.steps.cover import Budget
from holdfast.stability.verifier.tube.check import tube_outcomes
from holdfast.stability.verifier.tube.starts import places as starts_at
from holdfast.stability.verifier.tube.starts import rows_that_stay


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether a certificate holds, and what was found, line by line."""

    holds: bool
    findings: tuple[str, ...]
    readable: bool = True  # False: what was given is no certificate, so that nothing is said of its claims
    doubts: tuple[str, ...] = ()  # of the findings, those that are not "holds"

    def __bool__(self) -> bool:
        return self.holds

    @property
    def words(self) -> str:
        """In one line: a proof that was not re-checked is still one, and is never called re-checked."""
        if self.holds:
            return "re-checked by the verifier: holds"
        why = (self.doubts or self.findings)[0]
        if self.contradicts:
            return f"contradicted by the verifier: {why}"
        return f"proved; not re-checked here: {why}" if self.doubts else f"not confirmed: {why}"

    @property
    def unconfirmed(self) -> bool:
        """Whether nothing was found to be wrong, and something not shown to be right."""
        return bool(self.doubts) and not self.contradicts

    @property
    def contradicts(self) -> bool:
        """Whether a claim was found to be wrong, and not only beyond what the verifier can do."""
        return any("does not hold" in line for line in self.findings)


def verify(
    certificate: Certificate | str | Path,
    problem: object = None,
    *,
    seconds: float | None = None,
    cells: int = CELLS,
    progress: Callable[[float], None] | None = None,
    on: Any = None,
) -> Verification:
    """Re-check every proved block of a certificate, given itself or as its file.

    With `problem` (a `Problem`, or its file) the certificate must be about that problem: the same mathematical
    statement with the same numbers. `cells` is the budget of the whole check, the same on every machine; `seconds` ends
    it earlier, where that is asked for. `progress` is called with the fraction of a tube or of a region that is done.
    Cells of a tube are looked at on all cores; with `on` (a dask client, its address, or "local") by a cluster.
    """
    try:
        stated = claims(certificate.to_dict() if isinstance(certificate, Certificate) else read(certificate))
        if not any(block.claimed for block in stated.blocks):
            return Verification(False, ("nothing in it is proved, so there is nothing to verify",))
        differences = [] if problem is None else same_problem(stated, _text(problem))
        if differences:
            return Verification(False, tuple(f"it is about another problem: {line}" for line in differences))
        made = reading(stated)
    except Unreadable as fault:
        return Verification(False, (str(fault),), readable=False)
    except Refused as refusal:
        return Verification(False, (str(refusal),))
    except Unconfirmed as doubt:
        return Verification(False, (str(doubt),), doubts=(str(doubt),))
    budget = Budget(math.inf if seconds is None else seconds, cells, progress=progress)
    with nullcontext() if on is None else cluster(on) as client:
        return _verified(made, budget, progress, client)


def _verified(
    made: Reading, budget: Budget, progress: Callable[[float], None] | None, client: Any = None
) -> Verification:
    findings, doubts = [], []
    native: NativeRun | None = None
    found = [(block, *outcome(made, block, budget)) for block in made.claims.blocks if block.proof is not None]
    for block, shown, sentence in [*found, *tube_outcomes(made, budget, progress, client)]:
        if shown is not None:
            try:
                native = native or NativeRun(made)
                attack = _attack(made, shown, native)
                contradiction = attack.contradiction()
                strange = native.other_code()
            except HoldfastError as error:
                contradiction = f"the product cannot derive its problem: {error.what}"
            else:
                sentence = f"{sentence}; {attack.told}"
                if strange is not None and contradiction is None:
                    shown, sentence = None, f"{', '.join(block.constraints)}: {strange}"
            if contradiction is not None:
                shown, sentence = None, f"{', '.join(block.constraints)}: does not hold: {contradiction}"
        findings.append(sentence)
        if shown is None:
            doubts.append(sentence)
    for block in made.claims.blocks:
        if block.mean_square is not None:
            confirmed, sentence = _average(made, block)
            findings.append(sentence)
            doubts += [] if confirmed else [sentence]
    for confirmed, sentence in _in_order(made, budget, progress):
        findings.append(sentence)
        doubts += [] if confirmed else [sentence]
    if made.claims.starts is not None:
        good, sentence = _starts(made, native, confirmed=not doubts)
        findings.append(sentence)
        doubts += [] if good else [sentence]
    rest = [name for block in made.claims.blocks if not block.claimed for name in block.constraints]
    if rest:
        findings.append(f"{', '.join(rest)}: nothing is proved, so nothing was re-checked")
    silent = _left_out(made.claims, made)
    if silent:
        findings.append(f"{', '.join(silent)}: left out, so nothing is said of it")
    return Verification(not doubts, (*findings, *made.notes), doubts=tuple(doubts))


def _attack(made: Reading, shown: Shown, native: NativeRun) -> Attack:
    proof = shown.block.tube_proof
    return (
        Attack(made, shown, native) if proof is None else TubeAttack(made, shown, native, made.claims.tubes[proof.tube])
    )


def _starts(made: Reading, native: NativeRun | None, *, confirmed: bool) -> tuple[bool, str]:
    """Whether runs from beside the start stay in the tubes, as stated, and a sentence."""
    starts = made.claims.starts
    assert starts is not None
    if not confirmed:
        return False, "starts: not looked at, since not all that is proved was confirmed"
    places = starts_at(len(made.claims.start)) * np.array([starts.get(name, 0.0) for name in made.equations.inputs[1:]])
    used = {block.tube_proof.tube for block in made.claims.blocks if block.tube_proof is not None}
    used |= {block.ordered["tube"] for block in made.claims.blocks if block.ordered is not None}
    try:
        require(bool(used), "starts are said to stay in a tube, and there is none")
        found = (native or NativeRun(made)).beside(places)
        if found is None:
            raise Unconfirmed("a run from beside the start does not arrive")
        count = rows_that_stay(made, [made.claims.tubes[k] for k in sorted(used)], *found)
    except Refused as refusal:
        return False, f"starts: does not hold: {refusal}"
    except Unconfirmed as doubt:
        return False, f"starts: {doubt}"
    return True, f"starts: every run from within the stated distances stays in the tube, {count} rows re-checked"


def _average(made: Reading, block: BlockClaim) -> tuple[bool, str]:
    """A bound of mean squares: derived anew, and then attacked by paths."""
    shown, sentence = average_outcome(made, block)
    if shown is None:
        return False, sentence
    names = ", ".join(block.constraints)
    try:
        attack = NoiseAttack(made, shown)
        contradiction, strange = attack.contradiction(), attack.other_code()
    except HoldfastError as error:
        contradiction, strange = f"the product cannot derive its problem: {error.what}", None
    if contradiction is not None:
        return False, f"{names}: does not hold: {contradiction}"
    return (True, f"{sentence}; {attack.told}") if strange is None else (False, f"{names}: {strange}")


def _in_order(made: Reading, budget: Budget, progress: Callable[[float], None] | None) -> Iterator[tuple[bool, str]]:
    """Steps in the order of time: followed anew, and then attacked; blocks of one claim are attacked together."""
    native: NativeRun | None = None
    attacked: dict[int, tuple[str | None, str | None, str]] = {}
    for block, shown, sentence in order_outcomes(made, budget, progress):
        if shown is None:
            yield False, sentence
            continue
        names = ", ".join(block.constraints)
        if id(shown) not in attacked:
            try:
                native = native or NativeRun(made)
                attack = OrderAttack(made, shown, native)
                attacked[id(shown)] = (attack.contradiction(), native.other_code(), attack.told)
            except HoldfastError as error:
                attacked[id(shown)] = (f"the product cannot derive its problem: {error.what}", None, "")
        contradiction, strange, told = attacked[id(shown)]
        if contradiction is not None:
            yield False, f"{names}: does not hold: {contradiction}"
        else:
            yield (True, f"{sentence}; {told}") if strange is None else (False, f"{names}: {strange}")


def _left_out(stated: Claims, made: Reading) -> list[str]:
    """The constraints of the problem that no block of the certificate speaks of."""
    told = {name for block in stated.blocks for name in block.constraints}
    return [name for name in made.stated.constraints if name not in told]


def _text(problem: object) -> str:
    """The text of the problem that is meant."""
    if isinstance(problem, str | Path):
        try:
            return Path(problem).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise Refused(f"there is no problem file {problem}") from None
    from holdfast.problem.file.load_dump import dumps

    return dumps(problem)  # type: ignore[arg-type]
