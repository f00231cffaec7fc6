"""Which exhaust gives the thrust that a program asks for, as formulas.

    P = m' (u − v)      ⇒      u = v + P/m',      β_i = u_i/v_i = 1 + P_i/(m' v_i),      |u − v| = |P|/|m'|

P is the thrust that controls supply to a point of mass m and velocity v. With the controls in closed form (`written`)
the same as functions of the state; `hf.exhaust` has the numbers along a run.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy as sp

from holdfast.equations.dynamics.masses import Point
from holdfast.equations.equations import Equations
from holdfast.equations.writing.text import formula, text
from holdfast.errors import BadRequest
from holdfast.graph.display import Display
from holdfast.problem.problem import Problem
from holdfast.problem.quantities import Acceleration, Control, latex_name

AXES = "xyz"


@dataclass(frozen=True, eq=False)
class ExhaustFormulas:
    """u, β and |u − v| of one point, in the names of its thrusts; `ratio` has nothing where the point cannot move."""

    mass: str
    mass_rate: sp.Expr
    thrust: tuple[sp.Expr, ...]
    point_velocity: tuple[sp.Expr, ...]
    controls: dict[str, sp.Expr]  # in closed form, where there is one

    @cached_property
    def velocity(self) -> tuple[sp.Expr, ...]:
        """u = v + P/m', absolute."""
        return tuple(v + p / self.mass_rate for v, p in zip(self.point_velocity, self.thrust, strict=True))

    @cached_property
    def ratio(self) -> tuple[sp.Expr | None, ...]:
        """β = u/v, by component."""
        pairs = zip(self.point_velocity, self.thrust, strict=True)
        return tuple(None if v == 0 else 1 + p / (self.mass_rate * v) for v, p in pairs)

    @cached_property
    def speed(self) -> sp.Expr:
        """|u − v|."""
        number, rest = self.mass_rate.as_coeff_Mul()
        size = abs(number) * (rest if rest.is_nonnegative else sp.Abs(rest))
        return sp.sqrt(sp.Add(*(p**2 for p in self.thrust))) / size

    def written(self, expression: sp.Expr) -> sp.Expr:
        """A formula with the closed forms of the controls in place of their names."""
        return expression.subs({Control(name): value for name, value in self.controls.items()}, simultaneous=True)

    def lines(self) -> list[tuple[str, str, sp.Expr]]:
        """(name, its LaTeX, formula) of each u_i, β_i and |u − v|."""
        found = [(f"u_{axis}", f"u_{axis}", u) for axis, u in zip(AXES, self.velocity, strict=False)]
        ratios = zip(AXES, self.ratio, strict=False)
        found += [(f"beta_{axis}", rf"\beta_{axis}", b) for axis, b in ratios if b is not None]
        return [*found, ("|u - v|", "|u - v|", self.speed)]

    def summary(self) -> str:
        """The formulas as text, then the controls in closed form."""
        lines = [f"Exhaust of {self.mass}"]
        lines += [f"  {name} = {text(value)}" for name, _, value in self.lines()]
        lines += [f"  with {name} = {text(value)}" for name, value in self.controls.items()]
        return "\n".join(lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """The formulas as plain data, by name."""
        return {
            "schema": 1,
            "mass": self.mass,
            "exhaust": {name: str(value) for name, _, value in self.lines()},
            "controls": {name: str(value) for name, value in self.controls.items()},
        }

    def latex_lines(self) -> list[str]:
        shown = [f"{name} = {formula(value)}" for _, name, value in self.lines()]
        return [*shown, *(f"{latex_name(name)} = {formula(value)}" for name, value in self.controls.items())]

    def latex(self) -> str:
        """The same as LaTeX, one equation each."""
        return "\n".join(f"\\[ {line} \\]" for line in self.latex_lines()) + "\n"


def driven_mass(problem: Problem, mass: str | None) -> str:
    """The mass whose thrust is a control: the named one, or the only one."""
    driven = [name for name, point in problem.system.masses.items() if point.thrust]
    if mass is None and len(driven) == 1:
        return driven[0]
    if mass in driven:
        return str(mass)
    known = "with a thrust: " + ", ".join(driven) if driven else "give a hf.MovingMass its thrust=(...)"
    what = f"{mass!r} is not a mass whose thrust is a control" if mass else "it is not said whose exhaust is wanted"
    raise BadRequest(what, fix=known)


def exhaust_formulas(equations: Equations, mass: str | None = None) -> ExhaustFormulas:
    """The exhaust that gives the thrust of a point (the only one with a `thrust`, if none is named), as formulas."""
    if not isinstance(equations, Equations):
        raise BadRequest(f"exhaust_formulas() takes Equations, not {type(equations).__name__}", fix="hf.derive first")
    name = driven_mass(equations.problem, mass)
    point = next(point for point in equations.dynamics.points if point.name == name)
    stated = equations.problem.system.masses[name].thrust
    thrust = tuple(Control(control) if control else sp.S.Zero for control in stated)
    closed = equations.inverse_dynamics
    display = _display(equations)
    return ExhaustFormulas(
        mass=name,
        mass_rate=_rate(point, display),
        thrust=thrust,
        point_velocity=tuple(display.tidy(node) for node in point.velocity),
        controls={control: closed[control] for control in stated if control and control in closed},
    )


def _rate(point: Point, display: Display) -> sp.Expr:
    found = display.tidy(point.mass_rate)
    if found == 0:
        raise BadRequest(
            f"the mass of {point.name!r} does not change: no exhaust gives a thrust",
            where=f"system.masses.{point.name}",
            fix="state the mass as a function of time or states that falls",
        )
    return found


def _display(equations: Equations) -> Display:
    """The symbols of the equations, with controls and accelerations, which a rate of mass may use."""
    symbols = dict(equations.display.symbols)
    symbols |= {name: Control(name) for name in equations.inputs.controls}
    symbols |= {f"{name}_ddot": Acceleration(f"{name}_ddot") for name in equations.coordinates}
    return Display(equations.inputs.graph, symbols)
