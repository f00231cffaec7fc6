"""The equations written out: for a terminal, for a paper, and as data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import sympy as sp
from sympy.printing.str import StrPrinter

from holdfast.equations.solving.redundant import not_unique, repeats_note
from holdfast.equations.writing.bodies import body_lines
from holdfast.errors import BadRequest
from holdfast.problem.laws.linear import Gain, Tuned, Unstabilised
from holdfast.problem.quantities import Acceleration, latex_name, pretty_name

if TYPE_CHECKING:
    from holdfast.equations.equations import Equations

MOST_ENTRIES = 40_000  # of M, E and J in LaTeX: a matrix of 140 columns is wider than any page (780 bars: 231 s)
MOST_LINES, FEW = 12, 6  # of a section in the summary; of a longer one the first few
LONGEST_FORMULA = 400  # letters of a formula in the summary; longer ones are named, not shown


class _Terminal(StrPrinter):
    """SymPy's one-line printer with ^ for powers, primes for rates and letters for gains."""

    primes = True

    def _print_Symbol(self, symbol: sp.Symbol) -> str:
        return symbol.letter if isinstance(symbol, Gain) else pretty_name(symbol.name)

    def _print_Pow(self, power: sp.Pow, rational: bool = False) -> str:
        return str(super()._print_Pow(power, rational)).replace("**", "^")


def text(expression: sp.Expr) -> str:
    """An expression on one line, as a terminal shows it: ``m*x'^2/2``."""
    return str(_Terminal().doprint(expression)).replace("**", "^")


def _equation_of_motion(equations: Equations, i: int) -> tuple[sp.Expr, sp.Expr, list[tuple[sp.Expr, str]]]:
    """Row i as (inertia, free force, holders with their names)."""
    names = equations.coordinates
    accelerations = [Acceleration(f"{name}_ddot") for name in names]
    inertia = sp.Add(*(m * a for m, a in zip(equations.mass_matrix.row(i), accelerations, strict=True)), evaluate=True)
    holders = [
        (equations.holder_matrix[i, k], name)
        for k, name in enumerate(equations.holder_names)
        if equations.holder_matrix[i, k] != 0
    ]
    return inertia, equations.bias[i] - equations.excess_bias[i], holders


def summary(equations: Equations) -> str:
    """The equations as text for a terminal: motion, program, law, forces."""
    lines = [equations.problem.title, ""] if equations.problem.title else []
    count = len(equations.coordinates) + len(equations.problem.system.states)
    lines += _section("Bodies", body_lines(equations.problem.system))
    lines += _section("Equations of motion", _motion_lines(equations), count)
    lines += _section("Program (kept at zero)", _program_lines(equations), len(equations.constraints))
    lines += _section("Phases", equations.phase_lines)
    lines += _section("Law of the deviations", _law_lines(equations))
    lines += _section(_forces_title(equations), _force_lines(equations))
    lines += _section("What stays free", _free_lines(equations))
    note = repeats_note(equations.solver)
    lines += _section("Repeated constraints", [note]) if note else []
    lines += _section("Friction", [equations.friction.note]) if equations.friction is not None else []
    lines += _section("Energy", [_shortened(equations.energy)])
    lines += _section("Not written out", _letter_lines(equations))
    lines += _section("Letters", _open_lines(equations))
    return "\n".join(lines).rstrip() + "\n"


def _free_lines(equations: Equations) -> Iterable[str]:
    """Where controls hold a program: what they leave free, and whether it runs away."""
    from holdfast.equations.internal.dynamics import internal_or_none

    found = internal_or_none(equations) if equations.problem.program.controls else None
    if found is not None and found.dimension:
        yield from ("warning: " * (found.warning is not None) + found.sentence,)


def _letter_lines(equations: Equations) -> Iterable[str]:
    """What stands for formulas that nobody would read, and where they are computed."""
    letters = list(equations.display.letters)
    if letters:
        shown = ", ".join(letters[:FEW]) + (", ..." if len(letters) > FEW else "")
        yield f"{shown}: long formulas; --json and equations.statements compute the motion line by line"


def _open_lines(equations: Equations) -> Iterable[str]:
    """What has no value, and how what needs numbers was decided."""
    system = equations.problem.system
    if system.letters:
        yield ", ".join(letter.name for letter in system.letters) + ": parameters without a value"
    if system.open_functions:
        listed = (f"{f.name}({', '.join(text(x) for x in f.of)})" for f in system.open_functions)
        yield ", ".join(listed) + ": undetermined"
    if equations.letters:
        yield f"pivots and zeros are decided at random values of {', '.join(equations.letters)}"


def _section(title: str, lines: Iterable[str], count: int = 0) -> list[str]:
    """A title and its lines; of a long section the first few, and how many there are.

    Where `count` tells that beforehand, the others are not even written.
    """
    body = [f"  {line}" for line in (islice(lines, FEW) if count > MOST_LINES else lines)]
    if (whole := max(count, len(body))) > MOST_LINES:
        body = [*body[:FEW], f"  ... and {whole - FEW} more (--json lists all)"]
    return [title, *body, ""] if body else []


