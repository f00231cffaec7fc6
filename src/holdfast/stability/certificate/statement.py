"""What a certificate says, in sentences: of one block, and of the whole as a page for a referee."""

from __future__ import annotations

import math
from typing import Any

from holdfast.common.rounded import exactly, rounded_down, rounded_up
from holdfast.stability.certificate.tube_proof import OrderedProof, Tube, TubeProof

TURN = 2 * math.pi
IN_NORM = "in the norm of the proof"  # how starts are compared, all deviations of a block together


def promise(block: Any, scheme: str, step: float | None) -> str:
    """What is proved of a block, in a sentence, of every run or in the mean square; nothing without a proof.

    Without a step it is proved of runs that take the steps that this one chose.
    """
    if block.mean_square is not None:
        return str(block.mean_square.promise(block.names, step))
    if block.proof is None:
        return ""
    run = f"{scheme} with this run's own steps" if step is None else f"{scheme} with step {exactly(step)}"
    if isinstance(block.proof, OrderedProof):
        return _ordered_promise(block, run)
    if isinstance(block.proof, TubeProof):
        return _tube_promise(block, run)
    while_in = "while the state stays in Omega"
    if not block.settles:
        return (
            f"Proved: from any start in Omega that deviates no more than this one {IN_NORM}, every step of {run} "
            f"keeps {block.bounded()} {while_in}."
        )
    if block.from_step == 0 and block.start_size is not None:
        return (
            f"Proved: from any start in Omega that deviates no more than this one {IN_NORM}, {run} keeps "
            f"{block.bounded_at_first()} from the start on, and, as that deviation dies away by "
            f"{rounded_up(block.proof.gamma, 6)} a step, {block.bounded()} once settled, {while_in}."
        )
    return (
        f"Proved: once the deviation has entered the tube (this run: from step {block.from_step} on; the steps before "
        f"it are only checked), {run} keeps {block.bounded()} once settled, {while_in}."
    )


def _tube_promise(block: Any, run: str) -> str:
    tube, kept = block.proof.tube, block.bounded()
    if block.settles:
        first = block.bounded_at_first()
        kept = f"{first and f'{first} from the start on, and '}{kept} once the start's deviation has died away"
    return (
        f"Proved: every run of {run} that starts with no more deviation than this one {IN_NORM}, and whose states all "
        f"stay {near_words(tube)}, keeps {kept}, rounding included. {_at_rest(tube)}"
        "Nothing is said of runs that leave the tube, nor that a neighbour stays in it."
    )


def _at_rest(tube: Tube) -> str:
    return "Where this run rests, the factor changes nothing. " if tube.speeds else ""


def _ordered_promise(block: Any, run: str) -> str:
    width, tube = rounded_down(100 * block.proof.tube.width, 2), block.proof.tube
    return (
        f"Proved: every run of {run} that starts with no more of any deviation than this one, and whose states all "
        f"stay within {width} % of {range_words(tube)} at the same time, keeps {block.bounded()} for "
        f"{block.proof.steps} steps, rounding included. Nothing is said of runs that leave the tube, nor that a "
        "neighbour stays in it, nor of what follows."
    )


def tube_words(tube: Tube) -> str:
    """How wide a tube is, in words: the half-width of each state, rounded inward."""
    parts = [f"{name} +- {rounded_down(tube.width * scale, 2)}" for name, scale in tube.scales]
    return f"{near_words(tube)}: {', '.join(parts)}"


def near_words(tube: Tube) -> str:
    """Near what of this run the states of others are, and when: `within 0.1 % of each state's range ...`."""
    return f"within {rounded_down(100 * tube.width, 2)} % of {range_words(tube)} {when_words(tube)}"


def when_words(tube: Tube) -> str:
    """When, and at which speeds, this run is near; the ends of what its speeds are multiplied by are rounded inward."""
    if not tube.speeds:
        return "at the same time"
    low, high = rounded_up(1 - tube.speeds, 6), rounded_down(1 + tube.speeds, 6)
    return f"at some time or other, with all its speeds there multiplied by some factor from {low} to {high}"


def range_words(tube: Tube) -> str:
    """What the width of a tube is a part of: an angle that made more than a turn counts for one."""
    turned = [name for name, scale in tube.scales if scale == TURN]
    most = f" (of a turn for {', '.join(turned)})" if turned else ""
    return f"each state's range of this run{most}"
