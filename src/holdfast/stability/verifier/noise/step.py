"""One step of a path under noise, in the deviations of a block: from the problem's text, in fractions.

    v⁺ = v + τ a(x) + √τ Σⱼ σⱼ(x) ξⱼ,      q⁺ = q + τ v⁺ (semi-implicit) or q + τ v (Euler and Maruyama)
    ψ⁺ = R ψ + √τ Σⱼ (bⱼ + Bⱼ ψ) ξⱼ + ρ

The deviations ψ = Z x + z₀ determine the states x on which they depend, so that their law ψ' = Hψ alone says how these
move: x' = Z⁻¹Hψ. Intensities solve M σ = σ'; where reactions answer noise at once, Jσ = 0 and the block feels none.
That the code that is run computes these very rates and intensities is an identity of fractions, at every state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from holdfast.stability.verifier.noise.affine import (
    LEAST,
    NOT_AFFINE,
    ROUNDED,
    Affine,
    Row,
    needed,
    of_code,
    of_text,
    rounded_up,
)
from holdfast.stability.verifier.numbers.dag import Node, inputs_of
from holdfast.stability.verifier.reading.code import Code
from holdfast.stability.verifier.reading.equations import Equations
from holdfast.stability.verifier.refusal import Unconfirmed, require

Matrix = list[list[Fraction]]
SCHEMES = ("semi-implicit", "euler-maruyama")


@dataclass(frozen=True, eq=False)
class NoisyStep:
    """R, bⱼ, Bⱼ; and e by (1, |ψ|): the root of the mean square of ρᵢ is at most e₀ᵢ + Σ eᵢₖ ‖ψₖ‖₂."""

    matrix: Matrix
    additive: list[list[Fraction]]
    multiplicative: list[Matrix]
    rounding: Matrix
    reach: list[Fraction]  # by (1, ‖ψ‖₂): the root of the mean square of any number on the way is at most this

    def most(self, sizes: Sequence[Fraction]) -> Fraction:
        """What any number on the way is in rms, where deviations are no larger than these."""
        return sum((r * s for r, s in zip(self.reach, (Fraction(1), *sizes), strict=True)), Fraction(0))

    def rounded(self, sizes: Sequence[Fraction]) -> list[Fraction]:
        """What doubles add to each deviation, in rms, where deviations are no larger than these in rms."""
        return [
            sum((e * s for e, s in zip(row, (Fraction(1), *sizes), strict=True)), Fraction(0)) for row in self.rounding
        ]


class StepReader:
    """Reads the step of one block."""

    def __init__(
        self, equations: Equations, code: Code, numbers: dict[str, float], names: list[str], scheme: str, step: float
    ) -> None:
        require(scheme in SCHEMES, f"there are no paths by the scheme {scheme[:30]!r}")
        self.equations, self.code, self.numbers, self.names = equations, code, numbers, names
        self.implicit, self.tau = scheme == "semi-implicit", Fraction(step)
        coordinates = equations.stated.coordinates
        self.states, self.noise = equations.stated.state_names, _noise(equations, numbers)
        require(len(code.noise) == len(self.noise), "the code has not one column for each channel of the noise")
        require(all(len(row) == len(coordinates) for row in code.noise), "the code drives other coordinates by noise")
        self.own = self._own_states()
        self.places = {name: k for k, name in enumerate(self.own)}
        self.speeds = {q: f"{q}_dot" for q in coordinates if q in self.places}
        self.reach = [Fraction(0), *[Fraction(1)] * len(self.own)]

    def _own_states(self) -> list[str]:
        """The states on which the deviations depend, by themselves or through what the code computes."""
        count, found = len(self.equations.stated.coordinates), set[str]()
        waiting = inputs_of([self.equations.psi[name] for name in self.names])
        while waiting - found:
            if not waiting <= set(self.states):
                raise Unconfirmed(f"{NOT_AFFINE}: its program, or what moves it, depends on time")
            new, waiting = waiting - found, set(waiting)
            found |= new
            wanted = [self.code.rates[self.states.index(name)] for name in new]
            speeds = [self.states.index(name) - count for name in new if name in self.states[count : 2 * count]]
            wanted += [column[k] for column in self.code.noise for k in speeds]
            read = {self.code.inputs[place] for place in needed(self.code, wanted) if place < len(self.code.inputs)}
            waiting |= read - set(self.numbers)
        return [name for name in self.states if name in found]

    def step(self) -> NoisyStep:
        rows = of_text([self.equations.psi[name] for name in self.names], self.places)
        offset, Z = [row[0] for row in rows], [list(row[1:]) for row in rows]
        back = _inverse(Z)
        H = self.equations.matrix(self.names)
        moved = _product(_product(back, H), [[shift, *row] for shift, row in zip(offset, Z, strict=True)])  # Z⁻¹Hψ
        pushes = [self._intensities(channel) for channel in range(len(self.noise))]
        rates, columns = self._computed(moved, pushes)
        after = self._after(moved, still=True)
        kicks = [self._after(push, still=False) for push in pushes]
        shifted = [_in_deviations(row, back, offset) for row in _product(Z, after)]
        fixed = all(row[0] + shift == 0 for row, shift in zip(shifted, offset, strict=True))
        require(fixed, "a step from the program leaves it without noise")
        pushed = [[_in_deviations(row, back, offset) for row in _product(Z, kick)] for kick in kicks]
        return NoisyStep(
            [row[1:] for row in shifted],
            [[row[0] for row in push] for push in pushed],
            [[row[1:] for row in push] for push in pushed],
            _product(self._errors(Z, rates, columns), there := _in_sizes(back, offset)),
            [max(Fraction(1), self.tau) * x for x in _product([self.reach], there)[0]],
        )

    # ── what moves the states ─────────────────────────────────────────────────────────────────────

    def _intensities(self, channel: int) -> Matrix:
        """σ of a channel on each own state, as (c₀, c): M σ = σ', or nothing where reactions answer."""
        made, size = self.equations, len(self.own)
        found = [[Fraction(0)] * (size + 1) for _ in self.own]
        if not made.stated.controls:
            return found
        if made.mass is None:
            raise Unconfirmed("noise on points of variable mass is not re-checked")
        coordinates = made.stated.coordinates
        wanted = {coordinates.index(name[:-4]) for name in self.own if name[:-4] in coordinates and name[-4:] == "_dot"}
        linked = sorted(self._linked(wanted))
        inertia = [[of_text([made.mass[i][j]], self.places)[0] for j in linked] for i in linked]
        if any(any(entry[1:]) for row in inertia for entry in row):
            raise Unconfirmed(f"{NOT_AFFINE}: the inertia is not constant")
        forces = of_text([self.noise[channel][i] for i in linked], self.places)
        inverse = _inverse([[entry[0] for entry in row] for row in inertia])
        solved = _product(inverse, [list(row) for row in forces])
        for k, row in zip(linked, solved, strict=True):
            if f"{coordinates[k]}_dot" in self.places:
                found[self.places[f"{coordinates[k]}_dot"]] = row
        return found

    def _linked(self, wanted: set[int]) -> set[int]:
        """Coordinates that share inertia with some, these included."""
        mass, zero = self.equations.mass, self.equations.dag.zero
        assert mass is not None
        found: set[int] = set()
        while wanted - found:
            found |= wanted
            wanted = {j for i in found for j in range(len(mass)) if mass[i][j] is not zero or mass[j][i] is not zero}
        return found

    def _computed(self, rates: Matrix, pushes: list[Matrix]) -> tuple[list[Affine], list[list[Affine]]]:
        """Rates and intensities as the code computes them; refused where they are not those of the problem."""
        code, first = self.code, len(self.equations.stated.coordinates)
        places = [self.states.index(name) for name in self.own]
        found = of_code(code, [code.rates[k] for k in places], self.places, self.numbers, self.reach)
        for name, value, wanted in zip(self.own, found, rates, strict=True):
            require(list(value.exact) == wanted, f"the code that is run moves {name} otherwise than the law asks")
        columns = []
        for column, push in zip(code.noise, pushes, strict=True):
            driven = [column[k - first] if first <= k < 2 * first else None for k in places]
            values = of_code(code, [k for k in driven if k is not None], self.places, self.numbers, self.reach)
            left = iter(values)
            row = [None if k is None else next(left) for k in driven]
            for name, own, wanted in zip(self.own, row, push, strict=True):
                exact = [Fraction(0)] * len(wanted) if own is None else list(own.exact)
                require(exact == wanted, f"the code that is run drives {name} by other noise than the problem's")
            columns.append([_nothing(len(self.own)) if value is None else value for value in row])
        return found, columns

    def _after(self, change: Matrix, *, still: bool) -> Matrix:
        """The own states after the step (or what a push adds to them), as (c₀, c) of those before it."""
        new = [[self.tau * c for c in row] if still else list(row) for row in change]
        for k in range(len(new)):
            new[k][1 + k] += still
        for q, v in self.speeds.items() if self.implicit else ():
            k = self.places[q]
            new[k] = [self.tau * c for c in new[self.places[v]]]
            new[k][1 + k] += still
        return new

    # ── what doubles add ──────────────────────────────────────────────────────────────────────────

    def _errors(self, Z: Matrix, rates: list[Affine], columns: list[list[Affine]]) -> Matrix:
        """By (1, ‖x‖₂), operation by operation; ‖ |x||ξ| ‖₂ = ‖x‖₂ since ξ is independent of x and of variance 1.

        A path's driver makes τ·rate and adds it to the state; (√τ ξ)·σ by channel, added one after the other to 0 and
        then to the speed; and, semi-implicit, τ·(new speed), added to the old place.
        """
        root = _root(self.tau)
        reaches, errors = [], []
        for k, rate in enumerate(rates):
            own = [Fraction(i == k + 1) for i in range(len(self.own) + 1)]
            reach, error = _add(own, [Fraction(0)] * len(own), *_scale(self.tau, rate.reach, rate.error))
            pushes = [column[k] for column in columns]
            if any(any(push.reach) for push in pushes):
                kicks = [_scale(root, push.reach, push.error, times=3) for push in pushes]  # √τ, √τ ξ, and with σ
                total, off = kicks[0]
                for kick in kicks[1:]:
                    total, off = _add(total, off, *kick)
                reach, error = _add(reach, error, total, off)
            reaches.append(reach)
            errors.append(error)
        for q, v in self.speeds.items() if self.implicit else ():
            k = self.places[q]
            own = [Fraction(i == k + 1) for i in range(len(self.own) + 1)]
            moved = _scale(self.tau, reaches[self.places[v]], errors[self.places[v]])
            reaches[k], errors[k] = _add(own, [Fraction(0)] * len(own), *moved)
        return [[rounded_up(x) for x in row] for row in _product([[abs(x) for x in row] for row in Z], errors)]


