"""The motion: the mechanism drawn and moving, and its coordinates over time."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence

import numpy as np

from holdfast.page.facts import PageFacts, number
from holdfast.page.figures.curves import curves
from holdfast.page.markup.html import Child, Markup, element, joined, paragraph, table
from holdfast.page.section import Section, side_by_side
from holdfast.results.bodies import plain_bodies
from holdfast.results.runs.joined import JoinedRun

MOST_CURVES, FEW_CURVES = 12, 2  # curves; and where there are so many that the first speak for all
MOST_NAMES = 8  # of points in the caption
CAPTION = "The mechanism in motion, drawn to scale"


def write(subject: PageFacts) -> Markup:
    return joined(side_by_side(_player(subject), *_curves(subject), *_output(subject)), _phases(subject))


def _output(subject: PageFacts) -> list[Markup]:
    """The quantities that the problem asks for."""
    names = subject.trajectory.output_names
    return curves(subject, list(names[:MOST_CURVES]), "output", "Quantities asked for") if names else []


def _phases(subject: PageFacts) -> Markup:
    """Which phase ran when, under what, and what ended it or began it with a jump."""
    run = subject.trajectory
    if not isinstance(run, JoinedRun) or not run.phases:
        return Markup("")
    begins = {impact.time: impact for impact in run.impacts}
    rows: list[list[Child]] = []
    for name, part in zip(run.phases, run.parts, strict=True):
        first, last = float(part.times[0]), float(part.times[-1])
        program = part.problem.program if part.problem is not None else None
        kept = ", ".join(program.constraints) if program is not None else ""
        lost = f"{number(begins[first].energy_lost)}" if first in begins else ""
        rows.append([name, number(first), number(last), kept or "nothing", lost, part.outcome.value])
    head: list[Child] = ["phase", "from", "to", "keeps", "energy lost at its beginning", "how it ended"]
    said = f"The equations, forces and law below are those of the first phase, {run.phases[0]}."
    return joined(element("h3", "Phases"), table(head, rows), paragraph(said, class_="quiet"))


def _player(subject: PageFacts) -> Markup:
    """A canvas with its data: points along the run as base64 of little-endian single floats."""
    motion = subject.motion
    if motion is None:
        return Markup("")
    about = {
        "count": motion.frames.shape[1],
        "names": motion.names,
        "links": motion.links,
        "traces": motion.traces,
        "fixed": motion.fixed,
        "box": motion.box,
        "bodies": plain_bodies(motion.bodies),
        "follow": motion.follow,
        "begin": float(motion.times[0]),
        "end": float(motion.times[-1]),
    }
    left, bottom, right, top = motion.box
    width, height = right - left, top - bottom  # a box so far away that doubles give it no width is shown flat
    shape = min(max(height / width, 0.3), 0.75) if 0 < width < float("inf") and height >= 0 else 0.3
    canvas = element(
        "canvas",
        id="mechanism",
        width="960",
        height=str(round(960 * shape)),
        role="img",
        aria_label=CAPTION,
        data_about=json.dumps(about),
        data_times=_packed(motion.times),
        data_frames=_packed(motion.frames) if motion.space is None else None,
        data_space=None if motion.space is None else _packed(motion.space),
    )
    controls = element(
        "div",
        element("button", "Pause", type="button", id="play", aria_label="Play or pause"),
        element(
            "input", type="range", id="scrub", min="0", max=str(len(motion.times) - 1), value="0", aria_label="Time"
        ),
        element("output", "", id="clock", for_="scrub"),
        class_="controls",
    )
    still = element("noscript", element("p", "The moving picture needs JavaScript; all figures below do without."))
    seen = " Drag, or press shift and an arrow key, to look from elsewhere." if motion.spatial else ""
    seen += " Arrows are forces, to one scale." if any(body["kind"] == "arrow" for body in motion.bodies) else ""
    caption = element("figcaption", f"{CAPTION}: {_listed(motion.names)}; thin lines are traces.{seen}")
    return element("figure", canvas, controls, still, caption, class_="player", id="figure-mechanism")


def _listed(names: Sequence[str]) -> str:
    if len(names) <= MOST_NAMES:
        return ", ".join(names)
    return f"{names[0]}, {names[1]}, …, {names[-1]}"


def _packed(values: np.ndarray) -> str:
    return b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode()


def _curves(subject: PageFacts) -> list[Markup]:
    system = subject.problem.system
    states = system.states
    names = [*(name for name in subject.equations.coordinates if name not in system.spun), *states]
    most = FEW_CURVES if subject.large else MOST_CURVES
    rest = f" (the first {most} of {len(names)})" if len(names) > most else ""
    return curves(subject, names[:most], "motion", f"Coordinates{' and states' if states else ''} over time{rest}")


SECTION = Section("motion", "Motion", write)
