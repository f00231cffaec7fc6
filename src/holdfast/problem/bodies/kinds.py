"""All kinds of joints, by the word that a file uses."""

from __future__ import annotations

from holdfast.problem.bodies.held_joints import (
    Distance,
    Gear,
    PointOnCurve,
    PointOnSurface,
    RackAndPinion,
    RollingOnPlane,
)
from holdfast.problem.bodies.joints import (
    Cylindrical,
    Free,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
    Weld,
)

KINDS: dict[str, type[Joint]] = {
    kind.kind: kind
    for kind in (
        Revolute, Prismatic, Cylindrical, Universal, Spherical, Planar, Weld, Free,
        Distance, Gear, RackAndPinion, PointOnCurve, PointOnSurface, RollingOnPlane,
    )
}  # fmt: skip
