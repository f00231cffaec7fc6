"""One process of several that look at the cells of a tube: claims on its input, lines of progress and findings out."""

from __future__ import annotations

import pickle
import sys

from holdfast.stability.verifier.check import reading
from holdfast.stability.verifier.refusal import Refused, Unconfirmed
from holdfast.stability.verifier.steps.cover import Budget
from holdfast.stability.verifier.tube.cover import Failing, TubeCover


def main() -> None:
    claims, place, blocks, (first, every), (cells, seconds) = pickle.loads(sys.stdin.buffer.read())
    from holdfast.stability.verifier.tube.check import fitting

    budget = Budget(seconds, cells)
    try:
        read = reading(claims)
        tube = claims.tubes[place]
        cover = TubeCover(read, tube, [fitting(read, claims.blocks[k]) for k in blocks], budget, _share)
        count = cover.confirmed(first, every)
    except Failing as failing:
        _say(f"failing {failing.place} {failing.words}")
    except Refused as refusal:
        _say(f"refused {refusal}")
    except Unconfirmed as doubt:
        _say(f"unconfirmed {doubt}")
    else:
        _say(f"done {count} {budget.spent}")


def _share(done: float) -> None:
    _say(f"share {done:.4f}")


def _say(line: str) -> None:
    print(line.replace("\n", " "), flush=True)


if __name__ == "__main__":
    main()
