"""Energy, where it went, and the power of the correction."""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.page.facts import PageFacts, number
from holdfast.page.figures.chart import figure
from holdfast.page.figures.curve import thinned
from holdfast.page.markup.figure_text import quantity, words
from holdfast.page.markup.html import Child, Markup, details, joined, paragraph, table
from holdfast.page.section import Section, side_by_side
from holdfast.results.trajectory import EnergyBalance

KINETIC, POTENTIAL = quantity("T"), quantity("P")
ENERGIES = {"kinetic": KINETIC, "potential": POTENTIAL, "energy": KINETIC + words(" + ") + POTENTIAL}
COLOURS = {"energy": "wide", "kinetic": "C0", "potential": "C1"}
COLOURS |= {"forces": "C1", "dissipation": "C4", "held": "C2", "explicit": "C3"}  # one for each, on every page
QUADRATURE = 2.0  # times its estimate: what the sum over rows may miss
WORDS = {
    "forces": "work of the stated forces",
    "dissipation": "lost to dissipation",
    "held": "work of the held forces",
    "explicit": "through time, states and changing masses",
    "residual": "unexplained (beyond what summing over the rows may miss)",
}


def write(subject: PageFacts) -> Markup:
    run = subject.trajectory
    if len(run.times) < 3:
        return paragraph("The run is too short for an energy balance.")
    figures = (_energies(subject), _balance(subject), _power(subject), _table(subject))
    if subject.large:
        rest = details("The power of the correction, and the balance in numbers", side_by_side(*figures[2:]))
        return joined(_sentence(subject), side_by_side(*figures[:2]), rest)
    return joined(_sentence(subject), side_by_side(*figures))


def _sentence(subject: PageFacts) -> Markup | None:
    if not subject.held:
        return None
    work = float(subject.trajectory.energy_balance.correction[-1])
    part = 100 * abs(work) / subject.energy_size
    return paragraph(
        f"Correcting deviations {'put in' if work >= 0 else 'took out'} {number(abs(work))} in all, "
        f"{number(part, 2)} % of the energy in motion ({number(subject.energy_size)})."
    )


def _energies(subject: PageFacts) -> Markup:
    run = subject.trajectory

    def draw(axes: Any) -> None:
        wide = {"energy": 6.0}  # the sum lies under its parts, and hides neither
        for name in ("energy", "kinetic", "potential"):
            curve = thinned(run.times, run[name])
            axes.plot(*curve, label=ENERGIES[name], name=name, color=COLOURS[name], linewidth=wide.get(name, 1.8))
        axes.set_xlabel(subject.label("t"))
        axes.set_ylabel(subject.word("energy", "energy"))
        axes.legend()

    return figure("energy", "Kinetic energy, potential, and their sum", draw)


def _balance(subject: PageFacts) -> Markup:
    run, balance = subject.trajectory, subject.trajectory.energy_balance
    causes = ("forces", "dissipation", "held", "explicit")
    drawn = [name for name in causes if np.abs(getattr(balance, name)).max() > 1e-9 * subject.energy_size]
    left = unexplained(balance)

    def draw(axes: Any) -> None:
        axes.plot(*thinned(run.times, balance.change), label="change of energy", color="wide", linewidth=6.0)
        for name in drawn:
            axes.plot(*thinned(run.times, getattr(balance, name)), label=name, color=COLOURS[name])
        if left.any():
            axes.plot(*thinned(run.times, left), label="unexplained", color="C5", linestyle="--")
        axes.set_xlabel(subject.label("t"))
        axes.set_ylabel(subject.word("work since the start", "energy"))
        axes.legend(3)

    return figure("balance", "Where the energy came from and went", draw)


def unexplained(balance: EnergyBalance) -> np.ndarray:
    """What no cause explains, without what summing over the rows may have missed: that is no physics."""
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(balance.residual) <= QUADRATURE * balance.quadrature, 0.0, balance.residual)


def _power(subject: PageFacts) -> Markup:
    run = subject.trajectory
    if not subject.held:
        return Markup("")

    def draw(axes: Any) -> None:
        axes.plot(*thinned(run.times, run["power_correction"]), color="C1", name="power_correction")
        axes.set_xlabel(subject.label("t"))
        axes.set_ylabel(subject.word("power of the correction", "power"))

    return figure("power", "Power of the correction: the part of the held forces that drives deviations away", draw)


def _table(subject: PageFacts) -> Markup:
    balance = subject.trajectory.energy_balance
    rows: list[list[Child]] = [["change of energy", number(float(balance.change[-1]))]]
    rows += [[words, number(float(getattr(balance, name)[-1]))] for name, words in WORDS.items() if name != "residual"]
    rows.append([WORDS["residual"], number(float(unexplained(balance)[-1]))])
    return table(["over the whole run", subject.word("energy", "energy")], rows)


SECTION = Section("energy", "Energy", write)
