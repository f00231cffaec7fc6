"""One step of an implicit Runge-Kutta scheme, in the driver language.

    Z_i = step Σ_j a_ij F(t + c_j step, x + Z_j)            x⁺ = x + Σ d_i Z_i,   d = bᵀA⁻¹

solved by Newton's method with the exact partials of F at the start of the step,

    (I - step A ⊗ ∂F/∂x) ΔZ = step (A ⊗ I) F - Z,

until the correction is rounding. Dense elimination with row exchange. Hairer, Wanner, IV.8.
"""

from __future__ import annotations

from fractions import Fraction

from holdfast.engine.drivers.language import Integer, Integers, Number, Reals, absolute, larger, quotient
from holdfast.engine.drivers.steps import HEADER
from holdfast.schemes.algebra.exact import solved, transposed
from holdfast.schemes.kinds.runge_kutta import RungeKutta

N = 0  # given by the assembly
NEWTON_LIMIT = 40
NEWTON_GOAL = 1e-15  # relative size of the last correction: rounding
NEWTON_ENOUGH = 1e-9  # ... when corrections no longer shrink
NEWTON_NEAR = 1e-2  # ... when what they correct is small by chance, as places and rates that begin at 0


def factorise(a: Reals, order: Integers, size: Integer) -> None:
    """A = P L U in place, the rows exchanged so that the divisor is the largest of its column."""
    for k in range(size):
        best = k
        largest = absolute(a[k * size + k])
        for i in range(k + 1, size):
            if absolute(a[i * size + k]) > largest:
                largest = absolute(a[i * size + k])
                best = i
        order[k] = best
        if best != k:
            for j in range(size):
                kept = a[k * size + j]
                a[k * size + j] = a[best * size + j]
                a[best * size + j] = kept
        inverse = quotient(1.0, a[k * size + k])
        for i in range(k + 1, size):
            factor = a[i * size + k] * inverse
            a[i * size + k] = factor
            if factor != 0.0:
                for j in range(k + 1, size):
                    a[i * size + j] = a[i * size + j] - factor * a[k * size + j]


def solve(a: Reals, order: Integers, size: Integer, b: Reals) -> None:
    """b becomes A⁻¹ b, with A as `factorise` left it."""
    for k in range(size):
        best = order[k]
        kept = b[k]
        b[k] = b[best]
        b[best] = kept
    for i in range(size):
        total = b[i]
        for j in range(i):
            total = total - a[i * size + j] * b[j]
        b[i] = total
    for back in range(size):
        i = size - 1 - back
        total = b[i]
        for j in range(i + 1, size):
            total = total - a[i * size + j] * b[j]
        b[i] = quotient(total, a[i * size + i])


def largest_change(x: Reals, f: Reals, h: Number) -> Number:
    """The largest |x| + |step F|."""
    overall = 0.0
    for i in range(N):
        overall = larger(overall, absolute(x[i]) + absolute(h * f[i]))
    return overall


def correction_size(x: Reals, f: Reals, h: Number, z: Reals, stages: Integer) -> Number:
    """The largest correction, relative to |x| + |step F|, or to 1e-8 of the largest of these."""
    overall = largest_change(x, f, h)
    size = 0.0
    for k in range(stages):
        for i in range(N):
            weight = absolute(x[i]) + absolute(h * f[i]) + 1e-8 * overall + 1e-300
            size = larger(size, absolute(z[k * N + i]) / weight)
    return size


def correction_beside(x: Reals, f: Reals, h: Number, z: Reals, r: Reals, stages: Integer) -> Number:
    """The largest correction r, relative to |x| + |step F| + |Z|, or to 1e-8 of the largest of the first two.

    What begins at 0 and at rest is soon of the size of its change Z: to that, its rounding is small.
    """
    overall = largest_change(x, f, h)
    size = 0.0
    for k in range(stages):
        for i in range(N):
            weight = absolute(x[i]) + absolute(h * f[i]) + absolute(z[k * N + i]) + 1e-8 * overall + 1e-300
            size = larger(size, absolute(r[k * N + i]) / weight)
    return size


