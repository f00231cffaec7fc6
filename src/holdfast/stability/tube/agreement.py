"""Whether the rates that are run solve the linear system that a tube is proved with, at states of the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.errors import InternalError, Undecided
from holdfast.graph.arithmetics.balls import ball, continuous_balls, precision
from holdfast.graph.arithmetics.tape import Tape
from holdfast.stability.proof.enclosure import magnitude
from holdfast.stability.proof.granted.obedience import Place
from holdfast.stability.tube.flow import TubeFlow

BITS = 256  # so that what does not vanish cannot hide
VANISHING = 2.0**-100  # of the largest term: far more than what is left of 256 bits by a bad condition


def require_agreement(flow: TubeFlow, places: Sequence[Place]) -> None:
    """A x = b for the unknowns as they are computed: enclosed in so many bits that a wrong one cannot pass."""
    if not flow.unknowns:
        return
    with precision(BITS):
        system = Tape(flow.inputs, (*flow.entries.values(), *flow.right)).compiled(continuous_balls())
        passes = () if flow.refinement is None else tuple(x for each in flow.refinement.passes[:-1] for x in each)
        code = Tape(flow.code_inputs, (*flow.code_unknowns, *flow.code_rates, *passes)).compiled(continuous_balls())
        numbers = [ball(float(value)) for value in flow.parameters]
        for moment, state in places:
            point = [ball(float(x)) for x in (moment, *state)]
            try:
                found = system([point[0], *(point[1 + k] for k in flow.places)])
                computed = code([*point, *numbers])
            except Undecided:
                continue  # at a jump, where either side is right
            _check(flow, found, computed, moment)
            _check_friction(flow, [point[0], *(point[1 + k] for k in flow.places)], found, moment)


def _check(flow: TubeFlow, found: list[Any], computed: list[Any], moment: float) -> None:
    size, last = len(flow.right), len(flow.right) + len(flow.code_rates)
    unknowns, rates = computed[:size], computed[size:last]
    rows = []
    before: list[Any] = []
    for one in [*(computed[k : k + size] for k in range(last, len(computed), size)), unknowns]:
        rows += _residuals(flow, found, one, before)
        before = one
    rows += [[rates[i], -unknowns[k]] for i, k in flow.unknowns.items()]
    # what the system is made of counts too: where all terms vanish, they are as large as its rounding alone
    largest = max(magnitude(term) for term in (*(x for row in rows for x in row), *found, *computed))
    for row in rows:
        total = sum(row[1:], row[0])
        if not total.is_finite():
            continue  # not defined there, or too ill conditioned
        if not total.contains(0) or magnitude(total) > VANISHING * largest:
            raise InternalError(
                f"the equations that are run do not solve the system they stand for (a row is {total.str(4)})",
                where=f"t = {moment:.6g}",
            )


def _residuals(flow: TubeFlow, found: list[Any], unknowns: list[Any], before: list[Any]) -> list[list[Any]]:
    """The terms of each row of A x − b, with what the pass before adds to b."""
    rows: list[list[Any]] = [[-right] for right in found[len(flow.entries) :]]
    for (i, j), entry in zip(flow.entries, found, strict=False):
        rows[i].append(entry * unknowns[j])
    if flow.refinement is not None and before:
        shift = len(rows) - len(flow.refinement.yields)
        for i, share in enumerate(flow.refinement.yields):
            rows[shift + i].append(-ball(share) * before[shift + i])
    return rows


def _check_friction(flow: TubeFlow, point: list[Any], found: list[Any], moment: float) -> None:
    """The forces that are run are those of Newton's steps as the forms take them."""
    if flow.friction is None:
        return
    entries, right = dict(zip(flow.entries, found, strict=False)), found[len(flow.entries) :]
    count = len(flow.friction.forces)
    again = flow.friction.in_balls(flow.inputs, point, entries, right[count:])
    largest = max(magnitude(term) for term in (*right[:count], *again))
    for force, other in zip(right, again, strict=False):
        off = force - other
        if off.is_finite() and (not off.contains(0) or magnitude(off) > VANISHING * largest):
            raise InternalError(
                f"friction is not run as it is proved (a force is off by {off.str(4)})", where=f"t = {moment:.6g}"
            )
