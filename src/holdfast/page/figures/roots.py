"""The roots of the law in the complex plane, and within the stability region of the scheme at this step."""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.page.facts import PageFacts, bound, number
from holdfast.page.figures.chart import BAD, FAINT, INK, SHADE, figure
from holdfast.page.figures.outline import outlines
from holdfast.page.markup.figure_text import quantity, words
from holdfast.page.markup.html import Markup
from holdfast.schemes.algebra.stability_function import StabilityFunction

GRID = 220
NAMED = 6  # blocks in the legend
CLOSE = 0.15  # of the region's size: roots nearer to 0 than this are drawn once more, larger


def figures(subject: PageFacts) -> list[Markup]:
    roots = np.asarray(subject.spectrum.eigenvalues)
    if not len(roots):
        return []
    made = [_roots(subject, roots)]
    step = subject.trajectory.step
    if step is not None:
        made.append(_region(subject, step) if subject.scheme.treats_all_alike else _multipliers(subject, step))
    return made


def _roots(subject: PageFacts, roots: np.ndarray) -> Markup:
    size = max(float(np.abs(roots).max()), 1e-9)

    def draw(axes: Any) -> None:
        axes.axvspan(0, 2 * size, color=BAD)
        axes.axhline(0, color=INK, linewidth=0.6)
        axes.axvline(0, color=INK, linewidth=0.6)
        for k, block in enumerate(subject.spectrum.blocks):
            label = ", ".join(block.constraints).replace("_", " ") if k < NAMED else ""
            values = np.asarray(block.eigenvalues)
            axes.plot(values.real, values.imag, "o", color=f"C{k}", markersize=6, label=label, name=f"root {k}")
        axes.set_xlim(
            min(-1.25 * size, 1.15 * float(roots.real.min())), max(0.45 * size, 1.15 * float(roots.real.max()))
        )
        high = 1.35 * max(float(np.abs(roots.imag).max()), 0.35 * size)
        axes.set_ylim(-high, high)
        axes.set_xlabel(words("Re ") + quantity("lambda"))
        axes.set_ylabel(words("Im ") + quantity("lambda"))
        axes.legend(3)

    frozen = "" if subject.spectrum.constant else ", frozen at the start: H varies"
    rest = len(subject.spectrum.blocks) - NAMED
    unnamed = f" (all are drawn, the first {NAMED} of {rest + NAMED} blocks are named)" if rest > 0 else ""
    caption = f"Roots of the law{frozen}{unnamed}; deviations die away to the left of the axis"
    return figure("roots", caption, draw)


def _region(subject: PageFacts, step: float) -> Markup:
    """Where |R(τλ)| ≤ 1, in the plane of τλ, with τ times each root."""
    function = subject.scheme.stability
    points = step * np.asarray(subject.spectrum.eigenvalues)
    reach = max(_extent(function), 1.15 * min(float(np.abs(points).max(initial=0.0)), 40.0))
    x = np.linspace(-1.25 * reach, 0.5 * reach, GRID)
    y = np.linspace(-reach, reach, GRID)
    size = _sizes(function, x, y)

    def draw_one(axes: Any, edge: np.ndarray, high: float) -> None:
        for outline in outlines(x, y, 1 - size):
            axes.fill(*outline, color=SHADE)
            axes.plot(*outline, color=INK, linewidth=1.1)
        axes.axhline(0, color=INK, linewidth=0.5)
        axes.axvline(0, color=INK, linewidth=0.5)
        for k, block in enumerate(subject.spectrum.blocks):
            values = step * np.asarray(block.eigenvalues)
            axes.plot(values.real, values.imag, "o", color=f"C{k}", markersize=6, name=f"step root {k}")
        axes.set_xlabel(words("Re ") + quantity("tau") + quantity("lambda"))
        axes.set_ylabel(words("Im ") + quantity("tau") + quantity("lambda"))
        axes.set_xlim(
            min(edge[0], 1.1 * points.real.min(initial=0.0)), max(edge[1], 1.1 * points.real.max(initial=0.0))
        )
        high = max(high, 1.1 * float(np.abs(points.imag).max(initial=0.0)))
        axes.set_ylim(-high, high)

    def draw(axes: Any) -> None:
        if not close:
            return draw_one(axes, x[[0, -1]], y[-1])
        draw_one(axes[0], x[[0, -1]], y[-1])
        draw_one(axes[1], 1.4 * near * np.array([-1.25, 0.5]), 1.4 * near)

    near = float(np.abs(points).max(initial=0.0))
    close = 0 < near < CLOSE * reach
    more = f"; right: near 0, where all lie within {bound(near, 2)}" if close else ""
    caption = f"Step times roots within the stability region of {subject.scheme.name}, step τ = {number(step)}{more}"
    return figure("region", caption, draw, equal=True, panels=2 if close else 1)


def _sizes(function: StabilityFunction, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        size = np.abs(function(x[None, :] + 1j * y[:, None]))
    return np.nan_to_num(size, nan=1e9, posinf=1e9)


def _extent(function: StabilityFunction) -> float:
    """How far the region reaches to the left of the axis, with a little room; 4 where it has no end."""
    x, y = np.linspace(-12, 0, 121), np.linspace(-12, 12, 121)
    inside = _sizes(function, x, y) <= 1
    if inside[:, 0].any():
        return 4.0
    return 1.25 * float(
        max(-x[inside.any(axis=0)].min(initial=-0.5) / 1.25, np.abs(y[inside.any(axis=1)]).max(initial=0.5))
    )


def _multipliers(subject: PageFacts, step: float) -> Markup:
    """What one step multiplies deviations by, against the unit circle: for schemes without one R(z)."""
    turn = np.linspace(0, 2 * np.pi, 200)

    def draw(axes: Any) -> None:
        axes.fill(np.cos(turn), np.sin(turn), color=SHADE)
        axes.plot(np.cos(turn), np.sin(turn), color=INK, linewidth=0.9)
        axes.axhline(0, color=FAINT, linewidth=0.5)
        for k, block in enumerate(subject.spectrum.blocks):
            values = np.linalg.eigvals(subject.scheme.propagator(block.matrix, step))
            axes.plot(values.real, values.imag, "o", color=f"C{k}", markersize=6)
        axes.set_xlabel(words("Re ") + quantity("mu"))
        axes.set_ylabel(words("Im ") + quantity("mu"))

    caption = f"Multipliers of one step of {subject.scheme.name}, step τ = {number(step)}, within the unit circle"
    return figure("region", caption, draw, equal=True)
