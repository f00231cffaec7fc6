"""The text that a problem was read from: what the user wrote, in the user's order, with comments."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError

if TYPE_CHECKING:
    from holdfast.problem.problem import Problem
    from holdfast.problem.program import Program
    from holdfast.problem.system import System


@dataclass(frozen=True, slots=True, eq=False)
class FileText:
    """A text, with the system and the program that were read from it."""

    text: str
    system: System
    program: Program

    def states(self, problem: Problem) -> bool:
        """Whether the problem still is what the text says, its law and its run aside: those may be chosen later."""
        if problem.system is not self.system and problem.system != self.system:
            return False
        here = problem.program
        return here is self.program or replace(here, law=self.program.law) == self.program

    def says(self, problem: Problem) -> bool:
        """Whether the text, read by itself, is this very problem."""
        from holdfast.problem.file.load_dump import loads

        try:
            return loads(self.text) == problem
        except HoldfastError:  # its data lie in files beside it
            return False

    def tables(self) -> dict[str, Any]:
        """The tables of the text, expressions as they were written."""
        return tomllib.loads(self.text)
