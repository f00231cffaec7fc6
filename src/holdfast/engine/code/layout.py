"""What must be known of an assembly to run it, once it is compiled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Layout:
    """The constants of the drivers, the Reals of work space, and the operations of all bodies together: those that are
    written out, and those of eliminations by tables.
    """

    constants: Mapping[str, int | float]
    work: int
    operations: int
    by_tables: int = 0
