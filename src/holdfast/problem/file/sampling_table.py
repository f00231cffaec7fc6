"""The table [program.sampling] of a problem file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.errors import BadStatement
from holdfast.problem.controller import Sampling
from holdfast.problem.file.entries import Entries, plain

KEYS = "step delay noise seed rates".split()


def read_sampling(program: Mapping[str, Any], entries: Entries) -> Sampling | None:
    """How often the controller measures, if the program says so."""
    if "sampling" not in program:
        return None
    path = ("program", "sampling")
    table = plain(entries.table(program, path, known=KEYS))
    given = {key: value for key, value in table.items() if key in KEYS}
    if "step" not in given:
        entries.findings.add(path, "the sampling does not say how often", "e.g. step = 0.001")
        return None
    try:
        return Sampling(**given)
    except BadStatement as error:
        entries.findings.blame_where(error)
        return None
