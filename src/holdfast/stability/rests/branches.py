"""Branches of equilibria in a parameter: what is found, to read, to tabulate and to draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.common.nearest import did_you_mean
from holdfast.errors import BadRequest
from holdfast.problem.vocabulary import name_of
from holdfast.results.style import in_house_style
from holdfast.stability.linear.equilibria import Equilibrium

Array = np.ndarray
SAME = 1e-5  # of the range, and of the size of a state: special rests nearer than this are one
KINDS = {
    "fold": "a fold: the branch turns back, two rests meet and vanish",
    "branch point": "a root passes zero: another branch crosses",
    "oscillation": "a pair of roots crosses the axis: oscillations set in (Hopf)",
    "change": "the number of growing roots changes",
}


@dataclass(frozen=True, eq=False, repr=False)
class SpecialRest:
    """A rest at which stability may change: `kind` is one of `KINDS`, `value` that of the parameter."""

    kind: str
    parameter: str
    value: float
    state: Mapping[str, float]
    coordinates: tuple[str, ...]
    frequency: float = 0.0  # of the oscillation that sets in

    def near(self, other: SpecialRest, span: float, sizes: Mapping[str, float]) -> bool:
        """Whether this is another: of its kind, at its place, as nearly as branches that cross there know it."""
        if self.kind != other.kind or abs(self.value - other.value) > SAME * span:
            return False
        return all(abs(x - other.state[name]) <= SAME * sizes[name] for name, x in self.state.items())

    def __str__(self) -> str:
        where = ", ".join(f"{name} = {self.state[name]:.6g}" for name in self.coordinates)
        pace = f", at {self.frequency:.6g} rad per unit of time" if self.frequency else ""
        return f"{self.parameter} = {self.value:.8g} ({where}): {KINDS[self.kind]}{pace}"

    def __repr__(self) -> str:
        return f"<SpecialRest {self}>"


@dataclass(frozen=True, eq=False, repr=False)
class EquilibriumBranch:
    """Rests along one branch, in their order; ``branch["theta"]`` is a state at each, `words` how stable each is."""

    parameter: str
    values: Array  # of the parameter
    rests: tuple[Equilibrium, ...]
    special: tuple[SpecialRest, ...]
    ends: tuple[str, str]  # why it ends, at its first and its last rest

    def __getitem__(self, name: Any) -> Array:
        key = name_of(name)
        if key == self.parameter:
            return self.values
        known = self.rests[0].state
        if key not in known:
            hint = did_you_mean(key, known, "known: " + ", ".join(known))
            raise BadRequest(f"the branch has no state {key!r}", fix=hint)
        return np.array([rest.state[key] for rest in self.rests])

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(rest.word for rest in self.rests)

    @property
    def largest_root(self) -> Array:
        """The largest real part of a root at each rest; nan where nothing is free."""
        return np.array([rest.roots.real.max(initial=-np.inf) if rest.roots.size else np.nan for rest in self.rests])

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        said = " then ".join(dict.fromkeys(self.words))
        ends = f"{self.values[0]:g} to {self.values[-1]:g}"
        return f"<EquilibriumBranch: {len(self)} rests, {self.parameter} {ends}, {said}>"


@dataclass(frozen=True, eq=False, repr=False)
class EquilibriumBranches:
    """All branches that were found between two values of a parameter. There may be others."""

    parameter: str
    range: tuple[float, float]
    branches: tuple[EquilibriumBranch, ...]

    def __len__(self) -> int:
        return len(self.branches)

    def __getitem__(self, k: int) -> EquilibriumBranch:
        return self.branches[k]

    @property
    def special(self) -> tuple[SpecialRest, ...]:
        """Folds, branch points and where oscillations set in, by the value of the parameter."""
        rests = [rest.state for branch in self.branches for rest in branch.rests]
        sizes = {name: max(abs(state[name]) for state in rests) for name in rests[0]} if rests else {}
        span, found = self.range[1] - self.range[0], list[SpecialRest]()
        for one in sorted((one for branch in self.branches for one in branch.special), key=lambda one: one.value):
            if not any(known.near(one, span, sizes) for known in found):  # a crossing belongs to both of its branches
                found.append(one)
        return tuple(found)

    @property
    def folds(self) -> tuple[float, ...]:
        return tuple(one.value for one in self.special if one.kind == "fold")

    @property
    def changes(self) -> tuple[float, ...]:
        """The values of the parameter at which stability may change."""
        return tuple(one.value for one in self.special)

    def to_pandas(self) -> Any:
        """A data frame with a row for each rest: branch, parameter, states, word, and largest real part of a root."""
        import pandas

        rows = []
        for number, branch in enumerate(self.branches):
            for value, rest, root in zip(branch.values, branch.rests, branch.largest_root, strict=True):
                row = {"branch": number, self.parameter: value, **rest.state}
                rows.append({**row, "word": rest.word, "largest_root": root})
        return pandas.DataFrame(rows)

    def summary(self) -> str:
        """Each branch with its words and its special rests."""
        low, high = self.range
        lines = [f"{len(self.branches)} branches of rests, {self.parameter} from {low:g} to {high:g}"]
        for number, branch in enumerate(self.branches):
            first, last = branch.rests[0], branch.rests[-1]
            names = first.equations.coordinates
            ends = [", ".join(f"{name} = {rest.state[name]:.6g}" for name in names) for rest in (first, last)]
            lines.append(
                f"branch {number}: {self.parameter} {branch.values[0]:.6g} ({ends[0]}) to "
                f"{branch.values[-1]:.6g} ({ends[1]}), {len(branch)} rests: {_runs(branch.words)}"
            )
            lines += [f"  {special}" for special in branch.special]
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "schema": 1,
            "parameter": self.parameter,
            "range": list(self.range),
            "branches": [
                {
                    "values": branch.values.tolist(),
                    "states": [dict(rest.state) for rest in branch.rests],
                    "words": list(branch.words),
                    "special": [
                        {"kind": one.kind, "value": one.value, "state": dict(one.state)} for one in branch.special
                    ],
                    "ends": list(branch.ends),
                }
                for branch in self.branches
            ],
        }

    @in_house_style
    def plot(self, name: Any = None) -> Any:
        """A state (the first coordinate unless named) over the parameter: solid where stable, dashed where not."""
        import matplotlib.pyplot as plt

        _, axes = plt.subplots(constrained_layout=True)
        shown = name_of(name) if name is not None else None
        for number, branch in enumerate(self.branches):
            shown = shown or branch.rests[0].equations.coordinates[0]
            heights, stable = branch[shown], np.array([rest.stable for rest in branch.rests])
            for part, style in ((stable, "-"), (~stable, "--")):
                axes.plot(branch.values, np.where(_wide(part), heights, np.nan), style, color=f"C{number % 10}")
            for one in branch.special:
                axes.plot(one.value, one.state[shown], "o" if one.kind == "fold" else "s", color="k", markersize=4)
        axes.set_xlabel(self.parameter)
        axes.set_ylabel(shown or "")
        return axes

    def __repr__(self) -> str:
        found = ", ".join(f"{one.kind} at {one.value:.6g}" for one in self.special)
        return f"<EquilibriumBranches in {self.parameter}: {len(self.branches)}{'; ' + found if found else ''}>"


def _runs(words: tuple[str, ...]) -> str:
    """Words in their order, repeats left out."""
    return ", then ".join(word for k, word in enumerate(words) if not k or words[k - 1] != word)


def _wide(part: Array) -> Array:
    """A part with the first rest beside it, so that lines of two styles meet."""
    wide = part.copy()
    wide[:-1] |= part[1:]
    return wide
