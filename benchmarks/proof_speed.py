"""How long does it take to verify a proof?  Seconds, a minute for the longest of the examples; finding it takes less.

Records {problem, by, scheme, step, error, seconds, commit}: processor seconds, the middle of three, of `certify` and of
`verify`, in one process and after a first proof, so that nothing is loaded any more. `error` is the largest bound of a
deviation that is proved. Verifying includes making the run again and attacking the claim.

    python -m benchmarks.proof_speed [words of the problems' names]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from statistics import median
from time import process_time
from typing import Any

import holdfast as hf
from benchmarks.engine_speed import commit
from benchmarks.speed import Ratio, Record, record
from tests.stability.proofs import PROOFS

EFFORT = 6.0  # seconds that a search may take
REPEATS = 3
MOST = 120.0  # seconds that verifying may take on two cores
WARM = "pendulum, Euler"


def spent(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds, the middle of some, and what was found."""
    times, found = [], None
    for _ in range(REPEATS):
        began = process_time()
        found = work()
        times.append(process_time() - began)
    return median(times), found


def measured(name: str) -> tuple[list[Record], Ratio | None]:
    """Both times of one problem; nothing where no block of it is proved."""
    equations = hf.derive(hf.loads(PROOFS[name]))
    proving, certificate = spent(lambda: hf.certify(equations, effort=EFFORT))
    proved = [block for block in certificate.blocks if block.label is hf.Label.proved]
    if not proved:
        return [], None
    verifying, found = spent(lambda: hf.verify(certificate))
    if not found:
        raise RuntimeError(f"{name}: {'; '.join(found.findings)}")
    largest = max(max(block.bounds) for block in proved)
    scheme, step = certificate.scheme, certificate.step
    times = {"certify": proving, "verify": verifying}
    made = [record(name, by, scheme, step, largest, seconds) for by, seconds in times.items()]
    return made, Ratio(f"verify, as a part of {MOST:g} s: {name}", verifying / MOST, 1.0, most=True)


def records(words: Iterable[str] = ()) -> tuple[list[Record], list[Ratio]]:
    """All problems of the family, or those with one of some words in their name."""
    chosen = [name for name in PROOFS if not words or any(word in name for word in words)]
    hf.verify(hf.certify(hf.derive(hf.loads(PROOFS[WARM])), effort=EFFORT))
    made, ratios = list[Record](), list[Ratio]()
    for name in chosen:
        found, ratio = measured(name)
        made += [one | {"commit": commit()} for one in found]
        ratios += [] if ratio is None else [ratio]
        print(ratio or f"{name}: not proved within {EFFORT:g} s", file=sys.stderr, flush=True)
    return made, ratios


if __name__ == "__main__":
    print(json.dumps(records(sys.argv[1:])[0], indent=1))
