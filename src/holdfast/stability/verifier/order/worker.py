"""One process of several that look at the steps from rows: claims on its input, lines of progress and findings out."""

from __future__ import annotations

import pickle
import sys

from holdfast.stability.verifier.check import reading
from holdfast.stability.verifier.order.check import boxes_of
from holdfast.stability.verifier.order.rows import RowSteps, packed
from holdfast.stability.verifier.refusal import Refused, Unconfirmed


def look(task: bytes, first: int, every: int) -> str:
    """Every n-th batch of rows that `steps_of_rows` asks for; a line that tells what was found."""
    claims, place = pickle.loads(task)
    claim = claims.blocks[place].ordered
    try:
        read = reading(claims)
        steps = RowSteps(read, claim["names"], boxes_of(read, claim))
        return f"done {packed(steps.every(first, every, lambda share: _say(f'share {share:.4f}')))}"
    except Refused as refusal:
        return f"refused {refusal}"
    except Unconfirmed as doubt:
        return f"unconfirmed {doubt}"


def _say(line: str) -> None:
    print(line.replace("\n", " "), flush=True)


def main() -> None:
    task, first, every = pickle.loads(sys.stdin.buffer.read())
    _say(look(task, first, every))


if __name__ == "__main__":
    main()
