"""The sliders of a living page: gains, parameters, stated start values and the step, each about its value."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np

from holdfast.page.facts import PageFacts

STILL = 1e-9  # of the largest state: one that moves less says nothing of how far it may
MOST = 40  # sliders, the step's among them


@dataclass(frozen=True, slots=True)
class Slider:
    """One number of the run: which, and between which ends it moves."""

    kind: str  # "gain", "parameter", "start" or "step"
    place: int  # among constants or states
    name: str  # as the problem spells it
    unit: str
    value: float
    low: float
    high: float
    log: bool

    @property
    def data(self) -> dict[str, object]:
        return asdict(self)


def sliders_of(subject: PageFacts) -> list[Slider]:
    """Gains first, then parameters, the start, and the step."""
    equations, run = subject.equations, subject.trajectory
    gains = {f"law.{name}" if not name.startswith("law.") else name for name in equations.inputs.gains}
    found: dict[str, list[Slider]] = {"gain": [], "parameter": [], "start": []}
    for place, name in enumerate(equations.parameter_names):
        kind = "gain" if name in gains or name.startswith("law.") else "parameter"
        found[kind].append(_slider(subject, kind, place, name, float(run.parameters[name])))
    start = dict(zip(equations.state_names, run.start.state, strict=True))
    for place, name in enumerate(equations.state_names):
        if name in equations.problem.start:
            found["start"].append(_slider(subject, "start", place, name, start[name]))
    assert run.step is not None
    if sum(map(len, found.values())) >= MOST:  # some of each kind: forty gains would hide the parameters
        found = {kind: sliders[: (MOST - 1) // len(found)] for kind, sliders in found.items()}
    listed = [slider for sliders in found.values() for slider in sliders]
    return [*listed, _slider(subject, "step", 0, "step", run.step)]


def _slider(subject: PageFacts, kind: str, place: int, name: str, value: float) -> Slider:
    unit = str(subject.problem.units.get(name, ""))
    if kind in ("gain", "step") and value > 0:
        return Slider(kind, place, name, unit, value, value / 10, value * 10, True)
    if kind == "start":
        reach = max(abs(value), _extent(subject, name))
        size = float(np.nanmax(np.abs(subject.trajectory.y), initial=0.0))
        reach = reach if reach > STILL * size else size or 1.0
        return Slider(kind, place, name, unit, value, value - reach, value + reach, False)
    reach = abs(value) if value else 1.0
    return Slider(kind, place, name, unit, value, value - 0.9 * reach, value + 2 * reach, False)


def _extent(subject: PageFacts, name: str) -> float:
    """How far a state moves along the run."""
    values = subject.trajectory[name]
    reach = float(values.max() - values.min())
    return reach if math.isfinite(reach) else 0.0
