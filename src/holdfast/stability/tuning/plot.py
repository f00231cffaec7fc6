"""The map of gains as a picture: rates across, damping ratios up, the deviation in colour."""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.results.style import in_house_style
from holdfast.stability.tuning.tuning import GainMap, MarkedGains, Tuning

MARKERS = "osD^vP*X<>"  # of the textbook rules, in their order
LEGEND = {"loc": "upper left", "bbox_to_anchor": (0.0, -0.17), "ncols": 2, "frameon": False, "fontsize": 8}


@in_house_style
def plot(tuning: Tuning) -> Any:
    """The map with the choice and the textbook rules marked (a curve where the ratio plays no part)."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8.2, 6.0), layout="constrained")
    if len(tuning.map.ratios) > 1:
        _surface(figure, axes, tuning)
    else:
        _curve(axes, tuning)
    axes.set_xscale("log")
    axes.set_xlabel(r"rate $\omega$  (stiffness $\omega^2$)" if len(tuning.map.ratios) > 1 else "rate (damping)")
    size = f"step {tuning.step:g}" if tuning.step is not None else f"tolerance {tuning.tolerance:g}"
    axes.set_title(f"Worst scaled deviation over {tuning.duration:g}: {tuning.scheme}, {size}", loc="left", fontsize=11)
    axes.legend(**LEGEND)
    return axes


def _edges(centres: np.ndarray) -> np.ndarray:
    """The borders of cells around centres that stand evenly on a logarithmic scale."""
    logs = np.log(centres)
    middles = (logs[1:] + logs[:-1]) / 2
    return np.exp(np.concatenate([[2 * logs[0] - middles[0]], middles, [2 * logs[-1] - middles[-1]]]))


def _surface(figure: Any, axes: Any, tuning: Tuning) -> None:
    from matplotlib.colors import LogNorm

    gains = tuning.map
    finite = np.where(np.isfinite(gains.deviation) & (gains.deviation > 0), gains.deviation, np.nan)
    low, high = np.nanmin(finite), min(np.nanmax(finite), 10 * _none(tuning, finite))
    colours = axes.pcolormesh(
        _edges(gains.rates), _edges(gains.ratios), finite, norm=LogNorm(low, max(high, 2 * low)), cmap="viridis",
    )  # fmt: skip
    axes.set_facecolor("0.82")  # where runs diverge
    axes.grid(visible=False)  # the cells are one
    axes.add_collection(_hatched(gains))
    axes.plot([], [], "s", color="0.82", label="diverges")
    axes.plot([], [], "s", color="none", markeredgecolor="k", markeredgewidth=0.4, label="hatched: errors beyond twice")
    bar = figure.colorbar(colours, ax=axes, label="worst scaled deviation", pad=0.01)
    if not tuning.unstabilised.diverged:
        bar.ax.axhline(tuning.unstabilised.deviation, color="crimson", linewidth=2)
        axes.plot([], [], "_", color="crimson", markeredgewidth=2, label=f"no gains: {_short(tuning.unstabilised)}")
    axes.set_yscale("log")
    axes.set_ylabel(r"damping ratio $\zeta$  (damping $2\zeta\omega$)")
    axes.set_yticks([0.2, 0.5, 1, 2, 3], ["0.2", "0.5", "1", "2", "3"])
    axes.minorticks_off()
    edges = _edges(gains.rates), _edges(gains.ratios)
    for mark, style in zip(tuning.textbook, MARKERS, strict=False):
        inside = edges[0][0] <= mark.rate <= edges[0][-1]
        height = float(np.clip(mark.ratio, edges[1][0], edges[1][-1]))
        if inside:
            axes.plot(
                mark.rate,
                height,
                style,
                color="white",
                markeredgecolor="k",
                markersize=7,
                clip_on=False,
                label=_told(mark),
            )
    if tuning.rate is not None and tuning.ratio is not None:
        height = float(np.clip(tuning.ratio, edges[1][0], edges[1][-1]))
        label = f"chosen: {_short(tuning.numbers)}"
        axes.plot(
            tuning.rate, height, "*", color="gold", markeredgecolor="k", markersize=19, clip_on=False, label=label
        )
    axes.set_xlim(edges[0][0], edges[0][-1])
    axes.set_ylim(edges[1][0], edges[1][-1])


def _hatched(gains: GainMap) -> Any:
    """The cells whose runs end well, but with errors beyond their limits."""
    from matplotlib.collections import PolyCollection

    x, y = _edges(gains.rates), _edges(gains.ratios)
    beyond = np.argwhere(~gains.allowed & np.isfinite(gains.deviation))
    corners = [[(x[j], y[i]), (x[j + 1], y[i]), (x[j + 1], y[i + 1]), (x[j], y[i + 1])] for i, j in beyond]
    return PolyCollection(corners, facecolor="none", edgecolor="0.1", linewidth=0.0, hatch="////")


def _curve(axes: Any, tuning: Tuning) -> None:
    gains = tuning.map
    deviation, allowed = gains.deviation[0], gains.allowed[0]
    shown = np.where(np.isfinite(deviation), deviation, np.nan)
    axes.loglog(gains.rates, shown, color="0.6")
    axes.loglog(gains.rates, np.where(allowed, shown, np.nan), "o-", color="tab:blue", label="errors within twice")
    axes.loglog(gains.rates, np.where(allowed, np.nan, shown), "x", color="0.4", label="errors beyond twice")
    if not tuning.unstabilised.diverged:
        axes.axhline(tuning.unstabilised.deviation, color="crimson", label=f"no gains: {_short(tuning.unstabilised)}")
    for mark, style in zip(tuning.textbook, MARKERS, strict=False):
        if not mark.numbers.diverged:
            axes.plot(mark.rate, mark.numbers.deviation, style, color="white", markeredgecolor="k", label=_told(mark))
    if tuning.rate is not None:
        label = f"chosen: {_short(tuning.numbers)}"
        axes.plot(
            tuning.rate, tuning.numbers.deviation, "*", color="gold", markeredgecolor="k", markersize=17, label=label
        )
    axes.set_ylabel("worst scaled deviation")


def _none(tuning: Tuning, finite: np.ndarray) -> float:
    return tuning.unstabilised.deviation if not tuning.unstabilised.diverged else float(np.nanmax(finite))


def _short(numbers: Any) -> str:
    return "diverges" if numbers.diverged else f"{numbers.deviation:.2g}"


def _told(mark: MarkedGains) -> str:
    return f"{mark.name}: {_short(mark.numbers)}"
