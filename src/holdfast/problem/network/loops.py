"""Loops of a circuit: a spanning tree, and one charge for each branch outside it.

    charge of a branch = Σ ± charges of the loops that pass through it

With the charges of the branches outside the tree as coordinates, what flows into a node flows out of it, always.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from holdfast.errors import BadStatement


@dataclass(frozen=True, slots=True)
class Branch:
    """An element of a circuit: it leads from one node to another; a low `rank` goes into the tree first."""

    name: str
    begin: str
    end: str
    rank: int


def loop_charges(branches: Sequence[Branch], *, where: str) -> tuple[tuple[str, ...], Mapping[str, dict[str, int]]]:
    """The branches outside the tree (one loop each), and the sign of each loop in every branch."""
    tree: dict[str, list[tuple[str, Branch]]] = {}
    root: dict[str, str] = {}

    def top(node: str) -> str:
        while root.setdefault(node, node) != node:
            node = root[node]
        return node

    chords: list[Branch] = []
    for branch in sorted(branches, key=lambda branch: branch.rank):
        one, two = top(branch.begin), top(branch.end)
        if one == two:
            chords.append(branch)
            continue
        root[one] = two
        tree.setdefault(branch.begin, []).append((branch.end, branch))
        tree.setdefault(branch.end, []).append((branch.begin, branch))
    signs: dict[str, dict[str, int]] = {branch.name: {} for branch in branches}
    for chord in chords:
        signs[chord.name][chord.name] = 1
        at = chord.end  # back from the end of the chord to its begin, through the tree
        for branch in _path(tree, chord.end, chord.begin):
            forward = branch.begin == at
            signs[branch.name][chord.name] = 1 if forward else -1
            at = branch.end if forward else branch.begin
    idle = [name for name, loops in signs.items() if not loops]
    if idle:
        raise BadStatement(
            f"{idle[0]!r} is in no loop: nothing can flow through it",
            where=where,
            fix="close the circuit, or take the element out",
        )
    order = [branch.name for branch in branches if branch in chords]
    return tuple(order), signs


def _path(tree: Mapping[str, list[tuple[str, Branch]]], begin: str, end: str) -> list[Branch]:
    """The branches from one node to another within the tree."""
    came: dict[str, tuple[str, Branch]] = {}
    waiting, seen = [begin], {begin}
    while waiting:
        node = waiting.pop()
        if node == end:
            break
        for other, branch in tree.get(node, ()):
            if other not in seen:
                seen.add(other)
                came[other] = (node, branch)
                waiting.append(other)
    path: list[Branch] = []
    node = end
    while node != begin:
        node, branch = came[node]
        path.append(branch)
    return path[::-1]
