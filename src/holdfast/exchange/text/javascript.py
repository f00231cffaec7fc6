"""The equations as a module of JavaScript: the kernel's own step, as living pages have it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from holdfast.engine.code.js_run import run_text
from holdfast.engine.emit.js_writer import literal
from holdfast.exchange.model import Model
from holdfast.exchange.names import comment

PUBLIC = """
export function rhs(t, x, p = VALUES) {
  const all = new Float64Array(%(width)d);
  hf_rates(t, Float64Array.from(x), Float64Array.from(p), all);
  return all.subarray(0, %(n)d);
}

export function observe(t, x, p = VALUES) {
  const out = new Float64Array(%(seen)d);
  hf_observe(t, Float64Array.from(x), Float64Array.from(p), out);
  return out;
}

export function run(start = START, p = VALUES, how = {}) {
  return hf_run(start, p, {t0: BEGIN, h: STEP, steps: 1000, every: 1, ...how});
}
"""


def javascript_text(model: Model, version: str) -> str:
    """An ES module with rhs, observe and run."""
    constants = model.assembly.constants
    numbers = {"n": constants["N"], "width": constants["WIDTH"], "seen": len(model.observing.outputs)}
    return "\n".join([*_head(model, version), run_text(model.assembly, model.observing), PUBLIC % numbers])


def _head(model: Model, version: str) -> Iterator[str]:
    yield f"// {comment(model.title)}"
    yield f"// made by Holdfast {comment(version)}; steps are those of {comment(model.scheme.name)}."
    yield from (f"// Note: {comment(note)}." for note in model.notes)
    for name, listed in (
        ("STATES", model.states),
        ("PARAMETERS", model.parameters),
        ("OBSERVABLES", model.observables),
    ):
        yield f"export const {name} = {json.dumps(list(listed))};"
    yield f"export const START = [{', '.join(map(literal, model.start))}];"
    yield f"export const VALUES = [{', '.join(map(literal, model.values))}];"
    yield f"export const BEGIN = {literal(model.begin)}, STEP = {literal(model.step or 0.001)};"
