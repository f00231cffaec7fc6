"""How the deviations of one block move from step to step under noise, exactly; and what doubles add.

    ψ⁺ = R ψ + √τ Σⱼ (bⱼ + Bⱼ ψ) ξⱼ + ρ,        ‖ρᵢ‖₂ ≤ e₀ᵢ + Σ eᵢₖ ‖ψₖ‖₂

Holds for every path where deviations are affine in the state and determine all of it that they depend on, the law is
linear with coefficients that do not move, and the intensities are affine in the deviations: R, b and B are fractions,
found from the very operations that are run. ‖·‖₂ is the root of the mean square, so that |x||ξ| counts as |x|.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.equations.values import parameter_vector
from holdfast.errors import BadRequest, Undecided
from holdfast.graph.nodes import Node, ancestors
from holdfast.results.runs.noise import NoiseScheme, noise_columns
from holdfast.stability.proof.block import ProofBlock
from holdfast.stability.proof.noise.affine import (
    UNIT,
    UP,
    AffineValue,
    Array,
    above,
    affine_values,
    constant_value,
    input_value,
)

Matrix = list[list[Fraction]]
FAR = 2.0**200  # times the root of a mean square: beyond in 2⁻⁴⁰⁰ of all steps, at most (Chebyshev)
UNDERFLOW = 1e-140  # far more than what is lost below the smallest doubles, and its square still one


@dataclass(frozen=True, eq=False)
class NoisyRecursion:
    """R, the columns √τ⁻¹(bⱼ, Bⱼ) of ψ⁺ by channel, and the rounding of a step."""

    names: tuple[str, ...]
    scheme: NoiseScheme
    projected: bool  # as `sample_paths` takes the noise unless told otherwise
    step: float
    matrix: Matrix  # R
    additive: list[list[Fraction]]  # bⱼ
    multiplicative: list[Matrix]  # Bⱼ
    rounding: Array  # e, one row for each deviation, by (1, ‖ψ‖₂)
    reach: Array  # of any number on the way, in rms, by (1, ‖ψ‖₂)

    def of_rounding(self, sizes: Sequence[float]) -> list[float]:
        """‖ρᵢ‖₂, not below, for deviations whose roots of mean squares are at most these."""
        return [float(x) * UP + UNDERFLOW for x in self.rounding @ np.array([1.0, *sizes])]

    def overflows(self, sizes: Sequence[float]) -> bool:
        """Whether a number on the way may be beyond doubles, for deviations so large."""
        with np.errstate(all="ignore"):
            return not float(self.reach @ np.array([1.0, *sizes])) * FAR < np.finfo(float).max


def noisy_recursion(
    equations: Equations, block: ProofBlock, parameters: Mapping[Any, Any], scheme: NoiseScheme, step: float
) -> NoisyRecursion:
    """The recursion of a block; `BadRequest` says what keeps it from being one."""
    if not block.constant:
        raise BadRequest(block.obstacle or "the law is not linear with coefficients that do not move")
    if equations.deviations.degrees:
        raise BadRequest("programs above degree 2 are not proved under noise")
    try:
        return _AffineStep(equations, block, parameters).recursion(scheme, step)
    except Undecided as doubt:
        raise BadRequest(f"the step is not an affine map of its deviations: {doubt.what}") from None
    except OverflowError:
        raise BadRequest("its numbers are beyond doubles") from None


def all_together(equations: Equations, first: ProofBlock, others: Sequence[ProofBlock]) -> ProofBlock:
    """All blocks as one, for deviations that only together determine the states that move them; its own come first."""
    blocks = (first, *(block for block in others if block.places != first.places))
    places = tuple(i for block in blocks for i in block.places)
    full = np.zeros((len(places), len(places)))
    for block in blocks:
        own = [places.index(i) for i in block.places]
        full[np.ix_(own, own)] = block.matrix
    names = tuple(equations.deviation_names[i] for i in places)
    why = next((block.obstacle for block in blocks if block.obstacle), "")
    constraints = tuple(dict.fromkeys(name for block in blocks for name in block.constraints))
    return ProofBlock(constraints, places, names, full, all(block.constant for block in blocks), why)


def determined(equations: Equations, block: ProofBlock, parameters: Mapping[Any, Any]) -> bool:
    """Whether a block has as many deviations as states that move them."""
    try:
        return len(_AffineStep(equations, block, parameters).places) == len(block.places)
    except Undecided:
        return True  # which is said where the recursion is asked for


class _AffineStep:
    """Reads Z, rates and noise of a block as affine values of the states that it depends on."""

    def __init__(self, equations: Equations, block: ProofBlock, parameters: Mapping[Any, Any]) -> None:
        self.equations, self.block = equations, block
        field, inputs = equations.field, equations.inputs
        psi = [*equations.deviations.y, *equations.deviations.w]
        self.psi = [psi[i] for i in block.places]
        self.projected = not equations.problem.program.controls
        self.columns = noise_columns(equations, project=self.projected)
        self.places = self._that_count()
        self.size = 1 + len(self.places)
        self.known: dict[Node, AffineValue] = {
            field.state[k]: input_value(1 + i, self.size) for i, k in enumerate(self.places)
        }
        self.reach = np.array([0.0, *[1.0] * len(self.places)])
        numbers = (*inputs.parameters.values(), *inputs.gains.values())
        for node, value in zip(numbers, parameter_vector(equations, parameters), strict=True):
            self.known[node] = constant_value(value, self.size, exact=True)

    def _that_count(self) -> list[int]:
        """The states on which the deviations depend, directly or through rates and noise."""
        field, time, found = self.equations.field, self.equations.inputs.time, set[int]()
        waiting = list(self.psi)
        while waiting:
            nodes = set(ancestors(waiting))
            if time in nodes:
                raise Undecided("its program, or what moves it, depends on time")
            new = {k for k, node in enumerate(field.state) if node in nodes} - found
            found |= new
            waiting = [field.rates[k] for k in new]
            waiting += [node for k in new for column in self.columns for node in [self._push(column, k)] if node]
        return sorted(found)

    def _push(self, column: Sequence[Node], place: int) -> Node | None:
        """The intensity of a channel on one state: on a rate, or nothing."""
        n = len(self.equations.inputs.q)
        return column[place - n] if n <= place < 2 * n and not column[place - n].is_zero else None

    def values(self, nodes: Sequence[Node]) -> list[AffineValue]:
        return affine_values(nodes, self.known, self.size, self.reach)

    def recursion(self, scheme: NoiseScheme, step: float) -> NoisyRecursion:
        own = self.values(self.psi)
        Z, offset = [list(value.exact[1:]) for value in own], [value.exact[0] for value in own]
        back = _inverse(Z)
        rates = self.values([self.equations.field.rates[k] for k in self.places])
        self._require_law(Z, offset, rates)
        moved = [[self._kick(column, k) for k in self.places] for column in self.columns]
        after = self._after([list(rate.exact) for rate in rates], Fraction(step), scheme)
        kicks = [self._carried([list(value.exact) for value in column], Fraction(step), scheme) for column in moved]
        on_program = [_in_deviations(row, back, offset) for row in _times(Z, after)]
        for row, shift in zip(on_program, offset, strict=True):
            if row[0] + shift:
                raise Undecided("a step from the program leaves it without noise")
        pushed = [[_in_deviations(row, back, offset) for row in _times(Z, kick)] for kick in kicks]
        return NoisyRecursion(
            self.block.names,
            scheme,
            self.projected,
            step,
            [row[1:] for row in on_program],
            [[row[0] for row in push] for push in pushed],
            [[row[1:] for row in push] for push in pushed],
            self._errors(Z, rates, moved, scheme, step) @ (there := _in_sizes(back, offset)) * UP,
            self.reach * max(1.0, step) @ there,
        )

    def _after(self, rates: Matrix, tau: Fraction, scheme: NoiseScheme) -> Matrix:
        """The state after a step without noise, as affine values: x + τ rates, places by the new speeds."""
        new = [[tau * c for c in row] for row in rates]
        for i in range(len(new)):
            new[i][1 + i] += 1
        return self._by_new_speeds(new, tau, scheme, before=True)

    def _carried(self, kick: Matrix, tau: Fraction, scheme: NoiseScheme) -> Matrix:
        """What a push on the speeds does to the state after the step."""
        return self._by_new_speeds([list(row) for row in kick], tau, scheme, before=False)

    def _by_new_speeds(self, new: Matrix, tau: Fraction, scheme: NoiseScheme, *, before: bool) -> Matrix:
        if scheme == "semi-implicit":
            for i, j in self._speeds():  # q⁺ = q + τ v⁺
                new[i] = [tau * c for c in new[j]]
                new[i][1 + i] += before
        return new

    def _speeds(self) -> list[tuple[int, int]]:
        """Places of coordinates among the states that count, each with that of its speed."""
        n, where = len(self.equations.inputs.q), {place: i for i, place in enumerate(self.places)}
        if any(place + n not in where for place in self.places if place < n):
            raise Undecided("a coordinate counts whose speed does not")
        return [(where[place], where[place + n]) for place in self.places if place < n]

    def _kick(self, column: Sequence[Node], place: int) -> AffineValue:
        node = self._push(column, place)
        return constant_value(0, self.size, exact=True) if node is None else self.values([node])[0]

    def _require_law(self, Z: Matrix, offset: list[Fraction], rates: list[AffineValue]) -> None:
        """Z F = H Z and Z f₀ = H z₀ in fractions: the operations that are run obey the law, at every state."""
        H = [[*map(Fraction, map(float, row))] for row in self.block.matrix]
        moved = _times(Z, [list(rate.exact) for rate in rates])
        wanted = _times(H, [[shift, *row] for shift, row in zip(offset, Z, strict=True)])
        if moved != wanted:
            raise Undecided("the law's coefficients are not exact in double precision")

    def _errors(
        self, Z: Matrix, rates: list[AffineValue], moved: list[list[AffineValue]], scheme: NoiseScheme, step: float
    ) -> Array:
        """What a step of doubles adds to each deviation, by (1, ‖x‖₂): as `holdfast.engine.noise` takes it."""
        root = above(np.sqrt(step))
        own = [input_value(1 + i, self.size).sizes for i in range(len(self.places))]
        sizes, errors = [], []
        for i, rate in enumerate(rates):
            slope = step * rate.reach
            error = step * rate.error + UNIT * slope
            size = own[i] + slope
            error = error + UNIT * (size + error)
            pushes = [column[i] for column in moved if column[i].reach.any()]  # rounding alone pushes, too
            if pushes:
                push = root * sum((p.reach for p in pushes), np.zeros(self.size)) * UP
                late = root * sum((p.error for p in pushes), np.zeros(self.size))
                error = error + late + UNIT * (2 + len(moved)) * push
                size = size + push
                error = error + UNIT * (size + error)
            sizes.append(size * UP)
            errors.append(error * UP)
        for i, j in self._speeds() if scheme == "semi-implicit" else ():
            error = step * errors[j] + UNIT * step * (sizes[j] + errors[j])
            errors[i] = (error + UNIT * (own[i] + step * sizes[j] + error)) * UP
        return np.asarray(np.array([[above(x) for x in row] for row in Z]) @ np.array(errors) * UP)


def _in_sizes(back: Matrix, offset: list[Fraction]) -> Array:
    """(1, |x|) by (1, |ψ|), at most: |x| ≤ |Z⁻¹| (|ψ| + |z₀|)."""
    reach = np.array([[above(x) for x in row] for row in back])
    fixed = reach @ np.array([above(x) for x in offset])
    return np.vstack([np.eye(1, 1 + len(back)), np.column_stack([fixed, reach])])


def _in_deviations(row: Sequence[Fraction], back: Matrix, offset: list[Fraction]) -> list[Fraction]:
    """c₀ + c·x as a function of ψ, x = Z⁻¹(ψ − z₀)."""
    slope = _times([list(row[1:])], back)[0]
    return [row[0] - sum((a * b for a, b in zip(slope, offset, strict=True)), Fraction(0)), *slope]


def _times(a: Matrix, b: Matrix) -> Matrix:
    columns = list(zip(*b, strict=True))
    return [[sum((x * y for x, y in zip(row, column, strict=True)), Fraction(0)) for column in columns] for row in a]


def _inverse(Z: Matrix) -> Matrix:
    """By Gauss and Jordan in fractions; `Undecided` where the deviations do not determine the states."""
    size = len(Z)
    if not Z or any(len(row) != size for row in Z):
        raise Undecided("its deviations do not determine the states that move them")
    rows = [[*row, *(Fraction(int(i == j)) for j in range(size))] for i, row in enumerate(Z)]
    for k in range(size):
        pivot = next((i for i in range(k, size) if rows[i][k]), None)
        if pivot is None:
            raise Undecided("its deviations do not determine the states that move them")
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(size):
            if i != k and rows[i][k]:
                factor = rows[i][k]
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k], strict=True)]
    return [row[size:] for row in rows]
