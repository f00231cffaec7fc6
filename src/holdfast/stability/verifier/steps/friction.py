"""Forces that use their own reactions: h(λ) in M a = h(λ) + E μ, with λ some of the unknowns μ.

Where h is affine in λ, its slopes belong to the matrix, and the system is linear as ever. Elsewhere b keeps unknowns as
inputs. What is run finds λ by Newton's steps from the reaction without friction,

    (A − h'(λ_k)) z = h(λ_k) − h'(λ_k) λ_k,     λ_{k+1} = the λ of z,     and at last A z = h(λ)

which is what the code is compared with at states; how near that is to the reaction itself: tube/friction.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.stability.verifier.numbers.dag import Node, inputs_of
from holdfast.stability.verifier.numbers.evaluate import ball_values
from holdfast.stability.verifier.reading.equations import Equations
from holdfast.stability.verifier.reading.statement import REACTION, reactions_in
from holdfast.stability.verifier.refusal import require

if TYPE_CHECKING:
    from holdfast.stability.verifier.steps.unknowns import System

UNKNOWN = "unknown "  # begins the name of an input that is an unknown of the system
STEPS = 8  # Newton's, of what is run where h bends
Rows = list[list[Node]]
Slopes = dict[tuple[int, int], Node]


def with_reactions(equations: Equations, matrix: Rows, right: Sequence[Node]) -> tuple[Rows, list[Node], Slopes]:
    """The system with unknowns in the place of the reactions that forces use; and ∂b/∂z where that is not constant."""
    dag, stated = equations.dag, equations.stated
    used = reactions_in(right)
    if not used:
        return matrix, list(right), {}
    held = [name for name in stated.constraints if not stated.controls or name in stated.reactions]
    require(equations.mass is not None, "forces use reactions beside variable masses, which is not known here")
    first = len(stated.coordinates)
    columns = {name: first + held.index(name.removeprefix(REACTION)) for name in used}
    put = {dag.input(name): dag.input(f"{UNKNOWN}{j}") for name, j in columns.items()}
    right, places = dag.substituted(right, put), list(columns.values())
    rows = dag.partials(right, list(put.values()))
    slopes = {(i, j): node for i, row in enumerate(rows) for j, node in zip(places, row, strict=True)}
    slopes = {place: node for place, node in slopes.items() if node is not dag.zero}
    if any(name.startswith(UNKNOWN) for name in inputs_of(slopes.values())):
        return matrix, right, slopes
    found = [[dag.sub(x, slopes.get((i, j), dag.zero)) for j, x in enumerate(row)] for i, row in enumerate(matrix)]
    return found, dag.substituted(right, dict.fromkeys(put.values(), dag.zero)), {}


def newton_in_balls(system: System, values: Mapping[str, Any], flint: Any) -> Any:
    """The unknowns after Newton's steps of the code, at one state."""
    size, places = len(system.right), sorted({j for _, j in system.slopes})
    flat = ball_values([node for row in system.matrix for node in row], values)
    matrix = [flat[i * size : (i + 1) * size] for i in range(size)]
    nodes = [*system.right, *system.slopes.values()]

    def after(known: Sequence[Any], *, bent: bool) -> Any:
        found = ball_values(nodes, {**values, **{f"{UNKNOWN}{j}": x for j, x in zip(places, known, strict=True)}})
        rows, right = [list(row) for row in matrix], found[:size]
        for (i, j), slope in zip(system.slopes, found[size:], strict=True):
            if bent:
                rows[i][j] -= slope
                right[i] -= slope * known[places.index(j)]
        return flint.arb_mat(rows).solve(flint.arb_mat([[b] for b in right]))

    z = after([flint.arb(0)] * len(places), bent=False)
    for _ in range(STEPS):
        z = after([z[j, 0] for j in places], bent=True)
    return z
