"""The operations that are run, as data: what a certificate speaks of, for someone who shares no code with us."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.equations.equations import Equations
from holdfast.equations.solving.redundant import RedundantSolver, passes_of
from holdfast.graph.nodes import Node, ancestors
from holdfast.results.runs.noise import noise_columns


def stated_code(equations: Equations, blocks: Sequence[Any]) -> dict[str, Any] | None:
    """What a certificate with these blocks lists: that of paths for averages, that of a run for sure bounds."""
    averages = [block.mean_square for block in blocks if block.mean_square is not None]
    if averages:
        return path_code(equations, projected=averages[0].projected)
    return run_code(equations) if any(block.proof is not None for block in blocks) else None


def path_code(equations: Equations, *, projected: bool) -> dict[str, Any]:
    """The same of a path under noise: `noise` has the places of intensities, by channel and coordinate."""
    return run_code(equations, noise_columns(equations, project=projected))


def run_code(equations: Equations, columns: Sequence[Sequence[Node]] = ()) -> dict[str, Any]:
    """Inputs by name, a list of operations on earlier places (inputs first), and the places of the rates; the pieces of
    data, where some are read; and of a run, where rows may repeat each other, their weights and the places of passes.
    """
    field, solver = equations.field, equations.solver
    passes = passes_of(solver, equations.solution) if isinstance(solver, RedundantSolver) and not columns else []
    results = [[*one.accelerations, *one.multipliers] for one in passes[:-1]]  # λ of the last is not run
    changes = [[*one.unmet, *one.change] for one in passes]
    names = ("t", *equations.state_names, *equations.parameter_names)
    place = {node.index: k for k, node in enumerate(field.inputs)}
    operations: list[list[Any]] = []
    tables: dict[str, Any] = {}
    for node in ancestors([*field.rates, *(node for row in (*columns, *results, *changes) for node in row)]):
        if node.index in place:
            continue
        place[node.index] = len(names) + len(operations)
        operands = [place[arg.index] for arg in node.args]
        if node.op == "const":
            operations.append(["const", str(node.data)])
        elif node.op == "table":  # how often data are differentiated, and their name in the problem
            table = node.data.table
            operations.append([f"table {node.data.order} {table.name}", *operands])
            tables[table.name] = {"ends": list(table.ends), "pieces": [list(row) for row in table.pieces]}
        else:
            operations.append([node.op, *operands, *([node.data] if node.op == "power" else [])])
    rates = [place[node.index] for node in field.rates]
    found: dict[str, Any] = {"inputs": list(names), "operations": operations, "rates": rates}
    if columns:
        found["noise"] = [[place[node.index] for node in column] for column in columns]
    if isinstance(solver, RedundantSolver) and passes:
        found["passes"] = {
            "weights": [str(weight) for weight in solver.weights],
            "results": [[place[node.index] for node in row] for row in results],
            "changes": [[place[node.index] for node in row] for row in changes],
        }
    return {**found, "tables": tables} if tables else found
