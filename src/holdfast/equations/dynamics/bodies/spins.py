"""Forms of the equations that need coordinates whose rates are theirs: a spin has none."""

from __future__ import annotations

from holdfast.equations.dynamics.inputs import Inputs
from holdfast.errors import BadRequest


def refuse_spins(inputs: Inputs, form: str) -> None:
    """Refuse a form that differentiates energies by coordinates alone, where bodies turn freely."""
    if inputs.balls:
        spin = inputs.v[inputs.balls[0].places[0]].data
        raise BadRequest(
            f"{form} needs coordinates, and {spin} is a spin, which is the rate of none",
            where="joints",
            fix="state the turn by angles: Universal and Revolute joints in a row",
        )
