"""What was found against a run, in words."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.results.judgement.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a reader must know: its name, a sentence, whether the run fails by it, when, and of what."""

    name: str
    text: str
    failing: bool
    time: float | None = None
    quantity: str = ""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Judgement:
    """How a run ended, and what was found against it."""

    outcome: Outcome
    findings: tuple[Finding, ...] = ()

    def __call__(self) -> Judgement:
        """Itself: what is known already stands where a judgement is still to be made."""
        return self