def _motion_lines(equations: Equations) -> Iterable[str]:
    for i in range(len(equations.coordinates)):
        inertia, force, holders = _equation_of_motion(equations, i)
        right = [] if force == 0 and holders else [_shortened(force)]
        right += [_times(component, name) for component, name in holders]
        yield f"{_shortened(inertia)} = " + " + ".join(right).replace("+ -", "- ")
    for name, rate in equations.problem.state_rates.items():
        yield f"{name}' = {_shortened(rate)}"


def _times(component: sp.Expr, name: str) -> str:
    if component == 1:
        return name
    if component == -1:
        return f"-{name}"
    shown = _shortened(component)
    return f"({shown})*{name}" if isinstance(component, sp.Add) else f"{shown}*{name}"


def _shortened(expression: sp.Expr) -> str:
    shown = text(expression)
    return shown if len(shown) <= LONGEST_FORMULA else f"[a formula of {sp.count_ops(expression)} operations]"


def _program_lines(equations: Equations) -> Iterable[str]:
    program = equations.problem.program
    values = (*equations.deviation, *equations.deviation_rate)
    shown = dict(zip(equations.deviation_names, values, strict=True))
    for name in program.constraints:
        yield f"{name}: {_shortened(shown[f'y_{name}' if name in program.holonomic else f'w_{name}'])}"
    yield from degree_lines(equations)


def degree_lines(equations: Equations) -> Iterable[str]:
    """In words: where controls appear later than usual, and which of them were given rates of their own."""
    held = {extension.constraint: extension for extension in equations.deviations.extensions}
    for name, degree in equations.deviations.degrees.items():
        if name not in held:
            yield f"{name} is of degree {degree}: its control appears in its {ordinal(degree)} derivative"
            continue
        states = ", ".join(held[name].states)
        yield (
            f"{name} is held at once by {held[name].control}, which is given rates of its own (states {states}): its "
            f"law is of order {degree}; without them the controls can only push in one direction"
        )


def ordinal(number: int) -> str:
    """3rd, 4th, ..."""
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number, 'th') }"


def _law_lines(equations: Equations) -> Iterable[str]:
    values, law = equations.form.gains, equations.problem.program.law
    if equations.constraints and isinstance(law, Unstabilised):
        yield "none: deviations stay where they are, or drift"
        return
    for name, demand in zip(equations.constraints, equations.demand, strict=True):
        letter, order = "y" if name in equations.problem.program.holonomic else "w", equations.degrees[name]
        left = f"{letter}_{name}" + ("'" * order if order < 4 else f"^({order})")
        yield f"{left} = {_shortened(demand)}"
    if isinstance(law, Tuned) and values:
        yield "with gains still to be chosen, for a scheme and a step: hf.tuned(problem), or holdfast tune"
    elif values:
        shown = [f"{Gain(name).letter} = {_number(value)}" for name, value in values.items()]
        yield "with " + ", ".join(shown[:MOST_LINES]) + (", ..." if len(shown) > MOST_LINES else "")


def _number(value: sp.Expr) -> str:
    return f"{float(value):.12g}"


def _forces_title(equations: Equations) -> str:
    program = equations.problem.program
    if not program.constraints:
        return ""
    return "Control forces" if program.controls and not program.reactions else "Multipliers and control forces"


def _force_lines(equations: Equations) -> Iterable[str]:
    closed = equations.inverse_dynamics
    if closed:
        return [f"{name} = {_shortened(value)}" for name, value in closed.items()] + effort_lines(equations)
    if not equations.constraints:
        return []
    names, count = equations.holder_names, len(equations.statements)
    listed = ", ".join(names[:MOST_LINES]) + (", ..." if len(names) > MOST_LINES else "")
    eliminated = f"{listed}: by elimination, in {count} statements (--latex and --json show them)"
    return [eliminated, *effort_lines(equations)]


def effort_lines(equations: Equations) -> list[str]:
    """Which part of each program's effort each control takes, where they share it."""
    if equations.effort is None:
        return []
    tidy, names = equations.display.tidy, equations.effort.names
    lines = []
    for control, shares in equations.effort.shares.items():
        terms = [_times(tidy(share), names[column]) for column, share in shares.items()]
        lines.append(f"{control} = " + (" + ".join(terms).replace("+ -", "- ") or "0"))
    program = equations.problem.program
    weights = {name: program.effort.get(name, sp.S.One) for name in program.controls}
    effort = " + ".join(_times(weight, f"{name}^2") for name, weight in weights.items())
    return [*lines, f"with the least effort {effort}, in the units of each control"]


# ── LaTeX ─────────────────────────────────────────────────────────────────────────────────────────


def formula(expression: Any) -> str:
    """An expression or matrix as LaTeX, in the problem's own names."""
    return str(sp.latex(expression, mat_delim="(", mat_str="matrix"))


