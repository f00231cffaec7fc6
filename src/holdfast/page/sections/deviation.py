"""The deviations on a logarithmic scale, with the bounds of the certificate drawn in."""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.page.facts import PageFacts, bound, number, spoken
from holdfast.page.figures.chart import figure
from holdfast.page.figures.curve import thinned
from holdfast.page.figures.heat import heat_map
from holdfast.page.markup.figure_text import quantity
from holdfast.page.markup.html import Markup, joined, paragraph
from holdfast.page.section import Section, side_by_side
from holdfast.results.runs.joined import JoinedRun

MOST_FIGURES = 6  # blocks with a figure of their own; more are one heat map
MOST_ROWS = 60  # of the heat map


def write(subject: PageFacts) -> Markup:
    if not subject.held:
        return Markup("")
    blocks = sorted(subject.spectrum.blocks, key=lambda block: -_largest(subject, list(block.names)))
    still = [block for block in blocks if all(_largest(subject, [name]) == 0 for name in block.names)]
    if len(still) < len(blocks):  # of those that never moved, words say all
        blocks = [block for block in blocks if block not in still]
    many = len(blocks) > MOST_FIGURES
    made = [_block(subject, k, list(block.names)) for k, block in enumerate(blocks[: 1 if many else None])]
    bounded = any(_bounds(subject, name) for block in blocks for name in block.names)
    words = "Dashed: what the certificate promises." if bounded else "There is no bound to draw in."
    if len(blocks) > 1:
        words += " The largest deviation comes first."
    if still and still[0] not in blocks:
        held = ", ".join(spoken(name) for block in still for name in block.constraints)
        words += f" Exactly zero throughout: {held}."
    everyone = _heat(subject, [name for block in blocks for name in block.names[:1]]) if many else None
    return joined(_norm_words(subject), paragraph(words, class_="quiet"), everyone, side_by_side(_norm(subject), *made))


def _largest(subject: PageFacts, names: list[str]) -> float:
    """The largest of the first deviation of a block along the run; 0 where it was never a number."""
    return float(np.nanmax(np.nan_to_num(np.abs(subject.trajectory[names[0]])), initial=0.0))


def _heat(subject: PageFacts, names: list[str]) -> Markup:
    """All constraints in one picture, the largest deviation on top."""
    run, shown = subject.trajectory, names[:MOST_ROWS]
    rest = f" (the largest {MOST_ROWS} of {len(names)})" if len(names) > MOST_ROWS else ""
    caption = f"Size of every deviation over time{rest}: darker is larger, white is exactly zero"
    return heat_map(
        "deviation-all", caption, run.times, [(quantity(name), run[name]) for name in shown], subject.label("t")
    )


def _norm_words(subject: PageFacts) -> Markup:
    """The deviation as the papers give it: at the start, at its largest, at the end."""
    norm = subject.trajectory.deviation_norm
    norm = norm[~np.isnan(norm)] if isinstance(subject.trajectory, JoinedRun) else norm  # where a phase holds it
    if not norm.size:
        return paragraph("No phase holds the program.")
    return paragraph(
        f"‖z‖ = √(Σ y² + Σ w²), the norm of all deviations together, starts at {number(float(norm[0]))}, "
        f"never exceeds {bound(float(norm.max()), 2)} and ends at {number(float(norm[-1]))}."
    )


def _norm(subject: PageFacts) -> Markup:
    """One curve for all deviations."""
    run = subject.trajectory
    seen = (run.deviation_norm > 0) | np.isnan(run.deviation_norm)  # nan: a gap, where no phase holds it
    if not (run.deviation_norm > 0).any():
        return Markup("")

    def draw(axes: Any) -> None:
        axes.plot(*thinned(run.times[seen], run.deviation_norm[seen]), color="C0", name="deviation_norm")
        axes.log = True
        axes.set_xlabel(subject.label("t"))
        axes.set_ylabel("‖z‖")

    return figure("deviation-norm", "Norm of the deviation, ‖z‖", draw)


def _block(subject: PageFacts, place: int, names: list[str]) -> Markup:
    run = subject.trajectory

    def draw(axes: Any) -> None:
        lowest = np.inf
        for k, name in enumerate(names[:6]):
            size = np.abs(run[name])
            seen = (size > 0) | np.isnan(size)
            lowest = min(lowest, float(size[size > 0].min(initial=np.inf)))
            axes.plot(
                *thinned(run.times[seen], size[seen]), color=f"C{k}", label=subject.label(name), name=name, size=True
            )
            most, promised = _bounds(subject, name), _envelope(subject, name)
            if promised is not None:
                axes.plot(*thinned(*promised), color=f"C{k}", linestyle="--", linewidth=1.4)
            elif most:
                axes.axhline(most, color=f"C{k}", linestyle="--", linewidth=1.4)
        axes.log = True
        if np.isinf(lowest):
            axes.set_ylim(1e-17, 1)
            if run.times[-1] > run.times[0]:
                axes.set_xlim(run.times[0], run.times[-1])
            axes.middle = "exactly zero throughout"
        axes.set_xlabel(subject.label("t"))
        axes.set_ylabel("size of the deviation")
        axes.legend()

    held = ", ".join(dict.fromkeys(spoken(name.split("_", 1)[1]) for name in names))
    return figure(f"deviation-{place}", f"Deviation of {held}", draw)


def _bounds(subject: PageFacts, name: str) -> float:
    """The certificate's bound of a deviation; 0 where there is none."""
    for block in subject.certificate.blocks if subject.certificate else ():
        if block.bounds and name in block.names:
            return float(block.bounds[block.names.index(name)])
    return 0.0


def _envelope(subject: PageFacts, name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Times and what is proved from the start on, where the start deviates; None where one line says it."""
    run = subject.trajectory
    for block in subject.certificate.blocks if subject.certificate else ():
        if name in block.names and block.proof is not None and block.settles and run.step:
            promised = block.envelope((run.times - run.times[0]) / run.step)[block.names.index(name)]
            covered = np.isfinite(promised)
            return run.times[covered], promised[covered]
    return None


SECTION = Section("deviation", "Deviation from the program", write)
