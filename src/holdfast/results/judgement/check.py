"""Whether a problem is well stated at its start: what a run would refuse is refused, what it would fail by is found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from holdfast.equations.dynamics.blocks import decoupled_blocks
from holdfast.equations.equations import Equations
from holdfast.equations.internal.dynamics import InternalDynamics, internal_or_none
from holdfast.equations.solving.large import LARGE
from holdfast.equations.solving.redundant import repeats_note
from holdfast.equations.values import Values, parameter_vector, values_at
from holdfast.errors import ConstraintsDependent, NoAuthority, SingularSystem
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.field import Field
from holdfast.graph.nodes import Node
from holdfast.problem.laws.linear import Tuned
from holdfast.problem.types import ByName
from holdfast.results.judgement.attraction import law_matrices, unstable
from holdfast.results.judgement.finding import Finding
from holdfast.results.judgement.large import large_condition, law_blocks
from holdfast.results.judgement.masses import mass_at, negative_mass
from holdfast.results.start.start import Start, consistent_start


@dataclass(frozen=True, eq=False)
class FieldInFloats:
    """A field at a few states in Python floats, as a kernel gives it: one look needs no engine, nor its import."""

    field: Field

    def observe_one(self, t: float, state: np.ndarray, parameters: Sequence[float] = ()) -> Sequence[float]:
        """The observables at one state."""
        return Tape(self.field.inputs, tuple(self.field.observables))([t, *state.tolist(), *parameters])

    def values_at(
        self, nodes: tuple[Node, ...], times: np.ndarray, states: np.ndarray, parameters: Sequence[float] = ()
    ) -> np.ndarray:
        """Functions on the graph at each row, (rows, nodes)."""
        tape = Tape(self.field.inputs, nodes)
        return np.array([tape([t, *x, *parameters]) for t, x in zip(times.tolist(), states.tolist(), strict=True)])

    def rates_and_margin(
        self, t: float, state: np.ndarray, parameters: Sequence[float] = ()
    ) -> tuple[np.ndarray, float]:
        """F(x, p, t), and the smallest pivot beside its scale: 1 where nothing had to be eliminated, 0 without rank."""
        tape = Tape(self.field.inputs, (*self.field.rates, *self.field.watched))
        found = tape([t, *state.tolist(), *parameters])
        rates, pivots = found[: len(state)], found[len(state) : len(state) + len(self.field.pivots)]
        scales = found[len(state) + len(pivots) :]
        shares = [abs(pivot / scale) if scale else 0.0 for pivot, scale in zip(pivots, scales, strict=True)]
        return np.array(rates), min(shares, default=1.0)


@dataclass(frozen=True, eq=False)
class CheckedStart:
    """Where a run would start, how well its constraints are told apart there, and what speaks against it."""

    equations: Equations
    start: Start
    condition: float
    findings: tuple[Finding, ...]
    repeats: str = ""  # constraints that repeat each other, in words

    @cached_property
    def internal(self) -> InternalDynamics | None:
        """What stays free while the program is kept; none where there is no program, or it cannot be looked at."""
        return internal_or_none(self.equations, state=list(self.start.state)) if self.equations.constraints else None


def values_at_start(equations: Equations, time: float | None = None, parameters: ByName | None = None) -> Values:
    """All numbers at the start: as stated, or where that is singular, as in a loop half stated, where runs start."""
    try:
        return equations.evaluate(time=time, parameters=parameters)
    except (ConstraintsDependent, NoAuthority, SingularSystem):
        begin = equations.problem.run.begin if time is None else time
        state = consistent_start(equations, None, None, parameters or {}, begin, FieldInFloats(equations.field)).state
        return equations.evaluate(state, time, parameters=parameters)


def checked_start(equations: Equations) -> CheckedStart:
    """The start of the problem's own run, judged as `simulate` judges it; what it would refuse is an error here too."""
    begin, constants = equations.problem.run.begin, parameter_vector(equations, {})
    field = FieldInFloats(equations.field)
    start = consistent_start(equations, None, None, {}, begin, field)
    condition, negative = _plain(equations, start, constants) or _looked_at(equations, start, constants)
    said = repeats_note(equations.solver)
    found = [negative, _unstable(equations, start)]
    seen = field.observe_one(begin, np.array(start.state), constants)
    bad = [name for name, value in zip(equations.observables, seen, strict=True) if not np.isfinite(value)]
    if bad:
        found.append(
            Finding("undefined", f"{', '.join(bad)}: infinite or undefined at the start.", True, begin, bad[0])
        )
    findings = tuple(finding for finding in found if finding is not None)
    return CheckedStart(equations, start, condition, findings, said)


def _plain(equations: Equations, start: Start, constants: Sequence[float]) -> tuple[float, None] | None:
    """The condition number of a large system that is plainly regular, by its entries; none where it is not plain."""
    if len(equations.coordinates) <= LARGE or not equations.constraints:
        return None
    found = large_condition(equations, start.state, equations.problem.run.begin, constants)
    return None if found is None else (found, None)


def _looked_at(equations: Equations, start: Start, constants: Sequence[float]) -> tuple[float, Finding | None]:
    """The condition number, and masses that are negative; an error by name where nothing determines the motion."""
    begin = equations.problem.run.begin
    values = values_at(equations, list(start.state), begin, {})
    if values.singularity is not None:
        raise values.singularity
    return values.condition, negative_mass(mass_at(equations, begin, start.state, constants), begin)


def _unstable(equations: Equations, start: Start) -> Finding | None:
    """A law that drives deviations away, by the roots of its blocks at the start."""
    if not equations.constraints or isinstance(equations.problem.program.law, Tuned):
        return None
    begin, names = equations.problem.run.begin, equations.deviations.owners
    blocks = _law_blocks(equations, start, begin)
    if not all(np.isfinite(matrix).all() for _, matrix in blocks):
        return None
    for block, matrix in blocks:
        roots = np.linalg.eigvals(matrix)
        worst = float(roots.real.max())
        if unstable(roots):
            held = ", ".join(dict.fromkeys(names[k] for k in block))
            text = f"The law drives {held} away: a root has the real part {worst:.4g}. Look at the signs of its gains."
            return Finding("unstable_law", text, True, begin, held)
    return None


def _law_blocks(equations: Equations, start: Start, begin: float) -> list[tuple[list[int], np.ndarray]]:
    """The deviations that the law couples at the start, and their matrix, block by block."""
    constants = parameter_vector(equations, {})
    if len(equations.coordinates) > LARGE:
        return [(block.tolist(), own) for block, own in law_blocks(equations, start.state, begin, constants)]
    matrix = law_matrices(equations, np.array([start.state]), begin, np.array([constants]))[0]
    return [(block, matrix[np.ix_(block, block)]) for block in decoupled_blocks(matrix)]
