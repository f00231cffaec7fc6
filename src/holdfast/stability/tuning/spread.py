"""Gains measured by the workers of a cluster: each makes the trials for itself, once, and measures some of the gains.

A law does not depend on those measured beside it, so neither does what is found on how they were divided.
"""

from __future__ import annotations

import pickle
from dataclasses import fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.common.cluster import gathered

if TYPE_CHECKING:
    from holdfast.stability.tuning.trials import MeasuredGains, Trials

FEWEST = 8  # laws that a worker measures at a time: as many as go through the lanes of a processor together


def measured_on(client: Any, trials: Trials, stiffness: np.ndarray, damping: np.ndarray) -> MeasuredGains:
    """What `Trials.measure_gains` gives, from the workers of a cluster."""
    packed, count = pickle.dumps(trials), len(stiffness)
    size = max(FEWEST, -(-count // sum(client.nthreads().values())))
    places = [slice(first, first + size) for first in range(0, count, size)]
    futures = [client.submit(_measured, packed, stiffness[some], damping[some], pure=False) for some in places]
    by_key = dict(gathered(client, futures))
    parts = [by_key[future.key] for future in futures]
    joined = {f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(parts[0])}
    return type(parts[0])(**joined)


@lru_cache(maxsize=2)
def _unpacked(packed: bytes) -> Trials:
    trials: Trials = pickle.loads(packed)
    return trials


def _measured(packed: bytes, stiffness: np.ndarray, damping: np.ndarray) -> MeasuredGains:
    return _unpacked(packed).measure_gains(stiffness, damping)
