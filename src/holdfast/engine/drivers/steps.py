"""One step of a scheme, written from its data in the driver language.

    take_step(t, h, x, f, p, new, work)     new = the state after one step; 0, or why there is none

f holds F(t, x), which is the first stage. `work` holds the trial states y and the other stages k = F(y), pair behind
pair, and the scratch of the bodies. Where all states are coordinates and their rates, two halves stand in one place:

    y2 = (q2, v2)
         k2 = (v2, a2)              a stage begins where the rates of its trial state stand,
                  y3 = (q3, v3)     which are its first half: nobody copies them
                       k3 = (v3, a3)

What is watched beside the rates of a stage is not asked for, and the next trial state stands in its place.
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
    """The trial states y_2 … y_count in `work` and their stages k: the lines that name them, and the stages' names."""
    numbers = range(2, count + 1)
    lines = [f"    y{j} = part(work, {j - 2} * (SHIFT + N))" for j in numbers]
    lines += [f"    k{j} = part(y{j}, SHIFT)" for j in numbers]
    return lines, ["f", *(f"k{j}" for j in numbers)]


def stage_lines(rows: Sequence[Sequence[Fraction]], names: Sequence[str], first: int) -> list[str]:
    """k_i = F(t + c_i h, x + h Σ_j a_ij k_j) for the stages from number `first` (counted from 0) on."""
    lines: list[str] = []
    for number, row in enumerate(rows, start=first):
        place, stage = float(sum(row, Fraction(0))), names[number]
        trial = stage.replace("k", "y")
        lines += ["    for i in range(N):", f"        {trial}[i] = fused(h, {weighted(row, names)}, x[i])"]
        lines.append(f"    rates(t + {place!r} * h, {trial}, p, {stage}, scratch)")
    return lines


def scratch_line(count: int) -> str:
    """The scratch of the bodies, behind so many stages."""
    return f"    scratch = part(work, {count - 1} * (SHIFT + N) + WIDTH - N)"


def explicit_step(scheme: RungeKutta, further: int = 0) -> str:
    """x⁺ = x + h Σ b_i k_i with the stages in order; `further` stages follow them in memory."""
    arrays, names = stage_arrays(scheme.stage_count)
    scratch = scratch_line(scheme.stage_count + further)
    lines = [HEADER, *arrays, scratch, *stage_lines(scheme.stages[1:], names, 1)]
    lines += ["    for i in range(N):", f"        new[i] = fused(h, {weighted(scheme.weights, names)}, x[i])"]
    return "\n".join([*lines, "    return 0.0"]) + "\n"


def explicit_work(count: int, size: int, width: int, shift: int) -> int:
    """The Reals that the steps of a scheme of so many stages need, without the scratch of the bodies."""
    return (count - 1) * (shift + size) + width - size


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
        scratch_line(main + further),
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
