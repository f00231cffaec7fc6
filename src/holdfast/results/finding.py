"""What was found against a run, in words."""

from __future__ import annotations

from dataclasses import dataclass


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
