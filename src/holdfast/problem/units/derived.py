"""Units that follow from the stated ones: of time, rates, energies, deviations and forces."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.problem.units.dimensions import Dimension, Dimensions, dimension, text_of

if TYPE_CHECKING:
    import sympy as sp

    from holdfast.problem.problem import Problem

SECOND: Dimension = {"s": Fraction(1)}
FREQUENCY: Dimension = {"s": Fraction(-1)}
ANGLES = ("rad", "deg", "°")
ENERGIES = ("energy", "kinetic", "potential")


class DerivedUnits:
    """The unit of a result by its name, as text; empty where nothing stated says it. Units are coherent, so that a
    dimension has one unit.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._found: dict[str, str] = {}

    def of(self, name: str) -> str:
        """ "m/s" for the rate of a length, "N" for what holds it, "J" for "energy", "s" for "t"."""
        if not self._problem.units:
            return ""
        if name not in self._found:
            try:
                known = self._dimension(name)
            except HoldfastError:
                known = None
            stated = str(self._problem.units.get(name, "")) or self._turning(name)
            self._found[name] = stated or ("" if known is None else _written(known))
        return self._found[name]

    def _turning(self, name: str) -> str:
        """The unit of the rate of an angle, whose own unit is no dimension: rad/s, not Hz."""
        angle = str(self._problem.units.get(name.removesuffix("_dot"), ""))
        return f"{angle}/s" if name.endswith("_dot") and angle in ANGLES else ""

    def _dimension(self, name: str) -> Dimension | None:
        problem = self._problem
        if name == "t":
            return SECOND
        if name in ENERGIES:
            return self._energy()
        if name.startswith("power"):
            return _quotient(self._energy(), SECOND)
        if name.endswith("_dot") and name.removesuffix("_dot") in problem.units:
            return _quotient(dimension(str(problem.units[name.removesuffix("_dot")])), SECOND)
        for start, rate in (("y_", False), ("w_", True)):
            if name.startswith(start) and name[2:] in problem.program.constraints:
                return self._deviation(name[2:], rate)
        if name.startswith("lambda_"):
            return self._multiplier(name.removeprefix("lambda_"))
        return self._control(name) if name in problem.program.controls else None

    def _of(self, expression: sp.Expr) -> Dimension | None:
        dimensions = Dimensions(self._problem.units, self._problem.system.definitions)
        return dimensions.of(expression, where="")

    def _energy(self) -> Dimension | None:
        system = self._problem.system
        stated = (self._of(value) for value in (system.kinetic, system.potential) if value != 0)
        return next((found for found in stated if found is not None), None)

    def _deviation(self, name: str, rate: bool) -> Dimension | None:
        program = self._problem.program
        if name in program.holonomic:
            found = self._of(program.holonomic[name])
            return _quotient(found, SECOND) if rate else found
        return self._of(program.nonholonomic[name]) if rate and name in program.nonholonomic else None

    def _multiplier(self, name: str) -> Dimension | None:
        """What does the work of an energy along the constraint: λ times y is an energy, λ times w a power."""
        program, energy = self._problem.program, self._energy()
        if name in program.holonomic:
            return _quotient(energy, self._of(program.holonomic[name]))
        if name in program.nonholonomic:
            return _quotient(_quotient(energy, SECOND), self._of(program.nonholonomic[name]))
        return None

    def _control(self, name: str) -> Dimension | None:
        """A control times its direction does work on a coordinate."""
        units, energy = self._problem.units, self._energy()
        for on, direction in self._problem.program.controls[name].items():
            if on in units and on in self._problem.system.coordinates:
                along = self._of(direction)
                pushed = _quotient(energy, dimension(str(units[on])))
                return pushed if direction.is_number else _quotient(pushed, along)
        return None


def _quotient(above: Dimension | None, below: Dimension | None) -> Dimension | None:
    if above is None or below is None:
        return None
    total = {name: above.get(name, Fraction(0)) - below.get(name, Fraction(0)) for name in {*above, *below}}
    return {name: power for name, power in total.items() if power}


def _written(found: Dimension) -> str:
    """N, m/s, kg m/s²: known units first, else what is above and below the line."""
    known = "1/s" if found == FREQUENCY else text_of(found)  # a rate is seldom a frequency
    if " " not in known and "^" not in known:
        return "" if known == "1" else known
    above = [_power(name, power) for name, power in sorted(found.items()) if power > 0]
    below = [_power(name, -power) for name, power in sorted(found.items()) if power < 0]
    under = f"({' '.join(below)})" if len(below) > 1 else " ".join(below)
    return f"{' '.join(above) or '1'}/{under}" if below else " ".join(above)


def _power(name: str, power: Fraction) -> str:
    if power == 1:
        return name
    raised = str(power).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{name}{raised}" if power.denominator == 1 else f"{name}^({power})"
