"""The elimination of a large sparse system, front by front, in the driver language.

    P A Pᵀ = L D Lᵀ

The tables are laid out by `emit.stages.tables`. A front is a panel of `width` columns, `height` long, of which L D is
left, and an update of the rows below. Column by column, four earlier ones at a time are taken out of the next:

    c_j ← c_j − Σ_k (p_jk / d_k) p_k

The work of a system holds its panels, the reciprocals of its pivots, updates, two numbers for each row in order, and
two columns.
"""

from __future__ import annotations

from holdfast.engine.drivers.language import (
    Integer,
    Integers,
    Real,
    Reals,
    absolute,
    fused,
    larger,
    part,
    quotient,
    real,
    select,
    smaller,
)


def take_four(
    count: Integer, into: Reals, a: Reals, b: Reals, c: Reals, d: Reals, u: Real, v: Real, w: Real, z: Real
) -> None:
    """into + u a + v b + w c + z d."""
    for i in range(count):
        into[i] = fused(z, d[i], fused(w, c[i], fused(v, b[i], fused(u, a[i], into[i]))))


def take_one(count: Integer, into: Reals, a: Reals, u: Real) -> None:
    """into + u a."""
    for i in range(count):
        into[i] = fused(u, a[i], into[i])


def cleared(count: Integer, into: Reals) -> None:
    """Nothing, so many times."""
    for i in range(count):
        into[i] = real(0.0)


def take_columns(used: Integer, height: Integer, j: Integer, into: Reals, panel: Reals, inverses: Reals) -> None:
    """The first `used` columns of a panel taken out of column j, from its diagonal on."""
    fours = used // 4
    for n in range(fours):
        k = 4 * n
        a = part(panel, k * height + j)
        b = part(panel, (k + 1) * height + j)
        c = part(panel, (k + 2) * height + j)
        d = part(panel, (k + 3) * height + j)
        u = -(a[0] * inverses[k])
        v = -(b[0] * inverses[k + 1])
        w = -(c[0] * inverses[k + 2])
        z = -(d[0] * inverses[k + 3])
        take_four(height - j, into, a, b, c, d, u, v, w, z)
    for k in range(4 * fours, used):
        e = part(panel, k * height + j)
        y = -(e[0] * inverses[k])
        take_one(height - j, into, e, y)


def add_update(
    below: Integer, places: Integers, update: Reals, height: Integer, width: Integer, panel: Reals, into: Reals
) -> None:
    """What a front has left, added to its parent's panel and update."""
    rest = height - width
    for j in range(below):
        column = part(update, j * below)
        place = places[j]
        if place < width:
            target = part(panel, place * height)
            for i in range(j, below):
                target[places[i]] = target[places[i]] + column[i]
        else:
            lower = part(into, (place - width) * rest)
            for i in range(j, below):
                lower[places[i] - width] = lower[places[i] - width] + column[i]


def measure(width: Integer, height: Integer, panel: Reals, inverses: Reals, gained: Reals, lost: Reals) -> None:
    """What the columns of a panel add to the diagonals of its rows, and what they take away."""
    cleared(height, gained)
    cleared(height, lost)
    for k in range(width):
        inverse = inverses[k]
        more = smaller(inverse, real(0.0))
        less = larger(inverse, real(0.0))
        column = part(panel, k * height)
        for i in range(k + 1, height):
            square = column[i] * column[i]
            gained[i] = gained[i] - square * more
            lost[i] = lost[i] + square * less


def factorise(table: Integers, entries: Reals, pivots: Reals, work: Reals) -> None:
    """L D Lᵀ from the entries of the lower triangle; the pivots by row, then the sizes of what they are made of.

    A pivot is what its diagonal has gained, less what it has lost; its size is that of the larger part.
    """
    size = table[0]
    fronts = part(table, table[5])
    scattered = part(table, table[6])
    order = part(table, table[7])
    inverses = part(work, table[3])
    updates = part(work, table[3] + size)
    gained = part(work, table[3] + size + table[4])
    lost = part(gained, size)
    more = part(lost, size)
    less = part(more, table[9])
    cleared(table[3], work)
    cleared(2 * size, gained)
    for e in range(table[2]):
        work[scattered[e]] = entries[e]
    for n in range(table[1]):
        front = part(fronts, 9 * n)
        first = front[0]
        width = front[1]
        height = front[2]
        below = height - width
        panel = part(work, front[3])
        own = part(inverses, first)
        update = part(updates, front[4])
        cleared(below * below, update)
        for m in range(front[7], front[8]):
            inner = part(fronts, 9 * table[table[8] + m])
            add_update(
                inner[2] - inner[1], part(table, inner[6]), part(updates, inner[4]), height, width, panel, update
            )
        for j in range(width):
            column = part(panel, j * height + j)
            take_columns(j, height, j, column, panel, own)
            own[j] = quotient(1.0, column[0])
            pivots[order[first + j]] = column[0]
        measure(width, height, panel, own, more, less)
        rows = part(table, front[5])
        for j in range(width):
            gained[first + j] = gained[first + j] + more[j]
            lost[first + j] = lost[first + j] + less[j]
            pivot = panel[j * height + j]
            against = select(pivot > 0.0, lost[first + j], gained[first + j])
            pivots[size + order[first + j]] = absolute(pivot) + against
        for i in range(below):
            gained[rows[i]] = gained[rows[i]] + more[width + i]
            lost[rows[i]] = lost[rows[i]] + less[width + i]
        for j in range(below):
            take_columns(width, height, width + j, part(update, j * below + j), panel, own)


def substitute(table: Integers, right: Reals, found: Reals, work: Reals) -> None:
    """The unknowns by a factor: forward through the fronts, and back."""
    size = table[0]
    fronts = part(table, table[5])
    order = part(table, table[7])
    inverses = part(work, table[3])
    x = part(work, table[3] + size + table[4])
    beside = part(x, size)
    for k in range(size):
        x[k] = right[order[k]]
    for n in range(table[1]):
        front = part(fronts, 9 * n)
        first = front[0]
        width = front[1]
        height = front[2]
        rows = part(table, front[5])
        panel = part(work, front[3])
        own = part(x, first)
        cleared(height, beside)
        for k in range(width):
            value = own[k] + beside[k]
            own[k] = value
            y = -(value * inverses[first + k])
            take_one(height - k - 1, part(beside, k + 1), part(panel, k * height + k + 1), y)
        for i in range(height - width):
            x[rows[i]] = x[rows[i]] + beside[width + i]
    for back in range(table[1]):
        front = part(fronts, 9 * (table[1] - 1 - back))
        first = front[0]
        width = front[1]
        height = front[2]
        below = height - width
        rows = part(table, front[5])
        own = part(x, first)
        for i in range(below):
            beside[width + i] = x[rows[i]]
        for k in range(width):
            beside[k] = own[k]
        for turn in range(width):
            k = width - 1 - turn
            column = part(part(work, front[3]), k * height)
            total = beside[k]
            for i in range(k + 1, height):
                total = fused(-column[i], beside[i], total)
            beside[k] = total * inverses[first + k]
            own[k] = beside[k]
    for k in range(size):
        found[order[k]] = x[k]
