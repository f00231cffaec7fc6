"""How a problem is to be run when nobody says otherwise."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Literal

from holdfast.common.arguments import clear_arguments
from holdfast.errors import BadStatement

StartPolicy = Literal["project", "keep", "raise"]
LARGEST = 2**63  # of a count
POSITIVE = ("step", "tolerance", "duration", "longest_step", "absolute")


def instead_of(words: str) -> str:
    """What to write where a text stands in the place of a number."""
    try:
        float(words)
    except ValueError:
        return "give a number"
    return "remove the quotes"


@clear_arguments
@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Scheme, step or tolerance, and duration. `begin` is the time of the start values, `every` thins the rows kept.

    A run of fixed steps that states no `every` keeps each step, or as many as 100 000 rows have room for. An adaptive
    scheme takes no step longer than `longest_step` (default: a hundredth of the duration); `absolute` is its absolute
    tolerance (default: for each state its size times the tolerance). `at` keeps the rows at given times only.
    """

    scheme: str = "rk4"
    step: float | None = None
    tolerance: float | None = None
    duration: float | None = None
    begin: float = 0.0
    every: int | None = None
    seed: int = 0
    start_policy: StartPolicy | None = None
    longest_step: float | None = None
    absolute: float | None = None
    at: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        scheme = self.scheme if isinstance(self.scheme, str) else getattr(self.scheme, "name", None)
        if not isinstance(scheme, str):
            raise BadStatement(f"{self.scheme!r} is not the name of a scheme", where="run.scheme", fix='e.g. "rk4"')
        object.__setattr__(self, "scheme", scheme)
        for name in (*POSITIVE, "begin", "every", "seed"):
            self._refuse_text(name)
        for name in POSITIVE:
            self._check_positive(name)
        if not _is_number(self.begin) or not math.isfinite(self.begin):
            raise BadStatement(f"begin = {self.begin!r} is not a time", where="run.begin", fix="give a finite number")
        for name, least in (("every", 1), ("seed", 0)):
            value = getattr(self, name)
            if value is None and name == "every":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value < LARGEST:
                shown = str(value) if not isinstance(value, int) or abs(value) < LARGEST else "a number out of range"
                fix = f"a whole number, at least {least}, below 2**63"
                raise BadStatement(f"{name} = {shown}", where=f"run.{name}", fix=fix)
        self._check_times()
        if self.start_policy not in (None, "project", "keep", "raise"):
            raise BadStatement(
                f"start_policy = {self.start_policy!r} is not known",
                where="run.start_policy",
                fix='"project", "keep" or "raise"',
            )

    def _check_times(self) -> None:
        if self.at is None:
            return
        listed = self.at if isinstance(self.at, (list, tuple)) else ()
        if not listed or not all(_is_number(time) and math.isfinite(time) for time in listed):
            raise BadStatement(f"at = {self.at!r} are not times", where="run.at", fix="e.g. [0, 0.5, 1]")
        if any(later <= time for time, later in pairwise(listed)):
            raise BadStatement("the times of at do not increase", where="run.at", fix="give them in order, each once")
        object.__setattr__(self, "at", tuple(float(time) for time in listed))

    def _refuse_text(self, name: str) -> None:
        value = getattr(self, name)
        if isinstance(value, str):
            what = f"{name} = {value[:40]!r} is a text, not a number"
            raise BadStatement(what, where=f"run.{name}", fix=instead_of(value))

    def _check_positive(self, name: str) -> None:
        value = getattr(self, name)
        if value is None:
            return
        if not _is_number(value) or not math.isfinite(value) or value <= 0:
            raise BadStatement(f"{name} = {value!r} is not positive", where=f"run.{name}", fix="give a positive number")
        object.__setattr__(self, name, float(value))

    def stated(self) -> dict[str, object]:
        """What differs from the defaults, for writing it down."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
