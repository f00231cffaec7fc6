"""What a law does to deviations, read off its matrix: block by block, with the reason in a sentence.

    d(y, w)/dt = H (y, w) + Y₂,     H = [[0, S], [K, B]]

Constant H: its roots decide, exactly (`hurwitz`). H that depends on the motion: frozen eigenvalues prove nothing,
whatever their sign; a common P over the region does. Nonlinear laws: what holds for H holds near the program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

import numpy as np

from holdfast.common.rounded import rounded_up
from holdfast.equations.dynamics.blocks import decoupled_blocks
from holdfast.equations.dynamics.demand import bent_rows
from holdfast.equations.equations import Equations
from holdfast.graph.nodes import Node, ancestors
from holdfast.problem.laws.linear import Law
from holdfast.problem.types import ByName, MatrixLike, StateLike
from holdfast.results.judgement.check import values_at_start
from holdfast.stability.linear.definiteness import Definiteness, excess_definiteness
from holdfast.stability.linear.hurwitz import RootPlace, place_of_roots
from holdfast.stability.linear.shape import Array, default_names, positions_of, square


class BlockStability(Enum):
    """What can be said of a block of deviations, best first (definitions 1 and 2 of Mukharlyamov and Gorshkov 2015)."""

    asymptotically_stable = "asymptotically stable"
    stable = "stable"
    neutral = "neutral"
    unknown = "unknown"
    unstable = "unstable"

    @property
    def attracts(self) -> bool:
        return self is BlockStability.asymptotically_stable


_ORDER = list(BlockStability)


@dataclass(frozen=True, eq=False)
class LawBlock:
    """Deviations that influence each other and no others."""

    names: tuple[str, ...]
    constraints: tuple[str, ...]
    indices: tuple[int, ...]
    matrix: Array
    constant: bool
    linear: bool
    place: RootPlace
    verdict: BlockStability
    reason: str

    @cached_property
    def eigenvalues(self) -> Array:
        return _sorted(np.linalg.eigvals(self.matrix))

    @property
    def positions(self) -> int:
        """How many of its deviations are y."""
        return sum(name.startswith("y_") for name in self.names)

    @property
    def hurwitz(self) -> bool:
        """Whether every root of this matrix (frozen, if it varies) lies in Re λ < 0."""
        return self.place.hurwitz

    @property
    def locally(self) -> bool:
        return not self.linear

    def __str__(self) -> str:
        word = f"locally {self.verdict.value}" if self.locally and self.verdict.attracts else self.verdict.value
        return f"{', '.join(self.constraints)}: {word}. {self.reason}"


@dataclass(frozen=True, eq=False)
class Spectrum:
    """H with its names, blocks and roots; `definiteness` of a, c, k where the law is made of excess energies."""

    names: tuple[str, ...]
    matrix: Array
    constant: bool
    linear: bool
    blocks: tuple[LawBlock, ...]
    definiteness: Mapping[str, Definiteness] | None = None

    @cached_property
    def eigenvalues(self) -> Array:
        return _sorted(np.linalg.eigvals(self.matrix)) if self.matrix.size else np.zeros(0)

    @property
    def hurwitz(self) -> bool:
        return all(block.hurwitz for block in self.blocks)

    @property
    def abscissa(self) -> float:
        """max Re λ."""
        return float(self.eigenvalues.real.max()) if self.eigenvalues.size else -np.inf

    @property
    def verdict(self) -> BlockStability:
        """The least favourable verdict of the blocks; with nothing to hold, asymptotically stable."""
        return max(
            (block.verdict for block in self.blocks), key=_ORDER.index, default=BlockStability.asymptotically_stable
        )

    def block_of(self, constraint: str) -> LawBlock:
        """The block that a constraint belongs to."""
        return next(block for block in self.blocks if constraint in block.constraints)

    def __str__(self) -> str:
        lines = [str(block) for block in self.blocks]
        lines += [f"{name}: {item}" for name, item in (self.definiteness or {}).items()]
        return "\n".join(lines) or "There is nothing to hold."


def spectrum(
    subject: Equations | MatrixLike,
    state: StateLike | None = None,
    time: float | None = None,
    parameters: ByName | None = None,
    law: Law | None = None,
) -> Spectrum:
    """The matrix of the deviations, its decoupled blocks and what follows for each.

    `subject` is `Equations` (H is taken at a state and time, the start unless given) or a matrix H.
    """
    if not isinstance(subject, Equations):
        return _of_matrix(square(subject))
    equations = subject if law is None else subject.with_law(law)
    if state is None:
        values = values_at_start(equations, time, parameters)
    else:
        values = equations.evaluate(state, time, parameters=parameters)
    matrix = values.deviation_matrix
    program, m = equations.problem.program, len(values.deviation)
    names = equations.deviation_names
    varying = varying_entries(equations)
    linear = equations.demand_law.is_linear or not equations.second_order
    jumps = equations.demand_law.jumps and equations.second_order
    further = _nonlinear_links(equations, linear)
    deviating = (*equations.inputs.y.values(), *equations.inputs.w.values())
    bent = np.array([False] * m + bent_rows(equations.demand_law, deviating), dtype=bool)
    links = ((matrix != 0) | varying) | further
    blocks = []
    for block in decoupled_blocks(links.astype(float)):
        held = [name for k, name in enumerate(program.constraints) if m + k in block]
        part = np.ix_(block, block)
        blocks.append(
            _judged(
                block,
                [names[i] for i in block],
                held,
                matrix[part],
                not varying[part].any(),
                linear=linear or not bent[block].any(),
                jumps=jumps,
            )
        )
    short = equations.problem.program.shortfall
    if short:
        blocks = [replace(block, reason=f"{block.reason} This holds {short}.") for block in blocks]
    coefficients = (
        excess_definiteness(equations, values.time, values.state, parameters) if equations.form.excess else None
    )
    return Spectrum(names, matrix, not varying.any(), linear, tuple(blocks), coefficients)


def _of_matrix(matrix: Array) -> Spectrum:
    m = positions_of(matrix)
    names = default_names(len(matrix), m)
    blocks = []
    for block in decoupled_blocks(matrix):
        held = [names[i].removeprefix("w_") for i in block if i >= m]
        part = matrix[np.ix_(block, block)]
        blocks.append(_judged(block, [names[i] for i in block], held, part, True, linear=True))
    return Spectrum(names, matrix, True, True, tuple(blocks))


def varying_entries(equations: Equations) -> Array:
    """Which entries of H depend on the motion (coordinates, rates, states, time), not on gains and parameters alone."""
    m, r = len(equations.deviations.y), len(equations.deviations.w)
    fixed = {*equations.inputs.parameters.values(), *equations.inputs.gains.values()}
    varying = np.zeros((m + r, m + r), dtype=bool)
    for i, row in enumerate(equations.demand_law.matrix):
        for j, node in row.items():
            varying[m + i, j] = any(leaf.op == "input" and leaf not in fixed for leaf in ancestors((node,)))
    return varying


def _nonlinear_links(equations: Equations, linear: bool) -> Array:
    """Which deviations enter the nonlinear rest of which row."""
    m, r = len(equations.deviations.y), len(equations.deviations.w)
    links = np.zeros((m + r, m + r), dtype=bool)
    rest = equations.demand_law.rest
    if linear or rest is None:
        return links
    inputs = equations.inputs
    column: dict[Node, int] = {node: j for j, node in enumerate((*inputs.y.values(), *inputs.w.values()))}
    for i, node in enumerate(rest):
        for leaf in ancestors((node,)):
            if leaf in column:
                links[m + i, column[leaf]] = True
    return links


def _judged(
    indices: Sequence[int],
    names: Sequence[str],
    held: Sequence[str],
    matrix: Array,
    constant: bool,
    *,
    linear: bool,
    jumps: bool = False,
) -> LawBlock:
    place = place_of_roots(matrix)
    verdict, reason = _verdict(matrix, place, constant=constant, linear=linear)
    if jumps:
        verdict, reason = (
            BlockStability.unknown,
            ("The law branches on the deviations (sign, abs, select, ...): its slopes say nothing of its values."),
        )
    return LawBlock(tuple(names), tuple(held), tuple(indices), matrix, constant, linear, place, verdict, reason)


def _verdict(matrix: Array, place: RootPlace, *, constant: bool, linear: bool) -> tuple[BlockStability, str]:
    """The verdict of a block and the sentence that says why."""
    abscissa = float(np.linalg.eigvals(matrix).real.max())
    if not constant:
        return BlockStability.unknown, (
            f"H depends on the motion: its eigenvalues here (max Re λ = {abscissa:.4g}) prove nothing; "
            "one P with PH + HᵀP < 0 for all H of the region would."
        )
    near = "" if linear else " Near the program the nonlinear terms do not change that."
    if place.hurwitz:
        return BlockStability.asymptotically_stable, f"Every root has Re λ ≤ {rounded_up(abscissa, 4)} < 0.{near}"
    if place.right:
        return BlockStability.unstable, f"A root has Re λ = {abscissa:.4g} > 0.{near}"
    if not linear:
        return (
            BlockStability.unknown,
            "Roots on the imaginary axis: the nonlinear terms decide, and they were not examined.",
        )
    if place.semisimple:
        return (
            BlockStability.stable,
            "Roots on the imaginary axis, all semisimple: deviations stay bounded but are not attracted.",
        )
    return BlockStability.neutral, (
        "No root in Re λ > 0, but a multiple one on the axis (as in y'' = 0): what is kept stays kept, "
        "a deviation is not attracted and may grow as a power of time."
    )


def _sorted(values: Array) -> Array:
    return np.array(sorted(values, key=lambda x: (x.real, x.imag)))
