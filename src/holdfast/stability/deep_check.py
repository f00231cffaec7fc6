"""A deep check: all that can be said of a problem before it is run, in a table of words.

Degrees of the programs, what they leave free, what the controls can do (authority), whether constraints repeat each
other, states of rest, and the ways to assemble the start. Each row is made on its own; one that cannot be made says
why.

Authority and redundancy are free of units: with rows and columns measured in the metric of masses,

    A = D (J M⁻¹ E) D',    D = diag(J M⁻¹ Jᵀ)^(−1/2),    D' = diag(Eᵀ M⁻¹ E)^(−1/2)

has cosines for entries. Its smallest singular value is how much of the hardest wish the holders can do, and the
singular vectors beside it are that wish and the holders' answer, by name. Constraints are told apart by the rows of
D J M^(−1/2), whose singular values are the roots of those of D J M⁻¹ Jᵀ D.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.common.arguments import clear_arguments
from holdfast.equations.derive import derive
from holdfast.equations.equations import Equations
from holdfast.equations.internal.dynamics import InternalDynamics, internal
from holdfast.equations.values import values_at
from holdfast.equations.writing.text import degree_lines
from holdfast.errors import BadRequest, HoldfastError
from holdfast.problem.problem import Problem
from holdfast.results.judgement.check import CheckedStart, checked_start
from holdfast.results.start.assemble import AssembledStart, assemble_start
from holdfast.stability.linear.equilibria import Equilibrium, equilibria

Array = np.ndarray
HARDLY = 1e3  # a condition number beyond this means hardly any authority: a thousandth is left (a choice)
PART = 0.1  # of the largest: a smaller share of a direction is not named
FEW = 4  # rests that a table lists


@dataclass(frozen=True, slots=True)
class Grip:
    """How well rows are told apart, or held: condition number, smallest singular value, and the worst direction."""

    condition: float
    smallest: float
    wish: str  # the combination of constraints that is hardest
    answer: str  # and of what holds them

    def to_dict(self) -> dict[str, Any]:
        finite = self.condition if np.isfinite(self.condition) else None
        return {"condition": finite, "smallest": self.smallest, "wish": self.wish, "answer": self.answer}


@dataclass(frozen=True, eq=False)
class DeepCheck:
    """The rows of the table, each made when first asked for; `rows` has them as words."""

    equations: Equations

    @property
    def degrees(self) -> dict[str, int]:
        return self.equations.degrees

    @cached_property
    def internal(self) -> InternalDynamics:
        """What stays free."""
        return internal(self.equations, state=self._state)

    @cached_property
    def authority(self) -> Grip | None:
        """What the holders can do at the start; none where nothing is held."""
        if not self.equations.constraints:
            return None
        values = values_at(self.equations, self._state, None, {})
        J, E, M = values.jacobian, values.holders, values.mass_matrix
        return _grip(J, E, M, self.equations.constraints, self.equations.holder_names, values.through)

    @cached_property
    def redundancy(self) -> Grip | None:
        """How well the constraints are told apart at the start; none where there are fewer than two."""
        if len(self.equations.constraints) < 2 or self.equations.deviations.mixed:
            return None  # the slopes of rates above the first say nothing of it
        values = values_at(self.equations, self._state, None, {})
        names = self.equations.constraints
        grip = _grip(values.jacobian, values.jacobian.T, values.mass_matrix, names, names)
        return replace(grip, condition=float(np.sqrt(grip.condition)), smallest=float(np.sqrt(grip.smallest)))

    @cached_property
    def equilibria(self) -> tuple[Equilibrium, ...]:
        """States of rest."""
        return equilibria(self.equations)

    @cached_property
    def start(self) -> AssembledStart:
        """The start put together, with its branches."""
        return assemble_start(self.equations.problem)

    @cached_property
    def _checked(self) -> CheckedStart:
        return checked_start(self.equations)

    @property
    def _state(self) -> list[float]:
        """The state at which a run would start."""
        return list(self._checked.start.state)

    @property
    def rows(self) -> dict[str, list[str]]:
        """The table: words by row."""
        made: dict[str, Callable[[], list[str]]] = {
            "degrees": self._degrees, "free": self._free, "authority": self._authority,
            "redundancy": self._redundancy, "equilibria": self._rests, "branches": self._branches,
        }  # fmt: skip
        found = {}
        for name, make in made.items():
            try:
                found[name] = make()
            except HoldfastError as error:
                found[name] = [f"not known: {error.what}"]
        return {name: lines for name, lines in found.items() if lines}

    def _degrees(self) -> list[str]:
        above = list(degree_lines(self.equations))
        if above or not self.equations.constraints:
            return above
        listed = ", ".join(f"{name} {degree}" for name, degree in self.degrees.items())
        return [f"{listed}: the usual ones"]

    def _free(self) -> list[str]:
        found = self.internal
        return [f"warning: {found.warning}" if found.warning else found.sentence]

    def _authority(self) -> list[str]:
        grip = self.authority
        if grip is None:
            return []
        if grip.condition <= HARDLY:
            short = self.equations.problem.program.shortfall
            far = f", {short}" if short else ""
            return [f"condition number {grip.condition:.3g}: everything is within reach{far}"]
        if self._checked.repeats:
            return ["of constraints that repeat each other only the sum of forces is determined"]
        size = "nothing" if grip.smallest == 0 else f"{grip.smallest:.2g} of its effort"
        return [f"condition number {grip.condition:.3g}: {grip.wish} is hardly moved; of {grip.answer} {size} arrives"]

    def _redundancy(self) -> list[str]:
        grip = self.redundancy
        if grip is None:
            return []
        if self._checked.repeats:
            return [self._checked.repeats]
        if grip.condition <= HARDLY:
            return [f"none: the constraints are independent (condition number {grip.condition:.3g})"]
        return [f"the constraints nearly repeat each other in {grip.wish} (condition number {grip.condition:.3g})"]

    def _rests(self) -> list[str]:
        found = self.equilibria
        more = [f"and {len(found) - FEW} more"] if len(found) > FEW else []
        return [*map(str, found[:FEW]), *more] or ["no state of rest was found"]

    def _branches(self) -> list[str]:
        if not self.equations.problem.program.holonomic:
            return []
        return self.start.summary().splitlines()

    def summary(self) -> str:
        """The table as text."""
        lines = [
            f"  {name if not k else '':<12} {text}" for name, texts in self.rows.items() for k, text in enumerate(texts)
        ]
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        """As plain data: words in `table`, numbers beside them; null where something is not known."""
        return {
            "table": self.rows,
            "degrees": dict(self.degrees),
            "internal": _or_none(lambda: self.internal.to_dict()),
            "authority": _or_none(lambda: self.authority and self.authority.to_dict()),
            "redundancy": _or_none(lambda: self.redundancy and self.redundancy.to_dict()),
            "equilibria": _or_none(lambda: [one.to_dict() for one in self.equilibria]),
            "branches": _or_none(lambda: [dict(branch) for branch in self.start.branches]),
        }


@clear_arguments
def deep_check(problem: Problem | Equations) -> DeepCheck:
    """All that can be said of a problem before it is run."""
    if not isinstance(problem, (Problem, Equations)):
        raise BadRequest(f"deep_check() takes a Problem, not {type(problem).__name__}", fix="hf.load(file)")
    return DeepCheck(problem if isinstance(problem, Equations) else derive(problem))


def _or_none(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except HoldfastError:
        return None


def _grip(
    J: Array, E: Array, M: Array, names: Sequence[str], holders: Sequence[str], through: Array | None = None
) -> Grip:
    """The scaled J M⁻¹ E + D and its weakest direction; masses that vanish are measured by those of the others."""
    inverse = np.linalg.pinv(M, hermitian=True)
    rows = np.sqrt(np.fmax(np.einsum("ij,jk,ik->i", J, inverse, J), 0.0))
    columns = np.sqrt(np.fmax(np.einsum("ji,jk,ki->i", E, inverse, E), 0.0))
    rows, columns = (np.where(size > 0, size, 1.0) for size in (rows, columns))
    authority = J @ inverse @ E
    if through is not None and through.any():  # no metric is common to accelerations and states: by its own entries
        authority = authority + through
        columns = np.abs(authority).max(axis=0)
        columns = np.where(columns > 0, columns, 1.0)
        rows = np.abs(authority / columns).max(axis=1)
        rows = np.where(rows > 0, rows, 1.0)
    u, sizes, vt = np.linalg.svd(authority / rows[:, None] / columns)
    least = float(sizes[-1])
    condition = float(sizes[0] / least) if least > 0 else float("inf")
    return Grip(condition, least, _combined(u[:, len(sizes) - 1], names), _combined(vt[len(sizes) - 1], holders))


def _combined(vector: Array, names: Sequence[str]) -> str:
    """A direction in words: 'a' - 0.5 'b'."""
    size = np.abs(vector).max()
    first = int(np.abs(vector).argmax())
    vector = vector * np.sign(vector[first]) / size
    shown = ""
    for share, name in zip(vector, names, strict=True):
        if abs(share) >= PART:
            factor = "" if abs(share) > 0.995 else f"{abs(share):.2g} "
            sign = " - " if share < 0 else " + "
            shown += (sign if shown else "-" if share < 0 else "") + f"{factor}{name!r}"
    return shown
