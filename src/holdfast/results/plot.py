"""Figures of a run, drawn with matplotlib; every function returns the axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from holdfast.errors import BadRequest
from holdfast.problem.quantities import latex_name
from holdfast.problem.vocabulary import name_of
from holdfast.results.style import in_house_style
from holdfast.results.trajectory import Trajectory


@in_house_style
def plot(trajectory: Trajectory, names: Sequence[Any]) -> Any:
    """Quantities over time; without names, the coordinates above and the size of the deviations below."""
    import matplotlib.pyplot as plt

    if names:
        _, axes = plt.subplots()
        for name in names:
            key = name_of(name)
            axes.plot(trajectory.times, trajectory[key], label=f"${latex_name(key)}$")
        _finish(axes)
        return axes
    held = trajectory.deviation_rate.shape[1] > 0
    _, panels = plt.subplots(2 if held else 1, sharex=True, squeeze=False, constrained_layout=True)
    rates = {f"{name}_dot" for name in trajectory.state_names}
    for name in trajectory.state_names:
        if name in rates:  # coordinates and first-order states are drawn, rates are not
            continue
        panels[0, 0].plot(trajectory.times, trajectory[name], label=f"${latex_name(name)}$")
    panels[0, 0].legend()
    if held:
        draw_deviation(trajectory, panels[1, 0])
    panels[-1, 0].set_xlabel("time")
    return panels[:, 0]


@in_house_style
def plot_deviation(trajectory: Trajectory) -> Any:
    """The size of each deviation over time, on axes of its own."""
    import matplotlib.pyplot as plt

    if not trajectory.deviation_rate.shape[1]:
        raise BadRequest(
            "there is nothing to hold, so nothing deviates", where="plot_deviation", fix="plot() draws the rest"
        )
    _, axes = plt.subplots()
    draw_deviation(trajectory, axes)
    axes.set_xlabel("time")
    return axes


def draw_deviation(trajectory: Trajectory, axes: Any) -> None:
    """The size of each deviation on a logarithmic scale."""
    for name in trajectory.columns:
        if name in trajectory.start.deviation:
            size = np.abs(trajectory[name])
            if size.max() > 0:
                axes.semilogy(trajectory.times, np.where(size > 0, size, np.nan), label=f"${latex_name(name)}$")
    axes.set_ylabel("deviation")
    if axes.lines:
        axes.legend()


@in_house_style
def phase(trajectory: Trajectory, across: Any, up: Any = None) -> Any:
    """One quantity against another, start and end marked; a coordinate alone is drawn against its rate."""
    import matplotlib.pyplot as plt

    first = name_of(across)
    second = f"{first}_dot" if up is None else name_of(up)
    _, axes = plt.subplots()
    x, y = trajectory[first], trajectory[second]
    axes.plot(x, y)
    axes.plot(x[:1], y[:1], "o", label="start")
    axes.plot(x[-1:], y[-1:], "s", label="end")
    axes.set_xlabel(f"${latex_name(first)}$")
    axes.set_ylabel(f"${latex_name(second)}$")
    axes.legend()
    return axes


def _finish(axes: Any) -> None:
    axes.set_xlabel("time")
    axes.legend()
