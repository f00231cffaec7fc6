"""One style for every figure: that of the page, for those that matplotlib draws too.

It is used where nobody chose another: a style set by `plt.style.use` or a matplotlibrc is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
COLOURS = ("#0f5ca8", "#b93a06", "#2a9d8a", "#a84390", "#a8932a", "#41474e")  # apart for colour-blind readers too
INK, QUIET, FAINT = "#1b1f24", "#5b6570", "#e4e6e8"
SHAPE: dict[str, Any] = {  # what the page's own drawings share
    "font.family": "STIXGeneral",
    "mathtext.fontset": "stix",
    "font.size": 10.5,
    "axes.titlesize": 10.5,
    "axes.labelsize": 10.5,
    "xtick.labelsize": 9.5,
    "ytick.labelsize": 9.5,
    "legend.fontsize": 10,
    "legend.frameon": False,
    "legend.handlelength": 1.4,
    "legend.borderaxespad": 0.2,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
STYLE: dict[str, Any] = SHAPE | {
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.8,
    "lines.linewidth": 1.4,
}


@contextmanager
def house_style() -> Iterator[None]:
    """Draw in the style of the page, unless somebody chose colours of their own."""
    import matplotlib as mpl
    from cycler import cycler

    chosen = mpl.rcParams["axes.prop_cycle"] != mpl.rcParamsDefault["axes.prop_cycle"]
    with mpl.rc_context({} if chosen else {**STYLE, "axes.prop_cycle": cycler(color=COLOURS)}):
        yield


def in_house_style(draw: F) -> F:
    """A function that draws, in the style of the page."""

    @wraps(draw)
    def drawn(*args: Any, **named: Any) -> Any:
        with house_style():
            return draw(*args, **named)

    return drawn  # type: ignore[return-value]