def _in_sizes(back: Matrix, offset: list[Fraction]) -> Matrix:
    """(1, |x|) by (1, |ψ|), at most: |x| ≤ |Z⁻¹| (|ψ| + |z₀|)."""
    reach = [[abs(x) for x in row] for row in back]
    fixed = [row[0] for row in _product(reach, [[abs(x)] for x in offset])]
    first = [Fraction(1), *[Fraction(0)] * len(back)]
    return [first, *([shift, *row] for shift, row in zip(fixed, reach, strict=True))]


def _noise(equations: Equations, numbers: dict[str, float]) -> list[list[Node]]:
    """σ' by channel and coordinate, with the numbers of the run."""
    dag, stated = equations.dag, equations.stated
    put = {dag.input(name): dag.const(Fraction(value)) for name, value in numbers.items()}
    rows = [[channel.get(name, dag.zero) for name in stated.coordinates] for channel in stated.noise.values()]
    return [dag.substituted(row, put) for row in rows]


def _nothing(size: int) -> Affine:
    return Affine((Fraction(0),) * (size + 1), (Fraction(0),) * (size + 1))


def _scale(
    by: Fraction, reach: Sequence[Fraction], error: Sequence[Fraction], times: int = 1
) -> tuple[list[Fraction], list[Fraction]]:
    """A product with a number, of so many roundings: what it may reach, and its error; `reach` includes the old one."""
    unit = (1 + ROUNDED) ** times - 1
    lost = [by * e + unit * by * r for e, r in zip(error, reach, strict=True)]
    lost[0] += LEAST
    return [by * r + x for r, x in zip(reach, lost, strict=True)], lost


