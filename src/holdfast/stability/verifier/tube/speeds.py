"""Tubes that hold other speeds: which states these are, and that time decides nothing.

A cell bounds a step from each of its states at the times of the cell. Where neither the equations nor the code that is
run uses the time, a step from the same state at any other time is the same, so that cells hold at whatever time.
"""

from __future__ import annotations

import numpy as np

from holdfast.stability.verifier.check import Reading
from holdfast.stability.verifier.numbers.dag import inputs_of
from holdfast.stability.verifier.numbers.forms import Array
from holdfast.stability.verifier.reading.tubes import StatedTube
from holdfast.stability.verifier.refusal import Unconfirmed, require
from holdfast.stability.verifier.tube.slopes import CodeSlopes


def speeds_of(read: Reading, tube: StatedTube) -> Array | None:
    """By what part of itself the cubic of each state may be larger or less; None where there are no other speeds."""
    if not tube.speeds:
        return None
    rates = {f"{name}_dot" for name in read.stated.coordinates}
    return np.array([tube.speeds if name in rates else 0.0 for name in tube.scales])


def require_no_time(read: Reading) -> None:
    """Refuse a tube with other speeds where time enters, in the equations or in the code."""
    made = read.equations
    if made.mass is None or made.rows is not None or made.solved or made.chained:
        raise Unconfirmed("a tube with other speeds is re-checked of M, E and J alone")
    rows = [node for row in (*made.mass, *made.holders, *made.jacobian.values()) for node in row]
    tables = (made.psi, made.drift, made.demand, made.state_rates)
    nodes = [*rows, *made.bias, *(node for table in tables for node in table.values())]
    require("t" not in inputs_of(nodes), "a tube holds at whatever time, and the equations depend on time")
    used = CodeSlopes(read.code, read.code.rates).inputs
    require("t" not in used, "a tube holds at whatever time, and the code that is run uses the time")
