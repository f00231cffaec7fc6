"""Where what holds a program exists: of that, bounds of accelerations may say nothing.

    M a = h + E μ

Where as many programs as coordinates are held, or a program is affine, the accelerations of a block follow from the
program alone. Energies, forces, controls and reactions may be infinite all the same, or have no value at all, and a
bound would be of a motion that does not exist. So every operation on the way to them that may have no value is enclosed
over the whole region within the tube, and whatever its energy: between two rows the motion is no further off the
program, but an observable that the region bounds may have any value.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest, Undecided
from holdfast.graph.arithmetics.balls import ball_between, continuous_balls
from holdfast.graph.arithmetics.tape import Evaluator, Tape
from holdfast.graph.nodes import Node, ancestors, substitute
from holdfast.stability.proof.block import BlockFlow, bound_numbers
from holdfast.stability.proof.enclosure import Ball, Box
from holdfast.stability.proof.work import LEAST_CELL, SearchWork

FUNCTIONS = frozenset({"log", "pow", "tan", "asin", "acos"})  # without a value somewhere, beside roots and quotients
MOST_BOXES = 4096
FUTILE = 256  # boxes after which one at least must have been shown
BESIDE = 0.25  # of the part of a side: how soon one is halved that only helps to cut the region
BALL = 1.5  # units of work of one operation on a ball
LARGEST = sys.float_info.max
HALF_TURN = -3.2, 3.2  # and a little more, to both sides
CUTTING = 16  # of them for one operation of what limits a region: its slopes, and several rounds


def partial_operations(nodes: Iterable[Node]) -> set[Node]:
    """The operations behind some nodes that may have no value."""
    return {node for node in ancestors(tuple(nodes)) if _partial(node)}


def _partial(node: Node) -> bool:
    match node.op:
        case "div":
            return node.args[1].op != "const" or node.args[1].is_zero
        case "power":
            return int(node.data) < 0
        case "sqrt":
            return not _never_negative(node.args[0])
    return node.op in FUNCTIONS


def _never_negative(node: Node) -> bool:
    """Whether a node is not negative by the way it is made: a sum of squares is not, though its ball may seem to be."""
    match node.op:
        case "const":
            return bool(node.data >= 0)
        case "power":
            return int(node.data) % 2 == 0 or _never_negative(node.args[0])
        case "mul":
            return node.args[0] is node.args[1] or all(map(_never_negative, node.args))
        case "add" | "div" | "max":
            return all(map(_never_negative, node.args))
    return node.op in ("abs", "sqrt", "exp", "cosh")


def _positive(node: Node) -> bool:
    """Whether a node is positive by the way it is made."""
    match node.op:
        case "const":
            return bool(node.data > 0)
        case "add":
            return all(map(_never_negative, node.args)) and any(map(_positive, node.args))
        case "mul" | "div":
            return all(map(_positive, node.args))
        case "power":
            return _never_zero(node.args[0]) if int(node.data) % 2 == 0 else _positive(node.args[0])
        case "max":
            return any(map(_positive, node.args))
        case "sqrt":
            return _positive(node.args[0])
    return node.op in ("pi", "exp", "cosh")


def _never_zero(node: Node) -> bool:
    """Whether a node is not 0 by the way it is made."""
    if node.op in ("mul", "neg", "power", "abs"):
        return all(map(_never_zero, node.args))
    return _positive(node) or (node.op == "const" and not node.is_zero)


def _valued(node: Node) -> bool:
    """Whether an operation that may have no value has one at all states, by the way it is made."""
    match node.op:
        case "div":
            return _never_zero(node.args[1])
        case "power":
            return _never_zero(node.args[0])
    return node.op in ("log", "pow") and _positive(node.args[0])


def somewhere_lacking(equations: Equations, nodes: Sequence[Node]) -> bool:
    """Whether operations behind some nodes are not shown to have a value at all times and states that doubles have.

    Sines and cosines of anything are known all the same, so that a mass that turns about is.
    """
    inputs = equations.field.inputs
    if any(node.op == "table" for node in ancestors(tuple(nodes))):
        return True  # data end
    return not all(_valued(node) or _has_value_anywhere(inputs, node) for node in partial_operations(nodes))


def _has_value_anywhere(inputs: tuple[Node, ...], node: Node) -> bool:
    """By balls of all that doubles have, but for angles, of which one turn is looked at part by part."""
    evaluate = Tape(inputs, (node,)).compiled(continuous_balls())
    anything = [ball_between(-LARGEST, LARGEST)] * len(inputs)
    if _have_values(evaluate, anything):
        return True
    angles = _angles(inputs, node)
    waiting, looked_at, shown = [[HALF_TURN] * len(angles)] if angles else [], 0, 0
    while waiting:
        if looked_at >= (MOST_BOXES if shown else FUTILE):
            return False
        box, looked_at, place = waiting.pop(), looked_at + 1, list(anything)
        for k, ends in zip(angles, box, strict=True):
            place[k] = ball_between(*ends)
        if _have_values(evaluate, place):
            shown += 1
            continue
        sides = [high - low for low, high in box]
        k = sides.index(max(sides))
        low, high = box[k]
        waiting += [[*box[:k], part, *box[k + 1 :]] for part in ((low, (low + high) / 2), ((low + high) / 2, high))]
    return bool(angles)


def _angles(inputs: Sequence[Node], node: Node) -> list[int]:
    """The inputs that a node meets only within sines and cosines, by themselves or in sums."""
    users: dict[Node, list[Node]] = {}
    for user in ancestors((node,)):
        for arg in user.args:
            users.setdefault(arg, []).append(user)

    def turns(one: Node) -> bool:
        above = users.get(one, [])
        return bool(above) and all(
            user.op in ("sin", "cos") or (user.op in ("add", "sub", "neg") and turns(user)) for user in above
        )

    return [k for k, one in enumerate(inputs) if turns(one)]


def behind_program(equations: Equations) -> list[Node]:
    """Rates, controls, reactions and the energy."""
    return [*equations.field.rates, *equations.solution.mu, equations.observables["energy"]]


def unseen(equations: Equations, motion: BlockFlow, parameters: Mapping[Any, Any]) -> tuple[Node, ...]:
    """What may have no value behind that which holds the program, and is not met by the rates of a motion."""
    held = substitute(behind_program(equations), bound_numbers(equations, parameters))
    met = partial_operations(motion.rates if motion.affine else motion.moving)
    return tuple(sorted(partial_operations(held) - met, key=lambda node: node.index))


def require_within_data(
    equations: Equations, parameters: Mapping[Any, Any], region: Mapping[str, tuple[float, float]]
) -> None:
    """Refuse, by name, a region in which data behind what holds the program are read beyond their ends."""
    if not equations.inputs.graph.tables:
        return
    held = substitute(behind_program(equations), bound_numbers(equations, parameters))
    inputs = equations.field.inputs
    known = dict(zip(inputs, ("t", *equations.state_names), strict=False))  # parameters are numbers by now
    anywhere = [ball_between(*region.get(known.get(node, ""), (0.0, 0.0))) for node in inputs]
    for node in ancestors(held):
        if node.op == "table" and not _within(node, Tape(inputs, node.args).compiled(continuous_balls()), anywhere):
            name = node.data.table.name
            where = "the time of Omega goes" if node.args[0] is inputs[0] else "states of Omega read"
            raise BadRequest(f"{where} beyond the data of {name!r}", where="certificate.region", fix="a smaller region")


def _within(node: Node, argument: Evaluator, place: Sequence[Ball]) -> bool:
    first, last = node.data.table.reach
    try:
        (value,) = argument(place)
    except Undecided:
        return False
    return bool(first <= value and value <= last)


class Existence:
    """Whether operations have a value at every state of a region."""

    def __init__(self, whole: BlockFlow, nodes: Sequence[Node], region: Mapping[str, tuple[float, float]]) -> None:
        self._whole, self._nodes, self._inputs = whole, tuple(nodes), (whole.time, *whole.state)
        behind = set(ancestors(self._nodes))
        self._cost = BALL * len(behind)
        limited = ancestors((*whole.psi, *whole.others, *whole.extras))
        self._cutting = LEAST_CELL + CUTTING * BALL * len(limited)
        self._ends: Box = tuple(region[name] for name in ("t", *whole.names))
        used = {node for node in self._inputs if node in behind}
        self._weights = [1.0 if node in used else BESIDE * (node in whole.variables) for node in self._inputs]

    def shown(self, cut: Callable[[Box], list[Ball] | None], work: SearchWork) -> bool:
        """By balls over ever smaller boxes; `cut` draws a box of the variables in to the region, None where it misses
        that.
        """
        evaluate = Tape(self._inputs, self._nodes).compiled(continuous_balls())
        places = [self._inputs.index(node) for node in self._whole.variables]
        waiting, looked_at, shown = [self._ends], 0, 0
        while waiting:
            if looked_at >= (MOST_BOXES if shown else FUTILE) or work.left < self._cost:
                return False
            box, looked_at = waiting.pop(), looked_at + 1
            work.charge(self._cost)
            wide = [ball_between(*ends) for ends in box]
            if _have_values(evaluate, wide):
                shown += 1
                continue
            work.charge(self._cutting)
            balls = cut(tuple(box[k] for k in places))
            if balls is None or _have_values(evaluate, self._whole.placed(balls, wide)):
                shown += 1
                continue
            k = self._widest(box)
            if k is None:
                return False
            low, high = box[k]
            middle = low + (high - low) / 2
            waiting += [(*box[:k], part, *box[k + 1 :]) for part in ((low, middle), (middle, high))]
        return True

    def _widest(self, box: Box) -> int | None:
        """The side to halve, as a part of the region; None where there is none."""
        pairs = zip(box, self._ends, self._weights, strict=True)
        parts = [weight * (b - a) / ((high - low) or 1.0) for (a, b), (low, high), weight in pairs]
        return parts.index(max(parts)) if max(parts) > 0 else None


def _have_values(evaluate: Evaluator, place: Sequence[Ball]) -> bool:
    try:
        return all(value.is_finite() for value in evaluate(place))
    except Undecided:
        return False
