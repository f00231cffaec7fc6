"""The driver of a scheme whose steps end on the program: its own step under another name, and the way back round it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from holdfast.engine.drivers import way_back
from holdfast.engine.drivers.steps import HEADER
from holdfast.engine.emit.translate import source_of
from holdfast.graph.field import Field
from holdfast.graph.nodes import Node
from holdfast.graph.way_back import Correction, WayBack

OWN = HEADER.replace("take_step", "free_step")
Text = Callable[[], str]  # a function of the driver language, written when it is asked for


@dataclass(frozen=True, slots=True)
class ReturningParts:
    """What the way back adds to a kernel: texts, bodies, constants, and Reals of work space."""

    texts: tuple[Text, ...]
    outputs: Mapping[str, Mapping[int, Node]]
    constants: Mapping[str, int | float]
    work: int


def returning(back: WayBack, field: Field, texts: tuple[Text, ...], work: int) -> ReturningParts:
    """The texts of a driver with its step renamed and followed by the way back; `work` are the Reals of the step."""
    after = tuple(partial(source_of, function) for function in (way_back.far, way_back.returned, way_back.take_step))
    named = tuple(partial(_renamed, text) for text in texts)
    own = back_work(back, field)
    return ReturningParts(_with_step_after(named, after), back_bodies(back), back_constants(back, field, work), own)


def back_work(back: WayBack, field: Field) -> int:
    """Reals of work space of the way back, the scratch of its bodies not counted."""
    return 3 * _most_held(back) + field.positions


def _most_held(back: WayBack) -> int:
    return max(len(back.positions.deviations), len(back.rates.deviations))


def back_constants(back: WayBack, field: Field, work: int) -> dict[str, int | float]:
    """The constants of the way back; its work space lies behind so many Reals."""
    return {
        "HELD_POSITIONS": len(back.positions.deviations),
        "HELD_RATES": len(back.rates.deviations),
        "MOST_HELD": _most_held(back),
        "BACK_AT": work,
        "BACK_WORK": back_work(back, field),
        "NOISE": way_back.NOISE,
        "CLOSE": way_back.CLOSE,
        "FEW": way_back.FEW,
        "NOT_RETURNED": way_back.NOT_RETURNED,
        "TURNS": way_back.TURNS,
    }


def back_bodies(back: WayBack) -> dict[str, Mapping[int, Node]]:
    """What it evaluates: deviations with their sizes, and the changes that take them away."""
    return {**_bodies("position", back.positions), **_bodies("rate", back.rates)}


def _renamed(text: Text) -> str:
    return text().replace(HEADER, OWN)


def _with_step_after(texts: tuple[Text, ...], after: tuple[Text, ...]) -> tuple[Text, ...]:
    """The way back stands behind the step and before the loop that calls it: functions know those above them."""
    place = next(k for k, text in enumerate(texts) if OWN in text()) + 1
    return (*texts[:place], *after, *texts[place:])


def _bodies(kind: str, part: Correction) -> dict[str, Mapping[int, Node]]:
    return {
        f"{kind}_deviations": dict(enumerate((*part.deviations, *part.sizes))),
        f"{kind}_correction": dict(enumerate(part.change)),
    }
