"""What noise does to the deviations of a problem: linearised about its program, never frozen at its start.

    dz = H z dt + E Σ(x, t) dW,      Σ_k = J σ_k = b_k + B_k z + ...      at a state x of the program, z = (y, w) = 0

    Ċ = H C + C Hᵀ + Σ_k (B_k C B_kᵀ + b_k b_kᵀ)                          covariance of z, mean zero
    stable in the mean square  ⇔  H⊗1 + 1⊗H + Σ B_k⊗B_k has its spectrum in Re < 0

B_k = ∂Σ_k/∂x R with Z R = 1, Z = ∂z/∂x: where b_k is the same all along the program, any such R gives this B_k; else
R moves q and v across the program only. Exact for a linear law with constant H and Σbbᵀ and Σ linear in z; an estimate
for small deviations otherwise, and the notes say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.equations.values import Values
from holdfast.errors import BadRequest, HoldfastError
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.derivatives import gradient, jacobian
from holdfast.graph.nodes import Node, ancestors
from holdfast.problem.types import ByName, StateLike
from holdfast.results.runs.noise import noise_channels, noise_columns
from holdfast.results.start.start import consistent_start
from holdfast.stability.linear.covariance import mean_square_operator, settled
from holdfast.stability.linear.hurwitz import place_of_roots
from holdfast.stability.linear.shape import Array

VANISHING = 1e-9  # of its terms: an intensity below it is zero on the program, up to the projection onto it
PLACES = 4  # of the program, beside the first, at which H, b and B are looked at once more
ASIDE = 0.1  # of the size of a state: how far apart these places are sought
ALIKE = 1e-6  # relative: differences below it are those of projections and rounding
KINKS = {"abs": 1, "sign": 1, "select": 1, "min": 2, "max": 2}  # operations that bend, by the operands that decide


@dataclass(frozen=True, eq=False)
class MeanSquare:
    """Deviations in the mean square: whether they settle, and the covariance they settle to; truthy if they do.

    `matrix` is H; `additive` and `multiplicative` are b_k and B_k by channel, for z in the order of `names`.
    """

    names: tuple[str, ...]
    matrix: Array
    additive: dict[str, Array]
    multiplicative: dict[str, Array]
    projected: bool
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.stable

    @property
    def kind(self) -> str:
        """What the program feels of the noise: "tangential" (nothing), "multiplicative", "additive" or "both"."""
        adds = any(b.any() for b in self.additive.values())
        multiplies = any(B.any() for B in self.multiplicative.values())
        return {(0, 0): "tangential", (0, 1): "multiplicative", (1, 0): "additive"}.get((adds, multiplies), "both")

    @cached_property
    def intensity(self) -> Array:
        """Q = Σ b_k b_kᵀ."""
        return sum((np.outer(b, b) for b in self.additive.values()), np.zeros_like(self.matrix))

    @property
    def _parts(self) -> list[Array]:
        return [B for B in self.multiplicative.values() if B.any()]

    @cached_property
    def abscissa(self) -> float:
        """The rate at which the mean square grows (decays, if negative): max Re of the spectrum of the operator."""
        if not self._parts:
            return 2 * float(np.linalg.eigvals(self.matrix).real.max())
        return float(np.linalg.eigvals(mean_square_operator(self.matrix, self._parts)).real.max())

    @cached_property
    def stable(self) -> bool:
        """Whether the mean square settles."""
        if not self._parts:
            return place_of_roots(self.matrix).hurwitz
        return place_of_roots(mean_square_operator(self.matrix, self._parts)).hurwitz

    @property
    def covariance(self) -> Array:
        """The covariance of z in the long run; an error where it does not settle."""
        return self.covariance_at()

    def covariance_at(self, step: float | None = None) -> Array:
        """The covariance in the long run: of the law, or with a step of Euler-Maruyama's paths."""
        return settled(self.matrix, self.intensity, self._parts, step)

    @property
    def verdict(self) -> str:
        """The answer in one sentence."""
        if not self.stable:
            return f"unstable in the mean square: its rate is {self.abscissa:+.6g}"
        if self.kind == "tangential":
            return "the noise acts along the program only: every path keeps the law as if there were none"
        if self.kind == "multiplicative":
            return f"stable in the mean square: deviations die out at the rate {self.abscissa:.6g}, noise and all"
        return f"stable in the mean square, with a floor (rate {self.abscissa:.6g}): noise acts on the program itself"

    def summary(self) -> str:
        """Verdict, standard deviations and notes as text for a terminal."""
        lines = [self.verdict]
        if self.stable:
            spread = np.sqrt(np.maximum(np.diag(self.covariance), 0))
            lines += [f"  {name:<16} {size:.6g}" for name, size in zip(self.names, spread, strict=True)]
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)]) + "\n"

    def __str__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "stable": self.stable,
            "abscissa": self.abscissa,
            "names": list(self.names),
            "covariance": self.covariance.tolist() if self.stable else None,
            "additive": {name: b.tolist() for name, b in self.additive.items()},
            "multiplicative": {name: B.tolist() for name, B in self.multiplicative.items()},
            "verdict": self.verdict,
            "notes": list(self.notes),
        }