def implicit_step(scheme: RungeKutta) -> str:
    """The source of `take_step` for this tableau; the first number of its work space counts evaluations of F."""
    count = scheme.stage_count
    rows = [[row[j] if j < len(row) else Fraction(0) for j in range(count)] for row in scheme.stages]
    lines = [HEADER, *_memory(count), *_newton_matrix(rows)]
    lines += [f"    for i in range({count} * N):", "        z[i] = 0.0"]
    lines += ["    before = 1e300", "    size = 0.0", f"    for _iteration in range({NEWTON_LIMIT}):"]
    for i, place in enumerate(scheme.nodes):
        lines += ["        for i in range(N):", f"            y[i] = x[i] + z[{i} * N + i]"]
        lines.append(f"        rates(t + {float(place)!r} * h, y, p, k{i}, scratch)")
    lines.append("        for i in range(N):")
    for i, row in enumerate(rows):
        total = " + ".join(f"{float(a)!r} * k{j}[i]" for j, a in enumerate(row) if a)
        lines.append(f"            r[{i} * N + i] = h * ({total}) - z[{i} * N + i]")
    lines += [
        f"        work[0] = work[0] + {float(count)!r}",
        f"        solve(m, order, {count} * N, r)",
        f"        for i in range({count} * N):",
        "            z[i] = z[i] + r[i]",
        f"        size = correction_size(x, f, h, r, {count})",
        f"        if size <= {NEWTON_GOAL!r} or (size <= {NEWTON_ENOUGH!r} and size > 0.5 * before):",
        "            break",
        "        before = size",
        f"    if size > {NEWTON_ENOUGH!r} and size <= {NEWTON_NEAR!r}:",
        f"        size = correction_beside(x, f, h, z, r, {count})",
        f"    if not (size <= {NEWTON_ENOUGH!r}):",
        "        return NOT_CONVERGED",
        "    for i in range(N):",
        f"        new[i] = x[i] + ({_end(scheme, rows)})",
        "    return 0.0",
    ]
    return "\n".join(lines) + "\n"


def implicit_work(scheme: RungeKutta, size: int, width: int) -> int:
    """The Reals that `implicit_step` needs, without the scratch of the bodies."""
    count = scheme.stage_count
    return 1 + size + count * (3 * size + width) + size**2 + (count * size) ** 2


def _memory(count: int) -> list[str]:
    """Where in the work space everything lies."""
    places = [("y", "N"), ("z", f"{count} * N"), ("r", f"{count} * N"), ("exchanges", f"{count} * N")]
    places += [(f"k{j}", "WIDTH") for j in range(count)]
    places += [("jac", "N * N"), ("m", f"{count} * N * {count} * N"), ("scratch", "0")]
    lines, at = [], "1"
    for name, size in places:
        lines.append(f"    {name} = part(work, {at})")
        at = f"{at} + {size}"
    return [*lines, "    order = as_integers(exchanges)"]


def _newton_matrix(rows: list[list[Fraction]]) -> list[str]:
    """M = I - h A ⊗ ∂F/∂x, factorised."""
    count = len(rows)
    lines = ["    for i in range(N * N):", "        jac[i] = 0.0", "    partials(t, x, p, jac, scratch)"]
    lines += ["    for i in range(N):", "        for j in range(N):"]
    for i, row in enumerate(rows):
        for j, a in enumerate(row):
            place = f"m[({i} * N + i) * {count} * N + {j} * N + j]"
            lines.append(f"            {place} = -(h * {float(a)!r}) * jac[i * N + j]")
    lines += [f"    for i in range({count} * N):", f"        m[i * {count} * N + i] = m[i * {count} * N + i] + 1.0"]
    return [*lines, f"    factorise(m, order, {count} * N)"]


def _end(scheme: RungeKutta, rows: list[list[Fraction]]) -> str:
    """Σ d_i Z_i with d A = b."""
    exact = solved(transposed(rows), scheme.weights)
    weights = [weight if abs(weight) > Fraction(1, 10**30) else Fraction(0) for weight in exact]
    return " + ".join(f"{float(d)!r} * z[{i} * N + i]" for i, d in enumerate(weights) if d)
