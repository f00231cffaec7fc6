"""The run's own numbers behind the figures of a page, in full: what "CSV" gives for each of them.

Rows spread evenly over the run, as base64 of little-endian doubles: a drawing keeps three digits, a table of the run
all of them. Only what some figure draws is kept.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable
from html import unescape

import numpy as np

from holdfast.page.facts import PageFacts
from holdfast.page.markup.html import Markup

ROWS, FEW_ROWS = 240, 80  # of each quantity, 2.6 kB; of a page with many quantities fewer
NAME = re.compile(r' data-name="([^"]*)"')


def rows_of(subject: PageFacts, parts: Iterable[Markup]) -> str:
    """Times and values of the quantities that the parts of a page draw, as JSON."""
    run = subject.trajectory
    drawn = dict.fromkeys(unescape(name) for part in parts for name in NAME.findall(part))
    names = [name for name in drawn if name in run]
    rows = np.unique(np.linspace(0, len(run.times) - 1, FEW_ROWS if subject.large else ROWS).round().astype(int))
    values = np.array([run.times[rows], *(np.asarray(run[name], float)[rows] for name in names)], dtype="<f8")
    return json.dumps({"names": names, "rows": len(rows), "values": b64encode(values.tobytes()).decode()})
