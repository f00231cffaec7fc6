"""One step of a scheme, written from its data in the driver language.

    take_step(t, h, x, f, p, new, work)     new = the state after one step; 0, or why there is none

f holds F(t, x), which is the first stage. `work` holds a trial state, the other stages and the scratch of the bodies.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from holdfast.schemes.kinds.embedded import Embedded
from holdfast.schemes.kinds.runge_kutta import RungeKutta

HEADER = "def take_step(t: Number, h: Number, x: Reals, f: Reals, p: Reals, new: Reals, work: Reals) -> Real:"


def weighted(coefficients: Sequence[Fraction], names: Sequence[str]) -> str:
    """Σ c_i k_i[i] as text, term by term, without the vanishing ones; each coefficient as the nearest double."""
    text = ""
    for c, name in zip(coefficients, names, strict=False):
        if c:
            text = f"fused({float(c)!r}, {name}[i], {text})" if text else f"{float(c)!r} * {name}[i]"
    return text or "0.0 * f[i]"


def stage_arrays(count: int) -> tuple[list[str], list[str]]:
    """The stages k_2 … k_count in `work` behind the trial state y: the lines that name them, and all names."""
    lines = ["    y = part(work, 0)"]
    lines += [f"    k{j} = part(work, N + {j - 2} * WIDTH)" for j in range(2, count + 1)]
    return lines, ["f", *(f"k{j}" for j in range(2, count + 1))]


def stage_lines(rows: Sequence[Sequence[Fraction]], names: Sequence[str], first: int) -> list[str]:
    """k_i = F(t + c_i h, x + h Σ_j a_ij k_j) for the stages from number `first` (counted from 0) on."""
    lines: list[str] = []
    for number, row in enumerate(rows, start=first):
        place = float(sum(row, Fraction(0)))
        lines += ["    for i in range(N):", f"        y[i] = fused(h, {weighted(row, names)}, x[i])"]
        lines.append(f"    rates(t + {place!r} * h, y, p, {names[number]}, scratch)")
    return lines


def explicit_step(scheme: RungeKutta, further: int = 0) -> str:
    """x⁺ = x + h Σ b_i k_i with the stages in order; `further` stages follow them in memory."""
    arrays, names = stage_arrays(scheme.stage_count)
    scratch = f"    scratch = part(work, N + {scheme.stage_count - 1 + further} * WIDTH)"
    lines = [HEADER, *arrays, scratch, *stage_lines(scheme.stages[1:], names, 1)]
    lines += ["    for i in range(N):", f"        new[i] = fused(h, {weighted(scheme.weights, names)}, x[i])"]
    return "\n".join([*lines, "    return 0.0"]) + "\n"


def explicit_work(scheme: RungeKutta, size: int, width: int) -> int:
    """The Reals that `explicit_step` needs, without the scratch of the bodies."""
    return size + (scheme.stage_count - 1) * width


# ── embedded schemes ──────────────────────────────────────────────────────────────────────────────


def _embedded_arrays(scheme: Embedded) -> tuple[list[str], list[str]]:
    """Names for all stages: f, k2 … ks, the rate at the end of the step, and those for dense output only."""
    main, further = scheme.main.stage_count, len(scheme.extra_stages)
    lines, names = stage_arrays(main + further)
    return lines, [*names[:main], "f_new", *names[main:]]


def error_norm(scheme: Embedded) -> str:
    """The size of the local error divided by the step: one row e, or Hairer's two (5th and 3rd order) together.

    ‖e‖ = √(Σ e²/N)          ‖e5‖² / √((‖e5‖² + 0.01 ‖e3‖²) N)
    """
    arrays, names = _embedded_arrays(scheme)
    lines = [
        "def error_norm(x: Reals, f: Reals, new: Reals, f_new: Reals, absolutes: Numbers, relative: Number,"
        " work: Reals) -> Number:",
        *arrays,
        "    first = 0.0",
        "    second = 0.0",
        "    for i in range(N):",
        "        scale = absolutes[i] + relative * larger(absolute(x[i]), absolute(new[i]))",
    ]
    for total, row in zip(("first", "second"), scheme.error, strict=False):
        lines += [
            f"        part_{total} = ({weighted(row, names)}) / scale",
            f"        {total} = {total} + part_{total} * part_{total}",
        ]
    if len(scheme.error) == 1:
        lines.append("    return square_root(first / number(N))")
    else:
        lines += ["    below = first + 0.01 * second", "    if below == 0.0:", "        return 0.0"]
        lines.append("    return first / square_root(below * number(N))")
    return "\n".join(lines) + "\n"


def interpolant(scheme: Embedded) -> str:
    """The coefficients of the dense output (see `engine.dense`), with the further stages it needs."""
    arrays, names = _embedded_arrays(scheme)
    main, further = scheme.main.stage_count, len(scheme.extra_stages)
    lines = [
        "def interpolant(t: Number, h: Number, x: Reals, f: Reals, p: Reals, new: Reals, f_new: Reals, out: Reals,"
        " work: Reals) -> None:",
        *arrays,
        f"    scratch = part(work, N + {main - 1 + further} * WIDTH)",
        *stage_lines(scheme.extra_stages, names, main + 1),
        "    for i in range(N):",
        "        change = new[i] - x[i]",
        "        out[i] = change",
        "        out[N + i] = h * f[i] - change",
        "        out[2 * N + i] = 2.0 * change - h * (f[i] + f_new[i])",
    ]
    for place, row in enumerate(scheme.dense, start=3):
        lines.append(f"        out[{place} * N + i] = h * ({weighted(row, names)})")
    return "\n".join(lines) + "\n"


# ── symplectic Euler ──────────────────────────────────────────────────────────────────────────────

SYMPLECTIC_STEP = f"""{HEADER}
    for i in range(POSITIONS):
        new[i] = x[i]
    for i in range(POSITIONS, N):
        new[i] = x[i] + h * f[i]
    position_rates(t, new, p, work, part(work, N))
    for i in range(POSITIONS):
        new[i] = x[i] + h * work[i]
    return 0.0
"""
