"""A proof in the mean square: matrices found in doubles, and the two inequalities that make it one shown in balls.

    Rᵀ P R + τ Σ Bⱼᵀ P Bⱼ ⪯ γ² P                                                          what a start leaves dies away
    (1 + σ)(R S Rᵀ + τ Σ (Bⱼ S Bⱼᵀ + (1 + σ) bⱼbⱼᵀ + m²/σ Bⱼ P⁻¹ Bⱼᵀ)) + (1 + 1/σ) n diag ρ² ⪯ S      S is kept

where m bounds ‖E ψ‖_P of paths that start on the program, and ρ what doubles add (docs/theory/5-noise.md, 5.5).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.graph.arithmetics.balls import ball, precision
from holdfast.graph.nodes import substitute
from holdfast.results.runs.noise import NoiseScheme, noise_columns
from holdfast.stability.certificate.from_start import widths_of
from holdfast.stability.certificate.mean_square import MeanSquareProof
from holdfast.stability.proof.block import ProofBlock, bound_numbers, whole_motion
from holdfast.stability.proof.contraction import is_positive_definite
from holdfast.stability.proof.enclosure import Ball, ball_matrix, column, entries, magnitude, matrix, norm, upper
from holdfast.stability.proof.granted.existence import behind_program, somewhere_lacking
from holdfast.stability.proof.noise.recursion import NoisyRecursion, noisy_recursion

BITS = 128
SHARES = [2.0**-k for k in range(2, 50, 4)]  # σ: rounding is far below the floor, as a rule, so that a small one serves
CONTRACTION = 0.1  # of the way from the mean-square radius to 1: γ², so that P is not nearly singular
ROOM = 2.0**-20  # of S: between what is found in doubles and what is shown in balls
STATED = 1.1  # times the rounding that was found, which deviations as large as they turn out must not exceed
ROUNDS = 4  # of finding how large deviations, hence their rounding, become
Array = np.ndarray


def mean_square_proof(
    equations: Equations, block: ProofBlock, parameters: Mapping[Any, Any], scheme: NoiseScheme, step: float,
    moment: float, state: list[float],
) -> MeanSquareProof:  # fmt: skip
    """The proof of a block for paths that start at a state; `BadRequest` says why there is none."""
    recursion = noisy_recursion(equations, block, parameters, scheme, step)
    with precision(BITS):
        columns = noise_columns(equations, project=not equations.problem.program.controls)
        moving = [*behind_program(equations), *(node for column in columns for node in column)]
        if somewhere_lacking(equations, substitute(moving, bound_numbers(equations, parameters))):
            why = "forces, noise, or what holds the program may have no value at some states"
            raise BadRequest(f"{why}, and no region keeps paths from them")
        search = _SecondMoment(recursion)
        if not search.radius < 1:
            rate = "the noise undoes the law" if search.stable_alone else "the step is beyond the scheme's linear limit"
            raise BadRequest(f"a step multiplies the mean square by {search.radius:.6g}: {rate}")
        start = _start(equations, block, parameters, moment, state)
        found = search.found(start)
    if found is None:
        raise BadRequest("no bound of the mean square was shown: rounding is as large as what is left")
    return found


def _start(
    equations: Equations, block: ProofBlock, parameters: Mapping[Any, Any], moment: float, state: list[float]
) -> list[Ball]:
    """ψ of a state, enclosed."""
    from holdfast.graph.arithmetics.balls import balls
    from holdfast.graph.arithmetics.tape import Tape

    motion = whole_motion(equations, block, parameters)
    tape = Tape((motion.time, *motion.state), motion.psi).compiled(balls())
    return list(tape([ball(float(x)) for x in (moment, *state)]))


@dataclass(frozen=True, eq=False)
class _SecondMoment:
    recursion: NoisyRecursion

    @cached_property
    def R(self) -> Array:
        return np.array([[float(x) for x in row] for row in self.recursion.matrix])

    @cached_property
    def parts(self) -> list[Array]:
        """√τ Bⱼ."""
        root = np.sqrt(self.recursion.step)
        return [root * np.array([[float(x) for x in row] for row in B]) for B in self.recursion.multiplicative]

    @cached_property
    def floor(self) -> Array:
        """τ Σ bⱼbⱼᵀ."""
        pushes = [np.array([float(x) for x in b]) for b in self.recursion.additive]
        return self.recursion.step * sum((np.outer(b, b) for b in pushes), np.zeros_like(self.R))

    @cached_property
    def operator(self) -> Array:
        """S ↦ R S Rᵀ + τ Σ Bⱼ S Bⱼᵀ, on S row by row."""
        return sum((np.kron(B, B) for B in self.parts), np.kron(self.R, self.R))

    @cached_property
    def radius(self) -> float:
        return float(np.abs(np.linalg.eigvals(self.operator)).max())

    @property
    def stable_alone(self) -> bool:
        return float(np.abs(np.linalg.eigvals(self.R)).max()) < 1

    def found(self, start: list[Ball]) -> MeanSquareProof | None:
        """Sizes first, with the rounding that they bring; then the smallest S among the shares, shown."""
        sizes, spread = np.array([magnitude(x) for x in start]), np.zeros_like(self.R)
        for _ in range(ROUNDS):
            rounding = [STATED * x for x in self.recursion.of_rounding(sizes.tolist())]
            trials = [(s, T) for s in SHARES if (T := self._second_moment(s, rounding, spread)) is not None]
            if not trials:
                return None
            share, S = min(trials, key=lambda trial: float(np.trace(trial[1] / np.outer(*[self._scale(trials)] * 2))))
            found = self._norm(S)
            if found is None:
                return None
            factor, gamma = found
            spread = self._of_mean(factor, gamma, rounding)
            begun = norm(entries(ball_matrix(factor.T) * column(start)))
            tops = [upper(ball(float(x)).sqrt()) for x in np.diag(S)]
            sizes = np.array(tops) + begun * np.array(widths_of(factor.tolist()))
            sizes *= 1 + ROOM
        made = self.recursion
        if made.overflows(sizes.tolist()):
            raise BadRequest("its numbers come near the largest double")
        proof = MeanSquareProof(
            made.names, made.scheme, made.projected, _rows(factor), gamma, _rows(S), share, tuple(rounding), begun,
            tuple(tops),
        )  # fmt: skip
        enough = all(a <= b for a, b in zip(self.recursion.of_rounding(sizes.tolist()), rounding, strict=True))
        return proof if enough and self._holds(proof) else None

    @staticmethod
    def _scale(trials: list[tuple[float, Array]]) -> Array:
        return np.sqrt(np.max([np.diag(S) for _, S in trials], axis=0))

    def _of_mean(self, factor: Array, gamma: float, rounding: list[float]) -> Array:
        """τ Σ Bⱼ (m² P⁻¹) Bⱼᵀ: what the mean of paths that start on the program, rounding alone, makes of the noise."""
        mean = float(np.abs(factor.T) @ np.array(rounding) @ np.ones(len(factor))) / (1 - gamma)
        inside = mean**2 * np.linalg.inv(factor @ factor.T)
        return sum((B @ inside @ B.T for B in self.parts), np.zeros_like(self.R))

    def _second_moment(self, share: float, rounding: list[float], of_mean: Array) -> Array | None:
        """S with a little room, in doubles; None where rounding told so from the rest does not let it settle."""
        size, spread = len(self.R), (1 + share) * self.operator
        if not np.abs(np.linalg.eigvals(spread)).max() < 1:
            return None
        added = (1 + share) * (of_mean / share + (1 + share) * self.floor)
        added += (1 + 1 / share) * size * np.diag(np.square(rounding))
        settled = np.eye(size**2) - spread
        for _ in range(2):  # the second time with a part of itself in every direction, also where no noise acts
            S = np.linalg.solve(settled, added.ravel()).reshape(size, size)
            S = (S + S.T) / 2
            if not (np.isfinite(S).all() and (np.diag(S) > 0).all()):
                return None
            added = (1 + ROOM) * added + ROOM * (1 - self.radius) * np.diag(np.diag(S))
        return S

    def _norm(self, S: Array) -> tuple[Array, float] | None:
        """L and γ, in units of the roots of S."""
        square = self.radius + CONTRACTION * (1 - self.radius)
        weight = np.diag(1 / np.diag(S))
        size = len(S)
        P = np.linalg.solve(np.eye(size**2) - self.operator.T / square, weight.ravel()).reshape(size, size)
        try:
            factor = np.linalg.cholesky((P + P.T) / 2)
        except np.linalg.LinAlgError:
            return None
        return factor, float(np.sqrt(square))

    def _holds(self, proof: MeanSquareProof) -> bool:
        return self._dies_away(proof) and self._keeps(proof)

    def _exact(self) -> tuple[Any, list[Any], list[Any]]:
        """R, Bⱼ and bⱼ in balls."""
        R = matrix([[ball(x) for x in row] for row in self.recursion.matrix])
        parts = [matrix([[ball(x) for x in row] for row in B]) for B in self.recursion.multiplicative]
        return R, parts, [column([ball(x) for x in b]) for b in self.recursion.additive]

    def _dies_away(self, proof: MeanSquareProof) -> bool:
        """γ²P − RᵀPR − τΣBⱼᵀPBⱼ is positive definite."""
        R, parts, _ = self._exact()
        L, tau = ball_matrix(np.array(proof.factor)), ball(self.recursion.step)
        P = L * L.transpose()
        left = P * ball(proof.gamma) ** 2 - R.transpose() * P * R
        for B in parts:
            left = left - B.transpose() * P * B * tau
        return 0 < proof.gamma < 1 and is_positive_definite(left)

    def _keeps(self, proof: MeanSquareProof) -> bool:
        """S less what a step makes of it is positive definite."""
        R, parts, pushes = self._exact()
        L, tau, share = ball_matrix(np.array(proof.factor)), ball(self.recursion.step), ball(proof.share)
        S, inverse = ball_matrix(np.array(proof.second_moment)), (L * L.transpose()).inv()
        rows = [L.transpose() * column([ball(float(i == j)) for j in range(len(self.R))]) for i in range(len(self.R))]
        size = sum((ball(norm(entries(row))) * ball(x) for row, x in zip(rows, proof.rounding, strict=True)), ball(0))
        mean = size / (1 - ball(proof.gamma))  # ‖E ψ‖_P
        made = R * S * R.transpose()
        for B, b in zip(parts, pushes, strict=True):
            made = made + B * (S + inverse * (mean * mean / share)) * B.transpose() * tau
            made = made + b * b.transpose() * (tau * (1 + share))
        left = S - made * (1 + share)
        for i, x in enumerate(proof.rounding):
            left[i, i] = left[i, i] - (1 + 1 / share) * len(proof.rounding) * ball(x) ** 2
        return is_positive_definite(left)


def _rows(table: Array) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(x) for x in row) for row in table)
