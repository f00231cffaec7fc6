"""A bound of mean squares, re-checked: docs/theory/5-noise.md, 5.5, with R, bⱼ, Bⱼ from the problem's text.

    Rᵀ P R + τ Σ Bⱼᵀ P Bⱼ ⪯ γ² P,    P = L Lᵀ,    γ < 1,    m = Σ ‖Lᵀeᵢ‖ ϱᵢ/(1 − γ)
    (1 + σ)(R S Rᵀ + τ Σ (Bⱼ S Bⱼᵀ + (1 + σ) bⱼbⱼᵀ + m²/σ Bⱼ P⁻¹ Bⱼᵀ)) + (1 + 1/σ) n diag ϱ² ⪯ S

and ϱᵢ is no less than what doubles add where ‖ψᵢ‖₂ ≤ √Sᵢᵢ + ‖ψ₀‖_P ωᵢ.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from holdfast.stability.verifier.check import Reading
from holdfast.stability.verifier.noise.step import NoisyStep, StepReader
from holdfast.stability.verifier.numbers.evaluate import ball_values
from holdfast.stability.verifier.reading.file import BlockClaim
from holdfast.stability.verifier.refusal import Refused, Unconfirmed, require
from holdfast.stability.verifier.steps.contraction import Norm, _arb, _matrix, _positive, top
from holdfast.stability.verifier.steps.existence import Existence

BITS = 200
POINTS = 16  # states at which the whole code is compared with the whole problem, beside the identities of the block
FARTHEST = Fraction(2) ** 823  # in rms: the largest double is 2²⁰⁰ times that, beyond it in 2⁻⁴⁰⁰ of all steps at most
UNDERFLOW = 1e-140  # a rounding below has a square that is none in doubles


@dataclass(frozen=True, eq=False)
class ShownAverage:
    """What was shown of one block under noise."""

    block: BlockClaim
    step: NoisyStep
    points: int


def average_outcome(read: Reading, block: BlockClaim) -> tuple[ShownAverage | None, str]:
    """The check of a block in a sentence."""
    import flint

    names = ", ".join(block.constraints)
    before, flint.ctx.prec = flint.ctx.prec, BITS
    try:
        shown = _checked(read, block)
    except Refused as refusal:
        return None, f"{names}: does not hold: {refusal}"
    except Unconfirmed as doubt:
        return None, f"{names}: {doubt}"
    finally:
        flint.ctx.prec = before
    told = "holds in the mean square, its step derived anew in fractions, which the code obeys at every state"
    return shown, f"{names}: {told}"


def _checked(read: Reading, block: BlockClaim) -> ShownAverage:
    made, claims, proof = read.equations, read.claims, block.mean_square
    assert proof is not None
    assert claims.step is not None
    assert claims.code is not None
    _require_fields(read, block, proof)
    if made.chained or made.solved:
        raise Unconfirmed("programs above degree 2 are not re-checked under noise")
    require(
        made.matrix(block.names) == [[Fraction(x) for x in row] for row in block.matrix],
        "the law is not the one of the problem",
    )
    reader = StepReader(made, claims.code, claims.parameters, proof["names"], proof["scheme"], claims.step)
    step = reader.step()
    wanted = Existence(made, None, beside=[node for channel in reader.noise for node in channel])
    wanted.require_everywhere()
    read.tell(wanted.note_everywhere)
    norm = Norm(proof["factor"], proof["gamma"])
    _require_start(read, proof, norm)
    _require_contraction(step, proof, claims.step)
    _require_rounding(step, proof, norm)
    _require_kept(step, proof, claims.step)
    for row, (name, bound) in enumerate(zip(proof["names"], proof["bounds"], strict=True)):
        square = Fraction(proof["second_moment"][row][row])
        require(Fraction(bound) ** 2 >= square, f"the bound of {name} is smaller than its second moment")
    return ShownAverage(block, step, _agreeing(read))


def _require_fields(read: Reading, block: BlockClaim, proof: dict[str, Any]) -> None:
    """Names and sizes, and nothing that reads as a sure bound."""
    stated, size = read.stated, len(block.names)
    require(bool(stated.noise), "the problem has no noise")
    own = {word for name in block.constraints if name in stated.constraints for word in read.equations.names_of(name)}
    require(set(block.constraints) <= set(stated.constraints), "it speaks of what is no constraint of the problem")
    require(set(block.names) == own, "the deviations are not those of its constraints")
    sure = (block.gamma, block.defect, block.epsilon, block.stayed, block.start_size)
    none = all(x is None for x in sure) and not block.bounds and not block.settles and block.from_step == 0
    require(none, "it states a sure bound of what is driven by noise")
    followed = set(proof["names"])  # its own, and those that move with them
    require(set(block.names) <= followed <= set(read.equations.psi), "it follows other deviations than the problem's")
    sizes = {len(proof[name]) for name in ("factor", "second_moment", "rounding", "bounds")}
    require(sizes == {len(followed)} and len(block.matrix) == size, "its numbers are of another size")
    require(proof["projected"] == (not stated.controls), "it takes the noise otherwise than paths do")
    euler = read.claims.scheme == "euler"
    require(euler == (proof["scheme"] == "euler-maruyama"), "its paths are not those of its scheme")
    require(proof["gamma"] < 1, "the mean square does not contract")


def _require_start(read: Reading, proof: dict[str, Any], norm: Norm) -> None:
    import flint

    place = dict(zip(read.equations.inputs, map(flint.arb, (read.claims.begin, *read.claims.start)), strict=True))
    found = norm.norm(ball_values([read.equations.psi[name] for name in proof["names"]], place))
    stated = proof["start_size"] * (1 + 1e-12)  # of a norm that is found in doubles
    require(top(found) <= stated, "the start deviates more than stated")


def _require_contraction(step: NoisyStep, proof: dict[str, Any], tau: float) -> None:
    L, R = _matrix(proof["factor"]), _matrix(step.matrix)
    P = L * L.transpose()
    left = P * (_arb(proof["gamma"]) * _arb(proof["gamma"])) - R.transpose() * P * R
    for part in map(_matrix, step.multiplicative):
        left = left - part.transpose() * P * part * _arb(tau)
    require(_positive(left, len(proof["factor"])), "one step does not contract the mean square as stated")


def _sizes(proof: dict[str, Any], norm: Norm) -> list[Fraction]:
    """‖ψᵢ‖₂ at any step, at most."""
    start = _arb(proof["start_size"]) * (1 + _arb(Fraction(1, 10**12)))
    found = []
    for i, width in enumerate(norm.widths()):
        most = top(_arb(proof["second_moment"][i][i]).sqrt() + start * width)
        require(bool(np.isfinite(most)), "its second moment is none")
        found.append(Fraction(most))
    return found


def _require_rounding(step: NoisyStep, proof: dict[str, Any], norm: Norm) -> None:
    sizes = _sizes(proof, norm)
    if not step.most(sizes) <= FARTHEST:
        raise Unconfirmed("numbers of the step come near the largest double, which is not re-checked")
    found = step.rounded(sizes)
    enough = all(
        Fraction(stated) >= x and stated >= UNDERFLOW for stated, x in zip(proof["rounding"], found, strict=True)
    )
    require(enough, "doubles may add more than stated")


def _require_kept(step: NoisyStep, proof: dict[str, Any], tau: float) -> None:
    """S less what a step makes of it is positive definite."""
    stated, size = proof["second_moment"], len(proof["second_moment"])
    require(all(stated[i][j] == stated[j][i] for i in range(size) for j in range(i)), "its second moment is none")
    S, L, R, share = _matrix(stated), _matrix(proof["factor"]), _matrix(step.matrix), _arb(proof["share"])
    try:
        inverse = (L * L.transpose()).inv()
    except ZeroDivisionError:
        raise Refused("the norm is singular") from None
    lengths = [sum((_arb(x) * _arb(x) for x in row), _arb(0)).sqrt() for row in proof["factor"]]  # ‖Lᵀeᵢ‖
    mean = sum((a * _arb(x) for a, x in zip(lengths, proof["rounding"], strict=True)), _arb(0))
    mean = mean / (1 - _arb(proof["gamma"]))
    made = R * S * R.transpose()
    for b, B in zip(step.additive, step.multiplicative, strict=True):
        push, part = _matrix([[x] for x in b]), _matrix(B)
        inner = part * (S + inverse * (mean * mean / share)) * part.transpose() + push * push.transpose() * (1 + share)
        made = made + inner * _arb(tau)
    left = S - made * (1 + share)
    for i, x in enumerate(proof["rounding"]):
        left[i, i] = left[i, i] - (1 + 1 / share) * size * _arb(x) * _arb(x)
    require(_positive(left, size), "a step from its second moment may leave more than that")


def _agreeing(read: Reading) -> int:
    """The code against the whole problem at some states; of the block itself it is an identity."""
    at, shake = np.array([read.claims.begin, *read.claims.start]), np.random.default_rng(17)
    spread = np.where(at != 0, np.abs(at), 1.0)
    return sum(read.agreement.check(list(at + spread * shake.uniform(-1, 1, len(at)))) for _ in range(POINTS))
