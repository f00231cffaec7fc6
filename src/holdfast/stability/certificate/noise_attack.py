"""Attacks on a bound of mean squares that was re-checked: paths are made natively and held against what was shown.

Every step of some paths is compared with the affine map in fractions: what is left may not exceed, in rms, what the
certificate says that doubles add. And the mean squares at the rows must lie within the envelope, but for chance.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np

from holdfast.common.rounded import over
from holdfast.engine.noise import normals
from holdfast.equations.derive import derive
from holdfast.errors import BadRequest, HoldfastError
from holdfast.problem.file.load_dump import loads
from holdfast.results.runs.noise import sample_paths
from holdfast.stability.certificate.mean_square import mean_square_from
from holdfast.stability.certificate.run_code import path_code
from holdfast.stability.verifier.check import Reading
from holdfast.stability.verifier.noise.check import ShownAverage

PATHS, STEPS = 40, 40  # whose every step is looked at in fractions
MANY, FAR = 400, 400  # paths and steps of which averages are taken
CHANCE = 6.0  # standard errors
SEED = 20011


class NoiseAttack:
    """One block under noise against paths that are made here."""

    def __init__(self, read: Reading, shown: ShownAverage) -> None:
        self.read, self.shown = read, shown
        self._equations = derive(loads(read.claims.problem, "the certificate's problem"))

    @property
    def _names(self) -> list[str]:
        """The deviations that are followed together."""
        assert self.shown.block.mean_square is not None
        return list(self.shown.block.mean_square["names"])

    @property
    def told(self) -> str:
        return f"{PATHS * STEPS} native steps in fractions and {MANY} paths agree"

    def other_code(self) -> str | None:
        """How what is run here differs from what the certificate lists, whose rounding was looked at."""
        stated, proof = self.read.claims.code, self.shown.block.mean_square
        assert stated is not None
        assert proof is not None
        own = path_code(self._equations, projected=proof["projected"])
        listed = [[op, *(str(x) if isinstance(x, Fraction) else x for x in args)] for op, *args in stated.operations]
        same = (list(stated.inputs), listed, list(stated.rates)) == (own["inputs"], own["operations"], own["rates"])
        columns = [list(row) for row in stated.noise]
        return None if same and columns == own["noise"] else "the operations that are run here are others than it lists"

    def contradiction(self) -> str | None:
        try:
            return self._steps() or self._averages()
        except HoldfastError as error:
            return f"its paths cannot be made again: {error.what}"

    def _paths(self, paths: int, steps: int) -> np.ndarray:
        claims, proof = self.read.claims, self.shown.block.mean_square
        assert claims.step is not None
        assert proof is not None
        made = sample_paths(
            self._equations, step=claims.step, duration=steps * claims.step, paths=paths, seed=SEED,
            scheme=proof["scheme"], start=claims.start, start_policy="keep", parameters=claims.parameters,
        )  # fmt: skip
        if not made.success:
            raise BadRequest("paths do not stay finite")
        return made.states

    def _deviations(self, states: np.ndarray) -> list[list[Fraction]]:
        """ψ of states (rows), in fractions."""
        from holdfast.stability.verifier.noise.affine import of_text

        made = self.read.equations
        places = {name: k for k, name in enumerate(made.stated.state_names)}
        rows = of_text([made.psi[name] for name in self._names], places)
        found = []
        for state in states.tolist():
            x = [Fraction(1), *map(Fraction, state)]
            found.append([sum((c * y for c, y in zip(row, x, strict=True)), Fraction(0)) for row in rows])
        return found

    def _steps(self) -> str | None:
        """ψ⁺ − Rψ − √τ Σ(b + Bψ)ξ of every step, in rms, against the stated rounding."""
        claims, step, proof = self.read.claims, self.shown.step, self.shown.block.mean_square
        assert proof is not None
        states = self._paths(PATHS, STEPS)
        numbers = normals(SEED, np.arange(PATHS), np.arange(STEPS), len(step.additive))
        tau = Fraction(claims.step or 0)
        root = Fraction(isqrt(tau.numerator * 2**400 // tau.denominator), 2**200)
        squares = np.zeros(len(proof["rounding"]))
        for path in range(PATHS):
            rows = self._deviations(states[path])
            for k in range(STEPS):
                left = self._left(rows[k], rows[k + 1], [root * Fraction(x) for x in numbers[k, path].tolist()])
                squares += np.square([float(x) for x in left])
        seen = np.sqrt(squares / (PATHS * STEPS))
        for name, size, most in zip(self._names, seen.tolist(), proof["rounding"], strict=True):
            if not size <= most:
                return f"native steps add more to {name} in rms than stated: {over(size, most)}"
        return None

    def _left(self, before: list[Fraction], after: list[Fraction], kicks: list[Fraction]) -> list[Fraction]:
        step, found = self.shown.step, []
        for i, x in enumerate(after):
            moved = sum((r * y for r, y in zip(step.matrix[i], before, strict=True)), Fraction(0))
            for b, B, kick in zip(step.additive, step.multiplicative, kicks, strict=True):
                moved += kick * (b[i] + sum((c * y for c, y in zip(B[i], before, strict=True)), Fraction(0)))
            found.append(x - moved)
        return found

    def _averages(self) -> str | None:
        proof = self.shown.block.mean_square
        assert proof is not None
        states = self._paths(MANY, FAR)
        chosen = np.unique(np.linspace(0, FAR, 5).astype(int))
        envelope = mean_square_from(proof).envelope(chosen)
        for k, row in enumerate(chosen.tolist()):
            squares = np.array([[float(x) ** 2 for x in psi] for psi in self._deviations(states[:, row])])
            error = squares.std(axis=0, ddof=1) / np.sqrt(MANY)
            for name, mean, off, most in zip(self._names, squares.mean(axis=0), error, envelope[:, k], strict=True):
                if not mean <= most**2 + CHANCE * off:
                    return f"the mean square of {name} at step {row} is beyond: {over(float(mean), float(most**2))}"
        return None
