"""Vectors, rotations and symmetric matrices of space as nodes. Zeros and ones fold as the nodes are made.

A vector is three nodes, a matrix three rows, a symmetric matrix the six entries xx yy zz xy xz yz.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.graph.nodes import Graph, Node

Vec = list[Node]
Mat = list[Vec]


def plus(*vectors: Sequence[Node]) -> Vec:
    first, *others = vectors
    total = list(first)
    for other in others:
        total = [a + b for a, b in zip(total, other, strict=True)]
    return total


def minus(a: Sequence[Node], b: Sequence[Node]) -> Vec:
    return [p - q for p, q in zip(a, b, strict=True)]


def scaled(factor: Node, vector: Sequence[Node]) -> Vec:
    return [factor * part for part in vector]


def cross(a: Sequence[Node], b: Sequence[Node]) -> Vec:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def dot(a: Sequence[Node], b: Sequence[Node]) -> Node:
    return a[0].graph.dot(a, b)


def turned_by(matrix: Mat, vector: Sequence[Node]) -> Vec:
    """R x."""
    return [dot(row, vector) for row in matrix]


def turned_back(matrix: Mat, vector: Sequence[Node]) -> Vec:
    """Rᵀ x."""
    return [dot([matrix[k][i] for k in range(3)], vector) for i in range(3)]


def matrix_product(a: Mat, b: Mat) -> Mat:
    return [[dot(row, [b[k][j] for k in range(3)]) for j in range(3)] for row in a]


def transpose(a: Mat) -> Mat:
    return [[a[j][i] for j in range(3)] for i in range(3)]


def symmetric(a: Mat) -> Vec:
    return [a[0][0], a[1][1], a[2][2], a[0][1], a[0][2], a[1][2]]


def full(s: Sequence[Node]) -> Mat:
    return [[s[0], s[3], s[4]], [s[3], s[1], s[5]], [s[4], s[5], s[2]]]


def congruent(matrix: Mat, s: Sequence[Node]) -> Vec:
    """R S Rᵀ; signed permutations cost nothing."""
    return symmetric(matrix_product(matrix, matrix_product(full(s), transpose(matrix))))


def shift_inertia(r: Sequence[Node], mass: Node, h: Sequence[Node], moments: Sequence[Node]) -> tuple[Vec, Vec]:
    """First and second moments about a point that is r further back.

    h' = h + m r,      J' = J + 2 r·g E − r gᵀ − g rᵀ,     g = h + m r/2
    """
    graph = mass.graph
    half = scaled(mass * graph.const(1) / 2, r)
    g = plus(h, half)
    p = [[r[a] * g[b] for b in range(3)] for a in range(3)]
    more = [
        2 * (p[1][1] + p[2][2]), 2 * (p[0][0] + p[2][2]), 2 * (p[0][0] + p[1][1]),
        -(p[0][1] + p[1][0]), -(p[0][2] + p[2][0]), -(p[1][2] + p[2][1]),
    ]  # fmt: skip
    return plus(h, scaled(mass, r)), [a + b for a, b in zip(moments, more, strict=True)]


@dataclass(frozen=True, eq=False)
class Still:
    """A frame that does not turn in the one before it."""

    def out(self, vector: Vec) -> Vec:
        """From this frame into the one before."""
        return vector

    def into(self, vector: Vec) -> Vec:
        return vector

    def out_symmetric(self, s: Vec) -> Vec:
        return s

    def out_general(self, a: Mat) -> Mat:
        return a


@dataclass(frozen=True, eq=False)
class AboutZ(Still):
    """A turn about z, by the cosine and sine of its angle."""

    c: Node
    s: Node

    def out(self, vector: Vec) -> Vec:
        x, y, z = vector
        return [self.c * x - self.s * y, self.s * x + self.c * y, z]

    def into(self, vector: Vec) -> Vec:
        x, y, z = vector
        return [self.c * x + self.s * y, self.c * y - self.s * x, z]

    def out_symmetric(self, s: Vec) -> Vec:
        """R S Rᵀ with k = s (yy − xx) − 2 c xy: nothing happens where S is round."""
        xx, yy, zz, xy, xz, yz = s
        k = self.s * (yy - xx) - 2 * (self.c * xy)
        sk = self.s * k
        return [xx + sk, yy - sk, zz, -(self.c * k) - xy, self.c * xz - self.s * yz, self.s * xz + self.c * yz]

    def out_general(self, a: Mat) -> Mat:
        c, s = self.c, self.s
        rows = [[c * p - s * q for p, q in zip(a[0], a[1], strict=True)]]
        rows += [[s * p + c * q for p, q in zip(a[0], a[1], strict=True)], list(a[2])]
        return [[c * row[0] - s * row[1], s * row[0] + c * row[1], row[2]] for row in rows]


@dataclass(frozen=True, eq=False)
class ByMatrix(Still):
    """Any turn, by its matrix."""

    matrix: Mat

    def out(self, vector: Vec) -> Vec:
        return turned_by(self.matrix, vector)

    def into(self, vector: Vec) -> Vec:
        return turned_back(self.matrix, vector)

    def out_symmetric(self, s: Vec) -> Vec:
        return congruent(self.matrix, s)

    def out_general(self, a: Mat) -> Mat:
        return matrix_product(self.matrix, matrix_product(a, transpose(self.matrix)))


def of_quaternion(p: Sequence[Node]) -> Mat:
    """R(p) of a quaternion w x y z of any length, with s = 2/|p|²."""
    w, x, y, z = p
    xx, yy, zz = x * x, y * y, z * z
    s, one = 2 / (w * w + xx + yy + zz), w.graph.one
    xy, xz, yz, wx, wy, wz = x * y, x * z, y * z, w * x, w * y, w * z
    return [
        [one - s * (yy + zz), s * (xy - wz), s * (xz + wy)],
        [s * (xy + wz), one - s * (xx + zz), s * (yz - wx)],
        [s * (xz - wy), s * (yz + wx), one - s * (xx + yy)],
    ]


def unit_vectors(graph: Graph) -> Mat:
    zero, one = graph.zero, graph.one
    return [[one, zero, zero], [zero, one, zero], [zero, zero, one]]
