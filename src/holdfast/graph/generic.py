"""Random values of what is not given: how letters are sampled where a derivation needs numbers.

At one point the value of an undetermined function and all its derivatives are independent of each other (there is a
function with any given ones), so each is a number of its own; an expression that vanishes at such points vanishes, but
for a chance that shrinks with their number (Schwartz, Zippel).
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from fractions import Fraction

from holdfast.graph.nodes import Node, ancestors

LOW, HIGH = 5 * 10**8, 2 * 10**9  # billionths: positive, as masses and lengths are, and within a factor of two of 1


def generic_number(name: str, seed: int) -> Fraction:
    """A number for a name: the same every time for one seed, unrelated for another."""
    return Fraction(random.Random(f"{name}|{seed}").randint(LOW, HIGH), 10**9)


def generic_value(node: Node, seed: int) -> Fraction:
    """A number for an open function at one point."""
    name, orders = node.data
    return generic_number(f"{name}|{orders}|{[arg.index for arg in node.args]}", seed)


def open_functions(nodes: Iterable[Node]) -> list[Node]:
    """The values of undetermined functions that the nodes need."""
    return [node for node in ancestors(nodes) if node.op == "function"]
