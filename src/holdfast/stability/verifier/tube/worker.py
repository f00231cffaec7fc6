"""One process of several that look at the cells of a tube: claims on its input, lines of progress and findings out."""

from __future__ import annotations

import pickle
import sys
from functools import lru_cache
from threading import Lock

from holdfast.stability.verifier.check import Reading, reading
from holdfast.stability.verifier.refusal import Refused, Unconfirmed
from holdfast.stability.verifier.steps.cover import Budget
from holdfast.stability.verifier.tube.check import fitting
from holdfast.stability.verifier.tube.cover import Failing, Progress, TubeCover

ONE_AT_A_TIME = Lock()  # balls have one precision for all threads of a process


def look(packed: bytes, first: int, every: int, tell: Progress | None = None) -> str:
    """Look at every n-th of the cells that `Workers` or a cluster ask for; a line that tells what was found."""
    with ONE_AT_A_TIME:
        return _looked(packed, first, every, tell)


def _looked(packed: bytes, first: int, every: int, tell: Progress | None) -> str:
    try:
        read, place, blocks, (cells, seconds) = _unpacked(packed)
        budget = Budget(seconds, cells)
        claimed = [fitting(read, read.claims.blocks[k]) for k in blocks]
        count = TubeCover(read, read.claims.tubes[place], claimed, budget, tell).confirmed(first, every)
    except Failing as failing:
        return f"failing {failing.place} {failing.words}"
    except Refused as refusal:
        return f"refused {refusal}"
    except Unconfirmed as doubt:
        return f"unconfirmed {doubt}"
    return f"done {count} {budget.spent}"


@lru_cache(maxsize=1)
def _unpacked(packed: bytes) -> tuple[Reading, int, list[int], tuple[int, float]]:
    """What is claimed, derived once by each process; the tube, its blocks, and the cells and seconds that are left."""
    claims, place, blocks, left = pickle.loads(packed)
    return reading(claims), place, blocks, left


def _share(done: float) -> None:
    _say(f"share {done:.4f}")


def _say(line: str) -> None:
    print(line.replace("\n", " "), flush=True)


def main() -> None:
    packed, first, every = pickle.loads(sys.stdin.buffer.read())
    _say(look(packed, first, every, _share))


if __name__ == "__main__":
    main()
