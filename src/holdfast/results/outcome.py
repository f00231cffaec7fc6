"""How a run ended, in words."""

from __future__ import annotations

from enum import Enum


class Outcome(Enum):
    """One sentence per way a run can end; all that was computed before is kept."""

    completed = "The run reached its final time."
    event = "The run was ended by an event."
    off_program = "The run came to its end, but it started off the program under a law that does not attract."
    deviation_grew = "The deviation grew instead of decaying. Use a smaller step or tolerance, or other gains."
    not_finite = "A value became infinite or undefined; the rows before it are kept."
    rank_lost = "The equations became singular: a pivot vanished. The rows before it are kept."
    mass_gone = "A mass reached zero: nothing is left to move. The rows before it are kept."
    step_collapsed = "The step size became too small to go on; the tolerance cannot be met here."
    newton_failed = "The implicit equations of a step could not be solved. Use a smaller step or tolerance."
    projection_failed = "The state could not be moved back onto the program; the rows before are kept."
    no_start = "No state near the start keeps the program, so there was no run."
    interrupted = "The run was interrupted; the rows so far are kept."

    @property
    def success(self) -> bool:
        return self in (Outcome.completed, Outcome.event)
