"""A mechanism, stated by its own energies, that elements of other domains join."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import sympy as sp

from holdfast.common.frozen import Frozen
from holdfast.errors import BadStatement
from holdfast.problem.network.domains import Domain
from holdfast.problem.network.massless import Sums
from holdfast.problem.quantities import Control, Coordinate
from holdfast.problem.system import System


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A system of its own that elements join, or none."""

    system: System | None
    domains: Mapping[str, Domain]  # of the elements' coordinates

    def __post_init__(self) -> None:
        if self.system is not None and not isinstance(self.system, System):
            raise BadStatement(
                f"{self.system!r} is not a System", where="system", fix="hf.System(coordinates=..., ...)"
            )
        if self.system is not None and self.system.bodies:
            what, fix = (
                "elements join mechanisms that are stated by energies",
                "state the bodies by kinetic and potential",
            )
            raise BadStatement(what, where="system.bodies", fix=fix)
        for name in self.coordinates:
            if name in self.domains and self.domains[name].shape == "loops":
                raise BadStatement(
                    f"{name!r} is a coordinate of the mechanism and a charge of {self.domains[name].name} elements",
                    where="system.coordinates",
                    fix="rename one of them",
                )

    @property
    def coordinates(self) -> tuple[str, ...]:
        return () if self.system is None else tuple(c.name for c in self.system.coordinates)

    @property
    def inertia(self) -> sp.Expr:
        """What says of its coordinates that they move by themselves, whatever its energies are."""
        return sp.Add(*(Coordinate(name).rate ** 2 for name in self.coordinates))

    def with_elements(self, made: System) -> System:
        """The mechanism and the elements in one system."""
        if self.system is None:
            return made
        own, forces = self.system, dict(self.system.forces)
        for name, force in made.forces.items():
            forces[name] = forces.get(name, sp.S.Zero) + force
        parameters = _joined(own.parameters, made.parameters, "parameters")
        return replace(
            own,
            coordinates=made.coordinates,
            kinetic=own.kinetic + made.kinetic,
            potential=own.potential + made.potential,
            dissipation=own.dissipation + made.dissipation,
            forces=Frozen(forces),
            letters=tuple(letter for letter in dict.fromkeys((*own.letters, *made.letters))
                          if letter.name not in parameters),
            functions=_joined(own.functions, made.functions, "functions"),
            parameters=parameters,
            states=_joined(own.states, made.states, "system.states"),
            masses=_joined(own.masses, made.masses, "system.masses"),
        )  # fmt: skip


def _joined(own: Mapping[str, Any], more: Mapping[str, Any], word: str) -> Frozen[Any]:
    twice = next((name for name in more if name in own and own[name] != more[name]), None)
    if twice is not None:
        raise BadStatement(f"{twice!r} is given twice, and not alike", where=word, fix="give it once")
    return Frozen({**own, **more})


def controlled(sums: Sums) -> tuple[dict[str, sp.Expr], dict[str, dict[str, sp.Expr]]]:
    """The forces without controls, and what each control pushes."""
    forces, pushed = dict(sums.forces), dict[str, dict[str, sp.Expr]]()
    found = [*forces.values(), *sums.states.values()]
    for control in sorted({c for part in found for c in part.atoms(Control)}, key=str):
        pushed[control.name] = {}
        for name, force in forces.items():
            slope = sp.expand(sp.diff(force, control))
            if slope.has(Control):
                raise BadStatement(
                    f"the force on {name!r} is not linear in the control {control.name!r}",
                    where="elements",
                    fix="let sources be linear in controls",
                )
            if slope != 0:
                pushed[control.name][name] = slope
                forces[name] = sp.expand(force - slope * control)
    return forces, pushed
