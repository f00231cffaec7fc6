"""Where what holds a program exists: asked of all that the bounds of a block's deviations do not meet.

    M a − E μ = h,     J a = Y − γ

Where accelerations follow from the program alone, or a block is affine, bounds say nothing of M, E and h: a denominator
in them may vanish, a root or a logarithm have no value, a part of the matrix be singular: the motion would not exist.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from holdfast.stability.verifier.numbers.dag import Node, inputs_of, ordered, read
from holdfast.stability.verifier.numbers.evaluate import Forms, ball_values
from holdfast.stability.verifier.numbers.forms import Array, space
from holdfast.stability.verifier.reading.equations import Equations
from holdfast.stability.verifier.refusal import Unconfirmed
from holdfast.stability.verifier.steps.cells import Cells, Cutter
from holdfast.stability.verifier.steps.cover import Budget, covered
from holdfast.stability.verifier.steps.data import BEYOND
from holdfast.stability.verifier.steps.friction import UNKNOWN
from holdfast.stability.verifier.steps.motion import WholeMotion
from holdfast.stability.verifier.steps.unknowns import System, _distance, _inverse, bounded

WHAT = "existence of what holds the program"
MOST_CELLS = 20_000
LARGEST = sys.float_info.max

Range = tuple[Array, Array]
DOMAINS: dict[str, Callable[[Range], Array]] = {  # of a function's argument, or of a denominator
    "div": lambda x: (x[0] > 0) | (x[1] < 0),
    "sqrt": lambda x: x[0] >= 0,
    "log": lambda x: x[0] > 0,
    "pow": lambda x: x[0] > 0,
    "asin": lambda x: (x[0] >= -1) & (x[1] <= 1),
    "acos": lambda x: (x[0] >= -1) & (x[1] <= 1),
    "tan": lambda x: (x[0] > 0) | (x[1] < 0),  # of its cosine
}


@dataclass(frozen=True)
class Condition:
    """What an operation asks of its argument, or of its denominator; data are read within their reach."""

    op: str
    argument: Node
    reach: tuple[float, float] | None = None

    def met(self, x: Range) -> Array:
        """Whether it is met all over a range."""
        if self.reach is None:
            return DOMAINS[self.op](x)
        first, last = self.reach
        return np.asarray((x[0] >= first) & (x[1] <= last))


class Existence:
    """What is to be shown beside the motion of a block, or of several; `motion` is None where time alone decides, and
    `beside` is asked for, too, as the noise on all coordinates.
    """

    def __init__(self, made: Equations, motion: WholeMotion | None, beside: Iterable[Node] = ()) -> None:
        self.made, system = made, None if made.solved else System(made)
        asked = motion.parts if motion is not None else []
        rest = [] if system is None else [part for part in system.parts if part not in asked]
        self.masses_vary = system is not None and not system.known_rows and bool(rest)
        if system is not None and not system.known_rows:
            rest = [part for part in rest if all(i >= system.count for i in part.rows)]
        met = {node.index for node in ordered(system.nodes(asked))} if system is not None and asked else set[int]()
        moved = () if motion is None else motion.states
        nodes = [*beside, *(system.nodes(rest) if system is not None and rest else [])]
        nodes += [node for name, node in made.state_rates.items() if name not in moved]
        nodes += [made.observables["energy"]] if "energy" in made.observables else []
        conditions = [
            Condition(node.op, self._argument(node))
            for node in ordered(nodes)
            if node.index not in met and self._partial(node)
        ]
        whole = [*nodes, *(system.nodes(asked) if system is not None and asked else [])]
        conditions += [Condition(node.op, node.args[0], _reach(node)) for node in ordered(whole) if node.op == "table"]
        tables = [] if system is None else [[[system.bent[i][j] for j in p.columns] for i in p.rows] for p in rest]
        matrices = [table for table in tables if inputs_of([node for row in table for node in row])]
        self._conditions = [one for one in conditions if not _uses_reactions([one.argument])]
        self._matrices = [table for table in matrices if not _uses_reactions(node for row in table for node in row)]
        self.reactions_used = len(self._conditions) + len(self._matrices) < len(conditions) + len(matrices)

    @cached_property
    def used(self) -> set[str]:
        """The inputs that decide."""
        tables = [node for table in self._matrices for row in table for node in row]
        return inputs_of([*(one.argument for one in self._conditions), *tables])

    @property
    def nothing(self) -> bool:
        """Whether there is nothing to be shown."""
        return not self._conditions and not self._matrices

    def _partial(self, node: Node) -> bool:
        if node.op == "sqrt":
            return not _never_negative(node.args[0])
        return node.op in DOMAINS

    def _argument(self, node: Node) -> Node:
        dag = self.made.dag
        return node.args[1] if node.op == "div" else dag.call("cos", node.args[0]) if node.op == "tan" else node.args[0]

    def held(self, forms: Forms) -> Array:
        """Over which cells all of it is shown."""
        found: Array = np.ones(forms.cells, dtype=bool)
        with np.errstate(all="ignore"):
            places = forms.of([one.argument for one in self._conditions])
            for one, form in zip(self._conditions, places, strict=True):
                found &= one.met(form.range())
            for table in self._matrices:
                found &= _regular(forms, table)
        return found

    @property
    def note(self) -> str:
        """What is not looked at, if anything."""
        if self.masses_vary:
            return "masses vary: that forces and controls have a value is not re-checked"
        return "that the reactions which forces use have a value is not re-checked" if self.reactions_used else ""

    @property
    def note_everywhere(self) -> str:
        """What `require_everywhere` does not look at, if anything."""
        shown = all(len(table) == 1 and _never_zero(table[0][0]) for table in self._matrices)
        return self.note if shown else "that masses and programs are regular at all states is not re-checked"

    def require_everywhere(self) -> None:
        """At all states and times, as paths under noise reach them, by the way it is made."""
        if not all(map(_everywhere, self._conditions)):
            raise Unconfirmed(f"the {WHAT} is not confirmed at all states")

    def require_over(self, region: Array, cutter: Cutter, budget: Budget) -> None:
        """All over a region within what cuts it."""
        used = np.array([name in self.used for name in self.made.inputs])
        width = np.where(region[:, 1] > region[:, 0], region[:, 1] - region[:, 0], 1.0)

        def judge(cells: Cells) -> tuple[Array, Array, Array]:
            chosen = space((1,) * cells.basis.shape[2], 1, 1)
            held = self.held(Forms(chosen, len(cells), cells.values(chosen)))
            shares = (cells.high - cells.low) / width * used
            return np.where(held, 0.0, 1.0), np.zeros(len(cells)), shares

        left, seconds = budget.left()
        covered(region, cutter, judge, 0.5, WHAT, Budget(seconds, min(left, MOST_CELLS)))


def _regular(forms: Forms, table: Sequence[Sequence[Node]]) -> Array:
    """Over which cells a matrix is shown to be regular."""
    wide = [forms.of(row) for row in table]
    middle = np.array([[entry.c[:, 0, 0] for entry in row] for row in wide]).transpose(2, 0, 1)
    sizes = bounded(_distance(wide, _inverse(middle)), np.ones((len(middle), len(table), 1)))
    found: Array = np.isfinite(sizes).all(axis=(1, 2))
    return found


def _uses_reactions(nodes: Iterable[Node]) -> bool:
    """Whether unknowns of the system decide some nodes, as where forces use their own reactions."""
    return any(name.startswith(UNKNOWN) for name in inputs_of(nodes))


def _reach(node: Node) -> tuple[float, float]:
    """As far as a run reads data."""
    ends = read(node)[0].pieces.ends
    beyond = BEYOND * (ends[-1] - ends[0])
    return ends[0] - beyond, ends[-1] + beyond


def _everywhere(condition: Condition) -> bool:
    """Whether an argument, or a denominator, is in its domain whatever the inputs are."""
    op, node = condition.op, condition.argument
    if op == "sqrt" and _never_negative(node):
        return True
    made = _never_zero(node) if op == "div" else op in ("log", "pow") and _positive(node)
    return made or _met_by_anything(condition)


def _met_by_anything(condition: Condition) -> bool:
    """By a ball of all that doubles have: sines and cosines are known of anything."""
    import flint

    anything = dict.fromkeys(inputs_of([condition.argument]), flint.arb(0, LARGEST))
    (value,) = ball_values([condition.argument], anything)
    ends = np.array([[float(value.lower())], [float(value.upper())]])
    return bool(condition.met((ends[0], ends[1])).all())


def _positive(node: Node) -> bool:
    """Whether a node is positive by the way it is made."""
    match node.op:
        case "const":
            return bool(node.data > 0)  # type: ignore[operator]
        case "add":
            return all(map(_never_negative, node.args)) and any(map(_positive, node.args))
        case "mul" | "div":
            return all(map(_positive, node.args))
        case "power":
            return _never_zero(node.args[0]) if int(str(node.data)) % 2 == 0 else _positive(node.args[0])
        case "max":
            return any(map(_positive, node.args))
        case "sqrt":
            return _positive(node.args[0])
    return node.op in ("exp", "cosh")


def _never_zero(node: Node) -> bool:
    """Whether a node is not 0 by the way it is made."""
    if node.op in ("mul", "neg", "power", "abs"):
        return all(map(_never_zero, node.args))
    return _positive(node) or (node.op == "const" and node.data != 0)


def _never_negative(node: Node) -> bool:
    """Whether a node is not negative by the way it is made, though a sum of squares may seem to be over a box."""
    match node.op:
        case "const":
            return bool(node.data >= 0)  # type: ignore[operator]
        case "power":
            return int(str(node.data)) % 2 == 0 or _never_negative(node.args[0])
        case "add" | "mul" | "div" | "max":
            return all(map(_never_negative, node.args))
    return node.op in ("abs", "sqrt", "exp", "cosh")
