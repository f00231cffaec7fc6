"""How a run ended."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """The codes below 5 are those of the drivers."""

    completed = 0
    not_finite = 1  # the state or its rates became infinite or nan
    rank_lost = 2  # a pivot of the elimination vanished or changed its sign
    event = 3  # an event function changed its sign
    not_converged = 4  # Newton's method of an implicit scheme found no solution
    step_collapsed = 5  # an adaptive scheme found no step small enough
    interrupted = 6  # by the caller, or by Ctrl-C

    @property
    def sentence(self) -> str:
        return _SENTENCES[self]


_SENTENCES = {
    Status.completed: "The run reached its final time.",
    Status.not_finite: "The state or its rates became infinite or undefined.",
    Status.rank_lost: "The system lost its rank: a pivot of the elimination vanished or changed its sign.",
    Status.event: "An event happened.",
    Status.not_converged: "The equations of an implicit step have not converged.",
    Status.step_collapsed: "The step fell below what the time can resolve.",
    Status.interrupted: "The run was interrupted; what was computed until then is kept.",
}
