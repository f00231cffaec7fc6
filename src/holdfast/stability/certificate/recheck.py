"""What a certificate claims, kind by kind: decided by the verifier, and then attacked by native runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from holdfast.errors import HoldfastError
from holdfast.stability.certificate.attack import Attack, NativeRun
from holdfast.stability.certificate.noise_attack import NoiseAttack
from holdfast.stability.certificate.order_attack import OrderAttack
from holdfast.stability.certificate.tube_attack import TubeAttack
from holdfast.stability.verifier.check import Reading, Shown, outcome
from holdfast.stability.verifier.noise.check import average_outcome
from holdfast.stability.verifier.order.check import ShownOrder, order_outcomes
from holdfast.stability.verifier.reading.file import BlockClaim, Claims
from holdfast.stability.verifier.refusal import Refused, Unconfirmed, require
from holdfast.stability.verifier.steps.cover import Budget
from holdfast.stability.verifier.tube.check import tube_outcomes
from holdfast.stability.verifier.tube.starts import places as starts_at
from holdfast.stability.verifier.tube.starts import rows_that_stay


@dataclass(frozen=True, slots=True)
class VerifierFinding:
    """One line of what was found, and whether it confirms a claim; None where nothing is claimed."""

    words: str
    confirmed: bool | None = None


@dataclass(frozen=True, eq=False)
class Recheck:
    """All that one certificate claims, kind by kind."""

    made: Reading
    budget: Budget
    progress: Callable[[float], None] | None
    client: Any

    @cached_property
    def native(self) -> NativeRun:
        return NativeRun(self.made)

    def findings(self) -> list[VerifierFinding]:
        found = [*self._of_single_steps(), *self._of_averages(), *self._of_steps_in_order()]
        found += self._of_starts(all_confirmed=all(one.confirmed for one in found))
        return [*found, *self._of_the_rest()]

    # ── kinds of claims ───────────────────────────────────────────────────────────────────────────

    def _of_single_steps(self) -> Iterator[VerifierFinding]:
        """Bounds that one step keeps, in Omega and in tubes: enclosed anew, and then attacked."""
        made, budget = self.made, self.budget
        in_omega = [(block, *outcome(made, block, budget)) for block in made.claims.blocks if block.proof is not None]
        for block, shown, sentence in [*in_omega, *tube_outcomes(made, budget, self.progress, self.client)]:
            if shown is None:
                yield VerifierFinding(sentence, confirmed=False)
            else:
                yield _finding(block, sentence, _attacked(partial(self._attack_on, shown)))

    def _attack_on(self, shown: Shown) -> Attack:
        proof = shown.block.tube_proof
        if proof is None:
            return Attack(self.made, shown, self.native)
        return TubeAttack(self.made, shown, self.native, self.made.claims.tubes[proof.tube])

    def _of_averages(self) -> Iterator[VerifierFinding]:
        """Bounds of mean squares: derived anew, and then attacked by paths."""
        for block in self.made.claims.blocks:
            if block.mean_square is not None:
                shown, sentence = average_outcome(self.made, block)
                if shown is None:
                    yield VerifierFinding(sentence, confirmed=False)
                else:
                    yield _finding(block, sentence, _attacked(partial(NoiseAttack, self.made, shown)))

    def _of_steps_in_order(self) -> Iterator[VerifierFinding]:
        """Steps in the order of time: followed anew, and then attacked; blocks of one claim are attacked together."""
        known: dict[int, _Attacked] = {}
        for block, shown, sentence in order_outcomes(self.made, self.budget, self.progress):
            if shown is None:
                yield VerifierFinding(sentence, confirmed=False)
                continue
            if id(shown) not in known:
                known[id(shown)] = _attacked(partial(self._order_attack_on, shown))
            yield _finding(block, sentence, known[id(shown)])

    def _order_attack_on(self, shown: ShownOrder) -> OrderAttack:
        return OrderAttack(self.made, shown, self.native)

    def _of_starts(self, *, all_confirmed: bool) -> Iterator[VerifierFinding]:
        """Whether runs from beside the start stay in the tubes, as stated."""
        starts = self.made.claims.starts
        if starts is None:
            return
        if not all_confirmed:
            yield VerifierFinding("starts: not looked at, since not all that is proved was confirmed", confirmed=False)
            return
        try:
            count = self._rows_that_stay(starts)
        except Refused as refusal:
            yield VerifierFinding(f"starts: does not hold: {refusal}", confirmed=False)
        except Unconfirmed as doubt:
            yield VerifierFinding(f"starts: {doubt}", confirmed=False)
        else:
            words = f"every run from within the stated distances stays in the tube, {count} rows re-checked"
            yield VerifierFinding(f"starts: {words}", confirmed=True)

    def _rows_that_stay(self, starts: Mapping[str, float]) -> int:
        made, blocks = self.made, self.made.claims.blocks
        used = {block.tube_proof.tube for block in blocks if block.tube_proof is not None}
        used |= {block.ordered["tube"] for block in blocks if block.ordered is not None}
        require(bool(used), "starts are said to stay in a tube, and there is none")
        if made.claims.times is not None:
            raise Unconfirmed("runs from beside the start of one that chose its own steps are not re-checked")
        sizes = np.array([starts.get(name, 0.0) for name in made.equations.inputs[1:]])
        found = self.native.beside(starts_at(len(made.claims.start)) * sizes)
        if found is None:
            raise Unconfirmed("a run from beside the start does not arrive")
        return rows_that_stay(made, [made.claims.tubes[k] for k in sorted(used)], *found)

    def _of_the_rest(self) -> Iterator[VerifierFinding]:
        """What is not claimed, by name."""
        rest = [name for block in self.made.claims.blocks if not block.claimed for name in block.constraints]
        if rest:
            yield VerifierFinding(f"{', '.join(rest)}: nothing is proved, so nothing was re-checked")
        silent = _left_out(self.made.claims, self.made)
        if silent:
            yield VerifierFinding(f"{', '.join(silent)}: left out, so nothing is said of it")


@dataclass(frozen=True, slots=True)
class _Attacked:
    """How an attack ended: what it told, or what it found."""

    told: str = ""
    trouble: str | None = None


def _attacked(made: Callable[[], Attack | NoiseAttack]) -> _Attacked:
    try:
        attack = made()
        contradiction, strange = attack.contradiction(), attack.other_code()
    except Unconfirmed as doubt:
        return _Attacked(trouble=str(doubt))
    except HoldfastError as error:
        contradiction, strange = f"the product cannot derive its problem: {error.what}", None
    if contradiction is not None:
        return _Attacked(trouble=f"does not hold: {contradiction}")
    return _Attacked(attack.told, strange)


def _finding(block: BlockClaim, sentence: str, attacked: _Attacked) -> VerifierFinding:
    """What an attack leaves of the sentence that confirms a block."""
    if attacked.trouble is not None:
        return VerifierFinding(f"{', '.join(block.constraints)}: {attacked.trouble}", confirmed=False)
    return VerifierFinding(f"{sentence}; {attacked.told}", confirmed=True)


def _left_out(stated: Claims, made: Reading) -> list[str]:
    """The constraints of the problem that no block of the certificate speaks of."""
    told = {name for block in stated.blocks for name in block.constraints}
    return [name for name in made.stated.constraints if name not in told]