def latex(equations: Equations) -> str:
    """The equations as one LaTeX text: matrices, program, law, and forces; refused where matrices fill whole pages."""
    n, r = len(equations.coordinates), len(equations.constraints)
    if (entries := n * n + 2 * n * r) > MOST_ENTRIES:
        raise BadRequest(
            f"LaTeX of {n} coordinates and {r} constraints is matrices of {entries:,} entries, and at most "
            f"{MOST_ENTRIES:,} are written out",
            where="latex()",
            fix="summary() shows how they begin, and a problem of fewer like parts shows their form",
        )
    accelerations = sp.Matrix([Acceleration(f"{name}_ddot") for name in equations.coordinates])
    parts = [_display(rf"M = {formula(equations.mass_matrix)}, \quad h = {formula(equations.bias)}")]
    motion = rf"M\,{formula(accelerations)} = h"
    if any(entry != 0 for entry in equations.excess_bias):
        parts.append(_display(rf"m_2 = {formula(equations.excess_bias)}"))
        motion += " - m_2"
    if equations.constraints:
        names = ", ".join(latex_name(name) for name in equations.holder_names)
        parts.append(_display(rf"E = {formula(equations.holder_matrix)}, \quad \mu = ({names})^{{\mathsf T}}"))
        motion += r" + E\,\mu"
    parts.append(_display(motion))
    parts += [_display(line) for line in latex_of_states(equations)]
    parts += [_display(line) for line in _latex_program(equations)]
    closed = equations.inverse_dynamics
    if closed:
        parts += [_display(f"{latex_name(name)} = {formula(value)}") for name, value in closed.items()]
    elif equations.constraints:
        parts += [_display(f"{latex_name(s.name.name)} = {formula(s.value)}") for s in equations.statements]
    return "\n".join(parts) + "\n"


def latex_of_states(equations: Equations) -> list[str]:
    """The rates of the first-order states, one equation each."""
    return [rf"\dot{{{latex_name(name)}}} = {formula(rate)}" for name, rate in equations.problem.state_rates.items()]


def _display(body: str) -> str:
    return f"\\[ {body} \\]"


def _latex_program(equations: Equations) -> Sequence[str]:
    program = equations.problem.program
    lines = [
        f"{latex_name('y_' + name)} = {formula(value)}"
        for name, value in zip(program.holonomic, equations.deviation, strict=False)
    ]
    m = len(equations.deviation)
    tops = equations.deviation_names[m:]
    lines += [
        f"{latex_name(name)} = {formula(value)}"
        for name, value in zip(
            (*equations.deviation_names[len(program.holonomic) : m], *tops),
            (*equations.deviation[len(program.holonomic) :], *equations.deviation_rate),
            strict=True,
        )
    ]
    lines += [
        rf"\frac{{d}}{{dt}}{latex_name(name)} = {formula(value)}"
        for name, value in zip(tops, equations.demand, strict=True)
    ]
    if equations.constraints:
        lines.append(rf"J = {formula(equations.jacobian)}, \quad \gamma = {formula(equations.drift_term)}")
    return lines


# ── data ──────────────────────────────────────────────────────────────────────────────────────────


def as_data(equations: Equations) -> dict[str, Any]:
    """The equations as plain data for ``--json``: formulas as text, straight-line statements, and the form of
    solution.
    """

    def column(entries: Iterable[Any]) -> list[str]:
        return [str(entry) for entry in entries]

    open_gains = isinstance(equations.problem.program.law, Tuned)  # still to be chosen
    return {
        "schema": 1,
        "title": equations.problem.title,
        "coordinates": list(equations.coordinates),
        "states": list(equations.problem.system.states),
        "state_rates": column(equations.problem.state_rates.values()),
        "constraints": {
            "holonomic": list(equations.problem.program.holonomic),
            "nonholonomic": list(equations.problem.program.nonholonomic),
        },
        "holders": list(equations.holder_names),
        "solution_form": equations.solver.form,
        "not_unique": [f"lambda_{name}" for name in not_unique(equations.solver)],
        "mass_matrix": [column(row) for row in equations.mass_matrix.tolist()],
        "bias": column(equations.bias),
        "deviation": column(equations.deviation),
        "deviation_rate": column(equations.deviation_rate),
        "jacobian": [column(row) for row in equations.jacobian.tolist()],
        "drift_term": column(equations.drift_term),
        "through": [column(row) for row in equations.through.tolist()] if equations.deviations.through else [],
        "holder_matrix": [column(row) for row in equations.holder_matrix.tolist()],
        "demand": column(equations.demand),
        "gains": {name: None if open_gains else float(value) for name, value in equations.form.gains.items()},
        "closed_form": {name: str(value) for name, value in equations.inverse_dynamics.items()},
        "statements": [{"name": s.name.name, "value": str(s.value)} for s in equations.statements],
        "operations": len(equations.statements),
        "letters": list(equations.letters),
        "fingerprint": equations.fingerprint,
    }
