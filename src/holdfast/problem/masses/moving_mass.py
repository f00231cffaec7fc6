"""Points whose masses change: what joins them, what leaves them, and with which velocity.

    m r'' = f + f^p,      f^p = Σ rate (u − r') − Σ m_l w_l − 2 Σ ω × m_l u_l − Σ flow Δu + reactive

where `rate` > 0 for a captured stream and < 0 for an ejected one, u is the absolute velocity of its particles, and m_l
are particles that move inside the point with relative velocity u_l and acceleration w_l. The letters follow
Meshchersky; `equations/masses.py` projects this on the coordinates.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import sympy as sp

from holdfast.common.arguments import clear_arguments
from holdfast.errors import BadStatement
from holdfast.problem.quantities import Acceleration, Parameter
from holdfast.problem.vocabulary import MOTION, POSITION, Kinds, Vocabulary

Vector = tuple[sp.Expr, ...]
REACTIVE: Kinds = (*MOTION, Acceleration)


@clear_arguments
@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Mass that joins a point (`rate` > 0) or leaves it (`rate` < 0) with a velocity, absolute or `relative` to it.

    One stream of a point may leave its rate out: it is then what the mass law asks for beyond the other streams.
    """

    velocity: Any = None
    rate: Any = None
    relative: bool = False

    def admitted(self, names: Vocabulary, size: int, where: str) -> Stream:
        if self.velocity is None:
            raise BadStatement(
                "a stream has no velocity",
                where=where,
                fix="state it: velocity=(...) absolute, or relative=True for a velocity seen from the point",
            )
        velocity = _vector(self.velocity, names, MOTION, size, f"{where}.velocity")
        rate = None if self.rate is None else names.admit(self.rate, MOTION, where=f"{where}.rate")
        return Stream(velocity=velocity, rate=rate, relative=bool(self.relative))


@clear_arguments
@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    """Particles that move inside a point: their mass, and velocity and acceleration in the frame that `turning` turns.

    Without an `acceleration`, the rates of the velocity's components are taken.
    """

    mass: Any
    velocity: Any
    acceleration: Any = None

    def admitted(self, names: Vocabulary, size: int, where: str) -> Inner:
        seen = self.acceleration
        return Inner(
            mass=names.admit(self.mass, MOTION, where=f"{where}.mass"),
            velocity=_vector(self.velocity, names, MOTION, size, f"{where}.velocity"),
            acceleration=None if seen is None else _vector(seen, names, REACTIVE, size, f"{where}.acceleration"),
        )


@clear_arguments
@dataclass(frozen=True, slots=True, kw_only=True)
class Jump:
    """A flow of mass (kg/s, positive) whose relative velocity jumps by `change`, after − before: the force −flow Δu."""

    flow: Any
    change: Any

    def admitted(self, names: Vocabulary, size: int, where: str) -> Jump:
        change = _vector(self.change, names, MOTION, size, f"{where}.change")
        return Jump(flow=names.admit(self.flow, MOTION, where=f"{where}.flow"), change=change)


