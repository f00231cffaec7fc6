"""A proof in a tube along a run, and how a certificate keeps it: cells once, for all blocks that are proved in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

CLAIMED = ("factor", "gamma", "coefficient", "rounding", "radius")
CLAIMED_IN_ORDER = ("names", "start", "bounds", "rounding", "steps")
Cell = tuple[float, float, tuple[tuple[float, ...], ...], tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Tube:
    """Cells along a run, in order of time: (t0, t1, a cubic for each state, a half-width for each state).

    |xᵢ − Σ_k p_ik sᵏ| ≤ half_i,   s = (t − t0)/(t1 − t0)

    `width` is the half-width as a part of each state's range, which `scales` tell. With `speeds`, the cubics of the
    rates of positions may be multiplied by a factor from 1 − speeds to 1 + speeds, and s is any of [0, 1], whatever t.
    """

    width: float
    scales: tuple[tuple[str, float], ...]
    cells: tuple[Cell, ...] = field(repr=False)
    speeds: float = 0.0


@dataclass(frozen=True, slots=True)
class TubeProof:
    """The numbers of a proof in a tube: for one step from any state of a cell, at its time,

    ‖R(step·H)‖_P ≤ gamma,   ‖Lᵀd‖ ≤ coefficient·step^(p+1) + rounding ≤ (1 − gamma)·radius
    """

    factor: tuple[tuple[float, ...], ...]  # L, with P = L Lᵀ
    gamma: float
    coefficient: float
    rounding: float
    radius: float
    tube: Tube
    reaches: tuple[float, ...] = ()  # what the tube alone says of each deviation; not part of the claim


@dataclass(frozen=True, slots=True)
class OrderedProof:
    """A proof in a tube by steps in the order of time: over so many steps no deviation exceeds its bound.

    Starts with |ψ| ≤ `start`, entry by entry; `rounding` is the most that doubles add in one step.
    """

    tube: Tube
    names: tuple[str, ...]  # of all deviations, which are followed together
    start: tuple[float, ...]
    bounds: tuple[float, ...]
    rounding: tuple[float, ...]
    steps: int
    reaches: tuple[float, ...] = ()  # what the tube alone says of each deviation; not part of the claim


def tubes_of(blocks: Iterable[Any]) -> list[Tube]:
    """The tubes of some blocks, each once."""
    found: list[Tube] = []
    for block in blocks:
        if isinstance(block.proof, TubeProof | OrderedProof) and not any(block.proof.tube is tube for tube in found):
            found.append(block.proof.tube)
    return found


def proof_entry(proof: TubeProof | OrderedProof, tubes: Sequence[Tube]) -> dict[str, Any]:
    """What is claimed, as data; the tube by its place in a list."""
    place = next(k for k, tube in enumerate(tubes) if tube is proof.tube)
    if isinstance(proof, OrderedProof):
        return {"kind": "ordered", "tube": place, **{name: getattr(proof, name) for name in CLAIMED_IN_ORDER}}
    return {"kind": "tube", "tube": place, **{name: getattr(proof, name) for name in CLAIMED}}


def tube_entry(tube: Tube) -> dict[str, Any]:
    more = {"speeds": tube.speeds} if tube.speeds else {}
    return {"width": tube.width, "scales": dict(tube.scales), "cells": tube.cells, **more}


def tube_from(entry: Mapping[str, Any]) -> Tube:
    scales, speeds = tuple(entry["scales"].items()), float(entry.get("speeds", 0.0))
    return Tube(float(entry["width"]), scales, _tuples(entry["cells"]), speeds)


def proof_from(entry: Mapping[str, Any], tubes: Sequence[Tube]) -> TubeProof | OrderedProof:
    """A proof from its data; the tubes are those of its certificate."""
    if entry["kind"] == "ordered":
        return OrderedProof(**{name: _tuples(entry[name]) for name in CLAIMED_IN_ORDER}, tube=tubes[entry["tube"]])
    return TubeProof(**{name: _tuples(entry[name]) for name in CLAIMED}, tube=tubes[entry["tube"]])


def _tuples(value: Any) -> Any:
    return tuple(_tuples(part) for part in value) if isinstance(value, list | tuple) else value
