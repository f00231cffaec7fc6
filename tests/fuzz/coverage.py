"""Which lines of the reading code a text has reached: what reaches a new one is worth breeding from.

Python 3.12 and later tell of each line once (`sys.monitoring`); before, a trace function does, which leaves code alone
of which all lines are known. Either way a text that reaches nothing new costs little.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import holdfast

ROOT = Path(holdfast.__file__).parent
READING = tuple(str(ROOT / part) for part in ("problem", "equations", "graph", "results"))
TOOL = 4  # of the numbers that Python leaves to tools


class Coverage:
    """The lines reached so far, in the modules that files are read, derived and started by."""

    def __init__(self) -> None:
        self.lines: set[tuple[str, int]] = set()
        self._unknown: dict[CodeType, set[int]] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Note the lines that are reached meanwhile."""
        if hasattr(sys, "monitoring"):
            with self._monitored():
                yield
            return
        before = sys.gettrace()
        sys.settrace(self._entered)
        try:
            yield
        finally:
            sys.settrace(before)

    def grows(self, work: Callable[[], Any]) -> bool:
        """Whether this work reaches a new line."""
        before = len(self.lines)
        with self.watching():
            work()
        return len(self.lines) > before

    # ── Python 3.11 ───────────────────────────────────────────────────────────────────────────────

    def _entered(self, frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(READING):
            return None
        unknown = self._unknown.setdefault(code, {line for *_, line in code.co_lines() if line})
        return self._line if unknown else None

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if event == "line" and frame.f_lineno in self._unknown[code]:
            self._unknown[code].discard(frame.f_lineno)
            self.lines.add((code.co_filename, frame.f_lineno))
        return self._line

    # ── Python 3.12 and later ─────────────────────────────────────────────────────────────────────

    @contextmanager
    def _monitored(self) -> Iterator[None]:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]

        def reached(code: CodeType, line: int) -> Any:
            if code.co_filename.startswith(READING):
                self.lines.add((code.co_filename, line))
            return monitoring.DISABLE

        monitoring.use_tool_id(TOOL, "holdfast fuzz")
        monitoring.register_callback(TOOL, monitoring.events.LINE, reached)
        monitoring.set_events(TOOL, monitoring.events.LINE)
        try:
            yield
        finally:
            monitoring.set_events(TOOL, 0)
            monitoring.free_tool_id(TOOL)
