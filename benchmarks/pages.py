"""Where measurements go: a file of records under benchmarks/results, and a section of docs/benchmarks.md."""

from __future__ import annotations

import json
import os
import platform
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.engine_speed import commit

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"


def keep_records(kind: str, where: str = platform.machine(), **data: Any) -> Path:
    """One file for a kind, a day and a machine, written whole or not at all."""
    now = datetime.now(UTC)
    target = ROOT / "benchmarks" / "results" / f"{kind}-{now:%Y-%m-%d}-{where}.json"
    head = {"schema": 1, "date": now.isoformat(timespec="seconds"), "commit": commit()}
    _written(target, json.dumps(head | data, indent=1) + "\n")
    return target


def keep_head(text: str) -> None:
    """What the page begins with, before its first section."""
    sections = re.split(r"^(?=## )", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]
    _written(PAGE, "\n".join([f"{text.strip()}\n", *(f"{section.rstrip()}\n" for section in sections)]))


def keep_section(title: str, text: str) -> None:
    """A section of the page, in the place of the one with its title, or behind all others."""
    page, section = PAGE.read_text("utf-8"), f"{title}\n\n{text.strip()}\n"
    found = re.compile(rf"^{re.escape(title)}\n.*?(?=^## |\Z)", flags=re.DOTALL | re.MULTILINE)
    if found.search(page):
        _written(PAGE, found.sub(lambda _: f"{section}\n", page, count=1).rstrip() + "\n")
    else:
        _written(PAGE, f"{page.rstrip()}\n\n{section}")


def _written(target: Path, text: str) -> None:
    temporary = target.with_suffix(".part")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, target)