def _add(
    a: Sequence[Fraction], off_a: Sequence[Fraction], b: Sequence[Fraction], off_b: Sequence[Fraction]
) -> tuple[list[Fraction], list[Fraction]]:
    """A sum of two values that reach so far, with its own rounding."""
    total = [x + y for x, y in zip(a, b, strict=True)]
    lost = [rounded_up(x + y + ROUNDED * t) for x, y, t in zip(off_a, off_b, total, strict=True)]
    lost[0] += LEAST
    return [rounded_up(t + ROUNDED * t) for t in total], lost


def _root(value: Fraction) -> Fraction:
    """Not below the root, to 2⁻⁹⁰ of it or of 2⁻²⁰⁰."""
    scale = 2**400
    return Fraction(isqrt(value.numerator * scale // value.denominator) + 1, 2**200)


def _in_deviations(row: Row | list[Fraction], back: Matrix, offset: list[Fraction]) -> list[Fraction]:
    """c₀ + c·x in ψ: x = Z⁻¹(ψ − z₀)."""
    (slope,) = _product([list(row[1:])], back)
    return [row[0] - sum((a * b for a, b in zip(slope, offset, strict=True)), Fraction(0)), *slope]


def _product(a: Matrix, b: Matrix) -> Matrix:
    columns = list(zip(*b, strict=True))
    return [[sum((x * y for x, y in zip(row, column, strict=True)), Fraction(0)) for column in columns] for row in a]


def _inverse(table: Matrix) -> Matrix:
    """By flint's rational matrices; `Unconfirmed` where there is none."""
    import flint

    size = len(table)
    if not size or any(len(row) != size for row in table):
        raise Unconfirmed(f"{NOT_AFFINE}: its deviations do not determine the states that move them")
    try:
        found = flint.fmpq_mat(size, size, [flint.fmpq(x.numerator, x.denominator) for row in table for x in row]).inv()
    except ZeroDivisionError:
        raise Unconfirmed(f"{NOT_AFFINE}: its deviations do not determine the states that move them") from None
    return [[Fraction(int(found[i, j].p), int(found[i, j].q)) for j in range(size)] for i in range(size)]