def mean_square(
    equations: Equations,
    *,
    project: bool | None = None,
    deviation_noise: Mapping[str, ByName] | None = None,
    state: StateLike | None = None,
) -> MeanSquare:
    """Whether deviations settle in the mean square under the noise of a problem, and to which covariance.

    The noise is taken on the program, at the place nearest to the start (or to `state`), with its part linear in the
    deviations. `project` and `deviation_noise` are those of `sample_paths`, and so is the default.
    """
    equations.require_unlimited("mean_square")
    if not equations.constraints:
        raise BadRequest("there is no program, hence no deviation", where="mean_square", fix="Program(holonomic=...)")
    for name, degree in equations.deviations.degrees.items():
        raise BadRequest(
            f"{name!r} is of degree {degree}, and the mean square is known up to degree 2",
            where="mean_square",
            fix="hf.sample_paths measures it",
        )
    if project is None:
        project = not equations.problem.program.controls
    felt = _FeltNoise.of(equations, project, deviation_noise)
    begin = equations.problem.run.begin
    at = equations.evaluate(consistent_start(equations, state, "project", {}, begin).state, begin)
    b, B = felt.linear_part(at)
    notes = _doubts(felt, at, b, B)
    if not equations.demand_law.is_linear:
        notes.append("the law is not linear: H is its linear part")
    m = len(at.deviation)
    channels = noise_channels(equations, deviation_noise)
    additive = {name: np.concatenate([np.zeros(m), b[k]]) for k, name in enumerate(channels)}
    parts = {name: np.vstack([np.zeros((m, B.shape[2])), B[k]]) for k, name in enumerate(channels)}
    return MeanSquare(equations.deviation_names, at.deviation_matrix, additive, parts, bool(project), tuple(notes))


def deviation_covariance(
    equations: Equations,
    *,
    project: bool = False,
    deviation_noise: Mapping[str, ByName] | None = None,
    step: float | None = None,
    state: StateLike | None = None,
) -> Array:
    """The covariance that (y, w) settle to under the noise of a problem; zero where the noise vanishes with them.

    Exact for a linear law with H, b and B the same all along the program; an estimate otherwise (`mean_square` says
    which). With a step, that of Euler-Maruyama.
    """
    found = mean_square(equations, project=project, deviation_noise=deviation_noise, state=state)
    return found.covariance_at(step)


_CHANGES = "law or noise change along the program or in time: this is the answer for one place of it, an estimate"
_BENDS = "the noise is not linear in the deviations: this is the answer for small ones, an estimate"


