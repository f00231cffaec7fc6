"""What controls can move, and so how to climb until each constraint has a control of its own (`climb`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.equations.dynamics.climb import Climb, Ground, Move
from holdfast.equations.dynamics.sample import Sample
from holdfast.equations.dynamics.through import refuse_bent
from holdfast.errors import NoAuthority
from holdfast.graph.arithmetics.balls import precision
from holdfast.graph.derivatives import jacobian
from holdfast.graph.linear_algebra import Rows, transposed
from holdfast.problem.laws.law import HIGHEST
from holdfast.problem.program import Program

NOTHING = 1e-9  # the cosine between a constraint's slope and what a control moves: below, rounding
PART = 1e-6  # the least share of a constraint in a combination
BITS = 192  # of the balls in which a slope is told from 0


def moves_of(ground: Ground) -> tuple[Move, ...]:
    """How to climb until each constraint has a control that moves it; nothing where the usual degrees will do.

    What controls can move is decided at the samples. An error by name where no degree up to `HIGHEST` gives an answer.
    """
    climb, moves = Climb(ground), list[Move]()
    while climb.waiting:
        cosines, names = cosines_of(climb), climb.waiting
        unmoved = [name for k, name in enumerate(names) if not (np.abs(cosines[:, k]) > NOTHING).any()]
        if not unmoved and _independent(cosines):
            return tuple(moves)
        steps = [Move("raise", name) for name in unmoved] or [_best(names, climb.free, cosines)]
        for step in steps:
            if step.kind == "raise" and len(climb.below[step.constraint]) + 1 >= HIGHEST:
                raise _nothing_moves(ground.program, unmoved)
            climb.take(step)
            moves.append(step)
    return tuple(moves)


def cosines_of(climb: Climb) -> np.ndarray:
    """For each sample, waiting constraint and free control: how much of what the control moves is the constraint's.

    |g·r| / (|g| |r|) with the slope g = ∂top/∂v and the response r, both in the metric of masses where they have one;
    0 where nothing is moved. Where controls act through states s, (v, s) takes the place of v.
    """
    reach = _Reach.of(climb)
    found = [reach.at(sample) for sample in samples_of(climb)]
    return np.array(found).reshape(len(found), len(climb.waiting), len(climb.free))


def samples_of(climb: Climb) -> list[Sample]:
    """The states looked at, with small numbers for the states of extensions."""
    states = [node for chain in climb.extended.values() for node in chain]
    extra = {node: 0.1 * np.cos(1 + k) for k, node in enumerate(states)}
    return [Sample(sample.values | extra, sample.seed) for sample in climb.ground.samples]


@dataclass(frozen=True, eq=False)
class _Reach:
    """The matrices on the graph that say what a push of each free control does while the held constraints hold."""

    mass: Rows
    slopes: Rows  # of waiting constraints
    held: Rows  # slopes of those that are held
    columns: Rows  # of what holds them
    pushes: Rows  # of the free controls
    state_slopes: Rows  # of waiting constraints, by states whose rates contain controls
    state_pushes: Rows  # what controls do to the rates of these states, by columns of the holders
    through: Rows  # what controls do to held constraints through them, by columns of the holders
    holders: list[int]  # the columns of what holds
    free: list[int]  # the columns of the free controls
    width: int

    @classmethod
    def of(cls, climb: Climb) -> _Reach:
        inputs, n = climb.ground.inputs, len(climb.ground.dynamics.mass)
        tops, names = [climb.top[name] for name in climb.waiting], list(climb.held)
        pushed = [(s, rate) for s, rate in zip(inputs.s, inputs.state_rates, strict=True) if inputs.controls]
        slopes = jacobian([rate for _, rate in pushed], list(inputs.controls.values()))
        moving = [k for k, row in enumerate(slopes) if row]
        refuse_bent([pushed[k][0].data for k in moving], [slopes[k] for k in moving], inputs)
        column = [climb.control[name] for name in inputs.controls]
        return cls(
            mass=climb.ground.dynamics.mass,
            slopes=jacobian(tops, inputs.v),
            held=jacobian([climb.top[name] for name in names], inputs.v),
            columns=transposed([climb.columns[climb.holder[name]] for name in names], n),
            pushes=transposed([climb.columns[climb.control[name]] for name in climb.free], n),
            state_slopes=jacobian(tops, [pushed[k][0] for k in moving]),
            state_pushes=[{column[j]: node for j, node in slopes[k].items()} for k in moving],
            through=climb.rates(names)[1] or [{} for _ in names],
            holders=[climb.holder[name] for name in names],
            free=[climb.control[name] for name in climb.free],
            width=len(climb.columns),
        )

    def at(self, sample: Sample) -> np.ndarray:
        n, r = len(self.mass), len(self.held)
        G, J = _exact(sample, self.slopes, n), sample.dense(self.held, n)
        M, E, B = (
            sample.dense(self.mass, n), sample.dense(self.columns, r), sample.dense(self.pushes, len(self.free)),
        )  # fmt: skip
        D = sample.dense(self.through, self.width)
        saddle = np.block([[M, -E], [J, D[:, self.holders]]])
        answer = np.linalg.lstsq(saddle, np.vstack([B, -D[:, self.free]]), rcond=None)[0]
        scale = np.sqrt(np.abs(np.diag(M)))
        scale = np.where(scale > 0, scale, 1.0)
        g, b = G / scale, answer[:n] * scale[:, None]
        if self.state_pushes:
            forces = np.zeros((self.width, len(self.free)))
            forces[self.holders], forces[self.free] = answer[n:], np.eye(len(self.free))
            g, b = self._with_states(sample, g, b, forces)
        sizes = np.linalg.norm(g, axis=1)[:, None] * np.linalg.norm(b, axis=0)
        with np.errstate(all="ignore"):
            return np.nan_to_num((g @ b) / np.where(sizes > 0, sizes, np.inf))

    def _with_states(
        self, sample: Sample, g: np.ndarray, b: np.ndarray, forces: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Slopes and responses with those of states, each state in a unit that makes the largest of both alike."""
        slopes = _exact(sample, self.state_slopes, len(self.state_pushes))
        rates = sample.dense(self.state_pushes, self.width) @ forces
        high, wide = np.abs(rates).max(axis=1, initial=0.0), np.abs(slopes).max(axis=0, initial=0.0)
        met = (high > 0) & (wide > 0)
        unit = np.sqrt(wide[met] / high[met])
        return np.hstack([g, slopes[:, met] / unit]), np.vstack([b, rates[met] * unit[:, None]])


