"""Figures of an ensemble, drawn with matplotlib; each function returns the axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.common.nearest import did_you_mean
from holdfast.errors import BadRequest
from holdfast.results.style import in_house_style

if TYPE_CHECKING:
    from holdfast.results.ensembles.ensemble import Ensemble

BANDS = ((5, 95), (25, 75))  # per cent of the cases, from the widest on
BINS = 40  # of a histogram, at most
MOST_LINES = 2000  # cases that parallel coordinates show


@in_house_style
def plot(runs: Ensemble, what: Any, kind: str) -> Any:
    """One quantity of all cases."""
    if kind not in KINDS:
        raise BadRequest(
            f"there is no figure {kind!r}", where="plot(kind=...)", fix=did_you_mean(kind, KINDS, ", ".join(KINDS))
        )
    return KINDS[kind](runs, what)


def _bands(runs: Ensemble, what: Any) -> Any:
    """The median over time, and the bands in which half and nine tenths of the cases lie."""
    import matplotlib.pyplot as plt

    values, (_, axes) = np.asarray(runs[what]), plt.subplots()
    seen = np.isfinite(values).any(axis=0)
    times, shown = runs.times[seen], values[:, seen]
    with np.errstate(all="ignore"):
        for low, high in BANDS:
            lower, upper = np.nanpercentile(shown, [low, high], axis=0)
            words = f"{high - low} % of cases"
            axes.fill_between(times, lower, upper, color="C0", alpha=0.25, linewidth=0, label=words)
        axes.plot(times, np.nanmedian(shown, axis=0), color="C0", label="median")
    axes.set_xlabel("time")
    axes.set_ylabel(str(what))
    axes.legend()
    return axes


def _histogram(runs: Ensemble, what: Any) -> Any:
    """How a reduction, ``max(abs(lambda_rod))``, is spread over the cases."""
    import matplotlib.pyplot as plt

    values, (_, axes) = np.asarray(runs.reduce(what)), plt.subplots()
    known = values[np.isfinite(values)]
    if not known.size:
        raise BadRequest(f"no case has a value of {what}", where="plot", fix="look at runs.outcomes")
    axes.hist(known, bins=min(BINS, max(1, round(np.sqrt(len(known))))), color="C0")
    missing = len(values) - len(known)
    axes.set_xlabel(str(what))
    axes.set_ylabel("cases" + (f" ({missing} have no value)" if missing else ""))
    return axes


def _parallel(runs: Ensemble, what: Any) -> Any:
    """The columns of the cases and a reduction beside each other, a line for each case, coloured by the reduction."""
    import matplotlib.pyplot as plt

    result = np.asarray(runs.reduce(what))
    columns = {**runs.cases, str(what): result}
    table, (_, axes) = np.array([np.asarray(column, dtype=float) for column in columns.values()]), plt.subplots()
    good = np.isfinite(table).all(axis=0)
    table = table[:, good][:, :MOST_LINES]
    if not table.size:
        raise BadRequest(f"no case has a value of {what}", where="plot", fix="look at runs.outcomes")
    low, high = table.min(axis=1, keepdims=True), table.max(axis=1, keepdims=True)
    scaled = (table - low) / np.where(high > low, high - low, 1.0)
    colours = plt.get_cmap("viridis")(scaled[-1])
    for line, colour in zip(scaled.T, colours, strict=True):
        axes.plot(range(len(columns)), line, color=colour, alpha=0.6, linewidth=0.8)
    axes.set_xticks(range(len(columns)), list(columns))
    for k, (least, most) in enumerate(zip(low[:, 0], high[:, 0], strict=True)):
        axes.axvline(k, color="0.8", linewidth=0.8, zorder=0)
        axes.annotate(f"{most:.4g}", (k, 1.03), ha="center")
        axes.annotate(f"{least:.4g}", (k, -0.08), ha="center")
    axes.set_ylim(-0.12, 1.12)
    axes.set_yticks([])
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
    return axes


KINDS: dict[str, Callable[[Any, Any], Any]] = {"bands": _bands, "histogram": _histogram, "parallel": _parallel}
