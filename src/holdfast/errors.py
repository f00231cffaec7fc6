"""What can be wrong, as a tree; each error says what, where, and how to mend it.

HoldfastError
├── BadStatement            a system, program, law or run that cannot mean anything
│   ├── BadExpression       ... in one expression (unknown name, wrong dependence, too large)
│   └── BadFile             ... in a problem file: all its errors in one go, with line and caret
├── ConstraintsDependent    constraints that repeat or contradict each other
├── NoAuthority             a constraint that none of the chosen controls can move
├── SingularSystem          a coordinate with neither inertia nor a constraint that fixes it
├── BadRequest              a call that does not fit: wrong step, unknown name, missing value
├── InternalError           a fault of Holdfast itself, found by one of its own checks
└── Undecided               a branch (abs, min, ...) that a box does not decide: bisect, or refuse
"""

from __future__ import annotations

from dataclasses import dataclass


class HoldfastError(Exception):
    """An error in three parts, so that terminal and page word it alike."""

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        super().__init__(what, where, fix)
        self.what, self.where, self.fix = what, where, fix

    def __str__(self) -> str:
        lines = [self.what]
        if self.where:
            lines.append(f"  where: {self.where}")
        if self.fix:
            lines.append(f"  fix:   {self.fix}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.what, self.where, self.fix))


def _rebuild(kind: type[HoldfastError], what: str, where: str, fix: str) -> HoldfastError:
    return kind(what, where=where, fix=fix)


class BadStatement(HoldfastError):
    """A system, program, law or run that cannot mean anything."""


class BadExpression(BadStatement):
    """An expression with an unknown name, a dependence that is not allowed here, or too large."""


WINDOW = 120  # characters of a line that an error shows


@dataclass(frozen=True, slots=True)
class Misstatement:
    """One error of a problem file: the sentence, the place, and the hint."""

    what: str
    key: str = ""
    line: int = 0
    column: int = 0
    width: int = 1
    source: str = ""
    hint: str = ""

    def text(self, file: str) -> str:
        """The finding as a terminal shows it, with the line of the file and a caret under the place."""
        file = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in file)
        place = f"{file}:{self.line}:{self.column}" if self.line else file
        lines = [f"error: {self.what}", f"  --> {place}" + (f"  ({self.key})" if self.key else "")]
        if self.line and self.source:
            margin = " " * len(str(self.line))
            shown, column = self._window()
            caret = " " * (column - 1) + "^" * max(1, min(self.width, len(shown) - column + 1))
            lines += [f"{margin} |", f"{self.line} | {shown}", f"{margin} | {caret}"]
        if self.hint:
            lines.append(f"  fix:   {self.hint}")
        return "\n".join(lines)

    def _window(self) -> tuple[str, int]:
        """The line, or the part of a long line around the place, and the column in it."""
        if len(self.source) <= WINDOW:
            return self.source, self.column
        start = max(0, self.column - 1 - WINDOW // 3)
        shown = self.source[start : start + WINDOW]
        left, right = "..." * (start > 0), "..." * (start + WINDOW < len(self.source))
        return left + shown + right, self.column - start + len(left)


class BadFile(BadStatement):
    """A problem file with errors: all of them, in the order of the file."""

    def __init__(self, file: str, findings: tuple[Misstatement, ...]) -> None:
        count = "1 error" if len(findings) == 1 else f"{len(findings)} errors"
        super().__init__(f"{file} has {count}", where=file, fix="mend the places shown")
        self.file, self.findings = file, findings

    def __str__(self) -> str:
        return "\n\n".join(finding.text(self.file) for finding in self.findings)

    def __reduce__(self) -> tuple[object, ...]:
        return (BadFile, (self.file, self.findings))


class ConstraintsDependent(HoldfastError):
    """Constraints that repeat or contradict each other."""


class NoAuthority(HoldfastError):
    """A constraint that none of the chosen controls can move."""


class SingularSystem(HoldfastError):
    """A coordinate with neither inertia nor a constraint that fixes it."""


class BadRequest(HoldfastError):
    """A call that does not fit: wrong step, unknown name, missing value."""


REPORT = "this is a fault of Holdfast, not of the problem: please report it with the problem file"


class InternalError(HoldfastError):
    """Two things that Holdfast computed contradict each other: a fault of its own, never of the problem."""

    def __init__(self, what: str, *, where: str = "", fix: str = REPORT) -> None:
        super().__init__(what, where=where, fix=fix)


class Undecided(HoldfastError):
    """A branch (abs, sign, min, max, select) that a box of values does not decide."""