def _exact(sample: Sample, rows: Rows, columns: int) -> np.ndarray:
    """A matrix at a state, in balls: an entry that vanishes by cancelling is 0 there, and in doubles a little noise."""
    found = np.zeros((len(rows), columns))
    with precision(BITS):
        known = sample.in_balls()
        for i, row in enumerate(rows):
            for j, value in zip(row, known.of(list(row.values())), strict=True):
                found[i, j] = 0.0 if value.contains(0) else float(value.mid())
    return found


def _independent(cosines: np.ndarray) -> bool:
    """Whether the waiting constraints ask for different controls, at some state beside the start."""
    for D in cosines[1:]:
        sizes = np.linalg.norm(D, axis=1, keepdims=True)
        if (sizes > 0).all() and np.linalg.svd(D / sizes, compute_uv=False)[-1] > NOTHING and len(D) <= D.shape[1]:
            return True
    return False


def _best(names: Sequence[str], controls: Sequence[str], cosines: np.ndarray) -> Move:
    """Which constraint to hold at once, and by which control.

    Of those that ask for the same direction, the pair that belongs together most at all states looked at.
    """
    shared = _sharing(cosines)
    least = np.abs(cosines).min(axis=0)[shared]
    least = least if least.max() > NOTHING else np.abs(cosines).mean(axis=0)[shared]
    k, j = divmod(int(least.argmax()), len(controls))
    return Move("hold", names[shared[k]], controls[j])


def _sharing(cosines: np.ndarray) -> list[int]:
    """The rows that take part in a combination that no control moves."""
    found: set[int] = set()
    for D in cosines[1:]:
        rows, sizes, _ = np.linalg.svd(D)
        lost = rows[:, int((sizes > NOTHING * max(sizes[0], NOTHING)).sum()) :]
        found |= {int(k) for k in np.nonzero(np.abs(lost).max(axis=1, initial=0.0) > PART)[0]}
    return sorted(found) or list(range(cosines.shape[1]))


def _nothing_moves(program: Program, names: Sequence[str]) -> NoAuthority:
    listed = " and ".join(map(repr, names))
    whose = "control" if len(program.controls) == 1 else "controls"
    return NoAuthority(
        f"the {whose} {', '.join(map(repr, program.controls))} cannot move {listed}: not at once, and not through any "
        f"derivative up to the {HIGHEST}th",
        where="program.controls",
        fix="choose a control that acts on it, or let it be held by its reaction (reactions=...)",
    )
