"""M⁻¹b of a tree of bodies without its matrix, by articulated inertias: operations grow with the number of bodies.

    I_A = I + Σ X (I_A − U D⁻¹ Uᵀ) Xᵀ           of what a frame carries,  U = I_A S,  D = Sᵀ U
    u = b − Sᵀ p,    p ← p + X (p + U D⁻¹ u)     from the tips inward
    x = D⁻¹ (u − Uᵀ a),    a = Xᵀ a + S x        from the ground outward

where S is the axis of a step and X takes forces to the frame that carries. Featherstone, Rigid Body Dynamics Algorithms
(2008), section 7. An inertia is [J H; Hᵀ M] on (angular, linear), J and M symmetric.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from holdfast.equations.dynamics.bodies.tree import ElementaryFrame, FrameTree
from holdfast.graph.linear_algebra import Pivot, factor_symmetric
from holdfast.graph.nodes import Graph, Node
from holdfast.graph.space import (
    Mat,
    Vec,
    congruent,
    cross,
    dot,
    full,
    matrix_product,
    plus,
    symmetric,
    transpose,
)


@dataclass(frozen=True, eq=False)
class _Handle:
    """What is kept of one step: U by columns, and D⁻¹ as rows."""

    columns: tuple[Vec, ...]
    inverse: tuple[Vec, ...]


@dataclass(frozen=True, eq=False)
class ArticulatedFactor:
    """Solves M x = b for the coordinates of a tree, all of them."""

    graph: Graph
    tree: FrameTree
    q: tuple[Node, ...]
    handles: tuple[_Handle, ...]
    pivots: tuple[Pivot, ...]

    def solve(self, right: Sequence[Node]) -> list[Node]:
        """M⁻¹ b."""
        frames, zero, q = self.tree.frames, self.graph.zero, list(self.q)
        pushes: list[Vec] = [[zero] * 6 for _ in frames]
        asked: list[Vec] = []
        for i in reversed(range(len(frames))):
            frame, handle, push = frames[i], self.handles[i], pushes[i]
            axes = _axes(frame)
            u = [right[place] - push[axis] for place, axis in zip(frame.coordinates, axes, strict=True)]
            asked.append(u)
            if frame.before >= 0:
                x = [dot(row, u) for row in handle.inverse]
                for column, y in zip(handle.columns, x, strict=True):
                    push = [p + part * y for p, part in zip(push, column, strict=True)]
                pushes[frame.before] = plus(pushes[frame.before], _inward(frame, q, push))
        asked.reverse()
        return self._outward(asked)

    def _outward(self, asked: list[Vec]) -> list[Node]:
        frames, zero, q = self.tree.frames, self.graph.zero, list(self.q)
        found = [zero] * len(q)
        moved: list[Vec] = []
        for i, frame in enumerate(frames):
            a = [zero] * 6 if frame.before < 0 else _outward(frame, q, moved[frame.before])
            handle, axes = self.handles[i], _axes(frame)
            lacking = [u - dot(column, a) for u, column in zip(asked[i], handle.columns, strict=True)]
            x = [dot(row, lacking) for row in handle.inverse]
            for place, axis, value in zip(frame.coordinates, axes, x, strict=True):
                found[place] = value
                a[axis] = a[axis] + value
            moved.append(a)
        return found

    def solve_sparse(self, right: Mapping[int, Node]) -> dict[int, Node]:
        """M⁻¹ b of a vector with few entries; entries that are not zero."""
        zero = self.graph.zero
        x = self.solve([right.get(j, zero) for j in range(len(self.q))])
        return {j: node for j, node in enumerate(x) if not node.is_zero}


def _axes(frame: ElementaryFrame) -> tuple[int, ...]:
    """Where the step is in (angular, linear)."""
    return {"turn": (2,), "slide": (5,), "ball": (0, 1, 2)}[frame.kind]


def _inward(frame: ElementaryFrame, q: list[Node], push: Vec) -> Vec:
    """A moment and a force in the axes, and about the origin, of the frame that carries."""
    force = frame.out(push[3:])
    return [*plus(frame.out(push[:3]), cross(frame.place(q), force)), *force]


def _outward(frame: ElementaryFrame, q: list[Node], moved: Vec) -> Vec:
    """The acceleration of a frame that its carrier gives it."""
    turning = moved[:3]
    return [*frame.into(turning), *frame.into(plus(moved[3:], cross(turning, frame.place(q))))]


def articulated(tree: FrameTree, q: Sequence[Node]) -> ArticulatedFactor:
    """The factor of the mass matrix of a tree, from its tips inward."""
    graph, places, n = tree.graph, list(q), len(tree.frames)
    zero = graph.zero
    turning = [list(frame.second) for frame in tree.frames]
    mixed: list[Mat] = []
    linear = [[frame.mass] * 3 + [zero] * 3 for frame in tree.frames]
    for frame in tree.frames:
        x, y, z = frame.first
        mixed.append([[zero, -z, y], [z, zero, -x], [-y, x, zero]])
    handles: list[_Handle] = []
    pivots: list[Pivot] = []
    for i in reversed(range(n)):
        frame = tree.frames[i]
        handle, rest, own = _eliminated(graph, frame, turning[i], mixed[i], linear[i])
        handles.append(handle)
        pivots += own
        if frame.before >= 0:
            shifted = _carried(frame, places, *rest)
            p = frame.before
            turning[p], linear[p] = plus(turning[p], shifted[0]), plus(linear[p], shifted[2])
            mixed[p] = [plus(a, b) for a, b in zip(mixed[p], shifted[1], strict=True)]
    return ArticulatedFactor(graph, tree, tuple(q), tuple(reversed(handles)), tuple(pivots))


def _eliminated(
    graph: Graph, frame: ElementaryFrame, turning: Vec, mixed: Mat, linear: Vec
) -> tuple[_Handle, tuple[Vec, Mat, Vec], list[Pivot]]:
    """The handle of a step, and I_A − U D⁻¹ Uᵀ. A pivot is judged beside the trace of what it is an entry of."""
    zero = graph.zero
    if frame.kind == "ball":
        return _ball_eliminated(graph, turning, mixed, linear)
    J, M = full(turning), full(linear)
    whole = [[*J[a], *mixed[a]] for a in range(3)] + [[*(mixed[b][a] for b in range(3)), *M[a]] for a in range(3)]
    (axis,) = _axes(frame)
    column = whole[axis]
    inverse = graph.one / column[axis]
    scaled = [part * inverse for part in column]

    def entry(a: int, b: int) -> Node:
        if axis in (a, b):
            return zero
        return whole[a][b] - (scaled[a] * column[b] if a <= b else scaled[b] * column[a])

    trace = graph.sum((turning if frame.kind == "turn" else linear)[:3])
    rest = (
        symmetric([[entry(a, b) for b in range(3)] for a in range(3)]),
        [[entry(a, b + 3) for b in range(3)] for a in range(3)],
        symmetric([[entry(a + 3, b + 3) for b in range(3)] for a in range(3)]),
    )
    return _Handle((column,), ([inverse],)), rest, [Pivot(column[axis], trace)]


def _ball_eliminated(
    graph: Graph, turning: Vec, mixed: Mat, linear: Vec
) -> tuple[_Handle, tuple[Vec, Mat, Vec], list[Pivot]]:
    """Of a ball all turning is eliminated: M − Hᵀ J⁻¹ H is left."""
    zero = graph.zero
    J = full(turning)
    factor = factor_symmetric([{j: J[i][j] for j in range(3) if not J[i][j].is_zero} for i in range(3)], graph)
    unit = [[graph.one if i == j else zero for j in range(3)] for i in range(3)]
    inverse = [factor.solve(row) for row in unit]
    answers = [factor.solve([mixed[a][b] for a in range(3)]) for b in range(3)]  # J⁻¹ H, by columns
    less = [[dot([mixed[k][a] for k in range(3)], answers[b]) for b in range(3)] for a in range(3)]
    left = [x - y for x, y in zip(linear, symmetric(less), strict=True)]
    columns = tuple([*J[k], *mixed[k]] for k in range(3))
    none = [[zero] * 3 for _ in range(3)]
    return _Handle(columns, tuple(inverse)), ([zero] * 6, none, left), list(factor.pivots)


def _carried(frame: ElementaryFrame, q: list[Node], turning: Vec, mixed: Mat, linear: Vec) -> tuple[Vec, Mat, Vec]:
    """An inertia about the origin of the frame that carries: H' = H + [r]M, J' = J + [r]Hᵀ − H'[r]."""
    R, r = frame.turn, frame.place(q)
    J = full(congruent(R, frame.motion.out_symmetric(turning)))
    M = congruent(R, frame.motion.out_symmetric(linear))
    H = matrix_product(R, matrix_product(frame.motion.out_general(mixed), transpose(R)))
    shifted = [plus(a, b) for a, b in zip(H, _crossed(r, full(M)), strict=True)]
    back, across = _crossed(r, transpose(H)), [cross(row, r) for row in shifted]
    upper = [[J[a][b] + back[a][b] - across[a][b] if a <= b else J[a][b] for b in range(3)] for a in range(3)]
    return [upper[0][0], upper[1][1], upper[2][2], upper[0][1], upper[0][2], upper[1][2]], shifted, M


def _crossed(r: Vec, a: Mat) -> Mat:
    """[r] A."""
    columns = [cross(r, [a[k][j] for k in range(3)]) for j in range(3)]
    return [[columns[j][i] for j in range(3)] for i in range(3)]
