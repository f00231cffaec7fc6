"""How a run ended, in words."""

from __future__ import annotations

from enum import Enum


class Outcome(Enum):
    """One sentence per way a run can end; all that was computed before is kept."""

    completed = "The run reached its final time."
    event = "The run was ended by an event."
    off_program = "The run came to its end, but it started off the program under a law that does not attract."
    deviation_grew = "The deviation grew instead of decaying. Use a smaller step or tolerance, or other gains."
    diverged = (
        "The motion diverged: it left the program, or grew, out of all proportion. Use a smaller step or tolerance."
    )
    energy_changed = "The energy changed, though nothing does work. Use a smaller step or tolerance."
    driven = "The program is held at a price: correcting its deviations did work. Use a smaller step, or other gains."
    branch_changed = "The motion passed a state at which its constraints depend on each other, onto another branch."
    undefined = "The run came to its end, but a quantity beside the state is infinite or undefined."
    indefinite = "The run came to its end, but the kinetic energy is not positive. Look at the signs of the masses."
    not_finite = "A value became infinite or undefined; the rows before it are kept."
    rank_lost = "The equations became singular: nothing determines the motion there. The rows before it are kept."
    mass_gone = "A mass reached zero: nothing is left to move. The rows before it are kept."
    step_collapsed = "The step size became too small to go on; the tolerance cannot be met here."
    newton_failed = "The implicit equations of a step could not be solved. Use a smaller step or tolerance."
    projection_failed = "The state could not be moved back onto the program; the rows before are kept."
    no_phase = "The run stopped where its next phase could not begin; the rows before are kept."
    no_start = "No state near the start keeps the program, so there was no run."
    interrupted = "The run was interrupted; the rows so far are kept."

    @property
    def success(self) -> bool:
        return self in (Outcome.completed, Outcome.event)

    @property
    def ran_out(self) -> bool:
        """Whether the last row is the end that was asked for, well or not."""
        return self in _TO_THE_END

    @property
    def holds_program(self) -> bool:
        """Whether the deviations behaved, so that a promise about them may be made, whatever became of the energy."""
        return self in (
            Outcome.completed, Outcome.event, Outcome.off_program, Outcome.energy_changed, Outcome.driven,
        )  # fmt: skip


_TO_THE_END = (
    Outcome.completed,
    Outcome.off_program,
    Outcome.deviation_grew,
    Outcome.energy_changed,
    Outcome.driven,
    Outcome.branch_changed,
    Outcome.undefined,
    Outcome.indefinite,
)
