"""Elimination with complex numbers, in the driver language: real parts in one array, imaginary ones in another."""

from __future__ import annotations

from holdfast.engine.drivers.language import Integer, Integers, Reals, absolute, quotient


def factorise_complex(a: Reals, b: Reals, order: Integers, size: Integer) -> None:
    """A + iB = P L U in place, the rows exchanged so that the divisor is the largest of its column.

    The reciprocals of the divisors stand in their places.
    """
    for k in range(size):
        best = k
        largest = absolute(a[k * size + k]) + absolute(b[k * size + k])
        for i in range(k + 1, size):
            here = absolute(a[i * size + k]) + absolute(b[i * size + k])
            if here > largest:
                largest = here
                best = i
        order[k] = best
        if best != k:
            for j in range(size):
                kept = a[k * size + j]
                a[k * size + j] = a[best * size + j]
                a[best * size + j] = kept
                kept = b[k * size + j]
                b[k * size + j] = b[best * size + j]
                b[best * size + j] = kept
        c = a[k * size + k]
        d = b[k * size + k]
        square = c * c + d * d
        c = quotient(c, square)
        d = -quotient(d, square)
        a[k * size + k] = c
        b[k * size + k] = d
        for i in range(k + 1, size):
            u = a[i * size + k]
            v = b[i * size + k]
            if u != 0.0 or v != 0.0:
                real_part = u * c - v * d
                imaginary = u * d + v * c
                a[i * size + k] = real_part
                b[i * size + k] = imaginary
                for j in range(k + 1, size):
                    u = a[k * size + j]
                    v = b[k * size + j]
                    a[i * size + j] = a[i * size + j] - (real_part * u - imaginary * v)
                    b[i * size + j] = b[i * size + j] - (real_part * v + imaginary * u)


def solve_complex(a: Reals, b: Reals, order: Integers, size: Integer, u: Reals, v: Reals) -> None:
    """u + iv becomes (A + iB)⁻¹ (u + iv), with A + iB as `factorise_complex` left it."""
    for k in range(size):
        best = order[k]
        kept = u[k]
        u[k] = u[best]
        u[best] = kept
        kept = v[k]
        v[k] = v[best]
        v[best] = kept
    for i in range(size):
        c = u[i]
        d = v[i]
        for j in range(i):
            c = c - (a[i * size + j] * u[j] - b[i * size + j] * v[j])
            d = d - (a[i * size + j] * v[j] + b[i * size + j] * u[j])
        u[i] = c
        v[i] = d
    for back in range(size):
        i = size - 1 - back
        c = u[i]
        d = v[i]
        for j in range(i + 1, size):
            c = c - (a[i * size + j] * u[j] - b[i * size + j] * v[j])
            d = d - (a[i * size + j] * v[j] + b[i * size + j] * u[j])
        u[i] = c * a[i * size + i] - d * b[i * size + i]
        v[i] = c * b[i * size + i] + d * a[i * size + i]
