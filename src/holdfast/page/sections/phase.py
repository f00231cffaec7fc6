"""Phase portraits: each coordinate against its rate, and the path in the plane of the first two."""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.page.facts import PageFacts
from holdfast.page.figures.chart import figure
from holdfast.page.figures.curve import POINTS
from holdfast.page.markup.html import Markup, details
from holdfast.page.section import Section, side_by_side

MOST_PORTRAITS = 3  # coordinates with a portrait
STILL = 1e-9  # a change this small, as a part of the value, is none


def write(subject: PageFacts) -> Markup:
    names = subject.equations.coordinates
    pairs = [(names[0], names[1])] if len(names) > 1 else []
    pairs += [(name, f"{name}_dot") for name in names[: 1 if subject.large else MOST_PORTRAITS]]
    drawn = side_by_side(*(_portrait(subject, *pair) for pair in pairs if _moves(subject, *pair)))
    return details(f"Of the first of {len(names)} coordinates", drawn) if drawn and subject.large else drawn


def _moves(subject: PageFacts, across: str, up: str) -> bool:
    """Whether there is a path to see: both change, or one of them does in a plane of coordinates."""
    run = subject.trajectory
    moved = [float(np.ptp(run[name])) > STILL * (1 + float(np.abs(run[name]).max())) for name in (across, up)]
    return all(moved) if up.endswith("_dot") else any(moved)


def _portrait(subject: PageFacts, across: str, up: str) -> Markup:
    run = subject.trajectory
    rows = np.unique(np.linspace(0, len(run.times) - 1, POINTS).astype(int))

    def draw(axes: Any) -> None:
        axes.plot(run[across][rows], run[up][rows], linewidth=1.5)
        axes.plot(run[across][:1], run[up][:1], "o", markersize=4.5, color="C1", label="start")
        axes.plot(run[across][-1:], run[up][-1:], "s", markersize=4.5, color="C2", label="end")
        axes.set_xlabel(subject.label(across))
        axes.set_ylabel(subject.label(up))
        axes.legend()

    caption = f"{_said(up)} against {_said(across)}"
    return figure(f"phase-{across}-{up}", caption, draw, said=subject.prose(caption))


def _said(name: str) -> str:
    """A name in a caption: the rate of x."""
    return f"the rate of {name.removesuffix('_dot')}" if name.endswith("_dot") else name


SECTION = Section("phase", "Phase portraits", write)
