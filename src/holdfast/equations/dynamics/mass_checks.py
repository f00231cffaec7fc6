"""What can be wrong with points of variable mass, seen on the graph."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.equations.dynamics.inputs import Inputs
from holdfast.equations.dynamics.sample import Sample
from holdfast.errors import BadStatement
from holdfast.graph.arithmetics.tape import Ledger
from holdfast.graph.derivatives import jacobian
from holdfast.graph.linear_algebra import Rows
from holdfast.graph.nodes import Node, ancestors
from holdfast.problem.problem import Problem

if TYPE_CHECKING:
    from holdfast.equations.dynamics.masses import Point


def check_linear(name: str, reactive: list[Node], inputs: Inputs) -> None:
    slopes = [node for row in jacobian(reactive, inputs.a) for node in row.values()]
    if any(part in inputs.a for part in ancestors(slopes)):
        raise BadStatement(
            f"the reactive force on {name!r} is not linear in the accelerations",
            where=f"system.masses.{name}",
            fix="state it as a sum of terms of first degree in accelerations",
        )


def check_masses(points: Sequence[Point], start: Sample) -> None:
    """A mass that is not positive at the start cannot move."""
    for point in points:
        (value,) = start.of([point.mass])
        if not value > 0:
            raise BadStatement(
                f"the mass of {point.name!r} is {value:.6g} at the start",
                where=f"system.masses.{point.name}.mass",
                fix="a mass is positive: check the mass law, its parameters and the start values",
            )


def check_thrust(problem: Problem, points: Sequence[Point], holders: Rows, sample: Sample) -> None:
    """The controls that are a point's thrust must push the coordinates as a force on that point does: r_qᵀ e_k."""
    program = problem.program
    place = {name: len(program.held_by_reaction) + k for k, name in enumerate(program.controls)}
    for point in points:
        for k, control in enumerate(problem.system.masses[point.name].thrust):
            row = point.slopes[k]
            if not control:
                continue
            column = {i: entries[place[control]] for i, entries in enumerate(holders) if place[control] in entries}
            wanted, given = sample.rows([row, column])
            off = [abs(wanted.get(i, 0.0) - given.get(i, 0.0)) for i in {*wanted, *given}]
            if max(off, default=0.0) > 1e-9:
                raise BadStatement(
                    f"the control {control!r} does not push the coordinates as a force on {point.name!r} would",
                    where=f"system.masses.{point.name}.thrust",
                    fix="let its direction be the derivative of that component of the position by each coordinate",
                )


def check_balance(name: str, missing: Node) -> None:
    """Streams that state all their rates must add up to the rate of the mass."""
    leaves = [node for node in ancestors((missing,)) if node.op == "input"]
    shake = random.Random(5)
    for seed in range(3):
        (value,) = Ledger({node: shake.uniform(0.3, 0.8) for node in leaves}, letters=seed).of([missing])
        if math.isfinite(value) and abs(value) > 1e-9:
            raise BadStatement(
                f"the streams of {name!r} do not add up to the rate of its mass",
                where=f"system.masses.{name}.streams",
                fix="correct the rates (negative where mass leaves), or leave one of them out",
            )
