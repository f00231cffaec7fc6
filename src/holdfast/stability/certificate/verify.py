"""Re-checking a certificate by somebody else: the verifier's own reading, derivation and arithmetic, and then attacks.

`holdfast.stability.verifier` decides; it shares no code with the search for proofs. Beside it the run that the
certificate speaks of is made again, natively, and each of its steps is held against what is claimed
(`holdfast.stability.certificate.attack`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.common.arguments import clear_arguments
from holdfast.common.cluster import cluster
from holdfast.errors import BadRequest
from holdfast.stability.certificate.certificate import Certificate
from holdfast.stability.certificate.recheck import Recheck
from holdfast.stability.verifier.check import CELLS, reading
from holdfast.stability.verifier.comparison import same_problem
from holdfast.stability.verifier.reading.file import Claims, claims, read
from holdfast.stability.verifier.refusal import Refused, Unconfirmed, Unreadable
from holdfast.stability.verifier.steps.cover import Budget

FALSE = "does not hold"  # in a line that contradicts a claim, and in no other
ELSEWHERE = "it is about another problem"
NOTHING = "nothing in it is proved, so there is nothing to verify"


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether a certificate holds, and what was found, line by line."""

    holds: bool
    findings: tuple[str, ...]
    readable: bool = True  # False: what was given is no certificate, so that nothing is said of its claims
    doubts: tuple[str, ...] = ()  # of the findings, those that are not "holds"

    def __bool__(self) -> bool:
        return self.holds

    @property
    def words(self) -> str:
        """In one line: a proof that was not re-checked is still one, and is never called re-checked."""
        if self.holds:
            return "re-checked by the verifier: holds"
        if self.contradicts:
            return f"contradicted by the verifier: {next(line for line in self.findings if FALSE in line)}"
        return f"proved; not re-checked here: {self.doubts[0]}" if self.doubts else f"not confirmed: {self.findings[0]}"

    @property
    def verdict(self) -> str:
        """In a word or two."""
        if self.holds:
            return "holds"
        if not self.readable:
            return "not readable"
        if self.findings == (NOTHING,):
            return "nothing to verify"
        if self.findings[0].startswith(ELSEWHERE):
            return "about another problem"
        return "not re-checked" if self.unconfirmed else "does not hold"

    @property
    def unconfirmed(self) -> bool:
        """Whether nothing was found to be wrong, and something not shown to be right."""
        return bool(self.doubts) and not self.contradicts

    @property
    def contradicts(self) -> bool:
        """Whether a claim was found to be wrong, and not only beyond what the verifier can do."""
        return any(FALSE in line for line in self.findings)


@clear_arguments
def verify(
    certificate: Certificate | str | Path,
    problem: object = None,
    *,
    seconds: float | None = None,
    cells: int = CELLS,
    progress: Callable[[float], None] | None = None,
    on: Any = None,
) -> Verification:
    """Re-check every proved block of a certificate, given itself or as its file.

    With `problem` (a `Problem`, or its file) the certificate must be about that problem: the same mathematical
    statement with the same numbers. `cells` is the budget of the whole check, the same on every machine; `seconds` ends
    it earlier, where that is asked for. `progress` is called with the fraction of a tube or of a region that is done.
    Cells of a tube are looked at on all cores; with `on` (a dask client, its address, or "local") by a cluster.
    """
    if not isinstance(certificate, Certificate | str | Path):
        raise BadRequest(
            f"{type(certificate).__name__} is no certificate, nor the name of a file",
            where="hf.verify",
            fix="the certificate, or its file, comes first, then the problem",
        )
    for name, least in (("cells", cells), ("seconds", 1 if seconds is None else seconds)):
        if isinstance(least, bool) or not isinstance(least, int | float | np.number) or not least >= 0:
            raise BadRequest(f"{name} = {least!r} is no budget", where=name, fix="give a number that is not negative")
    try:
        stated = claims(certificate.to_dict() if isinstance(certificate, Certificate) else read(certificate))
        if not any(block.claimed for block in stated.blocks):
            return Verification(False, (NOTHING,))
        differences = [] if problem is None else _differences(stated, problem)
        if differences:
            return Verification(False, tuple(f"{ELSEWHERE}: {line}" for line in differences))
        made = reading(stated)
    except Unreadable as fault:
        return Verification(False, (str(fault),), readable=False)
    except Refused as refusal:
        return Verification(False, (str(refusal),))
    except Unconfirmed as doubt:
        return Verification(False, (str(doubt),), doubts=(str(doubt),))
    made.tell(_of_phases(stated, problem))
    budget = Budget(math.inf if seconds is None else seconds, cells, progress=progress)
    with nullcontext() if on is None else cluster(on) as client:
        found = Recheck(made, budget, progress, client).findings()
    doubts = tuple(one.words for one in found if one.confirmed is False)
    return Verification(not doubts, (*(one.words for one in found), *made.notes), doubts=doubts)


def _of_phases(stated: Claims, problem: object) -> str:
    """Where programs follow one another, a certificate speaks of one; nothing where there is but one."""
    from holdfast.problem.file.load_dump import load

    meant = load(problem) if isinstance(problem, str | Path) else problem
    if not getattr(meant, "phases", None):
        return ""
    held = f"held from t = {stated.begin:g} for {stated.duration:g}"
    return f"the problem has phases: this is of one program, {held}, and says nothing of when its run takes up another"


def _differences(stated: Claims, problem: object) -> list[str]:
    """In what the problem of a certificate is not the one that is meant.

    A file is read by the verifier's own reader where that can. It knows what certificates hold, which is not all that
    a file may say: copies by [repeat], parameters by others and files of data are put into its words first.
    """
    from holdfast.problem.file.load_dump import dumps, load

    if not isinstance(problem, str | Path):
        return same_problem(stated, dumps(problem))  # type: ignore[arg-type]
    meant = load(problem)
    assert meant.source is not None  # a file has a text
    try:
        return same_problem(stated, meant.source.text)
    except (Refused, Unconfirmed):
        return same_problem(stated, dumps(meant))
