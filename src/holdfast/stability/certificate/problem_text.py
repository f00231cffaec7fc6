"""The text of the problem that a certificate speaks of, written when it is wanted."""

from __future__ import annotations

from typing import Any

from holdfast.errors import HoldfastError
from holdfast.problem.file.load_dump import dumps
from holdfast.problem.problem import Problem


class ProblemText:
    """A field with the text of a problem; one that is given as a `Problem` is written when somebody asks for it.

    Writing reads the text back to see that it says the same, which takes longer than many a proof.
    """

    def __get__(self, owner: Any, kind: type | None = None) -> str:
        if owner is None:
            raise AttributeError("problem")  # so that the field has no default
        given = vars(owner)["problem"]
        return given if isinstance(given, str) else _text(given)

    def __set__(self, owner: Any, given: str | Problem) -> None:
        vars(owner)["problem"] = given


def _text(problem: Problem) -> str:
    try:
        return dumps(problem)
    except HoldfastError:
        return ""  # a problem with functions that the file's grammar does not have cannot be verified from text