@dataclass(frozen=True, eq=False)
class _FeltNoise:
    """Σ = Jσ by channel and constraint, and its slope by (q, v), as numbers at any state."""

    equations: Equations
    shape: tuple[int, int, int]  # channels, constraints, rates and coordinates
    tape: Tape  # Σ, ∂Σ/∂x, σ
    kinks: tuple[tuple[str, Tape], ...]  # value and slope of what decides where Σ bends

    @staticmethod
    def of(equations: Equations, project: bool, deviation_noise: Mapping[str, ByName] | None) -> _FeltNoise:
        inputs, columns = equations.inputs, noise_columns(equations, project=project, deviation_noise=deviation_noise)
        zero, x = inputs.graph.zero, (*inputs.q, *inputs.v)
        pushed = [
            sum((node * column[j] for j, node in row.items()), zero)
            for column in columns
            for row in equations.deviations.jacobian
        ]
        slopes = [row.get(j, zero) for row in jacobian(pushed, x) for j in range(len(x))]
        noise = [node for column in columns for node in column]
        tape = Tape(equations.field.inputs, (*pushed, *slopes, *noise))
        kinks = tuple(
            (op, Tape(equations.field.inputs, (value, *(gradient(value, x).get(u, zero) for u in x))))
            for op, value in _deciding(pushed)
        )
        return _FeltNoise(equations, (len(columns), len(equations.constraints), len(x)), tape, kinks)

    def linear_part(self, at: Values) -> tuple[Array, Array]:
        """b (channels, constraints) and B (channels, constraints, deviations) at a state of the program."""
        channels, r, n = self.shape
        numbers = _numbers(self.equations, at)
        x = np.abs(np.asarray(at.state)[:n])
        self._refuse_kinks(numbers, x)
        values = np.array(self.tape(numbers), dtype=float)
        if not np.isfinite(values).all():
            raise BadRequest("the noise has no linear part on the program", where="system.noise", fix=_SMOOTH)
        pushed, slopes, noise = np.split(values, [channels * r, channels * r * (1 + n)])
        b, slope = pushed.reshape(channels, r), slopes.reshape(channels, r, n)
        R = _across(at)
        B = slope @ R
        terms = np.abs(noise.reshape(channels, -1)) @ np.abs(at.jacobian).T + np.abs(slope) @ x
        tiny = VANISHING * np.abs(slope) @ np.abs(R)
        return np.where(np.abs(b) <= VANISHING * terms, 0.0, b), np.where(np.abs(B) <= tiny, 0.0, B)

    def at(self, at: Values) -> Array:
        """Σ (channels, constraints) at any state."""
        channels, r, _ = self.shape
        return np.array(self.tape(_numbers(self.equations, at))[: channels * r], dtype=float).reshape(channels, r)

    def _refuse_kinks(self, numbers: list[float], x: Array) -> None:
        for op, tape in self.kinks:
            value, *slope = tape(numbers)
            if not abs(value) > VANISHING * float(np.abs(slope) @ x):
                raise BadRequest(
                    f"the noise bends on the program ({op}): it has no linear part", where="system.noise", fix=_SMOOTH
                )


_SMOOTH = "an intensity that is smooth on the program, as s*y in place of s*abs(y); sample_paths takes any"


def _deciding(pushed: list[Node]) -> list[tuple[str, Node]]:
    """What decides each choice that the noise contains."""
    return [
        (node.op, node.args[0] - node.args[1] if KINKS[node.op] == 2 else node.args[0])
        for node in ancestors(pushed)
        if node.op in KINKS
    ]


def _numbers(equations: Equations, at: Values) -> list[float]:
    return [at.time, *at.state, *(equations.parameter_values[name] for name in equations.parameter_names)]


def _across(at: Values) -> Array:
    """R with Z R = 1: y by a shift of q across the program that leaves w, w by a change of v alone."""
    m, n = len(at.deviation), len(at.accelerations)
    Z = at.deviation_jacobian
    shift, push = np.linalg.pinv(Z[:m, :n]), np.linalg.pinv(Z[m:, n:])
    upper = np.hstack([shift, np.zeros((n, len(Z) - m))])
    return np.vstack([upper, np.hstack([-push @ Z[m:, :n] @ shift, push])])


def _doubts(felt: _FeltNoise, at: Values, b: Array, B: Array) -> list[str]:
    """Whether H, Σbbᵀ and ΣB⊗B change between a few places and times of the program, and whether Σ bends beside it."""
    equations, shake, found = felt.equations, np.random.default_rng(5), []
    x, n = np.asarray(at.state), felt.shape[2]
    size = np.where(x == 0, max(1.0, float(np.abs(x).max(initial=0.0))), np.abs(x))
    for _ in range(PLACES):
        try:
            aside = (x + ASIDE * size * shake.normal(size=len(x))).tolist()
            moment = at.time + shake.random() * (equations.problem.run.duration or 1.0)
            there = equations.evaluate(consistent_start(equations, aside, "project", {}, moment).state, moment)
            linear = felt.linear_part(there)
            off = np.asarray(there.state) + 0.0
            off[:n] += _across(there) @ (ASIDE * shake.normal(size=B.shape[2]))
            beside = equations.evaluate(off.tolist(), moment)
        except (HoldfastError, ArithmeticError, ValueError):
            return [_CHANGES]
        pairs = [(at.deviation_matrix, there.deviation_matrix), *zip(_forms(b, B), _forms(*linear), strict=True)]
        if any(_differ(one, other) for one, other in pairs):
            found.append(_CHANGES)
        z = np.concatenate([beside.deviation, beside.deviation_rate])
        if _differ(_forms(felt.at(beside), B)[0], _forms(linear[0] + linear[1] @ z, B)[0]):
            found.append(_BENDS)
    return list(dict.fromkeys(found))


def _differ(one: Array, other: Array) -> bool:
    return bool(np.abs(one - other).max(initial=0.0) > ALIKE * np.abs(one).max(initial=0.0))


def _forms(b: Array, B: Array) -> tuple[Array, Array]:
    return np.einsum("ki,kj->ij", b, b), np.einsum("kij,klm->iljm", B, B)