@clear_arguments
@dataclass(frozen=True, slots=True, kw_only=True)
class MovingMass:
    """A point of mass m(q, v, t) at a position r(q, t).

    `force` is the active force on it (Cartesian: weight, drag). Mass is exchanged by `streams`; `inner` and `jumps` are
    motions inside the point, whose frame turns with `turning` (a number in the plane, a vector in space); `reactive` is
    a force given outright, which may be linear in accelerations. `thrust` names, component by component, the controls
    of the program that are this point's reactive force (0 for none): then the program asks for the thrust, and
    `hf.exhaust` says which exhaust velocity gives it.
    """

    position: Any
    mass: Any
    force: Any = ()
    streams: Any = ()
    inner: Any = ()
    jumps: Any = ()
    turning: Any = None
    reactive: Any = None
    thrust: Any = ()

    @property
    def size(self) -> int:
        return len(self.position)

    def admitted(self, names: Vocabulary, where: str) -> MovingMass:
        """This point in the words of a system, checked."""
        size = _size(self.position, where)
        found = replace(
            self,
            position=_vector(self.position, names, POSITION, size, f"{where}.position"),
            mass=names.admit(self.mass, MOTION, where=f"{where}.mass"),
            force=_vector(self.force, names, MOTION, size, f"{where}.force") if _given(self.force) else (),
            streams=_all(self.streams, Stream, names, size, f"{where}.streams"),
            inner=_all(self.inner, Inner, names, size, f"{where}.inner"),
            jumps=_all(self.jumps, Jump, names, size, f"{where}.jumps"),
            turning=_turning(self.turning, names, size, f"{where}.turning"),
            reactive=None
            if self.reactive is None
            else _vector(self.reactive, names, REACTIVE, size, f"{where}.reactive"),
            thrust=_thrust(self.thrust, size, f"{where}.thrust"),
        )
        found._check(names, where)
        return found

    def _check(self, names: Vocabulary, where: str) -> None:
        if self.mass.is_number and not self.mass > 0:
            raise BadStatement(f"the mass is {self.mass}", where=f"{where}.mass", fix="a mass is positive")
        open_streams = [stream for stream in self.streams if stream.rate is None]
        if len(open_streams) > 1 or (open_streams and self.thrust):
            raise BadStatement(
                "it is not said how the change of mass divides between what leaves and what joins",
                where=f"{where}.streams",
                fix="give each stream its rate (kg/s, negative where mass leaves), except one at most",
            )
        changing = any(not isinstance(symbol, Parameter) for symbol in names.dependence(self.mass))
        explained = self.streams or self.thrust or self.jumps or self.inner or self.reactive is not None
        if changing and not explained:
            raise BadStatement(
                "the mass changes, but nothing says with which velocity it joins or leaves",
                where=where,
                fix="add streams=(hf.Stream(velocity=(...)),); velocity 0 with relative=True for mass that just drops "
                "off, or name the controls that are its thrust",
            )
        if self.turning is not None and not self.inner:
            raise BadStatement("a turning frame without anything that moves in it", where=f"{where}.turning")


def _given(value: Any) -> bool:
    return value is not None and not (isinstance(value, (tuple, list)) and not value)


def _components(value: Any, where: str) -> tuple[Any, ...]:
    if isinstance(value, sp.MatrixBase):
        return tuple(value)
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise BadStatement(f"{value!r} is not a vector", where=where, fix="write its components, e.g. (x, y)")
    return tuple(value)


def _size(position: Any, where: str) -> int:
    parts = _components(position, f"{where}.position")
    if len(parts) not in (1, 2, 3):
        raise BadStatement(
            f"a position has one to three components, not {len(parts)}", where=f"{where}.position", fix="e.g. (x, y)"
        )
    return len(parts)


def _vector(value: Any, names: Vocabulary, allowed: Kinds, size: int, where: str) -> Vector:
    parts = _components(value, where)
    if len(parts) != size:
        raise BadStatement(
            f"this vector has {len(parts)} components, and the position has {size}", where=where, fix="make them equal"
        )
    return tuple(names.admit(part, allowed, where=where) for part in parts)


def _all(given: Any, kind: type[Any], names: Vocabulary, size: int, where: str) -> tuple[Any, ...]:
    listed = (given,) if isinstance(given, kind) else tuple(given)
    for one in listed:
        if not isinstance(one, kind):
            raise BadStatement(f"{one!r} is not a {kind.__name__}", where=where, fix=f"hf.{kind.__name__}(...)")
    return tuple(one.admitted(names, size, f"{where}[{k}]") for k, one in enumerate(listed))


def _turning(value: Any, names: Vocabulary, size: int, where: str) -> Vector | None:
    """ω: nothing on a line, one number in the plane, three in space."""
    if value is None:
        return None
    parts = tuple(value) if isinstance(value, (tuple, list, sp.MatrixBase)) else (value,)
    wanted = {1: 0, 2: 1, 3: 3}[size]
    if len(parts) != wanted:
        raise BadStatement(
            f"an angular velocity has {wanted} components here, not {len(parts)}",
            where=where,
            fix="one number in the plane, three in space, none on a line",
        )
    return tuple(names.admit(part, MOTION, where=where) for part in parts)


def _thrust(given: Any, size: int, where: str) -> tuple[str, ...]:
    """Names of controls by component; empty where a component has none."""
    if not _given(given):
        return ()
    listed = _components(given, where)
    named = tuple("" if part == 0 or part == "" else getattr(part, "name", part) for part in listed)
    if len(named) != size or not all(isinstance(part, str) for part in named) or not any(named):
        raise BadStatement(
            f"{given!r} does not name a control for each component of the position",
            where=where,
            fix='e.g. thrust=(0, "P2", "P3"): 0 where the exhaust gives no force',
        )
    return named
