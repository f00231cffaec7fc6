"""The operations that are run, as data: what a certificate speaks of, for someone who shares no code with us."""

from __future__ import annotations

from typing import Any

from holdfast.equations.equations import Equations
from holdfast.graph.nodes import ancestors


def run_code(equations: Equations) -> dict[str, Any]:
    """Inputs by name, a list of operations on earlier places (inputs first), and the places of the rates; and the
    pieces of data, where some are read.
    """
    field = equations.field
    names = ("t", *equations.state_names, *equations.parameter_names)
    place = {node.index: k for k, node in enumerate(field.inputs)}
    operations: list[list[Any]] = []
    tables: dict[str, Any] = {}
    for node in ancestors(field.rates):
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
    found = {"inputs": list(names), "operations": operations, "rates": rates}
    return {**found, "tables": tables} if tables else found
