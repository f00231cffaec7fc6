"""The units of a problem, checked: energies are alike, forces do work on coordinates, and sums add like to like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import BadStatement
from holdfast.problem.quantities import Coordinate, Definition, Parameter, Rate, State, rate, time
from holdfast.problem.units.dimensions import Dimension, Dimensions

if TYPE_CHECKING:
    from holdfast.problem.problem import Problem

QUANTITIES = (Coordinate, Rate, Parameter, State, Definition)


def check_units(problem: Problem) -> None:
    """Refuse units that contradict each other or the expressions; names without a unit fit anything."""
    if not problem.units:
        return
    names = problem.names
    for name, unit in problem.units.items():
        if name not in names and name not in problem.program.controls:
            raise BadStatement(f"unknown name {name!r}", where=f"units.{name}", fix=names.suggestion(name, QUANTITIES))
        if not isinstance(unit, str):
            raise BadStatement(f"{unit!r} is not a unit", where=f"units.{name}", fix='e.g. "kg"')
    _Check(problem).all()


class _Check:
    def __init__(self, problem: Problem) -> None:
        self.system, self.program = problem.system, problem.program
        self.dimensions = Dimensions(problem.units, problem.system.definitions)

    def all(self) -> None:
        energy = self._energy()
        functions = {**self.program.holonomic, **self.program.nonholonomic}
        for name, function in functions.items():
            kind = "holonomic" if name in self.program.holonomic else "nonholonomic"
            self.dimensions.of(function, where=f"program.{kind}.{name}")
        if energy is None:
            return
        lost = self.system.dissipation * time  # an energy, lost in a time
        self.dimensions.expect(lost, energy, "the energy lost by dissipation", where="system.dissipation")
        for name, force in self.system.forces.items():
            work = force * Coordinate(name)
            self.dimensions.expect(work, energy, f"the work of the force on {name!r}", where=f"system.forces.{name}")

    def _energy(self) -> Dimension | None:
        """The dimension of all energies, from the first that has one."""
        system = self.system
        stated = {"system.kinetic": system.kinetic, "system.potential": system.potential}
        for name, point in system.masses.items():
            stated[f"system.masses.{name}"] = point.mass * sum(rate(part) ** 2 for part in point.position)
        found: Dimension | None = None
        for where, expression in stated.items():
            if expression == 0:
                continue
            here = self.dimensions.of(expression, where=where)
            if found is None:
                found = here
            elif here is not None:
                self.dimensions.expect(expression, found, "this energy", where=where)
        return found
