"""Quasi-velocities as they are stated, u = U(q, t) v + u₀(q, t), and rates from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.equations.dynamics.sample import Sample, samples_of
from holdfast.equations.equations import Equations
from holdfast.equations.quasi.minors import inverse_by_minors
from holdfast.equations.quasi.simplified import simplified, simplified_rows
from holdfast.errors import BadStatement
from holdfast.graph.derivatives import jacobian
from holdfast.graph.general_solver import StructurallySingular, factor_general
from holdfast.graph.linear_algebra import Pivot, Rows, times
from holdfast.graph.nodes import Node, ancestors, substitute
from holdfast.problem.quantities import check_name
from holdfast.problem.types import ByName
from holdfast.problem.vocabulary import MOTION, by_name

Nodes = tuple[Node, ...]
INDEPENDENT = 1e-9  # of the largest singular value, rows scaled to 1: below it, velocities are taken for dependent


@dataclass(frozen=True, eq=False)
class StatedVelocities:
    """Names, and what each stands for in q, v and t."""

    names: tuple[str, ...]
    nodes: Nodes
    where: str


def stated_velocities(equations: Equations, given: ByName, where: str) -> StatedVelocities:
    """Read quasi-velocities; each must be linear in the rates, and have a name of its own."""
    names, nodes, problem = [], [], equations.problem
    for name, value in by_name(given, where=where).items():
        place = f"{where}.{name}"
        check_free(equations, name, place)
        node = equations.inputs.walk(problem.names.admit(value, MOTION, where=place))
        slopes = jacobian([node], equations.inputs.v)[0]
        if not slopes or depends(slopes.values(), equations.inputs.v):
            what = "is not linear in the rates" if slopes else "contains no rate"
            raise BadStatement(
                f"the quasi-velocity {name!r} {what}", where=place, fix="combine rates, with factors of q and t"
            )
        names.append(name)
        nodes.append(node)
    return StatedVelocities(tuple(names), tuple(nodes), where)


def check_free(equations: Equations, name: str, where: str) -> None:
    """Refuse a name that means something else already."""
    check_name(name, where=where)
    taken = {*equations.problem.names.names, *equations.parameter_names, *equations.observables}
    if name in taken or equations.problem.names.other_word(name):
        raise BadStatement(f"the name {name!r} is taken", where=where, fix="choose another name")


def depends(nodes: Iterable[Node], on: Sequence[Node]) -> bool:
    """Whether some of the nodes contain one of the others."""
    wanted = set(on)
    return any(part in wanted for part in ancestors(nodes))


def samples(equations: Equations) -> list[Sample]:
    """The start, and two states beside it."""
    deviations = (*equations.deviations.y, *equations.deviations.w)
    return samples_of(equations.problem, equations.form, equations.inputs, deviations)


def first_finite(rows: Rows, columns: int, seen: Sequence[Sample]) -> np.ndarray | None:
    """A matrix as numbers at the last sample where it is finite: beside the start rather than at it."""
    found = (sample.dense(rows, columns) for sample in reversed(seen))
    return next((matrix for matrix in found if np.isfinite(matrix).all()), None)


def free_name(equations: Equations, coordinate: str, taken: Sequence[str], start: str) -> str:
    """A name for the quasi-velocity that goes with a coordinate."""
    name = f"{start}{coordinate}"
    known = {*taken, *equations.problem.names.names, *equations.parameter_names, *equations.observables}
    return name if name not in known else f"quasi_{coordinate}"


def completed(equations: Equations, stated: StatedVelocities, beside: Rows, seen: Sequence[Sample]) -> StatedVelocities:
    """The velocities with as many rates, in their order, as are needed to fix all of v together with rows `beside`."""
    inputs, n = equations.inputs, len(equations.coordinates)
    names, nodes = list(stated.names), list(stated.nodes)
    own = first_finite([*jacobian(nodes, inputs.v), *beside], n, seen)
    if own is None or not independent(own):
        listed = ", ".join(map(repr, stated.names))
        raise BadStatement(
            f"the quasi-velocities {listed} depend on each other" + (", or on the program" if beside else ""),
            where=stated.where,
            fix="leave one of them out: what is missing is filled with rates",
        )
    for i, coordinate in enumerate(equations.coordinates):
        wider = np.vstack([own, np.eye(n)[i]])
        if len(own) < n and independent(wider):
            own = wider
            names.append(free_name(equations, coordinate, names, "u_"))
            nodes.append(inputs.v[i])
    return StatedVelocities(tuple(names), tuple(nodes), stated.where)


def independent(matrix: np.ndarray) -> bool:
    """Whether the rows of a matrix are independent, whatever their units."""
    if len(matrix) > matrix.shape[1]:
        return False
    sizes = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not len(matrix):
        return True
    if not (sizes > 0).all():
        return False
    found = np.linalg.svd(matrix / sizes, compute_uv=False)
    return bool(found[-1] > INDEPENDENT * found[0])


def rates_from(
    equations: Equations, given: Sequence[Node], values: Sequence[Node], seen: Sequence[Sample]
) -> tuple[list[Node], tuple[Pivot, ...]]:
    """v of given(q, v, t) = values, where all that is given is linear in v; with the divisors to be watched."""
    inputs, display = equations.inputs, equations.display
    matrix = simplified_rows(jacobian(given, inputs.v), display)
    at_rest = substitute(list(given), {v: inputs.graph.zero for v in inputs.v})
    wanted = [value - rest for value, rest in zip(values, at_rest, strict=True)]
    try:
        small = inverse_by_minors(matrix, inputs.graph, display)
        if small is not None:
            return times(small[0], wanted, inputs.graph), _short_pivots(equations, small[1])
        sizes = next((rows for sample in reversed(seen) if _finite(rows := sample.rows(matrix))), None)
        factor = factor_general(matrix, inputs.graph, sizes)
    except StructurallySingular:
        raise BadStatement("the quasi-velocities do not fix the rates", where="velocities") from None
    return factor.solve(wanted), factor.pivots


def _short_pivots(equations: Equations, pivots: Sequence[Pivot]) -> tuple[Pivot, ...]:
    """The divisors, without those that are constant."""
    short = [Pivot(simplified(p.value, equations.display), p.scale) for p in pivots]
    return tuple(p for p in short if any(part.op == "input" for part in ancestors((p.value,))))


def _finite(rows: list[dict[int, float]]) -> bool:
    return all(np.isfinite(list(row.values())).all() for row in rows)
