"""A moving picture of the mechanism as a GIF, written as a whole or not at all."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.common.files import named, write_stream
from holdfast.errors import BadRequest
from holdfast.results.gif_bodies import BODY, FORCE, BodyPen
from holdfast.results.motion import TOWARD, MechanismFrames, motion_of
from holdfast.results.trajectory import Trajectory

SIZE, MARGIN, SCALE = 420, 30, 2  # pixels; drawn twice as large and then made smaller, for smooth lines
INK, QUIET, TRACE, PAPER = "#1b1f24", "#9aa4ad", "#0f5ca8", "#ffffff"
STEPS = 8  # shades between two colours


def animate(trajectory: Trajectory, path: str | Path, *, frames: int = 150, seconds: float | None = None) -> Path:
    """Draw the problem's points, links and bodies along the run; `seconds` is how long one round lasts if given."""
    target = named(path)
    if target.suffix.lower() != ".gif":
        raise BadRequest(f"{target.name} is not a GIF", where="animate(path)", fix="give a name that ends in .gif")
    if frames < 2:
        raise BadRequest(f"frames = {frames}", where="animate(frames=...)", fix="at least 2")
    motion = motion_of(trajectory, frames=frames)
    if motion is None:
        raise BadRequest(
            "there is nothing to draw", where="animate", fix="name points: System(points={...}) or [points] in the file"
        )
    length = float(motion.times[-1] - motion.times[0])
    lasting = seconds if seconds is not None else min(max(length, 2.0), 12.0)
    pictures = [_picture(motion, k) for k in range(len(motion.frames))]
    pause = max(20, round(1000 * lasting / len(pictures)))
    write_stream(
        target,
        lambda file: pictures[0].save(
            file, format="GIF", save_all=True, append_images=pictures[1:], duration=pause, loop=0, optimize=True
        ),
    )
    return target


@cache
def _palette() -> Any:
    """Every colour of a picture, and the way from it to paper and ink: arrows keep theirs, small as they are."""
    from PIL import Image, ImageColor

    colours = [np.array(ImageColor.getrgb(name), float) for name in (INK, QUIET, TRACE, BODY, FORCE)]
    ends = [np.array(ImageColor.getrgb(name), float) for name in (PAPER, BODY, INK)]
    shades = [np.rint(c + (end - c) * k / STEPS) for c in colours for end in ends for k in range(STEPS + 1)]
    found = list(dict.fromkeys(tuple(int(x) for x in shade) for shade in shades))
    made = Image.new("P", (1, 1))
    made.putpalette([x for shade in (*found, *[found[-1]] * (256 - len(found))) for x in shade])
    return made


def _picture(motion: MechanismFrames, frame: int) -> Any:
    from PIL import Image, ImageDraw

    left, bottom, right, top = motion.box
    per_unit = (SIZE - 2 * MARGIN) / max(right - left, top - bottom)
    wide = round((right - left) * per_unit) + 2 * MARGIN
    high = round((top - bottom) * per_unit) + 2 * MARGIN
    moved = np.zeros(2)  # of the camera, where it follows a point
    if motion.follow is not None:
        moved = motion.frames[frame, motion.follow] - np.array([left + right, bottom + top]) / 2

    def place(points: np.ndarray) -> list[tuple[float, float]]:
        x = MARGIN + (points[:, 0] - moved[0] - left) * per_unit
        y = MARGIN + (top - points[:, 1] + moved[1]) * per_unit
        return [(float(a) * SCALE, float(b) * SCALE) for a, b in zip(x, y, strict=True)]

    image = Image.new("RGB", (wide * SCALE, high * SCALE), PAPER)
    pen = ImageDraw.Draw(image)
    for k in motion.traces:
        if frame:
            pen.line(place(motion.frames[: frame + 1, k]), fill=TRACE, width=2)
    now = place(motion.frames[frame])
    bodies = BodyPen(pen, now, frame, per_unit * SCALE, image.size)
    for body in motion.bodies:
        bodies.draw(body, lambda y: place(np.array([[left, y]]))[0][1])
    if meshes := [body for body in motion.bodies if body["kind"] == "mesh"]:
        bodies.solids(meshes, np.zeros(len(now)) if motion.space is None else motion.space[frame] @ TOWARD)
    for a, b in motion.links:
        pen.line([now[a], now[b]], fill=INK, width=6)
    for k, (x, y) in enumerate(now[: len(motion.names)]):
        size, fill = (7, QUIET) if k in motion.fixed else (9, INK)
        pen.ellipse([x - size, y - size, x + size, y + size], fill=fill)
    for body in motion.bodies:
        if body["kind"] == "arrow":
            bodies.arrow(body)
    return image.resize((wide, high), Image.Resampling.LANCZOS).quantize(palette=_palette(), dither=Image.Dither.NONE)
