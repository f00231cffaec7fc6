"""Vectors, turns and their products, of nodes."""

from __future__ import annotations

from typing import Any

from holdfast.stability.verifier.numbers.dag import Node

Vector = list[Node]


def plus(dag: Any, a: Vector, b: Vector) -> Vector:
    return [dag.add(p, q) for p, q in zip(a, b, strict=True)]


def dot(dag: Any, a: Vector, b: Vector) -> Node:
    found: Node = dag.sum(dag.mul(p, q) for p, q in zip(a, b, strict=True))
    return found


def cross(dag: Any, a: Vector, b: Vector) -> Vector:
    pairs = ((1, 2), (2, 0), (0, 1))
    return [dag.sub(dag.mul(a[i], b[j]), dag.mul(a[j], b[i])) for i, j in pairs]


def times(dag: Any, matrix: list[Vector], vector: Vector) -> Vector:
    return [dot(dag, row, vector) for row in matrix]


def transposed(matrix: list[Vector]) -> list[Vector]:
    return [list(column) for column in zip(*matrix, strict=True)]


def product(dag: Any, a: list[Vector], b: list[Vector]) -> list[Vector]:
    columns = transposed(b)
    return [[dot(dag, row, column) for column in columns] for row in a]


def about(dag: Any, axis: Vector, angle: Node) -> list[Vector]:
    """c E + (1 − c) a aᵀ + s [a]."""
    c, s = dag.call("cos", angle), dag.call("sin", angle)
    x, y, z = axis
    skew = [[dag.zero, dag.neg(z), y], [z, dag.zero, dag.neg(x)], [dag.neg(y), x, dag.zero]]
    rest = dag.sub(dag.one, c)
    return [
        [
            dag.sum([dag.mul(rest, dag.mul(axis[i], axis[j])), c if i == j else dag.zero, dag.mul(s, skew[i][j])])
            if not (i == j and axis[i] in (dag.one, dag.const(-1)))
            else dag.one
            for j in range(3)
        ]
        for i in range(3)
    ]


def rotation(dag: Any, p: Vector) -> list[Vector]:
    """R(p) of a quaternion w x y z of any length."""
    w, x, y, z = p
    s = dag.div(dag.const(2), dot(dag, p, p))

    def twice(a: Node, b: Node, c: Node, d: Node, sign: int) -> Node:
        found: Node = dag.mul(s, dag.add(dag.mul(a, b), dag.mul(dag.const(sign), dag.mul(c, d))))
        return found

    def less(a: Node, b: Node) -> Node:
        found: Node = dag.sub(dag.one, dag.mul(s, dag.add(dag.power(a, 2), dag.power(b, 2))))
        return found

    return [
        [less(y, z), twice(x, y, w, z, -1), twice(x, z, w, y, 1)],
        [twice(x, y, w, z, 1), less(x, z), twice(y, z, w, x, -1)],
        [twice(x, z, w, y, -1), twice(y, z, w, x, 1), less(x, y)],
    ]


def across(dag: Any, axis: Vector) -> list[Vector]:
    """A rotation that takes z to the axis."""
    x, y, z = axis
    if z is dag.const(-1):
        return rotation(dag, [dag.zero, dag.one, dag.zero, dag.zero])
    return rotation(dag, [dag.add(dag.one, z), dag.neg(y), x, dag.zero])
